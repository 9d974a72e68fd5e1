"""SQL for pairs: the acts of one statement, and pages of a scan.

Acts are grouped by kind and storage, removals first, keys ascending: a few round trips for any number of rows, and two
writers meet in the same order. Rows are reached by key or key range only, so that serializable transactions lock
nothing beside what they read (T6). Parameters are for psycopg's `%b`: `bounds` of a range, `lookup` of single pairs,
`columns_of` of pairs to put. Numbers are bigint, columns int2.
"""

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from storage.buckets import BUCKETS, storage_of
from storage.mutations import Act, Op, in_order
from storage.pairs import COLUMN, TABLE_BYTES, after_key, stored_key

ACTS = tuple(Act)
REFUSABLE = frozenset({Act.CREATE, Act.PUT_UNIQUE})


@dataclass(frozen=True, slots=True)
class Statement:
    """One SQL statement on one storage. Refusable ones return the keys that were put."""

    storage: int
    act: Act
    sql: str
    keys: tuple[bytes, ...]
    params: tuple[list[bytes] | list[int], ...]

    @property
    def returns_keys(self) -> bool:
        return self.act in REFUSABLE

    def refused(self, returned: Iterable[bytes]) -> list[bytes]:
        """The keys where another live pair existed (23505), given the returned keys."""
        put = set(returned)
        return [key for key in self.keys if key not in put] if self.returns_keys else []


def kv(storage: int, table_id: int) -> str:
    return f"storage_{storage}.kv_{table_id}"


@functools.lru_cache(maxsize=1024)
def key_sql(table_id: int, pair: str = "") -> str:
    """A pair's key as SQL, from columns k and c of `pair`."""
    of = f"{pair}." if pair else ""
    column = rf"CASE WHEN substr({of}k, 3, 2) = '\x0000' THEN int2send({of}c) ELSE '' END"
    return rf"'\x{table_id:0{2 * TABLE_BYTES}x}'::bytea || {of}k || {column}"


KEY_BYTES = rf"{TABLE_BYTES} + octet_length(k) + CASE WHEN substr(k, 3, 2) = '\x0000' THEN {COLUMN.size} ELSE 0 END"
"""The length of `key_sql` as SQL: what a page may have is counted alike here and by whoever reads it."""

WITHIN = "(k, c) >= (%b::bytea, %b::bigint::int2) AND (k, c) < (%b::bytea, %b::bigint::int2)"
"""The condition that a pair lies in a range. Parameters: `bounds`."""
WITHIN_INDEX = "k >= %b::bytea AND k < %b::bytea"
"""The same of entries, whose c is 0: one comparison instead of two. Parameters: k of both ends."""
AMONG = "k = ANY(%b::bytea[]) AND c = ANY(%b::int2[])"
"""The condition that a pair is among some, or has the key of one and the column of another. Parameters: `lookup`."""
UNNEST = "unnest(%b::bytea[], %b::int2[], %b::bytea[])"
"""Pairs (k, c, v). Parameters: `columns_of` their keys, and their values."""


def bounds(low: bytes, high: bytes) -> tuple[bytes, int, bytes, int]:
    """Parameters of `WITHIN` for the range from one key or place to another."""
    return *stored_key(low), *stored_key(high)


def columns_of(keys: Iterable[bytes]) -> tuple[list[bytes], list[int]]:
    stored = [stored_key(key) for key in keys]
    return [k for k, _ in stored], [c for _, c in stored]


def lookup(keys: Iterable[bytes]) -> tuple[list[bytes], list[int]]:
    """Parameters of `AMONG`: exact for the same columns of some rows, and for entries."""
    ks, cs = columns_of(keys)
    return sorted(set(ks)), sorted(set(cs))


_DELETE = f"DELETE FROM {{kv}} AS kv WHERE {AMONG}"
_INSERT = f"INSERT INTO {{kv}} AS kv (k, c, v) SELECT * FROM {UNNEST} ON CONFLICT (k, c)"
_PUT = f"{_INSERT} DO UPDATE SET v = excluded.v"
_MARK = "INSERT INTO {kv} AS kv (k, c) SELECT * FROM unnest(%b::bytea[], %b::int2[]) ON CONFLICT (k, c)"
_TOMBSTONE = f"{_MARK} DO UPDATE SET v = NULL"
_OWN = "(kv.k, kv.v) IN (SELECT * FROM unnest(%b::bytea[], %b::bytea[]))"
"""True of entries with these owners: of entries alone, whose c is 0."""

SQL = {
    Act.REMOVE: _DELETE,
    Act.REMOVE_UNIQUE: f"{_DELETE} AND (kv.v IS NULL OR {_OWN})",
    Act.TOMBSTONE: _TOMBSTONE,
    Act.TOMBSTONE_UNIQUE: f"{_TOMBSTONE} WHERE kv.v IS NULL OR {_OWN}",
    Act.CREATE: f"{_PUT} WHERE kv.v IS NULL RETURNING {{key}}",
    Act.PUT: _PUT,
    Act.PUT_UNIQUE: f"{_PUT} WHERE kv.v IS NULL OR kv.v = excluded.v RETURNING {{key}}",
}


def act_sql(act: Act, storage: int, table_id: int) -> str:
    return SQL[act].format(kv=kv(storage, table_id), key=key_sql(table_id, "kv"))


def statements_for(ops: Iterable[Op], table_id: int, storages: int, *, buckets: int = BUCKETS) -> list[Statement]:
    """The SQL of one statement's operations, in order, in a cluster that began with `storages`."""
    groups: dict[tuple[int, int, int], list[Op]] = {}
    # how often a key met the same act before: one SQL statement may touch a row only once
    seen: dict[tuple[int, int, bytes], int] = {}
    for op in in_order(ops):
        act, storage = ACTS.index(op.act), storage_of(op.bucket, op.storages or storages, buckets)
        wave = seen[act, storage, op.key] = seen.get((act, storage, op.key), -1) + 1
        groups.setdefault((act, wave, storage), []).append(op)
    return [
        _statement(storage, table_id, part)
        for act, wave, storage in sorted(groups)
        for part in _parts(ACTS[act], groups[act, wave, storage])
    ]


def _parts(act: Act, ops: list[Op]) -> list[list[Op]]:
    """A removal's operations by the columns that each row loses, for which `lookup` is exact."""
    if act not in (Act.REMOVE, Act.REMOVE_UNIQUE):
        return [ops]
    columns: dict[bytes, set[int]] = {}
    for op in ops:
        k, c = stored_key(op.key)
        columns.setdefault(k, set()).add(c)
    parts: dict[tuple[int, ...], list[Op]] = {}
    for op in ops:
        parts.setdefault(tuple(sorted(columns[stored_key(op.key)[0]])), []).append(op)
    return [parts[lost] for lost in sorted(parts)]


def _statement(storage: int, table_id: int, ops: list[Op]) -> Statement:
    act = ops[0].act
    ordered = sorted(ops, key=lambda op: op.key)
    keys, values = [op.key for op in ordered], [op.value for op in ordered]
    return Statement(storage, act, act_sql(act, storage, table_id), tuple(keys), _params(act, keys, values))


def _params(act: Act, keys: Sequence[bytes], values: list[bytes]) -> tuple[list[bytes] | list[int], ...]:
    own = (columns_of(keys)[0], values)
    match act:
        case Act.REMOVE:
            return lookup(keys)
        case Act.REMOVE_UNIQUE:
            return *lookup(keys), *own
        case Act.TOMBSTONE:
            return columns_of(keys)
        case Act.TOMBSTONE_UNIQUE:
            return *columns_of(keys), *own
        case Act.CREATE | Act.PUT | Act.PUT_UNIQUE:
            return *columns_of(keys), values


_THERE = "SELECT FROM {kv} WHERE k = %b::bytea AND c = 0 AND v IS NOT NULL"
"""Whether a row exists. Parameter: k."""


@functools.lru_cache(maxsize=1024)
def put_if_there_sql(storage: int, table_id: int) -> str:
    """Puts pairs of a row if it exists. Parameters: k of its existence pair, and those of `UNNEST`. Answers with the
    transaction's id, when something was put, and whether that was so."""
    table = kv(storage, table_id)
    put = f"INSERT INTO {table} AS kv (k, c, v) SELECT pair.* FROM there, {UNNEST} AS pair ON CONFLICT (k, c)"
    done = f"WITH there AS ({_THERE.format(kv=table)}), put AS ({put} DO UPDATE SET v = excluded.v RETURNING 1)"
    counted = "SELECT (SELECT count(*) FROM put) AS pairs"
    return f"{done} SELECT pg_current_xact_id_if_assigned()::text, pairs > 0 FROM ({counted}) AS d WHERE pairs >= 0"


@functools.lru_cache(maxsize=1024)
def remove_if_there_sql(storage: int, table_id: int) -> str:
    """Removes pairs of a row if it exists. Parameters: k of its existence pair, `AMONG`'s. Answers as
    `put_if_there_sql`."""
    table = kv(storage, table_id)
    remove = f"{_DELETE.format(kv=table)} AND EXISTS (SELECT FROM there)"
    done = f"WITH there AS ({_THERE.format(kv=table)}), removed AS ({remove} RETURNING 1)"
    counted = "SELECT (SELECT count(*) FROM removed) AS pairs"
    return f"{done} SELECT pg_current_xact_id_if_assigned()::text, pairs > 0 FROM ({counted}) AS d WHERE pairs >= 0"


PAGE_PAIRS = 20_000
"""Pairs in a page of a scan: some ten milliseconds of the server's time."""

_SHORT_VALUE = "CASE WHEN octet_length(v) <= %b::bigint THEN v END"
_PACKED = """SELECT count(*), string_agg(k, ''), string_agg(int2send(c), ''), string_agg({value}, ''),
 string_agg(int4send(octet_length(k)), ''), string_agg(int4send(octet_length(v)), ''){more}
 FROM ({page}) AS page"""


def page_sql(
    storage: int,
    table_id: int,
    *,
    columns: bool = False,
    tombstones: bool = False,
    of_columns: Sequence[int] | None = None,
) -> str:
    """A page of (k, c, v) in order. Parameters: `bounds`, [columns,] limit. `columns`: only pairs of these columns (0:
    existence); `of_columns` names them in the SQL."""
    live = "" if tombstones else " AND v IS NOT NULL"
    named = " AND c = ANY(%b::int2[])" if columns else ""
    named += "" if of_columns is None else f" AND {of_columns_sql(of_columns)}"
    return f"SELECT k, c, v FROM {kv(storage, table_id)} WHERE {WITHIN}{live}{named} ORDER BY k, c LIMIT %b"


def scan_sql(
    storage: int,
    table_id: int,
    *,
    columns: bool = False,
    tombstones: bool = False,
    of_columns: Sequence[int] | None = None,
) -> str:
    """A page of (key, value) in [low, high). Parameters of `page_sql`. The next begins at `next_low(last key)`."""
    page = page_sql(storage, table_id, columns=columns, tombstones=tombstones, of_columns=of_columns)
    return page.replace("SELECT k, c, v", f"SELECT {key_sql(table_id)} AS key, v AS value", 1)


def backward_scan_sql(storage: int, table_id: int, *, columns: bool = False) -> str:
    """The page of `scan_sql` from the end of the range, descending. The next ends before its last key."""
    return scan_sql(storage, table_id, columns=columns).replace("ORDER BY k, c", "ORDER BY k DESC, c DESC")


def bounded_page_sql(
    storage: int, table_id: int, *, columns: bool = False, of_columns: Sequence[int] | None = None
) -> str:
    """The page of `page_sql` up to the pair that reaches a number of bytes, the last parameter."""
    size = f"{KEY_BYTES} + octet_length(v)"
    before = f"sum({size}) OVER (ORDER BY k, c ROWS UNBOUNDED PRECEDING) - ({size}) AS before"
    page = page_sql(storage, table_id, columns=columns, of_columns=of_columns)
    return f"SELECT k, c, v FROM (SELECT k, c, v, {before} FROM ({page}) AS page) AS measured WHERE before < %b::bigint"


def bounded_scan_sql(
    storage: int, table_id: int, *, columns: bool = False, of_columns: Sequence[int] | None = None
) -> str:
    """The same as (key, value)."""
    page = bounded_page_sql(storage, table_id, columns=columns, of_columns=of_columns)
    return f"SELECT {key_sql(table_id)} AS key, v AS value FROM ({page}) AS page ORDER BY k, c"


def packed_scan_sql(
    storage: int, table_id: int, *, of_columns: Sequence[int] | None = None, bounded: bool = False
) -> str:
    """The page of `page_sql` or `bounded_page_sql` in one row: count, all k, all c (2 bytes), all values, and lengths
    of k and values (4 bytes), for `storage.arrow.encoding.unpack`."""
    of = bounded_page_sql if bounded else page_sql
    return _PACKED.format(value="v", more="", page=of(storage, table_id, of_columns=of_columns))


def packed_short_sql(storage: int, table_id: int, *, of_columns: Sequence[int] | None = None) -> str:
    """The page of `page_sql` in one row, without values longer than the first parameter, and the longest length.
    Cheaper than adding up."""
    page = page_sql(storage, table_id, of_columns=of_columns)
    return _PACKED.format(value=_SHORT_VALUE, more=", max(octet_length(v))::bigint", page=page)


def remember_whole_sql(storage: int, table_id: int) -> str:
    """Takes one predicate lock on a whole pair table instead of one a page, whose cost grows with the square of a
    scan's length. An empty sample counts as reading the whole."""
    return f"SELECT count(*) FROM {kv(storage, table_id)} TABLESAMPLE SYSTEM (0)"


SHARED_BYTES = 64 << 20
_LONG = """SELECT FROM pg_stat_activity WHERE backend_type = 'client backend' AND datname = current_database()
    AND pid <> pg_backend_pid() AND xact_start < clock_timestamp() - interval '100 ms'"""


def share_sql(tables: Iterable[tuple[int, int]]) -> str:
    """Lets two processes read these whole pair tables (storage, table id) for the rest of the transaction, if they are
    large and no other transaction is open for long. Beside one that writes, the second process would remember page by
    page what it reads, since it does not know of `remember_whole_sql`."""
    size = " + ".join(f"pg_relation_size('{kv(storage, table_id)}')" for storage, table_id in tables)
    may = f"CASE WHEN {size} > {SHARED_BYTES} AND NOT EXISTS ({_LONG}) THEN '1' ELSE '0' END"
    return f"SELECT set_config('max_parallel_workers_per_gather', {may}, true)"


def column_suffixes(column_ids: Iterable[int]) -> list[bytes]:
    """The ends of the keys of these columns' pairs (0: existence)."""
    return [column_id.to_bytes(2) for column_id in column_ids]


def of_columns_sql(column_ids: Iterable[int]) -> str:
    return f"c IN ({', '.join(map(str, sorted(set(column_ids))))})"


next_low = after_key
"""The lower end of the page behind a last key."""


@functools.lru_cache(maxsize=1024)
def get_sql(storage: int, table_id: int) -> str:
    """The live pairs among given keys. Parameters: `lookup`."""
    return f"SELECT {key_sql(table_id)} AS key, v AS value FROM {kv(storage, table_id)} WHERE {AMONG} AND v IS NOT NULL"


def get_every_sql(storage: int, table_id: int) -> str:
    return f"SELECT {key_sql(table_id)} AS key, v AS value FROM {kv(storage, table_id)} WHERE {AMONG}"


def get_starts_sql(storage: int, table_id: int, most: int) -> str:
    """The same, of each value the first `most` bytes and a digest."""
    values = f"substring(v, 1, {most}), sha256(v)"
    return f"SELECT {key_sql(table_id)} AS key, {values} FROM {kv(storage, table_id)} WHERE {AMONG}"


@functools.lru_cache(maxsize=1024)
def bounded_get_sql(storage: int, table_id: int) -> str:
    """Live pairs among given keys, and each value's length; values longer than the first parameter are left out."""
    live = f"FROM {kv(storage, table_id)} WHERE {AMONG} AND v IS NOT NULL"
    return f"SELECT {key_sql(table_id)} AS key, {_SHORT_VALUE} AS value, octet_length(v) {live}"


def held_ranges_sql(storage: int, table_id: int) -> str:
    """The lower ends of the key ranges with a live pair. Parameters: lower ends, upper ends, without columns."""
    begin = TABLE_BYTES + 1
    within = f"k >= substr(low, {begin}) AND k < substr(high, {begin})"
    held = f"SELECT 1 FROM {kv(storage, table_id)} WHERE {within} AND v IS NOT NULL"
    ranges = "unnest(%b::bytea[], %b::bytea[]) AS ranges (low, high)"
    return f"SELECT low FROM {ranges} CROSS JOIN LATERAL ({held} ORDER BY k LIMIT 1) AS held"


def value_scan_sql(storage: int, table_id: int) -> str:
    """The pairs with given values on a page of `scan_sql` with `columns`, and the last pair of a full page. Its
    parameters are `bounds`, columns, limit, the values, and the limit again; the third column numbers the pairs."""
    page = page_sql(storage, table_id, columns=True)
    numbered = f"SELECT k, c, v, row_number() OVER (ORDER BY k, c) AS number FROM ({page}) AS page"
    wanted = "v = ANY(%b::bytea[]) OR number = %b::bigint"
    answer = f"SELECT {key_sql(table_id)} AS key, v AS value, number"
    return f"{answer} FROM ({numbered}) AS numbered WHERE {wanted} ORDER BY k, c"
