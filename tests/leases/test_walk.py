"""Three nodes under load and a publisher that walks a table through ten versions: two at a time, and no step stalls."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack

from psycopg.errors import LockNotAvailable

from leases.asyncio.keeper import LeaseKeeper
from leases.redis.gossip import publish_news
from tests.leases.rows import USERS, Connection, begin_publish, live_leases_below, make_table, only, register, users

NODES = ("n1", "n2", "n3")
VERSIONS = 10
STEP_S_MAX = 2.0

SPAN = "SELECT count(DISTINCT version) FROM leases_lease WHERE expires_at > clock_timestamp()"


def test_nodes_follow_a_publisher_and_never_use_three_versions(
    connect: Callable[[], Connection], database: Connection, dsn: str, redis_url: str
) -> None:
    make_table(database)
    for node in NODES:
        register(database, node)
    fatal: list[str] = []

    async def scene() -> None:
        async with AsyncExitStack() as stack:
            keepers = [
                await stack.enter_async_context(
                    LeaseKeeper(
                        node=node, incarnation=1, dsn=dsn, redis_url=redis_url, lease_s=10, on_fatal=fatal.append
                    )
                )
                for node in NODES
            ]
            done = asyncio.Event()
            serving = [asyncio.create_task(serve(keeper, done)) for keeper in keepers for _ in range(4)]
            await asyncio.to_thread(walk, connect())
            done.set()
            served = await asyncio.gather(*serving)
        assert len(set().union(*served)) > VERSIONS / 2  # sometimes: versions were really used on the way

    asyncio.run(scene())
    assert fatal == []


async def serve(keeper: LeaseKeeper, done: asyncio.Event) -> set[int]:
    """Transactions of 2 ms, one after another; which versions they ran under."""
    used = set()
    while not done.is_set():
        pin = await keeper.pin(USERS)
        used.add(pin.version)
        await asyncio.sleep(0.002)
        assert pin.ended_because is None
        keeper.unpin(pin)
    return used


def walk(publisher: Connection) -> None:
    publisher.execute("LISTEN schemalab_lease")
    wait_for_leases(publisher, 1)
    for version in range(2, VERSIONS + 1):
        publish_when_free(publisher, version)
        publish_news(USERS, version)
        wait_for_leases(publisher, version)


def publish_when_free(publisher: Connection, version: int) -> None:
    """L7: with the table's row locked, see that nobody leases what is older than the version before."""
    for _ in range(200):
        try:
            begin_publish(publisher, users(version))
        except LockNotAvailable:
            publisher.execute("ROLLBACK")
            continue
        if live_leases_below(publisher, version - 1) == 0:
            publisher.execute("COMMIT")
            return
        publisher.execute("ROLLBACK")
        list(publisher.notifies(timeout=0.01, stop_after=1))
    raise AssertionError(f"version {version} could not be published within {STEP_S_MAX} s")


def wait_for_leases(publisher: Connection, version: int) -> None:
    """Until every node leases the version."""
    for _ in range(200):
        assert only(publisher, SPAN) <= 2
        if only(publisher, "SELECT count(*) FROM leases_lease WHERE version = %s", version) == len(NODES):
            return
        list(publisher.notifies(timeout=0.01, stop_after=1))
    raise AssertionError(f"not every node leased version {version} within {STEP_S_MAX} s")
