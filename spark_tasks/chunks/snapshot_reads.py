"""Reads a range in one short snapshot: a row updated between two pages would give an entry that never was."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg

from catalog.elements import EXISTS, ColumnId, IndexId
from spark_tasks.runs.ranges import ROWS_PER_RANGE, KeyRange, split
from storage.answering import asking
from storage.arrow.encoding import Pairs
from storage.arrow.packed_scan import PackedScan
from storage.arrow.rows import RowReader, StoredRows
from storage.page_sizes import Lengths
from storage.pairs import PREFIX
from storage.postgres import kv
from storage.statements import WITHIN, bounds, key_sql

Connection = psycopg.Connection[Any]

BLOCKS_SAMPLED = 600
SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


@contextmanager
def snapshot(connection: Connection, exported: str | None = None) -> Iterator[None]:
    """One snapshot for the block: a new one, or an exported one."""
    connection.execute(SNAPSHOT if exported is None else f"{SNAPSHOT}; SET TRANSACTION SNAPSHOT '{exported}'")
    try:
        yield
    finally:
        if not connection.closed:
            connection.execute("ROLLBACK")


def exported(connection: Connection) -> str:
    """The name under which other sessions can use this transaction's snapshot."""
    row = connection.execute("SELECT pg_export_snapshot()").fetchone()
    assert row is not None
    return str(row[0])


def pages(
    connection: Connection,
    table_id: int,
    key_range: KeyRange,
    columns: Iterable[int] | None = None,
    lengths: Lengths | None = None,
) -> Iterator[Pairs]:
    """The live pairs of a range, of the named columns if any (0: existence)."""
    named = None if columns is None else list(columns)
    scan = PackedScan(key_range.storage, table_id, key_range.low, key_range.high, named, lengths)
    cursor = connection.cursor(binary=True)
    while not scan.is_done:
        row = cursor.execute(*scan.question(), prepare=True).fetchone()
        assert row is not None
        page = scan.take(*row)
        if len(page):
            yield page


def rows(
    connection: Connection, table_id: int, key_range: KeyRange, columns: Iterable[ColumnId], *, every: bool = False
) -> Iterator[StoredRows]:
    """The rows of a range in key order; `every` reads all pairs, to see orphans."""
    for found, _ in rows_and_pairs(connection, table_id, key_range, columns, every=every):
        yield found


def rows_and_pairs(
    connection: Connection,
    table_id: int,
    key_range: KeyRange,
    columns: Iterable[ColumnId],
    *,
    every: bool,
    lengths: Lengths | None = None,
) -> Iterator[tuple[StoredRows, int]]:
    """Rows, and the number of pairs read: too many belong to no column."""
    wanted = tuple(columns)
    reader = RowReader(wanted, asking(connection))
    for page in pages(connection, table_id, key_range, None if every else (EXISTS, *wanted), lengths):
        yield reader.feed(page), len(page)
    yield reader.finish(), 0


# --- cutting a key space into ranges


@dataclass(frozen=True, slots=True)
class KeySpace:
    low: bytes
    high: bytes
    index: IndexId


@dataclass(frozen=True, slots=True)
class Size:
    """The size of ranges of rows whose `columns` are read: `rows` each, given a storage's rows and bytes."""

    columns: frozenset[ColumnId]
    rows: Callable[[int, int], int]


def ranges_of(
    connection: Connection, table_id: int, space: KeySpace, storages: int, size: Size | None = None
) -> list[KeyRange]:
    """Ranges over a key space on all storages, cut at sampled keys, with exact counts for small tables."""
    found = []
    for storage in range(1, storages + 1):
        seen = Sample(connection, storage, table_id, space)
        keys = seen.keys()
        rows = seen.in_all(len(keys))
        found += split(
            storage=storage,
            low=space.low,
            high=space.high,
            sample=keys,
            rows=rows,
            rows_per_range=ROWS_PER_RANGE if size is None else size.rows(rows, seen.bytes_of(size.columns)),
        )
    return found


class Sample:
    """Live pairs of a key space in some blocks of a storage's table, or in all."""

    def __init__(self, connection: Connection, storage: int, table_id: int, space: KeySpace) -> None:
        self.connection, self.table_id, table = connection, table_id, kv(storage, table_id)
        self.bounds = bounds(space.low, space.high)
        blocks = self._number("SELECT pg_relation_size(%b::regclass) / current_setting('block_size')::int", table)
        self.percent = 100.0 if blocks <= BLOCKS_SAMPLED else 100.0 * BLOCKS_SAMPLED / blocks
        sampled = "" if self.percent == 100.0 else f" TABLESAMPLE SYSTEM ({self.percent:.9f}) REPEATABLE (0)"
        self.live = f"FROM {table}{sampled} WHERE {WITHIN} AND v IS NOT NULL"

    def keys(self) -> list[bytes]:
        """Keys at which rows or entries begin, in order."""
        sql = f"SELECT {key_sql(self.table_id)} {self.live} AND c = 0 ORDER BY k"
        cursor = self.connection.cursor(binary=True).execute(sql, self.bounds)
        return [key for (key,) in cursor.fetchall()]

    def in_all(self, seen: int) -> int:
        return int(seen * 100.0 / self.percent)

    def bytes_of(self, columns: Iterable[ColumnId]) -> int:
        """The extrapolated bytes of the pairs that are read."""
        size = f"{PREFIX.size} + octet_length(k) + octet_length(v)"
        sql = f"SELECT coalesce(sum({size}), 0) {self.live} AND c = ANY(%b::int2[])"
        return self.in_all(self._number(sql, *self.bounds, [EXISTS, *columns]))

    def _number(self, sql: str, *params: Any) -> int:
        row = self.connection.cursor(binary=True).execute(sql, params).fetchone()
        assert row is not None
        return int(row[0])
