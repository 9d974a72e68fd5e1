"""Reading stored pairs for pages: a bounded page of one index of one table, from one storage."""

from __future__ import annotations

from django.db import ProgrammingError, connection, transaction

from catalog.descriptor import Descriptor
from catalog.elements import IndexId
from storage.browse import READ_BYTES_MAX, PairLine, describe
from storage.pairs import after, prefix
from storage.postgres import PLAN_LOCALLY
from storage.statements import next_low, scan_sql

PAIRS_SHOWN = 50
UNDEFINED_TABLE = "42P01"


def pairs_page(
    descriptor: Descriptor, *, storage: int, index: IndexId, start: bytes = b"", limit: int = PAIRS_SHOWN
) -> tuple[list[PairLine], bytes | None]:
    """Pairs in key order, tombstones included, and where the next page starts (None: there is none).

    None of either when the table was dropped a moment ago, and what it had in the storages with it.
    """
    placement = descriptor.placements[0].id
    low = prefix(descriptor, placement, index)
    page = scan_sql(storage, descriptor.table_id, tombstones=True).replace("%b", "%s")
    sql = f"SELECT key, substring(value, 1, {READ_BYTES_MAX + 1}) FROM ({page}) AS page ORDER BY key"
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"{PLAN_LOCALLY}; SET LOCAL statement_timeout = '2s'")
            cursor.execute(sql, [max(low, start), after(low), limit + 1])
            rows = [(bytes(key), None if value is None else bytes(value)) for key, value in cursor.fetchall()]
    except ProgrammingError as error:
        if getattr(error.__cause__, "sqlstate", None) != UNDEFINED_TABLE:
            raise
        rows = []
    lines = [describe(descriptor, storage, key, value) for key, value in rows[:limit]]
    return lines, next_low(rows[limit - 1][0]) if len(rows) > limit else None
