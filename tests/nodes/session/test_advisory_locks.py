"""Advisory locks over all nodes: who has one keeps the others out, until it gives it back, ends, or its node dies."""

import asyncio
import re
import signal
import threading
from pathlib import Path
from typing import Any

import psycopg
import pytest

from nodes.session.functions.advisory_locks import Lock, key_of
from nodes.store.pipeline import StorePool
from storage.postgres import session_options
from tests.nodes.conftest import Cluster
from tests.nodes.within import Within, within

Connection = psycopg.Connection[Any]
ROOT = Path(__file__).resolve().parents[3]


def is_free(connection: Connection, key: int = 7) -> bool:
    """True if another session can lock it now."""
    row = connection.execute("SELECT pg_try_advisory_lock(%s)", [key]).fetchone()
    assert row is not None
    if row[0]:
        connection.execute("SELECT pg_advisory_unlock(%s)", [key])
    return bool(row[0])


def test_a_lock_keeps_sessions_of_all_nodes_out(n1: Connection, n2: Connection, cluster: Cluster) -> None:
    n1.execute("SELECT pg_advisory_lock(7)")
    n1.execute("SELECT pg_advisory_lock(7)")
    with cluster.connect("n1") as neighbour:
        assert not is_free(n2)
        assert not is_free(neighbour)
    assert n1.execute("SELECT pg_advisory_unlock(7)").fetchone() == (True,)
    assert not is_free(n2)
    assert n1.execute("SELECT pg_advisory_unlock(7) AS gone").fetchone() == (True,)
    assert is_free(n2)
    assert n1.execute("SELECT pg_advisory_unlock(7)").fetchone() == (False,)


def test_shared_locks_and_two_keys(n1: Connection, n2: Connection) -> None:
    n1.execute("SELECT pg_advisory_lock_shared(7)")
    assert n2.execute("SELECT pg_try_advisory_lock_shared(7)").fetchone() == (True,)
    assert n2.execute("SELECT pg_advisory_unlock_shared(7)").fetchone() == (True,)
    assert not is_free(n2)
    n1.execute("SELECT pg_advisory_lock(%s::int, %s::int)", [1, 2])
    assert n2.execute("SELECT pg_try_advisory_lock(1, 2)").fetchone() == (False,)
    assert n2.execute("SELECT pg_try_advisory_lock(2, 1)").fetchone() == (True,)
    assert n2.execute("SELECT pg_try_advisory_lock(NULL)").fetchone() == (None,)
    for connection in (n1, n2):
        connection.execute("SELECT pg_advisory_unlock_all()")
    assert is_free(n2)
    assert n2.execute("SELECT pg_try_advisory_lock(1, 2)").fetchone() == (True,)


def test_locks_of_a_transaction_end_with_it(n1: Connection, n2: Connection) -> None:
    for is_undone in (False, True):
        with n1.transaction(force_rollback=is_undone):
            n1.execute("SELECT pg_advisory_xact_lock(7)")
            with n1.transaction(force_rollback=True):
                n1.execute("SELECT pg_advisory_xact_lock(8)")
                n1.execute("SELECT pg_advisory_lock(9)")
                assert not is_free(n2, 8)
            assert is_free(n2, 8)
            assert not is_free(n2, 9)
            assert n1.execute("SELECT pg_advisory_unlock(7)").fetchone() == (False,)
            assert not is_free(n2)
        assert is_free(n2)
        assert n1.execute("SELECT pg_advisory_unlock(9)").fetchone() == (True,)
    n1.execute("SELECT pg_advisory_xact_lock(7)")
    assert is_free(n2)


@pytest.mark.parametrize("end", ["DISCARD ALL", "close"])
def test_locks_end_with_their_session(n1: Connection, cluster: Cluster, end: str) -> None:
    with cluster.connect("n2") as other:
        other.execute("SELECT pg_advisory_lock(7)")
        assert not is_free(n1)
        if end != "close":
            other.execute(end)
            assert is_free(n1)
    n1.execute("SET statement_timeout = '10s'")
    n1.execute("SELECT pg_advisory_lock(7)")


@pytest.mark.parametrize("sql", [
    "SELECT pg_advisory_lock(g) FROM generate_series(1, 3) g",
    "SELECT pg_try_advisory_lock(1), 2",
    "SELECT 1 WHERE pg_try_advisory_xact_lock(1, 2)",
    "SELECT pg_advisory_unlock_all(), 1",
    "SELECT pg_notify('a', 'b'), 1",
])  # fmt: skip
def test_calls_among_others_are_refused_by_name(n1: Connection, sql: str) -> None:
    with pytest.raises(psycopg.errors.FeatureNotSupported, match=r"pg_\w+ within a query"):
        n1.execute(sql)


def test_who_waits_is_served_cancelled_or_out_of_time(n1: Connection, n2: Connection) -> None:
    n1.execute("SELECT pg_advisory_lock(7)")
    n2.execute("SET lock_timeout = '100ms'")
    with pytest.raises(psycopg.errors.LockNotAvailable):
        n2.execute("SELECT pg_advisory_lock(7)")
    n2.execute("SET lock_timeout = 0; SET statement_timeout = '100ms'")
    with pytest.raises(psycopg.errors.QueryCanceled):
        n2.execute("SELECT pg_advisory_lock(7)")
    n2.execute("SET statement_timeout = '20s'")
    waiting = threading.Thread(target=lambda: n2.execute("SELECT pg_advisory_lock(7)"))
    waiting.start()
    waiting.join(0.1)
    assert waiting.is_alive()
    n1.execute("SELECT pg_advisory_unlock(7)")
    waiting.join(20)
    assert not waiting.is_alive()
    assert not is_free(n1)


def test_a_deadlock_is_seen_over_nodes(n1: Connection, n2: Connection) -> None:
    n1.execute("SELECT pg_advisory_lock(1)")
    n2.execute("SELECT pg_advisory_lock(2)")
    outcomes = []

    def lock(connection: Connection, key: int) -> None:
        try:
            connection.execute("SELECT pg_advisory_lock(%s)", [key])
        except psycopg.errors.DeadlockDetected:
            outcomes.append("deadlock")
            connection.execute("SELECT pg_advisory_unlock_all()")
        else:
            outcomes.append("locked")

    threads = [threading.Thread(target=lock, args=args) for args in ((n1, 2), (n2, 1))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert sorted(outcomes) == ["deadlock", "locked"]


def test_a_wait_that_may_block_others_is_short(
    n1: Connection, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who waits for a row of this transaction, or to publish a version, is not seen by the store as a deadlock."""
    monkeypatch.setattr("nodes.session.functions.calls.WAIT_IN_BLOCK_MS", 200)
    table = cluster.table("id int PRIMARY KEY")
    n1.execute("SELECT pg_advisory_lock(7)")

    async def work(node: Within) -> None:
        node.session.locks.pool = StorePool(cluster.dsn, "schemalab locks", "")
        for statement in (f"INSERT INTO {table} VALUES (1)", f"SELECT * FROM {table}"):
            for asked_for in ("0", "1min"):
                assert await node.run(f"SET lock_timeout = '{asked_for}'") is None
                assert await node.run("BEGIN") is None
                assert await node.run(statement, alone=False) is None
                async with asyncio.timeout(20):
                    assert await node.run("SELECT pg_advisory_lock(7)", alone=False) == "55P03"
                assert await node.run("ROLLBACK") is None
        await node.session.locks.pool.close()

    within(cluster, work)


def test_a_killed_node_leaves_no_lock(n1: Connection, cluster: Cluster) -> None:
    cluster.start("locker")
    with cluster.connect("locker") as lost:
        lost.execute("SELECT pg_advisory_lock(7)")
        assert not is_free(n1)
        cluster.stop("locker", signal.SIGKILL)
        n1.execute("SET statement_timeout = '20s'")
        n1.execute("SELECT pg_advisory_lock(7)")


def test_a_session_whose_locks_were_lost_is_ended(cluster: Cluster) -> None:
    """Else it would go on as if it had them."""
    with cluster.connect("n2") as client:
        client.execute("SELECT pg_advisory_lock(4711)")
        cluster.read(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_locks"
            " WHERE locktype = 'advisory' AND objsubid = 1 AND objid = 4711"
        )
        with pytest.raises(psycopg.OperationalError, match="advisory locks are lost"):
            client.execute("SELECT 1")


@pytest.mark.parametrize("end", ["session", "transaction", "savepoint"])
def test_a_cancel_does_not_leave_locks_behind(cluster: Cluster, end: str) -> None:
    """They would stay with a session at the store that others get, and nobody could give them back."""
    keys = range(1000, 1050)

    async def work(node: Within) -> None:
        locks = node.session.locks
        locks.pool = StorePool(cluster.dsn, "schemalab locks", session_options("schemalab locks")["options"])
        for key in keys:
            savepoint = None if end == "session" else 1
            assert await locks.take(Lock(key, is_shared=False), tries=True, savepoint=savepoint, wait_ms=0)
        ended = locks.give_all() if end == "session" else locks.end_transaction(since=int(end == "savepoint"))
        task = asyncio.ensure_future(ended)
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        with cluster.connect() as other:
            assert [key for key in keys if not is_free(other, key)] == []
        await locks.pool.close()

    within(cluster, work)


def test_a_store_that_does_not_answer_is_named(cluster: Cluster) -> None:
    async def work(node: Within) -> None:
        node.session.locks.pool = StorePool("host=/nowhere dbname=none", "schemalab locks", "")
        assert await node.run("SELECT pg_advisory_lock(7)") == "08006"
        assert "does not answer" in node.refused

    within(cluster, work)


def test_two_keys_are_one_of_the_space_that_the_product_leaves_alone() -> None:
    """Its own locks have two keys each, which PostgreSQL keeps apart from those of one."""
    assert key_of([1, 2]) != key_of([2, 1])
    assert -(2**63) <= key_of([-1, 2**31 - 1]) < 2**63
    called = re.compile(r"pg_(?:try_)?advisory_(?:xact_)?(?:un)?lock(?:_shared)?\(([^)]*)\)")
    found = [
        (path, arguments)
        for folder in ("catalog", "changes", "lab", "leases", "schemalab", "spark_tasks", "storage")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".sql")
        for arguments in called.findall(path.read_text())
    ]
    assert len(found) > 5
    assert [one for one in found if one[1].count(",") != 1] == []
