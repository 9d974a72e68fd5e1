"""Appends events to the story, in each of their streams, in the transaction that makes them true. A trigger notifies
`schemalab_story` on commit; a lost notification costs nothing, since a browser sees the gap in the numbers."""

import hashlib
import json
import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.db import DatabaseError, InternalError, OperationalError, connection, transaction

from catalog.story import shortened

log = logging.getLogger(__name__)

CONTROL_S = 2.0
TRANSACTION_TIMEOUT = "25P04"
NOT_SENT = "sending query failed"
NOT_OVER = "a control transaction was not over within {:g} s: nothing of it was kept"
APPEND_EVENT = "SELECT catalog_tell(%s, %s, %s, %s)"


class OutOfTime(OperationalError):
    """The server ended a control transaction at its limit; nothing of it is kept."""


@contextmanager
def control_transaction(seconds: float = CONTROL_S) -> Iterator[Any]:
    """READ COMMITTED with explicit locks (T6), ended by the server after its limit (L7). Raises `OutOfTime`, also when
    the session ended in between."""
    began = time.monotonic()
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            limit_transaction(cursor, seconds)
            yield cursor
    except InternalError as error:
        if getattr(error.__cause__, "sqlstate", None) != TRANSACTION_TIMEOUT:
            raise
        raise OutOfTime(NOT_OVER.format(seconds)) from error
    except OperationalError as error:
        if not str(error).startswith(NOT_SENT) or time.monotonic() - began < seconds:
            raise
        raise OutOfTime(NOT_OVER.format(seconds)) from error


def limit_transaction(cursor: Any, seconds: float = CONTROL_S) -> None:
    """The first statement of a control transaction (L7)."""
    cursor.execute(f"SET LOCAL transaction_timeout = '{round(seconds * 1000)}ms'")


def append_event(kind: str, subject: str, payload: Mapping[str, Any], streams: Iterable[str]) -> None:
    """Stores one event in each of `streams`, inside a transaction (L14: after every other lock)."""
    assert connection.in_atomic_block, "a story event belongs to the transaction that makes it true"
    with connection.cursor() as cursor:
        cursor.execute(APPEND_EVENT, [sorted(set(streams)), kind, subject, json.dumps(shortened(payload))])


def end_sockets(session_key: str) -> None:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_notify('schemalab_sign_out', %s)", [session_digest(session_key)])
    except DatabaseError as error:
        log.warning("live pages of a session that is over stay open until they connect again: %s", error)


def session_digest(session_key: str) -> str:
    """A public name of a session, whose key is secret."""
    return hashlib.sha256(session_key.encode()).hexdigest()[:32]
