"""Columns of a key, and the key in an entry, are found where they are."""

from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from catalog.elements import Column, ColumnId
from catalog.values.types import UNSORTED, SqlType, Value, type_name
from storage.encoding import decode, encode, value_of_key
from storage.sql_values import decode_key_sql, row_key_of_entry_sql
from tests.rounds import drawn
from tests.storage.sql_values.sessions import Session, settings
from tests.storage.sql_values.test_decoding import hexadecimal
from tests.storage.sql_values.values import columns_and_values, text

SORTED = [of for of in SqlType if of not in UNSORTED]
SAME_SESSIONS = [HealthCheck.function_scoped_fixture]
KEY = "FROM (SELECT $1::pg_catalog.bytea AS k) AS pairs"
some_column = st.sampled_from(SORTED).flatmap(columns_and_values)


@pytest.mark.parametrize("sql_type", SORTED, ids=lambda of: of.value)
@drawn(few=12, many=300, suppress_health_check=SAME_SESSIONS)
@given(data=st.data())
def test_each_column_of_a_key_is_read(fixed: Session, client: Session, sql_type: SqlType, data: st.DataObject) -> None:
    parts = [data.draw(columns_and_values(sql_type)), *data.draw(st.lists(some_column, max_size=2))]
    parts = data.draw(st.permutations(parts))
    columns, pieces = [column for column, _ in parts], [encode(column.type, value) for column, value in parts]
    client.set(data.draw(settings))
    for place, column in enumerate(columns):
        expression = decode_key_sql(columns, place, "k")
        found = client.evaluate(expression, KEY, [hexadecimal(b"".join(pieces))])
        (value, _) = decode(column.type, value_of_key(column.type, column.length, pieces[place]))
        assert value is not None
        named = f"$1::{type_name(column.type, column.length)}"
        assert found == fixed.evaluate(named, parameters=[text(column.type, value)])


@st.composite
def indexed(draw: st.DrawFn) -> tuple[Column, bool, Value | None]:
    column, value = draw(some_column)
    return column, draw(st.booleans()), draw(st.sampled_from([value, value, None]))


@drawn(few=60, many=600, suppress_health_check=SAME_SESSIONS)
@given(parts=st.lists(indexed(), min_size=1, max_size=3), row_key=st.binary(max_size=20))
def test_the_key_of_the_row_is_found_in_an_entry(
    client: Session, parts: list[tuple[Column, bool, Value | None]], row_key: bytes
) -> None:
    entry = b"".join(encode(column.type, value, descending=descending) for column, descending, value in parts)
    expression = row_key_of_entry_sql([(column, descending) for column, descending, _ in parts], "k")
    assert client.evaluate(expression, KEY, [hexadecimal(entry + row_key)]).data == row_key


def test_an_expression_grows_with_the_number_of_columns_and_not_faster(fixed: Session, client: Session) -> None:
    columns = [Column(ColumnId(number), f"c{number}", SqlType.NUMERIC) for number in range(1, 21)]
    lengths = [len(decode_key_sql(columns, place, "k")) for place in range(1, 20)]
    assert max(after - before for before, after in pairwise(lengths)) < 1000
    key = b"".join(encode(SqlType.NUMERIC, Decimal(number)) for number in range(1, 21))
    for place in (0, 10, 19):
        found = client.evaluate(decode_key_sql(columns, place, "k"), KEY, [hexadecimal(key)])
        assert found == fixed.evaluate("$1::numeric", parameters=[str(place + 1).encode()])
    entry = row_key_of_entry_sql([(column, False) for column in columns], "k")
    assert client.evaluate(entry, KEY, [hexadecimal(key + b"the rest")]).data == b"the rest"
