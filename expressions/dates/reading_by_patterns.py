"""to_date and to_timestamp: a text is read by a pattern, field by field, as PostgreSQL reads it.

    to_date('05 Dec 2000', 'DD Mon YYYY')
    to_timestamp('2024-W09-4 13:04', 'IYYY-"W"IW-ID HH24:MI')

Time zones in a text and eras before Christ are refused: by name, and as out of range.
"""

import datetime as dt
import re
from dataclasses import dataclass, field

from expressions.dates.patterns import GREGORIAN, ISO_WEEKS, NUMBERS, Part, is_separator, parts_of
from expressions.errors import DATETIME_OUT_OF_RANGE, SqlError, unsupported
from expressions.limits import look_at
from expressions.sqltypes import DATE, TEXT, TIMESTAMP
from expressions.values.own import lines

INVALID_DATETIME = "22007"
TEXT_CHARS_MAX = 10_000
INT_MAX = 2**31
MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december")  # fmt: skip
DAYS = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
ROMANS = ("xii", "xi", "x", "ix", "viii", "vii", "vi", "v", "iv", "iii", "ii", "i")
_BLANKS = " \t\n\v\f\r"
_NUMBER = re.compile(r"[ \t\n\v\f\r]*[+-]?[0-9]+")
_THOUSANDS = re.compile(r"\s*([+-]?\d+),\s*(\d{1,3})")
_KEYS = {
    "HH": "hour", "HH12": "hour", "HH24": "hour", "MI": "minute", "SS": "second", "SSSS": "of_day", "SSSSS": "of_day",
    "MM": "month", "DDD": "day_of_year", "IDDD": "day_of_year", "DD": "day", "D": "weekday", "ID": "weekday",
    "WW": "week", "IW": "week", "W": "week_of_month", "CC": "century", "J": "julian", "MS": "millis", "US": "micros",
}  # fmt: skip
JULIAN_OF_YEAR_1 = 1_721_425
"""The Julian day of 1 January of the year 1, whose ordinal is 1."""


@dataclass(slots=True)
class Found:
    """The numbers that were read, 0 where there was none."""

    numbers: dict[str, int] = field(default_factory=dict)
    year_digits: int = 0
    is_of_12_hours: bool = False
    convention: str = ""

    def __getitem__(self, name: str) -> int:
        return self.numbers.get(name, 0)

    def put(self, name: str, value: int, part: Part, *, meant: int | None = None) -> None:
        """Note a number; `meant` is what it stands for, where that is another one."""
        known = self[name]
        if known and known != value:
            detail = "This value contradicts a previous setting for the same field type."
            message = f'conflicting values for "{part.text}" field in formatting string'
            raise SqlError(INVALID_DATETIME, message, detail=detail)
        self.numbers[name] = value if meant is None else meant


class _Reader:
    def __init__(self, text: str, parts: tuple[Part, ...]) -> None:
        self.text, self.parts, self.place = text, parts, 0
        self.found = Found()
        self.skipped, self.is_fixed = 0, False

    def _at(self) -> str:
        return self.text[self.place : self.place + 1]

    def _skip_blanks(self) -> None:
        while self._at() and self._at() in _BLANKS:
            self.place += 1
            self.skipped += 1

    def read(self) -> Found:
        for number, part in enumerate(self.parts):
            if self.place >= len(self.text):
                break
            is_field = part.kind == "field"
            if not self.is_fixed and part.field != "FX" and (is_field or number == 0):
                self._skip_blanks()
            if is_field:
                self._field(part, number)
                if not self.is_fixed:
                    self.skipped = 0
                    self._skip_blanks()
            elif part.kind == "char":
                if not self.is_fixed and self.skipped > 0:
                    self.skipped -= 1
                else:
                    self.place += 1
            elif self.is_fixed:
                self.place += 1
            else:
                self.skipped -= 1
                if self._at() in tuple(_BLANKS) or (self._at() and is_separator(self._at())):
                    self.place += 1
                    self.skipped += 1
        return self.found

    def _field(self, part: Part, number: int) -> None:
        name, found = part.field, self.found
        words: tuple[str, ...]
        convention = "iso" if name in ISO_WEEKS else "gregorian" if name in GREGORIAN else ""
        if convention and found.convention not in ("", convention):
            hint = "Do not mix Gregorian and ISO week date conventions in a formatting template."
            raise SqlError(INVALID_DATETIME, "invalid combination of date conventions", hint=hint)
        found.convention = found.convention or convention
        match name:
            case "FX":
                self.is_fixed = True
            case "TZ" | "TZH" | "TZM" | "OF":
                raise unsupported(f"{part.text} in a pattern that reads", hint="cast the text to timestamptz")
            case "AM" | "PM" | "A.M." | "P.M.":
                words = ("a.m.", "p.m.") if "." in name else ("am", "pm")
                found.put("is_pm", self._word(words, part), part)
                found.is_of_12_hours = True
            case "AD" | "BC" | "A.D." | "B.C.":
                words = ("a.d.", "b.c.") if "." in name else ("ad", "bc")
                found.put("is_bc", self._word(words, part), part)
            case "MONTH" | "MON":
                words = MONTHS if name == "MONTH" else tuple(month[:3] for month in MONTHS)
                found.put("month", self._word(words, part) + 1, part)
            case "DAY" | "DY":
                words = DAYS if name == "DAY" else tuple(day[:3] for day in DAYS)
                weekday = self._word(words, part)
                found.put("weekday", weekday, part, meant=weekday + 1)
            case "RM":
                found.put("month", 12 - self._word(ROMANS, part), part)
            case "Y,YYY":
                thousands = _THOUSANDS.match(self.text, self.place)
                if thousands is None:
                    raise SqlError(INVALID_DATETIME, 'invalid value for "Y,YYY"')
                found.put("year", int(thousands[1][:9]) * 1000 + int(thousands[2]), part)
                found.year_digits, self.place = 4, thousands.end()
            case _:
                self._number(part, number)
        if part.ending.upper() == "TH":
            self.place += 2

    def _word(self, words: tuple[str, ...], part: Part) -> int:
        rest = self.text[self.place : self.place + 12].lower()
        for number, word in enumerate(words):
            if rest.startswith(word):
                self.place += len(word)
                return number
        detail = "The given value did not match any of the allowed values for this field."
        raise self._invalid(part, detail)

    def _invalid(self, part: Part, detail: str) -> SqlError:
        shown = re.split(r"[^A-Za-z0-9]", self.text[self.place : self.place + 16].lstrip())[0] or self._at()
        return SqlError(INVALID_DATETIME, f'invalid value "{shown}" for "{part.text}"', detail=detail)

    def _number(self, part: Part, number: int) -> None:
        name, found = part.field, self.found
        length = {"HH24": 2, "HH12": 2, "MS": 3, "US": 6, "J": 1, "ID": 1, "IDDD": 3}.get(name, len(name))
        if name.startswith("FF"):
            length = int(name[2])
        value, used = self._integer(part, number, length)
        if name in ("YYYY", "YYY", "YY", "Y", "IYYY", "IYY", "IY", "I"):
            digits = len(name)
            found.put("year", value, part, meant=value if digits == 4 or used >= 4 else _whole_year(value))
            found.year_digits = digits
        elif name == "Q":
            return
        elif name == "MS":
            found.put("millis", value, part, meant=value * 10 ** max(3 - used, 0))
        elif name == "US" or name.startswith("FF"):
            found.put("micros", value, part, meant=value * 10 ** max(6 - used, 0))
        elif name == "ID":
            found.put("weekday", value, part, meant=1 if value >= 7 else value + 1)
        else:
            found.put(_KEYS[name], value, part)
            found.is_of_12_hours |= name in ("HH", "HH12")

    def _integer(self, part: Part, number: int, length: int) -> tuple[int, int]:
        """The number of a field, and how many characters it took."""
        begin = self.place
        blanks = len(self.text[begin : begin + 100]) - len(self.text[begin : begin + 100].lstrip(_BLANKS))
        if part.fills or self._ends(part, number):
            found = _NUMBER.match(self.text, begin)
            used = 0 if found is None else len(found[0])
        else:
            copied = self.text[begin + blanks : begin + blanks + length]
            if len(copied) < length:
                detail = f"Field requires {length} characters, but only {len(copied)} remain."
                message = f'source string too short for "{part.text}" formatting field'
                raise SqlError(INVALID_DATETIME, message, detail=detail)
            found = _NUMBER.match(copied)
            used = 0 if found is None else len(found[0])
            if 0 < used < length:
                raise self._invalid(part, f"Field requires {length} characters, but only {used} could be parsed.")
            used += blanks if used else 0
        if found is None or not used:
            raise self._invalid(part, "Value must be an integer.")
        digits = found[0].strip(_BLANKS)
        value = int(digits) if len(digits) < 20 else INT_MAX
        if not -INT_MAX <= value < INT_MAX:
            message = f'value for "{part.text}" in source string is out of range'
            raise SqlError(DATETIME_OUT_OF_RANGE, message)
        self.place = begin + used
        return value, used

    def _ends(self, part: Part, number: int) -> bool:
        """True if no digit of another field may follow, so that the field takes all digits that there are."""
        if part.ending.upper() == "TH" or number + 1 == len(self.parts):
            return True
        after = self.parts[number + 1]
        return after.field not in NUMBERS if after.kind == "field" else after.text not in "0123456789"


def _whole_year(year: int) -> int:
    """The year nearest to 2020 that ends with these digits."""
    if year < 70:
        return year + 2000
    if year < 100:
        return year + 1900
    if year < 520:
        return year + 2000
    return year + 1000 if year < 1000 else year


def _moment(text: str, pattern: str) -> tuple[int, dt.timedelta]:
    """The day's ordinal, and the time of it. Raises 22007 and 22008."""
    if len(text) > TEXT_CHARS_MAX:
        raise SqlError("54000", f"a text that is read by a pattern may have at most {TEXT_CHARS_MAX} characters")
    look_at(len(text))
    found = _Reader(text, parts_of(pattern)).read()
    beyond = SqlError(DATETIME_OUT_OF_RANGE, f'date/time field value out of range: "{text}"')
    if found.is_of_12_hours and not 1 <= (hour := found["hour"] or found["of_day"] // 3600) <= 12:
        hint = "Use the 24-hour clock, or give an hour between 1 and 12."
        raise SqlError(INVALID_DATETIME, f'hour "{hour}" is invalid for the 12-hour clock', hint=hint)
    try:
        day = _day(found, beyond)
    except (ValueError, OverflowError):
        raise beyond from None
    return day, _time(found, beyond)


def _time(found: Found, beyond: SqlError) -> dt.timedelta:
    hour, rest = divmod(found["of_day"], 3600)
    minute, second = divmod(rest, 60)
    hour, minute, second = found["hour"] or hour, found["minute"] or minute, found["second"] or second
    if found.is_of_12_hours:
        hour = hour % 12 + 12 * found["is_pm"]
    micros = found["millis"] * 1000 + found["micros"]
    if not (0 <= hour < 24 and 0 <= minute < 60 and 0 <= second < 60 and 0 <= micros < 1_000_000):
        raise beyond
    return dt.timedelta(hours=hour, minutes=minute, seconds=second, microseconds=micros)


def _year(found: Found) -> int:
    century = -found["century"] if found["is_bc"] else found["century"]
    if found["year"]:
        if century and found.year_digits <= 2:
            rest = found["year"] % 100
            return century * 100 if not rest else (century - 1) * 100 + rest
        return -found["year"] if found["is_bc"] else found["year"]
    return (century - 1) * 100 + 1 if century else 0


def _day(found: Found, beyond: SqlError) -> int:
    year, month, day = _year(found), 1, 1
    day_of_year, is_iso = found["day_of_year"], found.convention == "iso"
    if found["julian"]:
        known = dt.date.fromordinal(found["julian"] - JULIAN_OF_YEAR_1)
        year, month, day = known.year, known.month, known.day
    if found["week"] and is_iso:
        weekday = (found["weekday"] or 2) - 2
        known = _iso_year(year) + dt.timedelta(weeks=found["week"] - 1, days=weekday if weekday >= 0 else 6)
        year, month, day = known.year, known.month, known.day
    elif found["week"]:
        day_of_year = (found["week"] - 1) * 7 + 1
    day = (found["week_of_month"] - 1) * 7 + 1 if found["week_of_month"] else found["day"] or day
    month = found["month"] or month
    if day_of_year and (month <= 1 or day <= 1):
        if not year and not found["is_bc"]:
            raise SqlError(INVALID_DATETIME, "cannot calculate day of year without year information")
        known = (_iso_year(year) if is_iso else dt.date(year, 1, 1)) + dt.timedelta(days=day_of_year - 1)
        if day_of_year < 1 or (known.year != year and not is_iso):
            raise beyond
        if is_iso:
            year = known.year
        month, day = (known.month if month <= 1 else month), (known.day if day <= 1 else day)
    return dt.date(year, month, day).toordinal()


def _iso_year(year: int) -> dt.date:
    """The Monday on which the weeks of a year begin."""
    fourth = dt.date(year, 1, 4)
    return fourth - dt.timedelta(days=fourth.weekday())


def to_date(text: str, pattern: str) -> dt.date:
    return dt.date.fromordinal(_moment(text, pattern)[0])


def to_timestamp(text: str, pattern: str) -> dt.datetime:
    day, time = _moment(text, pattern)
    return dt.datetime.fromordinal(day) + time


_TWO = (TEXT, TEXT)
TO_DATE, TO_TIMESTAMP = lines(
    "date_pattern", ("to_date", _TWO, DATE, to_date), ("to_timestamp", _TWO, TIMESTAMP, to_timestamp)
)
"""The second gives a local time: its call stands in a cast to timestamptz."""
