"""A job that writes rows is a node (T1): it registers, leases the version it uses, and leaves. Publishers wait for it
by the same rules; a dead one blocks until its lease expires. Each concurrent worker is a node of its own (L4)."""

from dataclasses import dataclass
from types import TracebackType
from typing import Any

import psycopg

from catalog.descriptor import Descriptor, from_json
from spark_tasks.jobs.heartbeat import Heartbeat
from storage import postgres

HEARTBEAT_S = 1.0


class NotLeasable(Exception):
    """The table is absent, dropped, or was never published."""


@dataclass(frozen=True, slots=True)
class Membership:
    """The node for its workers, whose database sessions bear its name (L8)."""

    dsn: str
    name: str
    incarnation: int
    lease_s: float

    @property
    def session_name(self) -> str:
        return f"schemalab node {self.name} {self.incarnation}"

    def connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.dsn, autocommit=True, **postgres.session_options(self.session_name))


@dataclass(frozen=True, slots=True)
class Lease:
    """The newest version of a table, leased until `expires_at`."""

    descriptor: Descriptor
    schema_hash: str
    sharding_hash: str
    expires_at: Any

    def enter(self, connection: psycopg.Connection[Any], storages: int, until: Any = None) -> None:
        """The new transaction enters the table (T2), until the earlier of `until` and the lease's end (T4)."""
        postgres.enter(
            connection,
            self.descriptor.storage_count(storages),
            self.descriptor.table_id,
            self.descriptor.version,
            schema_hash=self.schema_hash,
            sharding_hash=self.sharding_hash,
            expires_at=until or self.expires_at,
        )


def acquire(connection: psycopg.Connection[Any], node: Membership, table_id: int) -> Lease:
    """A lease on the newest version, new or extended, on a connection in autocommit (L3)."""
    row = connection.execute(
        "SELECT body, schema_hash, sharding_hash, expires_at FROM lease_acquire(%s, %s, %s, %s)",
        (table_id, node.name, node.incarnation, node.lease_s),
    ).fetchone()
    if row is None:
        why = connection.execute("SELECT lease_refusal(%s)", (table_id,)).fetchone()
        raise NotLeasable(why[0] if why and why[0] else f"table {table_id} cannot be leased now")
    return Lease(from_json(row[0]), row[1], row[2], row[3])


def release(connection: psycopg.Connection[Any], node: Membership, lease: Lease) -> None:
    """Releases an unused version, so that the next publish need not wait."""
    connection.execute(
        "SELECT lease_release(%s, %s, %s, %s)",
        (lease.descriptor.table_id, lease.descriptor.version, node.name, node.incarnation),
    )


class PseudoNode:
    """Registered during the block, with heartbeats; ends a former incarnation."""

    def __init__(self, dsn: str, name: str, *, pid: int, lease_s: float) -> None:
        self._dsn, self._name, self._pid, self._lease_s = dsn, name, pid, lease_s

    def __enter__(self) -> Membership:
        with self._connect() as connection:
            row = connection.execute(
                "SELECT incarnation FROM node_register(%s, %s, %s, %s)", (self._name, "spark", 0, self._pid)
            ).fetchone()
        assert row is not None
        self._node = Membership(self._dsn, self._name, row[0], self._lease_s)
        self._heartbeat = Heartbeat(self._name, self._beat, dsn=self._dsn, beat_s=HEARTBEAT_S)
        self._heartbeat.__enter__()
        return self._node

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._heartbeat.__exit__()
        with self._connect() as connection:
            me = (self._node.name, self._node.incarnation)
            connection.execute("SELECT node_leave(%s, %s)", me)
            connection.execute("DELETE FROM leases_node WHERE name = %s AND incarnation = %s", me)

    def _connect(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self._dsn, autocommit=True, application_name="schemalab job")

    def _beat(self, connection: psycopg.Connection[Any]) -> None:
        connection.execute("SELECT node_heartbeat(%s, %s)", (self._node.name, self._node.incarnation))
