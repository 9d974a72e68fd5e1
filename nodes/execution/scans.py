"""Reading a table's rows inside a transaction: by key, by index or in pages of a range.

    points     the pairs of given rows, one command for each storage, one batch
    entries    pages of an index, then the rows they name
    pages      20,000 pairs at a time, packed by the server, unpacked into Arrow

No page takes long, so a scan never outlasts the transaction's deadline in one statement (T4), and a
cancel waits for one page at most. Only pairs of the columns that are asked for cross the wire.
"""

import struct
from collections.abc import AsyncIterator, Iterable, Sequence

from catalog.descriptor import Descriptor
from catalog.elements import EXISTS, Column, ColumnId, State
from nodes.sql.access_paths import Access
from nodes.store.pipeline import Command, bytea_array
from nodes.store.transaction import Transaction
from storage import pairs
from storage.buckets import storage_of
from storage.pairs import Pair, StoredRow, column_key, row_bucket, rows_of
from storage.statements import (
    PAGE_PAIRS,
    column_suffixes,
    get_sql,
    next_low,
    packed_scan_sql,
    remember_whole_sql,
    scan_sql,
)

ENTRIES_PAGE = 1000
LONG_SCAN_PAIRS = 3 * PAGE_PAIRS
"""A scan that has read so many pairs of a key range in a storage locks the whole table there from then on (T6)."""
_INT8 = struct.Struct("!q")


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


def point_commands(table: Table, row_keys: Sequence[bytes], wanted: Iterable[ColumnId] | None = None) -> list[Command]:
    """Commands that read the pairs of rows with these keys."""
    columns = table.pair_columns(wanted)
    by_storage: dict[int, list[bytes]] = {}
    for row_key in row_keys:
        for storage in table.home(row_key):
            keys = by_storage.setdefault(storage, [])
            keys += [column_key(table.start, row_key, column) for column in columns]
    table_id = table.descriptor.table_id
    return [Command(get_sql(storage, table_id), (bytea_array(keys),)) for storage, keys in sorted(by_storage.items())]


def rows_in(table: Table, results: Iterable[object]) -> list[StoredRow]:
    """The rows whose pairs these results hold."""
    return rows_of(table.descriptor, table.placement, (p for r in results for p in pairs_in(r)))


def pairs_in(result: object) -> Iterable[Pair]:
    return ((result.get_value(i, 0), result.get_value(i, 1)) for i in range(result.ntuples))  # type: ignore[attr-defined]


async def read_points(
    transaction: Transaction, table: Table, row_keys: Sequence[bytes], wanted: Iterable[ColumnId] | None = None
) -> list[StoredRow]:
    if not row_keys:
        return []
    return rows_in(table, await transaction.run(point_commands(table, row_keys, wanted)))


async def stored_rows(
    transaction: Transaction, table: Table, access: Access, wanted: Iterable[ColumnId] | None = None
) -> AsyncIterator[list[StoredRow]]:
    """The rows within `access`, page by page."""
    if access.points is not None:
        for place in range(0, len(access.points), ENTRIES_PAGE):
            yield await read_points(transaction, table, access.points[place : place + ENTRIES_PAGE], wanted)
    elif access.index is not None:
        async for row_keys in entry_pages(transaction, table, access):
            yield await read_points(transaction, table, row_keys, wanted)
    else:
        async for rows in _scanned_rows(transaction, table, access, wanted):
            yield rows


async def _scanned_rows(
    transaction: Transaction, table: Table, access: Access, wanted: Iterable[ColumnId] | None
) -> AsyncIterator[list[StoredRow]]:
    """Rows of key ranges; a row that a page may have cut is kept for the next one."""
    kept: list[Pair] = []
    async for page in _pair_pages(transaction, table, access, wanted):
        kept += page
        last = _last_row(kept)
        yield rows_of(table.descriptor, table.placement, kept[:last])
        kept = kept[last:]
    yield rows_of(table.descriptor, table.placement, kept)


def _last_row(listed: Sequence[Pair]) -> int:
    exists = pairs.COLUMN.pack(EXISTS)
    return next((i for i in range(len(listed) - 1, -1, -1) if listed[i][0].endswith(exists)), 0)


async def _pair_pages(
    transaction: Transaction, table: Table, access: Access, wanted: Iterable[ColumnId] | None
) -> AsyncIterator[list[Pair]]:
    suffixes = None if wanted is None else bytea_array(column_suffixes(table.pair_columns(wanted)))
    for storage in access.storages:
        sql = scan_sql(storage, table.descriptor.table_id, columns=suffixes is not None)
        for low, high in access.ranges:
            start, found = low, 0
            while True:
                command = _page(sql, start, high, suffixes, PAGE_PAIRS // 4)
                page = list(pairs_in(await _next_page(transaction, table, storage, found, command, PAGE_PAIRS // 4)))
                found += len(page)
                if page:
                    yield page
                if len(page) < PAGE_PAIRS // 4:
                    break
                start = next_low(page[-1][0])


async def _next_page(
    transaction: Transaction, table: Table, storage: int, found: int, command: Command, pairs_max: int
) -> "object":
    """The command's answer, after `found` pairs in pages of `pairs_max`; a scan that gets long is remembered as one."""
    becomes_long = found - pairs_max < LONG_SCAN_PAIRS <= found
    before = [Command(remember_whole_sql(storage, table.descriptor.table_id))] if becomes_long else []
    return (await transaction.run([*before, command]))[-1]


def _page(sql: str, low: bytes, high: bytes, suffixes: bytes | None, limit: int) -> Command:
    named = () if suffixes is None else (suffixes,)
    return Command(sql, (low, high, *named, _INT8.pack(limit)))


async def entry_pages(transaction: Transaction, table: Table, access: Access) -> AsyncIterator[list[bytes]]:
    """The K(r) of the index entries within `access`."""
    index = access.index
    assert index is not None
    for storage in access.storages:
        sql = scan_sql(storage, table.descriptor.table_id)
        for low, high in access.ranges:
            start = low
            while True:
                page = list(pairs_in((await transaction.run([_page(sql, start, high, None, ENTRIES_PAGE)]))[0]))
                if page:
                    yield [_row_key(table.descriptor, key, value) for key, value in page]
                if len(page) < ENTRIES_PAGE:
                    break
                start = next_low(page[-1][0])


def _row_key(descriptor: Descriptor, key: bytes, value: bytes | None) -> bytes:
    if value:
        return value
    found = pairs.name_of(descriptor, key).row_key
    assert found is not None
    return found


# -- Arrow ------------------------------------------------------------------------------------------------------


def arrow_schema(columns: Sequence[Column]) -> "object":
    """The schema of the batches: columns c<id>, and a filler when no column is asked for."""
    import pyarrow as pa

    from storage.arrow.encoding import ARROW

    fields = [pa.field(f"c{c.id}", pa.string() if c.type.value == "uuid" else ARROW[c.type]) for c in columns]
    return pa.schema(fields or [pa.field("c0", pa.bool_())])


async def arrow_batches(
    transaction: Transaction, table: Table, access: Access, columns: Sequence[Column]
) -> AsyncIterator["object"]:
    """The rows within `access` as Arrow batches of `columns`."""
    if access.points is not None or access.index is not None:
        async for rows in stored_rows(transaction, table, access, [c.id for c in columns]):
            if rows:
                yield batch_of(table.descriptor, rows, columns)
        return
    from storage.arrow.encoding import unpack
    from storage.arrow.rows import RowReader

    wanted = table.pair_columns([c.id for c in columns])
    suffixes = bytea_array(column_suffixes(wanted))
    for storage in access.storages:
        sql = packed_scan_sql(storage, table.descriptor.table_id, columns=True)
        for low, high in access.ranges:
            reader, start, found = RowReader(wanted[1:]), low, 0
            while True:
                command = _page(sql, start, high, suffixes, PAGE_PAIRS)
                result = await _next_page(transaction, table, storage, found, command, PAGE_PAIRS)
                count = _INT8.unpack(result.get_value(0, 0))[0]
                found += count
                page = unpack(count, *(result.get_value(0, i) for i in range(1, 5)))
                if count:
                    yield _typed(table.descriptor, reader.feed(page), columns)
                if count < PAGE_PAIRS:
                    break
                start = next_low(page.keys[-1].as_py())
            yield _typed(table.descriptor, reader.finish(), columns)


def _typed(descriptor: Descriptor, rows: "object", columns: Sequence[Column]) -> "object":
    import pyarrow as pa

    from storage.arrow.rows import record_batch

    schema = arrow_schema(columns)
    if not columns:
        return pa.RecordBatch.from_arrays([pa.nulls(len(rows), pa.bool_())], schema=schema)
    batch = record_batch(descriptor, rows, columns)
    arrays = [_engine_array(array) for array in batch.columns]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _engine_array(array: "object") -> "object":
    """The engine reads text where a column holds uuids, and casts it."""
    import pyarrow as pa

    if isinstance(array, pa.ExtensionArray):
        return pa.array([None if v is None else str(v) for v in array.to_pylist()], pa.string())
    return array


def batch_of(descriptor: Descriptor, rows: Sequence[StoredRow], columns: Sequence[Column]) -> "object":
    """Stored rows as one Arrow batch."""
    import pyarrow as pa

    from nodes.execution.row_codec import decoded

    schema = arrow_schema(columns)
    if not columns:
        return pa.RecordBatch.from_arrays([pa.nulls(len(rows), pa.bool_())], schema=schema)
    values = [decoded(descriptor, row, columns) for row in rows]
    arrays = []
    for column, field in zip(columns, schema, strict=True):
        listed = [v[column.id] for v in values]
        if column.type.value == "uuid":
            listed = [None if v is None else str(v) for v in listed]
        arrays.append(pa.array(listed, field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
