"""Locks before a snapshot: who writes alone sees all that others committed, and holds nobody up for long."""

import asyncio
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest

from nodes.execution.writing import truncate
from nodes.sql.plans import TruncatePlan
from nodes.store.pipeline import Command, StorePool
from nodes.store.refusals import Retry
from nodes.store.transaction import Transaction
from storage.postgres import session_options
from tests.nodes.conftest import STORAGES, Cluster

OPTIONS = session_options("schemalab test of locks")["options"]
Work = Callable[[Transaction], Awaitable[Any]]


def alone(cluster: Cluster, table: str, work: Work, *, storages: int = STORAGES) -> Any:
    """What comes of `work`, done by a transaction that is to be the only one that writes a table."""

    async def transact() -> Any:
        pool = StorePool(cluster.dsn, "schemalab test of locks", OPTIONS)
        transaction = Transaction(pool, STORAGES, lambda _: None)
        plan = TruncatePlan((cluster.descriptor(table),))
        transaction.first_locks = truncate.exclusion_of(SimpleNamespace(storages=storages), plan)  # type: ignore
        try:
            return await work(transaction)
        finally:
            await transaction.rollback()
            await pool.close()

    return asyncio.run(transact())


@pytest.fixture
def table(cluster: Cluster) -> str:
    return cluster.table("id int PRIMARY KEY, n int")


async def look(transaction: Transaction) -> str:
    [found] = await transaction.run([Command("SHOW lock_timeout")])
    return (found.get_value(0, 0) or b"").decode()


def test_the_snapshot_is_made_after_the_locks(cluster: Cluster, table: str) -> None:
    """What a writer commits while its end is waited for is seen: else each try would meet it again (40001)."""
    sql = f"SELECT count(*)::text FROM storage_1.kv_{cluster.descriptor(table).table_id}"

    async def count(transaction: Transaction) -> bytes | None:
        asking = asyncio.create_task(transaction.run([Command(sql)]))
        await asyncio.to_thread(wait_until_one_waits, cluster)
        await asyncio.to_thread(writer.execute, "COMMIT")
        return (await asking)[0].get_value(0, 0)

    with cluster.store() as writer:
        kv = f"storage_1.kv_{cluster.descriptor(table).table_id}"
        writer.execute(f"BEGIN; INSERT INTO {kv} VALUES ('\\x00', 0, '')")
        assert alone(cluster, table, count) == b"1"
        writer.execute(f"DELETE FROM {kv}")


def wait_until_one_waits(cluster: Cluster) -> None:
    sql = "SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = 'ShareRowExclusiveLock'"
    with cluster.store() as store:
        while store.execute(sql).fetchone() == (0,):
            pass


def test_a_writer_that_does_not_end_is_waited_for_once_however_many_storages_there_are(
    cluster: Cluster, table: str
) -> None:
    waits = [c.sql for c in truncate.exclusion_of(SimpleNamespace(storages=5), plan_of(cluster, table, table))]  # type: ignore
    assert "SET LOCAL lock_timeout = 25" in waits, "ten locks, 250 ms"
    with cluster.store() as writer:
        writer.execute(f"BEGIN; LOCK TABLE storage_2.kv_{cluster.descriptor(table).table_id} IN ROW EXCLUSIVE MODE")
        with pytest.raises(Retry, match="lock timeout") as refused:
            alone(cluster, table, look)
    assert not refused.value.stale


def plan_of(cluster: Cluster, *tables: str) -> TruncatePlan:
    return TruncatePlan(tuple(cluster.descriptor(one) for one in tables))


def test_nothing_else_of_the_transaction_has_the_time_limit_of_the_locks(cluster: Cluster, table: str) -> None:
    assert alone(cluster, table, look) == "0"


def test_a_storage_that_was_removed_since_asks_for_a_newer_version(cluster: Cluster, table: str) -> None:
    with pytest.raises(Retry, match='schema "storage_3" does not exist') as refused:
        alone(cluster, table, look, storages=3)
    assert refused.value.stale


def test_a_node_that_stands_still_does_not_keep_writers_out_for_its_whole_lease(
    cluster: Cluster, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(truncate, "IDLE_S", 0.3)
    kv = f"storage_1.kv_{cluster.descriptor(table).table_id}"

    async def stand_still(transaction: Transaction) -> None:
        await look(transaction)
        with cluster.store() as writer:
            with pytest.raises(psycopg.errors.LockNotAvailable):
                writer.execute(f"BEGIN; LOCK TABLE {kv} IN ROW EXCLUSIVE MODE NOWAIT")
            writer.execute("ROLLBACK")
            writer.execute(f"BEGIN; LOCK TABLE {kv} IN ROW EXCLUSIVE MODE")  # blocks this event loop, too
            writer.execute("ROLLBACK")
        await transaction.run([Command("SELECT 1")])

    with pytest.raises(Retry, match="stood still"):
        alone(cluster, table, stand_still)
