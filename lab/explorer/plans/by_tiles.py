"""A plan in the order of its tiles, so that a misplaced fill can be explored. A state is published, filling if a fill
comes before the next state. Work drains, runs and closes the run. The end drains and purges."""

from collections.abc import Iterator

from catalog.elements import Kind, State
from changes.plan.model import Plan, Step, StepKind
from changes.plan.rollback import deletion_order
from lab.explorer.model import WORK, BadModel, Model
from lab.explorer.plans.by_hand import Pen, plan_with
from lab.explorer.plans.small_tables import CHILD, NOTHING, elements_of


def plan_in_order(model: Model) -> Plan:
    """Raises `BadModel` for work that has nothing to work on."""
    return plan_with(model, tuple(_InOrder(model, elements_of(model)).steps()))


class _InOrder(Pen):
    def steps(self) -> Iterator[Step]:
        stages = iter(self.model.stages[1:])
        for at, tile in enumerate(self.model.tiles):
            if tile in WORK:
                yield from self.drain()
                yield self._worked(tile)
                yield Step(StepKind.CLOSE, self.newest[CHILD].version)
            else:
                stage = next(stages)
                following = self.model.tiles[at + 1 :]
                until = next((n for n, tile in enumerate(following) if tile not in WORK), len(following))
                fills = "fill" in following[:until]
                here = (place for place in self._filled if stage[place] in (State.DELETE_ONLY, State.WRITE_ONLY))
                yield self.publish(stage, frozenset(here) if fills else NOTHING)
        yield from self.drain()
        if "fill" in self.model.tiles:
            yield self.run(StepKind.PURGE, self._filled)

    def _worked(self, tile: str) -> Step:
        if tile == "delete":
            leaving = [self.elements[place] for place in sorted(self._in(State.PUBLIC)) if self._kinds[place].has_pairs]
            return Step(StepKind.DELETE, self.newest[CHILD].version, elements=deletion_order(tuple(leaving)))
        of = self._filled if tile == "fill" else frozenset(p for p in self._new if self._kinds[p].facts.is_rule)
        if not of:
            raise BadModel(f"there is nothing to {tile} in a change of this element")
        return self.run(StepKind.FILL if tile == "fill" else StepKind.VERIFY, of)

    @property
    def _kinds(self) -> tuple[Kind, ...]:
        return self.model.walkers

    def _in(self, state: State) -> frozenset[int]:
        return frozenset(place for place, one in enumerate(self.model.stages[0]) if one is state)

    @property
    def _new(self) -> frozenset[int]:
        return frozenset(range(len(self.model.stages[0]))) - self._in(State.PUBLIC)

    @property
    def _filled(self) -> frozenset[int]:
        return frozenset(place for place in self._new if self._kinds[place].is_filled)
