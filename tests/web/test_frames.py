"""Frames that an application writes itself, on a real server: what a client reads, and when none is written."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import uvicorn
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from catalog.live.frames import EXTENSION, FramedProtocol, frame_of

TEXTS = ("", "a", "é" * 62, "a" * 125, "a" * 126, "a" * 65535, "a" * 65536, "\u4e2d" * 30000)
"""Around the lengths at which a frame's head grows (RFC 6455, section 5.2)."""
S_MAX = 10.0
Write = Callable[[bytes], bool]
Told = list[bool]


@contextmanager
def served(application: Any, **flags: Any) -> Iterator[str]:
    """The application's address, on a server like the page's."""
    config = {"ws": FramedProtocol, "ws_per_message_deflate": False, "lifespan": "off", "log_level": "warning"}
    server = uvicorn.Server(uvicorn.Config(application, host="127.0.0.1", port=0, **config | flags))
    thread = threading.Thread(target=server.run, name="framed", daemon=True)
    thread.start()
    deadline = time.monotonic() + S_MAX
    while not server.started:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    yield f"ws://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/"
    server.should_exit = True
    thread.join(S_MAX)
    assert not thread.is_alive()


def writer(scope: dict[str, Any]) -> Write:
    write: Write = scope["extensions"][EXTENSION]["write"]
    return write


async def twice(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Each text as a message, then as a frame."""
    await receive()
    await send({"type": "websocket.accept"})
    for text in TEXTS:
        await send({"type": "websocket.send", "text": text})
        assert writer(scope)(frame_of(text))
    await receive()


def test_a_frame_is_read_as_the_message_that_it_is() -> None:
    with served(twice) as address, connect(address, max_size=None) as socket:
        for text in TEXTS:
            assert (socket.recv(S_MAX), socket.recv(S_MAX)) == (text, text)


def test_none_is_written_before_a_socket_is_open_and_after_it_was_closed() -> None:
    told: Told = []

    async def early_and_late(scope: dict[str, Any], receive: Any, send: Any) -> None:
        write = writer(scope)
        await receive()
        told.append(write(frame_of("early")))
        await send({"type": "websocket.accept"})
        told.append(write(frame_of("in time")))
        await send({"type": "websocket.close"})
        told.append(write(frame_of("late")))
        while (await receive())["type"] != "websocket.disconnect":
            pass
        told.append(write(frame_of("to nobody")))

    with served(early_and_late) as address, connect(address) as socket:
        assert socket.recv(S_MAX) == "in time"
        with pytest.raises(ConnectionClosed):
            socket.recv(S_MAX)
    assert told == [False, True, False, False]


def test_none_is_written_where_messages_are_compressed() -> None:
    told: Told = []

    async def compressed(scope: dict[str, Any], receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        told.append(writer(scope)(frame_of("as it is")))
        await send({"type": "websocket.send", "text": "as a message"})
        await receive()

    with served(compressed, ws_per_message_deflate=True) as address, connect(address) as socket:
        assert socket.recv(S_MAX) == "as a message"
    assert told == [False]


def test_none_is_written_to_a_browser_that_does_not_read_and_none_is_lost() -> None:
    """The server keeps what it took, and takes no more: not one browser that sleeps can fill its memory."""
    told: Told = []
    text = "a" * 100_000

    async def flood(scope: dict[str, Any], receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        while not told or told[-1]:
            told.append(writer(scope)(frame_of(text)))
            await asyncio.sleep(0)
        await send({"type": "websocket.send", "text": "after them"})
        await receive()

    with served(flood) as address, connect(address, max_size=None, max_queue=1) as socket:
        assert read_to(socket, "after them") == [text] * (len(told) - 1)
    assert not told[-1]


def read_to(socket: ClientConnection, last: str) -> list[str]:
    """The messages before this one, read only after the server had time to fill what lies between."""
    time.sleep(0.5)
    return [str(message) for message in iter(lambda: socket.recv(S_MAX), last)]
