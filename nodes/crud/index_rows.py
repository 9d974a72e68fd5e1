"""Rows in the order of an index, or of the primary key backwards, by its keys: no more are read than are wanted.

    storage 1   41 · 3    30 · 9    25 · 2 ..    \\
    storage 2   41 · 1    30 · 8    12 · 6 ..     >  41 · 1   41 · 3   30 · 8   30 · 9   25 · 2   12 · 6 ..

A *place* is what orders a row: its indexed values, then its primary key, encoded. Each storage's places come page by
page in their own order, and are merged; then the rows are read, some at a time. A public index has an entry of every
row (C4), and keys sort as PostgreSQL does (`storage.encoding`).
"""

from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

from catalog.elements import EXISTS, Index
from expressions.typed import Context
from nodes.context import Environment
from nodes.crud.rows import Batches
from nodes.execution.fairness import Turns
from nodes.execution.held_rows import HeldRows
from nodes.execution.pages import Table, pairs_in
from nodes.execution.scans import read_points
from nodes.execution.select import answers_of, table_of
from nodes.sql.conditions.access_paths import Access, along
from nodes.sql.plans import SelectPlan
from nodes.store.pipeline import Command, binary
from nodes.store.transaction import Transaction
from storage import pairs
from storage.statements import backward_scan_sql, bounds, next_low, scan_sql

PAGE_MIN, PAGE_MAX = 16, 1000
Placed = tuple[bytes, bytes]
"""A place, and K(r) of the row."""


@dataclass(eq=False)
class IndexRead:
    """One read of a table's rows in the order of `index` (None: of the primary key), within a transaction.

    `beyond` is the place behind which it begins, in the direction in which it goes; `first` is how many are wanted.
    """

    env: Environment
    transaction: Transaction
    plan: SelectPlan
    context: Context
    index: Index | None
    backwards: bool = False
    beyond: bytes | None = None
    first: int | None = None

    def __post_init__(self) -> None:
        assert self.plan.query.simple is not None, "conditions on columns of one table"
        self.simple = self.plan.query.simple
        self.table: Table = table_of(self.env, self.simple.scan)
        number = 0 if self.index is None else self.index.id
        self.start = pairs.prefix(self.table.descriptor, self.table.placement.id, number)  # type: ignore[arg-type]
        self.way = self._way()

    def _way(self) -> Access:
        """The keys within what the conditions say, and behind `beyond`."""
        scan, env = self.simple.scan, self.env
        way = along(scan.descriptor, self.index, scan.conditions, self.context, env.storages, env.buckets)
        if self.beyond is None:
            return way
        place = pairs.place(self.start + self.beyond)
        if self.backwards:
            ranges = [(low, min(high, place)) for low, high in way.ranges]
        else:
            behind = next_low(place)
            ranges = [(max(low, behind), high) for low, high in way.ranges]
        return replace(way, ranges=tuple((low, high) for low, high in ranges if low < high))

    async def answers(self) -> Batches:
        """The rows as they are answered, some at a time."""
        left, writers = self.first, self.plan.columns.writers(())
        size = PAGE_MAX if left is None else max(PAGE_MIN, min(left, PAGE_MAX))
        merged = self._merged(size)
        while left is None or left > 0:
            keys = [key async for _, key in _some(merged, size)]
            if not keys:
                return
            with HeldRows(self.env.rows) as held:
                rows = await read_points(self.transaction, self.table, keys, self.simple.scan.used, held=held)
                by_key = {row.key: row for row in rows}
                found = await answers_of(self.simple, [by_key[key] for key in keys], self.context, writers)
            if found:
                yield found if left is None else found[:left]
            left = None if left is None else left - len(found)
            size = min(2 * size, PAGE_MAX)

    async def _merged(self, size: int) -> AsyncIterator[Placed]:
        """The places of all storages in one order."""
        streams = [_Stream(self._of_storage(storage, size)) for storage in self.way.storages]
        for stream in streams:
            await stream.fill()
        turns, nearest = Turns(), max if self.backwards else min
        while streams := [stream for stream in streams if stream.places]:
            stream = nearest(streams, key=lambda one: one.places[0])
            yield stream.places.popleft()
            await stream.fill()
            await turns.give()

    async def _of_storage(self, storage: int, size: int) -> AsyncIterator[list[Placed]]:
        """The places of one storage, page by page."""
        of_rows = self.index is None
        make = backward_scan_sql if self.backwards else scan_sql
        sql = make(storage, self.table.descriptor.table_id, columns=of_rows)
        named = ([int(EXISTS)],) if of_rows else ()
        for low, high in reversed(self.way.ranges) if self.backwards else self.way.ranges:
            while True:
                command = Command(sql, binary(*bounds(low, high), *named, size))
                page = list(pairs_in((await self.transaction.run([command]))[0]))
                found = [self._place(key, value) for key, value in page]
                yield [one for one in found if self.beyond is None or self._is_behind(one[0])]
                if len(page) < size:
                    break
                last = page[-1][0]
                low, high = (low, last) if self.backwards else (next_low(last), high)
                size = min(2 * size, PAGE_MAX)

    def _place(self, key: bytes, value: bytes | None) -> Placed:
        if self.index is None:
            row_key = key[len(self.start) : -pairs.COLUMN.size]
            return row_key, row_key
        if value:  # an entry of a unique index ends with its values
            return key[len(self.start) :] + value, value
        found = pairs.name_of(self.table.descriptor, key).row_key
        assert found is not None
        return key[len(self.start) :], found

    def _is_behind(self, place: bytes) -> bool:
        assert self.beyond is not None
        return place < self.beyond if self.backwards else place > self.beyond


class _Stream:
    """The places of one storage that were read and not taken yet."""

    def __init__(self, pages: AsyncIterator[list[Placed]]) -> None:
        self.pages, self.places = pages, deque[Placed]()

    async def fill(self) -> None:
        """Have a place at hand, unless there is none left."""
        while not self.places:
            page = await anext(self.pages, None)
            if page is None:
                return
            self.places.extend(page)


async def _some(merged: AsyncIterator[Placed], count: int) -> AsyncIterator[Placed]:
    """The next few, one after the other."""
    for _ in range(count):
        one = await anext(merged, None)
        if one is None:
            return
        yield one
