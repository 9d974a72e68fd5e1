"""Parameters as clients send them, as values. Text is PostgreSQL's input syntax; binary is its send format.

The same eight bytes are a bigint, a double or a timestamp. So binary is read by the oid of the declared type, at
exactly its length, and an unknown binary form is refused by name. Too few bytes are 08P01, as in PostgreSQL, too many,
and those that make no value, 22P03.
"""

import datetime as dt
import struct
import uuid
from collections.abc import Callable, Sequence
from typing import Any

from catalog.values.arrays import ELEMENTS_MAX, OF_ARRAYS, OF_ONE_DIMENSION
from catalog.values.errors import BadValue, DatetimeOutOfRange, Malformed
from catalog.values.intervals import Interval, checked
from catalog.values.times import of_micros
from catalog.values.types import SqlType, parse_text
from expressions import errors, sqltypes
from expressions.dates.zones import PLAIN, TimeStyle
from expressions.limits import TOO_LONG, VALUE_BYTES_MAX, too_many_elements
from expressions.typed import PyValue, parse_value
from nodes.wire.messages import decode_text
from nodes.wire.numerics import HEAD as NUMERIC_HEAD
from nodes.wire.numerics import numeric_of

EPOCH_DAY = dt.date(2000, 1, 1)
EPOCH = dt.datetime(2000, 1, 1)  # noqa: DTZ001 - timestamps without a zone count from here

BPCHAR, VARCHAR, NAME = 1042, 1043, 19

UUID_BYTES = 16
INTERVAL_PARTS = struct.Struct("!qii")
ARRAY_HEAD, ARRAY_DIMENSION, LENGTH = struct.Struct("!iii"), struct.Struct("!ii"), struct.Struct("!i")


def values_of(
    oids: Sequence[int],
    values: Sequence[bytes | None],
    formats: Sequence[int],
    style: TimeStyle = PLAIN,
    now: dt.datetime | None = None,
) -> tuple[PyValue, ...]:
    """The values of $1, $2, .., by the oids of their types. Raises PostgreSQL's code for a wrong value. Texts of dates
    are read in the session's style, and 'now' is the beginning of its transaction."""
    found: list[PyValue] = []
    elements = 0
    for number, (oid, value) in enumerate(zip(oids, values, strict=True), start=1):
        if value is None:
            found.append(None)
        elif len(value) > VALUE_BYTES_MAX:
            raise errors.SqlError(errors.PROGRAM_LIMIT, f"bind parameter {number} has {len(value)} bytes: {TOO_LONG}")
        elif not formats or formats[number - 1] == 0:
            found.append(parse_value(sqltypes.parameter_type(oid), decode_text(value), -1, style, now))
        elif formats[number - 1] == 1:
            found.append(_from_binary(oid, value, number))
        else:
            raise errors.SqlError("22023", f"unsupported format code: {formats[number - 1]}")
        if isinstance(found[-1], tuple):
            elements += len(found[-1])
            if elements > ELEMENTS_MAX:
                raise too_many_elements()
    return tuple(found)


def array_bytes(oids: Sequence[int], values: Sequence[bytes | None]) -> int:
    """The bytes of all arrays and documents among these values: taking them apart is what may take long."""
    if SLOWLY_READ.isdisjoint(oids):
        return 0
    return sum(len(value) for oid, value in zip(oids, values, strict=True) if value is not None and oid in SLOWLY_READ)


def _refuse_shorter(data: bytes, size: int) -> None:
    if len(data) < size:
        raise errors.SqlError(errors.PROTOCOL_VIOLATION, "insufficient data left in message")


def _unpacked(layout: struct.Struct, data: bytes) -> tuple[Any, ...]:
    """The parts of data of exactly this layout. Raises 08P01, and `struct.error` for more of it."""
    _refuse_shorter(data, layout.size)
    return layout.unpack(data)


def _beginning(layout: struct.Struct, data: bytes, place: int = 0) -> tuple[Any, ...]:
    _refuse_shorter(data, place + layout.size)
    return layout.unpack_from(data, place)


def _packed(layout: str) -> Callable[[bytes], Any]:
    read = struct.Struct(layout)
    return lambda data: _unpacked(read, data)[0]


def _numeric(data: bytes) -> PyValue:
    (count, *_) = _beginning(NUMERIC_HEAD, data)
    _refuse_shorter(data, NUMERIC_HEAD.size + 2 * count)
    return numeric_of(data)


def _uuid(data: bytes) -> uuid.UUID:
    _refuse_shorter(data, UUID_BYTES)
    return uuid.UUID(bytes=data)


def _interval(data: bytes) -> Interval:
    micros, days, months = _unpacked(INTERVAL_PARTS, data)
    return checked(months, days, micros)


def _time(data: bytes) -> dt.timedelta:
    try:
        return of_micros(_int8(data))
    except Malformed:
        raise DatetimeOutOfRange("time out of range") from None


def _jsonb(data: bytes) -> PyValue:
    if data[:1] != b"\x01":
        version = data[0] if data else 0
        raise errors.SqlError(errors.INVALID_BINARY, f"unsupported jsonb version number {version}")
    return parse_text(SqlType.JSONB, decode_text(data[1:]))


_byte, _int4, _int8 = _packed("!B"), _packed("!i"), _packed("!q")

BINARY: dict[int, Callable[[bytes], PyValue]] = {
    sqltypes.BOOL.oid: lambda data: _byte(data) != 0,
    sqltypes.INT2.oid: _packed("!h"),
    sqltypes.INT4.oid: _int4,
    sqltypes.INT8.oid: _int8,
    sqltypes.FLOAT4.oid: _packed("!f"),
    sqltypes.FLOAT8.oid: _packed("!d"),
    sqltypes.NUMERIC.oid: _numeric,
    sqltypes.DATE.oid: lambda data: EPOCH_DAY + dt.timedelta(days=_int4(data)),
    sqltypes.TIMESTAMP.oid: lambda data: EPOCH + dt.timedelta(microseconds=_int8(data)),
    sqltypes.TIMESTAMPTZ.oid: lambda data: EPOCH.replace(tzinfo=dt.UTC) + dt.timedelta(microseconds=_int8(data)),
    sqltypes.UUID.oid: _uuid,
    sqltypes.BYTEA.oid: bytes,
    sqltypes.TIME.oid: _time,
    sqltypes.INTERVAL.oid: _interval,
    sqltypes.JSON.oid: lambda data: parse_text(SqlType.JSON, decode_text(data)),
    sqltypes.JSONB.oid: _jsonb,
    BPCHAR: lambda data: decode_text(data).rstrip(" "),
} | dict.fromkeys((sqltypes.TEXT.oid, VARCHAR, NAME, sqltypes.UNKNOWN.oid, 0), decode_text)


ELEMENT_OIDS = {of.oid: element.oid for element, of in sqltypes.ARRAY_OF.items()} | {
    1014: BPCHAR,
}  # fmt: skip
"""The type of an array's elements, by that of the array."""


SLOWLY_READ = frozenset({*ELEMENT_OIDS, sqltypes.JSON.oid, sqltypes.JSONB.oid})


def _array_of(element: int) -> Callable[[bytes], Any]:
    read = BINARY[element]

    def array(data: bytes) -> Any:
        dimensions, has_nulls, oid = _beginning(ARRAY_HEAD, data)
        if dimensions < 0 or has_nulls not in (0, 1):
            raise ValueError(data)
        if oid != element:
            message = f"binary data has array element type {oid} instead of expected {element}"
            raise errors.SqlError(errors.DATATYPE_MISMATCH, message)
        if not dimensions:
            return _elements(data, 0, read, ARRAY_HEAD.size)
        if dimensions > 1:
            raise errors.unsupported(OF_ARRAYS, hint=OF_ONE_DIMENSION)
        count, first = _beginning(ARRAY_DIMENSION, data, ARRAY_HEAD.size)
        if count > ELEMENTS_MAX:
            raise too_many_elements()
        if count and first != 1:
            raise errors.unsupported("an array whose elements do not count from 1")
        return _elements(data, count, read, ARRAY_HEAD.size + ARRAY_DIMENSION.size)

    return array


def _elements(data: bytes, count: int, read: Callable[[bytes], PyValue], place: int) -> tuple[PyValue, ...]:
    items: list[PyValue] = []
    for _ in range(count):
        (size,) = _beginning(LENGTH, data, place)
        place += LENGTH.size
        if size < -1 or size > len(data) - place:
            raise ValueError(data)
        items.append(None if size < 0 else read(data[place : place + size]))
        place += max(size, 0)
    if place != len(data) or count < 0:
        raise ValueError(data)
    return tuple(items)


BINARY |= {oid: _array_of(element) for oid, element in ELEMENT_OIDS.items()}


def _from_binary(oid: int, data: bytes, number: int) -> PyValue:
    read = BINARY.get(oid)
    if read is None:
        return data  # it goes to the store as it came
    try:
        return read(data)
    except BadValue as bad:
        raise errors.SqlError(bad.sqlstate, str(bad), detail=bad.detail) from None
    except OverflowError:
        of = sqltypes.parameter_type(oid)
        raise errors.SqlError(errors.DATETIME_OUT_OF_RANGE, f"{of} out of range in bind parameter {number}") from None
    except (struct.error, KeyError, ValueError):
        raise errors.SqlError(
            errors.INVALID_BINARY, f"incorrect binary data format in bind parameter {number}"
        ) from None
