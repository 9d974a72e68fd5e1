"""A fair queue: a process computes one page at a time, so one visitor's requests would slow all others.

40 requests of one visitor at once made another's page 50 times as slow; one after the other, twice (measured). So a
visitor, an existing session or else an address, has `PLACES` places. A request that takes longer than `PLACE_S_MAX`
waits for something else, and gives its place up.
"""

import asyncio
import contextlib
import re
from collections import Counter, defaultdict, deque
from collections.abc import AsyncIterator
from typing import Any

from django.conf import settings
from django.http import HttpRequest

from nodes.people.attempts import network_of

PLACES = 1
PLACE_S_MAX = 1.0
SESSIONS_MAX = 10_000


class FairQueue:
    """The queues of one process; all but `remember` runs in the event loop."""

    def __init__(self) -> None:
        self._cookie = re.compile(rf"(?:^|;\s*){re.escape(settings.SESSION_COOKIE_NAME)}=(\w{{1,64}})(?:;|$)".encode())
        self._sessions: dict[str, None] = {}
        self._busy: Counter[str] = Counter()
        self._waiting: defaultdict[str, deque[asyncio.Future[None]]] = defaultdict(deque)

    @contextlib.asynccontextmanager
    async def place(self, scope: dict[str, Any]) -> AsyncIterator[None]:
        visitor, loop = self._visitor(scope), asyncio.get_running_loop()
        if self._busy[visitor] < PLACES:
            self._busy[visitor] += 1
        else:
            mine = loop.create_future()
            self._waiting[visitor].append(mine)
            try:
                await mine
            except asyncio.CancelledError:
                if mine.done() and not mine.cancelled():
                    self._hand_on(visitor)
                raise
        is_over = False

        def end() -> None:
            nonlocal is_over
            if not is_over:
                is_over = True
                self._hand_on(visitor)

        timer = loop.call_later(PLACE_S_MAX, end)
        try:
            yield
        finally:
            timer.cancel()
            end()

    def remember(self, request: HttpRequest) -> None:
        """Notes after a request that its cookie is an existing session's."""
        session = request.session
        if session.accessed and session.session_key and not session.is_empty():
            self._sessions[session.session_key] = None
            while len(self._sessions) > SESSIONS_MAX:
                self._sessions.pop(next(iter(self._sessions)), None)

    def _visitor(self, scope: dict[str, Any]) -> str:
        for name, value in scope["headers"]:
            if name == b"cookie" and (found := self._cookie.search(value)) and found[1].decode() in self._sessions:
                return found[1].decode()
        return network_of((scope.get("client") or ("",))[0])

    def _hand_on(self, visitor: str) -> None:
        waiting = self._waiting.get(visitor, deque())
        while waiting:
            if not (next_one := waiting.popleft()).cancelled():
                next_one.set_result(None)
                return
        self._waiting.pop(visitor, None)
        self._busy[visitor] -= 1
        if not self._busy[visitor]:
            del self._busy[visitor]
