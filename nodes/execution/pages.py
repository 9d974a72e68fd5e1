"""Pairs of a table page by page, whose bytes are bounded (`storage.page_sizes`), inside a transaction: of a key range
in key order, or by their keys, where values are too large in runs."""

import struct
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from catalog.descriptor import Descriptor
from catalog.elements import EXISTS, ColumnId, State
from expressions.errors import PROGRAM_LIMIT, SqlError
from expressions.limits import VALUE_BYTES_MAX
from nodes.store.pipeline import Command, binary, bytea_array, int2_array, int8
from nodes.store.transaction import Transaction
from storage import encoding, page_sizes, pairs
from storage.buckets import storage_of
from storage.page_sizes import ANY_LENGTH, Pages, longest_of, runs
from storage.pairs import Pair, StoredRow, row_bucket, rows_of
from storage.statements import PAGE_PAIRS, bounded_get_sql, bounded_scan_sql, bounds, get_sql, remember_whole_sql

SCANNED_PAIRS = PAGE_PAIRS // 4
"""Pairs of a page that become Python objects."""
POINTS_AT_ONCE = 1000
ASKED_MAX = 100
LONG_SCAN_PAIRS = 3 * PAGE_PAIRS
"""A scan that has read so many pairs of a key range in a storage locks the whole table there from then on (T6)."""
_INT4 = struct.Struct("!i")


class Table:
    """A version of a table as this node reads it; what follows from the descriptor is worked out once."""

    def __init__(self, descriptor: Descriptor, storages: int, buckets: int) -> None:
        self.descriptor, self.placement, self.buckets = descriptor, descriptor.placement, buckets
        self.storages = self.placement.storage_count(storages)
        self.start = pairs.prefix(descriptor, self.placement.id)
        self._k_start, _ = pairs.stored_key(self.start)
        self.columns = {column.id: column for column in descriptor.columns}
        self._stored = [c.id for c in descriptor.stored_columns if c.state is not State.ABSENT]
        self._key_types = [column.type for column in descriptor.key_columns]
        self._is_home_known = descriptor.is_home_in_key
        self._asked: dict[frozenset[ColumnId] | None, tuple[int, bytes]] = {}

    def home(self, row_key: bytes) -> Sequence[int]:
        """Where a row lies; everywhere when its key alone does not say."""
        if not self._is_home_known:
            return range(1, self.storages + 1)
        bucket = row_bucket(self.descriptor, self.placement, StoredRow(row_key), self.buckets)
        return (storage_of(bucket, self.storages, self.buckets),)

    def place(self, key: Sequence[object]) -> tuple[bytes, int] | None:
        """The beginning of the pairs of the row with this primary key, and their storage; None for a key of no row."""
        if None in key:
            return None
        found = b"".join([encoding.encode(of, value) for of, value in zip(self._key_types, key, strict=True)])
        is_long = len(self.start) + len(found) + pairs.COLUMN.size > pairs.KEY_BYTES_MAX
        return None if is_long else (self.start + found, self.home(found)[0])

    def pair_columns(self, wanted: Iterable[ColumnId] | None = None) -> list[ColumnId]:
        """The column ids of the pairs to read: existence, and the wanted columns (None: all the row may have)."""
        if wanted is None:
            return [EXISTS, *self._stored]
        chosen = set(wanted)
        return [EXISTS, *(c for c in self._stored if c in chosen)]

    def columns_asked(self, wanted: Iterable[ColumnId] | None = None) -> tuple[int, bytes]:
        asked = None if wanted is None else frozenset(wanted)
        known = self._asked.get(asked)
        if known is None:
            if len(self._asked) >= ASKED_MAX:
                self._asked.clear()
            columns = self.pair_columns(asked)
            known = self._asked[asked] = len(columns), int2_array(columns)
        return known

    def k_of(self, row_key: bytes) -> bytes:
        return self._k_start + row_key


@dataclass(eq=False)
class RangeScan:
    transaction: Transaction
    table: Table
    storage: int
    low: bytes
    high: bytes
    columns: Sequence[int] | None
    _found: int = 0
    _is_long: bool = False

    async def pairs(self) -> AsyncIterator[list[Pair]]:
        sql = bounded_scan_sql(self.storage, self.table.descriptor.table_id, columns=self.columns is not None)
        named = () if self.columns is None else (list(self.columns),)
        pages = Pages(self.low, SCANNED_PAIRS, SCANNED_PAIRS)
        while not pages.is_done:
            asked = binary(*bounds(pages.low, self.high), *named, pages.pairs, pages.bytes_max)
            commands = [Command(sql, asked)]
            if self._found >= LONG_SCAN_PAIRS and not self._is_long:
                self._is_long = True
                commands.insert(0, Command(remember_whole_sql(self.storage, self.table.descriptor.table_id)))
            page = list(pairs_in((await self.transaction.run(commands))[-1]))
            size = sum(len(key) + len(value or b"") for key, value in page)
            pages.learn(len(page), size, page[-1][0] if page else b"")
            self._found += len(page)
            if page:
                yield page


def point_commands(table: Table, row_keys: Sequence[bytes], wanted: Iterable[ColumnId] | None = None) -> list[Command]:
    """Commands that read the pairs of rows with these keys. Of many they leave out values that are too long."""
    count, columns = table.columns_asked(wanted)
    by_storage: dict[int, list[bytes]] = {}
    for row_key in row_keys:
        for storage in table.home(row_key):
            by_storage.setdefault(storage, []).append(table.k_of(row_key))
    table_id, longest = table.descriptor.table_id, longest_of(len(row_keys) * count)
    homes = [(storage, (bytea_array(ks), columns)) for storage, ks in sorted(by_storage.items())]
    if longest > VALUE_BYTES_MAX:
        return [Command(get_sql(storage, table_id), asked) for storage, asked in homes]
    return [Command(bounded_get_sql(storage, table_id), (int8(longest), *asked)) for storage, asked in homes]


def rows_in(table: Table, results: Iterable[object]) -> list[StoredRow] | None:
    """The rows whose pairs answer `point_commands`; None when values that are too long were left out."""
    found = [pair for result in results for pair in pairs_in(result)]
    if any(value is None for _, value in found):
        return None
    return rows_of(table.descriptor, table.placement, found)


async def point_rows(
    transaction: Transaction, table: Table, row_keys: Sequence[bytes], wanted: Iterable[ColumnId] | None = None
) -> AsyncIterator[list[StoredRow]]:
    for place in range(0, len(row_keys), POINTS_AT_ONCE):
        asked = row_keys[place : place + POINTS_AT_ONCE]
        results = await transaction.run(point_commands(table, asked, wanted))
        rows = rows_in(table, results)
        if rows is not None:
            yield rows
            continue
        sizes: dict[bytes, int] = {}
        for result in results:
            for (key, _), length in zip(pairs_in(result), lengths_in(result), strict=True):
                row_key = key[len(table.start) : -2]
                sizes[row_key] = sizes.get(row_key, 0) + length
        there = [key for key in asked if key in sizes]
        for run in runs([sizes[key] for key in there]):
            some = there[run]
            refuse_large_row(table, max(sizes[key] for key in some))
            commands = point_commands(table, some, wanted)
            whole = [Command(c.sql, (int8(ANY_LENGTH), *c.params[1:])) if len(c.params) > 2 else c for c in commands]
            rows = rows_in(table, await transaction.run(whole))
            assert rows is not None, "values of any length were asked for"
            yield rows


def refuse_large_row(table: Table, size: int) -> None:
    if size > page_sizes.ROW_BYTES_MAX:
        message = f"a row of {table.descriptor.name} has more than {page_sizes.ROW_BYTES_MAX} bytes"
        raise SqlError(PROGRAM_LIMIT, message, hint="ask for some of its columns at a time")


def pairs_in(result: Any) -> Iterator[Pair]:
    return ((result.get_value(i, 0), result.get_value(i, 1)) for i in range(result.ntuples))


def lengths_in(result: Any) -> Iterator[int]:
    return (_INT4.unpack(result.get_value(i, 2))[0] for i in range(result.ntuples))
