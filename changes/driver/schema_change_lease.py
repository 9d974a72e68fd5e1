"""X2: the schema-change lease, which makes one worker the driver of a change. Its token grows with each holder, and
each write for a change checks it under the row's lock: a worker that was replaced can do no harm. Leases of several
tables are acquired, renewed, checked and released together, in the order of ids (L11, L14)."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.db import DatabaseError, InterfaceError, connection

from catalog.services import control_transaction

LEASE_S = 10.0
RENEW_S = 3.0
STOP_S = 15.0


class LeaseLost(Exception):
    """Another worker moves this table now (X2): stop and change nothing."""


class LeaseTaken(Exception):
    """Another worker holds the table's schema-change lease."""


@dataclass(frozen=True, slots=True)
class SchemaChangeLease:
    """Tokens by table id. `is_takeover`: the previous holder's lease expired."""

    holder: str
    tokens: tuple[tuple[int, int], ...]
    is_takeover: bool

    @property
    def table_ids(self) -> list[int]:
        return [table_id for table_id, _ in self.tokens]


ACQUIRE = """
INSERT INTO changes_schemachangelease AS lease (table_id, holder, token, expires_at)
VALUES (%(table)s, %(holder)s, 1, clock_timestamp() + make_interval(secs => %(length)s))
ON CONFLICT (table_id) DO UPDATE
SET holder = excluded.holder, token = lease.token + 1, expires_at = excluded.expires_at
WHERE lease.expires_at <= clock_timestamp() OR lease.holder = excluded.holder
RETURNING token
"""


def acquire(table_ids: Iterable[int], holder: str) -> SchemaChangeLease:
    """Acquires all of these tables or none; raises `LeaseTaken`. A holder that lost its connection takes over from
    itself, with new tokens."""
    with control_transaction() as cur:
        taken = [(table_id, *_acquire(cur, table_id, holder)) for table_id in sorted(set(table_ids))]
    tokens = tuple((table_id, token) for table_id, token, _ in taken)
    return SchemaChangeLease(holder, tokens, is_takeover=any(was not in ("", holder) for _, _, was in taken))


def _acquire(cur: Any, table_id: int, holder: str) -> tuple[int, str]:
    found = cur.execute("SELECT holder FROM changes_schemachangelease WHERE table_id = %s", (table_id,)).fetchone()
    was = found[0] if found else ""
    taken = cur.execute(ACQUIRE, {"table": table_id, "holder": holder, "length": LEASE_S}).fetchone()
    if taken is None:
        raise LeaseTaken(f"table {table_id} is moved by {was or 'another worker'}")
    return taken[0], was


def renew(lease: SchemaChangeLease) -> None:
    """Extends the lease; raises `LeaseLost`. An expired lease that no worker took is still ours."""
    with control_transaction() as cur:
        check(cur, lease)
        cur.execute(
            "UPDATE changes_schemachangelease SET expires_at = clock_timestamp() + make_interval(secs => %s)"
            " WHERE table_id = ANY(%s) AND holder = %s",
            (LEASE_S, lease.table_ids, lease.holder),
        )


def release(lease: SchemaChangeLease) -> None:
    """Releases the tables, so that the next worker need not wait for the leases to expire."""
    with suppress(LeaseLost), control_transaction() as cur:
        check(cur, lease)
        cur.execute(
            "UPDATE changes_schemachangelease SET holder = '', expires_at = clock_timestamp() WHERE table_id = ANY(%s)",
            (lease.table_ids,),
        )


def check(cur: Any, lease: SchemaChangeLease) -> None:
    """Checks the tokens under the rows' locks (X2): a takeover waits for this transaction."""
    cur.execute(
        "SELECT table_id, token FROM changes_schemachangelease WHERE table_id = ANY(%s) ORDER BY table_id FOR UPDATE",
        (lease.table_ids,),
    )
    found = dict(cur.fetchall())
    for table_id, token in lease.tokens:
        if found.get(table_id) != token:
            raise LeaseLost(f"table {table_id} was taken over from {lease.holder}")


class Renewal:
    def __init__(self, lease: SchemaChangeLease) -> None:
        self._lease = lease
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"renew tables {lease.table_ids}", daemon=True)
        self.lost = False

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        self._thread.join(timeout=STOP_S)

    def _run(self) -> None:
        while not self.lost and not self._stop.wait(RENEW_S):
            try:
                renew(self._lease)
            except LeaseLost:
                self.lost = True
            except (DatabaseError, InterfaceError):
                connection.close()
        connection.close()
