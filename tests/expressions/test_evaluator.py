"""The evaluator gives the values and the errors that PostgreSQL gives, for every call that it can compute: each alone
over drawn values, and all in expressions drawn from a grammar, where an unused value must not fail either. PostgreSQL
sees columns, not constants, which it would compute beforehand."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, TableId
from catalog.values.types import SqlType, parse_text, to_text, type_name
from expressions.errors import SqlError
from expressions.functions import casts, local
from expressions.functions.overloads import Overload
from expressions.rows import columns_of, compiled, value_of
from expressions.sqltypes import BPCHAR, OF_SQL_TYPE, STORED, Type
from storage.sql_values import FIXED_SETTINGS
from tests.rounds import drawn
from tests.storage.sql_values.values import kept, values_of

SAME_SESSION = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]
SMALL: dict[SqlType, Sequence[str]] = {
    **dict.fromkeys((SqlType.SMALLINT, SqlType.INTEGER, SqlType.BIGINT), ("0", "1", "-1", "2", "7", "-10", "100")),
    **dict.fromkeys((SqlType.REAL, SqlType.DOUBLE), ("0", "1", "-1", "0.5", "2.5", "-3.5", "1e10")),
    SqlType.NUMERIC: ("0", "1", "-1.0", "0.5", "2.50", "-3.5", "100"),
    **dict.fromkeys((SqlType.TEXT, SqlType.VARCHAR), ("", "a", "A%b", "7", "true", "2020-02-29", "ß", "x_y")),
}
"""Texts of values on which most calls succeed."""
DIGITS_MAX = 60
NOT_OF_A_ROW = {"now", "transaction_timestamp", "statement_timestamp", "current_setting", "like_escape"}

Row = Mapping[ColumnId, Any]


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


def table_of(types: Sequence[Type]) -> Descriptor:
    columns = tuple(Column(ColumnId(n), f"c{n}", of.sql_type) for n, of in enumerate(types, 1) if of.sql_type)
    return Descriptor(TableId(1), "t", 1, columns, (ColumnId(1),))


def texts_of(table: Descriptor, row: Row) -> list[str | None]:
    return [None if row[c.id] is None else to_text(c.type, row[c.id]) for c in table.columns]


def of_postgres(connection: "psycopg.Connection[Any]", text: str, table: Descriptor, row: Row) -> str | None:
    """The text of a value, or the SQLSTATE of its error."""
    columns = ", ".join(f'${c.id}::{type_name(c.type, c.length)} AS "#{c.id}"' for c in table.columns)
    values = [None if value is None else value.encode() for value in texts_of(table, row)]
    query = f"SELECT {text} FROM (SELECT {columns} OFFSET 0) AS t".encode()
    result = connection.pgconn.exec_params(query, values)
    if result.status != psycopg.pq.ExecStatus.TUPLES_OK:
        return f"error {psycopg.errors.error_from_result(result).sqlstate}"
    found = result.get_value(0, 0)
    return None if found is None else found.decode()


def of_evaluator(text: str, table: Descriptor, row: Row) -> str | None:
    try:
        of = compiled(table, text).type
        value = value_of(table, text, row)
    except SqlError as error:
        return f"error {error.sqlstate}"
    assert of.sql_type is not None
    return None if value is None else to_text(of.sql_type, value)


@cache
def values(of: SqlType) -> st.SearchStrategy[Any]:
    """Any value, common ones more often, and NULL."""
    column = Column(ColumnId(1), "c", of)
    known = [parse_text(of, text) for text in SMALL.get(of, ())]
    any_value = values_of(of).filter(is_short).map(lambda value: kept(column, value))
    return st.none() | any_value | (st.sampled_from(known) if known else any_value)


def is_short(value: Any) -> bool:
    """False for numerics of a hundred thousand digits, whose results take seconds on either side, and for three zeros
    that punctuation precedes: a date out of range to PostgreSQL, and no date here."""
    if isinstance(value, str):
        return "\\000" not in value
    return not isinstance(value, Decimal) or not value.is_finite() or len(value.as_tuple().digits) <= DIGITS_MAX


def agrees(connection: "psycopg.Connection[Any]", text: str, table: Descriptor, row: Row) -> None:
    ours, theirs = of_evaluator(text, table, row), of_postgres(connection, text, table, row)
    assert ours == theirs, f"{text} for {texts_of(table, row)}"


def calls() -> Iterator[Any]:
    for names in (local.OPERATORS, local.FUNCTIONS):
        for name, overloads in names.items():
            for overload in overloads:
                if overload.compute is None or name in NOT_OF_A_ROW:
                    continue
                operands = [f'"#{n}"' for n in range(1, len(overload.args) + 1)]
                text = f"{name}({', '.join(operands)})" if names is local.FUNCTIONS else f" {name} ".join(operands)
                if names is local.OPERATORS and len(operands) == 1:
                    text = f"{name} {operands[0]}"
                yield pytest.param(text, overload, id=f"{name}({', '.join(map(str, overload.args))})")


@pytest.mark.parametrize(("text", "overload"), list(calls()))
@drawn(few=8, many=300, suppress_health_check=SAME_SESSION)
@given(data=st.data())
def test_a_call(postgres: "psycopg.Connection[Any]", text: str, overload: Overload, data: st.DataObject) -> None:
    table = table_of(overload.args)
    agrees(postgres, text, table, {c.id: data.draw(values(c.type)) for c in table.columns})


@pytest.mark.parametrize(
    ("given_type", "wanted"),
    [
        pytest.param(given_type, wanted, id=f"{given_type} to {wanted}")
        for given_type, wanted in sorted(casts.CASTS, key=str)
        if {given_type, wanted} <= {*STORED} and casts.compute_of(given_type, wanted) is not None
    ],
)
@drawn(few=12, many=300, suppress_health_check=SAME_SESSION)
@given(data=st.data())
def test_a_cast(postgres: "psycopg.Connection[Any]", given_type: Type, wanted: Type, data: st.DataObject) -> None:
    table = table_of([given_type])
    text = f'"#1"::{type_name(wanted.sql_type, None)}'
    if wanted is BPCHAR:  # here and in pairs it has no blanks at its end
        text = f"({text} || '')::bpchar"
    agrees(postgres, text, table, {ColumnId(1): data.draw(values(table.columns[0].type))})


TYPES = [OF_SQL_TYPE[of] for of in (
    SqlType.BOOLEAN, SqlType.SMALLINT, SqlType.INTEGER, SqlType.BIGINT, SqlType.DOUBLE, SqlType.NUMERIC, SqlType.TEXT,
    SqlType.VARCHAR, SqlType.CHAR, SqlType.DATE, SqlType.TIMESTAMP,
)]  # fmt: skip
BOOL, INT2, INT4, INT8, FLOAT8, NUMERIC, TEXT = TYPES[:7]
NUMBERS = (INT2, INT4, INT8, FLOAT8, NUMERIC)
TABLE = table_of([of for of in TYPES for _ in range(2)])
COMPARED = ("=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM")
TRUTHS = ("TRUE", "NOT TRUE", "FALSE", "NOT FALSE", "UNKNOWN", "NOT UNKNOWN")
LISTS = ("1", "0, 1, 7", "NULL, 2", "-1, NULL")
BETWEEN = ("BETWEEN", "NOT BETWEEN", "BETWEEN SYMMETRIC", "NOT BETWEEN SYMMETRIC")
PATTERNS = ("'a!%' ESCAPE '!'", "'a%'", "'%'", "'_'", "'A\\%_'", "''", "'%b'")


@dataclass(frozen=True, slots=True)
class Grammar:
    """Draws texts of expressions. Constants stand beside values only where they cannot fail by themselves."""

    draw: Callable[[st.SearchStrategy[Any]], Any]

    def one_of(self, choices: Sequence[Any]) -> Any:
        return self.draw(st.sampled_from(choices))

    def expression(self, of: Type, depth: int) -> str:
        if depth == 0 or self.one_of((False, False, True)):
            return f'"#{2 * TYPES.index(of) + self.one_of((1, 2))}"'

        def inner(other: Type = of) -> str:
            return self.expression(other, depth - 1)

        ways = [
            lambda: f"CASE WHEN {inner(BOOL)} THEN {inner()} ELSE {inner()} END",
            lambda: f"CASE WHEN {inner(BOOL)} THEN {inner()} WHEN {inner(BOOL)} THEN {inner()} END",
            lambda: f"{self.one_of(('coalesce', 'nullif', 'greatest', 'least'))}({inner()}, {inner()})",
        ]
        if of is BOOL:
            ways = [lambda: self.condition(depth - 1)] * 6 + ways
        if of in NUMBERS:
            signs = "+-*/" if of is FLOAT8 else "+-*/%"
            ways += [lambda: f"({inner()} {self.one_of(signs)} {inner()})"] * 3
            ways += [lambda: f"abs({inner()})", lambda: f"(- {inner()})"]
            ways.append(lambda: f"({inner(self.one_of(NUMBERS))})::{of.name}")
        if of is INT4:
            ways.append(lambda: f"length({inner(TEXT)})")
        if of is TEXT:
            ways += [lambda: f"({inner()} || {inner()})", lambda: f"{self.one_of(('lower', 'upper'))}({inner()})"]
            ways.append(lambda: f"({inner(self.one_of((BOOL, INT4, INT8, NUMERIC)))})::text")
        return self.one_of(ways)()

    def condition(self, depth: int) -> str:
        of = self.one_of(TYPES)

        def inner(other: Type = of) -> str:
            return self.expression(other, depth)

        ways = [
            lambda: f"({inner()} {self.one_of(COMPARED)} {inner()})",
            lambda: f"({inner(self.one_of(NUMBERS))} {self.one_of(COMPARED)} {inner(self.one_of(NUMBERS))})",
            lambda: f"({inner(BOOL)} {self.one_of(('AND', 'OR'))} {inner(BOOL)})",
            lambda: f"(NOT {inner(BOOL)})",
            lambda: f"({inner(BOOL)} IS {self.one_of(TRUTHS)})",
            lambda: f"({inner()} IS {self.one_of(('NULL', 'NOT NULL'))})",
            lambda: f"({inner()} {self.one_of(('IN', 'NOT IN'))} ({inner()}, {inner()}))",
            lambda: f"({inner(INT4)} {self.one_of(('IN', 'NOT IN'))} ({self.one_of(LISTS)}))",
            lambda: f"({inner()} {self.one_of(BETWEEN)} {inner()} AND {inner()})",
            lambda: f"({inner(TEXT)} {self.one_of(('LIKE', 'NOT LIKE'))} {self.one_of((*PATTERNS, inner(TEXT)))})",
        ]
        return self.one_of(ways)()


@pytest.mark.parametrize("of", TYPES, ids=str)
@drawn(few=60, many=2000, suppress_health_check=SAME_SESSION)
@given(data=st.data())
def test_an_expression(postgres: "psycopg.Connection[Any]", of: Type, data: st.DataObject) -> None:
    text = Grammar(data.draw).expression(of, 3)
    read = columns_of(text)
    agrees(postgres, text, TABLE, {c.id: data.draw(values(c.type)) if c.id in read else None for c in TABLE.columns})
