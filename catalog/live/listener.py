"""One ear for all sockets of a process: what is pushed into a stream's group is heard once, and handed on.

    channel layer --(one channel in the groups of all streams that are followed)--> Ear --> relay --> mailboxes

Two hundred sockets that each had a channel of their own would wake two hundred consumers, each with its own dispatch,
for every event. A push is only a hint (`catalog.live.consumers`): an ear that misses one costs a heartbeat, not an
event.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

from channels.layers import get_channel_layer

from catalog.services import group_of

Event = dict[str, Any]


class Ear:
    """Lives in one event loop. `hear` is called with each pushed event; it must not wait."""

    def __init__(self, hear: Callable[[Event], None]) -> None:
        self._hear = hear
        self._followers: Counter[str] = Counter()
        self._lock = asyncio.Lock()
        self._channel: str | None = None
        self._task: asyncio.Task[None] | None = None

    async def follow(self, stream: str) -> None:
        """From its return on, what is pushed into `stream` is heard. Raises what the channel layer raises."""
        async with self._lock:
            if not self._followers[stream]:
                await get_channel_layer().group_add(group_of(stream), await self._open())
            self._followers[stream] += 1

    async def forget(self, stream: str) -> None:
        """One follower less; the ear leaves the group with the last one, and hears nothing once it follows nothing.

        Under the same lock as `follow`: whoever comes while the last one leaves finds an ear that hears.
        """
        async with self._lock:
            self._followers[stream] -= 1
            if self._followers[stream] > 0:
                return
            del self._followers[stream]
            try:
                await get_channel_layer().group_discard(group_of(stream), await self._open())
            finally:
                if not self._followers:
                    await self._close()

    async def _close(self) -> None:
        task, self._task, self._channel = self._task, None, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _open(self) -> str:
        if self._channel is None:
            self._channel = await get_channel_layer().new_channel()
            self._task = asyncio.create_task(self._listen(self._channel))
        return self._channel

    async def _listen(self, channel: str) -> None:
        while True:
            message = await get_channel_layer().receive(channel)
            self._hear(message["event"])
