"""Bounds that a query's conditions set for single columns: values, limits, and whether NULL can pass. They may be too
wide but never too narrow: the conditions are checked again on the rows that are read."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from catalog.descriptor import Descriptor
from catalog.elements import ColumnId
from catalog.values import numerics
from catalog.values.types import INT_LIMITS, SqlType
from expressions.sqltypes import BOOL, INTEGERS
from expressions.typed import Call, ColumnRef, Context, Expr, PyValue, bare, evaluate, is_constant
from expressions.values.arithmetic import order_key

VALUES_MAX = 2000
"""Values that a bound names one by one; keys are made of no more (`nodes.sql.conditions.access_paths`)."""
FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "="}


@dataclass(slots=True)
class Bound:
    values: set[PyValue] | None = None
    low: tuple[PyValue, bool] | None = None
    high: tuple[PyValue, bool] | None = None

    def keep(self, values: Iterable[PyValue]) -> None:
        kept = {_one_nan(value) for value in values}  # a set finds it again
        self.values = kept if self.values is None else self.values & kept


def _one_nan(value: PyValue) -> PyValue:
    if value == value:
        return value
    return numerics.NAN if isinstance(value, Decimal) else math.nan


def conjuncts(condition: Expr) -> list[Expr]:
    if isinstance(condition, Call) and condition.name == "AND":
        return [c for arg in condition.args for c in conjuncts(arg)]
    return [condition]


def decisive(expr: Expr) -> Iterator[Expr]:
    """The expression, and every part of it whose NULL makes it NULL."""
    yield expr
    if isinstance(expr, Call) and expr.name == "IN":
        yield from decisive(expr.args[0])
    elif isinstance(expr, Call) and expr.strict:
        for arg in expr.args:
            yield from decisive(arg)


def refuses_nulls(condition: Expr) -> bool:
    """True if a row of nothing but NULLs, which an outer join puts where none matches, certainly fails it."""
    if isinstance(condition, Call) and condition.name == "AND":
        return any(refuses_nulls(arg) for arg in condition.args)
    if isinstance(condition, Call) and condition.name == "OR":
        return all(refuses_nulls(arg) for arg in condition.args)
    if isinstance(condition, Call) and condition.name == "IS NOT NULL":
        condition = condition.args[0]
    return any(isinstance(part, ColumnRef) for part in decisive(condition))


def column_bounds(descriptor: Descriptor, conditions: Sequence[Expr], context: Context) -> dict[ColumnId, Bound]:
    bounds: dict[ColumnId, Bound] = {}
    for condition in conditions:
        _note(descriptor, condition, context, bounds)
    return bounds


def _note(descriptor: Descriptor, condition: Expr, context: Context, bounds: dict[ColumnId, Bound]) -> None:
    if isinstance(condition, ColumnRef) and condition.type is BOOL:
        bounds.setdefault(ColumnId(condition.column_id), Bound()).keep([True])
    if not isinstance(condition, Call):
        return
    if condition.name == "NOT" and isinstance(condition.args[0], ColumnRef):
        bounds.setdefault(ColumnId(condition.args[0].column_id), Bound()).keep([False])
    elif condition.name == "OR":
        _note_alternatives(descriptor, condition, context, bounds)
    elif condition.name == "IS NULL":
        column = column_of(condition.args[0])
        if column is not None:
            bounds.setdefault(ColumnId(column.column_id), Bound()).keep([None])
    elif condition.name == "IN":
        column = column_of(condition.args[0])
        if column is not None and all(is_constant(arg) for arg in condition.args[1:]):
            values = [evaluate(arg, {}, context) for arg in condition.args[1:]]
            kept = [v for v in values if v is not None and _fits(descriptor, column, v)]
            bounds.setdefault(ColumnId(column.column_id), Bound()).keep(kept)
    elif condition.name == "= ANY":
        column = column_of(condition.args[0])
        if column is not None and is_constant(condition.args[1]):
            items: Any = evaluate(condition.args[1], {}, context)
            _note_array(descriptor, column, items or (), bounds.setdefault(ColumnId(column.column_id), Bound()))
    elif condition.name in FLIPPED and len(condition.args) == 2:
        _note_comparison(descriptor, condition, context, bounds)


def _note_array(descriptor: Descriptor, column: ColumnRef, items: Sequence[PyValue], bound: Bound) -> None:
    """column = ANY (array): its elements, or the range from the least to the greatest of very many."""
    kept = [value for value in items if value is not None and _fits(descriptor, column, value)]
    if len(kept) <= VALUES_MAX:
        bound.keep(kept)
        return
    low, high = min(kept, key=order_key), max(kept, key=order_key)
    for name, value in ((">=", low), ("<=", high)):
        _narrow(bound, name, value)


def _note_comparison(descriptor: Descriptor, condition: Call, context: Context, bounds: dict[ColumnId, Bound]) -> None:
    name, (left, right) = condition.name, condition.args
    if column_of(left) is None:
        name, left, right = FLIPPED[name], right, left
    column = column_of(left)
    if column is None or not is_constant(right):
        return
    value = evaluate(right, {}, context)
    bound = bounds.setdefault(ColumnId(column.column_id), Bound())
    if value is None:
        bound.keep([])  # never true
    elif name == "=":
        bound.keep([value] if _fits(descriptor, column, value) else [])
    elif _fits(descriptor, column, value):
        _narrow(bound, name, value)


def _narrow(bound: Bound, name: str, value: PyValue) -> None:
    """A range ends at the value; NaN ends none."""
    if isinstance(value, float | Decimal) and value != value:
        return
    if name in (">", ">="):
        if bound.low is None or bound.low[0] < value:  # type: ignore[operator]
            bound.low = (value, name == ">=")
    elif bound.high is None or bound.high[0] > value:  # type: ignore[operator]
        bound.high = (value, name == "<=")


def _note_alternatives(
    descriptor: Descriptor, condition: Call, context: Context, bounds: dict[ColumnId, Bound]
) -> None:
    found: list[dict[ColumnId, Bound]] = []
    for arg in condition.args:
        one: dict[ColumnId, Bound] = {}
        _note(descriptor, arg, context, one)
        if len(one) != 1 or next(iter(one.values())).values is None:
            return
        found.append(one)
    columns = {column_id for one in found for column_id in one}
    if len(columns) == 1:
        (column_id,) = columns
        values = {v for one in found for v in one[column_id].values or ()}
        bounds.setdefault(column_id, Bound()).keep(values)


def column_of(expr: Expr) -> ColumnRef | None:
    """The column an expression is, seen through the widening of an integer."""
    expr = bare(expr)
    if isinstance(expr, Call) and expr.name == "cast" and {expr.type, expr.args[0].type} <= set(INTEGERS):
        expr = expr.args[0] if expr.type.typlen > expr.args[0].type.typlen else expr
    return expr if isinstance(expr, ColumnRef) else None


def _fits(descriptor: Descriptor, column: ColumnRef, value: PyValue) -> bool:
    return fits(descriptor.column(ColumnId(column.column_id)).type, value)


def fits(sql_type: SqlType, value: PyValue) -> bool:
    if sql_type in INT_LIMITS:
        return isinstance(value, int) and -INT_LIMITS[sql_type] <= value < INT_LIMITS[sql_type]
    return True
