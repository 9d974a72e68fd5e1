"""Verification of what was filled: by content, in both directions, in one exported snapshot (R1, R10).

rows -> pairs      each row's value is there, each row's entry is looked up by its key, each rule is asked
pairs -> rows      as many entries as were found are all there are; if not, those too many are named
"""

from typing import Any

import psycopg

from catalog.descriptor import Descriptor
from spark_tasks.elements import Elements
from spark_tasks.finding import Finding, gather
from spark_tasks.judge import Judge
from spark_tasks.ranges import KeyRange
from spark_tasks.session import spread
from spark_tasks.source import snapshot
from storage.postgres import session_options


def verify_elements(
    dsn: str,
    descriptor: Descriptor,
    elements: Elements,
    pieces: list[KeyRange],
    *,
    storages: int,
    buckets: int,
    pool: str,
) -> Finding:
    """What is wrong with some elements: named violations, or none."""
    with (
        psycopg.connect(dsn, autocommit=True, **session_options("schemalab verify")) as connection,
        snapshot(connection),
    ):
        judge = Judge(dsn, exported(connection), descriptor, storages, buckets, only=elements)
        found = gather(spread(judge, pieces, pool=pool))
        for index in judge.indexes:
            for violation in judge.entry_judge(index).beside(connection, found):
                found.add(violation)
    return found


def why_failed(found: Finding) -> str:
    """The verdict in one sentence: how many, and the first by name."""
    first = found.violations[0]["why"]
    broken = {name: rows for name, rows in found.broken.items() if rows}
    if broken:
        counts = ", ".join(f"{rows} row{'s' if rows > 1 else ''} break {name}" for name, rows in broken.items())
        return f"{counts}, the first: {first}"
    count = len(found.violations)
    return f"{count} violation{'s' if count > 1 else ''}, the first: {first}" if count > 1 else first


def exported(connection: psycopg.Connection[Any]) -> str:
    """The name under which other sessions can use this transaction's snapshot while it lasts."""
    row = connection.execute("SELECT pg_export_snapshot()").fetchone()
    assert row is not None
    return str(row[0])
