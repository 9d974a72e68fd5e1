"""Pairs of a table page by page, whose bytes are bounded (`storage.page_sizes`), inside a transaction.

    RangeScan    pairs of a key range in key order, or the same packed by the server and unpacked into Arrow
    point_rows   rows by their keys, one command for each storage

A page that has values too large for it is read again in runs: its transaction reads the same pairs, as it writes
nothing meanwhile (`nodes.clients.portals.read_on`).
"""

import struct
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from catalog.descriptor import Descriptor
from catalog.elements import EXISTS, ColumnId, State
from expressions.errors import PROGRAM_LIMIT, SqlError
from expressions.limits import VALUE_BYTES_MAX
from nodes.store.pipeline import Command, bytea_array, int4, int8
from nodes.store.transaction import Transaction
from storage import page_sizes, pairs
from storage.buckets import storage_of
from storage.page_sizes import ANY_LENGTH, PageSize, longest_of, runs
from storage.pairs import Pair, StoredRow, column_key, row_bucket, rows_of
from storage.statements import (
    PAGE_PAIRS,
    bounded_get_sql,
    bounded_scan_sql,
    column_suffixes,
    get_sql,
    next_low,
    packed_scan_sql,
    remember_whole_sql,
)

SCANNED_PAIRS = PAGE_PAIRS // 4
"""Pairs of a page that become Python objects."""
POINTS_AT_ONCE = 1000
LONG_SCAN_PAIRS = 3 * PAGE_PAIRS
"""A scan that has read so many pairs of a key range in a storage locks the whole table there from then on (T6)."""
_INT8, _INT4 = struct.Struct("!q"), struct.Struct("!i")


class Table:
    """A version of a table as this node reads it; what follows from the descriptor is worked out once."""

    def __init__(self, descriptor: Descriptor, storages: int, buckets: int) -> None:
        self.descriptor, self.storages, self.buckets = descriptor, storages, buckets
        self.placement = descriptor.placement
        self.start = pairs.prefix(descriptor, self.placement.id)
        self.columns = {column.id: column for column in descriptor.columns}
        self._stored = [c.id for c in descriptor.stored_columns if c.state is not State.ABSENT]
        self._is_home_known = set(descriptor.sharding_key) <= set(descriptor.primary_key)

    def home(self, row_key: bytes) -> Sequence[int]:
        """Where a row lies; everywhere when its key alone does not say."""
        if not self._is_home_known:
            return range(1, self.storages + 1)
        bucket = row_bucket(self.descriptor, self.placement, StoredRow(row_key), self.buckets)
        return (storage_of(bucket, self.storages, self.buckets),)

    def pair_columns(self, wanted: Iterable[ColumnId] | None = None) -> list[ColumnId]:
        """The column ids of the pairs to read: existence, and the wanted columns (None: all the row may have)."""
        if wanted is None:
            return [EXISTS, *self._stored]
        chosen = set(wanted)
        return [EXISTS, *(c for c in self._stored if c in chosen)]


@dataclass(eq=False)
class RangeScan:
    """The live pairs of one key range on one storage, of the columns that are wanted (None: of all)."""

    transaction: Transaction
    table: Table
    storage: int
    low: bytes
    high: bytes
    columns: Sequence[int] | None
    _found: int = 0
    _is_long: bool = False

    def __post_init__(self) -> None:
        self._suffixes = () if self.columns is None else (bytea_array(column_suffixes(self.columns)),)

    async def pairs(self) -> AsyncIterator[list[Pair]]:
        sql = bounded_scan_sql(self.storage, self.table.descriptor.table_id, columns=self.columns is not None)
        size, low = PageSize(SCANNED_PAIRS, SCANNED_PAIRS), self.low
        while True:
            asked = size.pairs
            result = await self._page(sql, size.longest, low, asked)
            page = list(pairs_in(result))
            if not page:
                return
            self._found += len(page)
            sizes = [len(key) + (0 if value is None else len(value)) for key, value in page]
            if any(value is None for _, value in page):
                sizes = [len(key) + length for (key, _), length in zip(page, lengths_in(result), strict=True)]
                for run in runs(sizes):
                    yield list(pairs_in(await self._page(sql, ANY_LENGTH, page[run.start][0], run.stop - run.start)))
            else:
                yield page
            if len(page) < asked:
                return
            size.learn(len(page), sum(sizes))
            low = next_low(page[-1][0])

    async def packed(self) -> AsyncIterator[Any]:
        """Pages as `storage.arrow.encoding.Pairs`."""
        from storage.arrow.encoding import unpack

        sql = packed_scan_sql(self.storage, self.table.descriptor.table_id, columns=True, bounded=True)
        size, low = PageSize(PAGE_PAIRS // 2, PAGE_PAIRS), self.low
        while True:
            asked, longest = size.pairs, size.longest
            result = await self._page(sql, longest, low, asked)
            count, keys, values, key_sizes, value_sizes, longest_there = (result.get_value(0, i) for i in range(6))
            (found,) = _INT8.unpack(count)
            if not found:
                return
            self._found += found
            size_of_keys, last = len(keys), low
            if _INT4.unpack(longest_there)[0] <= longest:
                page = unpack(found, keys, values, key_sizes, value_sizes)
                size.learn(found, size_of_keys + len(values or b""))
                last = page.keys[-1].as_py()
                yield page
            else:
                lengths = struct.unpack(f"!{found}i", value_sizes)
                size.learn(found, size_of_keys + sum(lengths))
                for run in runs(lengths):
                    part = unpack(*await self._packed_run(sql, low, run.stop - run.start))
                    last = part.keys[-1].as_py()
                    low = next_low(last)
                    yield part
            if found < asked:
                return
            low = next_low(last)

    async def _packed_run(self, sql: str, low: bytes, pairs: int) -> tuple[int, bytes, bytes, bytes, bytes]:
        result = await self._page(sql, ANY_LENGTH, low, pairs)
        count, *rest = (result.get_value(0, i) for i in range(5))
        return (_INT8.unpack(count)[0], *rest)

    async def _page(self, sql: str, longest: int, low: bytes, pairs: int) -> Any:
        """The command's answer; a scan that gets long is remembered as one of the whole table."""
        command = Command(sql, (int4(longest), low, self.high, *self._suffixes, int8(pairs)))
        before = []
        if self._found >= LONG_SCAN_PAIRS and not self._is_long:
            self._is_long = True
            before = [Command(remember_whole_sql(self.storage, self.table.descriptor.table_id))]
        return (await self.transaction.run([*before, command]))[-1]


def point_commands(table: Table, row_keys: Sequence[bytes], wanted: Iterable[ColumnId] | None = None) -> list[Command]:
    """Commands that read the pairs of rows with these keys. Of many they leave out values that are too long."""
    columns = table.pair_columns(wanted)
    by_storage: dict[int, list[bytes]] = {}
    for row_key in row_keys:
        for storage in table.home(row_key):
            keys = by_storage.setdefault(storage, [])
            keys += [column_key(table.start, row_key, column) for column in columns]
    table_id, longest = table.descriptor.table_id, longest_of(len(row_keys) * len(columns))
    homes = sorted(by_storage.items())
    if longest > VALUE_BYTES_MAX:
        return [Command(get_sql(storage, table_id), (bytea_array(keys),)) for storage, keys in homes]
    return [Command(bounded_get_sql(storage, table_id), (int4(longest), bytea_array(keys))) for storage, keys in homes]


def has_left_out(results: Iterable[Any]) -> bool:
    """True if the answers to `point_commands` lack values that are too long."""
    return any(
        result.nfields > 2 and any(result.get_value(row, 1) is None for row in range(result.ntuples))
        for result in results
    )


def rows_in(table: Table, results: Iterable[object]) -> list[StoredRow]:
    """The rows whose pairs these results hold."""
    return rows_of(table.descriptor, table.placement, (p for r in results for p in pairs_in(r)))


async def point_rows(
    transaction: Transaction, table: Table, row_keys: Sequence[bytes], wanted: Iterable[ColumnId] | None = None
) -> AsyncIterator[list[StoredRow]]:
    """The rows with these keys, some at a time."""
    for place in range(0, len(row_keys), POINTS_AT_ONCE):
        asked = row_keys[place : place + POINTS_AT_ONCE]
        results = await transaction.run(point_commands(table, asked, wanted))
        if not has_left_out(results):
            yield rows_in(table, results)
            continue
        sizes = _row_sizes(table, results)
        there = [key for key in asked if key in sizes]
        for run in runs([sizes[key] for key in there]):
            some = there[run]
            refuse_large_row(table, max(sizes[key] for key in some))
            yield rows_in(table, await transaction.run(_whole(point_commands(table, some, wanted))))


def _whole(commands: Iterable[Command]) -> list[Command]:
    """The same commands, with values of any length."""
    return [Command(c.sql, (int4(ANY_LENGTH), *c.params[1:])) if len(c.params) > 1 else c for c in commands]


def _row_sizes(table: Table, results: Iterable[Any]) -> dict[bytes, int]:
    """The bytes of each row's values, by K(r)."""
    sizes: dict[bytes, int] = {}
    for result in results:
        for (key, _), length in zip(pairs_in(result), lengths_in(result), strict=True):
            row_key = key[len(table.start) : -2]
            sizes[row_key] = sizes.get(row_key, 0) + length
    return sizes


def refuse_large_row(table: Table, size: int) -> None:
    """Raises 54000 for a row that takes too much memory at once."""
    if size > page_sizes.ROW_BYTES_MAX:
        message = f"a row of {table.descriptor.name} has more than {page_sizes.ROW_BYTES_MAX} bytes"
        raise SqlError(PROGRAM_LIMIT, message, hint="ask for some of its columns at a time")


def pairs_in(result: Any) -> Iterator[Pair]:
    return ((result.get_value(i, 0), result.get_value(i, 1)) for i in range(result.ntuples))


def lengths_in(result: Any) -> Iterator[int]:
    """The lengths of all values, also of those that were left out."""
    return (_INT4.unpack(result.get_value(i, 2))[0] for i in range(result.ntuples))
