"""News over a real Redis: lost connections are noticed, and every new one says that news may have been missed (L6)."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from redis import Redis

from catalog.elements import TableId
from leases.gossip import News
from leases.redis import gossip
from leases.redis.gossip import CHANNEL, Missed, listen, publish_news
from tests.leases.own_redis import OwnRedis

HEARD_S_MAX = 5.0
ENDED_S_MAX = 30.0

Heard = list[News | Missed]


def overhear(url: str, scene: Callable[[Heard], Coroutine[Any, Any, None]]) -> Heard:
    """What a listener heard while the scene was played."""

    async def on_stage() -> Heard:
        heard: Heard = []
        listening = asyncio.create_task(collect(url, heard))
        try:
            await until_heard(heard, 1)
            await scene(heard)
        finally:
            listening.cancel()
            await asyncio.wait({listening})
        return heard

    return asyncio.run(on_stage())


async def collect(url: str, heard: Heard) -> None:
    async for news in listen(url):
        heard.append(news)


async def until_heard(heard: Heard, count: int) -> None:
    async with asyncio.timeout(HEARD_S_MAX):
        while len(heard) < count:
            await asyncio.sleep(0.01)


@pytest.fixture
def quick_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gossip, "PROBE_S", 0.1)


def test_a_listener_that_is_cancelled_ends_whenever_that_is(redis_url: str, quick_probe: None) -> None:
    """Cancelled while it connects, subscribes, listens and probes: redis-py may lose that, the listener may not."""

    async def left_of(listeners: int) -> int:
        listening = [asyncio.create_task(collect(redis_url, [])) for _ in range(listeners)]
        for one in listening:
            await asyncio.sleep(0.002)
            one.cancel()
        _, left = await asyncio.wait(listening, timeout=ENDED_S_MAX)
        for one in left:
            one.cancel()
        return len(left)

    assert sum(asyncio.run(left_of(listeners=40)) for _ in range(5)) == 0


def test_a_listener_knows_that_it_may_have_missed_some_and_then_hears_all(redis_url: str) -> None:
    async def scene(heard: Heard) -> None:
        assert publish_news(7, 2)
        assert publish_news(8, 1)
        await until_heard(heard, 3)

    assert overhear(redis_url, scene) == [Missed(), News(TableId(7), 2), News(TableId(8), 1)]


def test_what_is_no_news_is_ignored(redis_url: str, caplog: pytest.LogCaptureFixture) -> None:
    async def scene(heard: Heard) -> None:
        with Redis.from_url(redis_url) as client:
            client.publish(CHANNEL, "seven:two")
        publish_news(7, 2)
        await until_heard(heard, 2)

    assert overhear(redis_url, scene) == [Missed(), News(TableId(7), 2)]
    assert "news 'seven:two' is not of the form table:version" in caplog.text


def test_a_quiet_connection_is_kept(redis_url: str, quick_probe: None) -> None:
    async def scene(heard: Heard) -> None:
        await asyncio.sleep(1.0)  # ten probes
        publish_news(7, 2)
        await until_heard(heard, 2)

    assert overhear(redis_url, scene) == [Missed(), News(TableId(7), 2)]


def test_a_frozen_redis_is_noticed_and_listened_to_again(own_redis: OwnRedis, quick_probe: None) -> None:
    async def scene(heard: Heard) -> None:
        own_redis.freeze()
        await asyncio.sleep(0.5)
        own_redis.thaw()
        await until_heard(heard, 2)

    assert overhear(own_redis.url, scene) == [Missed(), Missed()]


def test_publishing_without_redis_says_so_and_fails_nobody(settings: Any, caplog: pytest.LogCaptureFixture) -> None:
    settings.REDIS_URL = "unix:///nowhere/redis.sock"
    assert not publish_news(7, 2)
    assert "news 7:2 not sent" in caplog.text
