"""Reading a table's rows inside a transaction: by key, by index or in pages of a range. No page takes long, so a scan
never outlasts the transaction's deadline in one statement (T4), and a cancel waits for one page at most. Only pairs of
the columns that are asked for cross the wire."""

from collections.abc import AsyncIterator, Iterable, Sequence
from itertools import product

from catalog.descriptor import Descriptor
from catalog.elements import EXISTS, ColumnId
from nodes.execution.held_rows import HeldRows
from nodes.execution.pages import RangeScan, Table, pairs_in, point_rows, refuse_large_row
from nodes.sql.conditions.access_paths import Access
from nodes.store.pipeline import Command, binary
from nodes.store.transaction import Transaction
from storage import pairs
from storage.pairs import Pair, StoredRow, rows_of
from storage.statements import bounds, next_low, scan_sql

ENTRIES_PAGE = 1000


async def read_points(
    transaction: Transaction,
    table: Table,
    row_keys: Sequence[bytes],
    wanted: Iterable[ColumnId] | None = None,
    *,
    held: HeldRows,
) -> list[StoredRow]:
    found: list[StoredRow] = []
    async for rows in point_rows(transaction, table, row_keys, wanted):
        held.take(sum(stored_bytes(row) for row in rows))
        for row in rows:
            held.take_row(row)
        found += rows
    return found


def stored_bytes(row: StoredRow) -> int:
    return len(row.key) + sum(map(len, row.columns.values()))


async def stored_rows(
    transaction: Transaction, table: Table, access: Access, wanted: Iterable[ColumnId] | None = None
) -> AsyncIterator[list[StoredRow]]:
    if access.points is not None:
        async for rows in point_rows(transaction, table, access.points, wanted):
            yield rows
    elif access.index is not None:
        async for row_keys in entry_pages(transaction, table, access):
            async for rows in point_rows(transaction, table, row_keys, wanted):
                yield rows
    else:
        kept: list[Pair] = []
        columns, exists = None if wanted is None else table.pair_columns(wanted), pairs.COLUMN.pack(EXISTS)
        for storage, (low, high) in product(access.storages, access.ranges):
            async for page in RangeScan(transaction, table, storage, low, high, columns).pairs():
                kept += page
                last = next((i for i in range(len(kept) - 1, -1, -1) if kept[i][0].endswith(exists)), 0)
                yield rows_of(table.descriptor, table.placement, kept[:last])
                kept = kept[last:]
                refuse_large_row(table, sum(len(value or b"") for _, value in kept))
        yield rows_of(table.descriptor, table.placement, kept)


async def entry_pages(transaction: Transaction, table: Table, access: Access) -> AsyncIterator[list[bytes]]:
    index = access.index
    assert index is not None
    for storage in access.storages:
        sql = scan_sql(storage, table.descriptor.table_id)
        for low, high in access.ranges:
            start = low
            while True:
                command = Command(sql, binary(*bounds(start, high), ENTRIES_PAGE))
                page = list(pairs_in((await transaction.run([command]))[0]))
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
