"""Defaults: an expression that reads no column, and what it is worth for existing rows.

A constant gets one canonical spelling (`changes.ddl.columns`). Anything else is kept as it was written, and nodes
evaluate it for each statement. A column that is *added* needs one value for all rows that are there: it is evaluated
once, when the statement is submitted, so it must not be another for each row.
"""

from __future__ import annotations

from typing import Any

from catalog.values.types import SqlType, Value
from changes.ddl.actions import Position, Sql
from changes.ddl.errors import DATATYPE_MISMATCH, NOT_SUPPORTED, unsupported
from changes.ddl.placing import placed
from expressions.analysis.aggregates import aggregates_in, windows_in
from expressions.analysis.analyzer import Analyzer
from expressions.analysis.building import Parameters
from expressions.analysis.scopes import Scope
from expressions.errors import UNDEFINED_COLUMN, SqlError
from expressions.functions.volatile import VOLATILE
from expressions.rows import OF_THE_SESSION, parsed
from expressions.sqltypes import OF_SQL_TYPE, UNKNOWN, Type
from expressions.typed import Call, Context, Expr, Literal, evaluate, is_simple, walk


def expression_default(sql_type: SqlType, sql: Sql, column: str) -> str:
    """A default that is no constant, checked; raises `DdlError`."""
    with placed(sql.source):
        expr = _typed(sql_type, sql, column)
        for call in (part for part in walk(expr) if isinstance(part, Call)):
            if call.name in VOLATILE or not is_simple(call):
                what = "volatile default" if call.name in VOLATILE else "default with"
                hint = "Write a constant, now() or CURRENT_DATE, or let the application choose the value."
                raise SqlError(NOT_SUPPORTED, f"a {what} {call.name}() is not supported", call.offset, hint=hint)
    return sql.text


def fill_value(sql_type: SqlType, default: str, column: str, position: Position, context: Context) -> Value | None:
    """The value that existing rows get from an added column's default: one value, evaluated now."""
    with placed("", otherwise=position):
        expr = _typed(sql_type, Sql(default, parsed(default)), column)
    calls = {part.name for part in walk(expr) if isinstance(part, Call)}
    if calls & OF_THE_SESSION.keys():
        hint = "Write the value itself."
        raise unsupported("a default on an added column that depends on the session", position=position, hint=hint)
    with placed("", otherwise=position):
        return evaluate(expr, {}, context)


def is_constant(sql_type: SqlType, default: str) -> bool:
    """True when a default has the same value at any time."""
    return isinstance(_typed(sql_type, Sql(default, parsed(default)), ""), Literal)


def _typed(sql_type: SqlType, sql: Sql, column: str) -> Expr:
    analyzer, target = Analyzer({}, Parameters(count_max=0), subquery=_no_subquery), OF_SQL_TYPE[sql_type]
    try:
        expr = analyzer.expr(sql.node, Scope())
    except SqlError as error:
        if error.sqlstate == UNDEFINED_COLUMN:
            raise SqlError(NOT_SUPPORTED, "a default cannot read a column", error.offset) from None
        raise
    if [*aggregates_in(expr), *windows_in(expr)]:
        raise SqlError("42803", "aggregate and window functions are not allowed in a default", expr.offset)
    try:
        return analyzer.coerce(expr, target, assignment=True)
    except SqlError as error:
        if expr.type is UNKNOWN:
            raise
        message = f'column "{column}" is of type {sql_type.value} but default expression is of type {expr.type}'
        raise SqlError(DATATYPE_MISMATCH, message, error.offset, hint="Write a cast.") from None


def _no_subquery(node: Any, scope: Scope) -> tuple[tuple[str | Expr, ...], list[Type]]:
    raise SqlError(NOT_SUPPORTED, "a subquery in a default is not supported")
