"""A table on real storages, moved from version to version as the publisher does it; no nodes, no leases."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
from django.db import connection

from catalog import models as catalog
from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, Index, IndexColumn, IndexId, State, TableId
from catalog.hashing import schema_hash, sharding_hash
from catalog.values.types import SqlType
from storage import encoding, postgres
from storage.integrity.clauses import Violation, check
from storage.mutations import Op, delete_row, in_order, insert_row, update_row
from storage.pairs import StoredRow, row_key
from tests.kept import kept
from tests.storage import pairs_sql
from tests.storage.postgres_store import PostgresStore

STORAGES = 2
ID, NAME, AGE = ColumnId(1), ColumnId(2), ColumnId(3)
BY_NAME = Index(IndexId(1), "by_name", (IndexColumn(NAME),), state=State.DELETE_ONLY)


def users(table_id: int) -> Descriptor:
    """users(id bigint primary key, name text, age integer), version 1."""
    columns = (
        Column(ID, "id", SqlType.BIGINT, not_null=True),
        Column(NAME, "name", SqlType.TEXT),
        Column(AGE, "age", SqlType.INTEGER),
    )
    return Descriptor(TableId(table_id), "users", 1, columns, (ID,), next_column_id=ColumnId(4))


def user(descriptor: Descriptor, number: int, name: str | None = None, age: int | None = None) -> StoredRow:
    columns = {NAME: encoding.encode(SqlType.TEXT, name), AGE: encoding.encode(SqlType.INTEGER, age)}
    return StoredRow(row_key(descriptor, [number]), columns)


@dataclass
class Stage:
    """The table `users`; `versions` holds every descriptor published so far."""

    dsn: str
    table_id: int
    versions: list[Descriptor] = field(default_factory=list)
    idle: list[psycopg.Connection[Any]] = field(default_factory=list)
    """Of its store, for the next transaction."""
    storages: int = STORAGES
    """How many there are; `STORAGES` were there first."""

    @property
    def now(self) -> Descriptor:
        return self.versions[-1]

    def publish(self, descriptor: Descriptor, *, fence: int | None = None) -> Descriptor:
        """Make a version known everywhere; the fence follows as if the one before had been drained."""
        hashes = {"schema_hash": schema_hash(descriptor), "sharding_hash": sharding_hash(descriptor)}
        catalog.Descriptor.objects.create(
            table_id=self.table_id, version=descriptor.version, body=descriptor.to_json(), **hashes
        )
        catalog.Table.objects.filter(id=self.table_id).update(version=descriptor.version)
        with self.alone() as opened, opened.transaction(), opened.cursor() as cursor:
            postgres.insert_version_copy(cursor, self.storages, self.table_id, descriptor.version, **hashes)
            postgres.set_fence(cursor, self.storages, self.table_id, fence or descriptor.version)
        self.versions.append(descriptor)
        return descriptor

    def connect(self, name: str = "schemalab test") -> psycopg.Connection[Any]:
        return psycopg.connect(self.dsn, autocommit=False, **postgres.session_options(name))

    def enter(self, opened: psycopg.Connection[Any], version: int | None = None, *, seconds: float = 60) -> None:
        at = version or self.now.version
        [(expires_at,)] = self.sql("SELECT clock_timestamp() + make_interval(secs => %s)", [seconds])
        count = next(one for one in self.versions if one.version == at).storage_count(STORAGES)
        postgres.enter(opened, count, self.table_id, at, expires_at=expires_at)

    @contextmanager
    def transaction(self, version: int | None = None) -> Iterator["Statements"]:
        """A serializable transaction that has entered; commits at the end."""
        with self.connect() as opened:
            self.enter(opened, version)
            yield Statements(self, opened)

    def store(self) -> PostgresStore:
        return PostgresStore(self.connect, self.table_id, STORAGES, idle=self.idle)

    def contents(self) -> list[dict[bytes, bytes | None]]:
        with self.alone() as opened, opened.transaction():
            opened.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            return [
                dict(opened.execute(pairs_sql.pairs(number, self.table_id)).fetchall())
                for number in range(1, self.storages + 1)
            ]

    def violations(self, descriptor: Descriptor | None = None, **options: Any) -> list[Violation]:
        return check(descriptor or self.now, self.contents(), first=STORAGES, **options)

    def insert(self, rows: Iterable[StoredRow], descriptor: Descriptor | None = None) -> None:
        at = descriptor or self.now
        with self.transaction(at.version) as statements:
            statements.run(op for row in rows for op in insert_row(at, row))

    def delete(self, rows: Iterable[StoredRow], descriptor: Descriptor | None = None) -> None:
        at = descriptor or self.now
        with self.transaction(at.version) as statements:
            statements.run(op for row in rows for op in delete_row(at, row))

    def rename(self, row: StoredRow, name: str, descriptor: Descriptor | None = None) -> StoredRow:
        at, value = descriptor or self.now, encoding.encode(SqlType.TEXT, name)
        with self.transaction(at.version) as statements:
            statements.run(update_row(at, row, {NAME: value}))
        return StoredRow(row.key, {**row.columns, NAME: value})

    def sql(self, statement: str, params: Any = None) -> list[tuple[Any, ...]]:
        """Straight into the storages, past every rule."""
        with self.alone() as opened:
            cursor = opened.execute(statement, params)
            return cursor.fetchall() if cursor.description else []

    @contextmanager
    def alone(self) -> Iterator[psycopg.Connection[Any]]:
        """A connection in autocommit: the main thread's own one, or for others one that is closed at the end."""
        if threading.current_thread() is threading.main_thread():
            yield kept(self.dsn)
        else:
            with psycopg.connect(self.dsn, autocommit=True) as opened:
                yield opened


@dataclass
class Statements:
    """Runs operations in an open transaction."""

    stage: Stage
    connection: psycopg.Connection[Any]

    def run(self, ops: Iterable[Op]) -> None:
        for statement in postgres.statements_for(in_order(ops), self.stage.table_id, STORAGES):
            result = self.connection.execute(statement.sql, statement.params)
            if statement.returns_keys:
                assert not statement.refused(key for (key,) in result.fetchall())


def new_stage(dsn: str, table: Callable[[TableId], Descriptor] = users, *, storages: int = STORAGES) -> Stage:
    """A table (`users`) at version 1, public and empty, in the test database, in which there are so many storages."""
    with kept(dsn).cursor() as cursor:
        table_id = postgres.take_spare_table(cursor)
    first = table(TableId(table_id))
    name = f"{first.name}_{table_id}"
    catalog.Table.objects.create(id=table_id, name=name, version=0, state=catalog.Table.State.LIVE)
    stage = Stage(dsn, table_id, storages=storages)
    stage.publish(first)
    return stage


def strike(stage: Stage) -> None:
    """Leave nothing behind that another test would see."""
    for opened in stage.idle:
        opened.close()
    catalog.Descriptor.objects.filter(table_id=stage.table_id).delete()
    catalog.Table.objects.filter(id=stage.table_id).delete()
    connection.close()
