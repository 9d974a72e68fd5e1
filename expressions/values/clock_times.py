"""Times of day for one value, as PostgreSQL has them: from 00:00 to 24:00. The query engine calls the same.

A time or timestamp of a precision the engine rounds by itself: `catalog.values.times.rounded` says how.
"""

import datetime as dt
from decimal import Decimal

from catalog.values.intervals import DAY, HOUR, MINUTE, SECOND, Interval
from catalog.values.times import MIDDLE, SECOND_DIGITS_MAX, micros_of, of_micros, unit_of
from expressions.errors import DATETIME_OUT_OF_RANGE, SqlError
from expressions.sqltypes import FLOAT8, INT4, INTERVAL, NUMERIC, TEXT, TIME, TIMESTAMPTZ, Type
from expressions.values.intervals import clock_part, not_supported, unit_named, units
from expressions.values.own import Own, lines

NAME = "time without time zone"
_PARTS = frozenset({"hour", "minute", "second", "millisecond", "microsecond"})


def rounded_text(of: Type, digits: int) -> str:
    """The engine's text for a time or timestamp {0} with so many digits of its seconds."""
    if digits == SECOND_DIGITS_MAX:
        return "{0}"
    unit = unit_of(digits)
    if of is TIME:
        return f"(({{0}} + {unit // 2}) // {unit} * {unit})"
    made = "make_timestamptz" if of is TIMESTAMPTZ else "make_timestamp"
    away = f"sign(d) * ((abs(d) + {unit // 2}) // {unit} * {unit})"
    return f"list_transform([epoch_us({{0}}) - {MIDDLE}], lambda d: {made}({MIDDLE} + {away}))[1]"


def make_time(hour: int, minute: int, second: float) -> dt.timedelta:
    """Raises 22008."""
    micros = round(second * SECOND) if 0 <= second < 61 else -1
    value = hour * HOUR + minute * MINUTE + micros
    if not (0 <= hour <= 24 and 0 <= minute < 60 and 0 <= micros <= 60 * SECOND and value <= DAY):
        shown = f"{hour}:{minute:02d}:{second:02g}"
        raise SqlError(DATETIME_OUT_OF_RANGE, f"time field value out of range: {shown}")
    return of_micros(value)


def add(a: dt.timedelta, by: Interval) -> dt.timedelta:
    """Its hours, minutes and seconds added; what goes beyond a day begins anew."""
    return of_micros((micros_of(a) + by.micros) % DAY)


def added(by: Interval, a: dt.timedelta) -> dt.timedelta:
    return add(a, by)


def subtract(a: dt.timedelta, by: Interval) -> dt.timedelta:
    return of_micros((micros_of(a) - by.micros) % DAY)


def between(a: dt.timedelta, b: dt.timedelta) -> Interval:
    return Interval(0, 0, micros_of(a) - micros_of(b))


def to_interval(a: dt.timedelta) -> Interval:
    return Interval(0, 0, micros_of(a))


def of_interval(value: Interval) -> dt.timedelta:
    return of_micros(value.micros % DAY)


def at(day: dt.date, time: dt.timedelta) -> dt.datetime:
    """The timestamp of a day and a time. Raises 22008."""
    try:
        return dt.datetime(day.year, day.month, day.day) + time  # noqa: DTZ001 - a timestamp without a zone
    except OverflowError:
        raise SqlError(DATETIME_OUT_OF_RANGE, "timestamp out of range") from None


def at_day(time: dt.timedelta, day: dt.date) -> dt.datetime:
    return at(day, time)


def extract(word: str, a: dt.timedelta) -> Decimal:
    unit = unit_named(word, NAME)
    if unit == "epoch":
        return units(micros_of(a), 6)
    if unit not in _PARTS:
        raise not_supported(word, NAME)
    return clock_part(unit, micros_of(a))


def date_part(word: str, a: dt.timedelta) -> float:
    return float(extract(word, a))


# --- the tables

OPERATORS = tuple(
    lines(
        "time",
        ("+", (TIME, INTERVAL), TIME, add),
        ("+", (INTERVAL, TIME), TIME, added),
        ("-", (TIME, INTERVAL), TIME, subtract),
        ("-", (TIME, TIME), INTERVAL, between),
        signs=True,
    )
)
FUNCTIONS = tuple(
    lines(
        "time",
        ("extract", (TEXT, TIME), NUMERIC, extract),
        ("date_part", (TEXT, TIME), FLOAT8, date_part),
        ("make_time", (INT4, INT4, FLOAT8), TIME, make_time),
    )
)
CASTS = (
    Own("time", "to_interval", (), (TIME,), INTERVAL, to_interval),
    Own("time", "of_interval", (), (INTERVAL,), TIME, of_interval),
)
