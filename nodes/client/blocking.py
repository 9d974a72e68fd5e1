"""`Crud`: the operations as methods that wait for their answer. A connection serves one thread at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack

import psycopg
from psycopg.rows import tuple_row

from nodes.client import calls
from nodes.client.answers import BatchResult, Metadata, Result, Row, checked

T = TypeVar("T")


class Crud:
    """The operations of one node, over one connection in autocommit: each call is a transaction of its own.

    `address` is what psycopg connects to, or an existing connection; `timeout` is that of calls that name none. Every
    method raises `CrudError` for an operation that was refused, and psycopg's errors when the node cannot be reached.
    """

    def __init__(
        self, address: str | psycopg.Connection[Any], *, timeout: float | None = None, **connecting: Any
    ) -> None:
        self.timeout = timeout
        self._is_given = isinstance(address, psycopg.Connection)
        self.connection: psycopg.Connection[Any]
        if isinstance(address, psycopg.Connection):
            self.connection = address
        else:
            self.connection = psycopg.connect(address, autocommit=True, **connecting)
        if not self.connection.autocommit:
            raise ValueError("each operation is a transaction of its own: the connection must be in autocommit")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection, unless it was given."""
        if not self._is_given:
            self.connection.close()

    def _do(self, call: calls.Call[T]) -> T:
        with self.connection.cursor(row_factory=tuple_row) as cursor:
            row = cursor.execute(call.sql, call.params(self.timeout)).fetchone()
        assert row is not None
        return call.result(row[0])

    def insert(self, table: str, row: Sequence[calls.Value], **options: Unpack[calls.TupleOptions]) -> Result:
        """Put a new row, given in the order of the columns."""
        return self._do(calls.rows_call("insert", table, row, options=options))

    def insert_object(self, table: str, row: calls.Object, **options: Unpack[calls.RowOptions]) -> Result:
        """Put a new row, given by the names of its columns."""
        return self._do(calls.rows_call("insert_object", table, row, options=options))

    def insert_many(
        self, table: str, rows: Iterable[Sequence[calls.Value]], **options: Unpack[calls.TuplesOptions]
    ) -> BatchResult:
        """Put many new rows."""
        return self._do(calls.batch_call("insert_many", table, rows, options))

    def insert_object_many(
        self, table: str, rows: Iterable[calls.Object], **options: Unpack[calls.ManyOptions]
    ) -> BatchResult:
        """Put many new rows, given by the names of their columns."""
        return self._do(calls.batch_call("insert_object_many", table, rows, options))

    def replace(self, table: str, row: Sequence[calls.Value], **options: Unpack[calls.TupleOptions]) -> Result:
        """Put a row, in place of the one with its key if there is one."""
        return self._do(calls.rows_call("replace", table, row, options=options))

    def replace_object(self, table: str, row: calls.Object, **options: Unpack[calls.RowOptions]) -> Result:
        """The same, given by the names of its columns."""
        return self._do(calls.rows_call("replace_object", table, row, options=options))

    def replace_many(
        self, table: str, rows: Iterable[Sequence[calls.Value]], **options: Unpack[calls.TuplesOptions]
    ) -> BatchResult:
        """Put many rows, in place of those with their keys."""
        return self._do(calls.batch_call("replace_many", table, rows, options))

    def replace_object_many(
        self, table: str, rows: Iterable[calls.Object], **options: Unpack[calls.ManyOptions]
    ) -> BatchResult:
        """The same, given by the names of their columns."""
        return self._do(calls.batch_call("replace_object_many", table, rows, options))

    def upsert(
        self,
        table: str,
        row: Sequence[calls.Value],
        operations: calls.Assignments,
        **options: Unpack[calls.TupleOptions],
    ) -> Result:
        """Put a new row, or change the one with its key as `operations` say. The answer has no rows."""
        return self._do(calls.rows_call("upsert", table, row, operations, options=options))

    def upsert_object(
        self, table: str, row: calls.Object, operations: calls.Assignments, **options: Unpack[calls.RowOptions]
    ) -> Result:
        """The same, given by the names of its columns."""
        return self._do(calls.rows_call("upsert_object", table, row, operations, options=options))

    def upsert_many(
        self,
        table: str,
        rows: Iterable[tuple[Sequence[calls.Value], calls.Assignments]],
        **options: Unpack[calls.TuplesOptions],
    ) -> BatchResult:
        """Many of them, each with its own operations."""
        return self._do(calls.batch_call("upsert_many", table, rows, options))

    def upsert_object_many(
        self, table: str, rows: Iterable[tuple[calls.Object, calls.Assignments]], **options: Unpack[calls.ManyOptions]
    ) -> BatchResult:
        """The same, given by the names of their columns."""
        return self._do(calls.batch_call("upsert_object_many", table, rows, options))

    def get(self, table: str, key: calls.Key, **options: Unpack[calls.GetOptions]) -> Result:
        """The row with this primary key, or none."""
        return self._do(calls.rows_call("get", table, key, options=options))

    def update(
        self, table: str, key: calls.Key, operations: calls.Assignments, **options: Unpack[calls.RowOptions]
    ) -> Result:
        """Change the row with this primary key; it as it is then, or none."""
        return self._do(calls.rows_call("update", table, key, operations, options=options))

    def delete(self, table: str, key: calls.Key, **options: Unpack[calls.RowOptions]) -> Result:
        """Delete the row with this primary key; it as it was, or none."""
        return self._do(calls.rows_call("delete", table, key, options=options))

    def select(
        self, table: str, conditions: calls.Conditions | None = None, **options: Unpack[calls.SelectOptions]
    ) -> Result:
        """The rows that meet all conditions, in the order of the primary key."""
        return self._do(calls.rows_call("select", table, conditions, options=options))

    def count(
        self, table: str, conditions: calls.Conditions | None = None, **options: Unpack[calls.CountOptions]
    ) -> int:
        """The number of rows that meet all conditions."""
        return self._do(calls.number_call("count", table, conditions, options=options))

    def min(self, table: str, index: str | None = None, **options: Unpack[calls.FewOptions]) -> Result:
        """The row that comes first by the primary key, or by an index."""
        return self._do(calls.extreme_call("min", table, index, options))

    def max(self, table: str, index: str | None = None, **options: Unpack[calls.FewOptions]) -> Result:
        """The row that comes last."""
        return self._do(calls.extreme_call("max", table, index, options))

    def len(self, table: str, **options: Unpack[calls.LenOptions]) -> int:
        """The number of all rows."""
        return self._do(calls.number_call("len", table, options=options))

    def truncate(self, table: str) -> None:
        """Delete all rows, in bounded transactions."""
        self._do(calls.plain_call("truncate", table))

    def unflatten_rows(self, rows: Sequence[Row], metadata: Sequence[Metadata]) -> list[dict[str, Any]]:
        """Rows as objects, as the node makes them; those of a result are `Result.objects()`."""
        found: list[dict[str, Any]] = self._do(calls.unflatten_call(rows, metadata))
        return found

    def schema(self, table: str | None = None) -> dict[str, Any]:
        """The newest version of a table, or of all."""
        found: dict[str, Any] = self._do(calls.plain_call("schema", *([] if table is None else [table])))
        return found

    def storage_info(self) -> dict[str, Any]:
        """The storages: their buckets, and the versions that each accepts."""
        found: dict[str, Any] = self._do(calls.plain_call("storage_info"))
        return found

    def stats(self, table: str | None = None) -> dict[str, Any]:
        """The counts of the node's requests: of one table, or of each and all."""
        found: dict[str, Any] = self._do(calls.plain_call("stats", *([] if table is None else [table])))
        return found

    def pairs(
        self, table: str, conditions: calls.Conditions | None = None, **options: Unpack[calls.SelectOptions]
    ) -> Iterator[Row]:
        """The rows of `select`, one after the other as they come; the connection is busy until the last one."""
        call = calls.rows_call("pairs", table, conditions, options=options)
        with self.connection.cursor(row_factory=tuple_row) as cursor:
            for (row,) in cursor.stream(call.sql, call.params(self.timeout)):
                yield checked(row)
