"""SQL for pairs: the acts of one statement, and pages of a scan. Built here, run by whoever holds a connection.

Acts are grouped by kind and storage, removals first, keys ascending, so a statement over any number
of rows costs a handful of round trips (one in a pipeline) and two writers meet in the same order:

    DELETE .. = ANY(keys)      INSERT .. unnest(keys, values) ON CONFLICT ..      CREATE says what it put

Rows are only ever reached by key or key range, so that serializable transactions lock what they read
and nothing beside it (T6). Parameters are for psycopg's `%b`: arrays travel in binary.
"""

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from storage.buckets import BUCKETS, storage_of
from storage.mutations import Act, Op, in_order

ACTS = tuple(Act)
REFUSABLE = frozenset({Act.CREATE, Act.PUT_UNIQUE})


@dataclass(frozen=True, slots=True)
class Statement:
    """One SQL statement on one storage. Refusable ones return the keys that were put."""

    storage: int
    act: Act
    sql: str
    keys: tuple[bytes, ...]
    params: tuple[list[bytes], ...]

    @property
    def returns_keys(self) -> bool:
        return self.act in REFUSABLE

    def refused(self, returned: Iterable[bytes]) -> list[bytes]:
        """The keys where another live pair stood in the way (23505), given the keys that came back."""
        put = set(returned)
        return [key for key in self.keys if key not in put] if self.returns_keys else []


def kv(storage: int, table_id: int) -> str:
    """The name of the PostgreSQL table that holds a table's pairs on one storage."""
    return f"storage_{storage}.kv_{table_id}"


_DELETE = "DELETE FROM {kv} AS kv WHERE key = ANY(%b::bytea[])"
_INSERT = "INSERT INTO {kv} AS kv (key, value) SELECT * FROM unnest(%b::bytea[], %b::bytea[]) ON CONFLICT (key)"
_PUT = f"{_INSERT} DO UPDATE SET value = excluded.value"
_TOMBSTONE = "INSERT INTO {kv} AS kv (key) SELECT unnest(%b::bytea[]) ON CONFLICT (key) DO UPDATE SET value = NULL"
_OWN = "(kv.key, kv.value) IN (SELECT * FROM unnest(%b::bytea[], %b::bytea[]))"

SQL = {
    Act.REMOVE: _DELETE,
    Act.REMOVE_UNIQUE: f"{_DELETE} AND (value IS NULL OR {_OWN})",
    Act.TOMBSTONE: _TOMBSTONE,
    Act.TOMBSTONE_UNIQUE: f"{_TOMBSTONE} WHERE kv.value IS NULL OR {_OWN}",
    Act.CREATE: f"{_PUT} WHERE kv.value IS NULL RETURNING key",
    Act.PUT: _PUT,
    Act.PUT_UNIQUE: f"{_PUT} WHERE kv.value IS NULL OR kv.value = excluded.value RETURNING key",
}


def statements_for(ops: Iterable[Op], table_id: int, storages: int, *, buckets: int = BUCKETS) -> list[Statement]:
    """The SQL of one statement's operations, to be run in this order inside one transaction.

    `storages` is the number of them that the cluster began with.
    """
    groups: dict[tuple[int, int, int], list[Op]] = {}
    # how often a key met the same act before: one SQL statement may touch a row only once
    seen: dict[tuple[int, int, bytes], int] = {}
    for op in in_order(ops):
        act, storage = ACTS.index(op.act), storage_of(op.bucket, op.storages or storages, buckets)
        wave = seen[act, storage, op.key] = seen.get((act, storage, op.key), -1) + 1
        groups.setdefault((act, wave, storage), []).append(op)
    return [_statement(storage, table_id, groups[act, wave, storage]) for act, wave, storage in sorted(groups)]


def _statement(storage: int, table_id: int, ops: list[Op]) -> Statement:
    act = ops[0].act
    ordered = sorted(ops, key=lambda op: op.key)
    keys, values = [op.key for op in ordered], [op.value for op in ordered]
    params: tuple[list[bytes], ...]
    if act in (Act.REMOVE, Act.TOMBSTONE):
        params = (keys,)
    elif act in (Act.REMOVE_UNIQUE, Act.TOMBSTONE_UNIQUE):
        params = (keys, keys, values)
    else:
        params = (keys, values)
    return Statement(storage, act, SQL[act].format(kv=kv(storage, table_id)), tuple(keys), params)


@functools.lru_cache(maxsize=1024)
def put_if_there_sql(storage: int, table_id: int) -> str:
    """Pairs of one row, put if it exists. Parameters: the key of its existence pair, keys, values.

    Its answer is the transaction's id, when something was put, and whether that was so.
    """
    there = f"SELECT 1 FROM {kv(storage, table_id)} WHERE key = %b AND value IS NOT NULL"
    pairs = "SELECT pair.* FROM there, unnest(%b::bytea[], %b::bytea[]) AS pair"
    put = f"INSERT INTO {kv(storage, table_id)} AS kv (key, value) {pairs} ON CONFLICT (key)"
    done = f"WITH there AS ({there}), put AS ({put} DO UPDATE SET value = excluded.value RETURNING 1)"
    counted = "SELECT (SELECT count(*) FROM put) AS pairs"
    return f"{done} SELECT pg_current_xact_id_if_assigned()::text, pairs > 0 FROM ({counted}) AS d WHERE pairs >= 0"


@functools.lru_cache(maxsize=1024)
def remove_if_there_sql(storage: int, table_id: int) -> str:
    """Pairs of one row, removed if it exists. Parameters: the key of its existence pair, keys.

    Its answer is that of `put_if_there_sql`.
    """
    there = f"SELECT 1 FROM {kv(storage, table_id)} WHERE key = %b AND value IS NOT NULL"
    remove = f"{_DELETE.format(kv=kv(storage, table_id))} AND EXISTS (SELECT FROM there)"
    done = f"WITH there AS ({there}), removed AS ({remove} RETURNING 1)"
    counted = "SELECT (SELECT count(*) FROM removed) AS pairs"
    return f"{done} SELECT pg_current_xact_id_if_assigned()::text, pairs > 0 FROM ({counted}) AS d WHERE pairs >= 0"


PAGE_PAIRS = 20_000
"""Pairs in a page of a scan: some ten milliseconds of the server's time."""

COLUMN_SUFFIX = "substr(key, octet_length(key) - 1)"
"""The column id that ends the key of a row's pair, as SQL."""

_SHORT_VALUE = "CASE WHEN octet_length(value) <= %b::bigint THEN value END"
_PACKED = """SELECT count(*), string_agg(key, ''), string_agg({value}, ''),
 string_agg(int4send(octet_length(key)), ''), string_agg(int4send(octet_length(value)), ''){more}
 FROM ({page}) AS page"""


def scan_sql(
    storage: int,
    table_id: int,
    *,
    columns: bool = False,
    tombstones: bool = False,
    of_columns: Sequence[int] | None = None,
) -> str:
    """A page of (key, value) in key order. Parameters: low, high, [column suffixes,] limit; low is included, high not.

    The next page begins at `next_low(last key)`. With `columns` only pairs whose key ends with one of the
    suffixes (`column_suffixes`) are read: of rows, not of index entries. With `of_columns` the same, and the SQL says
    which: that costs less for each pair.
    """
    live = "" if tombstones else " AND value IS NOT NULL"
    named = f" AND {COLUMN_SUFFIX} = ANY(%b::bytea[])" if columns else ""
    named += "" if of_columns is None else f" AND {ends_exactly_sql(of_columns)}"
    pairs = f"SELECT key, value FROM {kv(storage, table_id)}"
    return f"{pairs} WHERE key >= %b AND key < %b{live}{named} ORDER BY key LIMIT %b"


def backward_scan_sql(storage: int, table_id: int, *, columns: bool = False) -> str:
    """The page of `scan_sql` from the end of the range: the greatest keys, the greatest first.

    The next page ends before the last key.
    """
    return scan_sql(storage, table_id, columns=columns).replace("ORDER BY key", "ORDER BY key DESC")


def bounded_scan_sql(
    storage: int, table_id: int, *, columns: bool = False, of_columns: Sequence[int] | None = None
) -> str:
    """The page of `scan_sql` up to the pair with which keys and values reach a number of bytes, the last parameter."""
    size = "octet_length(key) + octet_length(value)"
    before = f"sum({size}) OVER (ORDER BY key ROWS UNBOUNDED PRECEDING) - ({size}) AS before"
    page = scan_sql(storage, table_id, columns=columns, of_columns=of_columns)
    measured = f"SELECT key, value, {before} FROM ({page}) AS page"
    return f"SELECT key, value FROM ({measured}) AS measured WHERE before < %b::bigint ORDER BY key"


def packed_scan_sql(
    storage: int, table_id: int, *, of_columns: Sequence[int] | None = None, bounded: bool = False
) -> str:
    """The page of `scan_sql`, or `bounded_scan_sql`, in one row: count, all keys, all values, both lengths (4 bytes).

    `storage.arrow.encoding.unpack` turns it into Arrow arrays without a Python object per pair.
    """
    of = bounded_scan_sql if bounded else scan_sql
    return _PACKED.format(value="value", more="", page=of(storage, table_id, of_columns=of_columns))


def packed_short_sql(storage: int, table_id: int, *, of_columns: Sequence[int] | None = None) -> str:
    """The page of `scan_sql` in one row, without values longer than the first parameter, and the longest length.

    That costs a fraction of adding up, and is what most pages need.
    """
    page = scan_sql(storage, table_id, of_columns=of_columns)
    return _PACKED.format(value=_SHORT_VALUE, more=", max(octet_length(value))::bigint", page=page)


def remember_whole_sql(storage: int, table_id: int) -> str:
    """Have the transaction remember that it read all of a pair table: one predicate lock instead of one a page.

    PostgreSQL goes over all locks of a transaction with each page that joins them, so that what a long scan costs grows
    with the square of its length. A sample of nothing reads nothing, and counts as reading the whole.
    """
    return f"SELECT count(*) FROM {kv(storage, table_id)} TABLESAMPLE SYSTEM (0)"


def column_suffixes(column_ids: Iterable[int]) -> list[bytes]:
    """The ends of the keys of these columns' pairs (0: the row's existence)."""
    return [column_id.to_bytes(2) for column_id in column_ids]


def ends_exactly_sql(column_ids: Iterable[int]) -> str:
    """The condition that a key of a row's pair ends with one of these columns' ids, as SQL.

    To look at single bytes costs a fraction of cutting the end off each.
    """
    wanted = sorted(set(column_ids))
    last = ", ".join(map(str, sorted({column_id % 256 for column_id in wanted})))
    ends = f"get_byte(key, octet_length(key) - 1) IN ({last})"
    if max(wanted, default=0) < 256:
        return f"{ends} AND get_byte(key, octet_length(key) - 2) = 0"
    whole = ", ".join(rf"'\x{suffix.hex()}'::bytea" for suffix in column_suffixes(wanted))
    return f"{ends} AND {COLUMN_SUFFIX} IN ({whole})"


def next_low(last_key: bytes) -> bytes:
    """The first key after `last_key`."""
    return last_key + b"\x00"


@functools.lru_cache(maxsize=1024)
def get_sql(storage: int, table_id: int) -> str:
    """The live pairs among given keys. Parameter: the keys."""
    return f"SELECT key, value FROM {kv(storage, table_id)} WHERE key = ANY(%b::bytea[]) AND value IS NOT NULL"


def get_every_sql(storage: int, table_id: int) -> str:
    """The pairs among given keys, tombstones included. Parameter: the keys."""
    return f"SELECT key, value FROM {kv(storage, table_id)} WHERE key = ANY(%b::bytea[])"


def get_starts_sql(storage: int, table_id: int, most: int) -> str:
    """The same, of each value the first `most` bytes and a digest of the whole."""
    values = f"substring(value, 1, {most}), sha256(value)"
    return f"SELECT key, {values} FROM {kv(storage, table_id)} WHERE key = ANY(%b::bytea[])"


@functools.lru_cache(maxsize=1024)
def bounded_get_sql(storage: int, table_id: int) -> str:
    """Live pairs among given keys, and the length of each value; one longer than the first parameter is left out."""
    live = f"FROM {kv(storage, table_id)} WHERE key = ANY(%b::bytea[]) AND value IS NOT NULL"
    return f"SELECT key, {_SHORT_VALUE}, octet_length(value) {live}"


def held_ranges_sql(storage: int, table_id: int) -> str:
    """The lower ends of those key ranges that hold a live pair. Parameters: all lower ends, all upper ends."""
    held = f"SELECT 1 FROM {kv(storage, table_id)} WHERE key >= low AND key < high AND value IS NOT NULL"
    ranges = "unnest(%b::bytea[], %b::bytea[]) AS ranges (low, high)"
    return f"SELECT low FROM {ranges} CROSS JOIN LATERAL ({held} ORDER BY key LIMIT 1) AS held"


def value_scan_sql(storage: int, table_id: int) -> str:
    """Of a page of `scan_sql` with `columns` the pairs with given values, and the last one of a page that is full.

    Parameters: low, high, column suffixes, limit, the values, and the limit again. The third column numbers the pairs.
    """
    page = scan_sql(storage, table_id, columns=True)
    numbered = f"SELECT key, value, row_number() OVER (ORDER BY key) AS number FROM ({page}) AS page"
    return f"SELECT * FROM ({numbered}) AS numbered WHERE value = ANY(%b::bytea[]) OR number = %b::bigint ORDER BY key"
