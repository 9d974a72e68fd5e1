"""Values of time: the time since midnight, up to 24:00:00, which Python's own type has not. The query engine and Arrow
have them as microseconds."""

import datetime as dt
import re

from catalog.values.intervals import DAY, clock_text

MICROSECOND = dt.timedelta(microseconds=1)
MIDNIGHT, LAST = dt.timedelta(), dt.timedelta(days=1)
_ISO = re.compile(r"\s*(\d\d?):(\d\d)(?::(\d\d)(\.\d{0,6})?)?\s*", re.ASCII)


class Malformed(ValueError):
    """A number that is no time of day."""


def micros_of(value: dt.timedelta) -> int:
    return value // MICROSECOND


def of_micros(micros: int) -> dt.timedelta:
    """Raises `Malformed`."""
    if not 0 <= micros <= DAY:
        raise Malformed(f"{micros} microseconds are no time of day")
    return micros * MICROSECOND


def read(text: str) -> dt.timedelta | None:
    """The time that a text in the form of ISO 8601 means; None when it is in none, or no time."""
    match = _ISO.fullmatch(text)
    if match is None:
        return None
    hour, minute, second, fraction = match.groups()
    value = dt.timedelta(hours=int(hour), minutes=int(minute), seconds=int(second or 0))
    value += int((fraction or ".")[1:].ljust(6, "0")) * MICROSECOND
    return value if int(minute) < 60 and int(second or 0) < 60 and value <= LAST else None


def has_form(text: str) -> bool:
    """True of a text in that form, also of one that is no time."""
    return _ISO.fullmatch(text) is not None


def text_of(value: dt.timedelta) -> str:
    return clock_text(micros_of(value))
