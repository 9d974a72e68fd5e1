"""The storm's reader of values shares no code with the encoding that the storages use: the two are held against it."""

import datetime as dt
import json
import uuid
from decimal import Decimal
from typing import Any

import pytest

from catalog.values.documents import Jsonb
from catalog.values.intervals import DAY, Interval
from catalog.values.types import SqlType
from storage import encoding
from tests.soak.judge.values import Unreadable, cut, key_form, value_of

NUMBERS = [
    Decimal(text) for text in ("0", "0.00", "1", "-1", "12.50", "-0.0625", "1000", "99999.999", "-Infinity", "NaN")
]
INTERVALS = [Interval(0, 0, 0), Interval(0, -3, 7), Interval(2, 5, -1), Interval(0, 400, DAY + 1)]
VALUES: dict[SqlType, list[Any]] = {
    SqlType.BOOLEAN: [True, False],
    SqlType.SMALLINT: [0, -(2**15), 2**15 - 1],
    SqlType.INTEGER: [0, -(2**31), 2**31 - 1],
    SqlType.BIGINT: [0, -(2**63), 2**63 - 1],
    SqlType.NUMERIC: NUMBERS,
    SqlType.TEXT: ["", "né", "a b"],
    SqlType.DATE: [dt.date(1, 1, 1), dt.date(2026, 2, 28)],
    SqlType.TIMESTAMP: [dt.datetime(2026, 2, 3, 4, 5, 6, 7)],  # noqa: DTZ001 - a timestamp has no zone
    SqlType.TIMESTAMPTZ: [dt.datetime(1900, 2, 3, 4, 5, 6, 7, tzinfo=dt.UTC)],
    SqlType.UUID: [uuid.UUID(int=7)],
    SqlType.JSONB: [Jsonb('{"a": [1, null, "x"]}'), Jsonb("null")],
    SqlType.BYTEA: [b"", b"\0", b"a\0\1\xff\0"],
    SqlType.TIME: [dt.timedelta(), dt.timedelta(hours=23, microseconds=1)],
    SqlType.INTERVAL: INTERVALS,
    SqlType.NUMERIC_ARRAY: [(), (None, *NUMBERS[:4]), (Decimal("-7.10"),)],
    SqlType.TEXT_ARRAY: [("", None, "x")],
    SqlType.BYTEA_ARRAY: [(b"\0\1", b"")],
    SqlType.INTERVAL_ARRAY: [(INTERVALS[2], None)],
}
CASES = [(of, value) for of, values in VALUES.items() for value in values]


def as_client_has_it(value: Any) -> Any:
    if isinstance(value, tuple):
        return [as_client_has_it(item) for item in value]
    if isinstance(value, Jsonb):
        return json.loads(str(value))
    if isinstance(value, Interval):
        return dt.timedelta(microseconds=value.span)
    return value


@pytest.mark.parametrize(("of", "value"), CASES)
def test_a_value_in_a_pair_is_read_as_it_was_stored(of: SqlType, value: Any) -> None:
    found = value_of(of.value, encoding.encode_value(of, value))
    expected = as_client_has_it(value)
    if of is SqlType.TIME:
        expected = (dt.datetime(2026, 1, 1) + expected).time()  # noqa: DTZ001 - only the time is looked at
    assert str(found) == str(expected)
    assert value_of(of.value, encoding.encode_value(of, None)) is None


@pytest.mark.parametrize("of", [one for one in VALUES if one not in encoding.ARRAYS and one is not SqlType.JSONB])
def test_keys_are_cut_where_their_values_end(of: SqlType) -> None:
    """Each value of the type between two others; the last one is NULL."""
    values = VALUES[of]
    types = [of.value] * (len(values) + 1) + ["text"]
    key = b"".join(encoding.encode(of, value) for value in [*values, None]) + encoding.encode(SqlType.TEXT, "end")
    found = cut(types, key)
    assert found[-2:] == [None, "end"]
    for value, one in zip(values, found[:-2], strict=True):
        assert key_form(of.value, encoding.encode_value(of, value)) == encoding.encode(of, value)
        assert str(one) == str(value_of(of.value, encoding.encode(of, value)))


def test_a_numeric_whose_scale_has_no_room_for_its_digits_is_no_value() -> None:
    whole = encoding.encode_value(SqlType.NUMERIC, Decimal("1.25"))
    with pytest.raises(Unreadable, match="more than 1 digits"):
        value_of("numeric", whole[:1] + b"\0\1" + whole[3:])


@pytest.mark.parametrize(("kind", "data"), [
    ("numeric", b"\1\x40\x80\0\x0d"),
    ("numeric", b"\3\0"),
    ("numeric", b"\1\x40\x80\0\0"),
    ("bytea", b"\1abc\0\xff"),
    ("text[]", b"\1\1a\0"),
    ("integer", b"\3\0\0\0\0"),
    ("interval", b"\1\0"),
])  # fmt: skip
def test_bytes_that_do_not_end_or_hold_nothing_are_no_value(kind: str, data: bytes) -> None:
    with pytest.raises(Unreadable):
        value_of(kind, data)
