"""Each operation as a call: the name of its function, its arguments as JSON, and how its answer is read."""

from __future__ import annotations

import datetime as dt
import json
import math
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Generic, TypedDict, TypeVar

from nodes.client.answers import BatchResult, Result, batch_of, checked, result_of

T = TypeVar("T")
Value = bool | int | float | str | bytes | dt.date | dt.datetime | dt.time | dt.timedelta | uuid.UUID | Decimal | None
Object = Mapping[str, Value]
Key = Value | Sequence[Value] | Object
Assignments = Sequence[tuple[str, str, Value]]
"""("=", column, value), ("+", column, number) or ("-", column, number)."""
Conditions = Sequence[tuple[str, str, Value | Sequence[Value]]]
"""(comparison, column, value), or (comparison, index, values); all must hold."""


class LenOptions(TypedDict, total=False):
    timeout: float


class CountOptions(LenOptions, total=False):
    bucket_id: int
    add_space_schema_hash: bool
    force_map_call: bool


class FewOptions(LenOptions, total=False):
    fields: Sequence[str]
    add_space_schema_hash: bool
    fetch_latest_metadata: bool


class GetOptions(FewOptions, total=False):
    bucket_id: int


class SelectOptions(GetOptions, total=False):
    first: int
    after: Sequence[Value] | Object
    batch_size: int
    force_map_call: bool


class RowOptions(GetOptions, total=False):
    noreturn: bool


class TupleOptions(RowOptions, total=False):
    """Options of operations on one row that is a tuple. `version` is the one that the tuple was built for."""

    version: int


class ManyOptions(FewOptions, total=False):
    noreturn: bool
    stop_on_error: bool
    rollback_on_error: bool


class TuplesOptions(ManyOptions, total=False):
    """Options of operations on many rows that are tuples."""

    version: int


@dataclass(frozen=True)
class Call(Generic[T]):
    """An operation, its arguments as it gets them, its options (None: it takes none), and what its answer means."""

    operation: str
    arguments: list[str | None]
    options: Mapping[str, Any] | None
    read: Callable[[Any], T]

    @property
    def sql(self) -> str:
        count = len(self.arguments) + (self.options is not None)
        return f"SELECT crud.{self.operation}({', '.join(['%s'] * count)})"

    def params(self, timeout: float | None) -> list[str | None]:
        """The parameters of `sql`; `timeout` counts where the options have none."""
        if self.options is None:
            return self.arguments
        options = dict(self.options)
        if timeout is not None:
            options.setdefault("timeout", timeout)
        return [*self.arguments, json.dumps(plain(options))]

    def result(self, answer: Any) -> T:
        return self.read(checked(answer))


def plain(value: Any) -> Any:
    """A value as JSON has it; what JSON has not goes as PostgreSQL's text."""
    match value:
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case dt.datetime() | dt.date() | dt.time():
            return value.isoformat()
        case dt.timedelta():
            return f"{value.days} days {value.seconds} seconds {value.microseconds} microseconds"
        case uuid.UUID() | Decimal():
            return str(value)
        case Mapping():
            return {str(name): plain(one) for name, one in value.items()}
        case str() | None | bool() | int() | float():
            return value
        case bytes() | bytearray() | memoryview():
            return f"\\x{value.hex()}"
        case Iterable():
            return [plain(one) for one in value]
    raise TypeError(f"{type(value).__name__} is no value of a column")


def call(operation: str, *arguments: Any, options: Mapping[str, Any] | None, read: Callable[[Any], T]) -> Call[T]:
    """A call with the name of a table, or nothing, first, and every other argument as JSON."""
    given = [a if a is None or i == 0 else json.dumps(plain(a)) for i, a in enumerate(arguments)]
    return Call(operation, given, options, read)


def rows_call(operation: str, *arguments: Any, options: Mapping[str, Any]) -> Call[Result]:
    return call(operation, *arguments, options=options, read=result_of)


def batch_call(operation: str, table: str, rows: Iterable[Any], options: Mapping[str, Any]) -> Call[BatchResult]:
    return call(operation, table, list(rows), options=options, read=batch_of)


def extreme_call(operation: str, table: str, index: str | None, options: Mapping[str, Any]) -> Call[Result]:
    """min and max: the index is a name, not JSON."""
    return Call(operation, [table, index], options, result_of)


def plain_call(operation: str, *arguments: Any, options: Mapping[str, Any] | None = None) -> Call[Any]:
    return call(operation, *arguments, options=options, read=lambda answer: answer)
