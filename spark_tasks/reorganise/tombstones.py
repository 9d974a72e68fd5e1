"""Tombstones: cleared before a fill reads its first range, purged once no new ones can be written. Before the drain
those of two versions mix (a delete-only node re-inserts without an entry); afterwards they are cleared in the
transaction that stores the fill's ranges, once (R6). From then on each counts: it keeps the fill from putting a stale
entry, until the purge (R8)."""

from dataclasses import dataclass
from typing import Any

import psycopg

from catalog.descriptor import Descriptor
from catalog.elements import PRIMARY, IndexId, PlacementId
from spark_tasks.chunks.snapshot_reads import KeySpace
from spark_tasks.runs.ranges import placement_of
from spark_tasks.runs.run_elements import Elements
from storage.pairs import after, prefix
from storage.postgres import PLAN_LOCALLY, kv
from storage.statements import AMONG, WITHIN, bounds, key_sql, lookup, of_columns_sql

Connection = psycopg.Connection[Any]


def key_space(descriptor: Descriptor, index: IndexId = PRIMARY, placement: PlacementId | None = None) -> KeySpace:
    """The key space of an index (0: the rows) under a placement (None: the one that is read)."""
    low = prefix(descriptor, descriptor.placement.id if placement is None else placement, index)
    return KeySpace(low, after(low), index)


def key_spaces(descriptor: Descriptor, elements: Elements) -> list[KeySpace]:
    entries, rows = [], []
    for placement in descriptor.placements:
        is_whole = placement.id in elements.placements
        indexes = [index.id for index in descriptor.indexes] if is_whole else elements.indexes
        entries += [key_space(descriptor, index_id, placement.id) for index_id in indexes]
        if is_whole or elements.have_values:
            rows.append(key_space(descriptor, PRIMARY, placement.id))
    return [*entries, *rows]


@dataclass(frozen=True, slots=True)
class Tombstones:
    storage: int
    keys: list[bytes]


def tombstones_of(
    connection: Connection, descriptor: Descriptor, elements: Elements, storages: int
) -> list[Tombstones]:
    """All tombstones of the elements; old ones were written before the drain, so all are seen."""
    found = []
    for storage in range(1, descriptor.storage_count(storages) + 1):
        for space in key_spaces(descriptor, elements):
            table, key = kv(storage, descriptor.table_id), key_sql(descriptor.table_id)
            sql = f"SELECT {key} FROM {table} WHERE {WITHIN} AND v IS NULL"
            if space.index == PRIMARY and placement_of(space.low) not in elements.placements:
                sql += f" AND {of_columns_sql(elements.columns)}"
            cursor = connection.cursor(binary=True).execute(sql, bounds(space.low, space.high))
            keys = [key for (key,) in cursor.fetchall()]
            found.append(Tombstones(storage, sorted(keys)))
    return found


def with_tombstones(
    connection: Connection, descriptor: Descriptor, elements: Elements, storages: int
) -> list[KeySpace]:
    tables = [kv(storage, descriptor.table_id) for storage in range(1, descriptor.storage_count(storages) + 1)]
    return [
        space
        for space in key_spaces(descriptor, elements)
        if any(_has_tombstone(connection, table, space) for table in tables)
    ]


def _has_tombstone(connection: Connection, table: str, space: KeySpace) -> bool:
    sql = f"SELECT FROM {table} WHERE {WITHIN} AND v IS NULL LIMIT 1"
    return connection.cursor(binary=True).execute(sql, bounds(space.low, space.high)).fetchone() is not None


def are_values_left(connection: Connection, descriptor: Descriptor, elements: Elements, storages: int) -> bool:
    """True when the snapshot has a pair or tombstone of the columns."""
    space, columns = key_space(descriptor), of_columns_sql(elements.columns)
    for storage in range(1, descriptor.storage_count(storages) + 1):
        sql = f"SELECT FROM {kv(storage, descriptor.table_id)} WHERE {WITHIN} AND {columns} LIMIT 1"
        if connection.cursor(binary=True).execute(sql, bounds(space.low, space.high)).fetchone() is not None:
            return True
    return False


def clear_tombstones(cursor: Any, table_id: int, found: list[Tombstones]) -> int:
    """Removes tombstones that were seen, unless replaced by a pair; returns their number (R6). They are looked for
    first, so that nothing is locked during the scan. A rewritten one may be removed, too: no range has been read
    yet."""
    removed = 0
    cursor.execute(PLAN_LOCALLY)
    for seen in found:
        if seen.keys:
            sql = f"DELETE FROM {kv(seen.storage, table_id)} WHERE {AMONG} AND v IS NULL".replace("%b", "%s")
            cursor.execute(sql, lookup(seen.keys))
            removed += cursor.rowcount
    return removed
