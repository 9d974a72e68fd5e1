"""Reads the rows of a range in one statement where they fit, unordered, and only the needed pairs.

PostgreSQL scans its table and checks one number of each pair; Arrow finds the rows. For some hundred thousand rows this
costs a third of paging by key. A first try leaves out long values and reports the longest; if there are any, lengths
are added up first, and large rows come in pages. Not for serializable transactions, which would remember every pair
(T6).
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.compute as pc

from catalog.descriptor import Descriptor
from catalog.elements import EXISTS, ColumnId
from spark_tasks.chunks import snapshot_reads
from spark_tasks.chunks.chunk import no_break
from spark_tasks.runs.ranges import KeyRange
from storage.answering import asking
from storage.arrow.encoding import END, Pairs, concat, unpack
from storage.arrow.rows import StoredRows
from storage.asking import Ask
from storage.encoding import PAYLOAD_BYTES
from storage.page_sizes import ANY_LENGTH
from storage.pairs import COLUMN, PREFIX, TABLE_BYTES, types_of_key
from storage.postgres import kv
from storage.statements import WITHIN, bounds, of_columns_sql

Connection = psycopg.Connection[Any]

AT_ONCE_BYTES = 128 << 20
"""Keys and values of the pairs that one statement sends: PostgreSQL, the session and Arrow hold them each."""

PAIRS_MIN = 10_000
"""So many are tried at once however few rows a range was thought to have."""

_PAIRS = """SELECT count(*), string_agg(k, ''), string_agg(int2send(c), ''), string_agg(v, ''), {k_sizes},
 string_agg(int4send(octet_length(v)), ''), coalesce(max(length), 0)::bigint FROM (
    SELECT k, c, CASE WHEN octet_length(v) <= {longest} THEN v END AS v, octet_length(v) AS length
    FROM {kv} WHERE {blocks}{within} AND v IS NOT NULL AND {columns} LIMIT {most}
) AS pairs"""


BLOCKS_AT_ONCE = 2048
"""Of a table that one statement walks through: some tens of milliseconds."""
MOST_OF_TABLE = 0.25
"""A range that has less of a table's pairs is read as PostgreSQL thinks best, in one statement."""


def rows_in_parts(
    connection: Connection,
    descriptor: Descriptor,
    key_range: KeyRange,
    columns: Sequence[ColumnId],
    breaks: Callable[[], None] = no_break,
) -> Iterator[StoredRows]:
    """The rows of a range, unordered, at once or in parts of at most `AT_ONCE_BYTES` of pairs. `breaks` is called
    between statements of some tens of milliseconds."""
    connection.execute("SET LOCAL enable_seqscan = on")
    rows = _short_rows(connection, descriptor, key_range, columns, breaks)
    if rows is None and _fit(connection, descriptor, key_range, columns):
        pairs = _pairs(connection, descriptor, key_range, columns)
        assert pairs is not None, "nothing is too long"
        rows = rows_of_pairs(pairs, columns, asking(connection))
    connection.execute("SET LOCAL enable_seqscan = off")
    if rows is not None:
        yield rows
    else:
        yield from snapshot_reads.rows(connection, descriptor.table_id, key_range, columns)


def _short_rows(
    connection: Connection,
    descriptor: Descriptor,
    key_range: KeyRange,
    columns: Sequence[ColumnId],
    breaks: Callable[[], None],
) -> StoredRows | None:
    """All rows, if about as many as expected and without long values; else None."""
    size = key_size(descriptor)
    if size is None:
        return None
    pairs = max(1, key_range.rows) * (1 + len(columns))
    longest, most = AT_ONCE_BYTES // pairs, min(max(2 * pairs, PAIRS_MIN), AT_ONCE_BYTES // size)
    parts, left = [], most
    for blocks in _block_ranges(connection, descriptor, key_range):
        if parts:
            breaks()
        part = _pairs(connection, descriptor, key_range, columns, size=size, longest=longest, most=left, blocks=blocks)
        if part is None:
            return None
        parts.append(part)
        left -= len(part)
    return rows_of_pairs(concat(parts), columns, asking(connection))


def _block_ranges(
    connection: Connection, descriptor: Descriptor, key_range: KeyRange
) -> Sequence[tuple[int, int] | None]:
    """The blocks of each statement: all in one snapshot, so that each version of a pair is seen once. None:
    anywhere."""
    sql = (
        "SELECT pg_relation_size(oid) / current_setting('block_size')::int, reltuples"
        f" FROM pg_class WHERE oid = '{kv(key_range.storage, descriptor.table_id)}'::regclass"
    )
    row = connection.execute(sql).fetchone()
    assert row is not None
    blocks, pairs = row
    mine = key_range.rows * (1 + len(descriptor.stored_columns))
    if blocks <= BLOCKS_AT_ONCE or mine < MOST_OF_TABLE * pairs:
        return [None]
    bounds = [*range(0, blocks, BLOCKS_AT_ONCE), blocks]
    return list(pairwise(bounds))


def _fit(connection: Connection, descriptor: Descriptor, key_range: KeyRange, columns: Sequence[ColumnId]) -> bool:
    sql = (
        f"SELECT coalesce(sum({PREFIX.size} + octet_length(k) + octet_length(v)), 0) <= {AT_ONCE_BYTES}"
        f" FROM {kv(key_range.storage, descriptor.table_id)} WHERE {WITHIN} AND v IS NOT NULL AND c = ANY(%b::int2[])"
    )
    params = (*bounds(key_range.low, key_range.high), [EXISTS, *columns])
    row = connection.cursor(binary=True).execute(sql, params).fetchone()
    assert row is not None
    return bool(row[0])


def _pairs(
    connection: Connection,
    descriptor: Descriptor,
    key_range: KeyRange,
    columns: Sequence[ColumnId],
    *,
    size: int | None = None,
    longest: int = ANY_LENGTH,
    most: int | None = None,
    blocks: tuple[int, int] | None = None,
) -> Pairs | None:
    """The pairs; None for a value longer than `longest`, a k not of `size`, or `most` pairs."""
    sql = _PAIRS.format(
        kv=kv(key_range.storage, descriptor.table_id),
        longest=longest,
        blocks="ctid >= '({},0)' AND ctid < '({},0)' AND ".format(*blocks) if blocks else "",
        within=WITHIN,
        columns=of_columns_sql((EXISTS, *columns)),
        most="ALL" if most is None else most,
        k_sizes="string_agg(int4send(octet_length(k)), '')"
        if size is None
        else f"CASE WHEN bool_and(octet_length(k) = {size}) THEN ''::bytea END",
    )
    cursor = connection.cursor(binary=True).execute(sql, bounds(key_range.low, key_range.high), prepare=False)
    row = cursor.fetchone()
    assert row is not None
    count, ks, cs, values, k_sizes, value_sizes, length = row
    if length > longest or (count and k_sizes is None) or (most is not None and count >= most):
        return None
    k_sizes = k_sizes if size is None else size.to_bytes(4) * count
    return unpack(descriptor.table_id, count, ks, cs, values, k_sizes, value_sizes)


def rows_of_pairs(pairs: Pairs, columns: Sequence[ColumnId], ask: Ask | None = None) -> StoredRows:
    """The rows of unordered pairs of rows; other columns are left out."""
    ends = pc.binary_slice(pairs.keys, -COLUMN.size, END)
    keys = _cut(pairs.keys.filter(pc.equal(ends, COLUMN.pack(EXISTS))))
    found, orphans = {}, []
    for column_id in columns:
        mine = pairs.filter(pc.equal(ends, COLUMN.pack(column_id)))
        found[column_id], those = _by_row(keys, mine)
        orphans.append(those)
    return StoredRows(keys, found, concat(orphans), ask)


def _cut(keys: pa.Array) -> pa.Array:
    return pc.binary_slice(keys, PREFIX.size, -COLUMN.size)


def key_size(descriptor: Descriptor) -> int | None:
    """Bytes of k of a row's pair; None when that varies."""
    types = types_of_key(descriptor)
    if not PAYLOAD_BYTES.keys() >= set(types):
        return None
    return PREFIX.size - TABLE_BYTES + sum(1 + PAYLOAD_BYTES[sql_type] for sql_type in types)


def _by_row(keys: pa.Array, pairs: Pairs) -> tuple[pa.Array, Pairs]:
    """One column's values in the order of `keys`, null where missing; and its pairs of no row."""
    if not len(pairs):
        return pa.nulls(len(keys), pa.binary()), pairs
    own = _cut(pairs.keys)
    if own.equals(keys):
        return pairs.values, pairs.slice(0, 0)
    values = pairs.values.take(pc.index_in(keys, value_set=own))
    if len(keys) - values.null_count == len(pairs):
        return values, pairs.slice(0, 0)
    return values, pairs.filter(pc.invert(pc.is_in(own, value_set=keys)))
