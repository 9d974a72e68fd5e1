"""A node's keeper on stage: what it is given, and what it reported."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any

from redis import Redis

from catalog.elements import TableId
from leases.asyncio.keeper import LeaseKeeper, Pin
from leases.node.uses import moment
from leases.redis.gossip import CHANNEL

WAIT_S_MAX = 5.0

Scene = Callable[[LeaseKeeper], Coroutine[Any, Any, None]]


class Stage:
    """A registered node n1, and what its keeper reported."""

    def __init__(self, dsn: str, redis_url: str) -> None:
        self.dsn, self.redis_url = dsn, redis_url
        self.fatal: list[str] = []
        self.stopped_at = 0.0
        self.ended: list[Pin] = []

    @asynccontextmanager
    async def keeper(self, *, incarnation: int = 1, lease_s: float = 2.0) -> AsyncIterator[LeaseKeeper]:
        keeper = LeaseKeeper(
            node="n1",
            incarnation=incarnation,
            dsn=self.dsn,
            redis_url=self.redis_url,
            lease_s=lease_s,
            on_fatal=self._stop,
            on_end=self.ended.append,
        )
        async with keeper:
            yield keeper

    def _stop(self, reason: str) -> None:
        self.fatal.append(reason)
        self.stopped_at = asyncio.get_running_loop().time()

    def play(self, scene: Scene, *, lease_s: float = 2.0) -> None:
        async def on_stage() -> None:
            async with self.keeper(lease_s=lease_s) as keeper:
                await scene(keeper)

        asyncio.run(on_stage())


def expiration_of(keeper: LeaseKeeper, table_id: int, version: int) -> datetime | None:
    """Until when a version may be used, renewals included (database time); None: it is not leased any more."""
    held = keeper._state.table(TableId(table_id)).version(version)
    return None if held is None else moment(held.expires_at)


async def until(holds: Callable[[], bool], what: str) -> None:
    """Waits for what happens in another process or session."""
    began = asyncio.get_running_loop().time()
    while not holds():
        assert asyncio.get_running_loop().time() - began < WAIT_S_MAX, f"never: {what}"
        await asyncio.sleep(0.005)


def subscribers(url: str) -> int:
    """How many listen to news."""
    with Redis.from_url(url) as client:
        return client.pubsub_numsub(CHANNEL)[0][1]
