"""Values of interval: months, days and microseconds, kept apart and compared together.

1 mon       30 days       720:00:00       three intervals of one span, so they are equal, and one key
key      the span in microseconds, a month being 30 days of 24 hours: 10 bytes
packed   months and days, 4 bytes each, then the key
"""

from dataclasses import dataclass

from catalog.values.errors import DatetimeOutOfRange, Malformed

SECOND = 1_000_000
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86_400 * SECOND
DAYS_PER_MONTH, MONTHS_PER_YEAR = 30, 12
KEY_BYTES, FIELD_BYTES = 10, 4
FIELDS_BYTES = 2 * FIELD_BYTES
_MIDDLE, _FIELD_MIDDLE = 1 << 8 * KEY_BYTES - 1, 1 << 8 * FIELD_BYTES - 1
FIELD_MAX, MICROS_MAX = 2**31, 2**63


@dataclass(frozen=True, slots=True, eq=False)
class Interval:
    """Equal and ordered by its span, as in PostgreSQL."""

    months: int = 0
    days: int = 0
    micros: int = 0

    @property
    def span(self) -> int:
        return self.micros + DAY * (self.days + DAYS_PER_MONTH * self.months)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Interval) and self.span == other.span

    def __lt__(self, other: "Interval") -> bool:
        return self.span < other.span

    def __le__(self, other: "Interval") -> bool:
        return self.span <= other.span

    def __gt__(self, other: "Interval") -> bool:
        return self.span > other.span

    def __ge__(self, other: "Interval") -> bool:
        return self.span >= other.span

    def __hash__(self) -> int:
        return hash(self.span)


INFINITE = ((-FIELD_MAX, -FIELD_MAX, -MICROS_MAX), (FIELD_MAX - 1, FIELD_MAX - 1, MICROS_MAX - 1))
"""PostgreSQL's two infinite ones, which a node has not."""


def checked(months: int, days: int, micros: int) -> Interval:
    """Raises `DatetimeOutOfRange` for what is too large or infinite."""
    is_within = -FIELD_MAX <= months < FIELD_MAX and -FIELD_MAX <= days < FIELD_MAX
    if not is_within or not -MICROS_MAX <= micros < MICROS_MAX or (months, days, micros) in INFINITE:
        raise DatetimeOutOfRange("interval out of range")
    return Interval(months, days, micros)


def text_of(value: Interval) -> str:
    """IntervalStyle postgres: a part after a negative one has a plus."""
    sign = -1 if value.months < 0 else 1
    years, months = divmod(abs(value.months), MONTHS_PER_YEAR)
    words: list[str] = []
    is_before = False
    for count, unit in ((sign * years, "year"), (sign * months, "mon"), (value.days, "day")):
        if count:
            words.append(f"{'+' if is_before and count > 0 else ''}{count} {unit}{'' if count == 1 else 's'}")
            is_before = count < 0
    if value.micros or not words:
        words.append(f"{'-' if value.micros < 0 else '+' if is_before else ''}{clock_text(abs(value.micros))}")
    return " ".join(words)


def clock_text(micros: int) -> str:
    seconds, fraction = divmod(micros, SECOND)
    text = f"{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    return text + (f".{fraction:06d}".rstrip("0") if fraction else "")


# --- keys


def key_of(value: Interval) -> bytes:
    return (value.span + _MIDDLE).to_bytes(KEY_BYTES)


def of_key(key: bytes) -> Interval:
    """An interval of this span: days and a rest, or months where days do not suffice."""
    if len(key) != KEY_BYTES:
        raise Malformed(f"the bytes {key[:16].hex()} are the key of no interval")
    span = int.from_bytes(key) - _MIDDLE
    sign, most = (-1, FIELD_MAX) if span < 0 else (1, FIELD_MAX - 1)
    days, months = abs(span) // DAY, 0
    if days > most:
        months = min(days // DAYS_PER_MONTH, most)
        days = min(days - months * DAYS_PER_MONTH, most)
    micros = abs(span) - DAY * (days + months * DAYS_PER_MONTH)
    return _within(sign * months, sign * days, sign * micros, key)


def key_length(data: bytes, start: int, *, flip: int = 0) -> int:
    """Raises `Malformed`."""
    if len(data) - start < KEY_BYTES:
        raise Malformed("the key of an interval has no end")
    return KEY_BYTES


def packed(value: Interval) -> bytes:
    fields = (value.months + _FIELD_MIDDLE) << 8 * FIELD_BYTES | value.days + _FIELD_MIDDLE
    return fields.to_bytes(FIELDS_BYTES) + key_of(value)


def unpacked(data: bytes) -> Interval:
    """Raises `Malformed`."""
    if len(data) != FIELDS_BYTES + KEY_BYTES:
        raise Malformed(f"the bytes {data[:16].hex()} are no interval")
    months, days = (int.from_bytes(data[at : at + FIELD_BYTES]) - _FIELD_MIDDLE for at in (0, FIELD_BYTES))
    span = int.from_bytes(data[FIELDS_BYTES:]) - _MIDDLE
    return _within(months, days, span - DAY * (days + DAYS_PER_MONTH * months), data)


def _within(months: int, days: int, micros: int, data: bytes) -> Interval:
    try:
        return checked(months, days, micros)
    except DatetimeOutOfRange:
        raise Malformed(f"the bytes {data[:16].hex()} are no interval") from None
