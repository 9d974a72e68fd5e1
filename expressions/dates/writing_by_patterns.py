"""to_char of intervals, and of timestamps by patterns that the query engine has no words for.

to_char(interval '25:00', 'HH24:MI')      25:00
to_char(timestamp '2024-02-29', 'RM J')   II   2460370
"""

import datetime as dt
import math
from dataclasses import dataclass

from catalog.values.intervals import HOUR, MINUTE, SECOND, Interval
from expressions.dates.patterns import Part, parts_of
from expressions.dates.reading_by_patterns import DAYS, INVALID_DATETIME, JULIAN_OF_YEAR_1, MONTHS, ROMANS
from expressions.errors import SqlError, unsupported
from expressions.sqltypes import INTERVAL, TEXT, TIMESTAMP
from expressions.values.own import Own

_OF_DAYS = frozenset({"MONTH", "MON", "DAY", "DY", "D", "ID", "AD", "BC", "A.D.", "B.C.", "TZ", "TZH", "TZM", "OF"})
"""Fields that an interval has not."""

_YEARS = ("YYYY", "YYY", "YY", "Y")


@dataclass(frozen=True, slots=True)
class Moment:
    """The fields of a timestamp or an interval."""

    year: int
    month: int
    day: int
    hour: int
    minute: int
    second: int
    micros: int
    day_of_year: int
    date: dt.date | None = None


def of_timestamp(value: dt.datetime, pattern: str) -> str | None:
    day = value.timetuple().tm_yday
    parts = (value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond)
    return _written(Moment(*parts, day, value.date()), pattern)


def of_interval(value: Interval, pattern: str) -> str | None:
    year, month = _cut(value.months, 12)
    hour, rest = _cut(value.micros, HOUR)
    minute, rest = _cut(rest, MINUTE)
    second, micros = _cut(rest, SECOND)
    span = value.months * 30 + value.days
    return _written(Moment(year, month, value.days, hour, minute, second, micros, span), pattern)


def _cut(number: int, unit: int) -> tuple[int, int]:
    count = abs(number) // unit * (-1 if number < 0 else 1)
    return count, number - count * unit


def _written(moment: Moment, pattern: str) -> str | None:
    """The text; NULL of a pattern that is empty."""
    parts = parts_of(pattern)
    return "".join(_field(moment, part) if part.kind == "field" else part.text for part in parts) if parts else None


def _field(moment: Moment, part: Part) -> str:
    name = part.field
    if moment.date is None and name in _OF_DAYS:
        hint = "Intervals are not tied to specific calendar dates."
        raise SqlError(INVALID_DATETIME, "invalid format specification for an interval value", hint=hint)
    if name in ("TZ", "TZH", "TZM", "OF"):
        raise unsupported(f"{part.text} in to_char")
    word = _word(moment, part)
    if word is not None:
        return word
    number, width = _number(moment, name)
    if width and number < 0 and moment.date is None and name in ("HH", "HH12", "HH24", "MI", "SS", "MM", "CC", *_YEARS):
        width += 1
    keeps = name in ("MS", "US") or name.startswith("FF")
    text = f"{number:0{width if keeps or not part.fills else 0}d}"
    return text + _ending(text, part.ending) if part.ending.upper() == "TH" else text


def _word(moment: Moment, part: Part) -> str | None:
    """A field that is no number; None for any other."""
    name, text = part.field, part.text
    match name:
        case "FX":
            return ""
        case "AM" | "PM" | "A.M." | "P.M.":
            half = "PM" if math.fmod(moment.hour, 24) >= 12 else "AM"
            half = f"{half[0]}.M." if "." in name else half
            return half if text[0].isupper() else half.lower()
        case "AD" | "BC" | "A.D." | "B.C.":
            era = "A.D." if "." in name else "AD"
            return era if text[0].isupper() else era.lower()
        case "MONTH" | "MON":
            month = MONTHS[moment.month - 1]
            return _cased(month if name == "MONTH" else month[:3], part, 9 if name == "MONTH" else 0)
        case "DAY" | "DY":
            assert moment.date is not None
            day = DAYS[moment.date.isoweekday() % 7]
            return _cased(day if name == "DAY" else day[:3], part, 9 if name == "DAY" else 0)
        case "RM":
            return _roman(moment, part)
        case "Y,YYY":
            thousands = f"{moment.year // 1000},{moment.year % 1000:03d}"
            return thousands + _ending(thousands, part.ending)
        case "Q" if not moment.month:
            return ""
    return None


def _roman(moment: Moment, part: Part) -> str:
    if not moment.month and not moment.year:
        return ""
    if not moment.month:
        place = 0 if moment.year >= 0 else 11
    else:
        place = -(moment.month + 1) if moment.month < 0 else 12 - moment.month
    roman = ROMANS[place].upper() if part.text == "RM" else ROMANS[place]
    return roman if part.fills else roman.ljust(4)


def _cased(word: str, part: Part, width: int) -> str:
    shown = word.upper() if part.text.isupper() else word.capitalize() if part.text[0].isupper() else word
    return shown if part.fills else shown.ljust(width)


def _number(moment: Moment, name: str) -> tuple[int, int]:
    """A field that is a number, and its least width."""
    match name:
        case "HH" | "HH12":
            return int(math.fmod(moment.hour, 12)) or 12, 2
        case "HH24":
            return moment.hour, 2
        case "MI":
            return moment.minute, 2
        case "SS":
            return moment.second, 2
        case "SSSS" | "SSSSS":
            return moment.hour * 3600 + moment.minute * 60 + moment.second, 0
        case "MS":
            return int(moment.micros / 1000), 3
        case "US":
            return moment.micros, 6
        case "MM":
            return moment.month, 2
        case "DD":
            return moment.day, 2
        case "DDD":
            return moment.day_of_year, 3
        case "WW":
            return int((moment.day_of_year - 1) / 7) + 1, 2
        case "W":
            return int((moment.day - 1) / 7) + 1, 0
        case "Q":
            return int((moment.month - 1) / 3) + 1, 0
        case "CC":
            is_day = moment.date is not None
            return ((moment.year - 1) // 100 + 1 if is_day else int(moment.year / 100)), 2
        case _ if name in _YEARS:
            year = moment.year if name == "YYYY" else int(math.fmod(moment.year, 10 ** len(name)))
            return year, len(name)
    if name.startswith("FF"):
        digits = int(name[2])
        return int(moment.micros / 10 ** (6 - digits)), digits
    if moment.date is None:  # PostgreSQL takes it for a day
        raise unsupported(f"{name} in to_char of an interval")
    return _number_of_day(moment.date, name)


def _number_of_day(day: dt.date, name: str) -> tuple[int, int]:
    iso_year, iso_week, iso_day = day.isocalendar()
    match name:
        case "J":
            return day.toordinal() + JULIAN_OF_YEAR_1, 0
        case "D":
            return iso_day % 7 + 1, 0
        case "ID":
            return iso_day, 0
        case "IW":
            return iso_week, 2
        case "IDDD":
            return (iso_week - 1) * 7 + iso_day, 3
    return (iso_year if name == "IYYY" else iso_year % 10 ** len(name)), len(name)


def _ending(number: str, ending: str) -> str:
    if ending.upper() != "TH":
        return ""
    last = "0" if number[-2:-1] == "1" else number[-1:]
    shown = {"1": "st", "2": "nd", "3": "rd"}.get(last, "th")
    return shown.upper() if ending == "TH" else shown


OF_INTERVAL = Own("date_pattern", "of_interval", ("to_char",), (INTERVAL, TEXT), TEXT, of_interval)
OF_TIMESTAMP = Own("date_pattern", "of_timestamp", (), (TIMESTAMP, TEXT), TEXT, of_timestamp)
