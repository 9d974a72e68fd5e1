"""HTTP with bounds for each connection and address, since uvicorn refuses everybody beyond its number of connections.

A head must come within `HEAD_S_MAX`. Of too many idle connections of an address the oldest is closed; the sockets of
signed-in people are idle, too. A connection whose client reads nothing for `FLUSH_S` is ended. A proxy of ours bounds
its clients itself (docs/how-to/teach-a-class.md).
"""

import asyncio
from collections import defaultdict
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from catalog.live.frames import FramedProtocol
from nodes.people.attempts import network_of

HEAD_S_MAX = 10.0
IDLE_MAX = 300
"""A class of two hundred browsers may follow the page anew at once, each beside connections that it keeps open."""
ADDRESS_MAX = 600
FLUSH_S = 30.0
REFUSAL = b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain\r\nconnection: close\r\n\r\n%s\n"
TOO_MANY = b"too many connections from your address"

_idle: defaultdict[str, dict["BoundedProtocol", None]] = defaultdict(dict)
"""Connections without a whole request, by address, the oldest first."""


class BoundedProtocol(H11Protocol):
    _address = ""
    _head_timer: asyncio.TimerHandle | None = None
    _flush_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._watch_head()
        if self.client is None or self.client[0] in getattr(self.app, "trusted_hosts", ()):
            return
        self._address = network_of(self.client[0])
        mine = sum(bool(other.client) and network_of(other.client[0]) == self._address for other in self.connections)
        if mine > ADDRESS_MAX:
            transport.write(REFUSAL % TOO_MANY)
            transport.close()
        else:
            self._note_idle()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self._watch_head()
        else:
            self._stop_watching()
        self._note_idle()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        super().handle_websocket_upgrade(event)
        socket = self.transport.get_protocol()
        if isinstance(socket, FramedProtocol):
            socket.opened = self._leave_idle

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._note_idle()
        self._watch_flush()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_flush()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_flush_timer()
        self._watch_flush()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_watching()
        self._leave_idle()
        self._stop_flush_timer()
        super().connection_lost(exc)

    def _note_idle(self) -> None:
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._leave_idle()
        elif self._address:
            mine = _idle[self._address]
            mine.setdefault(self)
            if len(mine) > IDLE_MAX:
                oldest = next(iter(mine))
                oldest._leave_idle()
                oldest.transport.close()

    def _leave_idle(self) -> None:
        mine = _idle.get(self._address, {})
        mine.pop(self, None)
        if not mine:
            _idle.pop(self._address, None)

    def _watch_head(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(HEAD_S_MAX, self.transport.close)

    def _stop_watching(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _watch_flush(self) -> None:
        if self._flush_timer is None and (unread := self.transport.get_write_buffer_size()):
            self._flush_timer = self.loop.call_later(FLUSH_S, self._check_flush, unread)

    def _stop_flush_timer(self) -> None:
        if self._flush_timer is not None:
            self._flush_timer.cancel()
            self._flush_timer = None

    def _check_flush(self, before: int) -> None:
        self._flush_timer = None
        if self.transport.get_write_buffer_size() >= before:
            self.transport.abort()
        else:
            self._watch_flush()
