"""Columns of every type, with and without a length, and values of theirs: common ones, extremes, NULL."""

import datetime as dt
import math
from decimal import Decimal

from hypothesis import assume
from hypothesis import strategies as st

from catalog.elements import Column, ColumnId
from catalog.values import numerics
from catalog.values.errors import BadValue
from catalog.values.intervals import Interval
from catalog.values.times import of_micros
from catalog.values.types import INT_LIMITS, LENGTHS, MOMENTS, SqlType, Value, fitted, to_text
from storage.encoding import decode, encode_value
from tests.catalog.test_types import VALUES

WORDS = ["", " ", "a ", "\\", "\\000", "\\\\x", "'", "%", "é", "\U0001f600", "\x01\x7f", "NULL", "null"]
DOUBLES = [0.0, -0.0, math.nan, math.inf, -math.inf, 5e-324, -5e-324, 2.2250738585072014e-308, 1.7976931348623157e308]
REALS = [0.0, -0.0, math.nan, math.inf, -math.inf, 1.401298464324817e-45, 1.1754943508222875e-38, 3.4028234663852886e38]
DIGITS = numerics.DIGITS_MAX
NUMERICS = ["NaN", "Infinity", "-Infinity", "0", "0.000", "1.50", "-100", "0.05", "-0.0005", "9" * DIGITS]
NUMERICS += [f"1{'0' * (DIGITS - 1)}", f"-0.{'0' * 16_000}1", "10", "1000000000000000000000"]
FIRST_AND_LAST = [dt.datetime.min, dt.datetime.max]  # noqa: DTZ901 - of timestamps without a zone
EXTREMES: dict[SqlType, list[Value]] = {
    **{of: [-limit, limit - 1, 0, -1] for of, limit in INT_LIMITS.items()},
    SqlType.REAL: list(REALS),
    SqlType.DOUBLE: list(DOUBLES),
    SqlType.NUMERIC: [numerics.plain(Decimal(text)) for text in NUMERICS],
    SqlType.TEXT: list(WORDS),
    SqlType.VARCHAR: list(WORDS),
    SqlType.CHAR: [word.rstrip(" ") for word in WORDS],
    SqlType.DATE: [dt.date.min, dt.date.max, dt.date(1970, 1, 1), dt.date(1999, 12, 31)],
    SqlType.TIMESTAMP: list(FIRST_AND_LAST),
    SqlType.TIMESTAMPTZ: [one.replace(tzinfo=dt.UTC) for one in FIRST_AND_LAST],
    SqlType.TIME: [of_micros(0), of_micros(86_400_000_000), of_micros(86_399_999_999)],
    SqlType.INTERVAL: [Interval(0, 0, 2**63 - 1), Interval(0, 0, 1 - 2**63), Interval(2**31 - 1, 2**31 - 1, 2**63 - 2),
        Interval(-(2**31), -(2**31), 1 - 2**63), Interval(1, -30, 0)],
    SqlType.BYTEA: [b"", b"\x00", b"\x00\xff", b"\\000", b"\\\x00\xff", bytes(range(256)), b"\x10\x0f\xf0"],
}  # fmt: skip


def values_of(sql_type: SqlType) -> st.SearchStrategy[Value]:
    """All but intervals of -2^63 microseconds, a text that PostgreSQL writes and does not read."""
    extremes = EXTREMES.get(sql_type)
    values = VALUES[sql_type]
    if sql_type.element or sql_type is SqlType.INTERVAL:
        values = values.filter(lambda value: "-2562047788:00:54.775808" not in to_text(sql_type, value))
    return values if extremes is None else values | st.sampled_from(extremes)


def lengths_of(sql_type: SqlType) -> st.SearchStrategy[int | None]:
    element = sql_type.element or sql_type
    if element is SqlType.NUMERIC:
        shapes = st.tuples(st.integers(1, 40), st.integers(-3, 45))
        return st.none() | shapes.map(lambda shape: numerics.modifier_of(*shape))
    if element in LENGTHS:
        return st.none() | st.integers(1, 5)
    return st.none() | st.integers(0, 6) if element in MOMENTS else st.none()


@st.composite
def columns_and_values(draw: st.DrawFn, sql_type: SqlType) -> tuple[Column, Value]:
    """A column, and a value as it keeps it."""
    column = Column(ColumnId(2), "c", sql_type, length=draw(lengths_of(sql_type)))
    return column, kept(column, draw(values_of(sql_type)))


def kept(column: Column, value: Value) -> Value:
    """The value as a pair of the column gives it back: without the sign of zero, and fitted to its length."""
    try:
        fitting = fitted(column.type, column.length, value)
    except BadValue:
        assume(False)
    found, _ = decode(column.type, encode_value(column.type, fitting))
    assert found is not None
    return found


def text(sql_type: SqlType, value: Value) -> bytes:
    return to_text(sql_type, value).encode()
