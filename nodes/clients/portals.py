"""Prepared statements and portals, and how the rows of a portal reach the client. Both count for their connection and
its node until they are closed (`Kept`).

Once sent, the description of a prepared statement is a promise: when a schema change makes its result another one, the
statement is refused (0A000, as PostgreSQL does). One without a sent description follows the schema. ROLLBACK TO closes
portals that came after the savepoint.
"""

import datetime as dt
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from sys import getsizeof, maxsize
from typing import Any, Protocol, TypeVar

from catalog import clock
from expressions.errors import FEATURE_NOT_SUPPORTED, SqlError
from nodes.clients.channel import Channel
from nodes.execution.fairness import Turns
from nodes.execution.held_rows import HeldRows, KeptByConnection, NodeRows, bytes_of
from nodes.trace.record import Trace
from nodes.wire import messages
from nodes.wire.messages import Field
from nodes.wire.results import Result, Row

ROWS_AT_ONCE = 100
ENTRY_BYTES = 1000
"""Of anything that is kept, besides its texts, types and columns."""
OID_BYTES, FIELD_BYTES = 36, 120
TREE_FACTOR, LONG_TREE_FACTOR = 8, 40
"""A text with its parse tree takes some forty times as much as the text alone; trees of short texts are shared."""
LONG_CHARS = 8192
RESULT_CHANGED = "cached plan must not change result type"


class Entry(Protocol):
    """A thing that a connection keeps by name."""

    counted: int

    def bytes_now(self) -> int: ...

    def let_go(self) -> None: ...


E = TypeVar("E", bound=Entry)


class Kept(dict[str, E]):
    """Statements or portals by name. Raises 54000 or 53200 when the connection, or the node, keeps too much."""

    def __init__(self, held: HeldRows) -> None:
        super().__init__()
        self._held = held

    def __setitem__(self, name: str, entry: E) -> None:
        self.pop(name, None)
        now = entry.bytes_now()
        self._held.take(now + getsizeof(name))
        entry.counted = now
        super().__setitem__(name, entry)

    @classmethod
    def uncounted(cls) -> "Kept[E]":
        """For a connection that has not signed in yet."""
        return cls(KeptByConnection(NodeRows()))

    def recount(self, entry: E) -> None:
        now = entry.bytes_now()
        self._held.take(now - entry.counted)
        entry.counted = now

    def pop(self, name: str, default: E | None = None) -> E | None:  # type: ignore[override]
        entry = super().pop(name, None)
        if entry is None:
            return default
        self._held.give(entry.counted + getsizeof(name))
        entry.counted = 0
        entry.let_go()
        return entry

    def clear(self) -> None:
        for name in list(self):
            self.pop(name)


@dataclass(slots=True)
class Prepared:
    """A statement whose parameters and result are known (None: an empty one). `batch` numbers the messages up to one
    Sync: a client has read all of an earlier batch."""

    sql: str
    statement: Any
    oids: Sequence[int] = ()
    fields: tuple[Field, ...] | None = None
    batch: int = 0
    is_described: bool = False
    counted: int = 0
    is_of_sql: bool = False
    """By PREPARE, not by the protocol."""
    made_at: dt.datetime = field(default_factory=clock.now)
    declared: tuple[int, ...] | None = None
    """The types of parameters that its client named; 0, or none at the end, for those that it left open."""
    _description: tuple[tuple[Field, ...] | None, tuple[int, ...], bytes] | None = None

    def description(self, formats: tuple[int, ...] = ()) -> bytes:
        known = self._description
        if known is None or known[0] is not self.fields or known[1] != formats:
            known = self._description = self.fields, formats, description(self.fields, formats)
        return known[2]

    def bytes_now(self) -> int:
        text = len(self.sql) * (TREE_FACTOR if len(self.sql) <= LONG_CHARS else LONG_TREE_FACTOR)
        columns = sum(FIELD_BYTES + len(field.name) for field in self.fields or ())
        return ENTRY_BYTES + text + OID_BYTES * len(self.oids) + columns

    def let_go(self) -> None:
        """It holds nothing but itself."""

    def check_result(self, fields: tuple[Field, ...] | None) -> None:
        """Raises 0A000 when the result is not what the client was told."""
        if self.is_described and fields != self.fields:
            raise SqlError(FEATURE_NOT_SUPPORTED, RESULT_CHANGED, routine="RevalidateCachedQuery")


def description(fields: Sequence[Field] | None, formats: Sequence[int] = ()) -> bytes:
    return messages.NO_DATA if fields is None else messages.row_description(fields, formats)


class CopyData(Protocol):
    """The data of one COPY FROM STDIN (`nodes.clients.copying`)."""

    @property
    def has_begun(self) -> bool: ...

    @property
    def can_begin_again(self) -> bool: ...

    async def begin(self, table: int, columns: Sequence[int], *, is_binary: bool) -> None: ...

    def pieces(self) -> AsyncIterator[bytes]: ...

    async def discard(self, *, is_binary: bool) -> None: ...


@dataclass(slots=True)
class Portal:
    prepared: Prepared
    values: Sequence[bytes | None] = ()
    formats: Sequence[int] = ()
    result: Result | None = None
    sent: int = 0
    is_done: bool = False
    savepoint: int = 0
    """The number of its transaction's last savepoint when it was bound; when it was executed, once it was."""
    counted: int = 0
    waiting: deque[Row] = field(default_factory=deque)
    waiting_bytes: int | None = None
    """Of the rows that wait for the next Execute, once they have been added up."""
    bound_bytes: int = field(init=False)
    result_formats: tuple[int, ...] = ()
    is_limited: bool = False
    """The client takes some rows, and may do something else before it takes more."""
    trace: Trace | None = None
    """Records what its statement does, for a client that wants to know."""
    data: CopyData | None = None

    @property
    def statement(self) -> Any:
        return self.prepared.statement

    @property
    def oids(self) -> Sequence[int]:
        return self.prepared.oids

    def about(self, statement: Any, **changes: Any) -> "Portal":
        prepared = Prepared(self.prepared.sql, statement, self.oids, declared=self.prepared.declared)
        return replace(self, prepared=prepared, **changes)

    def __post_init__(self) -> None:
        self.bound_bytes = ENTRY_BYTES + bytes_of(self.values)

    def bytes_now(self) -> int:
        return self.bound_bytes + (self.waiting_bytes or 0)

    def let_go(self) -> None:
        if self.result is not None and self.result.let_go is not None:
            self.result.let_go()

    def next_row(self) -> Row:
        row = self.waiting.popleft()
        if self.waiting_bytes is not None:
            self.waiting_bytes -= bytes_of(row)
        return row

    def replenish(self, rows: list[Row]) -> None:
        self.waiting, self.waiting_bytes = deque(rows), None

    async def weigh(self, turns: Turns) -> None:
        if self.waiting_bytes is None:
            size = 0
            for row in self.waiting:
                size += bytes_of(row)
                await turns.give()
            self.waiting_bytes = size


def send_at_once(portal: Portal, rows_max: int, channel: Channel) -> bool:
    """Sends what the portal has if it is at hand and small, without waiting; True if so. Rows may be few and large:
    what the channel does not take at once stays in the result."""
    result = portal.result
    assert result is not None
    if result.more is not None or rows_max or len(result.rows) > ROWS_AT_ONCE or portal.waiting or portal.is_done:
        return False
    for count, row in enumerate(result.rows, start=1):
        channel.send(messages.data_row(row))
        if channel.is_full and count < len(result.rows):
            result.rows, portal.sent = result.rows[count:], count
            return False
    portal.sent = len(result.rows)
    channel.send(messages.command_complete(result.complete_tag(portal.sent)))
    result.rows, portal.sent, portal.is_done = [], 0, True
    return True


async def send_rows(portal: Portal, rows_max: int, channel: Channel, flush: Callable[[], Awaitable[None]]) -> bool:
    """Sends rows until the limit (0: none) or the end; True at the end. `flush` writes what the channel has gathered,
    and decides how long a client may take to take it."""
    assert portal.result is not None
    result, left, turns = portal.result, rows_max or maxsize, Turns()
    if result.rows:
        portal.replenish(result.rows)
        result.rows = []
    while not portal.is_done:
        while portal.waiting and left:
            channel.send(messages.data_row(portal.next_row()))
            portal.sent += 1
            left -= 1
            if channel.is_full:
                await flush()
                await turns.give()
        if portal.waiting or (not left and result.more is not None):
            await portal.weigh(turns)
            return False
        if result.more is None:
            portal.is_done = True
        else:
            try:
                portal.replenish(await anext(result.more))
            except StopAsyncIteration:
                result.more = None
    channel.send(messages.command_complete(result.complete_tag(portal.sent)))
    portal.sent = 0
    return True
