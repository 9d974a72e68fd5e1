"""Tombstones: cleared before a fill reads its first range, purged once nobody can write one any more.

publish filling   tombstones of two versions mix: a delete-only node re-inserts without an entry
drained           CLEAR, in the transaction that stores the fill's ranges, once (R6)
fill, verify      every tombstone counts now: it keeps the fill from putting a stale entry
public, drained   PURGE (R8)
"""

from typing import Any

from catalog.descriptor import Descriptor
from catalog.elements import PRIMARY, IndexId
from spark_tasks.elements import Elements
from spark_tasks.source import KeySpace
from storage.pairs import after, prefix
from storage.postgres import kv


def key_space(descriptor: Descriptor, index: IndexId = PRIMARY) -> KeySpace:
    """Where the entries of an index lie (0: the rows), under the placement that is read."""
    low = prefix(descriptor, descriptor.placement.id, index)
    return KeySpace(low, after(low), index)


def key_spaces(descriptor: Descriptor, elements: Elements) -> list[KeySpace]:
    """Where the pairs of the elements lie: entries first, then what lies among the rows."""
    spaces = [key_space(descriptor, index_id) for index_id in elements.indexes]
    return [*spaces, key_space(descriptor)] if elements.have_values else spaces


def clear_tombstones(cursor: Any, table_id: int, space: KeySpace, storages: int) -> int:
    """Remove the tombstones of a key space on all storages, in the caller's transaction. Returns how many (R6)."""
    removed = 0
    for storage in range(1, storages + 1):
        cursor.execute(
            f"DELETE FROM {kv(storage, table_id)} WHERE key >= %s AND key < %s AND value IS NULL",
            [space.low, space.high],
        )
        removed += cursor.rowcount
    return removed
