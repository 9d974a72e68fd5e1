"""Parameters as clients send them, as values. Text is PostgreSQL's input syntax; binary is its send format."""

import datetime as dt
import struct
import uuid
from collections.abc import Callable, Sequence

from expressions.errors import INVALID_BINARY, SqlError, unsupported
from expressions.sqltypes import BOOL, DATE, FLOAT8, INT4, INT8, TEXT, TIMESTAMP, TIMESTAMPTZ, UUID, Type
from expressions.typed import PyValue, parse_value
from nodes.messages import decode_text

EPOCH_DAY = dt.date(2000, 1, 1)
EPOCH = dt.datetime(2000, 1, 1)  # noqa: DTZ001 - timestamps without a zone count from here
WIDTHS = {2: "!h", 4: "!i", 8: "!q"}


def values_of(types: Sequence[Type], values: Sequence[bytes | None], formats: Sequence[int]) -> tuple[PyValue, ...]:
    """The values of $1, $2, .. Raises PostgreSQL's code for what is no value of its type."""
    found: list[PyValue] = []
    for number, (of, value) in enumerate(zip(types, values, strict=True), start=1):
        if value is None:
            found.append(None)
        elif formats and formats[number - 1]:
            found.append(_from_binary(of, value, number))
        else:
            found.append(parse_value(of, decode_text(value)))
    return tuple(found)


def _whole(data: bytes) -> int:
    value: int = struct.unpack(WIDTHS[len(data)], data)[0]
    return value


def _double(data: bytes) -> float:
    value: float = struct.unpack("!d" if len(data) == 8 else "!f", data)[0]
    return value


BINARY: dict[Type, Callable[[bytes], PyValue]] = {
    BOOL: lambda data: data != b"\x00",
    INT4: _whole,
    INT8: _whole,
    FLOAT8: _double,
    TEXT: decode_text,
    DATE: lambda data: EPOCH_DAY + dt.timedelta(days=_whole(data)),
    TIMESTAMP: lambda data: EPOCH + dt.timedelta(microseconds=_whole(data)),
    TIMESTAMPTZ: lambda data: EPOCH.replace(tzinfo=dt.UTC) + dt.timedelta(microseconds=_whole(data)),
    UUID: lambda data: uuid.UUID(bytes=data),
}


def _from_binary(of: Type, data: bytes, number: int) -> PyValue:
    read = BINARY.get(of)
    if read is None:
        raise unsupported(f"the binary format of parameter ${number} ({of})", hint="send it as text")
    try:
        return read(data)
    except (struct.error, KeyError, ValueError, OverflowError):
        raise SqlError(INVALID_BINARY, f"incorrect binary data format in bind parameter {number}") from None
