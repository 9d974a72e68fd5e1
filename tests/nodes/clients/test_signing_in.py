"""A client before it has signed in: a node owes it little, and says so quietly."""

import asyncio
import base64
import logging
import struct

import pytest

from nodes.clients.registry import Clients
from nodes.clients.startup import Greeting
from nodes.people.attempts import NAME_AT_ADDRESS
from nodes.people.sign_in import Admission
from tests.nodes.raw_client import fields, message

STARTUP = struct.pack("!ii", 17, 196608) + b"user\0me\0\0"


def told(data: bytes, *, password: bool = False) -> dict[str, str]:
    """Connect, send this, and listen to the end: the fields of the error."""

    async def talk() -> bytes:
        asking = Admission(is_trusting=not password, secret_key="key")
        clients = Clients(Greeting(lambda *_: None, asking))  # type: ignore[arg-type, return-value]
        server = await asyncio.get_running_loop().create_server(clients.channel, "127.0.0.1", 0)
        async with server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            writer.write(data)
            said = await asyncio.wait_for(reader.read(), 10)
            writer.close()
            return said

    return fields(asyncio.run(talk()).rpartition(b"SFATAL\0")[2])


def test_silence_is_ended_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("nodes.clients.connection.STARTUP_S_MAX", 0.1)
    with caplog.at_level(logging.INFO):
        error = told(b"")
    assert (error["C"], error["M"]) == ("08P01", "nobody has signed in within 0.1 s")
    assert caplog.records == []


@pytest.mark.parametrize(("data", "words"), [
    pytest.param(message(b"p", b"x" * 5000), "invalid length 5004 of a password message", id="a long one"),
    pytest.param(b"p" + struct.pack("!i", 2**24), "invalid length 16777216", id="one that is only announced"),
    pytest.param(message(b"Q", b"SELECT 1\0"), "expected a password message, got 'Q'", id="a query"),
])  # fmt: skip
def test_little_is_read_before_the_password(data: bytes, words: str) -> None:
    error = told(STARTUP + data, password=True)
    assert error["C"] == "08P01"
    assert words in error["M"]


def test_passwords_that_are_tried_at_once_wait_like_those_tried_in_turn() -> None:
    """Each connection asks for a try before anybody has failed, and only then sends its guess."""
    guesses = 40

    async def burst() -> list[str]:
        clients = Clients(Greeting(lambda *_: None, Admission(is_trusting=False, secret_key="key")))  # type: ignore
        server = await asyncio.get_running_loop().create_server(clients.channel, "127.0.0.1", 0)
        async with server:
            address = server.sockets[0].getsockname()
            sent, ready = asyncio.Event(), asyncio.Semaphore(0)
            tries = [asyncio.create_task(guess(address, ready, sent)) for _ in range(guesses)]
            for _ in tries:
                await asyncio.wait_for(ready.acquire(), 10)
            sent.set()
            return await asyncio.wait_for(asyncio.gather(*tries), 10)

    codes = asyncio.run(burst())
    assert (codes.count("28P01"), codes.count("28000")) == (NAME_AT_ADDRESS.free, guesses - NAME_AT_ADDRESS.free)


async def guess(address: tuple[str, int], is_ready: asyncio.Semaphore, may_send: asyncio.Event) -> str:
    """Do all of the exchange but its end, wait, and send a wrong proof: the code of the refusal."""
    reader, writer = await asyncio.open_connection(*address)
    first = b"n,,n=,r=mine"
    writer.write(STARTUP + message(b"p", b"SCRAM-SHA-256\0" + struct.pack("!i", len(first)) + first))
    challenge = await reader.readuntil(b",i=4096")
    nonce = challenge.rpartition(b"r=")[2].partition(b",")[0]
    is_ready.release()
    await may_send.wait()
    writer.write(message(b"p", b"c=biws,r=" + nonce + b",p=" + base64.b64encode(bytes(32))))
    refusal = fields((await reader.read()).rpartition(b"SFATAL\0")[2])
    writer.close()
    return refusal["C"]
