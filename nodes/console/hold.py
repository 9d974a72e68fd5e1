"""A transaction that is kept open on a node for somebody who wants to see a wait.

    begin     BEGIN, and one row of the table is read: from now on the node keeps the version that it read with
    look      each second: the node says when the transaction had to end, since its lease has expired
    end       by the button, or at `until`; the session ends with it

It is a real session, and stands in the story with who began it. Holds live in the web process; a restart ends them.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import psycopg
from django.db import DatabaseError, connection
from psycopg import sql

from catalog.services import append_event, control_transaction
from catalog.story import CLUSTER, table_stream

log = logging.getLogger(__name__)

HOLD_S_MAX = 300.0
"""A hold that no newer version ends is over then."""
HOLDS_MAX = 3
LOOK_S = 1.0


class HoldRefused(Exception):
    """Nothing is held, or cannot be now; the message says why."""


@dataclass(slots=True)
class Hold:
    """`who` keeps a transaction open on `node` that has read `table`, for `until` at most."""

    node: str
    who: str
    table_id: int
    table: str
    until: datetime
    session: psycopg.Connection
    is_over: threading.Event = field(default_factory=threading.Event)


_holds: dict[str, Hold] = {}
_guard = threading.Lock()
"""By node: one each."""


def holds() -> list[Hold]:
    """Those that last, by node."""
    with _guard:
        return [_holds[node] for node in sorted(_holds)]


def begin(node: str, *, who: str, table_id: int, table: str, connect: Callable[[], psycopg.Connection]) -> Hold:
    """Open the transaction and keep it. Raises `HoldRefused`."""
    with _guard:
        if node in _holds:
            raise HoldRefused(f"{_holds[node].who} holds a transaction open on {node} already")
        if len(_holds) >= HOLDS_MAX:
            raise HoldRefused(f"{len(_holds)} transactions are held open, {HOLDS_MAX} are the limit")
        try:
            session = connect()
            session.execute("BEGIN")
            session.execute(sql.SQL("SELECT * FROM {} LIMIT 1").format(sql.Identifier(table)))
        except psycopg.Error as error:
            raise HoldRefused(f"{node} does not take it: {error}") from error
        until = datetime.now(UTC) + timedelta(seconds=HOLD_S_MAX)
        hold = _holds[node] = Hold(node, who, table_id, table, until, session)
    _append("transaction held", hold, who=who)
    threading.Thread(target=_look, args=(hold,), name=f"hold on {node}", daemon=True).start()
    return hold


def release(node: str, *, who: str) -> None:
    """End the hold on a node. Raises `HoldRefused`."""
    with _guard:
        hold = _holds.get(node)
    if hold is None or not _end(hold):
        raise HoldRefused(f"no transaction is held open on {node}")
    _append("held transaction ended", hold, who=who)


def _look(hold: Hold) -> None:
    """Until it is over: ask the session whether its transaction still is."""
    try:
        while not hold.is_over.wait(LOOK_S):
            if datetime.now(UTC) >= hold.until or not _lasts(hold):
                if _end(hold):
                    _append("held transaction over", hold, who=hold.who)
                return
    except DatabaseError:
        log.exception("the end of the hold on %s is not in the story", hold.node)
    finally:
        connection.close()


def _lasts(hold: Hold) -> bool:
    try:
        hold.session.execute("SELECT 1")
    except psycopg.Error:
        return False
    return True


def _end(hold: Hold) -> bool:
    """End its session; False: somebody else was first."""
    with _guard:
        if _holds.get(hold.node) is not hold:
            return False
        del _holds[hold.node]
    hold.is_over.set()
    with contextlib.suppress(psycopg.Error):
        hold.session.close()
    return True


def _append(kind: str, hold: Hold, *, who: str) -> None:
    payload = {"who": who, "node": hold.node, "table": hold.table, "table_id": hold.table_id}
    with control_transaction():
        append_event(kind, hold.table, payload, [CLUSTER, table_stream(hold.table_id)])
