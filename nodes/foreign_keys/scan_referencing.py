"""Rows that refer to what a statement took away, until the first page that has one: by an index that begins with
columns of the foreign key, or else page by page through the table."""

import struct
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from catalog.descriptor import Descriptor
from catalog.elements import PRIMARY, Column, ColumnId, Index, State
from catalog.values.packed import LEFT_OUT
from nodes.execution.pages import pairs_in
from nodes.execution.scans import stored_rows
from nodes.execution.writing.write_context import Writing
from nodes.foreign_keys.violations import Check
from nodes.sql.conditions.access_paths import Access
from nodes.store.pipeline import Command, binary, bytea_array, int2_array
from storage import encoding, pairs
from storage.integrity.references import Values, values_of
from storage.integrity.referring import way_to
from storage.statements import PAGE_PAIRS, bounds, next_low, value_scan_sql

RANGES_MAX = 200
"""Key ranges that are read one by one; a scan is the shorter way from there on."""

_INT8 = struct.Struct("!q")


@dataclass(frozen=True, slots=True)
class Path:
    """An index of a table that refers, by as many of its leading columns as belong to the foreign key."""

    start: bytes
    index: Index | None
    columns: tuple[tuple[ColumnId, bool], ...]
    is_exact: bool

    def low(self, check: Check) -> bytes:
        given = dict(zip(check.constraint.reference_columns, check.values, strict=True))
        parts = (encoding.inverted(given[c]) if is_descending else given[c] for c, is_descending in self.columns)
        return self.start + b"".join(parts)


def path_to(check: Check) -> Path:
    """The primary key or the public index that pins most columns."""
    child, wanted = check.other, check.constraint.reference_columns
    index, leading = way_to(child, wanted, child.public_indexes)
    descending = set() if index is None else {part.column for part in index.columns if part.descending}
    start = pairs.prefix(child, child.placement.id, PRIMARY if index is None else index.id)
    columns = tuple((column, column in descending) for column in leading)
    return Path(start, index, columns, is_exact=len(leading) == len(wanted))


async def first_referring(work: Writing, checks: Sequence[Check]) -> Check | None:
    by_values = {check.values: check for check in checks}
    async for found in _values_found(work, checks):
        violated = [by_values[values] for values in found if values in by_values]
        if violated:
            return min(violated, key=lambda check: check.order)
    return None


async def _values_found(work: Writing, checks: Sequence[Check]) -> AsyncIterator[Sequence[Values]]:
    """Values that rows refer to, page by page; those that refer to nothing of the checks may be left out."""
    child, columns = checks[0].other, checks[0].constraint.reference_columns
    way = _way(path_to(checks[0]), checks, work.env.storages)
    if way.is_everything and len(columns) == 1 and _can_look_at_pairs(child, child.column(columns[0])):
        async for found in _pairs_with(work, child, columns[0], [check.values[0] for check in checks], way):
            yield found
        return
    async for rows in stored_rows(work.transaction, work.env.table(child), way, columns):
        values = (values_of(child, columns, row) for row in rows)
        yield [v for v in values if v is not None]


def _can_look_at_pairs(child: Descriptor, column: Column) -> bool:
    """True if a row without a pair of this column refers to nothing, and equal values have equal pairs. Else a fill may
    still put one; and pairs of 1.0 and 1.00, or of 1 month and 30 days, differ where keys do not."""
    is_filled = column.fill_value is None or (column.required and column.state is State.PUBLIC)
    return is_filled and column.id not in child.primary_key and column.type not in LEFT_OUT


async def _pairs_with(
    work: Writing, child: Descriptor, column: ColumnId, wanted: Sequence[bytes], way: Access
) -> AsyncIterator[Sequence[Values]]:
    columns, values = int2_array([column]), bytea_array(wanted)
    limit = _INT8.pack(PAGE_PAIRS)
    for storage in way.storages:
        sql = value_scan_sql(storage, child.table_id)
        for start, high in way.ranges:
            low: bytes | None = start
            while low is not None:
                command = Command(sql, (*binary(*bounds(low, high)), columns, limit, values, limit))
                result = (await work.transaction.run([command]))[0]
                page = list(pairs_in(result))
                yield [(value,) for _, value in page if value is not None]
                is_full = bool(page) and result.get_value(len(page) - 1, 2) == limit
                low = next_low(page[-1][0]) if is_full else None


def _way(path: Path, checks: Sequence[Check], storages: int) -> Access:
    everywhere = tuple(range(1, checks[0].other.placement.storage_count(storages) + 1))
    lows = sorted({path.low(check) for check in checks})
    if path.columns and len(lows) <= RANGES_MAX:
        ranges = tuple((pairs.place(low), pairs.place(pairs.after(low))) for low in lows)
        return Access(path.index, ranges, everywhere, columns=tuple(c for c, _ in path.columns))
    child = checks[0].other
    start = pairs.prefix(child, child.placement.id)
    return Access(None, ((start, pairs.after(start)),), everywhere)
