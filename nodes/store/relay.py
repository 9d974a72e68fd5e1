"""Rows of a user's statement on their way from the store to its client, chunk by chunk, never decoded. A relay that is
full pauses the session at the store, whose socket then fills: a slow client costs no memory. libpq hands over a large
row when it has all of it, so bytes without a row are counted and bounded."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

from psycopg import pq

from nodes.wire.messages import Field, copy_data
from nodes.wire.results import CopyOut

Row = tuple[bytes | None, ...]

CHUNK_ROWS, CHUNK_ROWS_OF_NUMBERS = 8, 256
"""Rows that libpq hands over at once: a value of no fixed length may take a megabyte."""
HELD_BYTES = 2**18
"""A relay that holds so much takes no more."""
ROW_BYTES_MAX = 2**25
"""Of a chunk, as the store sends it."""


def fields_in(result: "pq.abc.PGresult") -> tuple[Field, ...]:
    return tuple(
        Field((result.fname(n) or b"").decode(), result.ftype(n), result.fsize(n), modifier=result.fmod(n))
        for n in range(result.nfields)
    )


class Relay:
    """The rows of one command. `columns` are there with the first chunk of rows, at the latest with the end."""

    def __init__(self, chunk_rows: int = CHUNK_ROWS) -> None:
        self.chunk_rows = chunk_rows
        self.columns: tuple[Field, ...] = ()
        self.copy: CopyOut | None = None
        self.bytes_held = 0
        self.bytes_without_row = 0
        self.resume: Callable[[], None] = lambda: None
        self._chunks: deque[tuple[list[Row], int]] = deque()
        self._copied = bytearray()
        self._moved = asyncio.Event()
        self._is_dropped = False
        self._task: asyncio.Task[Any] | None = None

    # -- the session at the store --------------------------------------------------------------------------------

    @property
    def is_full(self) -> bool:
        return self.bytes_held > HELD_BYTES and not self._is_dropped

    def add(self, result: "pq.abc.PGresult") -> bool:
        """Take a chunk; False for one that is larger than `ROW_BYTES_MAX`."""
        self.bytes_without_row = 0
        if self._is_dropped:
            return True
        width = range(result.nfields)
        self.columns = self.columns or fields_in(result)
        value = result.get_value
        rows = [tuple([value(number, place) for place in width]) for number in range(result.ntuples)]
        size = sum([len(cell) for row in rows for cell in row if cell is not None])
        if size > ROW_BYTES_MAX:
            return False
        if rows:
            self._chunks.append((rows, size))
            self.bytes_held += size
            self._moved.set()
        return True

    def begin_copy(self, result: "pq.abc.PGresult") -> None:
        self.copy = CopyOut(result.nfields, bool(result.binary_tuples))
        self._moved.set()

    def add_copied(self, data: "bytes | memoryview") -> None:
        """Take a message of COPY TO, for the client as it is."""
        self.bytes_without_row = 0
        if not self._is_dropped:
            self._copied += copy_data(data)
            self.bytes_held = len(self._copied)
            self._moved.set()

    def end(self, result: "pq.abc.PGresult") -> None:
        """Take the end of the rows, which may be the first that is heard of them."""
        if self.copy is not None:
            self.copy.tag = (result.command_status or b"").decode()
        self.columns = self.columns or fields_in(result)

    # -- the statement's session ---------------------------------------------------------------------------------

    def begin(self, task: "asyncio.Task[Any]") -> None:
        """`task` runs the batch; what it raises is raised where the rows end."""
        self._task = task
        task.add_done_callback(self._end)

    def _end(self, task: "asyncio.Task[Any]") -> None:
        if not task.cancelled():
            task.exception()  # raised by `finish`, should anybody still want the rows
        self._moved.set()

    def is_of(self, task: "asyncio.Task[Any] | None") -> bool:
        return self._task is task

    @property
    def is_over(self) -> bool:
        """The batch is done; some rows may still be held."""
        return self._task is not None and self._task.done()

    async def gathered(self, bytes_max: int) -> bool:
        while not self.is_over and self.bytes_held <= bytes_max:
            await self._wait()
        return self.is_over

    async def next(self) -> list[Row] | None:
        """The rows that have arrived since the last call; None after the last ones."""
        while not self._chunks and not self._copied:
            if self.is_over:
                return None
            await self._wait()
        return self.taken()

    def taken(self) -> list[Row]:
        rows: list[Row] = [row for chunk, _ in self._chunks for row in chunk]
        if self._copied:
            rows.append((bytes(self._copied),))
        self._empty()
        return rows

    async def finish(self) -> None:
        """Raises what ended the batch before its time."""
        assert self._task is not None
        await self._task

    async def drop(self) -> None:
        """Drops the rest: stops the batch, or has it end."""
        self.let_go()
        if self._task is not None and not self._task.done():
            self._task.cancel()
            await asyncio.wait([self._task])

    def let_go(self) -> None:
        self._is_dropped = True
        self._empty()

    def _empty(self) -> None:
        self._chunks.clear()
        self._copied.clear()
        self.bytes_held = 0
        self.resume()

    async def _wait(self) -> None:
        self._moved.clear()
        await self._moved.wait()
