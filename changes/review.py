"""Is a plan safe? Asked of every plan before its first version is published, whoever wrote it.

A road is read step by step, once. Faults, each with the clause that breaks:

    two neighbouring versions hold an element in states that may not live together
    a version, or a reorganisation, follows a publish that was not drained (L9)
    an element becomes public unfilled, or with the run that fills it still open (R7)
    an element becomes absent with pairs left; tombstones stay behind (R8)
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from catalog.descriptor import Descriptor
from catalog.elements import Kind, State
from changes.plan import Element, Plan, Step, StepKind, state_of
from changes.safety import NEEDS_DELETE, NEEDS_FILL, check_step

EARNS_PUBLIC = (StepKind.CLEAR, StepKind.FILL, StepKind.VERIFY, StepKind.CLOSE)
"""What must have happened, in this order, since a filling version was published, before public is."""

MISSING = {
    StepKind.CLEAR: (
        "C4",
        "tombstones of before the drain keep the fill from putting entries of rows inserted since (R6)",
    ),
    StepKind.FILL: ("", "rows that were there before the index have no entry"),
    StepKind.VERIFY: ("", "nobody has looked whether the fill is complete (R10)"),
    StepKind.CLOSE: (
        "C5",
        "a chunk of the fill may still be written after its row was deleted without a tombstone (R7)",
    ),
}


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong at one step of a road."""

    at: int
    clauses: tuple[str, ...]
    why: str

    def __str__(self) -> str:
        broken = f" ({' and '.join(self.clauses)})" if self.clauses else ""
        return f"step {self.at + 1}{broken}: {self.why}"


class FaultyPlan(Exception):
    """A plan that must not run. `faults` says where and why."""

    def __init__(self, plan: Plan, faults: Sequence[Fault]) -> None:
        super().__init__(f"the plan for {plan.element} is not safe: " + "; ".join(map(str, faults)))
        self.faults = tuple(faults)


def review(plan: Plan) -> Plan:
    """The plan itself; raises `FaultyPlan` when it is not safe."""
    faults = find_faults(plan)
    if faults:
        raise FaultyPlan(plan, faults)
    return plan


def find_faults(plan: Plan) -> list[Fault]:
    """Every fault of the forward road."""
    return road_faults(plan.element, plan.base, plan.forward)


def road_faults(element: Element, base: Descriptor | None, road: Sequence[Step]) -> list[Fault]:
    """Every fault of a road that begins at `base`."""
    return list(_Walk(element, base).faults(road))


class _Walk:
    """What is known while a road is read."""

    def __init__(self, element: Element, base: Descriptor | None) -> None:
        self.element = element
        self.state = state_of(base, element) if base else State.ABSENT
        self.filling = False
        self.is_drained = True
        self.since_publish: list[StepKind] = []
        self.owes_fill = self.owes_delete = self.owes_purge = False

    def faults(self, road: Sequence[Step]) -> Iterator[Fault]:
        for at, step in enumerate(road):
            if step.kind is StepKind.PUBLISH:
                yield from self.publish(at, step)
            else:
                yield from self.other(at, step)
        if self.owes_purge:
            yield Fault(len(road) - 1, ("C7",), "tombstones of the fill are left when the change is done (R8)")
        if not self.is_drained:
            yield Fault(len(road) - 1, (), "the last version is not drained when the change is done (L12)")

    def publish(self, at: int, step: Step) -> Iterator[Fault]:
        assert step.descriptor is not None, "a publish has a descriptor"
        after = state_of(step.descriptor, self.element)
        unsafe = check_step(self.element.kind, self.element.name, self.state, after)
        if unsafe is not None:
            yield Fault(at, unsafe.danger.clauses, str(unsafe))
        if not self.is_drained:
            yield Fault(at, (), "the version before it is not drained: three versions may be in use (L2)")
        if after is State.PUBLIC and self.owes_fill:
            yield from self.unearned(at)
        if after is State.ABSENT and self.owes_delete:
            yield Fault(at, (NEEDS_DELETE[self.element.kind],), "pairs are left that nobody will ever remove")
        self.arrive(step.descriptor, after)

    def unearned(self, at: int) -> Iterator[Fault]:
        done = [kind for kind in self.since_publish if kind in EARNS_PUBLIC]
        for kind in EARNS_PUBLIC:
            if kind not in done:
                clause, why = MISSING[kind]
                yield Fault(at, (clause or NEEDS_FILL[self.element.kind],), f"public without {kind.value}: {why}")
        if len(done) == len(EARNS_PUBLIC) and tuple(done) != EARNS_PUBLIC:
            yield Fault(at, (NEEDS_FILL[self.element.kind],), "the order must be clear, fill, verify, close")

    def arrive(self, descriptor: Descriptor, after: State) -> None:
        """The element is in a new state; some states leave something to be done."""
        if self.state is State.ABSENT and self.element.kind in NEEDS_FILL:
            self.owes_fill = True
        if after in (State.WRITE_ONLY, State.PUBLIC, State.DELETE_ONLY) and self.element.kind in NEEDS_DELETE:
            self.owes_delete = True
        if after is State.PUBLIC:
            self.owes_fill = False
        if _is_filling(descriptor, self.element):
            self.owes_purge = True
        self.state, self.is_drained, self.since_publish = after, False, []

    def other(self, at: int, step: Step) -> Iterator[Fault]:
        if step.kind is StepKind.DRAIN:
            self.is_drained = True
            return
        self.since_publish.append(step.kind)
        if step.kind is not StepKind.CLOSE and not self.is_drained:
            yield Fault(at, (), f"{step.kind.value} begins before its version is drained (L9)")
        if step.kind is StepKind.DELETE:
            self.owes_delete = self.owes_purge = False
            if self.state is not State.DELETE_ONLY:
                clause = NEEDS_DELETE[self.element.kind]
                yield Fault(at, (clause,), f"entries are deleted while it is {self.state.value}: writers put new ones")
        if step.kind is StepKind.PURGE:
            self.owes_purge = False


def _is_filling(descriptor: Descriptor, element: Element) -> bool:
    if element.kind not in (Kind.INDEX, Kind.UNIQUE_INDEX):
        return False
    return any(index.id == element.id and index.filling for index in descriptor.indexes)
