"""Tables, versions and nodes as bare rows, and a publisher who does L7 by hand over a connection of its own."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, State, TableId
from catalog.hashing import schema_hash, sharding_hash
from catalog.values.types import SqlType

USERS = 7
LEASE_S = 30.0
BLOCKED_S_MAX = 5.0

Connection = psycopg.Connection[tuple[Any, ...]]


def users(version: int = 1, *, state: State = State.PUBLIC, table_id: int = USERS, name: str = "users") -> Descriptor:
    key = Column(id=ColumnId(1), name="id", type=SqlType.BIGINT, not_null=True)
    return Descriptor(
        table_id=TableId(table_id), name=name, version=version, state=state, columns=(key,), primary_key=(ColumnId(1),)
    )


def make_table(database: Connection, descriptor: Descriptor | None = None, *, table_state: str = "live") -> None:
    made = descriptor or users()
    database.execute(
        "INSERT INTO catalog_table (id, name, version, state, created_at) VALUES (%s, %s, %s, %s, clock_timestamp())",
        [made.table_id, made.name, made.version, table_state],
    )
    write_version(database, made)


def write_version(database: Connection, made: Descriptor) -> None:
    database.execute(
        "INSERT INTO catalog_descriptor (table_id, version, body, schema_hash, sharding_hash, modified_at)"
        " VALUES (%s, %s, %s, %s, %s, clock_timestamp())",
        [made.table_id, made.version, json.dumps(made.to_json()), schema_hash(made), sharding_hash(made)],
    )


def begin_publish(publisher: Connection, made: Descriptor) -> None:
    """The table's row, then the version: committed by the caller. Raises `LockNotAvailable`."""
    publisher.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
    publisher.execute("SELECT FROM catalog_table WHERE id = %s FOR UPDATE NOWAIT", [made.table_id])
    write_version(publisher, made)


def publish(publisher: Connection, made: Descriptor) -> None:
    begin_publish(publisher, made)
    publisher.execute("COMMIT")


def live_leases_below(publisher: Connection, version: int, *, table_id: int = USERS) -> int:
    return only(
        publisher,
        "SELECT count(*) FROM leases_lease WHERE table_id = %s AND version < %s AND expires_at > clock_timestamp()",
        table_id,
        version,
    )


def register(database: Connection, node: str = "n1") -> int:
    return only(database, "SELECT incarnation FROM node_register(%s, '127.0.0.1', 5433, 1)", node)


def acquire(
    database: Connection, node: str = "n1", *, incarnation: int = 1, lease_s: float = LEASE_S, table_id: int = USERS
) -> tuple[Any, ...] | None:
    query = "SELECT version, body, schema_hash, sharding_hash, expires_at, remaining_s FROM lease_acquire(%s,%s,%s,%s)"
    return database.execute(query, [table_id, node, incarnation, lease_s]).fetchone()


def renew(database: Connection, node: str = "n1", *, incarnation: int = 1, tables: tuple[int, ...] = (USERS,)) -> Any:
    query = "SELECT table_id, version, outcome FROM lease_renew(%s, %s, %s, %s)"
    return database.execute(query, [node, incarnation, LEASE_S, list(tables)]).fetchall()


def leased(database: Connection) -> list[tuple[Any, ...]]:
    """(table, version, node, incarnation) of every row, expired or not."""
    return database.execute(
        "SELECT table_id, version, node, incarnation FROM leases_lease ORDER BY 1, 2, 3, 4"
    ).fetchall()


def expire(database: Connection, *, version: int = 1) -> None:
    database.execute(
        "UPDATE leases_lease SET expires_at = clock_timestamp() - interval '1 ms' WHERE version = %s", [version]
    )


def only(database: Connection, query: str, *params: Any) -> Any:
    """The one value of the one row."""
    row = database.execute(query, params).fetchone()
    assert row is not None, query
    return row[0]


class Asking(threading.Thread):
    """A request in a session of its own: it may have to wait for a lock, and its result is there when it is over."""

    def __init__(self, database: Connection, ask: Any) -> None:
        super().__init__(daemon=True)
        self.database, self._ask = database, ask
        self._result: Any = None
        self._error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self._result = self._ask(self.database)
        except psycopg.Error as error:
            self._error = error

    def result(self) -> Any:
        self.join(BLOCKED_S_MAX)
        assert not self.is_alive(), "the request still waits"
        if self._error is not None:
            raise self._error
        return self._result


def wait_until_blocked(watcher: Connection, blocked: Connection) -> None:
    """Returns when the session waits for a lock that another one holds."""
    deadline = time.monotonic() + BLOCKED_S_MAX
    while not only(watcher, "SELECT cardinality(pg_blocking_pids(%s))", blocked.info.backend_pid):
        assert time.monotonic() < deadline, "the session never had to wait"
        time.sleep(0.005)  # PostgreSQL tells nobody that a session waits


@contextmanager
def using(dsn: str, *, node: str = "n1", incarnation: int = 1, version: int = 1) -> Iterator[Connection]:
    """A transaction of a node that uses a version: it holds the shared lock that `enter` takes (T2)."""
    session = psycopg.connect(dsn, application_name=f"schemalab node {node} {incarnation}", autocommit=True)
    try:
        session.execute("BEGIN")
        session.execute("SELECT pg_advisory_xact_lock_shared(%s, %s)", [USERS, version])
        yield session
    finally:
        session.close()
