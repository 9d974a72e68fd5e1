"""A transaction that is kept open on a node, so that a person can watch a wait. It is a real session, and stands in the
story with who began it. It ends by the button or at `until`, also when the node is frozen. Holds live in the web
process; a restart ends them. The Cluster page reads the holds, so no lock is kept while a node is asked."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import psycopg
from django.db import DatabaseError, connection
from django.utils.translation import gettext
from psycopg import sql

from catalog.services import append_event, control_transaction
from catalog.story import CLUSTER, table_stream

log = logging.getLogger(__name__)

HOLD_S_MAX = 300.0
"""A hold ends after this at the latest."""
HOLDS_MAX = 3
LOOK_S = 1.0
READ_S_MAX = 5.0
"""BEGIN and the first row take at most this."""


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
    began: datetime = field(default_factory=lambda: datetime.now(UTC))
    """When it read: it uses the version that was the newest by then."""
    wire: socket.socket | None = None
    """The session's socket under a descriptor of our own: shutting it wakes up the thread that waits at the session."""
    is_begun: threading.Event = field(default_factory=threading.Event)
    """Its beginning is in the story, or has failed. Until then it only keeps its place."""
    is_over: threading.Event = field(default_factory=threading.Event)


_holds: dict[str, Hold] = {}
"""By node: one each."""
_guard = threading.Lock()


def holds() -> list[Hold]:
    with _guard:
        return [hold for _, hold in sorted(_holds.items()) if hold.is_begun.is_set()]


def begin(node: str, *, who: str, table_id: int, table: str, connect: Callable[[], psycopg.Connection]) -> Hold:
    """Open the transaction and keep it. Raises `HoldRefused`."""
    hold = Hold(node, who, table_id, table, datetime.now(UTC) + timedelta(seconds=HOLD_S_MAX))
    with _guard:
        if (other := _holds.get(node)) is not None:
            names = {"who": other.who, "node": node}
            raise HoldRefused(gettext("%(who)s already holds a transaction open on %(node)s.") % names)
        if len(_holds) >= HOLDS_MAX:
            raise HoldRefused(gettext("%(n)s transactions are held open. That is the limit.") % {"n": HOLDS_MAX})
        _holds[node] = hold
    try:
        session = _open(hold, connect)
        hold.began = datetime.now(UTC)
        threading.Thread(target=_watch, args=(hold, session), name=f"hold on {node}", daemon=True).start()
        _append("transaction held", hold, who=who)
    except BaseException:
        _end(hold)
        raise
    finally:
        hold.is_begun.set()
    return hold


def release(node: str, *, who: str) -> None:
    """End the hold on a node. Raises `HoldRefused`."""
    with _guard:
        hold = _holds.get(node)
    if hold is None or not hold.is_begun.is_set() or not _end(hold):
        raise HoldRefused(gettext("No transaction is held open on %(node)s.") % {"node": node})
    _append("held transaction ended", hold, who=who)


def _open(hold: Hold, connect: Callable[[], psycopg.Connection]) -> psycopg.Connection:
    with contextlib.ExitStack() as failing:
        try:
            session = connect()
            failing.callback(_close, hold, session)
            hold.wire = socket.socket(fileno=os.dup(session.fileno()))
            with _shut_after(READ_S_MAX, hold):
                session.execute("BEGIN")
                session.execute(sql.SQL("SELECT * FROM {} LIMIT 1").format(sql.Identifier(hold.table)))
        except psycopg.Error as error:
            names = {"node": hold.node, "error": str(error).strip()}
            raise HoldRefused(gettext("cannot open a transaction on %(node)s: %(error)s") % names) from error
        failing.pop_all()
    return session


def _watch(hold: Hold, session: psycopg.Connection) -> None:
    """Until it is over: ask the session whether its transaction still is. Then close the session."""
    hold.is_begun.wait()
    try:
        with _shut_after((hold.until - datetime.now(UTC)).total_seconds(), hold):
            while not hold.is_over.wait(LOOK_S):
                if datetime.now(UTC) >= hold.until or not _lasts(session):
                    if _end(hold):
                        _append("held transaction over", hold, who=hold.who)
                    return
    except DatabaseError:
        log.exception("the end of the hold on %s is not in the story", hold.node)
    finally:
        _end(hold)  # whatever has failed: without its watcher nothing would end it
        _close(hold, session)
        connection.close()


def _lasts(session: psycopg.Connection) -> bool:
    try:
        session.execute("SELECT 1")
    except psycopg.Error:
        return False
    return True


def _end(hold: Hold) -> bool:
    """Frees its place and shuts its wire; False: another end was first."""
    with _guard:
        if _holds.get(hold.node) is not hold:
            return False
        del _holds[hold.node]
    hold.is_over.set()
    _shut(hold)
    return True


@contextlib.contextmanager
def _shut_after(seconds: float, hold: Hold) -> Iterator[None]:
    """While inside, the time runs: a node that is frozen would keep its caller for ever."""
    timer = threading.Timer(seconds, _shut, (hold,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _shut(hold: Hold) -> None:
    with _guard, contextlib.suppress(OSError):  # the connection has ended already
        if hold.wire is not None:
            hold.wire.shutdown(socket.SHUT_RDWR)


def _close(hold: Hold, session: psycopg.Connection) -> None:
    """The thread that uses the session closes it; under the lock no descriptor is shut that is another's by now."""
    session.close()
    with _guard:
        if hold.wire is not None:
            hold.wire.close()


def _append(kind: str, hold: Hold, *, who: str) -> None:
    payload = {"who": who, "node": hold.node, "table": hold.table, "table_id": hold.table_id}
    with control_transaction():
        append_event(kind, hold.table, payload, [CLUSTER, table_stream(hold.table_id)])
