"""Rows in the order of an index, or of the primary key: the node says which rows, PostgreSQL what is in them.

All rows are one sorted query. The first n, or `pairs`, are places of the order, page by page from all storages, so no
more are read than are wanted. A *place* orders a row: its indexed values, then its primary key, encoded. A public index
has an entry of every row (C4), and keys sort as PostgreSQL does (`storage.encoding`).
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace

from catalog.descriptor import Descriptor
from catalog.elements import EXISTS, Column, Index
from expressions.typed import Context
from nodes.crud import texts
from nodes.crud.answers import row_json
from nodes.crud.places import bucket_of_row, key_of_row
from nodes.crud.requests import Request
from nodes.crud.values import Condition
from nodes.execution.fairness import Turns
from nodes.execution.held_rows import HeldRows, bytes_of
from nodes.execution.pages import Table, pairs_in
from nodes.execution.ways import access_of
from nodes.sql.conditions.access_paths import Access, along
from nodes.sql.readable import Use
from nodes.store.pipeline import Command, binary
from nodes.store.transaction import Transaction
from nodes.wire.results import Result, Row
from storage import pairs
from storage.buckets import storage_of
from storage.statements import backward_scan_sql, bounds, next_low, scan_sql

PAGE_MIN, PAGE_MAX = 16, 1000
Batches = AsyncIterator[list[Row]]


@dataclass(frozen=True, slots=True)
class Window:
    """The part of the rows that is wanted: of one bucket, behind a place, the first so many. `backwards`: before the
    place, the nearest first. `is_forced`: ask all storages, whatever the conditions say."""

    bucket: int | None = None
    beyond: bytes | None = None
    first: int | None = None
    backwards: bool = False
    is_forced: bool = False


@dataclass(eq=False)
class OrderedRead:
    """One read of rows in the order of `index` (None: of the primary key). `row_before`: at the window's place."""

    request: Request
    transaction: Transaction
    conditions: Sequence[Condition]
    shown: Sequence[Column]
    index: Index | None = None
    window: Window = Window()
    row_before: dict[str, str | None] | None = None
    context: Context = field(init=False)
    use: Use = field(init=False)

    @property
    def descriptor(self) -> Descriptor:
        assert self.request.descriptor is not None
        return self.request.descriptor

    @property
    def table(self) -> Table:
        return self.request.env.table(self.descriptor)

    async def answers(self) -> Batches:
        window, is_hidden = self.window, self.descriptor.has_hidden_key
        plain = texts.select(self.descriptor, self.conditions, self.shown)
        _, self.context = await self.request.plan(self.transaction, plain)
        self.use = await self.request.use_of(plain)
        wanted = dict.fromkeys([*self.descriptor.sharding_key, *self.descriptor.primary_key])
        beside = [] if window.bucket is None else [self.descriptor.column(column_id) for column_id in wanted]
        text = texts.ordered(
            self.descriptor,
            self.conditions,
            [*self.shown, *beside],
            index=self.index,
            backwards=window.backwards,
            after=self.row_before if is_hidden else None,
            first=window.first if is_hidden and window.bucket is None else None,
        )
        if window.first == 0:
            return
        is_streamed = self.request.call.operation.verb == "pairs"
        is_bounded = window.first is not None or window.beyond is not None or is_streamed
        if is_bounded and window.bucket is None and not is_hidden:
            async for rows in self._by_keys(text):
                yield rows
            return
        way = self._way()
        self._sent_to(way)
        found = batches_of(await self._read(text, way))
        async for rows in found if window.bucket is None else self._of_bucket(found, beside):
            yield rows

    async def count(self) -> int:
        if self.window.bucket is not None:
            return sum([len(rows) async for rows in self.answers()])
        text = texts.select(self.descriptor, self.conditions, None)
        _, self.context = await self.request.plan(self.transaction, text)
        self.use = await self.request.use_of(text)
        way = self._way()
        self._sent_to(way)
        ((count,),) = (await self._read(text, way)).rows
        return int(count or b"0")

    async def _read(self, text: texts.Text, way: Access) -> Result:
        return await self.request.read(self.transaction, text, self.context, way=way, commit=False)

    # -- all rows -----------------------------------------------------------------------------------------------

    def _way(self) -> Access:
        request, window, every = self.request, self.window, self.table.storages
        way = access_of(request.env, self.use.scan, self.context)
        if window.bucket is None and not window.is_forced:
            return way
        if way.index is None or not way.index.unique:  # a unique entry lies by its own values, wherever its row is
            only = () if window.bucket is None else (storage_of(window.bucket, every, request.env.buckets),)
            way = replace(way, storages=only or tuple(range(1, every + 1)))
        if way.points is not None:
            starts = [self.table.start + key for key in way.points]
            ranges = tuple((pairs.place(start), pairs.place(pairs.after(start))) for start in starts)
            way = replace(way, points=None, ranges=ranges)
        return way

    def _sent_to(self, way: Access) -> None:
        """Where a read goes decides whether the sharding's hash goes along."""
        homes = set(way.storages)
        if way.points is not None:
            homes = {storage for key in way.points for storage in self.table.home(key)}
        is_keyed = len(homes) < self.table.storages and not self.window.is_forced
        self.request.sends(self.transaction, self.descriptor, sharding=is_keyed)
        self.request.counts.map_reduces += not is_keyed

    async def _of_bucket(self, found: Batches, beside: Sequence[Column]) -> Batches:
        window, style, now = self.window, self.request.caller.style, self.transaction.started_at
        width, left = len(self.shown), window.first
        async for rows in found:
            kept = list[Row]()
            for row in rows:
                values = {c.name: None if v is None else v.decode() for c, v in zip(beside, row[width:], strict=True)}
                if bucket_of_row(self.descriptor, values, self.request.env.buckets, style, now) != window.bucket:
                    continue
                if window.beyond is None or (key_of_row(self.descriptor, values, style, now) or b"") > window.beyond:
                    kept.append(row[:width])
            yield kept[:left]
            left = None if left is None else max(left - len(kept), 0)

    # -- some rows, by the keys of their order --------------------------------------------------------------------

    async def _by_keys(self, text: texts.Text) -> Batches:
        left = self.window.first
        async for keys in self._keys():
            result = await self._read(text, Access(None, (), (), tuple(keys)))
            rows = [row async for some in batches_of(result) for row in some]
            yield rows[:left]
            left = None if left is None else left - len(rows)
            if left is not None and left <= 0:
                return

    async def _keys(self) -> AsyncIterator[list[bytes]]:
        """K(r) of the rows in their order, page by page, within what the conditions and the window say."""
        env, scan, window, index = self.request.env, self.use.scan, self.window, self.index
        way = along(self.descriptor, index, scan.conditions, self.context, env.storages, env.buckets)
        self._sent_to(way)
        start = pairs.prefix(self.descriptor, self.descriptor.placement.id, index.id if index else 0)  # type: ignore[arg-type]
        make = backward_scan_sql if window.backwards else scan_sql
        arms = [f"({make(storage, self.descriptor.table_id, columns=index is None)})" for storage in way.storages]
        order = "key DESC" if window.backwards else "key"
        sql = f"SELECT key, value FROM ({' UNION ALL '.join(arms)}) AS page ORDER BY {order} LIMIT %b::bigint"
        named = ([int(EXISTS)],) if index is None else ()
        size = PAGE_MAX if window.first is None else max(PAGE_MIN, min(window.first, PAGE_MAX))
        for low, high in reversed(way.ranges) if window.backwards else way.ranges:
            if window.beyond is not None:
                place = pairs.place(start + window.beyond)
                low, high = (low, min(high, place)) if window.backwards else (max(low, next_low(place)), high)
            while low < high:
                params = binary(*bounds(low, high), *named, size)
                [result] = await self.transaction.run([Command(sql, params * len(arms) + binary(size))])
                page = list(pairs_in(result))
                placed = [self._placed(start, key, value) for key, value in page]
                yield [key for place, key in placed if place != window.beyond]
                if len(page) < size:
                    break
                last = page[-1][0]
                low, high = (low, last) if window.backwards else (next_low(last), high)
                size = min(2 * size, PAGE_MAX)

    def _placed(self, start: bytes, key: bytes, value: bytes | None) -> tuple[bytes, bytes]:
        if self.index is None:
            row_key = key[len(start) : -pairs.COLUMN.size]
            return row_key, row_key
        if value:  # an entry of a unique index ends with its values
            return key[len(start) :] + value, value
        found = pairs.name_of(self.descriptor, key).row_key
        assert found is not None
        return key[len(start) :], found


async def batches_of(result: Result) -> Batches:
    yield list(result.rows)
    if result.more is not None:
        async for rows in result.more:
            yield list(rows)


async def gathered(batches: Batches, held: HeldRows) -> list[Row]:
    found: list[Row] = []
    async for rows in batches:
        for row in rows:
            held.take(bytes_of(row))
        found += rows
    return found


async def written(oids: Sequence[int], rows: Sequence[Row], held: HeldRows) -> list[str]:
    found, turns = list[str](), Turns()
    for row in rows:
        await turns.give()
        text = row_json(oids, row)
        held.take(len(text))
        found.append(text)
    return found
