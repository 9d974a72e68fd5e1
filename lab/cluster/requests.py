"""Requests of routers: planned with the node's version, refused by the storages, reloaded and tried once more.
`nodes.router` decides about reloads, retries and the outcome of each row, as on a node. Callers make the steps."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from catalog.descriptor import Descriptor
from catalog.elements import NodeId, TableId
from catalog.text.sentence import Sentence
from lab.cluster import node_statements
from lab.cluster.acknowledged import AcknowledgedRow, AcknowledgedRows
from lab.cluster.control_plane import LabError, Without
from lab.cluster.lines import words_of
from lab.cluster.parts import Transaction
from lab.cluster.rolling import RollingPublish
from lab.cluster.world import World
from lab.scripts.text import new_row
from leases import rules
from leases.rules import Refusal
from nodes.router import reloads
from nodes.router.attempts import Attempts, Failure, Next
from nodes.router.batches import Batch, Ending, parts_of
from nodes.router.reloads import Known, Outcome, Reloads
from storage.buckets import storage_of
from storage.mutations import delete_row, in_order, insert_row, update_row
from storage.pairs import StoredRow, row_bucket
from storage.store import SerializationFailure, StoreError

TIMEOUT_S = 20.0


class Stage(Enum):
    PLANNED = "planned"
    OPEN = "written, and not committed"
    WAITING = "waits for a reload"
    OVER = "over"


@dataclass(frozen=True, slots=True)
class RowRequest:
    """A row by the names of its columns: `insert`, `replace`, `delete` or `get`; the last two name the key alone."""

    verb: str
    values: Mapping[str, str | None]


@dataclass(frozen=True, slots=True)
class Write:
    """A row that a part has written or deleted, under its version; of a `get` the row found (None: no row)."""

    index: int
    verb: str
    row: StoredRow | None


@dataclass(eq=False)
class LabRequest:
    """`written` are the rows of the part that is under way."""

    number: int
    node: NodeId
    table: str
    rows: Sequence[RowRequest]
    batch: Batch
    deadline: float
    stage: Stage = Stage.PLANNED
    attempts: Attempts = field(default_factory=Attempts)
    descriptor: Descriptor | None = None
    meant: Descriptor | None = None
    """The newest version when the storages accepted it: its values are meant for the columns of these names."""
    pin: tuple[TableId, int] | None = None
    part: list[int] = field(default_factory=list)
    written: list[Write] = field(default_factory=list)
    errors: dict[int, str] = field(default_factory=dict)
    versions: list[int] = field(default_factory=list)

    @property
    def actor(self) -> str:
        return f"{self.node}.request {self.number}"


class BadFit(Exception):
    """The version lacks a column of the row; another version may have it."""


@dataclass
class Routers:
    world: World
    states: dict[tuple[NodeId, str], Reloads] = field(default_factory=dict)
    loading: dict[tuple[NodeId, str], Known | None] = field(default_factory=dict)
    requests: dict[int, LabRequest] = field(default_factory=dict)
    rolling: RollingPublish | None = None
    counts: Counter[str] = field(default_factory=Counter)
    acknowledged: AcknowledgedRows = field(default_factory=AcknowledgedRows)

    def begin(self, node: str, table: str, *rows: RowRequest) -> LabRequest:
        """A client sends a request to a node, which plans it. Raises `LabError` without a primary key."""
        name = node_statements.serving(self.world, node).name
        if self.world.control.newest(self.world.control.find(table)).has_hidden_key:
            raise LabError(f"{table} has no primary key, which the rows of a request are known by")
        deadline = self.world.now + TIMEOUT_S
        request = LabRequest(len(self.requests) + 1, name, table, rows, Batch(len(rows)), deadline)
        self.requests[request.number] = request
        self.counts["requests"] += 1
        self._plan(request)
        return request

    def at(self, stage: Stage) -> list[LabRequest]:
        return [one for one in self.requests.values() if one.stage is stage]

    # -- the steps of a request ---------------------------------------------------------------------------------

    def send(self, request: LabRequest) -> None:
        """The storages check the version, then the part is written; not committed yet."""
        assert request.stage is Stage.PLANNED, request.stage
        assert request.descriptor is not None
        descriptor = request.descriptor
        refusal = self.refusal(descriptor)
        if refusal is not None:
            self._release_pin(request)
            is_mismatch = refusal in (Refusal.BELOW_FENCE, Refusal.OTHER_SCHEMA)
            self._after(request, Failure.MISMATCH if is_mismatch else Failure.CONFLICT, Sentence(refusal.value))
            return
        one = node_statements.begin(self.world, request.actor)
        assert request.pin is not None
        table, pinned = request.pin
        one.pins[table], request.pin = (pinned, descriptor.version), None
        one.entered[table] = descriptor.version
        request.meant = self.world.control.newest(table)
        request.written, request.errors = [], {}
        for index in request.part:
            self._write(request, one, descriptor, index)
        request.stage = Stage.OPEN

    def commit(self, request: LabRequest) -> None:
        assert request.stage is Stage.OPEN, request.stage
        try:
            node_statements.commit(self.world, request.actor)
        except LabError as error:
            is_final = isinstance(error.__cause__, StoreError) and not isinstance(error.__cause__, SerializationFailure)
            self._after(request, Failure.FINAL if is_final else Failure.CONFLICT, words_of(error))
            return
        errors: dict[int, object] = dict(request.errors)
        request.batch.close_part(request.part, errors, tried=len(request.part), is_rolled_back=False)
        self._acknowledge(request)
        self._next_part(request)

    def _acknowledge(self, request: LabRequest) -> None:
        meant = request.meant
        assert meant is not None
        for one in request.written:
            if one.verb == "get" or one.row is None:
                continue
            if one.verb == "delete":
                self.acknowledged.gone(meant.table_id, one.row.key)
            elif set(request.rows[one.index].values) <= {column.name for column in meant.public_columns}:
                key = {column.name for column in meant.key_columns}
                values = {name: value for name, value in request.rows[one.index].values.items() if name not in key}
                self.acknowledged.done(
                    meant.table_id, one.row.key, AcknowledgedRow(request.number, meant.version, values)
                )

    def refusal(self, descriptor: Descriptor) -> Refusal | None:
        """The refusal of a version by the first storage that refuses it (T2), or None."""
        control, table = self.world.control, descriptor.table_id
        fence = 0 if Without.ENTRY in control.without else control.fences.get(table, 0)
        newest = control.newest(table).version
        unaware = {} if self.rolling is None else self.rolling.unaware(table, newest, len(self.world.store.pairs))
        asked = (
            rules.why_not_enter(descriptor.version, fence=fence, newest_visible=unaware.get(storage, newest))
            for storage in range(1, len(self.world.store.pairs) + 1)
        )
        return next((refusal for refusal in asked if refusal is not None), None)

    def _write(self, request: LabRequest, one: Transaction, descriptor: Descriptor, index: int) -> None:
        """One row behind a savepoint: a refused row undoes no other."""
        asked, buckets = request.rows[index], self.world.store.buckets
        before, ops = [dict(pairs) for pairs in one.store.snapshot], len(one.store.ops)
        row = new_row(descriptor, _values(descriptor, asked), self.world.control.next_row_id)
        old = self._found(one, descriptor, row.key)
        try:
            if asked.verb == "get":
                request.written.append(Write(index, "get", old))
                return
            if asked.verb == "insert" or (asked.verb == "replace" and old is None):
                one.store.apply(in_order(insert_row(descriptor, row, buckets)))
            elif asked.verb == "replace":
                assert old is not None
                one.store.apply(in_order(update_row(descriptor, old, row.columns, buckets=buckets)))
            elif old is not None:
                one.store.apply(in_order(delete_row(descriptor, old, buckets)))
        except StoreError as error:
            one.store.snapshot, one.store.ops = before, one.store.ops[:ops]
            request.errors[index] = node_statements.refusal_words(self.world, error)
            return
        if asked.verb != "delete":
            request.written.append(Write(index, asked.verb, row))
        elif old is not None:
            request.written.append(Write(index, "delete", old))

    @staticmethod
    def _found(one: Transaction, descriptor: Descriptor, key: bytes) -> StoredRow | None:
        try:
            return node_statements.find_row(one, descriptor, key)
        except LabError:
            return None

    # -- plans --------------------------------------------------------------------------------------------------

    def _plan(self, request: LabRequest) -> None:
        """Flattens the rows that are left by the node's version; the part is those of one storage."""
        request.stage, node = Stage.PLANNED, self.world.nodes[request.node]
        try:
            table = self.world.control.find(request.table)
            number, version = node_statements.pin(self.world, node, table)
        except LabError as error:
            self._give_up(request, words_of(error))
            return
        request.pin = table, number
        request.descriptor = descriptor = self.world.control.version(table, version)
        request.versions.append(version)
        self._feed(request.node, request.table, reloads.Use(Known(table, version)))
        try:
            places = [(index, self._storage(descriptor, request.rows[index])) for index in request.batch.left]
        except BadFit as error:
            self._release_pin(request)
            self._after(request, Failure.OLD_SCHEMA, str(error))
            return
        request.part = parts_of(places)[0][1]

    def _storage(self, descriptor: Descriptor, asked: RowRequest) -> int:
        """The storage of a row, by this version's sharding; 0 if a key alone does not say."""
        row = new_row(descriptor, _values(descriptor, asked), self.world.control.next_row_id)
        if asked.verb in ("delete", "get") and not descriptor.is_home_in_key:
            return 0
        buckets = self.world.store.buckets
        count = descriptor.placement.storage_count(self.world.store.storages)
        return storage_of(row_bucket(descriptor, descriptor.placement, row, buckets), count, buckets)

    def _next_part(self, request: LabRequest) -> None:
        request.attempts, request.part = Attempts(), []
        if request.batch.left:
            self._plan(request)
        else:
            request.stage = Stage.OVER

    def _release_pin(self, request: LabRequest) -> None:
        if request.pin is not None:
            table, number = request.pin
            request.pin = None
            node_statements.unpin(self.world, request.node, table, number)

    # -- failed attempts ----------------------------------------------------------------------------------------

    def _after(self, request: LabRequest, failure: Failure, why: str) -> None:
        self.counts["mismatches"] += failure is Failure.MISMATCH
        request.attempts, after = request.attempts.after(failure)
        if after is Next.AGAIN:
            self._plan(request)
        elif after is Next.RELOAD:
            assert request.descriptor is not None
            request.stage = Stage.WAITING
            than = Known(request.descriptor.table_id, request.descriptor.version)
            ask = reloads.Ask(request.number, than, request.deadline, is_patient=failure is Failure.MISMATCH)
            joins = self._state(request.node, request.table).is_loading
            self._feed(request.node, request.table, ask)
            self.counts["joined"] += joins and request.stage is Stage.WAITING
        else:
            self._give_up(request, why)

    def _give_up(self, request: LabRequest, why: str) -> None:
        """The part is undone; without a part, the rest of the request fails."""
        request.batch.account(request.part or request.batch.left, Ending.FAILED, why)
        self._next_part(request)

    # -- reloads ------------------------------------------------------------------------------------------------

    def read_catalog(self, node: NodeId, table: str) -> None:
        found = self.world.control.find(table)
        request, version = node_statements.pin(self.world, self.world.nodes[node], found, fresh=True)
        node_statements.unpin(self.world, node, found, request)
        self.loading[node, table] = Known(found, version)

    def answer_reload(self, node: NodeId, table: str, *, cause: str = "") -> None:
        found = self.loading.pop((node, table))
        self.counts["reloads"] += not cause
        self._feed(node, table, reloads.Failed(cause) if cause or found is None else reloads.Loaded(found))

    def pass_time(self, seconds: float) -> None:
        self.world.pass_time(seconds)
        for (node, table), state in list(self.states.items()):
            if state.wake_at is not None and state.wake_at <= self.world.now:
                self._feed(node, table, reloads.Tick())

    def _state(self, node: NodeId, table: str) -> Reloads:
        return self.states.get((node, table), Reloads())

    def _feed(self, node: NodeId, table: str, event: reloads.Event) -> None:
        state, effects = reloads.step(self._state(node, table), event, self.world.now)
        self.states[node, table] = state
        woken = []
        for effect in effects:
            match effect:
                case reloads.Load():
                    assert (node, table) not in self.loading, "two reloads at once"
                    self.loading[node, table] = None
                case reloads.Wake():
                    woken.append(effect)
        for wake in woken:
            request = self.requests[wake.request]
            if wake.outcome is Outcome.NEWER:
                self.counts["retries"] += 1
                self._plan(request)
            else:
                self._give_up(request, wake.cause or Sentence(wake.outcome.value))


def _values(descriptor: Descriptor, asked: RowRequest) -> list[str | None]:
    names = [column.name for column in descriptor.public_columns]
    unknown = sorted(asked.values.keys() - set(names))
    if unknown:
        raise BadFit(f"{descriptor} has no column {unknown[0]}")
    return [asked.values.get(name) for name in names]
