"""HTTP as the page speaks it: a request's head is small, and comes soon.

uvicorn bounds how long a kept connection may be idle, but not how long the head of a request may take: clients that
send a byte now and then would hold connections for ever. The head's size is bounded by uvicorn's own
`--h11-max-incomplete-event-size`; the body's by `schemalab.http.request_bounds`.
"""

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_S_MAX = 10.0


class BoundedProtocol(H11Protocol):
    """One connection, closed when a request's head is not complete `HEAD_S_MAX` after its connection or first byte."""

    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._watch_head()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self._watch_head()
        else:
            self._stop_watching()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_watching()
        super().connection_lost(exc)

    def _watch_head(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(HEAD_S_MAX, self.transport.close)

    def _stop_watching(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
