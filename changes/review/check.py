"""Checks every plan before its first version is published: neighbouring versions must be compatible and share a
protection (leases, or a fence at the newest), every publish must be drained (L9), an element public only when filled
and its run closed (R7), absent only without pairs and tombstones (R8)."""

from collections.abc import Iterator, Sequence

from catalog.descriptor import Descriptor
from catalog.elements import Kind, State
from catalog.text.message import STATES, Text, Values
from changes.plan.element_states import is_filling, state_of
from changes.plan.model import Element, Plan, Step, StepKind
from changes.plan.rollback import moving
from changes.review.defect import Fault
from changes.review.dependencies import plan_faults, run_faults, version_faults
from changes.review.foreign_keys import drain_faults, partner_faults, side_faults
from changes.review.neighbour_states import check_step

EARNS_PUBLIC = (StepKind.FILL, StepKind.VERIFY, StepKind.CLOSE)
"""What must have happened, in this order, since a filling version was published, before public is."""

VERIFIED = (StepKind.VERIFY, StepKind.CLOSE)
"""The same for a constraint, which has nothing to be filled."""

MISSING = {
    StepKind.FILL: ("", Text("existing rows have none of its pairs")),
    StepKind.VERIFY: ("", Text("no run has checked that every row satisfies it (R10)")),
    StepKind.CLOSE: (
        "C5",
        Text("a chunk of the fill may still be written after its row was deleted without a tombstone (R7)"),
    ),
}


class FaultyPlan(Exception):
    """A plan that must not run, with its `faults`."""

    def __init__(self, plan: Plan, faults: Sequence[Fault]) -> None:
        super().__init__(f"the plan for {plan.title} is not safe: " + "; ".join(map(str, faults)))
        self.faults = tuple(faults)


def review(plan: Plan) -> Plan:
    """Returns the plan; raises `FaultyPlan`."""
    faults = find_faults(plan)
    if faults:
        raise FaultyPlan(plan, faults)
    return plan


def find_faults(plan: Plan) -> list[Fault]:
    steps = step_faults(moving(plan), plan.base, plan.forward, plan.partners)
    found = [*steps, *plan_faults(plan), *partner_faults(plan)]
    return sorted(found, key=lambda fault: fault.at)


def step_faults(
    elements: Sequence[Element], base: Descriptor | None, steps: Sequence[Step], partners: Sequence[Descriptor] = ()
) -> list[Fault]:
    """Faults of steps that begin at `base` and `partners`, in order."""
    alone = [fault for element in elements for fault in _Walk(element, base).faults(steps)]
    versions = [*([] if base is None else [base]), *(s.published for s in steps if s.kind is StepKind.PUBLISH)]
    together = [*version_faults(base, steps), *run_faults(steps, versions)]
    sides = [*side_faults(base, partners, steps), *drain_faults(steps)]
    ways = _coordination_faults(base, steps)
    return sorted([*_drain_faults(steps), *ways, *alone, *together, *sides], key=lambda fault: fault.at)


def _coordination_faults(base: Descriptor | None, steps: Sequence[Step]) -> Iterator[Fault]:
    """Between leases alone and no leases there is a version with both protections."""
    before = base
    for at, step in enumerate(steps):
        if step.kind is StepKind.PUBLISH:
            if before is not None and len(before.coordination.steps_to(step.published.coordination)) > 1:
                ways: Values = {"before": before.coordination.value, "after": step.published.coordination.value}
                why = Text(
                    "coordination {before} and {after} are not compatible: nothing bounds how long a node that hears"
                    " nothing uses the older one",
                    ways,
                )
                yield Fault(at, (), why)
            before = step.published


def _drain_faults(steps: Sequence[Step]) -> Iterator[Fault]:
    """Every version is drained before the next one, a reorganisation and the end."""
    is_drained = True
    for at, step in enumerate(steps):
        if step.kind is StepKind.DRAIN:
            is_drained = True
        elif step.kind is StepKind.PUBLISH:
            if not is_drained:
                yield Fault(at, (), Text("the version before it is not drained: three versions may be in use (L2)"))
            is_drained = False
        elif step.kind is not StepKind.CLOSE and not is_drained:
            why = Text("`{word}` begins before its version is drained (L9)", {"word": step.kind.value})
            yield Fault(at, (), why)
    if not is_drained:
        yield Fault(len(steps) - 1, (), Text("the last version is not drained when the change is done (L12)"))


class _Walk:
    def __init__(self, element: Element, base: Descriptor | None) -> None:
        self.element = element
        self.earns = VERIFIED if element.kind is Kind.CONSTRAINT else EARNS_PUBLIC
        self.state = state_of(base, element) if base else State.ABSENT
        self.may_have_rows = base is not None
        self.since_written: list[StepKind] = []
        self.needs_fill = self.needs_delete = self.needs_purge = False

    def faults(self, steps: Sequence[Step]) -> Iterator[Fault]:
        for at, step in enumerate(steps):
            if step.kind is StepKind.PUBLISH:
                yield from self.publish(at, step)
            else:
                yield from self.other(at, step)
        if self.needs_purge:
            why = Text("tombstones of {element} are left when the change is done (R8)", {"element": self.element.text})
            yield Fault(len(steps) - 1, ("C7",), why)

    def publish(self, at: int, step: Step) -> Iterator[Fault]:
        after = state_of(step.published, self.element)
        unsafe = check_step(self.element.kind, self.element.name, self.state, after)
        if unsafe is not None:
            yield Fault(at, unsafe.danger.clauses, unsafe.text)
        if after is State.PUBLIC and self.needs_fill:
            yield from self.unearned(at)
        if after is State.ABSENT and self.needs_delete:
            clause = self.element.kind.facts.left_breaks
            why = Text("pairs of {element} are left that no step removes", {"element": self.element.text})
            yield Fault(at, (clause,), why)
        self.arrive(step.published, after)

    def unearned(self, at: int) -> Iterator[Fault]:
        done = [kind for kind in self.since_written if kind in self.earns]
        for kind in self.earns:
            if kind not in done:
                clause, why = MISSING[kind]
                broken = clause or self.element.kind.facts.unfilled_breaks
                values: Values = {"element": self.element.text, "word": kind.value, "witness": why}
                yield Fault(at, (broken,), Text("{element} is public without `{word}`: {witness}", values))
        if len(done) == len(self.earns) and tuple(done) != self.earns:
            order = ", ".join(kind.value for kind in self.earns)
            why = Text("the order must be {order}", {"order": order})
            yield Fault(at, (self.element.kind.facts.unfilled_breaks,), why)

    def arrive(self, descriptor: Descriptor, after: State) -> None:
        """The element's new state, and the duties it brings."""
        if self.state is State.ABSENT and self.element.kind.facts.unfilled_breaks and self.may_have_rows:
            self.needs_fill = True
        if after is not State.ABSENT and self.element.kind.has_pairs:
            self.needs_delete = True
        if after is State.PUBLIC:
            self.needs_fill = False
        if is_filling(descriptor, self.element):
            self.needs_purge = True
        if after is not self.state:
            self.since_written = []
        self.state = after
        self.may_have_rows |= descriptor.state is State.PUBLIC

    def other(self, at: int, step: Step) -> Iterator[Fault]:
        if step.kind is StepKind.CLOSE or self.element in step.elements:
            self.since_written.append(step.kind)
        if self.element not in step.elements:
            return
        if step.kind is StepKind.DELETE:
            self.needs_delete = self.needs_purge = False
            if self.state is not State.DELETE_ONLY:
                clause = self.element.kind.facts.left_breaks
                values: Values = {"element": self.element.text, "state": STATES[self.state]}
                why = Text("`delete` comes while {element} is {state}: writers still put new pairs", values)
                yield Fault(at, (clause,), why)
        if step.kind is StepKind.PURGE:
            self.needs_purge = False
