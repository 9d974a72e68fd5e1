"""The pairs of one table in PostgreSQL, behind one interface with the memory store: what both do can be compared."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import psycopg
from psycopg import errors

from storage.buckets import BUCKETS
from storage.mutations import Op
from storage.pairs import Pair
from storage.statements import bounds, get_sql, lookup, scan_sql, statements_for
from storage.store import DuplicateKey, SerializationFailure
from tests.storage import pairs_sql


class Transaction(Protocol):
    """A serializable transaction over all storages."""

    def get(self, storage: int, key: bytes) -> bytes | None: ...

    def scan(self, storage: int, low: bytes, high: bytes) -> list[Pair]: ...

    def apply(self, ops: Iterable[Op]) -> None: ...

    def commit(self) -> None: ...

    def rollback(self) -> None: ...


class Store(Protocol):
    """Pairs of one table on storages 1..n."""

    storages: int

    def begin(self) -> Transaction: ...

    def contents(self) -> Sequence[Mapping[bytes, bytes | None]]: ...


@dataclass
class PostgresStore:
    """The pairs of one table behind the interface of `storage.store`; `enter` is run at each begin when given."""

    connect: Callable[[], psycopg.Connection[Any]]
    table_id: int
    storages: int = 2
    buckets: int = BUCKETS
    enter: Callable[[psycopg.Connection[Any]], object] | None = None
    idle: list[psycopg.Connection[Any]] | None = None
    """Where connections wait for the next transaction, when they do; whoever gives the list closes them."""

    def begin(self) -> "PostgresTransaction":
        connection = self.idle.pop() if self.idle else self.connect()
        connection.autocommit = False
        if self.enter is None:
            connection.execute("SELECT 1")  # the snapshot is taken here, as the memory store takes it
        else:
            self.enter(connection)
        return PostgresTransaction(self, connection)

    def contents(self) -> list[dict[bytes, bytes | None]]:
        with self.connect() as connection:
            return [
                dict(connection.execute(pairs_sql.pairs(number, self.table_id)).fetchall())
                for number in range(1, self.storages + 1)
            ]


@dataclass
class PostgresTransaction:
    """One serializable transaction, with PostgreSQL's refusals told as the memory store tells them."""

    store: PostgresStore
    connection: psycopg.Connection[Any]
    refused: list[bytes] = field(default_factory=list)

    def get(self, storage: int, key: bytes) -> bytes | None:
        row = self._run(get_sql(storage, self.store.table_id), lookup([key])).fetchone()
        return None if row is None else row[1]

    def scan(self, storage: int, low: bytes, high: bytes) -> list[Pair]:
        page = scan_sql(storage, self.store.table_id, tombstones=True)
        return self._run(page, (*bounds(low, high), None)).fetchall()

    def apply(self, ops: Iterable[Op]) -> None:
        for statement in statements_for(ops, self.store.table_id, self.store.storages, buckets=self.store.buckets):
            result = self._run(statement.sql, statement.params)
            if statement.returns_keys:
                for key in statement.refused(key for (key,) in result.fetchall()):
                    raise DuplicateKey(key)

    def commit(self) -> None:
        try:
            self.connection.commit()
        except errors.SerializationFailure as failure:
            raise SerializationFailure(str(failure)) from failure
        finally:
            self._leave()

    def rollback(self) -> None:
        self._leave()

    def _leave(self) -> None:
        """Roll back what is left, and let the next transaction have the connection, or nobody."""
        if self.store.idle is None:
            self.connection.close()
        elif not self.connection.closed:
            self.connection.rollback()
            self.store.idle.append(self.connection)

    def _run(self, sql: str, params: Sequence[Any]) -> psycopg.Cursor[Any]:
        try:
            return self.connection.execute(sql, params)
        except (errors.SerializationFailure, errors.DeadlockDetected) as failure:
            raise SerializationFailure(str(failure)) from failure
