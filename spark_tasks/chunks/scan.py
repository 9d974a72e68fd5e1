"""The rows of a range in one statement where they fit: only the pairs that are needed leave PostgreSQL, in no order.

    asked for       sent back
    columns 2, 5    how many rows there are; the pairs of column 2; those of column 5

A pair says by its key whose it is, and no pair is without its row (C1): a column with as many pairs as there are
rows names them all, so existence pairs are sent only where every column leaves some row out. What order the pairs
lie in does not matter to who sorts entries anyway, and PostgreSQL may read its table straight through.

In a range of some hundred thousand rows this costs a quarter of paging through all pairs by key. Rows whose pairs
have too many bytes for it come in pages: PostgreSQL knows how long a value is without reading it. Not for use in a
serializable transaction: it would remember every pair it read (T6).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.compute as pc

from catalog.descriptor import Descriptor
from catalog.elements import EXISTS, ColumnId
from catalog.types import SqlType
from spark_tasks.chunks import snapshot_reads
from spark_tasks.runs.ranges import KeyRange
from storage.arrow.encoding import concat, unpack
from storage.arrow.rows import StoredRows
from storage.encoding import PAYLOAD_BYTES
from storage.pairs import COLUMN, PREFIX, types_of_key
from storage.postgres import kv
from storage.statements import COLUMN_SUFFIX

Connection = psycopg.Connection[Any]

AT_ONCE_BYTES = 128 << 20
"""Keys and values of the pairs that one statement sends: PostgreSQL, the session and Arrow hold them each."""

_PACKED = """count(*){only}, string_agg(key, ''){only}, string_agg(value, ''){only},
 {sizes}, string_agg(int4send(octet_length(value)), ''){only}"""
_SIZES = "string_agg(int4send(octet_length(key)), ''){only}"


@dataclass(frozen=True, slots=True)
class Column:
    """The pairs of one column: K(r) of each, and its value."""

    keys: pa.Array
    values: pa.Array


def rows_in_parts(
    connection: Connection, descriptor: Descriptor, key_range: KeyRange, columns: Sequence[ColumnId]
) -> Iterator[StoredRows]:
    """The rows of a range with the columns named, in no order; in the caller's snapshot (not a serializable one).

    At once, or part by part: at most `AT_ONCE_BYTES` of pairs are read for one of them.
    """
    connection.execute("SET LOCAL enable_seqscan = on")
    if _fit(connection, descriptor, key_range, columns):
        yield _rows(connection, descriptor, key_range, columns)
    else:
        connection.execute("SET LOCAL enable_seqscan = off")
        yield from snapshot_reads.rows(connection, descriptor.table_id, key_range, columns)


def _fit(connection: Connection, descriptor: Descriptor, key_range: KeyRange, columns: Sequence[ColumnId]) -> bool:
    """True when all pairs of the range are few enough to be read at once, or at least those of the columns."""
    table, suffixes = kv(key_range.storage, descriptor.table_id), [COLUMN.pack(column) for column in (EXISTS, *columns)]
    for only in ("true", f"{COLUMN_SUFFIX} = ANY(%b::bytea[])"):
        sql = (
            f"SELECT coalesce(sum(octet_length(key) + octet_length(value)), 0) <= {AT_ONCE_BYTES} FROM {table}"
            f" WHERE key >= %b AND key < %b AND value IS NOT NULL AND {only}"
        )
        params = (key_range.low, key_range.high, suffixes)[: sql.count("%b")]
        row = connection.cursor(binary=True).execute(sql, params).fetchone()
        assert row is not None
        if row[0]:
            return True
    return False


def _rows(
    connection: Connection, descriptor: Descriptor, key_range: KeyRange, columns: Sequence[ColumnId]
) -> StoredRows:
    count, found = _read(connection, descriptor, key_range, columns) if columns else (-1, [])
    keys = next((column.keys for column in found if len(column.keys) == count), None)
    if keys is None:
        _, (existence,) = _read(connection, descriptor, key_range, (EXISTS,))
        keys = existence.keys
    values = {column_id: _by_row(keys, column) for column_id, column in zip(columns, found, strict=True)}
    return StoredRows(keys, values, concat([]))


def _read(
    connection: Connection, descriptor: Descriptor, key_range: KeyRange, columns: Sequence[ColumnId]
) -> tuple[int, list[Column]]:
    """The number of rows, and the pairs of each column. Of all pairs, only existence has an empty value."""
    size = _key_size(descriptor)
    asked = ", ".join(_asked(column, is_alone=len(columns) == 1, with_sizes=size is None) for column in columns)
    suffixes = [COLUMN.pack(column) for column in columns if column != EXISTS]
    pairs = f"SELECT key, value, {COLUMN_SUFFIX} AS suffix FROM {kv(key_range.storage, descriptor.table_id)}"
    sql = (
        f"SELECT count(*) FILTER (WHERE value = ''), {asked} FROM ({pairs} WHERE key >= %b AND key < %b"
        f" AND value IS NOT NULL AND (value = '' OR {COLUMN_SUFFIX} = ANY(%b::bytea[]))) AS pairs"
    )
    row = connection.cursor(binary=True).execute(sql, (key_range.low, key_range.high, suffixes)).fetchone()
    assert row is not None
    return row[0], [_column(row[first : first + 5], size) for first in range(1, len(row), 5)]


def _asked(column: ColumnId, *, is_alone: bool, with_sizes: bool) -> str:
    """SQL for one column's pairs; a single column's are distinguished from existence by having a value."""
    if column == EXISTS:
        only = " FILTER (WHERE value = '')"
    else:
        only = f" FILTER (WHERE suffix = '\\x{column:04x}')" if not is_alone else " FILTER (WHERE value <> '')"
    return _PACKED.format(only=only, sizes=_SIZES.format(only=only) if with_sizes else "NULL::bytea")


def _key_size(descriptor: Descriptor) -> int | None:
    """The length of every row's keys; None when it varies."""
    types = types_of_key(descriptor)
    if SqlType.TEXT in types:
        return None
    return PREFIX.size + sum(1 + PAYLOAD_BYTES[sql_type] for sql_type in types) + COLUMN.size


def _column(packed: tuple[Any, ...], key_size: int | None) -> Column:
    count, keys, values, key_sizes, value_sizes = packed
    pairs = unpack(count, keys, values, key_sizes if key_size is None else key_size.to_bytes(4) * count, value_sizes)
    return Column(pc.binary_slice(pairs.keys, PREFIX.size, -COLUMN.size), pairs.values)


def _by_row(keys: pa.Array, column: Column) -> pa.Array:
    """The column's values in the order of `keys`, null where a row has none."""
    if not len(column.keys):
        return pa.nulls(len(keys), pa.binary())
    if column.keys.equals(keys):
        return column.values
    return column.values.take(pc.index_in(keys, value_set=column.keys))
