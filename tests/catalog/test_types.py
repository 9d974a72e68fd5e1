"""Values as text: what is read, what is refused, and PostgreSQL's way of printing."""

import datetime as dt
import json
import uuid
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.values.documents import canonical
from catalog.values.errors import BadValue
from catalog.values.intervals import DAY, INFINITE, Interval
from catalog.values.numerics import plain
from catalog.values.times import of_micros
from catalog.values.types import SqlType, parse_text, to_text


@pytest.mark.parametrize(
    ("sql_type", "text", "printed"),
    [
        pytest.param(SqlType.BOOLEAN, " YES ", "t", id="a boolean may be a word with spaces around"),
        pytest.param(SqlType.INTEGER, " -7 ", "-7", id="an integer may have spaces around"),
        pytest.param(SqlType.BIGINT, "1_000", "1000", id="digits may be grouped"),
        pytest.param(SqlType.DOUBLE, "1", "1", id="a whole double has no point"),
        pytest.param(SqlType.DOUBLE, "1e15", "1e+15", id="an exponent from fifteen digits on"),
        pytest.param(SqlType.DOUBLE, "123456789012345", "123456789012345", id="no exponent up to fifteen digits"),
        pytest.param(SqlType.DOUBLE, "0.00001", "1e-05", id="an exponent below 1e-4"),
        pytest.param(SqlType.DOUBLE, "-inf", "-Infinity", id="infinity is a double"),
        pytest.param(SqlType.REAL, "2.5e38", "2.5e+38", id="a real below the greatest, beside decimals beyond it"),
        pytest.param(SqlType.REAL, "84450864", "8.4450864e+07", id="no real in the middle between two is written"),
        pytest.param(SqlType.DOUBLE, "1e23", "9.999999999999999e+22", id="no double in the middle between two either"),
        pytest.param(SqlType.DATE, "2013-1-5", "2013-01-05", id="a date prints with two digits"),
        pytest.param(SqlType.TIMESTAMP, "2013-01-05T10:00:00.120", "2013-01-05 10:00:00.12", id="zeros are trimmed"),
        pytest.param(SqlType.TIMESTAMP, "2013-01-05 24:00", "2013-01-06 00:00:00", id="24:00 is the next day"),
        pytest.param(SqlType.TIMESTAMP, "2013-01-05 10:00+05", "2013-01-05 10:00:00", id="timestamp ignores a zone"),
        pytest.param(SqlType.TIMESTAMPTZ, "2013-01-05 10:00+05:30", "2013-01-05 04:30:00+00", id="printed in UTC"),
        pytest.param(SqlType.TIMESTAMPTZ, "2013-01-05T10:00:00Z", "2013-01-05 10:00:00+00", id="Z is UTC"),
        pytest.param(
            SqlType.UUID,
            "{A0EEBC99-9C0B4EF8-BB6D6BB9-BD380A11}",
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
            id="a uuid in any of its spellings",
        ),
        pytest.param(SqlType.BYTEA, "\\x00fF 0A", "\\x00ff0a", id="bytes in hex, with blanks between them"),
        pytest.param(SqlType.BYTEA, "aé\\\\\\000\\377", "\\x61c3a95c00ff", id="bytes with escapes"),
        pytest.param(SqlType.BYTEA, "", "\\x", id="no bytes"),
        pytest.param(SqlType.TIME, " 4:05 ", "04:05:00", id="a time without seconds"),
        pytest.param(SqlType.TIME, "24:00:00", "24:00:00", id="the end of a day"),
        pytest.param(SqlType.TIME, "04:05:06.789000", "04:05:06.789", id="a time has no zeros at its end"),
        pytest.param(SqlType.INTERVAL, "1 day 2 hours", "1 day 02:00:00", id="an interval of two units"),
        pytest.param(SqlType.INTERVAL, "1-2 -3 4:05", "1 year 2 mons -3 days +04:05:00", id="the standard's form"),
        pytest.param(SqlType.INTERVAL, "P1Y2M3DT4H5M6.7S", "1 year 2 mons 3 days 04:05:06.7", id="ISO 8601"),
        pytest.param(SqlType.INTERVAL, "1.5 months ago", "-1 mons -15 days", id="a part of a month is days"),
    ],
)
def test_a_value_is_read_and_printed_as_postgresql_does(sql_type: SqlType, text: str, printed: str) -> None:
    assert to_text(sql_type, parse_text(sql_type, text)) == printed


@pytest.mark.parametrize(
    ("sql_type", "text", "sqlstate", "message"),
    [
        (SqlType.INTEGER, "x", "22P02", 'invalid input syntax for type integer: "x"'),
        (SqlType.INTEGER, "2147483648", "22003", 'value "2147483648" is out of range for type integer'),
        (SqlType.BIGINT, "9" * 5000, "22003", "out of range for type bigint"),
        (SqlType.DOUBLE, "1e400", "22003", '"1e400" is out of range for type double precision'),
        (SqlType.DOUBLE, "1e-400", "22003", '"1e-400" is out of range for type double precision'),
        (SqlType.BOOLEAN, "maybe", "22P02", 'invalid input syntax for type boolean: "maybe"'),
        (SqlType.DATE, "2013-02-30", "22008", 'date/time field value out of range: "2013-02-30"'),
        (SqlType.TIMESTAMP, "yesterday", "22007", 'invalid input syntax for type timestamp: "yesterday"'),
        (SqlType.TIMESTAMP, "2013-01-05 25:00", "22008", "date/time field value out of range"),
        (SqlType.TIMESTAMPTZ, "0001-01-01 00:00+05", "22008", "timestamp out of range"),
        (SqlType.TEXT, "a\x00b", "22021", 'invalid byte sequence for encoding "UTF8": 0x00'),
        (SqlType.UUID, "a0ee", "22P02", 'invalid input syntax for type uuid: "a0ee"'),
        (SqlType.BYTEA, "\\x0", "22023", "invalid hexadecimal data: odd number of digits"),
        (SqlType.BYTEA, "\\x0g", "22023", 'invalid hexadecimal digit: "g"'),
        (SqlType.BYTEA, "\\x0 0", "22023", 'invalid hexadecimal digit: " "'),
        (SqlType.BYTEA, "a\\400", "22P02", "invalid input syntax for type bytea"),
        (SqlType.BYTEA, "a\\", "22P02", "invalid input syntax for type bytea"),
        (SqlType.TIME, "24:00:01", "22008", 'date/time field value out of range: "24:00:01"'),
        (SqlType.TIME, "noon", "22007", 'invalid input syntax for type time: "noon"'),
        (SqlType.INTERVAL, "1 dayz", "22007", 'invalid input syntax for type interval: "1 dayz"'),
        (SqlType.INTERVAL, "", "22007", 'invalid input syntax for type interval: ""'),
        (SqlType.INTERVAL, "9" * 30 + " days", "22015", "interval field value out of range"),
        (SqlType.INTERVAL, "3000000000 days", "22015", "interval field value out of range"),
    ],
)
def test_a_bad_value_is_refused_by_name(sql_type: SqlType, text: str, sqlstate: str, message: str) -> None:
    with pytest.raises(BadValue) as refused:
        parse_text(sql_type, text)
    assert refused.value.sqlstate == sqlstate
    assert message in str(refused.value)


VALUES = {
    SqlType.BOOLEAN: st.booleans(),
    SqlType.SMALLINT: st.integers(-(2**15), 2**15 - 1),
    SqlType.INTEGER: st.integers(-(2**31), 2**31 - 1),
    SqlType.BIGINT: st.integers(-(2**63), 2**63 - 1),
    SqlType.REAL: st.floats(width=32, allow_nan=False),
    SqlType.DOUBLE: st.floats(allow_nan=False),
    SqlType.NUMERIC: st.one_of(
        st.decimals(-(10**20), 10**20, allow_nan=False, places=5),
        st.integers(-(10**40), 10**40).map(Decimal),
        st.builds(
            lambda digits, scale: Decimal((digits % 2, tuple(map(int, str(digits))), -scale)),
            st.integers(1, 10**30),
            st.integers(0, 50),
        ),
        st.sampled_from([Decimal(0), Decimal("0.00"), Decimal("Infinity"), Decimal("-Infinity")]),
    ).map(plain),
    SqlType.TEXT: st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"])),
    SqlType.VARCHAR: st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"])),
    SqlType.CHAR: st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"])).map(
        lambda t: t.rstrip(" ")
    ),
    SqlType.DATE: st.dates(),
    SqlType.TIMESTAMP: st.datetimes(),
    SqlType.TIMESTAMPTZ: st.datetimes(timezones=st.just(dt.UTC)),
    SqlType.UUID: st.builds(lambda number: uuid.UUID(int=number), st.integers(0, 2**128 - 1)),
    SqlType.JSON: st.sampled_from(["{}", ' {"a":  1} ', "[1, 2.50]", '"é"', "null"]),
    SqlType.JSONB: st.lists(st.integers() | st.none()).map(lambda items: canonical(json.dumps(items))),
    SqlType.BYTEA: st.binary(max_size=9) | st.lists(st.sampled_from([0, 1, 255]), max_size=6).map(bytes),
    SqlType.TIME: st.integers(0, DAY).map(of_micros),
    SqlType.INTERVAL: st.builds(
        Interval,
        st.integers(-(2**31), 2**31 - 1) | st.integers(-2, 2),
        st.integers(-(2**31), 2**31 - 1) | st.integers(-60, 60),
        st.integers(-(2**63), 2**63 - 1) | st.integers(-3, 3).map(lambda days: days * DAY),
    ).filter(lambda one: (one.months, one.days, one.micros) not in INFINITE),
}
VALUES |= {
    of: st.lists(st.none() | VALUES[element], max_size=4).map(tuple)
    for of in SqlType
    if (element := of.element) is not None
}


@pytest.mark.parametrize("sql_type", list(SqlType), ids=lambda t: f"{t.value} survives its text form")
@given(data=st.data())
def test_every_value_survives_its_text_form(sql_type: SqlType, data: st.DataObject) -> None:
    value = data.draw(VALUES[sql_type])
    assert parse_text(sql_type, to_text(sql_type, value)) == value
