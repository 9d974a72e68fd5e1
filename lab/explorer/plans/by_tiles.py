"""A plan in the order of its tiles: just these versions and this work, however careless the order is.

    delete-only, fill, public   publish delete-only, filling · drain · fill · publish public · drain · purge

`lab.explorer.plans.by_hand` works out where a fill belongs, and cannot place it elsewhere. Here its place is what is
asked about: a fill may come before the drain that it needs writers to be past, or after readers.

state    publish it; if a fill comes before the next state, it is filling, unless it is public already
work     drain if a node may use an older version, run it, close the run
end      drain, and purge what a fill has left
"""

from collections.abc import Iterator

from catalog.elements import Kind, State
from changes.plan.model import Plan, Step, StepKind
from changes.plan.rollback import deletion_order
from lab.explorer.model import WORK, BadModel, Model
from lab.explorer.plans.by_hand import Pen, plan_with
from lab.explorer.plans.small_tables import CHILD, NOTHING, elements_of


def plan_in_order(model: Model) -> Plan:
    """The plan of the model's tiles. Raises `BadModel` for work that has nothing to work on."""
    return plan_with(model, tuple(_InOrder(model, elements_of(model)).steps()))


class _InOrder(Pen):
    """Writes the steps of tiles down, one tile after the other."""

    def steps(self) -> Iterator[Step]:
        stages = iter(self.model.stages[1:])
        for at, tile in enumerate(self.model.tiles):
            if tile in WORK:
                yield from self.drain()
                yield self._worked(tile)
                yield Step(StepKind.CLOSE, self.newest[CHILD].version)
            else:
                stage = next(stages)
                fills = "fill" in self._work_after(at)
                here = (place for place in self._filled if stage[place] in (State.DELETE_ONLY, State.WRITE_ONLY))
                yield self.publish(stage, frozenset(here) if fills else NOTHING)
        yield from self.drain()
        if "fill" in self.model.tiles:
            yield self.run(StepKind.PURGE, self._filled)

    def _work_after(self, at: int) -> tuple[str, ...]:
        """The work between a tile and the next state."""
        following = self.model.tiles[at + 1 :]
        until = next((n for n, tile in enumerate(following) if tile not in WORK), len(following))
        return following[:until]

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
        """The places of the elements that are in this state at first."""
        return frozenset(place for place, one in enumerate(self.model.stages[0]) if one is state)

    @property
    def _new(self) -> frozenset[int]:
        return frozenset(range(len(self.model.stages[0]))) - self._in(State.PUBLIC)

    @property
    def _filled(self) -> frozenset[int]:
        """The elements of a fill: all that was not public at first and is made of what is there."""
        return frozenset(place for place in self._new if self._kinds[place].is_filled)
