"""Time zones and the `TimeStyle` of a session: the settings that say how texts of values are read and written. A local
time that a zone skips or has twice takes the smaller of both offsets, as in PostgreSQL."""

import datetime as dt
import re
import zoneinfo
from dataclasses import dataclass
from functools import cache, lru_cache

CHARS_MAX = 255
"""Of a zone's name, as in PostgreSQL; what a session names is kept by the process."""
ORDERS = ("MDY", "DMY", "YMD")
_POSIX = re.compile(r"([A-Za-z]{3,}|<[A-Za-z0-9+:-]{3,}>)([+-]?)(\d{1,2})(?::(\d{1,2}))?")
_HOURS = re.compile(r"[+-]?(\d{1,2}(\.\d{0,4})?|\.\d{1,4})")
_DAY = dt.timedelta(days=1)
CYCLE = dt.timedelta(days=146_097)
"""400 years, after which the calendar begins anew."""


class UnknownZone(ValueError):
    """No time zone of that name."""


@dataclass(frozen=True, slots=True)
class Zone:
    name: str
    rules: dt.tzinfo

    @property
    def is_utc(self) -> bool:
        return self.rules is dt.UTC


UTC = Zone("UTC", dt.UTC)


@dataclass(frozen=True, eq=False, slots=True)
class TimeStyle:
    """A session's way to read and write values. Equal settings give the same object, so that plans are kept by its
    identity."""

    zone: Zone = UTC
    order: str = "MDY"
    shows_escapes: bool = False
    intervals: str = "postgres"

    @property
    def is_utc(self) -> bool:
        return self.zone.is_utc


@lru_cache(4096)
def time_style(zone: str, order: str, bytea_output: str = "hex", intervals: str = "postgres") -> TimeStyle:
    """The style of these settings. Raises `UnknownZone`."""
    return TimeStyle(zone_named(zone), order, bytea_output == "escape", intervals)


@cache
def _names() -> dict[str, str]:
    """The names of the time zone database, by their small letters."""
    return {name.lower(): name for name in zoneinfo.available_timezones() if name not in ("localtime", "Factory")}


@lru_cache(2048)
def zone_named(text: str) -> Zone:
    """The zone of that name: one of the database, hours east of UTC, or POSIX's form, which counts west."""
    if len(text) > CHARS_MAX:
        raise UnknownZone(text)
    if text.upper() == "UTC":
        return UTC
    name = _names().get(text.lower())
    if name is not None:
        rules = zoneinfo.ZoneInfo(name)
        always_utc = name in ("UCT", "Universal", "Zulu", "GMT", "Greenwich", "GMT0") or name.startswith("Etc/U")
        return Zone(name, dt.UTC if always_utc else rules)
    if _HOURS.fullmatch(text):
        return hours_east(float(text))
    posix = _POSIX.fullmatch(text)
    if posix is None:
        raise UnknownZone(text)
    _, sign, hours, minutes = posix.groups()
    west = int(hours) * 60 + int(minutes or 0)
    return _fixed(text, west if sign == "-" else -west)


def hours_east(hours: float) -> Zone:
    """The zone so many hours before UTC, by the name that PostgreSQL shows."""
    minutes = round(hours * 60)
    shown, west = (offset_text(dt.timedelta(minutes=one)) for one in (minutes, -minutes))
    return _fixed(f"<{shown}>{west}", minutes)


def _fixed(name: str, minutes: int) -> Zone:
    if abs(minutes) >= 24 * 60:
        raise UnknownZone(name)
    return Zone(name, dt.timezone(dt.timedelta(minutes=minutes)) if minutes else dt.UTC)


PLAIN = time_style("UTC", "MDY")
"""UTC, months before days: how stored expressions are read, and every session unless it says otherwise."""


def to_utc(local: dt.datetime, zone: Zone) -> dt.datetime:
    """The moment that a local time without a zone means there. Raises `OverflowError` beyond the years 1 to 9999."""
    if zone.is_utc:
        return local.replace(tzinfo=dt.UTC)
    offsets = [local.replace(tzinfo=zone.rules, fold=fold).utcoffset() for fold in (0, 1)]
    return (local - min(o for o in offsets if o is not None)).replace(tzinfo=dt.UTC)


def offset_at(moment: dt.datetime, zone: Zone) -> dt.timedelta:
    """Hours and minutes east of UTC at that moment."""
    if moment.year == 1:
        moment += _DAY
    elif moment.year == 9999:
        moment -= _DAY
    return moment.astimezone(zone.rules).utcoffset() or dt.timedelta()


def to_local(moment: dt.datetime, zone: Zone) -> dt.datetime:
    if zone.is_utc:
        return moment.replace(tzinfo=None)
    return moment.replace(tzinfo=None) + offset_at(moment, zone)


def moment_text(moment: dt.datetime, zone: Zone) -> str:
    """A timestamptz as PostgreSQL writes it (DateStyle ISO)."""
    offset = offset_at(moment, zone)
    plain, era = moment.replace(tzinfo=None), ""
    try:
        text = (plain + offset).isoformat(sep=" ", timespec="seconds")
    except OverflowError:  # in that zone it is the year 0 or 10000 already
        is_late = plain.year > 5000
        local = plain + (offset - CYCLE if is_late else offset + CYCLE)
        year = local.year + 400 if is_late else 1
        text, era = f"{year:04d}{local.isoformat(sep=' ', timespec='seconds')[4:]}", "" if is_late else " BC"
    if moment.microsecond:
        text += f".{moment.microsecond:06d}".rstrip("0")
    return f"{text}{offset_text(offset)}{era}"


def offset_text(offset: dt.timedelta) -> str:
    """+HH, with minutes and seconds where there are any."""
    seconds = round(offset.total_seconds())
    hours, minutes, rest = abs(seconds) // 3600, abs(seconds) // 60 % 60, abs(seconds) % 60
    text = f"{'-' if seconds < 0 else '+'}{hours:02d}"
    if minutes or rest:
        text += f":{minutes:02d}"
    return text + (f":{rest:02d}" if rest else "")
