"""A plan from given versions: adds the work between them, unless a rule is left out. It does not check that the plan is
safe, so that broken sequences can be explored. Safe plans are the planner's."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from catalog.elements import State
from changes.plan.element_states import drain, publish
from changes.plan.model import Element, Move, MoveKind, Plan, Step, StepKind, point_of_no_return
from changes.plan.rollback import deletion_order
from lab.explorer.model import BadModel, Model, Stage
from lab.explorer.plans.small_tables import CHILD, NOTHING, PARENT, elements_of, tables_of
from lab.explorer.rules_left_out import Broken


def written_by_hand(model: Model) -> Plan:
    return plan_with(model, tuple(_Whole(model, elements_of(model)).steps()))


def plan_with(model: Model, forward: tuple[Step, ...]) -> Plan:
    """The plan of the model's elements with these steps. Raises `BadModel`."""
    elements = elements_of(model)
    first = tables_of(model, model.stages[0], (1, 1))
    moves = tuple(
        Move(element, MoveKind.ALTER if model.widths else MoveKind.DROP if state is State.PUBLIC else MoveKind.ADD)
        for element, state in zip(elements, model.stages[0], strict=False)
    )
    found = point_of_no_return(moves, forward)
    last = len(forward) if found is None else found
    if model.lacks(Broken.LATE_CANCEL):
        too_late = [at for at, step in enumerate(forward) if _takes_away(moves, step)]
        if not too_late:
            raise BadModel(f"{Broken.LATE_CANCEL.value} is for a plan that drops something")
        last = too_late[0]
    return Plan(first[CHILD].table_id, first[CHILD].name, moves, first[CHILD], forward, last, partners=first[PARENT:])


def _takes_away(moves: Sequence[Move], step: Step) -> bool:
    dropped = {move.element for move in moves if move.kind is MoveKind.DROP}
    return any(one.element in dropped and one.after is State.ABSENT for one in step.transitions)


class Pen:
    """Writes steps down: publish, work and drain, and the tables that nodes may still use in an old version."""

    def __init__(self, model: Model, elements: tuple[Element, ...]) -> None:
        self.model, self.elements = model, elements
        self.newest = tables_of(model, model.stages[0], (1, 1))
        self.undrained: set[int] = set()

    def run(self, kind: StepKind, of: frozenset[int]) -> Step:
        """A foreign key has two states in a stage, and is one element."""
        elements = dict.fromkeys(self.elements[min(at, len(self.elements) - 1)] for at in sorted(of))
        return Step(kind, self.newest[CHILD].version, elements=tuple(elements))

    def drain(self, *, only_first: bool = False) -> Iterator[Step]:
        tables = {CHILD} if only_first else set(range(len(self.newest)))
        if self.undrained & tables:
            self.undrained -= tables
            yield drain(self.newest[CHILD], () if only_first else self.newest[PARENT:])

    def publish(self, stage: Stage, filling: frozenset[int]) -> Step:
        """The first table gets a new version (L11), any other one if it differs."""
        last = self.newest
        next_versions = [table.version + 1 for table in last]
        new = tables_of(self.model, stage, next_versions, filling=filling)
        there = zip(last[PARENT:], new[PARENT:], strict=True)
        partners = tuple(after for before, after in there if after != replace(before, version=after.version))
        self.newest = (new[CHILD], *(partners or last[PARENT:]))
        self.undrained |= {CHILD, PARENT} if partners else {CHILD}
        return publish(last[CHILD], new[CHILD], self.elements, partners)


class _Whole(Pen):
    def steps(self) -> Iterator[Step]:
        fillings = [self._filling(*stages) for stages in pairwise(self.model.stages)] + [NOTHING]
        for number, (before, after) in enumerate(pairwise(self.model.stages), 1):
            if not self.model.pair:
                yield from self._reorganise(self._arriving(before, after))
                stages = zip(self.model.walkers, before, after, strict=True)
                yield from self._delete(
                    frozenset(
                        at
                        for at, (kind, old, new) in enumerate(stages)
                        if kind.has_pairs and old is not State.ABSENT and new is State.ABSENT
                    )
                )
            yield self.publish(after, fillings[number])
        yield from self.drain()
        filled = frozenset().union(*fillings)
        if filled and not self.model.lacks(Broken.NO_PURGE):
            yield self.run(StepKind.PURGE, filled)

    def _reorganise(self, arriving: frozenset[int]) -> Iterator[Step]:
        kinds = self.model.walkers
        filled = frozenset(at for at in arriving if kinds[at].is_filled)
        if not arriving or self.model.lacks(Broken.SKIPPED):
            return
        if not self.model.lacks(Broken.EARLY):
            yield from self.drain(only_first=self.model.lacks(Broken.ONE_DRAINED))
        if filled:
            yield self.run(StepKind.FILL, filled)
        if any(kinds[at].facts.is_rule for at in arriving) and not self.model.lacks(Broken.UNVERIFIED):
            yield self.run(StepKind.VERIFY, arriving)
        yield Step(StepKind.CLOSE, self.newest[CHILD].version)

    def _delete(self, leaving: frozenset[int]) -> Iterator[Step]:
        if not leaving or self.model.lacks(Broken.NO_DELETE) or self.model.lacks(Broken.IN_PLACE):
            return
        if not self.model.lacks(Broken.DELETE_EARLY):
            yield from self.drain()
        order = deletion_order(tuple(self.elements[at] for at in sorted(leaving)))
        if self.model.lacks(Broken.VALUES_FIRST):
            order = tuple(reversed(order))
        yield Step(StepKind.DELETE, self.newest[CHILD].version, elements=order)

    def _filling(self, before: Stage, after: Stage) -> frozenset[int]:
        """The elements that the version with `before` fills (R4): those that `after` makes public."""
        if self.model.pair:
            return NOTHING
        arriving = self._arriving(before, after)
        return frozenset(at for at in arriving if self.model.walkers[at].is_filled and before[at] is State.WRITE_ONLY)

    def _arriving(self, before: Stage, after: Stage) -> frozenset[int]:
        stages = zip(self.model.walkers, self.model.stages[0], before, after, strict=True)
        return frozenset(
            at
            for at, (kind, first, old, new) in enumerate(stages)
            if (kind.is_filled or kind.facts.is_rule)
            and first is not State.PUBLIC
            and old not in (State.PUBLIC, State.ABSENT)
            and new is State.PUBLIC
        )
