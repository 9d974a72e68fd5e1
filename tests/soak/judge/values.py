"""One value from its bytes, or its length, by the protocol and the header of `storage.encoding`; nothing of `storage`
or `catalog` is used. NULL is 02, any other value of a key begins with 01; in a column's pair a numeric and an interval
begin with 03 and what their keys leave out: two bytes of scale; months and days, four each."""

import datetime as dt
import json
import struct
import uuid
from decimal import Decimal
from typing import Any

import psycopg
from psycopg.adapt import Transformer
from psycopg.pq import Format

NULL, LIVE, WHOLE = b"\x02", b"\x01", b"\x03"
FIXED = {
    "boolean": 1,
    "smallint": 8,
    "integer": 8,
    "bigint": 8,
    "real": 4,
    "double precision": 8,
    "date": 4,
    "timestamp": 8,
    "timestamptz": 8,
    "uuid": 16,
    "time": 8,
    "interval": 10,
}
TEXTS = ("text", "varchar", "bpchar")
DOCUMENTS = ("json", "jsonb")
LEFT_OUT = {"numeric": 2, "interval": 8}
NUMERIC_BELOW, NUMERIC_ZERO, NUMERIC_ABOVE = 0x20, 0x30, 0x40
NUMERIC_WORDS = {0x10: Decimal("-Infinity"), 0x50: Decimal("Infinity"), 0x60: Decimal("NaN")}
EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - timestamps without a zone count from here


class Unreadable(ValueError):
    """Bytes that are no value."""


def key_form(kind: str, data: bytes) -> bytes:
    """A column's value as it stands in an index's key."""
    return LIVE + data[1 + LEFT_OUT[kind] :] if data[:1] == WHOLE else data


def pieces_of(types: list[str], data: bytes) -> list[bytes]:
    """The encoded values that stand one after the other."""
    pieces, at = [], 0
    for kind in types:
        size = length_of(kind, data, at)
        pieces.append(data[at : at + size])
        at += size
    if at != len(data):
        raise Unreadable(f"{len(data) - at} bytes are left over in {data.hex()}")
    return pieces


def cut(types: list[str], data: bytes) -> list[Any]:
    return [value_of(kind, piece) for kind, piece in zip(types, pieces_of(types, data), strict=True)]


def length_of(kind: str, data: bytes, at: int) -> int:
    """The bytes of the value that begins at `at`, its first one included."""
    mark = data[at : at + 1]
    if mark == NULL:
        return 1
    if mark != LIVE and not (mark == WHOLE and kind in LEFT_OUT):
        raise Unreadable(f"no {kind} begins at byte {at} of {data.hex()}")
    start = at + 1 + (LEFT_OUT[kind] if mark == WHOLE else 0)
    if kind in FIXED:
        return start + FIXED[kind] - at
    if kind == "numeric":
        sign = data[start] if start < len(data) else -1
        if sign not in (NUMERIC_BELOW, NUMERIC_ABOVE):
            return start + 1 - at
        last, begin = b"\xff" if sign == NUMERIC_BELOW else b"\x00", start + 3
    elif kind == "bytea":
        last, begin = b"\x00\x01", start
    else:
        last, begin = b"\x00", start
    end = data.find(last, begin)
    if end < 0:
        raise Unreadable(f"{kind} without end: {data.hex()}")
    return end + len(last) - at


def value_of(kind: str, data: bytes) -> Any:
    """One value from all of its bytes, as psycopg has it; of a real and a double the bytes themselves."""
    if length_of(kind, data, 0) != len(data):
        raise Unreadable(f"not one {kind}: {data.hex()}")
    if data == NULL:
        return None
    if data[:1] == WHOLE:
        return whole_value(kind, data[1 : 1 + LEFT_OUT[kind]], data[1 + LEFT_OUT[kind] :])
    rest = data[1:]
    if kind.endswith("[]"):
        return elements(kind[:-2], rest[:-1])
    if kind in TEXTS:
        return rest[:-1].decode()
    if kind in DOCUMENTS:
        return json.loads(rest[:-1])
    if kind == "bytea":
        return rest[:-2].replace(b"\x00\xff", b"\x00")
    if kind == "numeric":
        return number(rest)
    if kind == "boolean":
        return rest != b"\x00"
    if kind == "uuid":
        return uuid.UUID(bytes=rest)
    if kind in ("real", "double precision"):
        return rest
    return counted(kind, int.from_bytes(rest) - (1 << 8 * len(rest) - 1))


def counted(kind: str, count: int) -> Any:
    """A value that counts from a beginning: a number from zero, days and microseconds from theirs."""
    if kind in ("smallint", "integer", "bigint"):
        return count
    if kind == "date":
        return EPOCH.date() + dt.timedelta(days=count)
    span = dt.timedelta(microseconds=count)
    if kind == "interval":
        return span
    if kind == "time":
        return (EPOCH + span).time()
    return (EPOCH.replace(tzinfo=dt.UTC) if kind == "timestamptz" else EPOCH) + span


def elements(kind: str, text: bytes) -> list[Any]:
    """An array from its text, as psycopg reads it."""
    loader = Transformer().get_loader(psycopg.adapters.types[kind].array_oid, Format.TEXT)
    try:
        found: list[Any] = loader.load(text)
    except (psycopg.DataError, ArithmeticError, ValueError) as error:
        raise Unreadable(f"no {kind}[]: {text!r}") from error
    return found


def whole_value(kind: str, left_out: bytes, key: bytes) -> Any:
    """A value with what its key leaves out. Of an interval that is nothing here: psycopg has only its span, too."""
    if kind == "interval":
        return value_of(kind, LIVE + key)
    value, (scale,) = number(key), struct.unpack(">H", left_out)
    if not value.is_finite():
        return value
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)
    if -exponent > scale:
        raise Unreadable(f"{value} has more than {scale} digits behind the point")
    return value.quantize(Decimal((0, (1,), -scale)))


def number(key: bytes) -> Decimal:
    """A sign, the exponent of the first digit, two digits a byte, an end; negatives are inverted. Each digit is the
    hexadecimal digit one above it."""
    sign = key[0]
    if sign == NUMERIC_ZERO:
        return Decimal(0)
    if sign in NUMERIC_WORDS:
        return NUMERIC_WORDS[sign]
    if sign not in (NUMERIC_BELOW, NUMERIC_ABOVE):
        raise Unreadable(f"no numeric: {key.hex()}")
    plain = bytes(255 - byte for byte in key[1:]) if sign == NUMERIC_BELOW else key[1:]
    exponent = int.from_bytes(plain[:2]) - (1 << 15)
    digits = "".join(f"{(pair >> 4) - 1}{(pair & 15) - 1}" for pair in plain[2:-1]).rstrip("0")
    if not digits:
        raise Unreadable(f"a numeric without digits: {key.hex()}")
    shown = f"{'-' if sign == NUMERIC_BELOW else ''}{digits[0]}.{digits[1:]}e{exponent}"
    return Decimal(shown)
