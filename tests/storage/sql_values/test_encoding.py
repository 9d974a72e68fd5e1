"""PostgreSQL gives a value the bytes that `storage.encoding` gives it, whatever a client has set."""

from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from catalog.elements import Column, ColumnId
from catalog.values.types import UNSORTED, SqlType, type_name
from storage.encoding import NULL, encode, encode_value
from storage.pairs import prefix
from storage.postgres import PLAN_LOCALLY
from storage.sql_values import FIXED_SETTINGS, can_encode, encode_key_sql, encode_value_sql
from storage.sql_values.syntax import constant
from storage.statements import kv
from tests.rounds import drawn
from tests.storage.sql_values.sessions import Session, settings
from tests.storage.sql_values.values import EXTREMES, columns_and_values, kept, text
from tests.storage.stage import Stage

SORTED = [of for of in SqlType if of not in UNSORTED]
SAME_SESSIONS = [HealthCheck.function_scoped_fixture]


def given_as(sql_type: SqlType, length: int | None = None, number: int = 1, name: str = "x") -> str:
    return f"(SELECT ${number}::{type_name(sql_type, length)} AS {name}) AS of_{name}"


@pytest.mark.parametrize("sql_type", SORTED, ids=lambda of: of.value)
@drawn(few=12, many=400, suppress_health_check=SAME_SESSIONS)
@given(data=st.data())
def test_a_key_has_the_bytes_of_the_value(client: Session, sql_type: SqlType, data: st.DataObject) -> None:
    column, value = data.draw(columns_and_values(sql_type))
    descending = data.draw(st.booleans())
    client.set(data.draw(settings))
    found = client.evaluate(
        encode_key_sql(column, "x", descending=descending),
        f"FROM {given_as(sql_type, column.length)}",
        [text(sql_type, value)],
    )
    assert found.data == encode(sql_type, value, descending=descending)


@pytest.mark.parametrize("sql_type", list(SqlType), ids=lambda of: of.value)
@drawn(few=12, many=400, suppress_health_check=SAME_SESSIONS)
@given(data=st.data())
def test_a_pair_has_the_bytes_of_the_value(client: Session, sql_type: SqlType, data: st.DataObject) -> None:
    column, value = data.draw(columns_and_values(sql_type))
    client.set(FIXED_SETTINGS if sql_type in UNSORTED else data.draw(settings))
    source = f"FROM {given_as(sql_type, column.length)}"
    found = client.evaluate(encode_value_sql(column, "x"), source, [text(sql_type, value)])
    assert found.data == encode_value(sql_type, value)


@pytest.mark.parametrize("sql_type", list(EXTREMES), ids=lambda of: of.value)
def test_extremes_have_their_bytes(client: Session, sql_type: SqlType) -> None:
    column = Column(ColumnId(2), "c", sql_type)
    for extreme in EXTREMES[sql_type]:
        value, source = kept(column, extreme), f"FROM {given_as(sql_type)}"
        found = client.evaluate(encode_key_sql(column, "x"), source, [text(sql_type, value)])
        assert found.data == encode(sql_type, value)
        found = client.evaluate(encode_value_sql(column, "x"), source, [text(sql_type, value)])
        assert found.data == encode_value(sql_type, value)


@pytest.mark.parametrize("sql_type", SORTED, ids=lambda of: of.value)
def test_null_is_no_key_and_a_value(client: Session, sql_type: SqlType) -> None:
    column, source = Column(ColumnId(2), "c", sql_type), f"FROM {given_as(sql_type)}"
    assert client.evaluate(encode_key_sql(column, "x"), source, [None]).data is None
    assert client.evaluate(encode_value_sql(column, "x"), source, [None]).data == NULL


BEYOND = [
    *((SqlType.DATE, one) for one in ("infinity", "-infinity", "0001-12-31 BC", "10000-01-01")),
    *(
        (of, one)
        for of in (SqlType.TIMESTAMP, SqlType.TIMESTAMPTZ)
        for one in ("infinity", "-infinity", "0001-12-31 BC", "10000-01-03", "294276-12-31")
    ),
    *((SqlType.INTERVAL, one) for one in ("infinity", "-infinity")),
    *((SqlType.NUMERIC, one) for one in ("1e20000", "-1e20000", "1e100000")),
]


@pytest.mark.parametrize(("sql_type", "value"), BEYOND, ids=lambda one: getattr(one, "value", one))
@pytest.mark.parametrize("is_constant", [True, False], ids=["a constant", "a parameter"])
def test_what_no_column_has_is_no_key(client: Session, sql_type: SqlType, value: str, is_constant: bool) -> None:
    """PostgreSQL computes constants beforehand: not even then is there an error."""
    expression = encode_key_sql(Column(ColumnId(2), "c", sql_type), "x")
    source = given_as(sql_type).replace("$1", f"'{value}'") if is_constant else given_as(sql_type)
    assert client.evaluate(expression, f"FROM {source}", [] if is_constant else [value.encode()]).data is None


NEAR: dict[SqlType, list[Any]] = {
    SqlType.SMALLINT: [0, 1, -1, 2**15 - 1, -(2**15)],
    SqlType.INTEGER: [0, 1, -1, 2**15 - 1, 2**15, 2**31 - 1, -(2**31)],
    SqlType.BIGINT: [0, 1, -1, 2**31, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)],
    SqlType.NUMERIC: ["0", "1.0", "1.5", "-1", "2147483648", str(2**63), str(2**63 - 1), str(-(2**63)), "NaN",
        "Infinity"],
    SqlType.REAL: ["0", "1", "-1", "9007199254740992", "NaN", "1.5", "-Infinity"],
    SqlType.DOUBLE: ["0", "1", "-1", "9007199254740992", "NaN", "1.5", "-Infinity"],
    SqlType.DATE: ["2000-01-01", "0001-01-01", "9999-12-31", "infinity", "0001-01-01 BC", "5874897-12-31"],
    SqlType.TIMESTAMP: ["2000-01-01", "2000-01-01 00:00:00.000001", "0001-01-01", "9999-12-31", "infinity"],
    SqlType.TEXT: ["", "a", "a ", "é"],
    SqlType.VARCHAR: ["", "a", "a ", "é"],
}  # fmt: skip
PAIRS_OF_TYPES = [
    (one, of) for one in SqlType for of in SqlType if one is not of and can_encode(Column(ColumnId(2), "c", one), of)
]


@pytest.mark.parametrize(("sql_type", "of"), PAIRS_OF_TYPES, ids=lambda one: one.value)
def test_a_value_of_another_type_has_the_key_of_what_it_equals(client: Session, sql_type: SqlType, of: SqlType) -> None:
    column = Column(ColumnId(2), "c", sql_type)
    key, other = encode_key_sql(column, "x"), encode_key_sql(column, "y", of=of)
    source = f"FROM {given_as(sql_type)} CROSS JOIN {given_as(of, number=2, name='y')}"
    seen = set()
    for x in NEAR[sql_type]:
        for y in NEAR[of]:
            parameters = [str(x).encode(), str(y).encode()]
            if client.evaluate(key, source, parameters).data is not None:  # a value that the column can have
                same_key = client.evaluate(f"COALESCE({key} = {other}, false)", source, parameters)
                assert same_key == client.evaluate("x = y", source, parameters), (x, y)
                seen.add(same_key.data)
    assert seen == {b"\x00", b"\x01"}


@pytest.mark.parametrize("sql_type", SORTED, ids=lambda of: of.value)
def test_an_equality_reaches_the_key_of_each_outer_row(stage: Stage, sql_type: SqlType) -> None:
    header = prefix(stage.now, stage.now.placements[0].id)[4:]
    key = encode_key_sql(Column(ColumnId(1), "id", sql_type), "x")
    found = f"SELECT count(*) FROM {kv(1, stage.table_id)} WHERE k = {constant(header)} || {key}"
    outer = f"(VALUES (NULL::{type_name(sql_type, None)}), (NULL)) AS outer_rows (x)"
    with psycopg.connect(stage.dsn) as connection:
        connection.execute(PLAN_LOCALLY)
        plan = connection.execute(f"EXPLAIN SELECT ({found}) FROM {outer}").fetchall()
    assert any("Index Cond: (k =" in line for (line,) in plan), plan
