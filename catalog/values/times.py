"""Values of time, up to 24:00:00, and the precision of times and timestamps. PostgreSQL counts timestamps from 2000 and
rounds halves away from zero: timestamp(0) of 1999-12-31 23:59:59.5 is 23:59:59, of 2000-01-01 00:00:00.5 00:00:01."""

import datetime as dt
import re

from catalog.values.errors import Malformed
from catalog.values.intervals import DAY, clock_text

MICROSECOND = dt.timedelta(microseconds=1)
LAST = dt.timedelta(days=1)
SECOND_DIGITS_MAX = 6
MIDDLE_YEAR = 2000
MIDDLE, END = 946_684_800_000_000, 253_402_300_800_000_000
"""Microseconds since 1970 of the moment from which PostgreSQL counts, and of the first one behind the year 9999."""
_ISO = re.compile(r"\s*(\d\d?):(\d\d)(?::(\d\d)(\.\d{0,6})?)?\s*", re.ASCII)


def micros_of(value: dt.timedelta) -> int:
    return value // MICROSECOND


def of_micros(micros: int) -> dt.timedelta:
    """Raises `Malformed`."""
    if not 0 <= micros <= DAY:
        raise Malformed(f"{micros} microseconds are no time of day")
    return micros * MICROSECOND


def read(text: str) -> dt.timedelta | None:
    """The time of an ISO 8601 text, or None."""
    match = _ISO.fullmatch(text)
    if match is None:
        return None
    hour, minute, second, fraction = match.groups()
    value = dt.timedelta(hours=int(hour), minutes=int(minute), seconds=int(second or 0))
    value += int((fraction or ".")[1:].ljust(6, "0")) * MICROSECOND
    return value if int(minute) < 60 and int(second or 0) < 60 and value <= LAST else None


def has_form(text: str) -> bool:
    return _ISO.fullmatch(text) is not None


def text_of(value: dt.timedelta) -> str:
    return clock_text(micros_of(value))


# --- timestamp(precision) and time(precision)


def unit_of(digits: int) -> int:
    return int(10 ** (SECOND_DIGITS_MAX - digits))


def rounded(value: dt.datetime | dt.timedelta, digits: int) -> dt.datetime | dt.timedelta:
    """With so many digits of its seconds. Raises `OverflowError` beyond the year 9999."""
    unit = unit_of(digits)
    rest = (value.microsecond if isinstance(value, dt.datetime) else value.microseconds) % unit
    if not rest:
        return value
    halves_go_up = not isinstance(value, dt.datetime) or value.year >= MIDDLE_YEAR
    goes_up = 2 * rest > unit or (2 * rest == unit and halves_go_up)
    return value + (unit - rest if goes_up else -rest) * MICROSECOND
