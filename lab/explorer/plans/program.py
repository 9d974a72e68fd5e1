"""A plan as the executor takes it: stops, each with one act and the versions that nodes may use before it.

A fill is two stops: tombstones from before the drain are cleared first (R6), and transactions commit before and after
that. A stop has the newest version and the fence, so a world needs only its number. A failed verification or a cancel
leads to the steps back (`changes.plan.rollback`). The end of a fill closes its run, so `close` has no stop.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from itertools import product

from catalog.descriptor import Descriptor
from changes.plan.model import Element, Plan, Step, StepKind
from changes.plan.rollback import rollback_steps
from lab.explorer.model import BadModel, Model
from lab.explorer.plans.by_hand import written_by_hand
from lab.explorer.plans.by_planner import plan_by_planner
from lab.explorer.plans.by_tiles import plan_in_order
from lab.explorer.plans.small_tables import NEW, elements_of, tables_of
from lab.explorer.rules_left_out import Broken
from leases import rules

Use = tuple[int, ...]
"""The version of each table that a transaction uses, or a node has come to."""

Schema = tuple[int, ...]
"""The descriptor of each table that a transaction sees, by its place in `Program.descriptors`."""

StepsBack = Callable[[int], Sequence[Step]]


class Do(Enum):
    PUBLISH = "publish"
    DRAIN = "drain"
    CLEAR = "clear"
    FILL = "fill"
    VERIFY = "verify"
    DELETE = "delete"
    PURGE = "purge"
    REMOVE = "remove"
    END = "end"


DOES = {StepKind.FILL: (Do.CLEAR, Do.FILL), StepKind.VERIFY: (Do.VERIFY,), StepKind.PURGE: (Do.PURGE,)}

UNCHANGED = -1
"""In a publish: this table gets no new version."""


@dataclass(frozen=True, slots=True)
class Versions:
    """One table's versions: `schemas[v]` is the place of version v in `Program.descriptors`. `fence` is the oldest that
    transactions may use, `accepted` the oldest that they may begin with. They differ if the storages accept the newest
    version alone while open transactions finish."""

    newest: int
    fence: int
    schemas: tuple[int, ...]
    accepted: int = 1

    @property
    def in_force(self) -> tuple[int, ...]:
        return self.schemas[self.fence :]


@dataclass(frozen=True, slots=True)
class Stop:
    """One act of the executor, and the versions before it. `version` is the one to publish or to drain, of the first
    table; `published` has the place of each table's new version, or `UNCHANGED`, and `drained` the tables that are
    drained. `parts` are the elements that a deletion is of. `otherwise` and `cancel` are the stops after a failed
    verification and after a cancel."""

    do: Do
    tables: tuple[Versions, ...]
    version: int = 0
    published: tuple[int, ...] = ()
    drained: tuple[int, ...] = ()
    parts: tuple[int, ...] = ()
    otherwise: int | None = None
    cancel: int | None = None

    @property
    def newest(self) -> int:
        return self.tables[0].newest

    @property
    def schemas(self) -> tuple[int, ...]:
        return self.tables[0].schemas

    @property
    def newest_use(self) -> Use:
        return tuple(table.newest for table in self.tables)

    @property
    def newest_schema(self) -> Schema:
        return self.schema(self.newest_use)

    @property
    def next_schema(self) -> Schema:
        places = zip(self.published, self.tables, strict=True)
        return tuple(table.schemas[table.newest] if new == UNCHANGED else new for new, table in places)

    def uses_from(self, use: Use) -> Iterator[Use]:
        return product(*(range(v, table.newest + 1) for v, table in zip(use, self.tables, strict=True)))

    def lifted(self, use: Use) -> Use:
        """The versions of a node, those below the fence lifted to it."""
        return tuple(max(v, table.fence) for v, table in zip(use, self.tables, strict=True))

    def schema(self, use: Use) -> Schema:
        return tuple(table.schemas[v] for v, table in zip(use, self.tables, strict=True))


@dataclass(frozen=True, slots=True)
class Program:
    """All descriptors, and all stops: those of the plan first, then those of the steps back."""

    descriptors: tuple[Descriptor, ...]
    stops: tuple[Stop, ...]

    def descriptor(self, stop: Stop, version: int, table: int = 0) -> Descriptor:
        return self.descriptors[stop.tables[table].schemas[version]]


def plan_of(model: Model) -> Plan:
    """The planner's plan if the model names a statement, that of its tiles, or by hand. Raises `BadModel`."""
    if model.tiles:
        return plan_in_order(model)
    return plan_by_planner(model) if model.statement else written_by_hand(model)


def program_of(model: Model) -> Program:
    plan = plan_of(model)
    return program(model, plan, partial(_steps_back, model, plan))


def _steps_back(model: Model, plan: Plan, published: int) -> Sequence[Step]:
    steps = rollback_steps(plan, published)
    return [step for step in steps if not (step.kind is StepKind.DELETE and model.lacks(Broken.NO_DELETE))]


def program(model: Model, plan: Plan, steps_back: StepsBack) -> Program:
    stops = _Stops(model)
    published, exits = 0, []
    for number, step in enumerate(plan.forward):
        before = len(stops.stops)
        stops.add_step(step)
        if published and number <= plan.point_of_no_return:
            added = range(before, len(stops.stops))
            cancelled = added[:1] if step.kind is StepKind.DELETE else added  # a deletion: until it has begun (X6)
            exits += [(at, published) for at in cancelled]
        elif step.kind is StepKind.VERIFY:
            exits += stops.nowhere_back(before, published)
        published += step.kind is StepKind.PUBLISH
    stops.remove_storage()
    stops.add(Do.END)
    stops.add_steps_back(exits, steps_back)
    return Program(tuple(stops.descriptors), tuple(stops.stops))


class _Stops:
    def __init__(self, model: Model) -> None:
        self.model = model
        self.elements: Sequence[Element] = elements_of(model)
        self.stops: list[Stop] = []
        first = tables_of(model, model.stages[0], (1, 1))
        self.descriptors = list(first)
        self.tables = tuple(Versions(1, 1, (UNCHANGED, place)) for place in range(len(first)))

    def add(self, do: Do, **of_it: tuple[int, ...]) -> None:
        self.stops.append(Stop(do, self.tables, **of_it))  # type: ignore[arg-type]

    def add_step(self, step: Step) -> None:
        """The stops of a step: of a fill two, of several elements one deletion each."""
        if step.kind is StepKind.PUBLISH:
            new = (step.published, *(step.partners if self.model.foreign_key else ()))
            published = tuple(
                self._describe(at, new[at]) if at < len(new) else UNCHANGED for at in range(len(self.tables))
            )
            self.stops.append(Stop(Do.PUBLISH, self.tables, version=self.tables[0].newest + 1, published=published))
            self.tables = tuple(
                table if place == UNCHANGED else self._with_next(table, place)
                for place, table in zip(published, self.tables, strict=True)
            )
            if self.model.lacks(Broken.REMOVED_EARLY) and step.published.placement.id == NEW:
                self.remove_storage()
        elif step.kind is StepKind.DRAIN:
            tables = range(len(self.tables) if step.partners else 1)
            behind = tuple(at for at in tables if self.tables[at].fence < self.tables[at].newest)
            if behind:
                self.stops.append(Stop(Do.DRAIN, self.tables, version=self.tables[0].newest, drained=behind))
                self.tables = tuple(
                    replace(table, fence=table.newest, accepted=table.newest) if at in behind else table
                    for at, table in enumerate(self.tables)
                )
        elif step.kind is StepKind.DELETE:
            for element in step.elements:
                self.add(Do.DELETE, parts=(self._place(element),))
        elif step.kind in DOES and step.elements:
            for do in DOES[step.kind]:
                if not (do is Do.CLEAR and self.model.lacks(Broken.NOT_CLEARED)):
                    self.add(do)

    def _place(self, element: Element) -> int:
        at = next(
            (at for at, one in enumerate(self.elements) if (one.kind, one.id) == (element.kind, element.id)), None
        )
        if at is None:
            raise BadModel(f"the planner's plan is of a {element.kind.value}, which this model does not have")
        return at

    def add_steps_back(self, exits: Sequence[tuple[int, int]], steps_back: StepsBack) -> None:
        """From each stop that may be left; exits with the same versions behind them share their steps."""
        starts: dict[tuple[int, tuple[Versions, ...]], int] = {}
        for at, published in exits:
            left = self.stops[at]
            fails = left.do is Do.VERIFY
            if not (fails or self.model.cancels):
                continue
            key = published, left.tables
            if key not in starts:
                starts[key], self.tables = len(self.stops), left.tables
                for step in steps_back(published):
                    self.add_step(step)
                self.add(Do.END)
            self.stops[at] = replace(
                left, otherwise=starts[key] if fails else None, cancel=starts[key] if self.model.cancels else None
            )

    def nowhere_back(self, at: int, published: int) -> Iterator[tuple[int, int]]:
        """Verifications without a step back: before the first publish the change ends, too late it fails."""
        if not published:
            yield at, published
        elif at < len(self.stops):
            self.stops[at] = replace(self.stops[at], otherwise=at)

    def remove_storage(self) -> None:
        before, after = self.model.storage_counts
        if before > after and all(stop.do is not Do.REMOVE for stop in self.stops):
            self.add(Do.REMOVE)

    def _with_next(self, table: Versions, place: int) -> Versions:
        newest = table.newest + 1
        oldest = max(table.fence, newest + 1 - self.model.versions)
        how = self.descriptors[place].coordination
        accepted = rules.accepted_from(newest, how) if how.is_strict else oldest
        return Versions(newest, oldest, (*table.schemas, place), accepted)

    def _describe(self, at: int, new: Descriptor) -> int:
        """The place of a table's next version; a table that a plan makes was absent in version 1."""
        described = replace(new, version=self.tables[at].newest + 1)
        if described not in self.descriptors:
            self.descriptors.append(described)
        return self.descriptors.index(described)
