"""The part of a client's work that a cancel request may end: while inside, it turns into an error of the statement."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Protocol

from expressions.errors import SqlError


class Working(Protocol):
    """A connection that works on a statement; `interrupt` says why it is to end."""

    task: asyncio.Task[None] | None
    is_executing: bool
    interrupt: SqlError | None


class Interruptible:
    """The part of a client's work that a cancel request may end."""

    __slots__ = ("client",)

    def __init__(self, client: Working) -> None:
        self.client = client

    async def __aenter__(self) -> None:
        client = self.client
        if client.task is not None and client.task.cancelling():
            raise asyncio.CancelledError  # the connection was to end while a COMMIT was on its way
        client.is_executing = True

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self.client.is_executing = False
        if isinstance(error, asyncio.CancelledError):
            self._raise_why(error)
        elif self.client.interrupt is not None:
            await self._too_late()

    def _raise_why(self, cancelled: asyncio.CancelledError) -> None:
        """Raise why the statement was cancelled, if a cancel request did it. Notes of the statement are its detail."""
        client = self.client
        why, client.interrupt = client.interrupt, None
        if why is not None and client.task is not None:
            client.task.uncancel()
            why.detail = "\n".join(getattr(cancelled, "__notes__", ())) or why.detail
            raise why from None

    async def _too_late(self) -> None:
        """The statement, perhaps a COMMIT, had ended first: what it did is reported, not that it was cancelled (T7)."""
        client = self.client
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.sleep(0)  # a cancellation that came as the statement ended is delivered here
        client.interrupt = None
        if client.task is not None:
            client.task.uncancel()
