"""A long scan remembers its table as one: PostgreSQL goes over all locks of a transaction with each that joins them."""

import asyncio

import psycopg
import pytest

from nodes.execution import pages, scans
from nodes.sql.conditions.access_paths import Access
from nodes.store.pipeline import StorePool
from nodes.store.transaction import Transaction
from storage.buckets import BUCKETS
from storage.pairs import after
from storage.postgres import kv, session_options
from tests.storage.stage import STORAGES, Stage, user

PAGE = 40


@pytest.mark.parametrize(("rows", "is_one"), [
    pytest.param(10, False, id="a short scan remembers what it read"),
    pytest.param(200, True, id="a long one the table"),
])  # fmt: skip
def test_what_a_scan_remembers(stage: Stage, monkeypatch: pytest.MonkeyPatch, rows: int, is_one: bool) -> None:
    monkeypatch.setattr(pages, "SCANNED_PAIRS", PAGE)
    monkeypatch.setattr(pages, "LONG_SCAN_PAIRS", 3 * PAGE)
    stage.insert(user(stage.now, number, "ann", number) for number in range(rows))
    found, remembered = asyncio.run(scan(stage))
    assert found == rows
    assert ("relation" in remembered) is is_one, remembered
    assert len(remembered) > 1 or is_one


async def scan(stage: Stage) -> tuple[int, list[str]]:
    """How many rows a scan of everything finds, and what its transaction then remembers of the pairs."""
    pool = StorePool(stage.dsn, "scan", session_options("scan")["options"])
    transaction = Transaction(pool, STORAGES, lambda _: None)
    table = scans.Table(stage.now, STORAGES, BUCKETS)
    everything = Access(None, ((table.start, after(table.start)),), (1, 2))
    found = [rows async for rows in scans.stored_rows(transaction, table, everything)]
    with psycopg.connect(stage.dsn) as opened:
        locks = opened.execute(
            "SELECT locktype FROM pg_locks WHERE mode = 'SIReadLock' AND relation = %s::regclass",
            [kv(1, stage.table_id)],
        ).fetchall()
    await transaction.rollback()
    await pool.close()
    return sum(map(len, found)), [kind for (kind,) in locks]
