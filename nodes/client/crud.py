"""`Crud` and `AsyncCrud`: each operation, listed once in `Operations`, as a method that waits or as a coroutine."""

from __future__ import annotations

import functools
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, Unpack, overload

import psycopg
from psycopg.rows import tuple_row

from nodes.client import calls
from nodes.client.answers import BatchResult, Metadata, Result, Row, checked
from nodes.client.calls import Call, batch_call, plain, plain_call, rows_call

P = ParamSpec("P")
T = TypeVar("T")
NOT_AUTOCOMMIT = "each operation is a transaction of its own: the connection must be in autocommit"


class operation(Generic[P, T]):  # noqa: N801 - reads as the decorator that it is
    """A method that makes a call: `Crud` returns its result, `AsyncCrud` a coroutine of it."""

    def __init__(self, make: Callable[Concatenate[Any, P], Call[T]]) -> None:
        self.make = make
        functools.update_wrapper(self, make)  # type: ignore[arg-type]

    @overload
    def __get__(self, crud: None, owner: Any = None) -> Self: ...

    @overload
    def __get__(self, crud: Crud, owner: Any = None) -> Callable[P, T]: ...

    @overload
    def __get__(self, crud: AsyncCrud, owner: Any = None) -> Callable[P, Awaitable[T]]: ...

    def __get__(self, crud: Any, owner: Any = None) -> Any:
        if crud is None:
            return self
        return functools.wraps(self.make)(lambda *given, **options: crud.do(self.make(crud, *given, **options)))


class Operations:
    """The operations of a node. All raise `CrudError` for one that was refused."""

    @operation
    def insert(self, table: str, row: Sequence[calls.Value], **options: Unpack[calls.TupleOptions]) -> Call[Result]:
        """Put a new row, given in the order of the columns."""
        return rows_call("insert", table, row, options=options)

    @operation
    def insert_object(self, table: str, row: calls.Object, **options: Unpack[calls.RowOptions]) -> Call[Result]:
        """Put a new row, given by the names of its columns."""
        return rows_call("insert_object", table, row, options=options)

    @operation
    def insert_many(
        self, table: str, rows: Iterable[Sequence[calls.Value]], **options: Unpack[calls.TuplesOptions]
    ) -> Call[BatchResult]:
        """Put many new rows."""
        return batch_call("insert_many", table, rows, options)

    @operation
    def insert_object_many(
        self, table: str, rows: Iterable[calls.Object], **options: Unpack[calls.ManyOptions]
    ) -> Call[BatchResult]:
        """Put many new rows, given by the names of their columns."""
        return batch_call("insert_object_many", table, rows, options)

    @operation
    def replace(self, table: str, row: Sequence[calls.Value], **options: Unpack[calls.TupleOptions]) -> Call[Result]:
        """Put a row, in place of the one with its key if there is one."""
        return rows_call("replace", table, row, options=options)

    @operation
    def replace_object(self, table: str, row: calls.Object, **options: Unpack[calls.RowOptions]) -> Call[Result]:
        """The same, given by the names of its columns."""
        return rows_call("replace_object", table, row, options=options)

    @operation
    def replace_many(
        self, table: str, rows: Iterable[Sequence[calls.Value]], **options: Unpack[calls.TuplesOptions]
    ) -> Call[BatchResult]:
        """Put many rows, in place of those with their keys."""
        return batch_call("replace_many", table, rows, options)

    @operation
    def replace_object_many(
        self, table: str, rows: Iterable[calls.Object], **options: Unpack[calls.ManyOptions]
    ) -> Call[BatchResult]:
        """The same, given by the names of their columns."""
        return batch_call("replace_object_many", table, rows, options)

    @operation
    def upsert(
        self,
        table: str,
        row: Sequence[calls.Value],
        operations: calls.Assignments,
        **options: Unpack[calls.TupleOptions],
    ) -> Call[Result]:
        """Put a new row, or change the one with its key as `operations` say. The answer has no rows."""
        return rows_call("upsert", table, row, operations, options=options)

    @operation
    def upsert_object(
        self, table: str, row: calls.Object, operations: calls.Assignments, **options: Unpack[calls.RowOptions]
    ) -> Call[Result]:
        """The same, given by the names of its columns."""
        return rows_call("upsert_object", table, row, operations, options=options)

    @operation
    def upsert_many(
        self,
        table: str,
        rows: Iterable[tuple[Sequence[calls.Value], calls.Assignments]],
        **options: Unpack[calls.TuplesOptions],
    ) -> Call[BatchResult]:
        """Many of them, each with its own operations."""
        return batch_call("upsert_many", table, rows, options)

    @operation
    def upsert_object_many(
        self, table: str, rows: Iterable[tuple[calls.Object, calls.Assignments]], **options: Unpack[calls.ManyOptions]
    ) -> Call[BatchResult]:
        """The same, given by the names of their columns."""
        return batch_call("upsert_object_many", table, rows, options)

    @operation
    def get(self, table: str, key: calls.Key, **options: Unpack[calls.GetOptions]) -> Call[Result]:
        """The row with this primary key, or none."""
        return rows_call("get", table, key, options=options)

    @operation
    def update(
        self, table: str, key: calls.Key, operations: calls.Assignments, **options: Unpack[calls.RowOptions]
    ) -> Call[Result]:
        """Change the row with this primary key; it as it is then, or none."""
        return rows_call("update", table, key, operations, options=options)

    @operation
    def delete(self, table: str, key: calls.Key, **options: Unpack[calls.RowOptions]) -> Call[Result]:
        """Delete the row with this primary key; it as it was, or none."""
        return rows_call("delete", table, key, options=options)

    @operation
    def select(
        self, table: str, conditions: calls.Conditions | None = None, **options: Unpack[calls.SelectOptions]
    ) -> Call[Result]:
        """The rows that meet all conditions, in the order of the primary key."""
        return rows_call("select", table, conditions, options=options)

    @operation
    def count(
        self, table: str, conditions: calls.Conditions | None = None, **options: Unpack[calls.CountOptions]
    ) -> Call[int]:
        """The number of rows that meet all conditions."""
        return plain_call("count", table, conditions, options=options)

    @operation
    def min(self, table: str, index: str | None = None, **options: Unpack[calls.FewOptions]) -> Call[Result]:
        """The row that comes first by the primary key, or by an index."""
        return calls.extreme_call("min", table, index, options)

    @operation
    def max(self, table: str, index: str | None = None, **options: Unpack[calls.FewOptions]) -> Call[Result]:
        """The row that comes last."""
        return calls.extreme_call("max", table, index, options)

    @operation
    def len(self, table: str, **options: Unpack[calls.LenOptions]) -> Call[int]:
        """The number of all rows."""
        return plain_call("len", table, options=options)

    @operation
    def truncate(self, table: str) -> Call[None]:
        """Delete all rows, in bounded transactions."""
        return calls.call("truncate", table, options=None, read=lambda _: None)

    @operation
    def unflatten_rows(self, rows: Sequence[Row], metadata: Sequence[Metadata]) -> Call[list[dict[str, Any]]]:
        """Rows as objects, as the node makes them; those of a result are `Result.objects()`."""
        return plain_call("unflatten_rows", json.dumps(plain(list(rows))), list(metadata))

    @operation
    def schema(self, table: str | None = None) -> Call[dict[str, Any]]:
        """The newest version of a table, or of all."""
        return plain_call("schema", *([] if table is None else [table]))

    @operation
    def storage_info(self) -> Call[dict[str, Any]]:
        """The storages: their buckets, and the versions that each accepts."""
        return plain_call("storage_info")

    @operation
    def stats(self, table: str | None = None) -> Call[dict[str, Any]]:
        """The counts of the node's requests: of one table, or of each and all."""
        return plain_call("stats", *([] if table is None else [table]))


class Crud(Operations):
    """The operations of one node, over one connection in autocommit: each call is a transaction of its own. `address`
    is what psycopg connects to, or an existing connection, which serves one thread at a time; `timeout` (seconds) is
    that of calls that name none. psycopg's errors say that the node cannot be reached."""

    def __init__(
        self, address: str | psycopg.Connection[Any], *, timeout: float | None = None, **connecting: Any
    ) -> None:
        self.timeout, self._is_given = timeout, not isinstance(address, str)
        self.connection: psycopg.Connection[Any] = (
            psycopg.connect(address, autocommit=True, **connecting) if isinstance(address, str) else address
        )
        if not self.connection.autocommit:
            raise ValueError(NOT_AUTOCOMMIT)

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

    def do(self, call: Call[T]) -> T:
        with self.connection.cursor(row_factory=tuple_row) as cursor:
            row = cursor.execute(call.sql, call.params(self.timeout)).fetchone()
        assert row is not None
        return call.result(row[0])

    def pairs(
        self, table: str, conditions: calls.Conditions | None = None, **options: Unpack[calls.SelectOptions]
    ) -> Iterator[Row]:
        """The rows of `select`, one after the other as they come; the connection is busy until the last one."""
        call = rows_call("pairs", table, conditions, options=options)
        with self.connection.cursor(row_factory=tuple_row) as cursor:
            for (row,) in cursor.stream(call.sql, call.params(self.timeout)):
                yield checked(row)


class AsyncCrud(Operations):
    """The same as coroutines. A connection serves one task at a time; others wait for it."""

    def __init__(self, connection: psycopg.AsyncConnection[Any], *, timeout: float | None = None) -> None:
        self.connection, self.timeout = connection, timeout
        if not connection.autocommit:
            raise ValueError(NOT_AUTOCOMMIT)

    @classmethod
    async def connect(cls, address: str, *, timeout: float | None = None, **connecting: Any) -> Self:
        """`timeout` is that of calls that name none."""
        return cls(await psycopg.AsyncConnection.connect(address, autocommit=True, **connecting), timeout=timeout)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self.connection.close()

    async def do(self, call: Call[T]) -> T:
        async with self.connection.cursor(row_factory=tuple_row) as cursor:
            row = await (await cursor.execute(call.sql, call.params(self.timeout))).fetchone()
        assert row is not None
        return call.result(row[0])

    async def pairs(
        self, table: str, conditions: calls.Conditions | None = None, **options: Unpack[calls.SelectOptions]
    ) -> AsyncIterator[Row]:
        call = rows_call("pairs", table, conditions, options=options)
        async with self.connection.cursor(row_factory=tuple_row) as cursor:
            async for (row,) in cursor.stream(call.sql, call.params(self.timeout)):
                yield checked(row)
