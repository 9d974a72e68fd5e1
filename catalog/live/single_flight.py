"""Shared reads: a caller who comes while an equal read is under way joins the next one, since this one began before: no
caller gets an older answer than its own read would give, and a crowd costs two reads."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Any


class SharedReads:
    """Lives in one event loop. Reads of different keys do not wait for each other."""

    def __init__(self) -> None:
        self._next: dict[Hashable, asyncio.Task[Any]] = {}
        self._running: dict[Hashable, asyncio.Task[Any]] = {}

    async def ask(self, key: Hashable, read: Callable[[], Awaitable[Any]]) -> Any:
        """The answer of a `read` begun after this was called. One caller's cancellation leaves the others theirs."""
        joined = self._next.get(key)
        if joined is None:
            joined = self._next[key] = asyncio.create_task(self._read(key, read, self._running.get(key)))
        return await asyncio.shield(joined)

    async def _read(self, key: Hashable, read: Callable[[], Awaitable[Any]], before: asyncio.Task[Any] | None) -> Any:
        if before is not None:
            await asyncio.wait([before])
        self._running[key] = self._next.pop(key)
        try:
            return await read()
        finally:
            if self._running.get(key) is asyncio.current_task():
                del self._running[key]
