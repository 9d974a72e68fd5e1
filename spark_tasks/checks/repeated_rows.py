"""Rows that exist on several storages (C6), where rows are spread by columns outside the primary key."""

from collections.abc import Iterable, Iterator
from typing import Any

import psycopg

from catalog.descriptor import Descriptor
from catalog.elements import EXISTS
from spark_tasks.runs.report import NAMED_MAX
from storage.integrity.clauses import Violation, repeated_row
from storage.pairs import PREFIX, TABLE_BYTES, after, prefix, stored_key
from storage.postgres import kv

Connection = psycopg.Connection[Any]


def count(connection: Connection, descriptor: Descriptor, storages: Iterable[int]) -> int:
    sql, params = _existing(descriptor, storages)
    row = connection.cursor(binary=True).execute(f"SELECT count(*) FROM ({sql}) AS repeated", params).fetchone()
    assert row is not None
    return int(row[0])


def first(connection: Connection, descriptor: Descriptor, storages: Iterable[int]) -> Iterator[Violation]:
    sql, params = _existing(descriptor, storages)
    found = connection.cursor(binary=True).execute(f"{sql} ORDER BY k LIMIT {NAMED_MAX}", params)
    for (k,) in found.fetchall():
        yield repeated_row(descriptor, k[PREFIX.size - TABLE_BYTES :])


def _existing(descriptor: Descriptor, storages: Iterable[int]) -> tuple[str, dict[str, Any]]:
    start = prefix(descriptor, descriptor.placement.id)
    live = " UNION ALL ".join(
        f"SELECT k FROM {kv(storage, descriptor.table_id)} WHERE k >= %(low)b AND k < %(high)b"
        f" AND v IS NOT NULL AND c = {EXISTS}"
        for storage in storages
    )
    low, high = (stored_key(end)[0] for end in (start, after(start)))
    return f"SELECT k FROM ({live}) AS live GROUP BY k HAVING count(*) > 1", {"low": low, "high": high}
