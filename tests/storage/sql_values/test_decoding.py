"""PostgreSQL reads stored bytes as the values that they are, whatever a client has set."""

import psycopg
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from catalog.elements import Column, ColumnId
from catalog.values.types import SqlType, type_name
from storage.encoding import NULL, encode_value
from storage.sql_values import decode_sql
from tests.rounds import drawn
from tests.storage.sql_values.sessions import Session, settings
from tests.storage.sql_values.values import EXTREMES, columns_and_values, kept, text

PAIR = "FROM (SELECT $1::pg_catalog.bytea AS v) AS pairs"
SAME_SESSIONS = [HealthCheck.function_scoped_fixture]


def hexadecimal(data: bytes) -> bytes:
    return b"\\x" + data.hex().encode()


@pytest.mark.parametrize("sql_type", list(SqlType), ids=lambda of: of.value)
@drawn(few=12, many=400, suppress_health_check=SAME_SESSIONS)
@given(data=st.data())
def test_a_value_is_read_with_its_type_and_modifier(
    fixed: Session, client: Session, sql_type: SqlType, data: st.DataObject
) -> None:
    column, value = data.draw(columns_and_values(sql_type))
    expected = fixed.evaluate(f"$1::{type_name(sql_type, column.length)}", parameters=[text(sql_type, value)])
    client.set(data.draw(settings))
    pair = hexadecimal(encode_value(sql_type, value))
    assert client.evaluate(decode_sql(column, "v"), PAIR, [pair]) == expected


@pytest.mark.parametrize("sql_type", list(EXTREMES), ids=lambda of: of.value)
def test_extremes_are_read(fixed: Session, client: Session, sql_type: SqlType) -> None:
    column = Column(ColumnId(2), "c", sql_type)
    for extreme in EXTREMES[sql_type]:
        value = kept(column, extreme)
        expected = fixed.evaluate(f"$1::{type_name(sql_type, None)}", parameters=[text(sql_type, value)])
        assert client.evaluate(decode_sql(column, "v"), PAIR, [hexadecimal(encode_value(sql_type, value))]) == expected


@pytest.mark.parametrize("sql_type", list(SqlType), ids=lambda of: of.value)
def test_null_and_no_pair_are_null(fixed: Session, client: Session, sql_type: SqlType) -> None:
    column = Column(ColumnId(2), "c", sql_type)
    expected = fixed.evaluate(f"NULL::{type_name(sql_type, None)}")
    assert expected.data is None
    for pair in (hexadecimal(NULL), None):
        assert client.evaluate(decode_sql(column, "v"), PAIR, [pair]) == expected


@pytest.mark.parametrize(("narrow", "number"), [(SqlType.SMALLINT, 2**15), (SqlType.INTEGER, -(2**31) - 1)])
def test_a_number_that_a_narrower_column_cannot_hold_is_no_other_number(
    client: Session, narrow: SqlType, number: int
) -> None:
    """It may be there only while a wider type is on its way, and no version that reads it has the narrower one."""
    pair = hexadecimal(encode_value(SqlType.BIGINT, number))
    with pytest.raises(psycopg.errors.NumericValueOutOfRange):
        client.evaluate(decode_sql(Column(ColumnId(2), "c", narrow), "v"), PAIR, [pair])


@pytest.mark.parametrize("sql_type", list(SqlType), ids=lambda of: of.value)
def test_no_temporary_relation_of_a_client_stands_in_for_a_type(client: Session, sql_type: SqlType) -> None:
    column = Column(ColumnId(2), "c", sql_type)
    pair = hexadecimal(NULL)
    expected = client.evaluate(decode_sql(column, "v"), PAIR, [pair])
    client.connection.execute("SET search_path = pg_temp, pg_catalog")
    for name in (
        "bytea",
        "text",
        "bpchar",
        "date",
        "uuid",
        "int8",
        "int4",
        "numeric",
        "timestamptz",
        "interval",
        "json",
    ):
        client.connection.execute(f'CREATE TEMP TABLE "{name}" (x int)')
    assert client.evaluate(decode_sql(column, "v"), PAIR, [pair]) == expected


@pytest.mark.parametrize("sql_type", list(SqlType), ids=lambda of: of.value)
def test_an_expression_may_stand_in_a_query_with_placeholders(sql_type: SqlType) -> None:
    assert "%" not in decode_sql(Column(ColumnId(2), "c", sql_type), "v")
