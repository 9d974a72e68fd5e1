"""A keeper whose database or Redis goes away, and one whose process is frozen (L6, L10)."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from leases.asyncio.keeper import FATAL_EXIT_CODE, LeaseKeeper, LeasesUnreachable, NodeStopped
from tests.leases.own_redis import OwnRedis
from tests.leases.rows import USERS, Connection, leased, only, publish, users
from tests.leases.stage import Stage, expiration_of, subscribers, until
from tests.leases.stalled_proxy import Proxy

KILL_CONTROL = """
    SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'schemalab node n1 1'
"""


def test_sessions_killed_midway_are_made_anew_within_the_lease(stage: Stage, database: Connection) -> None:
    async def scene(keeper: LeaseKeeper) -> None:
        pin = await keeper.pin(USERS)
        for _ in range(4):
            assert only(database, KILL_CONTROL) >= 1
            assert (await keeper.pin(USERS, fresh=True)).version == 1
            await asyncio.sleep(0.4)
        assert leased(database) == [(USERS, 1, "n1", 1)]
        assert expiration_of(keeper, USERS, 1) > pin.expires_at
        assert (stage.fatal, stage.ended) == ([], [])

    stage.play(scene, lease_s=2.0)


def test_a_session_killed_while_it_acquires_is_made_anew(
    stage: Stage, database: Connection, publisher: Connection
) -> None:
    async def scene(keeper: LeaseKeeper) -> None:
        publisher.execute("BEGIN")
        publisher.execute("SELECT FROM catalog_table FOR UPDATE")
        waiting = asyncio.create_task(keeper.pin(USERS))
        blocked = (
            "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name LIKE 'schemalab%'"
        )
        await until(lambda: bool(database.execute(blocked).fetchall()), "waits for the publisher")
        database.execute("SELECT pg_terminate_backend(pid) FROM (" + blocked + ") b")
        publisher.execute("ROLLBACK")
        assert (await waiting).version == 1

    stage.play(scene, lease_s=5)


def test_a_node_whose_database_is_frozen_for_longer_than_the_lease_stops_before_its_end(
    stage: Stage, database: Connection
) -> None:
    async def scene() -> None:
        async with Proxy(stage.dsn) as proxy:
            stage.dsn = proxy.dsn
            async with stage.keeper(lease_s=3.0) as keeper:
                pin = await keeper.pin(USERS)
                proxy.stall()
                await until(lambda: bool(stage.fatal), "fatal")
                assert stage.stopped_at < pin.deadline
                assert stage.fatal == ["the lease on users@1 could not be renewed before it ends"]
                assert stage.ended == [pin]
                with pytest.raises(NodeStopped, match="could not be renewed"):
                    await keeper.pin(USERS)

    asyncio.run(scene())


def test_a_node_whose_database_answers_again_in_time_serves_on(stage: Stage) -> None:
    async def scene() -> None:
        async with Proxy(stage.dsn) as proxy:
            stage.dsn = proxy.dsn
            async with stage.keeper(lease_s=3.0) as keeper:
                pin = await keeper.pin(USERS)
                proxy.stall()
                await asyncio.sleep(1.7)  # renewal was due at 1.5 s
                proxy.resume()
                await until(lambda: expiration_of(keeper, USERS, 1) > pin.expires_at, "renewed")
                assert proxy.connections > 2
                assert (stage.fatal, stage.ended) == ([], [])

    asyncio.run(scene())


def test_while_the_database_is_frozen_callers_of_cached_leases_are_served_and_others_told(stage: Stage) -> None:
    async def scene() -> None:
        async with Proxy(stage.dsn) as proxy:
            stage.dsn = proxy.dsn
            async with stage.keeper(lease_s=4.0) as keeper:
                await keeper.pin(USERS)
                proxy.stall()
                assert (await keeper.pin(USERS)).version == 1
                with pytest.raises(LeasesUnreachable, match="no lease on table 8"):
                    await keeper.pin(8)

    asyncio.run(scene())


def test_redis_that_comes_back_empty_is_listened_to_again(
    stage: Stage, publisher: Connection, database: Connection, own_redis: OwnRedis, settings: object
) -> None:
    from leases.redis.gossip import publish_news

    stage.redis_url = settings.REDIS_URL = own_redis.url

    async def scene(keeper: LeaseKeeper) -> None:
        keeper.unpin(await keeper.pin(USERS))
        own_redis.stop()
        publish(publisher, users(2))
        assert not publish_news(USERS, 2)
        await until(lambda: leased(database) == [(USERS, 2, "n1", 1)], "moved on without Redis")
        own_redis.start()
        await until(lambda: subscribers(own_redis.url) == 1, "subscribed again")
        publish(publisher, users(3))
        assert publish_news(USERS, 3)
        await until(lambda: leased(database) == [(USERS, 3, "n1", 1)], "moved on")

    stage.play(scene, lease_s=30)
    assert stage.fatal == []


def test_a_frozen_node_serves_nobody_when_it_wakes(stage: Stage) -> None:
    """Frozen for longer than its lease: its first act awake is to stop, before it answers a caller (L10)."""
    program = Path(__file__).with_name("frozen_node.py")
    node = subprocess.Popen(
        [sys.executable, str(program), stage.dsn, stage.redis_url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=program.parents[3],
        env=os.environ | {"PYTHONPATH": str(program.parents[3])},
    )
    try:
        assert node.stdout.readline() == "pinned version 1\n"
        os.kill(node.pid, signal.SIGSTOP)
        asyncio.run(asyncio.sleep(1.1))
        os.kill(node.pid, signal.SIGCONT)
        rest, _ = node.communicate("pin\n", timeout=10)
        assert "pinned" not in rest
        assert node.returncode == FATAL_EXIT_CODE
    finally:
        node.kill()
        node.wait()
