"""A change as a road of versions, and the way back from every point of it (protocol sections 4 and 8).

    add an index     publish delete-only, drain, publish write-only (filling), drain,
                     clear, fill, verify, close, publish public, drain, purge
    drop an index    publish write-only, drain, publish delete-only, drain, delete,
                     publish absent, drain
    add a table      publish delete-only, drain, publish public, drain
    drop a table     publish delete-only, drain, delete, publish absent, drain

Every version is written out in full when the plan is made, so what is published later is
what was shown before. The way back is the same road mirrored: it ends with a descriptor
equal to the first one but for its version and the ids used up, which are never used again.
`turn` is the step of no return: once it has begun (a publish: once it is published), the
change can only go on (X6).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from catalog.descriptor import Descriptor
from catalog.descriptor import from_json as descriptor_from_json
from catalog.elements import Index, IndexId, Kind, State

Json = dict[str, Any]


class StepKind(Enum):
    """What one step of a road does."""

    PUBLISH = "publish"
    DRAIN = "drain"
    CLEAR = "clear"
    """Remove the tombstones of before the drain, in the transaction that stores the fill's ranges (R6)."""
    FILL = "fill"
    VERIFY = "verify"
    CLOSE = "close"
    """End the run for good, so that no chunk of it can still write (R7)."""
    DELETE = "delete"
    """Remove all pairs and tombstones of the element, or all rows of the table (R8, R9)."""
    PURGE = "purge"
    """Remove the tombstones of the fill, once its last version is drained (R8)."""


RUNS = frozenset({StepKind.CLEAR, StepKind.FILL, StepKind.VERIFY, StepKind.DELETE, StepKind.PURGE})
"""The steps that a reorganisation on Spark does."""


class Direction(Enum):
    """Whether the change adds its element or drops it."""

    ADD = "add"
    DROP = "drop"


@dataclass(frozen=True, slots=True)
class Element:
    """What a change moves. The id of a table is its table id."""

    kind: Kind
    id: int
    name: str

    def __str__(self) -> str:
        return f"{self.kind.value} {self.name}"


@dataclass(frozen=True, slots=True)
class Step:
    """One step. `version` is the one it publishes, drains, or works under; `descriptor` is what a publish publishes."""

    kind: StepKind
    version: int
    before: State | None = None
    after: State | None = None
    descriptor: Descriptor | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """A change of `element`: the road there. `base` is the descriptor before it (None: the table is new)."""

    table_id: int
    table: str
    direction: Direction
    element: Element
    base: Descriptor | None
    forward: tuple[Step, ...]
    turn: int
    dangers: tuple[str, ...] = ()
    rows: int | None = None
    """Rows the reorganisation will meet, as far as known; filled in by whoever can count them."""

    @property
    def base_version(self) -> int:
        return self.base.version if self.base else 0

    @property
    def publishes(self) -> tuple[Step, ...]:
        return tuple(step for step in self.forward if step.kind is StepKind.PUBLISH)

    @property
    def result(self) -> Descriptor:
        """The table as the change leaves it."""
        last = self.publishes[-1].descriptor
        assert last is not None, "a publish has a descriptor"
        return last

    def to_json(self) -> Json:
        return {
            "table_id": self.table_id,
            "table": self.table,
            "direction": self.direction.value,
            "element": {"kind": self.element.kind.value, "id": self.element.id, "name": self.element.name},
            "base": None if self.base is None else self.base.to_json(),
            "forward": [_step_json(step) for step in self.forward],
            "turn": self.turn,
            "dangers": list(self.dangers),
            "rows": self.rows,
        }


def plan_from_json(body: Mapping[str, Any]) -> Plan:
    """The plan that `to_json` wrote."""
    element = body["element"]
    return Plan(
        table_id=body["table_id"],
        table=body["table"],
        direction=Direction(body["direction"]),
        element=Element(Kind(element["kind"]), element["id"], element["name"]),
        base=None if body["base"] is None else descriptor_from_json(body["base"]),
        forward=tuple(_step(step) for step in body["forward"]),
        turn=body["turn"],
        dangers=tuple(body["dangers"]),
        rows=body["rows"],
    )


def way_back(plan: Plan, published: int) -> tuple[Step, ...]:
    """The road from where `published` forward versions are out, back to a table as before (X4)."""
    if published == 0:
        return ()
    reversible = sum(step.kind is StepKind.PUBLISH for step in plan.forward[: plan.turn])
    assert published <= reversible, f"there is no way back: {why_no_return(plan)}"
    last = plan.publishes[published - 1]
    assert last.descriptor is not None, "a publish has a descriptor"
    if plan.direction is Direction.DROP:
        return _straight_back(plan, last.descriptor)
    return tuple(_mirrored(plan, last.descriptor))


def state_of(descriptor: Descriptor, element: Element) -> State:
    """The state `element` has in a version of its table."""
    if element.kind is Kind.TABLE:
        return descriptor.state
    found = [index for index in descriptor.indexes if index.id == element.id]
    return found[0].state if found else State.ABSENT


def moved(descriptor: Descriptor, element: Element, state: State, *, filling: bool = False) -> Descriptor:
    """The next version, with `element` (which is there) in another state."""
    if element.kind is Kind.TABLE:
        return descriptor.with_state(state)
    if state is State.ABSENT:
        return descriptor.without_index(IndexId(element.id))
    return descriptor.with_index_state(IndexId(element.id), state, filling=filling)


def publish(before: Descriptor | None, after: Descriptor, element: Element) -> Step:
    """The step that publishes `after`."""
    state_before = state_of(before, element) if before else State.ABSENT
    return Step(StepKind.PUBLISH, after.version, state_before, state_of(after, element), after)


def drain(after: Descriptor) -> Step:
    """The step that waits until nobody uses a version older than `after` (L9)."""
    return Step(StepKind.DRAIN, after.version)


def describe(plan: Plan, step: Step) -> str:
    """A step in words."""
    version = f"{plan.table}@{step.version}"
    if step.kind is StepKind.PUBLISH:
        assert step.before is not None, "a publish has a state before"
        assert step.after is not None, "a publish has a state after"
        return f"publish {version}: {plan.element} {step.before.value} -> {step.after.value}"
    return {
        StepKind.DRAIN: f"wait until no version before {version} is in use",
        StepKind.CLEAR: f"clear old tombstones of {plan.element}",
        StepKind.FILL: f"fill {plan.element}",
        StepKind.VERIFY: f"verify {plan.element}",
        StepKind.CLOSE: "close the run",
        StepKind.DELETE: f"delete all {_pairs_of(plan.element)}",
        StepKind.PURGE: f"purge the tombstones of {plan.element}",
    }[step.kind]


def why_no_return(plan: Plan) -> str:
    """What makes the change irreversible, in words (X6)."""
    step = plan.forward[plan.turn]
    if step.kind is StepKind.DELETE:
        return f"the deletion of {_pairs_of(plan.element)} has begun"
    assert step.after is not None, "a publish has a state after"
    return f"{plan.element} is {step.after.value} since {plan.table}@{step.version}"


def _pairs_of(element: Element) -> str:
    return f"rows of {element.name}" if element.kind is Kind.TABLE else f"entries of {element.name}"


def _straight_back(plan: Plan, last: Descriptor) -> tuple[Step, ...]:
    """A drop before its point of no return: nothing was lost, so it is public again at once (X6)."""
    public = moved(last, plan.element, State.PUBLIC)
    return publish(last, public, plan.element), drain(public)


def _mirrored(plan: Plan, last: Descriptor) -> Iterator[Step]:
    """An addition walked back: delete-only, its pairs deleted, absent."""
    here = last
    if state_of(last, plan.element) is not State.DELETE_ONLY:
        yield Step(StepKind.CLOSE, last.version)
        here = moved(last, plan.element, State.DELETE_ONLY)
        yield publish(last, here, plan.element)
    yield drain(here)
    yield Step(StepKind.DELETE, here.version)
    absent = moved(here, plan.element, State.ABSENT)
    yield publish(here, absent, plan.element)
    yield drain(absent)


def index_of(descriptor: Descriptor, element: Element) -> Index:
    """The index that a plan moves, as a version has it."""
    return descriptor.index(IndexId(element.id))


def with_rows(plan: Plan, rows: int) -> Plan:
    """The plan, with the number of rows its reorganisation will meet."""
    return replace(plan, rows=rows)


def _step_json(step: Step) -> Json:
    return {
        "kind": step.kind.value,
        "version": step.version,
        "before": step.before.value if step.before else None,
        "after": step.after.value if step.after else None,
        "descriptor": step.descriptor.to_json() if step.descriptor else None,
    }


def _step(body: Json) -> Step:
    return Step(
        kind=StepKind(body["kind"]),
        version=body["version"],
        before=State(body["before"]) if body["before"] else None,
        after=State(body["after"]) if body["after"] else None,
        descriptor=descriptor_from_json(body["descriptor"]) if body["descriptor"] else None,
    )
