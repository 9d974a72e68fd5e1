"""News of versions over Redis pub/sub (L6). After each subscription comes `Missed`: the keeper asks the database."""

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.conf import settings
from redis import Redis
from redis import asyncio as redis_asyncio
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError

from catalog.elements import TableId
from leases.gossip import Look, MalformedNews, News, from_text, to_text
from leases.redis.cancellation import heed_cancellation

log = logging.getLogger(__name__)

CHANNEL = "schemalab:news"
PUBLISH_S_MAX = 0.5
PROBE_S = 2.0
"""A connection silent for this long is asked whether it still lives."""
RECONNECT_S_MIN = 0.05
RECONNECT_S_MAX = 2.0


@dataclass(frozen=True, slots=True)
class Missed:
    """Earlier news may be lost."""


def publish_news(table_id: int, version: int) -> bool:
    return _publish(News(TableId(table_id), version))


def call_node(node: str) -> bool:
    """Has a node look at its leases. False: it looks with its next heartbeat."""
    return _publish(Look(node))


def _publish(message: News | Look) -> bool:
    text = to_text(message)
    try:
        _publisher(settings.REDIS_URL).publish(CHANNEL, text)
    except (RedisError, OSError) as error:
        log.warning("news %s not sent: %s", text, error)
        return False
    return True


@cache
def _publisher(url: str) -> Redis:
    return Redis.from_url(url, socket_timeout=PUBLISH_S_MAX, socket_connect_timeout=PUBLISH_S_MAX)


async def listen(url: str) -> AsyncIterator[News | Look | Missed]:
    pause_s = RECONNECT_S_MIN
    while True:
        try:
            async for heard in _listen_once(url):
                pause_s = RECONNECT_S_MIN
                yield heard
        except (RedisError, OSError) as error:
            heed_cancellation()
            log.warning("no gossip from Redis, again in %.2f s: %s", pause_s, error)
        await asyncio.sleep(pause_s)
        pause_s = min(pause_s * 2, RECONNECT_S_MAX)


async def _listen_once(url: str) -> AsyncIterator[News | Look | Missed]:
    """News until the connection is lost; redis-py must not reconnect by itself, which would hide a gap."""
    client = redis_asyncio.from_url(
        url, retry=Retry(NoBackoff(), 0), socket_connect_timeout=PROBE_S, socket_timeout=PROBE_S, decode_responses=True
    )
    async with client, client.pubsub() as channel:
        await channel.subscribe(CHANNEL)
        is_probed = False
        while True:
            heed_cancellation()
            message = await channel.get_message(timeout=PROBE_S)
            if message is None and is_probed:
                raise RedisConnectionError(f"no answer within {PROBE_S:g} s")
            is_probed = message is None
            if message is None:
                await channel.ping()
            else:
                heard = _heard(message)
                if heard is not None:
                    yield heard


def _heard(message: dict[str, Any]) -> News | Look | Missed | None:
    """None for messages without news."""
    if message["type"] == "subscribe":
        return Missed()
    if message["type"] != "message":
        return None
    try:
        return from_text(message["data"])
    except MalformedNews as error:
        log.warning("ignored: %s", error)
        return None
