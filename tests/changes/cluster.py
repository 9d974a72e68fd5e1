"""A small cast for tests against the real database: a table, its nodes, and the moments they use it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import psycopg
from django.conf import settings
from django.db import connection as django_connection

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, Index, IndexColumn, IndexId, TableId
from catalog.hashing import schema_hash, sharding_hash
from catalog.services import limit_transaction
from catalog.values.types import SqlType
from changes.driver.publish import Blocked, close_last_but_one, publish
from storage import postgres as store

STORAGES = settings.STORAGE_COUNT
SECONDS = 60.0


def open_connection(purpose: str) -> psycopg.Connection[Any]:
    """A connection beside Django's to the same database: autocommit, READ COMMITTED."""
    params = django_connection.get_connection_params()
    for name in ("cursor_factory", "context", "prepare_threshold", "options"):
        params.pop(name, None)
    opened = psycopg.connect(**params | {"application_name": f"schemalab {purpose}"}, autocommit=True)
    opened.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
    return opened


@contextmanager
def control_transaction(opened: psycopg.Connection[Any]) -> Iterator[psycopg.Cursor[Any]]:
    """`catalog.services.control_transaction` on such a connection, with time for a machine that is busy."""
    with opened.transaction(), opened.cursor() as cur:
        limit_transaction(cur, SECONDS)
        yield cur


@dataclass
class Cluster:
    """One table at version 1, and connections that are closed at the end."""

    dsn: str
    admin: psycopg.Connection[Any]
    table: Descriptor
    opened: list[psycopg.Connection[Any]]

    def connect(self, name: str = "test", **options: Any) -> psycopg.Connection[Any]:
        connection = psycopg.connect(self.dsn, autocommit=True, application_name=name, **options)
        self.opened.append(connection)
        return connection

    def publish(self, *new: Descriptor) -> Blocked | None:
        """The whole of L7, by a publisher that nothing stops."""
        with control_transaction(self.admin) as cur:
            hindrance = publish(cur, new, storages=STORAGES)
            if hindrance is None:
                close_last_but_one(cur, new, storages=STORAGES)
            return hindrance

    def node(self, name: str) -> int:
        """Register node `name`; its incarnation."""
        sql = "SELECT incarnation FROM node_register(%s, '127.0.0.1', 1, 1)"
        return self.admin.execute(sql, (name,)).fetchone()[0]

    def acquire(self, name: str, incarnation: int, seconds: float = 60.0, *, table_id: int | None = None) -> int:
        """A lease on the newest version; which one that is."""
        sql = "SELECT version FROM lease_acquire(%s, %s, %s, %s)"
        table = self.table.table_id if table_id is None else table_id
        return self.admin.execute(sql, (table, name, incarnation, seconds)).fetchone()[0]

    def release(self, name: str, incarnation: int, version: int, *, table_id: int | None = None) -> None:
        table = self.table.table_id if table_id is None else table_id
        self.admin.execute("SELECT lease_release(%s, %s, %s, %s)", (table, version, name, incarnation))

    def begin(self, version: int, name: str = "schemalab node n1 1", **options: Any) -> psycopg.Connection[Any]:
        """A data transaction of `version`, past the door (T2)."""
        return self.begin_on(self.table.table_id, version, name, **options)

    def begin_on(self, table_id: int, version: int, name: str, **options: Any) -> psycopg.Connection[Any]:
        """The same on any table."""
        connection = self.connect(name, **options)
        until = connection.execute("SELECT clock_timestamp() + interval '1 min'").fetchone()[0]
        connection.execute("BEGIN ISOLATION LEVEL SERIALIZABLE")
        store.enter(connection, STORAGES, table_id, version, expires_at=until)
        return connection

    def try_begin(self, version: int, *, table_id: int | None = None) -> psycopg.Connection[Any] | None:
        """The same by somebody who does not wait; None when the door is shut, or the lock taken."""
        table = self.table.table_id if table_id is None else table_id
        try:
            return self.begin_on(table, version, "schemalab node n1 1", options="-c lock_timeout=50")
        except psycopg.Error as error:
            self.opened[-1].close()
            if error.sqlstate not in ("55P03", store.BELOW_FENCE):
                raise
            return None

    def version(self, table_id: int | None = None) -> int:
        sql = "SELECT version FROM catalog_table WHERE id = %s"
        return self.admin.execute(sql, (table_id or self.table.table_id,)).fetchone()[0]

    def fence(self, table_id: int | None = None) -> int:
        return store.fence(self.admin.cursor(), STORAGES, table_id or self.table.table_id)

    def leased(self) -> list[int]:
        sql = "SELECT version FROM leases_lease WHERE table_id = %s AND expires_at > clock_timestamp()"
        return [version for (version,) in self.admin.execute(sql, (self.table.table_id,))]

    def close(self) -> None:
        for connection in (*self.opened, self.admin):
            connection.close()


def make_cluster(dsn: str, name: str = "people") -> Cluster:
    """Table `name` (id bigint primary key, age integer), public at version 1."""
    admin = open_connection("test")
    columns = (Column(ColumnId(1), "id", SqlType.BIGINT, not_null=True), Column(ColumnId(2), "age", SqlType.INTEGER))
    table_id = reserve(admin, name)
    table = Descriptor(table_id, name, 1, columns, (ColumnId(1),), next_column_id=ColumnId(3))
    cluster = Cluster(dsn, admin, table, [])
    assert cluster.publish(table) is None
    return cluster


def reserve(admin: psycopg.Connection[Any], name: str) -> TableId:
    """The id of a new table of that name, its storage ready, nothing published."""
    with control_transaction(admin) as cur:
        table_id = store.take_spare_table(cur)
        cur.execute(
            "INSERT INTO catalog_table (id, name, version, state, created_at)"
            " VALUES (%s, %s, 0, 'reserved', clock_timestamp())",
            (table_id, name),
        )
    return TableId(table_id)


def versions(table: Descriptor, count: int) -> list[Descriptor]:
    """The next versions of a table, each with a schema of its own, whatever it means."""
    made = []
    for _ in range(count):
        index = Index(table.next_index_id, f"i{table.next_index_id}", (IndexColumn(ColumnId(2)),))
        table = table.with_index(index)
        made.append(table)
    return made


def hashes(table: Descriptor) -> tuple[str, str]:
    return schema_hash(table), sharding_hash(table)


class InterruptedCursor:
    """A cursor that lets somebody else act right before its `at`-th statement."""

    def __init__(self, cursor: psycopg.Cursor[Any], at: int, rival: Callable[[], None]) -> None:
        self._cursor, self._at, self._rival, self.count = cursor, at, rival, 0

    def execute(self, *args: Any) -> psycopg.Cursor[Any]:
        self.count += 1
        if self.count == self._at:
            self._rival()
        return self._cursor.execute(*args)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._cursor, name)


__all__ = [
    "STORAGES",
    "Cluster",
    "IndexId",
    "InterruptedCursor",
    "hashes",
    "make_cluster",
    "replace",
    "reserve",
    "versions",
]
