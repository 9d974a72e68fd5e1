"""Rows in the order of the primary key, over all storages, page by page: what `select`, `pairs` and `count` read.

    storage 1   1  4  5  9 ..   \\
    storage 2   2  3  8 ..       >  1 2 3 4 5 8 9 ..     each storage's own order, merged

A request is keyed when its conditions, or its bucket, leave one storage; otherwise it goes to all of them.
"""

from collections import deque
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace

from catalog.elements import ColumnId
from expressions.typed import Context
from nodes.context import Environment
from nodes.crud.answers import row_json
from nodes.execution.fairness import Turns
from nodes.execution.held_rows import HeldRows, bytes_of
from nodes.execution.pages import Table
from nodes.execution.scans import stored_bytes, stored_rows
from nodes.execution.select import access_of, answers_of, table_of
from nodes.sql.conditions.access_paths import Access
from nodes.sql.plans import SelectPlan
from nodes.store.transaction import Transaction
from nodes.wire.results import Result, Row
from storage import pairs
from storage.buckets import storage_of
from storage.pairs import StoredRow, row_bucket

CHUNK_ROWS = 500
Batches = AsyncIterator[list[Row]]


@dataclass(frozen=True, slots=True)
class Window:
    """The part of the rows that is wanted: those of one bucket, those after a key, the first so many."""

    bucket: int | None = None
    after: bytes | None = None
    first: int | None = None
    is_forced: bool = False
    """Ask all storages, whatever the conditions say."""


@dataclass(eq=False)
class OrderedRead:
    """One read of a table's rows within a transaction."""

    env: Environment
    transaction: Transaction
    plan: SelectPlan
    context: Context
    window: Window

    def __post_init__(self) -> None:
        simple = self.plan.query.simple
        assert simple is not None, "conditions on columns of one table"
        assert self.plan.is_local, "comparisons with constants are computed here"
        self.simple = simple
        self.table: Table = table_of(self.env, simple.scan)
        self.way = self._way()

    @property
    def storages(self) -> set[int]:
        """The storages that are asked."""
        if self.way.points is None:
            return set(self.way.storages)
        return {storage for key in self.way.points for storage in self.table.home(key)}

    async def answers(self) -> AsyncIterator[list[Row]]:
        """The rows as they are answered, some at a time."""
        left, chunk = self.window.first, list[StoredRow]()
        writers = self.plan.columns.writers(())
        if left == 0:
            return
        with HeldRows(self.env.rows) as held:
            async for row in self._rows(held):
                chunk.append(row)
                if len(chunk) >= min(CHUNK_ROWS, CHUNK_ROWS if left is None else left):
                    found = await answers_of(self.simple, chunk, self.context, writers)
                    chunk = []
                    if found:
                        yield found
                    left = None if left is None else left - len(found)
                    if left == 0:
                        return
        found = await answers_of(self.simple, chunk, self.context, writers)
        if found:
            yield found if left is None else found[:left]

    def _way(self) -> Access:
        """The way to the rows, within the window."""
        way, window, every = access_of(self.env, self.simple.scan, self.context), self.window, self.table.storages
        if way.index is not None and way.index.unique:
            pass  # its entries lie by their own values, whatever bucket the rows are in
        elif window.bucket is not None:
            way = replace(way, storages=(storage_of(window.bucket, every, self.env.buckets),))
        elif window.is_forced:
            way = replace(way, storages=tuple(range(1, every + 1)))
        if way.points is not None and (window.bucket is not None or window.is_forced):
            starts = [self.table.start + key for key in way.points]
            way = replace(
                way,
                points=None,
                ranges=tuple((pairs.place(start), pairs.place(pairs.after(start))) for start in starts),
            )
        if window.after is None:
            return way
        if way.points is not None:
            return replace(way, points=tuple(key for key in way.points if key > window.after))
        if way.index is not None:
            return way
        low = pairs.place(pairs.after(self.table.start + window.after))
        return replace(way, ranges=tuple((max(start, low), end) for start, end in way.ranges if end > low))

    def _wanted(self) -> set[ColumnId]:
        sharding = set(self.table.descriptor.sharding_key) if self.window.bucket is not None else set()
        return self.simple.scan.used | sharding

    async def _rows(self, held: HeldRows) -> AsyncIterator[StoredRow]:
        """The rows within the window, by key; conditions are not checked yet."""
        merged = self._merged() if self.way.points is None and self.way.index is None else self._sorted(held)
        turns = Turns()
        async for row in merged:
            await turns.give()
            if self.window.after is not None and row.key <= self.window.after:
                continue
            if self.window.bucket is None or self._bucket(row) == self.window.bucket:
                yield row

    def _bucket(self, row: StoredRow) -> int:
        return row_bucket(self.table.descriptor, self.table.placement, row, self.env.buckets)

    async def _sorted(self, held: HeldRows) -> AsyncIterator[StoredRow]:
        """Rows by keys, or by an index: all of them are held, then sorted."""
        found: list[StoredRow] = []
        async for rows in stored_rows(self.transaction, self.table, self.way, self._wanted()):
            held.take(sum(stored_bytes(row) for row in rows))
            found += rows
        for row in sorted(found, key=lambda row: row.key):
            yield row

    async def _merged(self) -> AsyncIterator[StoredRow]:
        streams = [
            _Stream(stored_rows(self.transaction, self.table, replace(self.way, storages=(storage,)), self._wanted()))
            for storage in self.way.storages
        ]
        for stream in streams:
            await stream.fill()
        while streams := [stream for stream in streams if stream.rows]:
            least = min(streams, key=lambda stream: stream.rows[0].key)
            yield least.rows.popleft()
            await least.fill()


class _Stream:
    """The rows of one storage that were read and not taken yet."""

    def __init__(self, pages: AsyncIterator[Sequence[StoredRow]]) -> None:
        self.pages, self.rows = pages, deque[StoredRow]()

    async def fill(self) -> None:
        """Have a row at hand, unless there is none left."""
        while not self.rows:
            page = await anext(self.pages, None)
            if page is None:
                return
            self.rows.extend(page)


async def batches_of(result: Result) -> Batches:
    """The rows of a result as they come."""
    yield list(result.rows)
    if result.more is not None:
        async for rows in result.more:
            yield list(rows)


async def gathered(batches: Batches, held: HeldRows) -> list[Row]:
    """All rows of a read, which count as held."""
    found: list[Row] = []
    async for rows in batches:
        for row in rows:
            held.take(bytes_of(row))
        found += rows
    return found


async def written(oids: Sequence[int], rows: Sequence[Row], held: HeldRows) -> list[str]:
    """Rows as JSON, which count as held, too; others have their turn between them."""
    found, turns = list[str](), Turns()
    for row in rows:
        await turns.give()
        text = row_json(oids, row)
        held.take(len(text))
        found.append(text)
    return found
