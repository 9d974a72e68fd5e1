"""PostgreSQL crashes under the sessions of a node: every batch ends, and every session comes back. Under uvloop, as
shipped: it watches a socket no longer after its first error, and the store's last words and the end of the stream,
which still lie in the socket, have to be read all the same."""

import asyncio
from typing import Any

import psycopg
import uvloop

from expressions.errors import SqlError
from nodes.store.pipeline import Command, StorePool
from nodes.store.transaction import Transaction
from tests.nodes.crashes import crash, own_server

SESSIONS = 12
END_S_MAX = 30.0
UNREAD = Command("SELECT length($1::bytea)", (b"x" * 200_000,))
"""More than a busy server takes in: it dies with the rest unread, which is an error of the socket, not its end."""


def test_every_session_ends_and_its_place_comes_back() -> None:
    with own_server({}) as dsn:
        ended = uvloop.run(through_a_crash(dsn))
    assert len(ended) == SESSIONS
    assert all(isinstance(error, SqlError) for error in ended), ended
    assert {error.sqlstate for error in ended} <= {"08006", "40001", "57P02", "57P01"}


async def through_a_crash(dsn: str) -> list[Any]:
    pool, settled = StorePool(dsn, "crashed", "", size_max=SESSIONS + 4), list[Transaction]()
    transactions = [Transaction(pool, 2, settled.append) for _ in range(SESSIONS)]
    idle = [await pool.take() for _ in range(4)]
    listening = asyncio.create_task(listen(dsn))
    tasks = [asyncio.create_task(busy(transaction, n)) for n, transaction in enumerate(transactions)]
    while not all(t.connection is not None and not t.connection.is_ready for t in transactions):
        await asyncio.sleep(0.05)
    await asyncio.sleep(0.5)
    await asyncio.to_thread(crash, dsn)
    await asyncio.wait([listening], timeout=END_S_MAX)
    assert isinstance(listening.exception(), psycopg.OperationalError), "psycopg's own waits end as well"
    done, hanging = await asyncio.wait(tasks, timeout=END_S_MAX)
    assert not hanging, f"{len(hanging)} of {SESSIONS} sessions hang"
    assert len(settled) == SESSIONS
    assert all(session.is_lost for session in idle), "what idles in the pool is noticed too"
    for session in idle:
        pool.put_back(session)
    fresh = [await asyncio.wait_for(pool.take(), END_S_MAX) for _ in range(pool.size_max)]
    assert [len(await session.run([Command("SELECT 1")])) for session in fresh] == [1] * pool.size_max
    for session in fresh:
        pool.put_back(session)
    await pool.close()
    return [task.exception() for task in done]


async def listen(dsn: str) -> None:
    """What followers and pages do: wait for news, on a session that ends."""
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as listener:
        await listener.execute("LISTEN news")
        async for _ in listener.notifies():
            pass


async def busy(transaction: Transaction, number: int) -> None:
    """A statement that waits at the store; behind every second one stands more than the store has read."""
    try:
        await transaction.run([Command("SELECT pg_sleep(120)"), *[UNREAD] * (number % 3)])
    finally:
        await transaction.rollback()
