"""Byte order of encoded values is the order of the values."""

import datetime as dt
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.values.types import UNSORTED, WHOLE, SqlType
from storage.encoding import NULL, Undecodable, decode, encode, encode_value, length_at
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


@pytest.mark.parametrize(("data", "message"), [
    pytest.param(b"", "no bigint starts at byte 0", id="nothing there"),
    pytest.param(b"\x07", "no bigint starts at byte 0 of 07", id="an unknown marker"),
    pytest.param(b"\x01\x00", "the bigint at byte 0 of 0100 has no end", id="cut off"),
])  # fmt: skip
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


@pytest.mark.parametrize("descending", [False, True])
@given(number=st.integers(-(2**15), 2**15 - 1))
def test_whole_numbers_of_all_widths_have_one_encoding(number: int, descending: bool) -> None:
    """So that a column becomes wider without a look at its rows, its entries among them."""
    encoded = {encode(of, number, descending=descending) for of in WHOLE}
    assert len(encoded) == 1


def test_an_array_is_its_text() -> None:
    """As PostgreSQL writes it under fixed settings, so that PostgreSQL can read it."""
    when = dt.datetime(2020, 2, 1, 3, tzinfo=dt.UTC)
    assert encode_value(SqlType.TIMESTAMPTZ_ARRAY, (when, None)) == b'\x01{"2020-02-01 03:00:00+00",NULL}\x00'
    assert encode_value(SqlType.TEXT_ARRAY, ("", "null", "a b")) == b'\x01{"","null","a b"}\x00'
