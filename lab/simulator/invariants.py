"""Invariants: rules that hold after every event (L1, L2, the seven clauses, lost and wrong reads of acknowledged rows,
R10), and those that must hold at the end (X4)."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from catalog.descriptor import FIRST_COLUMN, FIRST_CONSTRAINT, FIRST_INDEX, FIRST_PLACEMENT, Descriptor
from catalog.elements import Kind, State, TableId
from changes.executor.events import Outcome
from changes.executor.state import Direction
from changes.plan.model import MoveKind, Plan, StepKind
from lab.cluster.driver import Driver
from lab.cluster.parts import Node
from lab.scripts.commands import Lab
from lab.scripts.commands_of.changes import RUN_ERROR
from lab.scripts.text import row_text
from lab.simulator.columns import Columns
from lab.simulator.oracle import Ledger
from leases.node.holdings import Phase
from storage.integrity.clauses import Referenced, check
from storage.pairs import rows_of

REMEMBERED_MAX = 200_000


@dataclass(frozen=True, slots=True)
class Finding:
    rule: str
    why: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.why}"


@dataclass(frozen=True, slots=True)
class Opinion:
    """Verdict on some pairs under one version: the first violation, and the rows they hold."""

    broken: tuple[str, str] | None
    rows: tuple[str, ...]


@dataclass
class Memory:
    """Opinions by pairs and version. A pure cache: it never changes a finding."""

    versions: dict[Descriptor, int] = field(default_factory=dict)
    opinions: dict[object, Opinion] = field(default_factory=dict)

    def number(self, descriptor: Descriptor) -> int:
        return self.versions.setdefault(descriptor, len(self.versions))

    def remember(self, key: object, opinion: Opinion) -> Opinion:
        if len(self.opinions) >= REMEMBERED_MAX:
            self.opinions.clear()
        self.opinions[key] = opinion
        return opinion


@dataclass
class Judge:
    """Looks at a cluster after each event. `blind` to L1 once an operator took leases away behind a node's back."""

    lab: Lab
    ledger: Ledger
    memory: Memory
    is_blind_to_leases: bool = False
    numbers: dict[tuple[TableId, int], int] = field(default_factory=dict)
    seen: object = None

    def __post_init__(self) -> None:
        self.columns = Columns(self.lab.world.control)

    def look(self) -> Finding | None:
        return next(self._wrong(), None)

    def _wrong(self) -> Iterator[Finding]:
        world = self.lab.world
        for used in world.control.used_outside_two_versions(world.locked()):
            newest = world.control.newest(used.table_id)
            yield Finding("L2", f"a transaction uses {used} while {newest} is published")
        for lease in world.control.outside_two_versions(world.now):
            newest = world.control.newest(lease.table)
            yield Finding("L2", f"{lease.node} leases version {lease.version} while {newest} is published")
        if not self.is_blind_to_leases:
            for node in world.nodes.values():
                yield from self._beliefs(node)
        for driver in self.lab.changes[-1:]:
            yield from self._verification(driver)
        accepted, locked = world.control.accepted_versions, world.locked()
        in_force = [one for table in world.control.published for one in accepted(table, world.now, locked)]
        state = (len(world.store.writes), [self._number(one) for one in in_force], len(world.untidy), self._lost())
        if state != self.seen:
            self.seen = state
            for descriptor in in_force:
                yield from self._judge(descriptor)

    def _verification(self, driver: Driver) -> Iterator[Finding]:
        """Only rows that break the new element make a verification fail (R10)."""
        state = driver.state
        if state.error and state.error != RUN_ERROR and not _is_of_the_rows(state.plan, state.error):
            yield Finding("R10", f"verification of {state.plan.title} fails: {state.error}")

    # Leases

    def _beliefs(self, node: Node) -> Iterator[Finding]:
        if not node.is_running or node.is_frozen or node.leases.phase is Phase.STOPPED:
            return
        world = self.lab.world
        for table, leases in node.leases.tables:
            for held in leases.held:
                if held.is_leased and held.pins and world.now + node.clock_ahead_s < held.stop_at:
                    ends = held.deadline - node.clock_ahead_s
                    if not self._is_leased(node, table, held.version, ends):
                        what = world.table_name(table, held.version)
                        yield Finding("L1", f"{node.name} uses {what} without a lease that lasts as long")

    def _is_leased(self, node: Node, table: TableId, version: int, ends: float) -> bool:
        slack_s = 1e-6
        return any(
            lease.node == node.name and lease.version == version and lease.expires_at + slack_s >= ends
            for lease in self.lab.world.control.leases
            if lease.table == table
        )

    # Pairs

    def _number(self, descriptor: Descriptor) -> int:
        key = (descriptor.table_id, descriptor.version)
        if key not in self.numbers:
            self.numbers[key] = self.memory.number(descriptor)
        return self.numbers[key]

    def _judge(self, descriptor: Descriptor) -> Iterator[Finding]:
        opinion = self._opinion(descriptor)
        if opinion.broken is not None:
            clause, why = opinion.broken
            yield Finding(clause, f"{why} (under {descriptor})")
        table = descriptor.table_id
        if descriptor is self.lab.world.control.newest(table) and table not in self._lost():
            acknowledged = self.columns.texts(self.ledger.tables.get(table, {}), descriptor)
            if list(opinion.rows) != acknowledged:
                missing = [row for row in acknowledged if row not in opinion.rows]
                extra = [row for row in opinion.rows if row not in acknowledged]
                parts = [f"acknowledged but not there: {', '.join(missing)}"] if missing else []
                parts += [f"there but not acknowledged: {', '.join(extra)}"] if extra else []
                yield Finding("lost", "; ".join(parts))

    def _opinion(self, descriptor: Descriptor) -> Opinion:
        table = self._table(descriptor)
        referenced = [self._table(self.lab.world.control.newest(one)) for one in _referenced(descriptor)]
        key = (*map(self._seen_as, (table, *referenced)), frozenset(self.lab.world.untidy))
        known = self.memory.opinions.get(key)
        return known if known is not None else self.memory.remember(key, self._form_opinion(table, referenced))

    def _table(self, descriptor: Descriptor) -> Referenced:
        start = descriptor.table_id.to_bytes(4)
        pairs = self.lab.world.store.pairs
        there = [{k: v for k, v in one.items() if k.startswith(start)} for one in pairs]
        return Referenced(descriptor, there, self.lab.world.store.storages)

    def _seen_as(self, table: Referenced) -> object:
        return self._number(table.descriptor), *(frozenset(pairs.items()) for pairs in table.storages)

    def _form_opinion(self, table: Referenced, referenced: list[Referenced]) -> Opinion:
        world, descriptor, storages = self.lab.world, table.descriptor, table.storages
        found = check(
            descriptor,
            storages,
            unfinished=frozenset(world.untidy),
            buckets=world.store.buckets,
            referenced=referenced,
            first=world.store.storages,
        )
        broken = (found[0].clause, found[0].why) if found else None
        sorted_pairs = (sorted(one.items()) for one in storages)
        rows = [row for pairs in sorted_pairs for row in rows_of(descriptor, descriptor.placement, pairs)]
        return Opinion(broken, tuple(sorted(row_text(descriptor, row) for row in rows)))

    def _lost(self) -> frozenset[TableId]:
        return frozenset(driver.table for driver in self.lab.changes if _is_deleting_rows(driver))

    # Reads and the end

    def read(self, actor: str, descriptor: Descriptor, rows: list[str]) -> Finding | None:
        expected = self.columns.texts(self.ledger.seen(actor, descriptor.table_id), descriptor)
        if descriptor.table_id in self._lost() or sorted(rows) == expected:
            return None
        return Finding(
            "read", f"{actor} saw {', '.join(rows) or 'no row'} instead of {', '.join(expected) or 'no row'}"
        )

    def end(self) -> Finding | None:
        for driver in self.lab.changes:
            finding = next(self._unfinished(driver), None)
            if finding is not None:
                return finding
        left = sum(value is None for pairs in self.lab.world.store.pairs for value in pairs.values())
        return Finding("R8", f"{left} tombstones are left") if left else None

    def _unfinished(self, driver: Driver) -> Iterator[Finding]:
        change, plan = f"change {driver.state.change} of {driver.state.plan.table}", driver.state.plan
        if not driver.is_over:
            yield Finding("X4", f"{change} has not ended: it is {driver.state.mode.value}")
        elif driver.state.published:
            is_done = driver.state.outcome is Outcome.DONE
            wanted = {one.table_id: one for one in (plan.results if is_done else (plan.base, *plan.partners)) if one}
            for table in map(TableId, plan.table_ids):
                newest = self.lab.world.control.newest(table)
                last = [one for one in self.lab.changes if table in one.state.plan.table_ids][-1]
                if driver is last and not is_same_schema(newest, wanted.get(table)):
                    what = f"{change} is {driver.state.outcome.value}, but {newest} is not as it should be"
                    yield Finding("X4", what)


def _referenced(descriptor: Descriptor) -> list[TableId]:
    public = (one.references for one in descriptor.foreign_keys if one.state is State.PUBLIC)
    return sorted({one for one in public if one is not None and one != descriptor.table_id})


def _is_of_the_rows(plan: Plan, error: str) -> bool:
    """The rows alone may cause the error: a value without the new type, or one that breaks the new element."""
    kinds = {element.kind for element in plan.moving(MoveKind.ADD)}
    if error.startswith(("C6: ", "C4: ")) and Kind.UNIQUE_INDEX in kinds:
        return all(one[:4] in ("C6: ", "C4: ") for one in error.split("; "))
    if error.startswith("C6: ") and Kind.CONSTRAINT in kinds:
        return all(one.startswith("C6: ") for one in error.split("; "))
    return Kind.DERIVED_COLUMN in kinds and not error.startswith("C")


def _is_deleting_rows(driver: Driver) -> bool:
    if all(move.element.kind is not Kind.TABLE for move in driver.state.plan.moves):
        return False
    deleting = any(step.kind is StepKind.DELETE for step in driver.state.steps[: driver.state.position + 1])
    return deleting or (driver.is_over and driver.state.direction is Direction.BACK and driver.state.plan.base is None)


def is_same_schema(one: Descriptor, other: Descriptor | None) -> bool:
    """Equal but for the version and the used ids; None: the table is dropped."""
    if other is None:
        return one.state is State.ABSENT
    return _bare(one) == _bare(other)


def _bare(descriptor: Descriptor) -> Descriptor:
    ids = {"next_index_id": FIRST_INDEX, "next_column_id": FIRST_COLUMN, "next_constraint_id": FIRST_CONSTRAINT}
    ids |= {"next_placement_id": FIRST_PLACEMENT}
    return replace(descriptor, version=0, **ids)  # type: ignore[arg-type]
