"""Asks PostgreSQL about an expression of a schema: as a generated column (42P17 where it is not immutable), or a
default, of a temporary table with the table's public columns and no rows. A SELECT of it before checks names, and
functions that the reader role may call. The text is kept as PostgreSQL prints it, with constants as they are read
now."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from django.db import DatabaseError, connection, transaction

from catalog.descriptor import Descriptor
from catalog.text.sql_names import quoted
from catalog.values.types import SqlType, type_name
from expressions.dates.zones import PLAIN, TimeStyle
from expressions.errors import INSUFFICIENT_PRIVILEGE, OUT_OF_MEMORY, QUERY_CANCELED, SqlError
from expressions.rows import functions_of
from expressions.typed import PyValue
from storage.answering import asking
from storage.asking import question_sql, read_answer
from storage.postgres import USERS_SETTINGS
from storage.reader.role import FUNCTION_NAMES_SQL, IS_CLOSED_SQL, READER

TIMEOUT_MS = 500
"""Constants of an expression are computed when it is read."""
SETTINGS = {**USERS_SETTINGS, "search_path": "pg_catalog, pg_temp", "statement_timeout": str(TIMEOUT_MS)}
TEXT_SQL = """
SELECT pg_get_expr(d.adbin, d.adrelid) FROM pg_attrdef d
JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum
WHERE d.adrelid = %s::regclass AND a.attname = %s
"""


def judge(table: Descriptor, text: str, returns: SqlType, style: TimeStyle = PLAIN) -> str:
    """`expressions.rows.Judge`, for literals in this session's style. Raises `SqlError`."""
    columns = {column.name: column.type for column in table.public_columns if column.name}
    value = next(name for name in map("value{}".format, range(len(columns) + 1)) if name not in columns)
    name = f"pg_temp.{quoted(table.name)}"
    listed = ", ".join(f"{quoted(column)} {type_name(of, None)}" for column, of in columns.items())
    with _as_reader(text, style) as cursor:
        cursor.execute(f"CREATE TEMP TABLE {quoted(table.name)} ({listed})")
        _ask(cursor, "SELECT ", text, f" FROM {name}")
        added = f"ALTER TABLE {name} ADD {value} {type_name(returns, None)} GENERATED ALWAYS AS ("
        _ask(cursor, added, text, ") STORED")
        return _kept(cursor, name, value)


def judge_default(column: str, text: str, returns: SqlType, style: TimeStyle = PLAIN) -> str:
    """`expressions.rows.JudgeDefault`, for literals in this session's style. Raises `SqlError`."""
    name = 'pg_temp."default"'
    with _as_reader(text, style) as cursor:
        _ask(cursor, f'CREATE TEMP TABLE "default" ({quoted(column)} {type_name(returns, None)} DEFAULT (', text, "))")
        _ask(cursor, "SELECT ", text, f" FROM {name}")
        return _kept(cursor, name, column)


def compute(table: Descriptor, text: str, returns: SqlType) -> PyValue:
    """`changes.planning.tables.Compute`."""
    with transaction.atomic(), connection.cursor() as cursor:
        undo = transaction.savepoint()
        cursor.execute("SELECT set_config('statement_timeout', %s, true)", [str(TIMEOUT_MS)])
        try:
            [data] = asking(connection.connection)(question_sql(table, text, returns), [])
        except psycopg.Error as error:
            if error.sqlstate == QUERY_CANCELED:
                raise SqlError(QUERY_CANCELED, f"PostgreSQL takes longer than {TIMEOUT_MS} ms to compute it") from error
            if error.sqlstate != OUT_OF_MEMORY:
                raise
            raise SqlError(OUT_OF_MEMORY, "its value does not fit into the memory of a session") from error
        finally:
            transaction.savepoint_rollback(undo)
    value = read_answer(returns, data)
    if isinstance(value, SqlError):
        raise value
    return value


@contextmanager
def _as_reader(text: str, style: TimeStyle) -> Iterator[Any]:
    """A cursor of the reader role, under fixed settings; what it does is undone."""
    with transaction.atomic(), connection.cursor() as cursor:
        undo = transaction.savepoint()
        try:
            cursor.execute(IS_CLOSED_SQL)
            if not cursor.fetchone()[0]:
                _check_names(cursor, text)
            calls = ", ".join("set_config(%s, %s, true)" for _ in SETTINGS)
            settings = SETTINGS | {"timezone": style.zone.name, "datestyle": f"ISO, {style.order}"}
            cursor.execute(f"SELECT {calls}, set_config('role', %s, true)", [*sum(settings.items(), ()), READER])
            yield cursor
        finally:
            transaction.savepoint_rollback(undo)


def _kept(cursor: Any, name: str, value: str) -> str:
    cursor.execute("SET LOCAL ROLE NONE")
    cursor.execute("SELECT set_config('timezone', %s, true)", [USERS_SETTINGS["timezone"]])
    cursor.execute(TEXT_SQL, [name, value])
    return str(cursor.fetchone()[0])


def _ask(cursor: Any, before: str, text: str, after: str) -> None:
    """Runs a statement with the expression in it; errors get their place in the expression."""
    try:
        cursor.execute(before + text + after)
    except DatabaseError as error:
        given = getattr(error.__cause__, "diag", None)
        if given is None or given.sqlstate is None:
            raise
        if given.sqlstate == QUERY_CANCELED:
            raise SqlError(QUERY_CANCELED, f"PostgreSQL takes longer than {TIMEOUT_MS} ms to read it") from error
        characters = int(given.statement_position or 0) - 1 - len(before)
        offset = len(text[:characters].encode()) if 0 <= characters < len(text) else -1
        message = given.message_primary or str(error)
        raise SqlError(given.sqlstate, message, offset, hint=given.message_hint) from error


def _check_names(cursor: Any, text: str) -> None:
    cursor.execute(FUNCTION_NAMES_SQL)
    allowed = {name for name, is_allowed in cursor.fetchall() if is_allowed}
    for name in sorted(functions_of(text)):
        if name not in allowed:
            raise SqlError(INSUFFICIENT_PRIVILEGE, f"permission denied for function {name}")
