"""Tables whose rows lie where an earlier version of this code put them, with the command that spreads them anew.

    strcrc32 of true     earlier: "t", PostgreSQL's text     bucket 2045
                         now: "true", as in tarantool        bucket 1683

A row that lies on another storage than its sharding key says is found by scans and missed by its key. Only a boolean in
a sharding key can make that difference, so other tables cost nothing here.
"""

from collections.abc import Iterator

import psycopg

from catalog.descriptor import Descriptor, from_json
from catalog.elements import EXISTS, Placement, State
from catalog.text.sql_names import quoted
from catalog.values.types import SqlType
from storage.buckets import storage_of
from storage.pairs import TABLE_BYTES, StoredRow, after, prefix, row_bucket
from storage.statements import kv

CONNECT_S_MAX = 5
ROWS_MAX = 2_000
"""Rows of a table on a storage that are looked at, from either end."""
FUNCTION, TOLD_APART = "strcrc32", "mpcrc32"
TABLES = """
SELECT d.body FROM catalog_table t JOIN catalog_descriptor d ON d.table_id = t.id AND d.version = t.version
WHERE t.state = 'live' ORDER BY t.name
"""


def misplaced(url: str, *, storages: int, buckets: int) -> list[str]:
    """A line for each table with such a row."""
    with psycopg.connect(url, connect_timeout=CONNECT_S_MAX) as connection:
        row = connection.execute("SELECT to_regclass('catalog_descriptor') IS NOT NULL").fetchone()
        if row is None or not row[0]:
            return []
        tables = [from_json(body) for (body,) in connection.execute(TABLES)]
        return [
            f"table {table.name}: rows lie where an earlier version put them, and are missed by their sharding key;"
            f" ALTER TABLE {quoted(table.name)} SET (sharding_func = '{TOLD_APART}') spreads them anew"
            for table in tables
            if _has_misplaced(connection, table, storages, buckets)
        ]


def _has_misplaced(connection: psycopg.Connection, table: Descriptor, storages: int, buckets: int) -> bool:
    return any(
        storage_of(row_bucket(table, placement, row, buckets), count, buckets) != storage
        for placement in table.placements
        if placement.state is State.PUBLIC and _may_differ(table, placement)
        for count in [placement.storage_count(storages)]
        for storage in range(1, count + 1)
        for row in _rows(connection, table, placement, storage)
    )


def _may_differ(table: Descriptor, placement: Placement) -> bool:
    key = placement.sharding_key or table.primary_key
    return placement.function == FUNCTION and any(table.column(one).type is SqlType.BOOLEAN for one in key)


def _rows(connection: psycopg.Connection, table: Descriptor, placement: Placement, storage: int) -> Iterator[StoredRow]:
    """The first and the last rows of a storage, with what their sharding key needs."""
    start, pairs = prefix(table, placement.id)[TABLE_BYTES:], kv(storage, table.table_id)
    columns = [column for column in placement.sharding_key if column not in table.primary_key]
    for order in ("ASC", "DESC"):
        found = connection.execute(
            f"SELECT k FROM {pairs} WHERE k >= %s AND k < %s AND c = %s AND v IS NOT NULL"  # type: ignore[arg-type]
            f" ORDER BY k {order} LIMIT {ROWS_MAX}",
            [start, after(start), EXISTS],
        ).fetchall()
        rows: dict[bytes, dict] = {bytes(key): {} for (key,) in found}
        values = connection.execute(
            f"SELECT k, c, v FROM {pairs} WHERE k = ANY(%s) AND c = ANY(%s) AND v IS NOT NULL",  # type: ignore[arg-type]
            [list(rows), columns],
        )
        for key, column, value in values if columns else ():
            rows[bytes(key)][column] = bytes(value)
        yield from (StoredRow(key[len(start) :], found_values) for key, found_values in rows.items())
