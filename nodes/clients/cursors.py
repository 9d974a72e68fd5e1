"""Cursors of SQL: a query whose rows are fetched in parts, in any direction where SCROLL says so.

A query of rows has a cursor of the store (`nodes.session.store_cursors`). For what the node answers itself, as
questions to the catalog, it reads and keeps rows:

    at          0   1   2   3   ..   n   n+1        0: before the first row, n + 1: behind the last
    rows            x   x   x        x              those before `at` are kept with SCROLL only

Such a cursor begins to read when it is first fetched from, or before its transaction writes: then what is left is read
and kept, as of a portal (`nodes.clients.portals`). One WITH HOLD is read to its end at COMMIT. What is kept counts for
its connection.
"""

import datetime as dt
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import islice
from sys import maxsize

from catalog import clock
from expressions.errors import INVALID_CURSOR_NAME, NOT_IN_PREREQUISITE_STATE, SqlError
from expressions.sqltypes import parameter_type
from nodes.clients.portals import ENTRY_BYTES, Kept
from nodes.execution.fairness import Turns
from nodes.execution.held_rows import bytes_of
from nodes.sql.queries.query import Output
from nodes.wire.columns import Columns, each
from nodes.wire.messages import Field
from nodes.wire.parameters import values_of
from nodes.wire.results import Result, Row

ROWS_AT_ONCE = 1000
ALL = maxsize


class Direction(Enum):
    """The directions of FETCH; a count says how far."""

    FORWARD = "FETCH_FORWARD"
    BACKWARD = "FETCH_BACKWARD"
    ABSOLUTE = "FETCH_ABSOLUTE"
    RELATIVE = "FETCH_RELATIVE"


class Hold(Enum):
    """The end of a cursor: with its transaction; with the session, once that has committed; with the session."""

    NO = "no"
    AT_COMMIT = "at commit"
    HELD = "held"


@dataclass(eq=False, kw_only=True)
class Cursor:
    """One cursor."""

    name: str
    sql: str
    fields: tuple[Field, ...]
    savepoint: int = 0
    """The number of its transaction's last savepoint when it was declared."""
    is_scroll: bool = False
    is_binary: bool = False
    hold: Hold = Hold.NO
    bound_bytes: int = 0
    made_at: dt.datetime = field(default_factory=clock.now)
    counted: int = 0

    def bytes_now(self) -> int:
        return ENTRY_BYTES + self.bound_bytes

    def let_go(self) -> None:
        """It holds nothing but itself."""

    @property
    def is_holdable(self) -> bool:
        return self.hold is not Hold.NO

    def fetch(self, direction: Direction, count: int, formats: tuple[int, ...]) -> AsyncIterator[list[Row]]:
        """The rows of a FETCH; each has moved the cursor. Raises 55000 for a direction that it does not have."""
        raise NotImplementedError

    async def move(self, direction: Direction, count: int) -> int:
        """The number of rows that a MOVE has passed."""
        raise NotImplementedError

    async def before_write(self) -> None:
        """Its transaction is about to write."""

    async def before_commit(self) -> None:
        """Its transaction is about to commit, and it is WITH HOLD."""

    async def close(self) -> None:
        """CLOSE."""

    def end(self, *, committed: bool) -> None:
        """Its transaction is over."""
        raise NotImplementedError


@dataclass(eq=False, kw_only=True)
class ReadCursor(Cursor):
    """A cursor whose rows the node reads, and keeps. `start` runs its query, with the rows in these formats."""

    start: Callable[[tuple[int, ...]], Awaitable[Result]]
    kept: "Kept[Cursor]"
    """Where it is kept, and counted."""
    at: int = 0
    formats: tuple[int, ...] = ()
    has_failed: bool = False
    _rows: deque[Row] = field(default_factory=deque)
    _passed: int = 0
    """Number of rows that are not kept any more: they come before `_rows`."""
    _bytes: int = 0
    _source: Result | None = None
    _is_whole: bool = False

    def bytes_now(self) -> int:
        return super().bytes_now() + self._bytes

    async def before_write(self) -> None:
        await self.read_on()

    async def before_commit(self) -> None:
        await self.read_on()

    def end(self, *, committed: bool) -> None:
        if committed and self.hold is Hold.AT_COMMIT and not self.has_failed:
            self.hold = Hold.HELD

    # -- reading ------------------------------------------------------------------------------------------------

    async def _begin(self, formats: tuple[int, ...]) -> None:
        if self._source is None and not self._is_whole:
            self.formats = formats
            self._source = await self.start(formats)
            await self._add(self._source.rows)
            self._source.rows = []

    async def _read(self) -> bool:
        """Have more rows; False when there are none."""
        if self._source is None or self._source.more is None:
            self._is_whole, self._source = True, None
            return False
        try:
            await self._add(await anext(self._source.more))
        except StopAsyncIteration:
            self._is_whole, self._source = True, None
            return False
        return True

    async def _add(self, rows: Sequence[Row]) -> None:
        turns = Turns()
        for row in rows:
            self._rows.append(row)
            self._bytes += bytes_of(row)
            await turns.give()
        try:
            self.kept.recount(self)
        except SqlError as error:
            message = f'what cursor "{self.name}" has to keep is too much: {error.message}'
            hint = "declare it NO SCROLL and without WITH HOLD, and fetch all its rows before you write"
            raise SqlError(error.sqlstate, message, hint=hint) from error

    async def read_on(self) -> None:
        """Read all rows that are left. Raises 54000 when the connection cannot keep them."""
        if self._is_whole or self.has_failed:
            return
        try:
            await self._begin((1,) if self.is_binary else ())
            while await self._read():
                pass
        except BaseException:
            self.has_failed = True
            raise

    @property
    def _known(self) -> int:
        """Number of rows that were read."""
        return self._passed + len(self._rows)

    async def _reach(self, place: int) -> bool:
        """True if there is a row at this place; it is read if it has to be."""
        while self._known < place:
            if not await self._read():
                return False
        return place > 0

    # -- moving -------------------------------------------------------------------------------------------------

    async def fetch(self, direction: Direction, count: int, formats: tuple[int, ...]) -> AsyncIterator[list[Row]]:
        """The rows of a FETCH; each has moved the cursor. Raises 55000 for going backward without SCROLL."""
        if self.has_failed:
            raise SqlError(NOT_IN_PREREQUISITE_STATE, f'portal "{self.name}" cannot be run')
        try:
            await self._begin(formats)
            async for rows in self._moved(direction, count):
                yield converted(self.fields, rows, self.formats, formats)
            self.kept.recount(self)
        except GeneratorExit:
            raise  # the client has enough
        except BaseException:  # a cancel, too: what reads the rows is over
            self.has_failed = True
            raise

    async def move(self, direction: Direction, count: int) -> int:
        if count == 0 and direction is not Direction.ABSOLUTE:
            return int(await self._reach(self.at))
        moved = 0
        async for rows in self.fetch(direction, count, ()):
            moved += len(rows)
        return moved

    async def _moved(self, direction: Direction, count: int) -> AsyncIterator[list[Row]]:
        if direction in (Direction.FORWARD, Direction.BACKWARD) and count < 0:
            opposite = {Direction.FORWARD: Direction.BACKWARD, Direction.BACKWARD: Direction.FORWARD}
            direction, count = opposite[direction], -count
        if count == 0 and direction is not Direction.ABSOLUTE:
            if await self._reach(self.at):
                self._refuse_back()
                yield [self._row(self.at)]
        elif direction is Direction.FORWARD:
            async for rows in self._forward(count):
                yield rows
        elif direction is Direction.BACKWARD:
            self._refuse_back()
            turns = Turns()
            for _ in range(min(count, self.at)):
                self.at -= 1
                if self.at:
                    yield [self._row(self.at)]
                await turns.give()
        else:
            if count < 0:
                self._refuse_back()
            place = count if direction is Direction.ABSOLUTE else self.at + count
            await self._jump(place, is_from_end=direction is Direction.ABSOLUTE and count < 0)
            if 0 < self.at <= self._known:
                yield [self._row(self.at)]
                self._forget()

    async def _forward(self, count: int) -> AsyncIterator[list[Row]]:
        while count:
            if not await self._reach(self.at + 1):
                self.at = self._known + 1
                return
            begin = self.at - self._passed
            rows = list(islice(self._rows, begin, begin + min(count, ROWS_AT_ONCE)))
            self.at, count = self.at + len(rows), count - len(rows)
            self._forget()
            yield rows

    async def _jump(self, place: int, *, is_from_end: bool) -> None:
        """Stand on this place, counted from the end if it is; before the first or behind the last if there is none."""
        if is_from_end:
            while await self._read():
                pass
            place += self._known + 1
        if place <= self.at and self.at > 0:
            self._refuse_back()
        if place > 0 and not await self._passing(place):
            place = self._known + 1
        self.at = max(place, 0)

    async def _passing(self, place: int) -> bool:
        """True if there is a row at this place; those before it are not kept for a cursor that does not scroll."""
        while self._known < place:
            if not self.is_scroll:
                self.at = self._known
                self._forget()
            if not await self._read():
                return False
        return True

    def _row(self, place: int) -> Row:
        return self._rows[place - self._passed - 1]

    def _forget(self) -> None:
        """Keep no row up to the one that the cursor is on, unless it scrolls."""
        if self.is_scroll:
            return
        while self._passed < self.at and self._rows:
            self._bytes -= bytes_of(self._rows.popleft())
            self._passed += 1

    def _refuse_back(self) -> None:
        if not self.is_scroll:
            message, hint = "cursor can only scan forward", "Declare it with SCROLL option to enable backward scan."
            raise SqlError(NOT_IN_PREREQUISITE_STATE, message, hint=hint)


def converted(fields: Sequence[Field], rows: list[Row], before: tuple[int, ...], after: tuple[int, ...]) -> list[Row]:
    """The rows in other formats: nearly always they are as they were read."""
    have, want = each(before, len(fields)), each(after, len(fields))
    if have == want:
        return rows
    outputs = [Output(f.name, parameter_type(f.oid, n), (0, 0), f.modifier) for n, f in enumerate(fields, 1)]
    writers, oids = Columns(outputs).writers(want), [f.oid for f in fields]
    return [
        [
            value if old == new else write(read)
            for value, read, write, old, new in zip(row, values_of(oids, row, have), writers, have, want, strict=True)
        ]
        for row in rows
    ]


def not_there(name: str) -> SqlError:
    return SqlError(INVALID_CURSOR_NAME, f'cursor "{name}" does not exist')
