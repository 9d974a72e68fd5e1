"""Telling the story: one fact, told to its streams inside the transaction that makes it true.

The SQL function `catalog_tell` numbers and stores the event; browsers hear of it after
the commit. A push that is lost costs nothing: a browser sees the gap in the numbers and
asks for what is missing.
"""

import hashlib
import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from asgiref.sync import async_to_sync
from channels.layers import get_channel_layer
from django.db import InternalError, OperationalError, connection, transaction
from redis.exceptions import RedisError

from catalog.story import shortened

log = logging.getLogger(__name__)

CONTROL_S = 2.0
TRANSACTION_TIMEOUT = "25P04"
APPEND_EVENT = "SELECT catalog_tell(%s, %s, %s, %s)"


class OutOfTime(OperationalError):
    """The server ended a control transaction at its limit: nothing of it is kept, and its connection is lost."""


@contextmanager
def control_transaction(seconds: float = CONTROL_S) -> Iterator[Any]:
    """READ COMMITTED with explicit locks (T6), ended by the server after so long whatever its client does (L7).

    Raises `OutOfTime` then: the same work may succeed when tried again.
    """
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            limit_transaction(cursor, seconds)
            yield cursor
    except InternalError as error:
        if getattr(error.__cause__, "sqlstate", None) != TRANSACTION_TIMEOUT:
            raise
        raise OutOfTime(f"a control transaction was not over within {seconds:g} s: nothing of it was kept") from error


def limit_transaction(cursor: Any, seconds: float = CONTROL_S) -> None:
    """The first statement of every control transaction (L7)."""
    cursor.execute(f"SET LOCAL transaction_timeout = '{round(seconds * 1000)}ms'")


def append_event(kind: str, subject: str, payload: Mapping[str, Any], streams: Iterable[str]) -> list[dict[str, Any]]:
    """Store one event in each of `streams`, and push it once the caller's transaction commits.

    Must be called inside a transaction (L14: after every other lock). Returns the stored events.
    """
    assert connection.in_atomic_block, "a story event belongs to the transaction that makes it true"
    with connection.cursor() as cursor:
        cursor.execute(APPEND_EVENT, [sorted(set(streams)), kind, subject, json.dumps(shortened(payload))])
        told = cursor.fetchone()[0]
    events = json.loads(told) if isinstance(told, str) else told
    transaction.on_commit(lambda: push(events), robust=True)
    return events


def push(events: Iterable[Mapping[str, Any]]) -> None:
    """Send committed events to the browsers that follow their streams."""
    async_to_sync(_push)(list(events))  # one event loop for all of them: making one costs more than sending


async def _push(events: list[Mapping[str, Any]]) -> None:
    layer = get_channel_layer()
    for event in events:
        try:
            await layer.group_send(group_of(event["stream"]), {"type": "story.event", "event": dict(event)})
        except (RedisError, OSError) as error:
            log.warning("story event %s of %s not pushed: %s", event["seq"], event["stream"], error)


def end_sockets(session_key: str) -> None:
    """Close the live pages of a session that is over; those a lost push leaves open end with their tab."""
    async_to_sync(_end_sockets)(session_group(session_key))


async def _end_sockets(group: str) -> None:
    try:
        await get_channel_layer().group_send(group, {"type": "session.over"})
    except (RedisError, OSError) as error:
        log.warning("live pages of a session that is over were not told: %s", error)


def session_group(session_key: str) -> str:
    """The channel-layer group of a session's sockets; the key itself is a secret and stays here."""
    return "session." + hashlib.sha256(session_key.encode()).hexdigest()[:32]


def group_of(stream: str) -> str:
    """The channel-layer group of a stream (group names allow no colon)."""
    return "stream." + stream.replace(":", ".")
