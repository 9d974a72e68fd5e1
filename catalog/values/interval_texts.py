"""PostgreSQL's input forms of intervals (DecodeInterval, DecodeISO8601Interval). Fields are read from the last, so that
units are known before numbers. Fractions of months become days, of days microseconds.

    1 day 2 hours    3 04:05:06    -1-2 +3 -4:05    @ 1.5 weeks ago    1y2mon    P1Y2M3DT4H5M6.7S    P1-2-3T4:5:6
"""

import re
from dataclasses import dataclass, field

from catalog.values.date_fields import fields_of
from catalog.values.errors import BadValue, DatetimeOutOfRange, InvalidDatetime
from catalog.values.intervals import (
    DAY,
    DAYS_PER_MONTH,
    FIELD_MAX,
    HOUR,
    MICROS_MAX,
    MINUTE,
    MONTHS_PER_YEAR,
    SECOND,
    Interval,
    checked,
)

FIELD_OVERFLOW = "22015"
CHARS_MAX = 255
FIELDS_MAX = 25
TOKEN_CHARS = 10
"""Letters of a unit that count."""
_MICROS = {"microsecond": 1, "millisecond": 1000, "second": SECOND, "minute": MINUTE, "hour": HOUR}
_DAYS = {"day": 1, "week": 7}
_YEARS = {"year": 1, "decade": 10, "century": 100, "millennium": 1000}
_SPELLED = {
    "microsecond": "us usec usecs usecond useconds microsecon",
    "millisecond": "ms msec msecs msecond mseconds millisecon",
    "second": "s sec secs second seconds", "minute": "m min mins minute minutes", "hour": "h hr hrs hour hours",
    "day": "d day days", "week": "w week weeks", "month": "mon mons month months", "year": "y yr yrs year years",
    "decade": "dec decs decade decades", "century": "c cent century centuries",
    "millennium": "mil mils millennia millennium",
}  # fmt: skip
UNITS = {word: unit for unit, words in _SPELLED.items() for word in words.split()}
_TIME = re.compile(r"(\d+):(\d+)(?::(\d+))?(\.\d*)?", re.ASCII)
_NUMBER = re.compile(r"([+-]?)(\d*)(?:-(\d+)|\.(\d*))?", re.ASCII)
_ALL_SECONDS = {"second", "millisecond", "microsecond"}
_CLOCK_UNITS = {"hour", "minute"} | _ALL_SECONDS


KNOWN_WORDS = frozenset({"d", "dec", "h", "m", "mm", "mon", "s", "y"})
"""Words that a number may follow without a blank."""


INFINITIES = frozenset({"infinity", "inf"})


class NoInterval(Exception):
    """Not an interval in this form."""


def read_interval(text: str, last: str = "second") -> Interval:
    """The interval of a text; `last` is the unit of a last number without one. Raises `BadValue`."""
    reader = _Reader(last)
    try:
        try:
            reader.read(text)
        except NoInterval:
            reader = _Reader(last)
            _of_iso(text, reader)
    except OverflowError:
        raise BadValue(f'interval field value out of range: "{text}"', FIELD_OVERFLOW) from None
    except NoInterval:
        if text.strip().lower().lstrip("+-") in INFINITIES:
            raise DatetimeOutOfRange(f'"{text}" is infinite: a node has finite intervals only') from None
        raise InvalidDatetime(f'invalid input syntax for type interval: "{text}"') from None
    return checked(reader.years * MONTHS_PER_YEAR + reader.months, reader.days, reader.micros)


@dataclass(eq=False)
class _Reader:
    last: str
    months: int = 0
    days: int = 0
    micros: int = 0
    years: int = 0
    found: set[str] = field(default_factory=set)

    def read(self, text: str) -> None:
        fields = fields_of(text.replace("@", " ").lower(), KNOWN_WORDS) if len(text) <= CHARS_MAX else None
        if not fields or len(fields) > FIELDS_MAX:
            raise NoInterval
        unit, is_ago = "", False
        for place, (kind, value) in enumerate(reversed(fields)):
            if kind in ("time", "offset") and ":" in value:
                self._clock(value)
                unit = "day"
            elif kind == "word":
                if value == "ago":
                    if place:
                        raise NoInterval
                    is_ago, unit = True, value
                else:
                    unit = self._unit(value)
            elif kind in ("number", "offset", "date"):
                unit = self._number(value, unit or self.last)
            else:
                raise NoInterval
        if not self.found:
            raise NoInterval
        if is_ago:
            self.years, self.months, self.days, self.micros = -self.years, -self.months, -self.days, -self.micros

    def _unit(self, word: str) -> str:
        unit = UNITS.get(word[:TOKEN_CHARS])
        if unit is None:
            raise NoInterval
        return unit

    def _clock(self, value: str) -> None:
        sign = -1 if value[0] == "-" else 1
        match = _TIME.fullmatch(value.lstrip("+-"))
        if match is None:
            raise NoInterval
        first, second, third, fraction = match.groups()
        if third is None and (fraction is not None):  # mm:ss.sss
            first, second, third = "0", first, second
        hour, minute, seconds = int(first), int(second), int(third or 0)
        micros = round(float(f"0{fraction}") * SECOND) if fraction and len(fraction) > 1 else 0
        if minute > 59 or seconds > 60:
            raise OverflowError
        self._note(_CLOCK_UNITS)
        self.micros = 0  # PostgreSQL forgets fractions of days behind a clock
        self._add_micros(sign * (hour * HOUR + minute * MINUTE + seconds * SECOND + micros))

    def _number(self, value: str, unit: str) -> str:
        match = _NUMBER.fullmatch(value)
        if match is None or (unit == "ago" and match[3] is None):
            raise NoInterval
        sign_text, digits, months, decimals = match.groups()
        sign = -1 if sign_text == "-" else 1
        if months is not None:
            if int(months) >= MONTHS_PER_YEAR:
                raise OverflowError
            self._note({"month"})
            self._add_months(sign * (int(digits) * MONTHS_PER_YEAR + int(months)))
            return "month"
        if not digits and not decimals:
            raise NoInterval
        whole = sign * int(digits or 0)
        if not -MICROS_MAX <= whole < MICROS_MAX:
            raise OverflowError
        fraction = sign * float(f"0.{decimals}") if decimals else 0.0
        self._note(_ALL_SECONDS if unit == "second" and fraction else {unit})
        self.add(unit, whole, fraction)
        return "day" if unit == "hour" else unit

    def _note(self, units: set[str]) -> None:
        if self.found & units:
            raise NoInterval
        self.found |= units

    def add(self, unit: str, whole: int, fraction: float) -> None:
        """Raises `OverflowError`."""
        if unit in _MICROS:
            self._add_micros(whole * _MICROS[unit])
            self._add_fraction(fraction, _MICROS[unit])
        elif unit in _DAYS:
            self._add_days(whole * _DAYS[unit])
            if unit == "week":
                self._add_days_of(fraction * 7)
            else:
                self._add_fraction(fraction, DAY)
        elif unit == "month":
            self._add_months(whole)
            self._add_days_of(fraction * DAYS_PER_MONTH)
        else:
            self.years += whole * _YEARS[unit]
            if not -FIELD_MAX <= self.years < FIELD_MAX:
                raise OverflowError
            self._add_months(round(fraction * _YEARS[unit] * MONTHS_PER_YEAR))

    def _add_days_of(self, days: float) -> None:
        self._add_days(int(days))
        self._add_fraction(days - int(days), DAY)

    def _add_fraction(self, fraction: float, scale: int) -> None:
        """A part of `scale` microseconds, halves towards zero."""
        micros = fraction * scale
        rest = micros - int(micros)
        self._add_micros(int(micros) + (1 if rest > 0.5 else -1 if rest < -0.5 else 0))

    def _add_micros(self, micros: int) -> None:
        self.micros += micros
        if not -MICROS_MAX <= self.micros < MICROS_MAX:
            raise OverflowError

    def _add_days(self, days: int) -> None:
        self.days += days
        if not -FIELD_MAX <= self.days < FIELD_MAX:
            raise OverflowError

    def _add_months(self, months: int) -> None:
        self.months += months
        if not -FIELD_MAX <= self.months < FIELD_MAX:
            raise OverflowError


# --- ISO 8601

_PART = r"(-?(?:\d+(?:\.\d*)?|\.\d+))"
_DESIGNATED = re.compile(
    rf"P(?=.)(?:{_PART}Y)?(?:{_PART}M)?(?:{_PART}W)?(?:{_PART}D)?(?:T(?:{_PART}H)?(?:{_PART}M)?(?:{_PART}S)?)?",
    re.ASCII,
)
_DATE = rf"(?:(?P<day>-?\d{{8}}(?:\.\d*)?)|{_PART}(?:-{_PART}(?:-{_PART})?)?)"
_TIME_OF_DAY = rf"(?:(?P<clock>-?\d{{6}}(?:\.\d*)?)|{_PART}(?::{_PART}(?::{_PART})?)?)"
_ALTERNATIVE = re.compile(rf"P{_DATE}?(?:T{_TIME_OF_DAY}?)?", re.ASCII)
_PLACES = (2, 3, 4, 6, 7, 8)
"""The groups of an alternative form between its hyphens and colons."""
_ORDER = ("year", "month", "week", "day", "hour", "minute", "second")
_SHORT_ORDER = ("year", "month", "day", "hour", "minute", "second")
ISO_MAX = 10**15
"""What a number of this form must not exceed."""


def _of_iso(text: str, reader: _Reader) -> None:
    if len(text) > CHARS_MAX or len(text) < 2:
        raise NoInterval
    match = _DESIGNATED.fullmatch(text)
    if match is not None:
        for unit, number in zip(_ORDER, match.groups(), strict=True):
            if number is not None:
                reader.add(unit, *_iso_number(number))
        return
    match = _ALTERNATIVE.fullmatch(text)
    if match is None:
        raise NoInterval
    for unit, place in zip(_SHORT_ORDER, _PLACES, strict=True):
        if match[place] is not None:
            reader.add(unit, *_iso_number(match[place]))
    for name, units in (("day", _SHORT_ORDER[:3]), ("clock", _SHORT_ORDER[3:])):
        if match[name] is not None:
            whole, fraction = _iso_number(match[name])
            sign, count = -1 if whole < 0 else 1, abs(whole)
            parts = (count // 10_000, count // 100 % 100, count % 100)
            for unit, part in zip(units, parts, strict=True):
                reader.add(unit, sign * part, 0.0)
            reader.add("day" if name == "day" else "microsecond", 0, fraction)


def _iso_number(text: str) -> tuple[int, float]:
    """A number and its fraction by PostgreSQL's arithmetic. Raises `OverflowError`."""
    number = float(text)
    if not -ISO_MAX <= number <= ISO_MAX:
        raise OverflowError
    return int(number), number - int(number)
