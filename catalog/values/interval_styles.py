"""Texts of intervals in each IntervalStyle: 1 year 2 mons -3 days +04:05:06, @ 1 year .., +1-2 -3 +4:05:06,
P1Y2M-3DT4H5M6S."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from catalog.values.intervals import HOUR, MINUTE, MONTHS_PER_YEAR, SECOND, Interval, checked, text_of


def _cut(number: int, unit: int) -> tuple[int, int]:
    count = abs(number) // unit * (-1 if number < 0 else 1)
    return count, number - count * unit


@dataclass(frozen=True, slots=True)
class Fields:
    """The parts with signs; `micros` are the seconds."""

    year: int
    month: int
    day: int
    hour: int
    minute: int
    micros: int

    @classmethod
    def of(cls, value: Interval) -> "Fields":
        year, month = _cut(value.months, MONTHS_PER_YEAR)
        hour, rest = _cut(value.micros, HOUR)
        minute, micros = _cut(rest, MINUTE)
        return cls(year, month, value.days, hour, minute, micros)

    def all(self) -> tuple[int, ...]:
        return self.year, self.month, self.day, self.hour, self.minute, self.micros


def _seconds(micros: int, width: int = 1) -> str:
    seconds, fraction = divmod(abs(micros), SECOND)
    return f"{seconds:0{width}d}" + (f".{fraction:06d}".rstrip("0") if fraction else "")


def _sql_standard(value: Interval) -> str:
    fields = Fields.of(value)
    parts = fields.all()
    is_negative, is_positive = any(part < 0 for part in parts), any(part > 0 for part in parts)
    has_months, has_time = any(parts[:2]), any(parts[2:])
    if not is_negative and not is_positive:
        return "0"
    year, month, day, hour, minute, _ = map(abs, parts)
    clock = f"{hour}:{minute:02d}:{_seconds(fields.micros, 2)}"
    if (is_negative and is_positive) or (has_months and has_time):
        signs = ["-" if any(part < 0 for part in group) else "+" for group in (parts[:2], parts[2:3], parts[3:])]
        return f"{signs[0]}{year}-{month} {signs[1]}{day} {signs[2]}{clock}"
    sign = "-" if is_negative else ""
    if has_months:
        return f"{sign}{year}-{month}"
    return f"{sign}{day} {clock}" if day else f"{sign}{clock}"


def _iso_8601(value: Interval) -> str:
    fields = Fields.of(value)
    *whole, micros = fields.all()
    if not any((*whole, micros)):
        return "PT0S"
    days, times = (
        "".join(f"{part}{letter}" for part, letter in zip(some, letters, strict=True) if part)
        for some, letters in ((whole[:3], "YMD"), (whole[3:], "HM"))
    )
    if micros:
        times += f"{'-' if micros < 0 else ''}{_seconds(micros)}S"
    return f"P{days}T{times}" if times else f"P{days}"


def _postgres_verbose(value: Interval) -> str:
    """The first part that is not zero decides on "ago"; parts against it have a minus."""
    fields = Fields.of(value)
    *whole, micros = fields.all()
    words, is_ago, is_first = ["@"], False, True
    for part, unit in zip(whole, ("year", "mon", "day", "hour", "min"), strict=True):
        if part:
            is_ago = part < 0 if is_first else is_ago
            shown = -part if is_ago else part
            words.append(f"{shown} {unit}{'' if shown == 1 else 's'}")
            is_first = False
    if micros:
        is_ago = micros < 0 if is_first else is_ago
        sign = "-" if (micros < 0) is not is_ago else ""
        words.append(f"{sign}{_seconds(micros)} sec{'' if abs(micros) == SECOND else 's'}")
        is_first = False
    if is_first:
        words.append("0")
    return " ".join([*words, "ago"] if is_ago else words)


POSTGRES, SQL_STANDARD = "postgres", "sql_standard"
WRITERS: dict[str, Callable[[Interval], str]] = {
    POSTGRES: text_of, "postgres_verbose": _postgres_verbose, SQL_STANDARD: _sql_standard, "iso_8601": _iso_8601,
}  # fmt: skip
"""By the name of a style."""


def read_in(style: str, text: str, read: Callable[[str], Interval]) -> Interval:
    """The interval of a text: in SQL's style a leading minus is that of all parts, where no other has a sign."""
    begin = text.lstrip()
    others = any(before in " \t" and sign in "+-" for before, sign in pairwise(begin))
    if style != SQL_STANDARD or not begin.startswith("-") or begin[1:2] == "P" or others:
        return read(text)
    value = read(begin[1:])
    return checked(-value.months, -value.days, -value.micros)
