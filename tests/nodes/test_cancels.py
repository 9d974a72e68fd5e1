"""What ends a statement from outside: a cancel, a lease that is over. Sessions at the store and leases come back."""

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from nodes.libpq import Command, StoreConnection, StoreConnectionLost

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
