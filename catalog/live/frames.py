"""WebSocket frames shared by many sockets. A server's frames are not masked (RFC 6455, section 5.1), so one message has
the same bytes for all of them; through ASGI each would cost a task switch and a frame of its own, most of the cost of
200 sockets (`tools/bench/watchers.py`). `opened` marks a socket as an open page, which bounds for idle connections
spare."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame, Opcode
from websockets.protocol import State

EXTENSION = "schemalab.frames"
"""Its name in a scope's extensions: {"write": `FramedProtocol.write`, "opened": `FramedProtocol.opened`}."""


CLOSE_S_MAX = 1.0


class FramedProtocol(WebSocketsSansIOProtocol):
    """One socket, which takes whole frames too. A client that does not answer a close keeps it for `CLOSE_S_MAX`."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.close_timeout = CLOSE_S_MAX
        self.opened: Callable[[], None] = _nothing
        """What whoever bounds idle connections does once this is an open page, or is gone."""

    async def run_asgi(self) -> None:
        extensions: dict[str, Any] = self.scope["extensions"]
        extensions[EXTENSION] = {"write": self.write, "opened": self.opened}
        await super().run_asgi()

    def connection_lost(self, exc: Exception | None) -> None:
        self.opened()
        super().connection_lost(exc)

    def write(self, frame: bytes) -> bool:
        """Writes the frame of a whole message. False, with nothing written, when it cannot be sent now: the socket is
        not open, the browser is slow, or it negotiated compression."""
        can_now = (
            self.handshake_complete
            and self.conn.state is State.OPEN
            and not self.close_sent
            and not self.transport.is_closing()
            and self.writable.is_set()
            and not self.conn.extensions
        )
        if can_now:
            self.transport.write(frame)
        return can_now


@dataclass(frozen=True, slots=True)
class Text:
    """A message, and its frame as it is on the wire: the same for every socket."""

    text: str
    frame: bytes

    @classmethod
    def of(cls, message: Mapping[str, Any]) -> Text:
        text = json.dumps(message)
        return cls(text, frame_of(text))


def frame_of(text: str) -> bytes:
    return Frame(Opcode.TEXT, text.encode()).serialize(mask=False)


def writer_of(scope: Mapping[str, Any]) -> Callable[[bytes], bool] | None:
    """`FramedProtocol.write` of this socket; None of a server that has no such thing."""
    found: Callable[[bytes], bool] | None = scope.get("extensions", {}).get(EXTENSION, {}).get("write")
    return found


def note_opened(scope: Mapping[str, Any]) -> None:
    scope.get("extensions", {}).get(EXTENSION, {}).get("opened", _nothing)()


def _nothing() -> None: ...
