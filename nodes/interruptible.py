"""The part of a client's work that a cancel request may end: while inside, it turns into an error of the statement."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nodes.pgwire import Client


class Interruptible:
    """The part of a client's work that a cancel request may end."""

    __slots__ = ("client",)

    def __init__(self, client: Client) -> None:
        self.client = client

    async def __aenter__(self) -> None:
        self.client.is_executing = True

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        client = self.client
        client.is_executing = False
        try:
            if kind is None and client.interrupt is not None:
                await asyncio.sleep(0)  # the cancellation that came as the statement ended is delivered here
        except asyncio.CancelledError:
            self._tell()
            raise
        if isinstance(error, asyncio.CancelledError):
            self._tell()

    def _tell(self) -> None:
        """Raise why the statement was cancelled, if a cancel request did it."""
        client = self.client
        why, client.interrupt = client.interrupt, None
        if why is not None and client.task is not None:
            client.task.uncancel()
            raise why from None
