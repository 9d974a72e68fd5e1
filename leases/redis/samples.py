"""A node's last minute and lease holders in Redis, sent each second, dropped soon after the node ends."""

import logging
import math
from collections.abc import Iterable
from functools import cache

from django.conf import settings
from redis import Redis
from redis import asyncio as redis_asyncio
from redis.exceptions import RedisError

from leases import holders
from leases.holders import Holder, MalformedHolders
from leases.redis.cancellation import heed_cancellation
from leases.samples import SECONDS, MalformedSample, Sample, from_text
from leases.totals import MalformedTotals, Totals
from leases.totals import from_text as from_totals

log = logging.getLogger(__name__)

GONE_AFTER_S = 5
"""A node that has sent nothing for so long has no figures."""
REDIS_S_MAX = 0.5


def open_client(url: str) -> redis_asyncio.Redis:
    return redis_asyncio.from_url(url, socket_timeout=REDIS_S_MAX, socket_connect_timeout=REDIS_S_MAX)


async def publish(
    client: redis_asyncio.Redis, node: str, sample: Sample, held: str = "", lease_s: float = 0.0, totals: str = ""
) -> bool:
    """Sends the newest second, holders and `totals` (`leases.totals`). False: Redis did not answer."""
    key = _key(node)
    try:
        async with client.pipeline(transaction=True) as pipe:
            pipe.lpush(key, sample.to_text())
            pipe.ltrim(key, 0, SECONDS - 1)
            pipe.expire(key, GONE_AFTER_S)
            if held:
                pipe.set(_holders_key(node), held, ex=math.ceil(max(GONE_AFTER_S, lease_s)))
            if totals:
                pipe.set(_totals_key(node), totals, ex=GONE_AFTER_S)
            await pipe.execute()
    except (RedisError, OSError) as error:
        log.debug("sample of %s not sent: %s", node, error)
        return False
    finally:
        heed_cancellation()
    return True


def read_all(nodes: Iterable[str]) -> dict[str, list[Sample]]:
    """The last minute of each of these nodes; empty without Redis."""
    names = sorted(nodes)
    if not names:
        return {}
    try:
        with _reader(settings.REDIS_URL).pipeline(transaction=False) as pipe:
            for name in names:
                pipe.lrange(_key(name), 0, SECONDS - 1)
            found = pipe.execute()
    except (RedisError, OSError) as error:
        log.warning("samples of nodes not read: %s", error)
        return {}
    try:
        return {name: [from_text(text) for text in texts] for name, texts in zip(names, found, strict=True) if texts}
    except MalformedSample as error:  # written by a node of another release
        log.warning("samples of nodes not shown: %s", error)
        return {}


def read_holders(nodes: Iterable[str]) -> dict[str, tuple[int, tuple[Holder, ...]]]:
    names = sorted(set(nodes))
    if not names:
        return {}
    try:
        texts = _reader(settings.REDIS_URL).mget([_holders_key(name) for name in names])
        return {name: holders.from_text(text.decode()) for name, text in zip(names, texts, strict=True) if text}
    except (RedisError, OSError, MalformedHolders) as error:
        log.warning("holders of leases not read: %s", error)
        return {}


def read_totals(nodes: Iterable[str]) -> dict[str, Totals]:
    names = sorted(set(nodes))
    if not names:
        return {}
    try:
        texts = _reader(settings.REDIS_URL).mget([_totals_key(name) for name in names])
        return {name: from_totals(text.decode()) for name, text in zip(names, texts, strict=True) if text}
    except (RedisError, OSError, MalformedTotals) as error:
        log.warning("counts of nodes not read: %s", error)
        return {}


@cache
def _reader(url: str) -> Redis:
    return Redis.from_url(url, socket_timeout=REDIS_S_MAX, socket_connect_timeout=REDIS_S_MAX)


def _key(node: str) -> str:
    return f"schemalab:samples:{node}"


def _totals_key(node: str) -> str:
    return f"schemalab:totals:{node}"


def _holders_key(node: str) -> str:
    return f"schemalab:holders:{node}"
