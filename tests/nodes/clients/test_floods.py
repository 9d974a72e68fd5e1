"""A client that sends thousands of messages at once lets others go first between any two of them."""

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from nodes.clients.registry import Clients
from nodes.clients.startup import Greeting
from nodes.execution import fairness
from nodes.execution.held_rows import KeptByConnection, NodeRows
from nodes.wire.results import Result
from tests.nodes.clients.test_signing_in import STARTUP
from tests.nodes.raw_client import SYNC, message, parse, query

COUNT = 2000
BYE = message(b"X")


class Idle:
    """A session whose statements ask nobody: nothing of it ever waits."""

    def __init__(self) -> None:
        self.kept = KeptByConnection(NodeRows())

    def status(self) -> bytes:
        return b"I"

    def idle_s_max(self) -> None: ...

    def statement_s_max(self, _statement: object) -> None: ...

    def setting_changes(self) -> int:
        return 0

    def has_notifications(self) -> bool:
        return False

    def reported(self) -> dict[str, str]:
        return {}

    def has_implicit_block(self) -> bool:
        return False

    def formats_of(self, _statement: object) -> tuple[int, ...]:
        return ()

    def next_notification(self) -> None: ...

    async def end_expired(self) -> None: ...

    async def parse(self, _sql: str) -> list[str]:
        return ["SET"] * COUNT

    async def execute(self, *_: Any, **__: Any) -> Result:
        return Result("SET")

    async def fail(self, _error: object) -> None: ...

    async def close(self) -> None: ...


@asynccontextmanager
async def counted_rounds() -> AsyncIterator[list[int]]:
    """How often the event loop comes round meanwhile."""
    rounds = [0]

    async def count() -> None:
        while True:
            rounds[0] += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    yield rounds
    counting.cancel()


@pytest.mark.parametrize("data", [
    pytest.param(SYNC * COUNT, id="Sync"),
    pytest.param(message(b"H") * COUNT, id="Flush"),
    pytest.param(message(b"C", b"Sx\0") * COUNT, id="Close"),
    pytest.param(message(b"F") + message(b"D") * COUNT, id="what is skipped after an error"),
    pytest.param(query("SET a.b = 'c';" * COUNT), id="statements of one message"),
])  # fmt: skip
def test_others_have_their_turn(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    """A flood of these held a node for longer than it may be silent, and so ended it."""
    monkeypatch.setattr(fairness, "SLICE_S", 0.0)

    async def flood() -> int:
        clients = Clients(Greeting(lambda *_: Idle()))  # type: ignore[arg-type, return-value]
        server = await asyncio.get_running_loop().create_server(clients.channel, "127.0.0.1", 0)
        async with server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(STARTUP)
            await asyncio.wait_for(reader.readuntil(b"Z\0\0\0\5I"), 10)
            async with counted_rounds() as rounds:
                writer.write(data + BYE)
                await asyncio.wait_for(reader.read(), 30)
            writer.close()
            return rounds[0]

    assert asyncio.run(flood()) >= COUNT


class Hurried(Idle):
    """A session whose large texts are read in the planning thread, and whose statements may take 0.3 s."""

    def statement_s_max(self, _statement: object) -> float:  # type: ignore[override]
        return 0.3

    async def parse(self, sql: str) -> list[str]:
        return await fairness.in_thread_if_large(sql, list)


LARGE = f"SELECT '{'a' * fairness.LARGE_CHARS}'"


@pytest.mark.parametrize("data", [
    pytest.param(query(LARGE), id="a simple query"),
    pytest.param(parse(LARGE) + SYNC, id="a prepared statement"),
])  # fmt: skip
def test_a_statement_that_waits_too_long_for_the_planning_thread_is_given_up(data: bytes) -> None:
    """Another session's text held the thread for an hour, and `statement_timeout` was not looked at."""
    is_over = threading.Event()

    async def wait() -> bytes:
        clients = Clients(Greeting(lambda *_: Hurried()))  # type: ignore[arg-type, return-value]
        server = await asyncio.get_running_loop().create_server(clients.channel, "127.0.0.1", 0)
        async with server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(STARTUP)
            await asyncio.wait_for(reader.readuntil(b"Z\0\0\0\5I"), 10)
            holding = asyncio.ensure_future(fairness.in_thread(lambda: is_over.wait(60)))
            writer.write(data)
            answer = await asyncio.wait_for(reader.readuntil(b"Z\0\0\0\5I"), 10)
            assert not holding.done()
            is_over.set()
            await holding
            writer.write(query(LARGE) + BYE)  # the thread serves the next one
            assert b"57014" not in await asyncio.wait_for(reader.read(), 10)
            writer.close()
            return answer

    try:
        assert b"C57014\0" in asyncio.run(wait())
    finally:
        is_over.set()
