"""X2: the schema-change lease, which makes one worker the driver of a change.

Its token grows with each holder; whoever writes on behalf of a change checks it under the row's lock, so a worker that
slept through its own replacement can do no harm, however late it wakes. A change of several tables holds one for each:
they are acquired, renewed, checked and released together, in the order of the tables' ids (L11, L14).
"""

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
    """Another worker moves this table now (X2): stop, change nothing, in no table."""


class LeaseTaken(Exception):
    """Another worker holds the table's schema-change lease and it has not expired."""


@dataclass(frozen=True, slots=True)
class SchemaChangeLease:
    """`holder` moves the schemas of some tables: the token for each, by id. `is_takeover`: from one who fell silent."""

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
    """Become the one worker that moves these tables; raises `LeaseTaken` while another one has any of them.

    All or none. A holder that lost its connection takes its tables from itself, with new tokens.
    """
    with control_transaction() as cur:
        taken = [(table_id, *_acquire(cur, table_id, holder)) for table_id in sorted(set(table_ids))]
    tokens = tuple((table_id, token) for table_id, token, _ in taken)
    return SchemaChangeLease(holder, tokens, is_takeover=any(was not in ("", holder) for _, _, was in taken))


def _acquire(cur: Any, table_id: int, holder: str) -> tuple[int, str]:
    """The new token, and who had the table before."""
    found = cur.execute("SELECT holder FROM changes_schemachangelease WHERE table_id = %s", (table_id,)).fetchone()
    was = found[0] if found else ""
    taken = cur.execute(ACQUIRE, {"table": table_id, "holder": holder, "length": LEASE_S}).fetchone()
    if taken is None:
        raise LeaseTaken(f"table {table_id} is moved by {was or 'another worker'}")
    return taken[0], was


def renew(lease: SchemaChangeLease) -> None:
    """Hold on for another while; raises `LeaseLost`. An expired lease that nobody took is still ours."""
    with control_transaction() as cur:
        check(cur, lease)
        cur.execute(
            "UPDATE changes_schemachangelease SET expires_at = clock_timestamp() + make_interval(secs => %s)"
            " WHERE table_id = ANY(%s) AND holder = %s",
            (LEASE_S, lease.table_ids, lease.holder),
        )


def release(lease: SchemaChangeLease) -> None:
    """Give the tables back, so that the next worker need not wait for the leases to expire."""
    with suppress(LeaseLost), control_transaction() as cur:
        check(cur, lease)
        cur.execute(
            "UPDATE changes_schemachangelease SET holder = '', expires_at = clock_timestamp() WHERE table_id = ANY(%s)",
            (lease.table_ids,),
        )


def check(cur: Any, lease: SchemaChangeLease) -> None:
    """The token check of X2 for every table, under the rows' locks: whoever takes over waits for this transaction."""
    cur.execute(
        "SELECT table_id, token FROM changes_schemachangelease WHERE table_id = ANY(%s) ORDER BY table_id FOR UPDATE",
        (lease.table_ids,),
    )
    found = dict(cur.fetchall())
    for table_id, token in lease.tokens:
        if found.get(table_id) != token:
            raise LeaseLost(f"table {table_id} was taken over from {lease.holder}")


class Renewal:
    """Renews a lease from a thread of its own, with its own connection, while the driver is busy or asleep."""

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
        """Until told to stop, or lost. A connection that breaks is opened anew at the next beat."""
        while not self.lost and not self._stop.wait(RENEW_S):
            try:
                renew(self._lease)
            except LeaseLost:
                self.lost = True
            except (DatabaseError, InterfaceError):
                connection.close()
        connection.close()
