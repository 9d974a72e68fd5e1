"""Cursors of SQL: a query whose rows are fetched in parts, in any direction where SCROLL says so. A query of rows has a
cursor of the store (`nodes.session.store_cursors`). A question to the catalog has its rows here from DECLARE on, where
they count for their connection; `at` is 0 before the first row, n + 1 behind the last."""

import datetime as dt
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from sys import maxsize

from catalog import clock
from expressions.errors import INVALID_CURSOR_NAME, NOT_IN_PREREQUISITE_STATE, SqlError
from expressions.sqltypes import parameter_type
from nodes.clients.portals import ENTRY_BYTES
from nodes.wire.columns import Columns, Output, each
from nodes.wire.messages import Field
from nodes.wire.parameters import values_of
from nodes.wire.results import Row

ALL = maxsize


class Direction(Enum):
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
        raise NotImplementedError

    async def before_commit(self) -> None:
        """Its transaction is about to commit, and it is WITH HOLD."""

    async def close(self) -> None:
        """CLOSE."""

    def end(self, *, committed: bool) -> None:
        if committed and self.hold is Hold.AT_COMMIT:
            self.hold = Hold.HELD


@dataclass(eq=False, kw_only=True)
class ReadCursor(Cursor):
    rows: list[Row]
    formats: tuple[int, ...] = ()
    at: int = 0
    row_bytes: int = 0

    def bytes_now(self) -> int:
        return super().bytes_now() + self.row_bytes

    async def fetch(self, direction: Direction, count: int, formats: tuple[int, ...]) -> AsyncIterator[list[Row]]:
        yield converted(self.fields, self._moved(direction, count), self.formats, formats)

    async def move(self, direction: Direction, count: int) -> int:
        if count == 0 and direction is not Direction.ABSOLUTE:
            return int(bool(self._row()))
        return len(self._moved(direction, count))

    def _moved(self, direction: Direction, count: int) -> list[Row]:
        if direction in (Direction.FORWARD, Direction.BACKWARD) and count < 0:
            opposite = {Direction.FORWARD: Direction.BACKWARD, Direction.BACKWARD: Direction.FORWARD}
            direction, count = opposite[direction], -count
        before, behind = self.at, len(self.rows) + 1
        if count == 0 and direction is not Direction.ABSOLUTE:
            if self._row():
                self._refuse_back()
            return self._row()
        if direction is Direction.FORWARD:
            self.at = min(before + count, behind)
            return self.rows[before : before + count]
        if direction is Direction.BACKWARD:
            self._refuse_back()
            self.at = max(before - count, 0)
            return self.rows[max(self.at - 1, 0) : max(before - 1, 0)][::-1]
        place = before + count if direction is Direction.RELATIVE else count if count >= 0 else behind + count
        if count < 0 or 0 < before >= place:
            self._refuse_back()
        self.at = min(max(place, 0), behind)
        return self._row()

    def _row(self) -> list[Row]:
        return self.rows[self.at - 1 : self.at] if self.at else []

    def _refuse_back(self) -> None:
        if not self.is_scroll:
            message, hint = "cursor can only scan forward", "Declare it with SCROLL option to enable backward scan."
            raise SqlError(NOT_IN_PREREQUISITE_STATE, message, hint=hint)


def converted(fields: Sequence[Field], rows: list[Row], before: tuple[int, ...], after: tuple[int, ...]) -> list[Row]:
    have, want = each(before, len(fields)), each(after, len(fields))
    if have == want:
        return rows
    outputs = [Output(f.name, parameter_type(f.oid), (0, 0), f.modifier) for f in fields]
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
