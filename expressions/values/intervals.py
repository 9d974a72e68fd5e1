"""Intervals for one value: arithmetic, parts, and what PostgreSQL makes of fractions. The query engine calls the same.

Months, days and microseconds stay apart: 1 month is not 30 days until `justify_days` says so.
"""

import datetime as dt
import math
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from typing import Any

from catalog.values import intervals
from catalog.values.interval_styles import WRITERS, read_in
from catalog.values.interval_texts import UNITS
from catalog.values.intervals import DAY, DAYS_PER_MONTH, MONTHS_PER_YEAR, SECOND, Interval, OutOfRange
from catalog.values.types import SqlType
from expressions.errors import (
    DATETIME_OUT_OF_RANGE,
    DIVISION_BY_ZERO,
    FEATURE_NOT_SUPPORTED,
    INVALID_PARAMETER_VALUE,
    NUMBER_OUT_OF_RANGE,
    SqlError,
)
from expressions.sqltypes import FLOAT8, INT4, INT8, INTERVAL, NUMERIC, TEXT
from expressions.values.arithmetic import text_to
from expressions.values.own import Own, lines

QUARTER_DAY_S = 21_600
QUARTERS_PER_YEAR, QUARTERS_PER_MONTH = 1461, 120
"""Quarters of a day: of a year of 365.25 days, of a month of 30."""


def interval(months: int, days: int, micros: int) -> Interval:
    """Raises 22008."""
    try:
        return intervals.checked(months, days, micros)
    except OutOfRange as error:
        raise SqlError(DATETIME_OUT_OF_RANGE, str(error)) from None


def add(a: Interval, b: Interval) -> Interval:
    return interval(a.months + b.months, a.days + b.days, a.micros + b.micros)


def subtract(a: Interval, b: Interval) -> Interval:
    return interval(a.months - b.months, a.days - b.days, a.micros - b.micros)


def negative(a: Interval) -> Interval:
    return interval(-a.months, -a.days, -a.micros)


def multiply(a: Interval, factor: float) -> Interval:
    return _scaled(a, lambda number: number * factor)


def multiplied(factor: float, a: Interval) -> Interval:
    return multiply(a, factor)


def divide(a: Interval, divisor: float) -> Interval:
    if divisor == 0:
        raise SqlError(DIVISION_BY_ZERO, "division by zero")
    return _scaled(a, lambda number: number / divisor)


def _scaled(a: Interval, scale: Callable[[int], float]) -> Interval:
    """A part of a month counts as days, a part of a day as microseconds."""
    try:
        months, days = int(scale(a.months)), int(scale(a.days))
        month_days = _rounded((scale(a.months) - months) * DAYS_PER_MONTH)
        seconds = _rounded((scale(a.days) - days + month_days - int(month_days)) * (DAY // SECOND))
        if abs(seconds) >= DAY // SECOND:
            whole = int(seconds / (DAY // SECOND))
            days, seconds = days + whole, seconds - whole * (DAY // SECOND)
        micros = round(scale(a.micros) + seconds * SECOND)
    except (ValueError, OverflowError):  # of NaN and the infinities
        raise SqlError(DATETIME_OUT_OF_RANGE, "interval out of range") from None
    return interval(months, days + int(month_days), micros)


def _rounded(number: float) -> float:
    if math.isinf(number) or math.isnan(number):
        raise OverflowError
    return round(number * SECOND) / SECOND


# --- whole days and months of what is less


def _cut(number: int, unit: int) -> tuple[int, int]:
    """The whole units in a number, and what is left, of its sign."""
    count = abs(number) // unit * (-1 if number < 0 else 1)
    return count, number - count * unit


def justify_hours(a: Interval) -> Interval:
    more, micros = _cut(a.micros, DAY)
    return interval(a.months, *_same_sign(a.days + more, micros, DAY))


def justify_days(a: Interval) -> Interval:
    more, days = _cut(a.days, DAYS_PER_MONTH)
    return interval(*_same_sign(a.months + more, days, DAYS_PER_MONTH), a.micros)


def justify_interval(a: Interval) -> Interval:
    more, micros = _cut(a.micros, DAY)
    more_months, days = _cut(a.days + more, DAYS_PER_MONTH)
    months = a.months + more_months
    if months > 0 and (days < 0 or (days == 0 and micros < 0)):
        months, days = months - 1, days + DAYS_PER_MONTH
    elif months < 0 and (days > 0 or (days == 0 and micros > 0)):
        months, days = months + 1, days - DAYS_PER_MONTH
    return interval(months, *_same_sign(days, micros, DAY))


def _same_sign(large: int, small: int, unit: int) -> tuple[int, int]:
    if large > 0 > small:
        return large - 1, small + unit
    if large < 0 < small:
        return large + 1, small - unit
    return large, small


# --- parts


def make_interval(
    years: int = 0, months: int = 0, weeks: int = 0, days: int = 0, hours: int = 0, mins: int = 0, secs: float = 0.0
) -> Interval:
    if not math.isfinite(secs):
        raise SqlError(DATETIME_OUT_OF_RANGE, "interval out of range")
    micros_of_secs = secs * SECOND
    if math.isinf(micros_of_secs):
        raise SqlError(NUMBER_OUT_OF_RANGE, "value out of range: overflow")
    micros = (hours * 60 + mins) * intervals.MINUTE + round(micros_of_secs)
    return interval(years * MONTHS_PER_YEAR + months, weeks * 7 + days, micros)


_OF_MONTHS = {"year": 1, "decade": 10, "century": 100, "millennium": 1000}
_OF_MICROS = {"hour": intervals.HOUR, "minute": intervals.MINUTE, "second": SECOND}
_UNITS = {**UNITS, "quarter": "quarter", "qtr": "quarter", "epoch": "epoch"}


def unit_named(word: str, of: str) -> str:
    """The unit of a name or abbreviation. Raises 22023."""
    unit = _UNITS.get(word.lower()[:10])
    if unit is None:
        raise SqlError(INVALID_PARAMETER_VALUE, f'unit "{word.lower()}" not recognized for type {of}')
    return unit


def not_supported(word: str, of: str) -> SqlError:
    return SqlError(FEATURE_NOT_SUPPORTED, f'unit "{word.lower()}" not supported for type {of}')


def extract(word: str, a: Interval) -> Decimal:
    unit = unit_named(word, "interval")
    years, months = _cut(a.months, MONTHS_PER_YEAR)
    if unit == "epoch":
        quarters = QUARTERS_PER_YEAR * years + QUARTERS_PER_MONTH * months + 4 * a.days
        return units(quarters * QUARTER_DAY_S * SECOND + a.micros, 6)
    if unit in _OF_MONTHS:
        return Decimal(_cut(years, _OF_MONTHS[unit])[0])
    if unit == "quarter":
        return Decimal(months // 3 + 1 if a.months >= 0 else -(-months // 3 + 1))
    if unit == "month":
        return Decimal(months)
    if unit == "day":
        return Decimal(a.days)
    if unit == "week":
        return Decimal(_cut(a.days, 7)[0])
    return clock_part(unit, a.micros)


def clock_part(unit: str, micros: int) -> Decimal:
    """Hours, minutes or seconds of so many microseconds, or units of less than a second."""
    if unit == "hour":
        return Decimal(_cut(micros, intervals.HOUR)[0])
    _, rest = _cut(micros, intervals.HOUR)
    count, rest = _cut(rest, intervals.MINUTE)
    if unit == "minute":
        return Decimal(count)
    return units(rest, {"second": 6, "millisecond": 3, "microsecond": 0}[unit])


def units(count: int, scale: int) -> Decimal:
    return Decimal(count).scaleb(-scale)


def date_part(word: str, a: Interval) -> float:
    if unit_named(word, "interval") != "epoch":
        return float(extract(word, a))
    years, months = _cut(a.months, MONTHS_PER_YEAR)
    seconds = a.micros / SECOND + QUARTERS_PER_YEAR * QUARTER_DAY_S * years  # added up as PostgreSQL does
    return seconds + QUARTERS_PER_MONTH * QUARTER_DAY_S * months + 4 * QUARTER_DAY_S * a.days


def date_trunc(word: str, a: Interval) -> Interval:
    unit = unit_named(word, "interval")
    if unit in _OF_MONTHS or unit in ("quarter", "month"):
        size = 3 if unit == "quarter" else 1 if unit == "month" else _OF_MONTHS[unit] * MONTHS_PER_YEAR
        return Interval(_cut(a.months, size)[0] * size)
    if unit == "day":
        return Interval(a.months, a.days)
    if unit in ("week", "epoch"):
        raise not_supported(word, "interval")
    size = _OF_MICROS.get(unit, 1000 if unit == "millisecond" else 1)
    return Interval(a.months, a.days, _cut(a.micros, size)[0] * size)


# --- moved moments


def moved(moment: dt.datetime, by: Interval) -> dt.datetime:
    """Months first, to the last day of a month that has no such day; then days, then microseconds. Raises 22008."""
    try:
        if by.months:
            months = moment.year * MONTHS_PER_YEAR + moment.month - 1 + by.months
            year, month = months // MONTHS_PER_YEAR, months % MONTHS_PER_YEAR + 1
            moment = moment.replace(year=year, month=month, day=min(moment.day, _days_of(year, month)))
        return moment + dt.timedelta(days=by.days) + dt.timedelta(microseconds=by.micros)
    except (ValueError, OverflowError):
        raise SqlError(DATETIME_OUT_OF_RANGE, "timestamp out of range") from None


def _days_of(year: int, month: int) -> int:
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def moved_back(moment: dt.datetime, by: Interval) -> dt.datetime:
    return moved(moment, negative(by))


def between(a: dt.datetime, b: dt.datetime) -> Interval:
    """The time from b to a, in days and what is left."""
    days, micros = _cut((a - b) // dt.timedelta(microseconds=1), DAY)
    return Interval(0, days, micros)


# --- what the query engine has of its own


def engine_interval(packed: str) -> str:
    """The engine's own interval, of SQL for a packed one."""
    return f"list_transform([{packed}], lambda b: {' + '.join(_engine_parts('b'))})[1]"


def engine_moved(moment: str, packed: str, sign: str = "") -> str:
    """The engine's timestamp moved by a packed interval: by months, then days, then the rest.

    By all three at once the engine would go from the smallest to the largest where one is negative.
    """
    months, days, micros = _engine_parts("s.b", sign)
    moves = f"((s.t + {months}) + {days}) + {micros}"
    return f"list_transform([{{{{'t': {moment}, 'b': {packed}}}}}], lambda s: {moves})[1]"


def _engine_parts(packed: str, sign: str = "") -> tuple[str, str, str]:
    """Months, days and microseconds, each as an interval of the engine."""
    months, days = (
        f"CAST({sign}(CAST('0x' || hex({packed}[{first}:{first + 3}]) AS BIGINT) - 2147483648) AS INTEGER)"
        for first in (1, 5)
    )
    return f"to_months({months})", f"to_days({days})", f"to_microseconds({sign}{MICROS.engine_name}({packed}))"


def with_engine_interval(packed: str, template: str) -> str:
    """SQL over the engine's own interval, called i, of a packed one."""
    return f"list_transform([{engine_interval(packed)}], lambda i: {template})[1]"


def of_engine_interval(own: str) -> str:
    """A packed interval of the engine's own."""
    months = "datepart('year', i) * 12 + datepart('month', i)"
    micros = f"datepart('hour', i) * {intervals.HOUR} + datepart('minute', i) * {intervals.MINUTE}"
    parts = f"{months}, datepart('day', i), {micros} + datepart('microseconds', i)"
    return f"list_transform([{own}], lambda i: {OF_PARTS.engine_name}({parts}))[1]"


def of_engine_micros(micros: str) -> str:
    """A packed interval of days and what is left, of SQL for microseconds."""
    days = f"lpad(hex(CAST(d // {DAY} + 2147483648 AS BIGINT)), 8, '0')"
    span = "CASE WHEN d < 0 THEN '7FFF' ELSE '8000' END || lpad(hex(d), 16, '0')"
    return f"list_transform([{micros}], lambda d: unhex('80000000' || {days} || {span}))[1]"


def sum_of(values: Any) -> Interval | None:
    total: Interval | None = None
    for value in values:
        total = value if total is None else add(total, value)
    return total


def average_of(values: Any) -> Interval | None:
    known = list(values)
    total = sum_of(known)
    return None if total is None else divide(total, float(len(known)))


def _read_in(style: str, text: str) -> Interval:
    read: Callable[[str], Interval] = text_to(SqlType.INTERVAL)
    try:
        return read_in(style, text, read)
    except OutOfRange as error:
        raise SqlError(DATETIME_OUT_OF_RANGE, str(error)) from None


# --- the tables

_ONE, _TWO = (INTERVAL,), (INTERVAL, INTERVAL)
_NUMBERS = (*[INT4] * 6, FLOAT8)
MICROS = Own("interval", "micros", (), _ONE, INT8, lambda a: a.micros)
OF_PARTS = Own("interval", "of_parts", (), (INT8, INT8, INT8), INTERVAL, interval)
OPERATORS = tuple(
    lines(
        "interval",
        ("+", _TWO, INTERVAL, add),
        ("-", _TWO, INTERVAL, subtract),
        ("-", _ONE, INTERVAL, negative),
        ("*", (INTERVAL, FLOAT8), INTERVAL, multiply),
        ("*", (FLOAT8, INTERVAL), INTERVAL, multiplied),
        ("/", (INTERVAL, FLOAT8), INTERVAL, divide),
        signs=True,
    )
)
STYLED = {
    (INTERVAL, TEXT): {
        style: Own("interval", f"text_{style}", (), _ONE, TEXT, write) for style, write in WRITERS.items()
    },
    (TEXT, INTERVAL): {
        style: Own("interval", f"of_text_{style}", (), (TEXT,), INTERVAL, partial(_read_in, style)) for style in WRITERS
    },
}
"""Casts by a session's IntervalStyle."""
FUNCTIONS = tuple(
    lines(
        "interval",
        ("justify_hours", _ONE, INTERVAL, justify_hours),
        ("justify_days", _ONE, INTERVAL, justify_days),
        ("justify_interval", _ONE, INTERVAL, justify_interval),
        ("extract", (TEXT, INTERVAL), NUMERIC, extract),
        ("date_part", (TEXT, INTERVAL), FLOAT8, date_part),
        ("date_trunc", (TEXT, INTERVAL), INTERVAL, date_trunc),
        *(("make_interval", _NUMBERS[:count], INTERVAL, make_interval) for count in range(1, len(_NUMBERS) + 1)),
    )
)
