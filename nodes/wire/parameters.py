"""Parameters as clients send them, as values. Text is PostgreSQL's input syntax; binary is its send format.

Binary bytes mean what the type says that the client was told or has declared itself, and nothing else: the same
eight bytes are a bigint, a double or a timestamp. So they are read by that type's oid, at exactly its length, and a
type whose binary form is not known here is refused by name.
"""

import datetime as dt
import struct
import uuid
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

from expressions import sqltypes
from expressions.dates.zones import PLAIN, TimeStyle
from expressions.errors import DATETIME_OUT_OF_RANGE, INVALID_BINARY, PROGRAM_LIMIT, SqlError, unsupported
from expressions.limits import TOO_LONG, VALUE_BYTES_MAX
from expressions.typed import PyValue, parse_value
from nodes.wire.messages import decode_text

EPOCH_DAY = dt.date(2000, 1, 1)
EPOCH = dt.datetime(2000, 1, 1)  # noqa: DTZ001 - timestamps without a zone count from here

INT2, OID, FLOAT4, NUMERIC = 21, 26, 700, 1700
BPCHAR, VARCHAR, NAME, CHAR = 1042, 1043, 19, 18

INTERVAL_PARTS = struct.Struct("!qii")
ARRAY_HEAD, ARRAY_DIMENSION = struct.Struct("!iii"), struct.Struct("!ii")
NUMERIC_HEAD = struct.Struct("!HhHH")
NUMERIC_SIGNS = {0x0000: 0, 0x4000: 1}
NUMERIC_WORDS = {0xC000: "NaN", 0xD000: "Infinity", 0xF000: "-Infinity"}


def values_of(
    oids: Sequence[int],
    values: Sequence[bytes | None],
    formats: Sequence[int],
    style: TimeStyle = PLAIN,
    now: dt.datetime | None = None,
) -> tuple[PyValue, ...]:
    """The values of $1, $2, .., by the oids of their types. Raises PostgreSQL's code for what is no such value.

    Texts of dates are read in the session's style, and 'now' is the beginning of its transaction.
    """
    found: list[PyValue] = []
    for number, (oid, value) in enumerate(zip(oids, values, strict=True), start=1):
        if value is None:
            found.append(None)
        elif len(value) > VALUE_BYTES_MAX:
            raise SqlError(PROGRAM_LIMIT, f"bind parameter {number} has {len(value)} bytes: {TOO_LONG}")
        elif not formats or formats[number - 1] == 0:
            found.append(parse_value(sqltypes.parameter_type(oid, number), decode_text(value), -1, style, now))
        elif formats[number - 1] == 1:
            found.append(_from_binary(oid, value, number))
        else:
            raise SqlError("22023", f"unsupported format code: {formats[number - 1]}")
    return tuple(found)


def _packed(layout: str) -> Callable[[bytes], int]:
    """Reads a number of exactly this layout."""
    read = struct.Struct(layout)
    return lambda data: int(read.unpack(data)[0])


def _double(layout: str) -> Callable[[bytes], float]:
    read = struct.Struct(layout)
    return lambda data: float(read.unpack(data)[0])


def _boolean(data: bytes) -> bool:
    (byte,) = data
    return byte != 0


def _numeric(data: bytes) -> PyValue:
    """A numeric as the nearest double, like its text: base 10000, the first digit counts 10000 ** weight."""
    count, weight, sign, _scale = NUMERIC_HEAD.unpack_from(data)
    digits = struct.unpack(f"!{count}H", data[NUMERIC_HEAD.size :])
    if any(digit > 9999 for digit in digits):
        raise ValueError(data)
    if sign in NUMERIC_WORDS:
        return parse_value(sqltypes.FLOAT8, NUMERIC_WORDS[sign])
    decimals = tuple(int(figure) for digit in digits for figure in f"{digit:04d}")
    return parse_value(sqltypes.FLOAT8, str(Decimal((NUMERIC_SIGNS[sign], decimals, (weight - count + 1) * 4))))


def _interval(data: bytes) -> str:
    """Microseconds, days and months, as a text for the query engine."""
    micros, days, months = INTERVAL_PARTS.unpack(data)
    return f"{months} months {days} days {micros} microseconds"


_int4, _int8 = _packed("!i"), _packed("!q")

BINARY: dict[int, Callable[[bytes], PyValue]] = {
    sqltypes.BOOL.oid: _boolean,
    INT2: _packed("!h"),
    sqltypes.INT4.oid: _int4,
    sqltypes.INT8.oid: _int8,
    OID: _packed("!I"),
    FLOAT4: _double("!f"),
    sqltypes.FLOAT8.oid: _double("!d"),
    NUMERIC: _numeric,
    sqltypes.DATE.oid: lambda data: EPOCH_DAY + dt.timedelta(days=_int4(data)),
    sqltypes.TIMESTAMP.oid: lambda data: EPOCH + dt.timedelta(microseconds=_int8(data)),
    sqltypes.TIMESTAMPTZ.oid: lambda data: EPOCH.replace(tzinfo=dt.UTC) + dt.timedelta(microseconds=_int8(data)),
    sqltypes.UUID.oid: lambda data: uuid.UUID(bytes=data),
    sqltypes.INTERVAL.oid: _interval,
} | dict.fromkeys((sqltypes.TEXT.oid, VARCHAR, BPCHAR, NAME, CHAR, sqltypes.UNKNOWN.oid, 0), decode_text)


def _array(data: bytes) -> Any:
    """One dimension of elements, or none."""
    dimensions, _, oid = ARRAY_HEAD.unpack_from(data)
    if not dimensions and len(data) == ARRAY_HEAD.size:
        return ()
    if dimensions < 1:
        raise ValueError(data)
    if dimensions > 1:
        raise unsupported("an array of arrays")
    count, _ = ARRAY_DIMENSION.unpack_from(data, ARRAY_HEAD.size)
    place, read = ARRAY_HEAD.size + ARRAY_DIMENSION.size, BINARY[oid]
    items: list[PyValue] = []
    for _ in range(count):
        size = _int4(data[place : place + 4])
        place += 4
        if size > len(data) - place:
            raise ValueError(data)
        items.append(None if size < 0 else read(data[place : place + size]))
        place += max(size, 0)
    if place != len(data):
        raise ValueError(data)
    return tuple(items)


BINARY |= {
    oid: _array for oid, of in sqltypes.PARAMETER_OIDS.items() if of in sqltypes.ARRAY_OF.values()
} | dict.fromkeys((sqltypes.REGCLASS.oid, sqltypes.REGTYPE.oid), _packed("!I"))  # fmt: skip


def _from_binary(oid: int, data: bytes, number: int) -> PyValue:
    of: sqltypes.Type = sqltypes.parameter_type(oid, number)
    read = BINARY.get(oid)
    if read is None:
        raise unsupported(f"the binary format of parameter ${number} ({of})", hint="send it as text")
    try:
        return read(data)
    except OverflowError:
        raise SqlError(DATETIME_OUT_OF_RANGE, f"{of} out of range in bind parameter {number}") from None
    except (struct.error, KeyError, ValueError):
        raise SqlError(INVALID_BINARY, f"incorrect binary data format in bind parameter {number}") from None
