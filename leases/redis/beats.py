"""Beats of nodes in Redis, four times a second while there is work. Without Redis reorganisations ask the database."""

import logging
import math
from collections.abc import Iterable

from redis import Redis
from redis import asyncio as redis_asyncio
from redis.exceptions import RedisError

from leases.beats import Beat, Beats, MalformedBeats, from_text
from leases.redis.cancellation import heed_cancellation

log = logging.getLogger(__name__)

IDLE_EVERY = 4
"""A node that does nothing sends each fourth of its beats."""
GONE_AFTER_S = 2.5
REDIS_S_MAX = 0.2


async def publish(client: redis_asyncio.Redis, node: str, beats: Beats) -> None:
    try:
        await client.set(_key(node), beats.to_text(), px=math.ceil(1000 * GONE_AFTER_S))
    except (RedisError, OSError) as error:
        log.debug("beats of %s not sent: %s", node, error)
    finally:
        heed_cancellation()


def reader(url: str) -> Redis:
    return Redis.from_url(url, socket_timeout=REDIS_S_MAX, socket_connect_timeout=REDIS_S_MAX)


def read(client: Redis, nodes: Iterable[str]) -> dict[str, list[Beat]]:
    """The beats of each of these nodes, oldest first; none without Redis."""
    names = sorted(nodes)
    if not names:
        return {}
    try:
        texts = client.mget([_key(name) for name in names])
        return {name: from_text(text) for name, text in zip(names, texts, strict=True) if text}
    except (RedisError, OSError, MalformedBeats) as error:
        log.debug("beats of nodes not read: %s", error)
        return {}


def _key(node: str) -> str:
    return f"schemalab:beats:{node}"
