"""Byte order of encoded values is the order of the values."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.values.types import UNSORTED, SqlType
from storage.encoding import NULL, Undecodable, decode, encode, length_at
from tests.catalog.test_types import VALUES
from tests.rounds import drawn

NULLABLE = {sql_type: st.none() | values for sql_type, values in VALUES.items()}


@pytest.mark.parametrize(
    "sql_type", [of for of in SqlType if of not in UNSORTED], ids=lambda t: f"{t.value} keeps its order"
)
@drawn(few=30, many=100)
@given(data=st.data())
def test_bytes_sort_as_values_do(sql_type: SqlType, data: st.DataObject) -> None:
    left, right = data.draw(NULLABLE[sql_type]), data.draw(NULLABLE[sql_type])
    null = None in (left, right)
    expected = (left is None) - (right is None) if null else (left > right) - (left < right)
    for descending in (False, True):
        a, b = (encode(sql_type, value, descending=descending) for value in (left, right))
        assert (a > b) - (a < b) == (-expected if descending else expected)


@pytest.mark.parametrize("sql_type", list(SqlType), ids=lambda t: f"{t.value} comes back")
@drawn(few=30, many=100)
@given(data=st.data())
def test_values_come_back_from_the_middle_of_a_key(sql_type: SqlType, data: st.DataObject) -> None:
    value, descending = data.draw(NULLABLE[sql_type]), data.draw(st.booleans())
    piece = encode(sql_type, value, descending=descending)
    found, end = decode(sql_type, b"??" + piece + b"rest", 2, descending=descending)
    assert (found, end) == (value, 2 + len(piece))
    assert length_at(sql_type, piece, 0, descending=descending) == len(piece)


def test_nan_is_the_greatest_double_and_minus_zero_is_zero() -> None:
    nan = encode(SqlType.DOUBLE, math.nan)
    assert encode(SqlType.DOUBLE, math.inf) < nan < NULL
    assert encode(SqlType.DOUBLE, -math.nan) == nan
    assert encode(SqlType.DOUBLE, -0.0) == encode(SqlType.DOUBLE, 0.0)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(b"", "no bigint starts at byte 0", id="nothing there"),
        pytest.param(b"\x07", "no bigint starts at byte 0 of 07", id="an unknown marker"),
        pytest.param(b"\x01\x00", "the bigint at byte 0 of 0100 has no end", id="cut off"),
    ],
)
def test_bytes_that_are_no_value_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(Undecodable, match=message):
        decode(SqlType.BIGINT, data)


@pytest.mark.parametrize(
    ("sql_type", "data"),
    [
        *((one, b"\x01" + b"\xff" * 8) for one in (SqlType.TIMESTAMP, SqlType.TIMESTAMPTZ)),
        (SqlType.DATE, b"\x01" + b"\xff" * 4),
        (SqlType.TEXT, b"\x01\xff\x00"),
    ],
    ids=lambda one: getattr(one, "value", ""),
)
def test_bytes_beyond_what_a_type_has_are_refused(sql_type: SqlType, data: bytes) -> None:
    with pytest.raises(Undecodable, match=f"the bytes {data.hex()} are no {sql_type.value}"):
        decode(sql_type, data)
