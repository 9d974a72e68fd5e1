"""Rows that are read more than once, because they exist on more than one storage (C6).

Where rows are spread by columns outside the primary key, a storage does not see that another one has the key.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import psycopg

from catalog.descriptor import Descriptor
from catalog.elements import EXISTS
from spark_tasks.runs.report import NAMED_MAX
from storage.integrity.clauses import Violation, repeated_row
from storage.pairs import COLUMN, PREFIX, after, prefix
from storage.postgres import kv
from storage.statements import COLUMN_SUFFIX

Connection = psycopg.Connection[Any]


def count(connection: Connection, descriptor: Descriptor, storages: Iterable[int]) -> int:
    """The number of them."""
    sql, params = _existing(descriptor, storages)
    row = connection.cursor(binary=True).execute(f"SELECT count(*) FROM ({sql}) AS repeated", params).fetchone()
    assert row is not None
    return int(row[0])


def first(connection: Connection, descriptor: Descriptor, storages: Iterable[int]) -> Iterator[Violation]:
    """The first of them."""
    sql, params = _existing(descriptor, storages)
    found = connection.cursor(binary=True).execute(f"{sql} ORDER BY key LIMIT %(named)b", params)
    for (key,) in found.fetchall():
        yield repeated_row(descriptor, key[PREFIX.size : -COLUMN.size])


def _existing(descriptor: Descriptor, storages: Iterable[int]) -> tuple[str, dict[str, Any]]:
    """The existence keys that several storages have."""
    start = prefix(descriptor, descriptor.placement.id)
    live = " UNION ALL ".join(
        f"SELECT key FROM {kv(storage, descriptor.table_id)} WHERE key >= %(low)b AND key < %(high)b"
        f" AND value IS NOT NULL AND {COLUMN_SUFFIX} = %(exists)b"
        for storage in storages
    )
    params = {"low": start, "high": after(start), "exists": COLUMN.pack(EXISTS), "named": NAMED_MAX}
    return f"SELECT key FROM ({live}) AS live GROUP BY key HAVING count(*) > 1", params
