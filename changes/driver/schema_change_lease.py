"""The driver's own database connections: one to act on, one to listen on, and the lease that makes it the driver.

A driver never polls. Whatever it waits for (a lease that goes, a reorganisation that ends, a user who cancels) is
notified by the transaction that makes it so, and `Ear` sleeps until then. It listens before it looks, so nothing
falls between looking and sleeping.

X2: the schema-change lease. Its token grows with each holder; whoever writes on behalf of a change checks it under
the row's lock, so a worker that slept through its own replacement can do no harm, however late it wakes. A change of
several tables holds one for each: they are taken, renewed, checked and given back together, in the order of the tables'
ids (L11, L14).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import psycopg
from django.db import connection as django_connection

from catalog.services import limit_transaction

LEASE_S = 10.0
RENEW_S = 3.0
CHANNELS = ("schemalab_lease", "schemalab_reorg", "schemalab_change")
CONNECT_TIMEOUT_S = 5

Connection = psycopg.Connection[Any]
Cursor = psycopg.Cursor[Any]


class LostTheTable(Exception):
    """Another worker moves this table now (X2): stop, change nothing, in no table."""


class TableIsTaken(Exception):
    """Another worker holds the table's schema-change lease and it has not expired."""


def open_connection(purpose: str) -> Connection:
    """A connection of our own to Django's database: autocommit, READ COMMITTED, not shared with any request."""
    params = django_connection.get_connection_params()
    for name in ("cursor_factory", "context", "prepare_threshold", "options"):
        params.pop(name, None)
    chosen = params | {"application_name": f"schemalab {purpose}", "connect_timeout": CONNECT_TIMEOUT_S}
    opened = psycopg.connect(**chosen, autocommit=True)
    opened.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
    return opened


@contextmanager
def control_transaction(opened: Connection) -> Iterator[Cursor]:
    """`catalog.services.control_transaction` on a connection of our own."""
    with opened.transaction(), opened.cursor() as cur:
        limit_transaction(cur)
        yield cur


class Ear:
    """Sleeps until something is notified that concerns this change."""

    def __init__(self, opened: Connection, channels: Collection[str] = CHANNELS) -> None:
        self._opened = opened
        for channel in channels:
            opened.execute(f"LISTEN {channel}")

    def wait(self, wanted: Collection[tuple[str, str]], timeout_s: float, *, not_from: int = 0) -> bool:
        """Whether one of the wanted (channel, payload) was notified within `timeout_s`; one's own do not count."""
        end = time.monotonic() + timeout_s
        while (left := end - time.monotonic()) > 0:
            for note in self._opened.notifies(timeout=left, stop_after=1):
                if (note.channel, note.payload) in wanted and note.pid != not_from:
                    return True
        return False

    def close(self) -> None:
        self._opened.close()


# --- the schema-change lease


@dataclass(frozen=True, slots=True)
class Grip:
    """`holder` moves the schemas of some tables: the token for each, by id. `is_takeover`: from one who fell silent."""

    holder: str
    tokens: tuple[tuple[int, int], ...]
    is_takeover: bool

    @property
    def table_ids(self) -> list[int]:
        return [table_id for table_id, _ in self.tokens]


TAKE = """
INSERT INTO changes_schemachangelease AS lease (table_id, holder, token, expires_at)
VALUES (%(table)s, %(holder)s, 1, clock_timestamp() + make_interval(secs => %(length)s))
ON CONFLICT (table_id) DO UPDATE
SET holder = excluded.holder, token = lease.token + 1, expires_at = excluded.expires_at
WHERE lease.expires_at <= clock_timestamp() OR lease.holder = excluded.holder
RETURNING token
"""


def take_tables(opened: Connection, table_ids: Iterable[int], holder: str) -> Grip:
    """Become the one worker that moves these tables; raises `TableIsTaken` while another one has any of them.

    All or none. A holder that lost its connection takes its tables from itself, with new tokens.
    """
    with control_transaction(opened) as cur:
        taken = [(table_id, *_take(cur, table_id, holder)) for table_id in sorted(set(table_ids))]
    tokens = tuple((table_id, token) for table_id, token, _ in taken)
    return Grip(holder, tokens, is_takeover=any(was not in ("", holder) for _, _, was in taken))


def _take(cur: Cursor, table_id: int, holder: str) -> tuple[int, str]:
    """The new token, and who had the table before."""
    found = cur.execute("SELECT holder FROM changes_schemachangelease WHERE table_id = %s", (table_id,)).fetchone()
    was = found[0] if found else ""
    taken = cur.execute(TAKE, {"table": table_id, "holder": holder, "length": LEASE_S}).fetchone()
    if taken is None:
        raise TableIsTaken(f"table {table_id} is moved by {was or 'another worker'}")
    return taken[0], was


def renew_tables(opened: Connection, grip: Grip) -> None:
    """Hold on for another while; raises `LostTheTable`. An expired lease that nobody took is still ours."""
    with control_transaction(opened) as cur:
        lock_grip(cur, grip)
        cur.execute(
            "UPDATE changes_schemachangelease SET expires_at = clock_timestamp() + make_interval(secs => %s)"
            " WHERE table_id = ANY(%s) AND holder = %s",
            (LEASE_S, grip.table_ids, grip.holder),
        )


def let_go(opened: Connection, grip: Grip) -> None:
    """Give the tables back, so that the next worker need not wait for the leases to expire."""
    with suppress(LostTheTable), control_transaction(opened) as cur:
        lock_grip(cur, grip)
        cur.execute(
            "UPDATE changes_schemachangelease SET holder = '', expires_at = clock_timestamp() WHERE table_id = ANY(%s)",
            (grip.table_ids,),
        )


def lock_grip(cur: Cursor, grip: Grip) -> None:
    """The token check of X2 for every table, under the rows' locks: whoever takes over waits for this transaction."""
    cur.execute(
        "SELECT table_id, token FROM changes_schemachangelease WHERE table_id = ANY(%s) ORDER BY table_id FOR UPDATE",
        (grip.table_ids,),
    )
    found = dict(cur.fetchall())
    for table_id, token in grip.tokens:
        if found.get(table_id) != token:
            raise LostTheTable(f"table {table_id} was taken over from {grip.holder}")


class Renewer:
    """Renews a grip from a thread of its own, while the driver is busy or asleep."""

    def __init__(self, grip: Grip) -> None:
        self._grip = grip
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"renew tables {grip.table_ids}", daemon=True)
        self.lost = False

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(timeout=CONNECT_TIMEOUT_S + LEASE_S)

    def _run(self) -> None:
        """Until told to stop, or lost. A connection that breaks is opened anew at the next beat."""
        opened: Connection | None = None
        while not self.lost and not self._stop.wait(RENEW_S):
            try:
                if opened is None or opened.closed:
                    opened = open_connection("renewer")
                renew_tables(opened, self._grip)
            except LostTheTable:
                self.lost = True
            except psycopg.Error:
                opened = None
        if opened is not None:
            opened.close()
