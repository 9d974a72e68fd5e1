"""The SQL types of columns, and their PostgreSQL text form, the same for nodes, loads and tests. Stored bytes are
`storage.encoding`'s.

    boolean bool · smallint, integer, bigint int · real, double float · numeric Decimal · text, varchar str
    char str without trailing blanks · uuid UUID · json str · jsonb Jsonb, in its one form · bytea bytes
    time timedelta since midnight · interval Interval
    an array a tuple of its elements
    date date · timestamp naive datetime · timestamptz datetime in UTC
"""

import datetime as dt
import re
import uuid
from collections.abc import Callable, Sequence
from decimal import Decimal
from enum import Enum
from typing import Any

from catalog.values import arrays, bytea, documents, floats, numerics, times
from catalog.values.errors import BadValue, DatetimeOutOfRange, InvalidDatetime, InvalidText, NumberOutOfRange, TooLong
from catalog.values.interval_texts import read_interval
from catalog.values.intervals import Interval
from catalog.values.intervals import text_of as interval_text
from catalog.values.times import SECOND_DIGITS_MAX

Value = (
    bool | int | float | Decimal | str | bytes | dt.date | dt.datetime | dt.timedelta | Interval | uuid.UUID
    | tuple[Any, ...]
)  # fmt: skip


class SqlType(Enum):
    """A column type; the value is its SQL name."""

    __hash__ = object.__hash__  # by identity: an enum's own is computed in Python, at every look-up of an encoder

    BOOLEAN = "boolean"
    SMALLINT = "smallint"
    INTEGER = "integer"
    BIGINT = "bigint"
    REAL = "real"
    DOUBLE = "double precision"
    NUMERIC = "numeric"
    TEXT = "text"
    VARCHAR = "varchar"
    CHAR = "bpchar"
    DATE = "date"
    TIMESTAMP = "timestamp"
    TIMESTAMPTZ = "timestamptz"
    UUID = "uuid"
    JSON = "json"
    JSONB = "jsonb"
    BYTEA = "bytea"
    TIME = "time"
    INTERVAL = "interval"
    BOOLEAN_ARRAY = "boolean[]"
    SMALLINT_ARRAY = "smallint[]"
    INTEGER_ARRAY = "integer[]"
    BIGINT_ARRAY = "bigint[]"
    REAL_ARRAY = "real[]"
    DOUBLE_ARRAY = "double precision[]"
    NUMERIC_ARRAY = "numeric[]"
    TEXT_ARRAY = "text[]"
    VARCHAR_ARRAY = "varchar[]"
    DATE_ARRAY = "date[]"
    TIMESTAMP_ARRAY = "timestamp[]"
    TIMESTAMPTZ_ARRAY = "timestamptz[]"
    UUID_ARRAY = "uuid[]"
    JSON_ARRAY = "json[]"
    JSONB_ARRAY = "jsonb[]"
    BYTEA_ARRAY = "bytea[]"
    TIME_ARRAY = "time[]"
    INTERVAL_ARRAY = "interval[]"

    @property
    def oid(self) -> int:
        return _WIRE[self][0]

    @property
    def typlen(self) -> int:
        return _WIRE[self][1]

    @property
    def typname(self) -> str:
        """The name within pg_catalog."""
        return _TYPNAMES.get(self, self.value)

    @property
    def element(self) -> "SqlType | None":
        return _ELEMENTS.get(self)


_WIRE = {
    SqlType.BOOLEAN: (16, 1),
    SqlType.SMALLINT: (21, 2),
    SqlType.INTEGER: (23, 4),
    SqlType.BIGINT: (20, 8),
    SqlType.REAL: (700, 4),
    SqlType.DOUBLE: (701, 8),
    SqlType.NUMERIC: (1700, -1),
    SqlType.TEXT: (25, -1),
    SqlType.VARCHAR: (1043, -1),
    SqlType.CHAR: (1042, -1),
    SqlType.DATE: (1082, 4),
    SqlType.TIMESTAMP: (1114, 8),
    SqlType.TIMESTAMPTZ: (1184, 8),
    SqlType.UUID: (2950, 16),
    SqlType.JSON: (114, -1),
    SqlType.JSONB: (3802, -1),
    SqlType.BYTEA: (17, -1),
    SqlType.TIME: (1083, 8),
    SqlType.INTERVAL: (1186, 16),
    SqlType.BOOLEAN_ARRAY: (1000, -1),
    SqlType.SMALLINT_ARRAY: (1005, -1),
    SqlType.INTEGER_ARRAY: (1007, -1),
    SqlType.BIGINT_ARRAY: (1016, -1),
    SqlType.REAL_ARRAY: (1021, -1),
    SqlType.DOUBLE_ARRAY: (1022, -1),
    SqlType.NUMERIC_ARRAY: (1231, -1),
    SqlType.TEXT_ARRAY: (1009, -1),
    SqlType.VARCHAR_ARRAY: (1015, -1),
    SqlType.DATE_ARRAY: (1182, -1),
    SqlType.TIMESTAMP_ARRAY: (1115, -1),
    SqlType.TIMESTAMPTZ_ARRAY: (1185, -1),
    SqlType.UUID_ARRAY: (2951, -1),
    SqlType.JSON_ARRAY: (199, -1),
    SqlType.JSONB_ARRAY: (3807, -1),
    SqlType.BYTEA_ARRAY: (1001, -1),
    SqlType.TIME_ARRAY: (1183, -1),
    SqlType.INTERVAL_ARRAY: (1187, -1),
}

_TYPNAMES = {
    SqlType.BOOLEAN: "bool",
    SqlType.SMALLINT: "int2",
    SqlType.INTEGER: "int4",
    SqlType.BIGINT: "int8",
    SqlType.REAL: "float4",
    SqlType.DOUBLE: "float8",
}

ARRAY_OF = {of: array for of in SqlType for array in SqlType if array.value == f"{of.value}[]"}
"""The arrays that a column may have, by the types of their elements."""
_ELEMENTS = {array: of for of, array in ARRAY_OF.items()}
ARRAYS = frozenset(_ELEMENTS)

INT_LIMITS = {SqlType.SMALLINT: 2**15, SqlType.INTEGER: 2**31, SqlType.BIGINT: 2**63}
WHOLE = frozenset(INT_LIMITS)
FLOATING = frozenset({SqlType.REAL, SqlType.DOUBLE})
TEXTS = frozenset({SqlType.TEXT, SqlType.VARCHAR, SqlType.CHAR})
DOCUMENTS = frozenset({SqlType.JSON, SqlType.JSONB})
WRITTEN = TEXTS | DOCUMENTS
"""The types whose values are texts here, and stored as such."""
UNSORTED = DOCUMENTS | ARRAYS
"""The types of which there is no key: no index can have them."""
LENGTHS = {SqlType.VARCHAR: "character varying", SqlType.CHAR: "character"}
"""The types that may have a length, and their long names."""
LENGTH_MAX = 10_485_760
MOMENTS = {
    SqlType.TIMESTAMP: "TIMESTAMP({})",
    SqlType.TIMESTAMPTZ: "TIMESTAMP({}) WITH TIME ZONE",
    SqlType.TIME: "TIME({})",
}
"""The types that may have a precision, and how PostgreSQL calls them then."""


def parse_text(sql_type: SqlType, text: str) -> Value:
    """The value of `text`. Raises a `BadValue` that names type and text."""
    return _PARSERS[sql_type](sql_type, text)


def to_text(sql_type: SqlType, value: Value) -> str:
    """PostgreSQL's output form (DateStyle ISO, UTC, shortest exact doubles)."""
    if isinstance(value, bool):
        return "t" if value else "f"
    if isinstance(value, (int, str)):
        return str(value)
    if isinstance(value, float):
        return floats.real_text(value) if sql_type is SqlType.REAL else floats.double_text(value)
    if isinstance(value, dt.datetime):
        text = value.replace(tzinfo=None, microsecond=0).isoformat(sep=" ")
        if value.microsecond:
            text += f".{value.microsecond:06d}".rstrip("0")
        return text if value.tzinfo is None else text + "+00"
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return numerics.text_of(value)
    if isinstance(value, bytes):
        return bytea.hex_text(value)
    if isinstance(value, dt.timedelta):
        return times.text_of(value)
    if isinstance(value, Interval):
        return interval_text(value)
    if isinstance(value, tuple):
        element = _ELEMENTS[sql_type]
        return arrays.array_text(value, lambda item: to_text(element, item))
    return str(value)


def _invalid(sql_type: SqlType, text: str) -> InvalidText:
    return InvalidText(f'invalid input syntax for type {sql_type.value}: "{text}"')


_TRUE = {"t", "tr", "tru", "true", "y", "ye", "yes", "on", "1"}
_FALSE = {"f", "fa", "fal", "fals", "false", "n", "no", "of", "off", "0"}


def _parse_boolean(sql_type: SqlType, text: str) -> bool:
    word = text.strip().lower()
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise _invalid(sql_type, text)


BAD_CHARACTER = "22021"
_INTEGER = re.compile(r"\s*[+-]?\d+(_\d+)*\s*", re.ASCII)
DIGITS_MAX = 1000


def _parse_integer(sql_type: SqlType, text: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise _invalid(sql_type, text)
    limit = INT_LIMITS[sql_type]
    if len(text) > DIGITS_MAX or not -limit <= (value := int(text)) < limit:
        raise NumberOutOfRange(f'value "{text}" is out of range for type {sql_type.value}')
    return value


def _parse_double(sql_type: SqlType, text: str) -> float:
    return _number(sql_type, text, floats.read_double)


def _parse_real(sql_type: SqlType, text: str) -> float:
    return _number(sql_type, text, floats.read_real)


def _number(sql_type: SqlType, text: str, read: Callable[[str], float | None]) -> float:
    try:
        value = read(text)
    except OverflowError:
        raise NumberOutOfRange(f'"{text}" is out of range for type {sql_type.value}') from None
    if value is None:
        raise _invalid(sql_type, text)
    return value


def _parse_numeric(sql_type: SqlType, text: str) -> Decimal:
    value = numerics.read(text)
    if value is None:
        raise _invalid(sql_type, text)
    return value


def _parse_string(_: SqlType, text: str) -> str:
    if "\x00" in text:
        raise BadValue('invalid byte sequence for encoding "UTF8": 0x00', BAD_CHARACTER)
    return text


def _parse_char(sql_type: SqlType, text: str) -> str:
    return _parse_string(sql_type, text).rstrip(" ")


def _parse_array(sql_type: SqlType, text: str) -> tuple[Any, ...]:
    element = _ELEMENTS[sql_type]
    return tuple(None if word is None else parse_text(element, word) for word in arrays.words_of(text))


def _parse_json(_: SqlType, text: str) -> str:
    documents.check(text)
    return text


def limit_of(sql_type: SqlType, length: int | None = None) -> int:
    """The first whole number too large for this type, and `length` bytes (`Column.length`)."""
    return 1 << 8 * (length or sql_type.typlen) - 1


def type_of_bytes(length: int) -> SqlType:
    return next(of for of in WHOLE if of.typlen == length)


def fitted(sql_type: SqlType, length: int | None, value: Value | None) -> Value | None:
    """The value as a column of this length takes it: blanks are cut, numerics and times rounded. Raises `TooLong`,
    `NumberOutOfRange` and `DatetimeOutOfRange`."""
    if length is None:
        return value
    if isinstance(value, tuple):
        return tuple(fitted(_ELEMENTS[sql_type], length, item) for item in value)
    if isinstance(value, Decimal):
        return numerics.fitted(length, value)
    if isinstance(value, dt.datetime | dt.timedelta):
        try:
            return times.rounded(value, length)
        except OverflowError:
            raise DatetimeOutOfRange("timestamp out of range") from None
    if isinstance(value, int) and not -(limit := limit_of(sql_type, length)) <= value < limit:
        raise NumberOutOfRange(f"{type_of_bytes(length).value} out of range")
    if not isinstance(value, str) or len(value) <= length:
        return value
    if len(value.rstrip(" ")) > length:
        raise TooLong(f"value too long for type {LENGTHS[sql_type]}({length})")
    return value[:length]


def holds_as_stored(to: SqlType, to_length: int | None, of: SqlType, of_length: int | None) -> bool:
    """True when a column of type `to` takes every value of `of` with its stored bytes: text and varchar, whole numbers
    of all widths, times of all precisions. A char only becomes a longer char, since entries of a text would keep its
    blanks. A numeric keeps its scale."""
    if to in ARRAYS and of in ARRAYS:
        items = _ELEMENTS[to], _ELEMENTS[of]
        return not (to is not of and items[0] in WHOLE) and holds_as_stored(items[0], to_length, items[1], of_length)
    if to is SqlType.NUMERIC:
        return of is to and (to_length is None or (of_length is not None and _has_room(to_length, of_length)))
    if to is not of and SqlType.CHAR in (to, of):
        return False
    if to in WHOLE:
        return of in WHOLE and limit_of(of, of_length) <= limit_of(to, to_length)
    if to in MOMENTS:
        digits, its_digits = (SECOND_DIGITS_MAX if one is None else one for one in (to_length, of_length))
        return to is of and its_digits <= digits
    is_known = to is of or {to, of} <= TEXTS
    return is_known and (to_length is None or (of_length is not None and of_length <= to_length))


def _has_room(to: int, of: int) -> bool:
    """True if a numeric takes all values of another one with its scale."""
    (wide, scale), (narrow, its_scale) = map(numerics.precision_and_scale, (to, of))
    return scale == its_scale and narrow <= wide


def precision_named(sql_type: SqlType, given: Sequence[int]) -> tuple[int, str | None]:
    """The precision of a time or timestamp, and PostgreSQL's warning. Raises `ValueError`."""
    if len(given) != 1:
        raise ValueError("invalid type modifier")
    (digits,), shown = given, MOMENTS[sql_type].format(given[0])
    if digits < 0:
        raise ValueError(f"{shown} precision must not be negative")
    if digits > SECOND_DIGITS_MAX:
        return SECOND_DIGITS_MAX, f"{shown} precision reduced to maximum allowed, {SECOND_DIGITS_MAX}"
    return digits, None


def type_name(sql_type: SqlType, length: int | None) -> str:
    if length is None or sql_type in WHOLE:
        return sql_type.value
    if sql_type in ARRAYS:
        return f"{type_name(_ELEMENTS[sql_type], length)}[]"
    if sql_type is SqlType.NUMERIC:
        precision, scale = numerics.precision_and_scale(length)
        return f"numeric({precision},{scale})"
    return f"{'char' if sql_type is SqlType.CHAR else sql_type.value}({length})"


def _parse_date(sql_type: SqlType, text: str) -> dt.date:
    return read_iso(sql_type, text).date()


def _parse_timestamp(sql_type: SqlType, text: str) -> dt.datetime:
    return read_iso(sql_type, text).replace(tzinfo=None)


def _parse_timestamptz(sql_type: SqlType, text: str) -> dt.datetime:
    value = read_iso(sql_type, text)
    if value.tzinfo is None:
        return value.replace(tzinfo=dt.UTC)
    try:
        return value.astimezone(dt.UTC)
    except OverflowError:
        raise DatetimeOutOfRange(f'timestamp out of range: "{text}"') from None


_DATE = r"(\d{4})-(\d\d?)-(\d\d?)"
_CLOCK = r"(\d\d?:\d\d(?::\d\d(?:\.\d{1,6})?)?)"
_ZONE = r"(Z|UTC|[+-]\d\d?(?::?\d\d)?)"
_DATETIME = re.compile(rf"{_DATE}(?:[ T]\s*{_CLOCK}\s*{_ZONE}?)?", re.ASCII | re.IGNORECASE)


def read_iso(sql_type: SqlType, text: str) -> dt.datetime:
    """An ISO 8601 date and time, with its zone if named."""
    match = _DATETIME.fullmatch(text.strip())
    if match is None:
        form = "YYYY-MM-DD" if sql_type is SqlType.DATE else "YYYY-MM-DD HH:MM:SS"
        raise InvalidDatetime(f'invalid input syntax for type {sql_type.value}: "{text}" (use {form})')
    year, month, day, clock, zone = match.groups()
    try:
        day_start = dt.datetime(int(year), int(month), int(day), tzinfo=_zone(zone))
        return day_start + _since_midnight(clock or "0:00")
    except (ValueError, OverflowError):
        raise DatetimeOutOfRange(f'date/time field value out of range: "{text}"') from None


def _since_midnight(clock: str) -> dt.timedelta:
    hours, minutes, seconds = (clock + ":0").split(":")[:3]
    whole, _, fraction = seconds.partition(".")
    if int(hours) > 24 or int(minutes) > 59 or int(whole) > 59 or (int(hours) == 24 and clock.strip("240:.")):
        raise ValueError(clock)
    micros = int(fraction.ljust(6, "0")) if fraction else 0
    return dt.timedelta(hours=int(hours), minutes=int(minutes), seconds=int(whole), microseconds=micros)


def _zone(zone: str | None) -> dt.tzinfo | None:
    if zone is None:
        return None
    if zone.upper() in ("Z", "UTC"):
        return dt.UTC
    digits = zone[1:].replace(":", "")
    hours, minutes = (int(digits), 0) if len(digits) <= 2 else (int(digits[:-2]), int(digits[-2:]))
    if hours > 15 or minutes > 59:
        raise ValueError(zone)
    offset = dt.timedelta(hours=hours, minutes=minutes)
    return dt.timezone(-offset if zone[0] == "-" else offset)


def _parse_uuid(sql_type: SqlType, text: str) -> uuid.UUID:
    try:
        return uuid.UUID(text.strip())
    except ValueError:
        raise _invalid(sql_type, text) from None


def _parse_time(sql_type: SqlType, text: str) -> dt.timedelta:
    value = times.read(text)
    if value is not None:
        return value
    if times.has_form(text):
        raise DatetimeOutOfRange(f'date/time field value out of range: "{text}"')
    raise InvalidDatetime(f'invalid input syntax for type {sql_type.value}: "{text}" (use HH:MM:SS)')


_PARSERS: dict[SqlType, Callable[[SqlType, str], Value]] = {
    SqlType.BOOLEAN: _parse_boolean,
    SqlType.SMALLINT: _parse_integer,
    SqlType.INTEGER: _parse_integer,
    SqlType.BIGINT: _parse_integer,
    SqlType.REAL: _parse_real,
    SqlType.DOUBLE: _parse_double,
    SqlType.NUMERIC: _parse_numeric,
    SqlType.TEXT: _parse_string,
    SqlType.VARCHAR: _parse_string,
    SqlType.CHAR: _parse_char,
    SqlType.DATE: _parse_date,
    SqlType.TIMESTAMP: _parse_timestamp,
    SqlType.TIMESTAMPTZ: _parse_timestamptz,
    SqlType.UUID: _parse_uuid,
    SqlType.JSON: _parse_json,
    SqlType.JSONB: lambda _, text: documents.canonical(text),
    SqlType.BYTEA: lambda sql_type, text: bytea.read(_parse_string(sql_type, text)),
    SqlType.TIME: _parse_time,
    SqlType.INTERVAL: lambda _, text: read_interval(text),
    **dict.fromkeys(ARRAYS, _parse_array),
}
