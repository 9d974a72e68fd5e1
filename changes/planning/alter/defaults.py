"""Defaults: expressions that read no column, and their value for existing rows. Nodes evaluate a default that is no
constant for each insert. An added column's is evaluated once for all existing rows, at submission, so it must not be
volatile there; in a new table, and by SET DEFAULT, it may be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from catalog.elements import Column
from catalog.values.types import SqlType
from changes.ddl.actions import Position, Sql
from changes.ddl.errors import DATATYPE_MISMATCH, NOT_SUPPORTED, unsupported
from changes.ddl.placing import placed
from expressions.analysis.aggregates import aggregates_in, windows_in
from expressions.analysis.analyzer import Analyzer
from expressions.analysis.building import Parameters
from expressions.analysis.scopes import Scope
from expressions.errors import UNDEFINED_COLUMN, SqlError
from expressions.functions.volatile import VOLATILE
from expressions.rows import OF_THE_SESSION, at_moment, parsed
from expressions.sqltypes import OF_SQL_TYPE, UNKNOWN, Type
from expressions.typed import Call, Context, Expr, Literal, PyValue, evaluate, is_simple, walk

HINT = "Write a constant, now() or CURRENT_DATE, or let the application choose the value."
REFUSED = frozenset({"set_config", "array_shuffle", "array_sample"})
"""Volatile functions that no default may have."""


def expression_default(sql_type: SqlType, sql: Sql, column: str) -> str:
    """Checks a default that is no constant; raises `DdlError`."""
    with placed(sql.source):
        expr = _typed(sql_type, sql, column)
        for call in (part for part in walk(expr) if isinstance(part, Call)):
            if call.name in REFUSED:
                what = f"a volatile default {call.name}() is not supported"
                raise SqlError(NOT_SUPPORTED, what, call.offset, hint=HINT)
    return sql.text


def refuse_for_inserts_only(
    sql_type: SqlType, default: str, column: str, what: str, hint: str, position: Position
) -> None:
    """Raises `DdlError` for a volatile default where one value has to do for several rows."""
    with placed("", otherwise=position):
        name = _for_inserts_only(sql_type, default, column)
    if name is not None:
        kind = "a volatile default" if name in VOLATILE else "a default with"
        raise unsupported(f"{kind} {name}() {what}", position=position, hint=hint)


def is_for_inserts_only(column: Column) -> bool:
    """True for a default that no fill can put: random(), or one that PostgreSQL alone computes."""
    return column.default is not None and _for_inserts_only(column.type, column.default, column.name) is not None


def _for_inserts_only(sql_type: SqlType, default: str, column: str) -> str | None:
    """The function that makes a default volatile or known to PostgreSQL alone."""
    calls = [part for part in walk(_typed(sql_type, Sql(default, parsed(default)), column)) if isinstance(part, Call)]
    volatile = (call.name for call in calls if call.name in VOLATILE)
    return next(volatile, None) or next((call.name for call in reversed(calls) if not is_simple(call)), None)


def fill_value(
    sql_type: SqlType,
    default: str,
    column: str,
    position: Position,
    context: Context,
    compute: Callable[[str, SqlType], PyValue] | None = None,
) -> PyValue:
    """The value of an added column's default for existing rows; `compute` asks PostgreSQL."""
    with placed("", otherwise=position):
        expr = _typed(sql_type, Sql(default, parsed(default)), column)
    calls = {part.name for part in walk(expr) if isinstance(part, Call)}
    if calls & OF_THE_SESSION.keys():
        hint = "Write the value itself."
        raise unsupported("a default on an added column that depends on the session", position=position, hint=hint)
    later = f"Or add the column without a default; ALTER COLUMN {column} SET DEFAULT is for the rows that come later."
    if compute is not None and not is_simple(expr) and not calls & VOLATILE:
        with placed("", otherwise=position):
            return compute(at_moment(default, context.now), sql_type)
    refuse_for_inserts_only(sql_type, default, column, "on an added column", f"{HINT} {later}", position)
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
