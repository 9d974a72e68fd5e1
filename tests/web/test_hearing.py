"""One listener for all sockets of a process: whoever follows hears every event, whoever else leaves at that moment."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

from channels.layers import get_channel_layer

from catalog.live.relay import Relay
from catalog.services import group_of

STREAM = "cluster"
EVENT = {"stream": STREAM, "seq": 1}
HEARD_S = 5.0


class Socket:
    """A follower that keeps what it hears."""

    language, html = "en", False

    def __init__(self) -> None:
        self.streams = {STREAM: 0}
        self.heard = asyncio.Event()

    def leave_event(self, event: dict[str, Any]) -> None:
        self.heard.set()

    def leave_state(self, message: Any) -> None: ...

    def leave_heartbeat(self, seqs: dict[str, int]) -> None: ...


async def join(relay: Relay, socket: Socket) -> None:
    relay.join(socket)
    await relay.ear.follow(STREAM)


async def leave(relay: Relay, socket: Socket) -> None:
    await relay.ear.forget(STREAM)
    await relay.leave(socket)


async def receives(socket: Socket) -> None:
    """Raises `TimeoutError` when an event does not reach the socket."""
    await get_channel_layer().group_send(group_of(STREAM), {"type": "story.event", "event": EVENT})
    await asyncio.wait_for(socket.heard.wait(), HEARD_S)


class SlowRelay(Relay):
    """Its work takes a moment to end: whatever may happen meanwhile does."""

    def _work(self) -> Any:
        return (self._rest,)

    async def _rest(self) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.05)


def test_a_follower_that_joins_while_the_last_one_leaves_hears_events(redis_url: str) -> None:
    async def story() -> None:
        relay, last, next_one = SlowRelay(), Socket(), Socket()
        await join(relay, last)
        await asyncio.sleep(0)
        leaving = asyncio.create_task(leave(relay, last))
        while relay.tasks:
            await asyncio.sleep(0)  # until the relay's work is being ended
        await join(relay, next_one)
        await leaving
        await receives(next_one)
        await leave(relay, next_one)

    asyncio.run(story())


def test_a_follower_that_joins_at_the_same_moment_hears_and_no_listener_is_left(redis_url: str) -> None:
    async def story() -> None:
        relay, sockets = SlowRelay(), [Socket() for _ in range(5)]
        await join(relay, sockets[0])
        for before, after in pairwise(sockets):
            await asyncio.gather(leave(relay, before), join(relay, after))
            await receives(after)
        await leave(relay, sockets[-1])
        await asyncio.sleep(0)
        listening = [task for task in asyncio.all_tasks() if "Ear._listen" in repr(task.get_coro())]
        assert listening == []

    asyncio.run(story())
