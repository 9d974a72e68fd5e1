"""Work that a node does beside its clients does not end unnoticed."""

import asyncio
import logging
import socket
from types import SimpleNamespace

import pytest

import nodes.server
from leases.asyncio.keeper import FATAL_EXIT_CODE
from nodes.context import Environment
from nodes.server import Server, Settings

SETTINGS = Settings("n", "127.0.0.1", 0, "", "", 30.0, 2, 3000)


def test_work_of_the_sessions_is_logged_too(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        env = Environment("n", 1, 2, 12, None, None, None)  # type: ignore[arg-type]
        env.run_beside("ending a transaction", fails())
        await asyncio.wait(env._beside)
        await asyncio.sleep(0)

    asyncio.run(work())
    (record,) = caplog.records
    assert record.getMessage() == "ending a transaction failed"


async def fails() -> None:
    raise KeyError("a mistake")


@pytest.mark.parametrize(("is_vital", "code"), [
    pytest.param(True, FATAL_EXIT_CODE, id="what the node must not be without ends it"),
    pytest.param(False, None, id="the node goes on without its figures"),
])  # fmt: skip
def test_work_that_fails_is_logged(caplog: pytest.LogCaptureFixture, is_vital: bool, code: int | None) -> None:
    async def serve() -> int | None:
        server = Server(SETTINGS, None, 1)  # type: ignore[arg-type]
        await asyncio.wait([server.run_beside("taking away rights", fails(), is_vital=is_vital)])
        await asyncio.sleep(0)
        return server._ended.result() if server._ended.done() else None

    with caplog.at_level(logging.ERROR):
        assert asyncio.run(serve()) == code
    (record,) = caplog.records
    assert "taking away rights" in record.getMessage()
    assert record.exc_info is not None


def test_work_that_the_node_ends_itself_is_no_failure(caplog: pytest.LogCaptureFixture) -> None:
    async def serve() -> bool:
        server = Server(SETTINGS, None, 1)  # type: ignore[arg-type]
        task = server.run_beside("waiting", asyncio.sleep(60), is_vital=True)  # type: ignore[arg-type]
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        return server._ended.done()

    assert asyncio.run(serve()) is False
    assert not caplog.records


def test_a_node_keeps_its_alarm_from_its_start_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """While C code holds the interpreter nothing else ends the node (`nodes.alarm`)."""
    set_for: list[float] = []

    class Keeper:
        async def __aenter__(self) -> None: ...

        async def __aexit__(self, *_: object) -> None: ...

        async def drain(self) -> None: ...

    async def serve() -> int:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            server = Server(SETTINGS, listener, 1)

            async def keep_alarm(seconds: float) -> None:
                set_for.append(seconds)
                server.stop()

            monkeypatch.setattr(nodes.server, "keep_alarm", keep_alarm)
            return await asyncio.wait_for(server.run(), 10)

    env = SimpleNamespace(directory=SimpleNamespace(ask=None), pool=None, close=lambda: asyncio.sleep(0))
    monkeypatch.setattr(nodes.server, "LeaseKeeper", lambda **_: Keeper())
    monkeypatch.setattr(nodes.server, "environment", lambda *_: env)
    monkeypatch.setattr(nodes.server, "reader_of", lambda _: asyncio.sleep(0, "a reader"))
    monkeypatch.setattr(nodes.server, "People", lambda _: SimpleNamespace(watch=lambda _: asyncio.sleep(60)))
    monkeypatch.setattr(nodes.server, "admission", lambda *_: None)
    monkeypatch.setattr(nodes.server, "announce_last", lambda *_: asyncio.sleep(0))
    assert asyncio.run(serve()) == 0
    assert set_for == [SETTINGS.lease_s]
