"""What ends a statement from outside: a cancel, a lease that is over. Sessions at the store and leases come back."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest

from expressions.errors import SqlError
from nodes.clients.connection import Client
from nodes.clients.registry import Clients
from nodes.clients.startup import Greeting
from nodes.store.pipeline import Command, StoreConnection, StoreConnectionLost, StorePool
from nodes.store.transaction import Transaction
from tests.nodes.conftest import Cluster

NOTICES_A_CLOSE = "-c client_connection_check_interval=100"
SLEEP = Command("SELECT pg_sleep(20)")


def with_session(dsn: str, work: Callable[[StoreConnection], Coroutine[Any, Any, None]]) -> float:
    """Do something with a session at the store; how long it took."""

    async def do() -> None:
        connection = await StoreConnection.connect(dsn, "test", NOTICES_A_CLOSE)
        try:
            await work(connection)
        finally:
            await connection.close()

    began = time.monotonic()
    asyncio.run(do())
    return time.monotonic() - began


def test_a_session_closed_under_a_statement_ends_the_statement(dsn: str) -> None:
    """An older version's lease runs out while a statement is at the store (L10): nobody waits for its answer."""

    async def work(connection: StoreConnection) -> None:
        running = asyncio.create_task(connection.run([SLEEP]))
        await asyncio.sleep(0.2)
        await connection.close()
        with pytest.raises(StoreConnectionLost, match="the node closed the session at the store"):
            await asyncio.wait_for(running, 5)

    assert with_session(dsn, work) < 5


def test_a_store_that_does_not_stop_a_statement_is_given_up(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nodes.store.pipeline.STOP_S_MAX", 0.3)
    monkeypatch.setattr("nodes.store.pipeline.asyncio.to_thread", lambda _cancel: asyncio.sleep(0))

    async def work(connection: StoreConnection) -> None:
        running = asyncio.create_task(connection.run([SLEEP]))
        await asyncio.sleep(0.1)
        running.cancel()
        await asyncio.sleep(0.1)
        running.cancel()  # a second one changes nothing
        with pytest.raises(asyncio.CancelledError):
            await running
        assert connection.is_lost

    assert with_session(dsn, work) < 5


def test_a_cancel_during_rollback_gives_everything_back(dsn: str) -> None:
    """A client that leaves while its cancelled statement is being undone: neither pool slot nor pins are lost."""
    settled: list[Transaction] = []

    async def cancelled_rollback() -> None:
        pool = StorePool(dsn, "test", NOTICES_A_CLOSE, size_max=1)
        transaction = Transaction(pool, 2, settled.append)
        await transaction.run([Command("SELECT 1")])
        rolling_back = asyncio.create_task(transaction.rollback())
        await asyncio.sleep(0)
        rolling_back.cancel()
        with pytest.raises(asyncio.CancelledError):
            await rolling_back
        assert transaction.is_over
        async with pool.session() as other:
            assert (await other.run([Command("SELECT 2")]))[0].get_value(0, 0) == b"\0\0\0\2"
        await pool.close()

    asyncio.run(cancelled_rollback())
    assert len(settled) == 1


def test_what_a_cancelled_statement_says_is_true(cluster: Cluster, n1: Any) -> None:
    """T7: 57014 means that nothing was kept, success that all was; cancels come at every moment of an INSERT. The small
    ones are one batch that ends in COMMIT; of the large ones some batches come before."""
    table = cluster.table("id int primary key")
    done, cancelled = set(), set()
    for number in range(0, 800_000, 10_000):
        count = 6000 if number % 40_000 == 0 else 1
        timer = threading.Timer(number % 120_000 / 10_000 * 0.0005, n1.cancel_safe)
        timer.start()
        try:
            n1.execute(f"INSERT INTO {table} SELECT g FROM generate_series({number + 1}, {number + count}) g")
            done |= set(range(number + 1, number + count + 1))
        except psycopg.errors.QueryCanceled:
            cancelled.add(number)
        timer.join()
    assert {number for (number,) in n1.execute(f"SELECT id FROM {table}")} == done
    assert cancelled, "some cancels came in time"


# -- the wire


@dataclass
class Connection:
    """A client of the wire whose statements the test writes."""

    outcomes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.client = Client(Clients(Greeting(lambda *_: None)), None, 1, Greeting(lambda *_: None))  # type: ignore

    async def execute(self, statement: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            async with self.client.interruptible():
                await statement()
            self.outcomes.append("done")
        except SqlError as error:
            self.outcomes.append(error.sqlstate)

    async def serve(self, *statements: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self.client.task = asyncio.current_task()
        for statement in statements:
            await self.execute(statement)


async def commits() -> None:
    """What cannot be cancelled any more."""
    with contextlib.suppress(asyncio.CancelledError):
        await asyncio.sleep(0.05)


async def waits() -> None:
    await asyncio.sleep(5)


def test_a_cancel_that_comes_too_late_leaves_nothing_behind() -> None:
    async def session() -> list[str]:
        connection = Connection()
        serving = asyncio.create_task(connection.serve(commits, waits, commits))
        for _ in range(2):
            await asyncio.sleep(0.02)
            connection.client.cancel(SqlError("57014", "canceling statement due to user request"))
            await asyncio.sleep(0.02)
        await serving
        return connection.outcomes

    assert asyncio.run(session()) == ["done", "57014", "done"]


def test_a_connection_that_was_to_end_during_commit_ends_before_its_next_statement() -> None:
    async def session() -> list[str]:
        connection = Connection()
        serving = asyncio.create_task(connection.serve(commits, waits))
        await asyncio.sleep(0.02)
        connection.client.abandon()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(serving, 2)
        return connection.outcomes

    assert asyncio.run(session()) == ["done"]
