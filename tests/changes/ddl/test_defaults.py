"""Constant defaults have the values and errors that they have in PostgreSQL, whatever they are cast to."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from catalog.values.types import SqlType, type_name
from changes.ddl.actions import CreateTable
from changes.ddl.errors import DATATYPE_MISMATCH, DdlError
from changes.ddl.statements import parse
from storage.sql_values import FIXED_SETTINGS

LENGTHS = {SqlType.CHAR: 4, SqlType.VARCHAR: 4}
PLAIN = [type_name(of, LENGTHS.get(of)) for of in SqlType if not of.element]
COLUMNS = [*PLAIN, "int[]", "text[]", "timestamptz[]"]
WRITTEN = (
    "1", "-1", "40000", "1.5", "true", "NULL", "'1'", "'abcdef'", "'true'", "'2020-1-31'", "'2020-01-31 12:30:15.6'",
    "'12:30'",
    "'1 day'", "'{1,2}'", "'{\"a\":  1}'", "'\\x01'", "B'101'",
    "'a0e6215d-b5c6-4896-987c-f30f3678f608'::uuid",
)  # fmt: skip
CASTS = [*PLAIN, "int[]", "numeric(6, 1)", "date::text"]
ERRORS = {"22001", "22003", "22007", "22008", "22P02", "42846"}
"""Of values. A constant is computed before its type is compared with the column's."""


@pytest.fixture
def transactional_db(django_db_setup: None, django_db_blocker: Any) -> Iterator[None]:
    with django_db_blocker.unblock():
        yield


@pytest.fixture
def postgres(dsn: str) -> Iterator["psycopg.Connection[Any]"]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        for name, value in FIXED_SETTINGS.items():
            connection.execute(f"SET {name} = '{value}'")
        yield connection


def inserted(connection: "psycopg.Connection[Any]", column: str, default: str | None) -> str | None:
    """The text of a default's value in a table of PostgreSQL, or its error."""
    try:
        with connection.transaction(force_rollback=True):
            connection.execute(f"CREATE TEMP TABLE made (v {column} DEFAULT {default})".encode())
            row = connection.execute("INSERT INTO made DEFAULT VALUES RETURNING v::text").fetchone()
    except psycopg.Error as error:
        return error.sqlstate
    assert row is not None
    return row[0]  # type: ignore[no-any-return]


def of_ours(connection: "psycopg.Connection[Any]", column: str, default: str) -> str | None:
    """The same of the default as it is kept."""
    try:
        action = parse(f"CREATE TABLE t (id int PRIMARY KEY, v {column} DEFAULT {default})").action
    except DdlError as error:
        return error.sqlstate
    assert isinstance(action, CreateTable)
    return inserted(connection, column, action.columns[1].default or "NULL")


@pytest.mark.parametrize("column", COLUMNS)
def test_a_constant_default_is_what_postgres_makes_of_it(postgres: "psycopg.Connection[Any]", column: str) -> None:
    cast = [f"{text}::{cast}" for text in WRITTEN for cast in CASTS]
    if column != "text":  # which takes any: errors of casts are seen there
        cast = [text for text in cast if inserted(postgres, "text", text) not in ERRORS]
    others = {}
    for text in (*WRITTEN, *cast):
        here, there = of_ours(postgres, column, text), inserted(postgres, column, text)
        is_refused_earlier = there == DATATYPE_MISMATCH and here in ERRORS
        if here != there and not is_refused_earlier:
            others[text] = here, there
    assert others == {}
