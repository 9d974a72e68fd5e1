"""Verification of a filled index: by content, in both directions, in one exported snapshot (R1, R10).

rows -> entries    each row's entry is looked up by its key
entries -> rows    as many entries as were found are all there are; if not, those too many are named
"""

from dataclasses import asdict
from typing import Any

import psycopg

from catalog.descriptor import Descriptor
from catalog.elements import IndexId
from spark_tasks.judge import Finding, Judge, count_entries, surplus
from spark_tasks.ranges import KeyRange
from spark_tasks.session import spread
from spark_tasks.source import snapshot
from storage.postgres import session_options


def verify_indexes(
    dsn: str,
    descriptor: Descriptor,
    index_ids: tuple[IndexId, ...],
    pieces: list[KeyRange],
    *,
    storages: int,
    buckets: int,
    pool: str,
) -> Finding:
    """What is wrong with some indexes: named violations, or none."""
    with (
        psycopg.connect(dsn, autocommit=True, **session_options("schemalab verify")) as connection,
        snapshot(connection),
    ):
        judge = Judge(dsn, exported(connection), descriptor, storages, buckets, only=frozenset(index_ids))
        found = gather(spread(judge, pieces, pool=pool))
        for index in judge.indexes:
            if sum(count_entries(connection, judge, index)) != found.matched.get(str(index.id), 0):
                for violation in surplus(connection, judge, index):
                    found.add(violation)
    return found


def exported(connection: psycopg.Connection[Any]) -> str:
    """The name under which other sessions can use this transaction's snapshot while it lasts."""
    row = connection.execute("SELECT pg_export_snapshot()").fetchone()
    assert row is not None
    return str(row[0])


def gather(findings: list[dict[str, Any]]) -> Finding:
    """One finding of many."""
    total = Finding()
    for finding in findings:
        total.merge(Finding(**finding))
    return total


def as_json(finding: Finding) -> dict[str, Any]:
    return asdict(finding)
