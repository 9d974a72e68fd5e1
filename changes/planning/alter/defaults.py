"""Defaults: expressions that read no column, and their value for existing rows. Nodes evaluate a default that is no
constant for each insert. An added column's is evaluated once, at submission, so it must not be volatile; in a new
table, and by SET DEFAULT, it may be. PostgreSQL judges what is not understood here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from catalog.elements import Column
from catalog.values.types import SqlType
from changes.ddl.actions import Position, Sql
from changes.ddl.errors import DATATYPE_MISMATCH, NOT_SUPPORTED, unsupported
from changes.ddl.placing import placed
from expressions.analysis.analyzer import SESSION_VALUES, Analyzer
from expressions.analysis.scopes import Scope
from expressions.analysis.tree import type_of_name
from expressions.errors import UNDEFINED_COLUMN, SqlError
from expressions.functions.casts import depends_on_session
from expressions.functions.volatile import VOLATILE
from expressions.rows import UNKNOWN_HERE, JudgeDefault, at_moment, called_in, parsed, place_in, refuse_queries, typed
from expressions.sqltypes import OF_SQL_TYPE, UNKNOWN, Type
from expressions.typed import Call, Context, Expr, Literal, PyValue, evaluate, is_simple, walk

HINT = "Write a constant, now() or CURRENT_DATE, or let the application choose the value."
REFUSED = frozenset({"set_config", "array_shuffle", "array_sample"})
"""Volatile functions that no default may have."""
OF_THE_SESSION = {*SESSION_VALUES, "pg_backend_pid", "current_setting"}


def typed_default(sql_type: SqlType, sql: Sql, column: str) -> Expr | None:
    """Checks a default as far as it is understood here, None: not at all; raises `DdlError`."""
    with placed(sql.source):
        for name, place in called_in(sql.node):
            if name in REFUSED:
                raise SqlError(NOT_SUPPORTED, f"a volatile default {name}() is not supported", place, hint=HINT)
        refuse_queries(sql.node, "a default")
        return _typed(sql_type, sql, column)


def has_one_value(expr: Expr, node: Any, wanted: Type) -> bool:
    """True for a constant under casts that mean the same in every session, as that of `1::text`."""
    types = [wanted]
    while node.WhichOneof("node") == "type_cast":
        types.append(type_of_name(node.type_cast.type_name))
        node = node.type_cast.arg
    steps = zip(types[1:], types[:-1], strict=True)
    if not node.HasField("a_const") or any(depends_on_session(*step) for step in steps):
        return False
    if any(isinstance(part, Call) and part.name == "now" for part in walk(expr)):
        raise SqlError(NOT_SUPPORTED, "a default that is the time of this statement is not supported", hint=HINT)
    return is_simple(expr)


def judge_default(
    judge: JudgeDefault | None, sql_type: SqlType, default: str | None, column: str, sql: Sql | None
) -> None:
    """Asks PostgreSQL about a default that is not understood here; raises `DdlError` with its place in `sql`."""
    if default is None or sql is None or judge is None:
        return
    with placed(sql.source):
        expr = _typed(sql_type, Sql(default, parsed(default)), column)
        if expr is not None and is_simple(expr):
            return
        try:
            judge(column, default, sql_type)
        except SqlError as error:
            place = place_in(default, sql.node, error.offset)
            raise SqlError(error.sqlstate, error.message, place, hint=error.hint) from error


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
    names = [name for name, _ in called_in(parsed(default))]
    volatile = next((name for name in names if name in VOLATILE), None)
    expr = _typed(sql_type, Sql(default, parsed(default)), column)
    is_here = expr is not None and is_simple(expr)
    return volatile or (None if is_here else next(iter(names), "an operator"))


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
    names = {name for name, _ in called_in(parsed(default))}
    if names & OF_THE_SESSION:
        hint = "Write the value itself."
        raise unsupported("a default on an added column that depends on the session", position=position, hint=hint)
    later = f"Or add the column without a default; ALTER COLUMN {column} SET DEFAULT is for the rows that come later."
    if compute is not None and (expr is None or not is_simple(expr)) and not names & VOLATILE:
        with placed("", otherwise=position):
            return compute(at_moment(default, context.now), sql_type)
    refuse_for_inserts_only(sql_type, default, column, "on an added column", f"{HINT} {later}", position)
    assert expr is not None, default
    with placed("", otherwise=position):
        return evaluate(expr, {}, context)


def is_constant(sql_type: SqlType, default: str) -> bool:
    return isinstance(_typed(sql_type, Sql(default, parsed(default)), ""), Literal)


def _typed(sql_type: SqlType, sql: Sql, column: str) -> Expr | None:
    """None for what is not understood here."""
    try:
        expr = typed(sql.node, Scope(), "a default", is_known=False)
    except SqlError as error:
        if error.sqlstate == UNDEFINED_COLUMN:
            raise SqlError(NOT_SUPPORTED, "a default cannot read a column", error.offset) from None
        if error.sqlstate in UNKNOWN_HERE:
            return None
        raise
    try:
        return Analyzer().coerce(expr, OF_SQL_TYPE[sql_type], assignment=True)
    except SqlError as error:
        if expr.type is UNKNOWN or error.sqlstate != DATATYPE_MISMATCH:
            raise
        message = f'column "{column}" is of type {sql_type.value} but default expression is of type {expr.type}'
        raise SqlError(DATATYPE_MISMATCH, message, error.offset, hint="Write a cast.") from None
