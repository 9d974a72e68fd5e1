"""PostgreSQL's input forms of dates and timestamps, as its DecodeDateTime reads them.

    2024-02-29    20240229    2/29/2024    29-Feb-2024    Feb 29, 2024 4:05 PM    1999.008    J2451187
    04:05:06.789-8    040506    allballs    now    tomorrow 13:00    2024-02-29 04:05 America/New_York

The session's DateStyle says which of two short numbers is the month. Years beyond 1 to 9999 and infinity raise 22008.
"""

import datetime as dt
import re
from dataclasses import dataclass, field

from catalog.values.date_fields import fields_of
from catalog.values.errors import BadValue, DatetimeOutOfRange, InvalidDatetime
from catalog.values.times import LAST
from catalog.values.types import SqlType
from expressions.dates.zones import UTC, TimeStyle, UnknownZone, Zone, to_local, to_utc, zone_named

UNKNOWN_ZONE, OFFSET_OUT_OF_RANGE = "22023", "22009"
CHARS_MAX = 150
LONG_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
MONTH_WORDS = {word: n for n, month in enumerate(LONG_MONTHS, 1) for word in (month, month[:3])} | {"sept": 9}
DAYS = frozenset(
    {"sun", "mon", "tue", "tues", "wed", "weds", "thu", "thur", "thurs", "fri", "sat", "sunday", "monday", "tuesday",
     "wednesday", "thursday", "friday", "saturday"}
)  # fmt: skip
IGNORED = frozenset({"at", "on"})
AROUND_NOW = {"today": 0, "tomorrow": 1, "yesterday": -1}
WORDS = DAYS | IGNORED | set(MONTH_WORDS) | set(AROUND_NOW) | {"now", "epoch", "infinity", "allballs"}
WORDS |= {"am", "pm", "ad", "bc", "t", "j", "jd", "julian"}
ABBREVIATIONS = {
    "z": 0, "zulu": 0, "ut": 0, "utc": 0, "uct": 0, "gmt": 0, "wet": 0, "wetdst": 1, "bst": 1, "west": 1, "cet": 1,
    "met": 1, "mez": 1, "cest": 2, "cetdst": 2, "mesz": 2, "mest": 2, "metdst": 2, "eet": 2, "ist": 2, "sast": 2,
    "eest": 3, "eetdst": 3, "idt": 3, "eat": 3, "msk": 3, "msd": 4, "pkt": 5, "jst": 9, "kst": 9, "acst": 9.5,
    "acdt": 10.5, "aest": 10, "aedt": 11, "awst": 8, "hkt": 8, "nzst": 12, "nzdt": 13, "nst": -3.5, "ndt": -2.5,
    "ast": -4, "adt": -3, "est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7,
    "akst": -9, "akdt": -8, "hst": -10, "brt": -3, "brst": -2, "art": -3, "uyt": -3,
}  # fmt: skip
"""Hours east of UTC, as in PostgreSQL's default set."""

YEAR, MONTH, DAY, TIME, ZONE = "year", "month", "day", "time", "zone"
DATE_PARTS = frozenset({YEAR, MONTH, DAY})
_TIME = re.compile(r"(\d{1,9}):(\d{1,9})(?::(\d{1,9})(\.\d*)?)?", re.ASCII)
_OFFSET = re.compile(r"([+-])(\d{1,2})(?::(\d{1,2})(?::(\d{1,2}))?)?|([+-])(\d{3,4}|\d{6})", re.ASCII)
_JULIAN_OF_YEAR_1 = 1_721_426
"""The Julian day number of the first of January of the year 1."""


class NeedsNow(Exception):
    """The text says now, today or the like, and no time was given."""


def read(
    sql_type: SqlType, text: str, style: TimeStyle, now: dt.datetime | None
) -> dt.date | dt.datetime | dt.timedelta:
    """The date, timestamp, timestamptz (in UTC) or time that a text means; beside a time, a date and a zone are read
    over. Raises a `BadValue`, or `NeedsNow`."""
    reader = Reader(sql_type, text, style, now)
    try:
        if sql_type is SqlType.TIME:
            value = reader.time_of_day()
            if value > LAST:
                raise reader.out_of_range()
            return value
        day, clock, zone = reader.read()
    except BadValue:
        raise
    except (ValueError, OverflowError):  # a day that the calendar does not have
        raise reader.out_of_range() from None
    if sql_type is SqlType.DATE:
        return day.date()
    try:
        local = day + clock
        return local if sql_type is SqlType.TIMESTAMP else to_utc(local, style.zone if zone is None else zone)
    except OverflowError:
        raise DatetimeOutOfRange(f'timestamp out of range: "{text}"') from None


@dataclass(eq=False)
class Reader:
    sql_type: SqlType
    text: str
    style: TimeStyle
    now: dt.datetime | None
    year: int = 0
    month: int = 0
    day: int = 0
    since_midnight: dt.timedelta = field(default_factory=dt.timedelta)
    hour: int | None = None
    zone: Zone | None = None
    found: set[str] = field(default_factory=set)
    prefix: str = ""
    has_short_year: bool = False
    has_month_word: bool = False
    is_bc: bool = False
    half: str = ""
    whole: dt.datetime | None = None
    is_no_time: bool = False

    def read(self) -> tuple[dt.datetime, dt.timedelta, Zone | None]:
        self._take(self._cut())
        if self.whole is not None:
            return self.whole, dt.timedelta(), self.zone
        return self._day(), self._clock(), self.zone

    def time_of_day(self) -> dt.timedelta:
        """The time alone: numbers that run together are one, unless a date stands before or behind them."""
        fields = self._cut()
        if "date" not in (fields[0][0], fields[-1][0]) or len(fields) == 1:
            self.found |= DATE_PARTS
        self._take(fields)
        if self.whole is not None:
            return self.whole - self.whole.replace(hour=0, minute=0, second=0, microsecond=0)
        if TIME not in self.found:
            raise self._malformed()
        if self.is_no_time:
            raise self.out_of_range()
        return self._clock()

    def _cut(self) -> list[tuple[str, str]]:
        fields = fields_of(self.text.lower(), WORDS) if len(self.text) <= CHARS_MAX else None
        if not fields or len(fields) > 25:
            raise self._malformed()
        return fields

    def _take(self, fields: list[tuple[str, str]]) -> None:
        for kind, value in fields:
            getattr(self, f"_{kind}")(value)
        if self.prefix:
            raise self._malformed()

    # -- fields -------------------------------------------------------------------------------------------------

    def _date(self, value: str) -> None:
        """Numbers and a month's name with - / or . between; after a date, a zone's name or a time."""
        if self.found >= DATE_PARTS or self.prefix:
            if value[0].isdigit():
                cut = next((i for i, char in enumerate(value) if char in "+-"), len(value))
                self.prefix = ""
                self._run_together(value[:cut])
                if cut < len(value):
                    self._offset(value[cut:])
                return
            self._zone_name(value)
            return
        words = re.findall(r"[a-z]+|[0-9]+", value)
        if len(words) > 3 or re.fullmatch(r"[a-z0-9]+([-/.][a-z0-9]+)*", value) is None:
            if not value[0].isdigit():
                self._zone_name(value)
                return
            raise self._malformed()
        for word in words:
            if word.isalpha():
                if word not in MONTH_WORDS or self.has_month_word:
                    raise self._malformed() if "/" not in value else self._no_zone(value)
                self._set_month_word(word)
        for word in words:
            if word.isdigit():
                self._small_number(word)

    def _number(self, value: str) -> None:
        if self.prefix in ("j", "jd", "julian"):
            self.prefix = ""
            self._julian(value)
        elif self.prefix == "t":
            self.prefix = ""
            self._run_together(value)
        elif "." in value and not self.found & DATE_PARTS:
            self._date(value)
        elif ("." in value and value.index(".") > 2) or len(value) > 4:
            self._run_together(value)
        elif "." in value:
            raise self._malformed()
        else:
            self._small_number(value)

    def _time(self, value: str) -> None:
        match = _TIME.fullmatch(value)
        if match is None or TIME in self.found:
            raise self._malformed()
        self.prefix = ""
        hour, minute, second, fraction = match.groups()
        self._set_time(int(hour), int(minute), int(second or 0), fraction or "")

    def _offset(self, value: str) -> None:
        match = _OFFSET.fullmatch(value)
        if match is None or ZONE in self.found:
            raise self._malformed()
        sign, hours, minutes, seconds, run_sign, run = match.groups()
        if run is not None:
            run = run.zfill(4)
            sign, hours, minutes, seconds = run_sign, run[:2], run[2:4], run[4:]
        h, m, s = int(hours), int(minutes or 0), int(seconds or 0)
        if h > 15 or m > 59 or s > 59:
            raise BadValue(f'time zone displacement out of range: "{self.text}"', OFFSET_OUT_OF_RANGE)
        east = dt.timedelta(hours=h, minutes=m, seconds=s) * (-1 if sign == "-" else 1)
        self._set_zone(Zone(value, dt.timezone(east) if east else dt.UTC))

    def _word(self, value: str) -> None:
        if value in ("am", "pm"):
            self.half = value
        elif value in ("ad", "bc"):
            self.is_bc = value == "bc"
        elif value in MONTH_WORDS:
            if self.found >= {MONTH} and not self.has_month_word and DAY not in self.found:  # "8 Jan": 8 was the day
                self.day, self.found = self.month, self.found - {MONTH} | {DAY}
            self._set_month_word(value)
        elif value in ("t", "j", "jd", "julian"):
            if value == "t" and not self.found >= DATE_PARTS:
                raise self._malformed()
            self.prefix = value
        elif value in AROUND_NOW or value in ("now", "epoch", "infinity"):
            self._special(value)
        elif value == "allballs":
            self._set_time(0, 0, 0, "")
            self._set_zone(UTC)
        elif value in ABBREVIATIONS:
            east = dt.timedelta(hours=ABBREVIATIONS[value])
            self._set_zone(Zone(value, dt.timezone(east) if east else dt.UTC))
        elif value not in DAYS and value not in IGNORED:
            self._zone_name(value)

    def _special(self, value: str) -> None:
        if value == "infinity":
            raise DatetimeOutOfRange(f'"{self.text}" is infinite: a node stores dates of the years 1 to 9999')
        if value == "epoch":
            self._set_time(0, 0, 0, "")
            self._set_date(1970, 1, 1)
            self._set_zone(UTC)
            return
        if self.now is None:
            raise NeedsNow
        local = to_local(self.now, self.style.zone)
        if value == "now":
            self.whole = local
            self.found |= {*DATE_PARTS, TIME}
            return
        day = local.date() + dt.timedelta(days=AROUND_NOW[value])
        self._set_date(day.year, day.month, day.day)

    # -- numbers ------------------------------------------------------------------------------------------------

    def _small_number(self, value: str) -> None:
        """Take a number for what it means by the parts of the date that are known."""
        known, number, is_long = self.found & DATE_PARTS, int(value), len(value) >= 3
        year_first = is_long or self.style.order == "YMD"
        if known == {YEAR} and len(value) == 3 and 1 <= number <= 366:
            first = dt.date(self._full_year(), 1, 1) + dt.timedelta(days=number - 1)
            self._set_date(first.year, first.month, first.day)
            self.has_short_year = False
        elif not known:
            self._part(YEAR if year_first else DAY if self.style.order == "DMY" else MONTH, value)
        elif known == {YEAR} or known == {DAY}:
            self._part(MONTH, value)
        elif known == {MONTH}:
            self._part((YEAR if year_first else DAY) if self.has_month_word else DAY, value)
        elif known == {YEAR, MONTH} and self.has_month_word and is_long and self.has_short_year:
            self.day = self.year
            self.found.add(DAY)
            self._part(YEAR, value)
        elif known == {YEAR, MONTH}:
            self._part(DAY, value)
        elif known == {MONTH, DAY} or known == {YEAR, DAY}:
            self._part(YEAR if known == {MONTH, DAY} else MONTH, value)
        else:
            self._run_together(value)

    def _part(self, part: str, value: str) -> None:
        if part == YEAR:
            self.has_short_year = len(value) <= 2
        setattr(self, part, int(value))
        self.found.add(part)

    def _run_together(self, value: str) -> None:
        """yyyymmdd, yymmdd, hhmmss or hhmm."""
        digits, dot, fraction = value.partition(".")
        if not digits.isdigit() or (fraction and not fraction.isdigit()):
            raise self._malformed()
        if not dot and len(digits) >= 6 and not self.found & DATE_PARTS:
            self._set_date(int(digits[:-4]), int(digits[-4:-2]), int(digits[-2:]))
            self.has_short_year = len(digits) == 6
        elif len(digits) in (4, 6) and TIME not in self.found:
            self._set_time(int(digits[:2]), int(digits[2:4]), int(digits[4:] or 0), dot + fraction)
        else:
            raise self._malformed()

    def _julian(self, value: str) -> None:
        whole, _, fraction = value.partition(".")
        days = int(whole) - _JULIAN_OF_YEAR_1 if len(whole) < 9 else -1
        if not 0 <= days < dt.date.max.toordinal():
            raise self.out_of_range()
        day = dt.date.fromordinal(1 + days)
        self._set_date(day.year, day.month, day.day)
        if fraction:
            self.hour = 0
            self.since_midnight = dt.timedelta(days=float(f"0.{fraction}"))
            self.found.add(TIME)

    # -- parts --------------------------------------------------------------------------------------------------

    def _set_month_word(self, word: str) -> None:
        if MONTH in self.found:
            raise self._malformed()
        self.month, self.has_month_word = MONTH_WORDS[word], True
        self.found.add(MONTH)

    def _set_date(self, year: int, month: int, day: int) -> None:
        if self.found & DATE_PARTS - ({YEAR} if self.found & DATE_PARTS == {YEAR} else set()):
            raise self._malformed()
        self.year, self.month, self.day = year, month, day
        self.found |= DATE_PARTS

    def _set_time(self, hour: int, minute: int, second: int, fraction: str) -> None:
        if TIME in self.found:
            raise self._malformed()
        micros = round(float(f"0{fraction}") * 1_000_000) if len(fraction) > 1 else 0
        is_end = hour == 24 and not (minute or second or micros)
        self.is_no_time = minute > 59 or second > 60 or (hour > 23 and not is_end)
        self.hour = min(hour, 24)
        self.since_midnight = dt.timedelta(minutes=min(minute, 60), seconds=min(second, 60), microseconds=micros)
        self.found.add(TIME)

    def _set_zone(self, zone: Zone) -> None:
        if ZONE in self.found:
            raise self._malformed()
        self.zone = zone
        self.found.add(ZONE)

    def _zone_name(self, value: str) -> None:
        if not self.found and "/" not in value:
            raise self._malformed()
        try:
            self._set_zone(zone_named(value))
        except UnknownZone:
            raise self._no_zone(value) if "/" in value else self._malformed() from None

    def _full_year(self) -> int:
        if self.is_bc:
            raise DatetimeOutOfRange(f'"{self.text}" is before the year 1: a node stores dates of the years 1 to 9999')
        if self.has_short_year:
            return self.year + (2000 if self.year < 70 else 1900)
        return self.year

    def _day(self) -> dt.datetime:
        is_none = (MONTH in self.found and not 1 <= self.month <= 12) or (DAY in self.found and not 1 <= self.day <= 31)
        if is_none or self.is_no_time:
            raise self.out_of_range()
        if not self.found >= DATE_PARTS:
            raise self._malformed()
        try:
            return dt.datetime(self._full_year(), self.month, self.day)  # noqa: DTZ001 - local, its zone is apart
        except ValueError:
            raise self.out_of_range() from None

    def _clock(self) -> dt.timedelta:
        hour = self.hour or 0
        if self.half and (hour > 12 or (self.hour is None and TIME in self.found)):
            raise self.out_of_range()
        if self.half == "am" and hour == 12:
            hour = 0
        elif self.half == "pm" and hour != 12:
            hour += 12
        return dt.timedelta(hours=hour) + self.since_midnight

    # -- refusals -----------------------------------------------------------------------------------------------

    def _malformed(self) -> BadValue:
        return InvalidDatetime(f'invalid input syntax for type {NAMES[self.sql_type]}: "{self.text}"')

    def out_of_range(self) -> BadValue:
        return DatetimeOutOfRange(f'date/time field value out of range: "{self.text}"')

    def _no_zone(self, value: str) -> BadValue:
        return BadValue(f'time zone "{value}" not recognized', UNKNOWN_ZONE)


NAMES = {
    SqlType.TIME: "time",
    SqlType.DATE: "date",
    SqlType.TIMESTAMP: "timestamp",
    SqlType.TIMESTAMPTZ: "timestamp with time zone",
}
