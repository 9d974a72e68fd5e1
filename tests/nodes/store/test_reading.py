"""T4: a transaction that only reads has no deadline. Its lock bounds it, and a query in progress outlives its lease."""

import asyncio
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest

from changes.driver import publish as publishing
from nodes.store.entering import NO_DEADLINE, timestamptz
from storage.pair_views import pair_view
from tests.nodes.conftest import SHORT_LEASE_S, STORAGES, Cluster
from tests.nodes.session.test_transactions import wait_for_no_session
from tests.nodes.store.test_deadlines import SELECT, Pin, Store, after, transaction_on

INFINITY = timestamptz(NO_DEADLINE)
WAIT_S_MAX = 20
SHARED = (
    "SELECT count(*) FROM pg_locks l JOIN pg_stat_activity a USING (pid)"
    " WHERE l.locktype = 'advisory' AND l.mode = 'ShareLock' AND l.classid = %s::bigint::oid"
    " AND starts_with(a.application_name, %s)"
)
"""The transactions of a node that hold the lock of some version of a table."""


# -- what is sent


def sent(store: Store) -> list[list[bytes]]:
    """For each batch the expirations that it gave to `enter`."""
    return [[c.params[-1] for c in batch if "enter(" in c.sql] for batch in store.batches]  # type: ignore[misc]


def test_before_its_first_write_every_table_is_entered_again_with_the_earliest_expiration() -> None:
    first, second, store = Pin(1, after(10)), Pin(2, after(5)), Store()

    async def work() -> None:
        transaction = transaction_on(store, first)
        transaction.is_reading = True
        await transaction.run([SELECT])
        transaction.pins[2] = second
        await transaction.run([SELECT])
        transaction.will_write()
        await transaction.run([SELECT])
        await transaction.run([SELECT])
        await transaction.rollback()

    asyncio.run(work())
    assert sent(store)[:4] == [[INFINITY], [INFINITY], [timestamptz(after(5))] * 2, []]


def test_a_savepoint_that_is_returned_to_gives_a_reader_no_deadline() -> None:
    store = Store()

    async def work() -> None:
        transaction = transaction_on(store, Pin(1, after(10)))
        transaction.is_reading = True
        await transaction.savepoint("a")
        await transaction.rollback_to("a")
        await transaction.rollback()

    asyncio.run(work())
    assert sent(store)[:2] == [[INFINITY], [INFINITY]]


# -- what is seen


@dataclass
class Reading:
    """A query in a thread of its own, which waits at the store for a lock on the table's pairs."""

    connection: "psycopg.Connection[Any]"
    sql: str
    rows: list[Any] = field(default_factory=list)
    error: psycopg.Error | None = None

    def __post_init__(self) -> None:
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        try:
            self.rows = self.connection.execute(self.sql).fetchall()
        except psycopg.Error as error:
            self.error = error

    def join(self) -> list[Any]:
        self.thread.join(WAIT_S_MAX)
        assert not self.thread.is_alive()
        if self.error is not None:
            raise self.error
        return self.rows


@contextmanager
def pairs_locked(cluster: Cluster, table: str) -> Iterator["psycopg.Connection[Any]"]:
    """Whoever reads the pairs of this version waits; the lock is given back by a rollback. Another one is published."""
    now = cluster.descriptor(table)
    with cluster.store() as store:
        store.execute("BEGIN")
        store.execute(f"ALTER VIEW {pair_view(now.table_id, now.version, 1)} SET (security_barrier = off)")
        yield store


def until(cluster: Cluster, is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_S_MAX
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def holders(cluster: Cluster, table: str, node: str) -> int:
    return int(cluster.read(SHARED, [cluster.descriptor(table).table_id, f"schemalab node {node} "])[0][0])


def waits_in(cluster: Cluster, table: str, node: str) -> None:
    until(cluster, lambda: holders(cluster, table, node) == 1)


def hindrance_to_next(cluster: Cluster, table: str) -> Any:
    """Who keeps the next version of a table from being published; nothing is published."""
    with cluster.store() as store:
        store.execute("BEGIN")
        return publishing.publish(store.cursor(), [cluster.descriptor(table).next_version()], storages=STORAGES)


@pytest.fixture
def table(cluster: Cluster) -> str:
    made = cluster.table("id int primary key, amount int not null")
    with cluster.connect() as connection:
        connection.execute(f"INSERT INTO {made} SELECT g, 100 FROM generate_series(1, 20) g")
    return made


def count(table: str) -> str:
    return f"SELECT count(*), sum(amount) FROM {table}"


def expire(cluster: Cluster, table: str, node: str) -> None:
    """A newer version is published, so that the lease on the one in use is not renewed, and ends."""
    table_id = cluster.descriptor(table).table_id
    cluster.publish(cluster.descriptor(table).next_version(), nodes=())
    leases = (
        "SELECT count(*) FROM leases_lease WHERE node = %s AND table_id = %s AND version < %s AND expires_at > now()"
    )
    newest = cluster.descriptor(table).version
    until(cluster, lambda: cluster.read(leases, [node, table_id, newest]) == [(0,)])
    time.sleep(0.1)


def test_a_query_outlives_its_lease_and_the_publish_after_next_waits_for_it(
    cluster: Cluster, short: str, table: str
) -> None:
    with cluster.connect(short) as connection, pairs_locked(cluster, table) as lock:
        reading = Reading(connection, count(table))
        waits_in(cluster, table, short)
        expire(cluster, table, short)
        time.sleep(0.2 * SHORT_LEASE_S)
        found = hindrance_to_next(cluster, table)
        assert (found.hindrance.leases, found.hindrance.locked) == ((), (1,))
        assert [one.session.split()[2] for one in found.held] == [short]
        lock.execute("ROLLBACK")
        assert reading.join() == [(20, 2000)]
    assert hindrance_to_next(cluster, table) is None


def test_in_a_block_nothing_begins_after_it(cluster: Cluster, short: str, table: str) -> None:
    with cluster.connect(short) as connection, pairs_locked(cluster, table) as lock:
        connection.execute("BEGIN")
        reading = Reading(connection, count(table))
        waits_in(cluster, table, short)
        expire(cluster, table, short)
        lock.execute("ROLLBACK")
        assert reading.join() == [(20, 2000)]
        until(cluster, lambda: holders(cluster, table, short) == 0)
        with pytest.raises(psycopg.errors.SerializationFailure, match="the transaction had to end: its lease"):
            connection.execute(count(table))
        connection.execute("ROLLBACK")
        assert connection.execute(count(table)).fetchall() == [(20, 2000)]


def test_what_stands_behind_it_in_the_same_message_is_not_done(cluster: Cluster, short: str, table: str) -> None:
    with cluster.connect(short) as connection, pairs_locked(cluster, table) as lock:
        connection.execute("BEGIN")
        reading = Reading(connection, f"{count(table)}; UPDATE {table} SET amount = 1")
        waits_in(cluster, table, short)
        expire(cluster, table, short)
        lock.execute("ROLLBACK")
        with pytest.raises(psycopg.errors.SerializationFailure, match="the transaction had to end: its lease"):
            reading.join()
        connection.execute("ROLLBACK")
        assert connection.execute(count(table)).fetchall() == [(20, 2000)]


def test_an_idle_reader_ends_with_its_lease(cluster: Cluster, short: str, table: str) -> None:
    with cluster.connect(short) as connection:
        connection.execute("BEGIN")
        connection.execute(count(table))
        expire(cluster, table, short)
        until(cluster, lambda: holders(cluster, table, short) == 0)
        with pytest.raises(psycopg.errors.SerializationFailure, match="the transaction had to end: its lease"):
            connection.execute("COMMIT")


def test_a_block_that_writes_after_it_has_read_has_a_deadline(cluster: Cluster, table: str) -> None:
    """Its node does not have to live to end it: it is frozen."""
    cluster.start("stays", lease_s=SHORT_LEASE_S)
    connection = cluster.connect("stays")
    connection.execute("BEGIN")
    connection.execute(count(table))
    connection.execute(f"UPDATE {table} SET amount = 1 WHERE id = 1")
    cluster.processes["stays"].send_signal(signal.SIGSTOP)
    wait_for_no_session(cluster, "schemalab node stays ")
    cluster.stop("stays", signal.SIGKILL)
    connection.close()


def end_sessions(cluster: Cluster, table: str, node: str) -> None:
    """As L8 does."""
    question = SHARED.replace("count(*)", "count(pg_terminate_backend(pid))")
    assert cluster.read(question, [cluster.descriptor(table).table_id, f"schemalab node {node} "]) == [(1,)]


def test_a_read_alone_whose_session_is_ended_is_tried_again_once(cluster: Cluster, table: str) -> None:
    """L8: what the publisher ends is 40001."""
    with cluster.connect("n1") as connection, pairs_locked(cluster, table) as lock:
        first = Reading(connection, count(table))
        waits_in(cluster, table, "n1")
        end_sessions(cluster, table, "n1")
        waits_in(cluster, table, "n1")
        lock.execute("ROLLBACK")
        assert first.join() == [(20, 2000)]
    with cluster.connect("n1") as connection, pairs_locked(cluster, table):
        second = Reading(connection, count(table))
        for _ in range(2):
            waits_in(cluster, table, "n1")
            end_sessions(cluster, table, "n1")
        with pytest.raises(psycopg.errors.SerializationFailure, match=rf"ended from outside \(it used {table}@1\)"):
            second.join()


def test_a_node_that_is_killed_in_a_long_query_releases_its_lock(cluster: Cluster, table: str) -> None:
    """Without a deadline nothing else would end it."""
    cluster.start("killed")
    with pairs_locked(cluster, table):
        reading = Reading(cluster.connect("killed"), count(table))
        waits_in(cluster, table, "killed")
        cluster.stop("killed", signal.SIGKILL)
        until(cluster, lambda: holders(cluster, table, "killed") == 0)
        with pytest.raises(psycopg.OperationalError):
            reading.join()


# -- T3


def test_an_older_snapshot_uses_the_version_that_its_node_still_leases(cluster: Cluster, table: str) -> None:
    """T3; without such a version it is 40001."""
    other = cluster.table("id int primary key")
    with cluster.connect("n1") as pinning, cluster.connect("n1") as older:
        for connection, first in ((pinning, table), (older, other)):
            connection.execute("BEGIN")
            connection.execute(f"SELECT count(*) FROM {first}")
        cluster.publish(cluster.descriptor(table).next_version(), nodes=("n1",))
        older.execute(f"UPDATE {table} SET amount = 7 WHERE id = 1")
        older.execute("COMMIT")
        pinning.execute("ROLLBACK")
        older.execute("BEGIN")
        older.execute(f"SELECT count(*) FROM {other}")
        cluster.publish(cluster.descriptor(table).next_version(), nodes=("n1",))
        with pytest.raises(psycopg.errors.SerializationFailure, match="is not in this transaction's snapshot"):
            older.execute(f"SELECT count(*) FROM {table}")
        older.execute("ROLLBACK")
        assert older.execute(f"SELECT amount FROM {table} WHERE id = 1").fetchone() == (7,)


def test_below_the_fence_an_older_snapshot_is_40001(cluster: Cluster, n1: Any) -> None:
    """The storages accept the newest version alone, though the node leases the one before. Who has entered goes on."""
    other = cluster.table("id int primary key")
    with n1.transaction():
        n1.execute("CREATE TABLE strict_table (id int primary key) WITH (coordination = 'both')")
    with cluster.connect("n1") as pinning, cluster.connect("n1") as older:
        for connection, first in ((pinning, "strict_table"), (older, other)):
            connection.execute("BEGIN")
            connection.execute(f"SELECT count(*) FROM {first}")
        newest = cluster.descriptor("strict_table").next_version()
        cluster.publish(newest, nodes=())
        with cluster.store() as store, store.transaction():
            publishing.accept_only_newest(store.cursor(), [newest], storages=STORAGES)
        cluster.use("n1", newest)
        with pytest.raises(psycopg.errors.SerializationFailure, match="is below the fence"):
            older.execute("SELECT count(*) FROM strict_table")
        pinning.execute("INSERT INTO strict_table VALUES (1)")
        pinning.execute("COMMIT")
        assert n1.execute("SELECT id FROM strict_table").fetchall() == [(1,)]
