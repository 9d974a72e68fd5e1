"""Values as bytes whose order is the order of the values.

    NULL        02                       sorts last, as in PostgreSQL
    boolean     01 · 00 or 01
    integer     01 · 8 bytes             big-endian, sign bit flipped; smallint and bigint are the same
    double      01 · 8 bytes, real 4     IEEE 754, negatives inverted, -0 is 0, NaN is greatest
    numeric     01 · exponent, digits    `catalog.values.numerics`; without its scale: 1.0 and 1.00 are one key
    text        01 · UTF-8 · 00          byte order is code point order; NUL cannot occur; varchar is the same,
                                         char without its trailing blanks
    date        01 · 4 bytes             days since 1970-01-01
    timestamp   01 · 8 bytes             microseconds since 1970-01-01 (UTC with time zone)
    uuid        01 · 16 bytes
    bytea       01 · bytes · 00 01       `catalog.values.bytea`; a 00 in them is 00 FF
    time        01 · 8 bytes             microseconds since midnight
    interval    01 · 10 bytes            `catalog.values.intervals`; its span: 1 month and 30 days are one key
    array       01 · UTF-8 · 00          its text, under the settings of `to_text`; of columns only, as are
    json, jsonb 01 · UTF-8 · 00          these bytes do not sort

Each encoding ends by itself, so a key is a sequence of them; descending columns have every byte inverted. Pairs hold
the same bytes, so index keys are made without decoding. A pair with what keys leave out begins with 03 and that: two
bytes of scale of a numeric, months and days of an interval. A primary key has no pair: there the column's type says it,
or nothing does (`value_of_key`).
"""

import datetime as dt
import struct
import uuid
from collections.abc import Callable
from decimal import Decimal

from catalog.values import bytea, intervals, numerics, times
from catalog.values.documents import Jsonb
from catalog.values.errors import BadValue, Malformed
from catalog.values.packed import LEFT_OUT, PACKED, pack
from catalog.values.types import ARRAYS, WHOLE, WRITTEN, SqlType, Value, parse_text, to_text

NULL = b"\x02"
LIVE = b"\x01"
WHOLE_VALUE = b"\x03"
TEXT_END = 0
SIGN_32, SIGN_64 = 1 << 31, 1 << 63
MASK_32, MASK_64 = (1 << 32) - 1, (1 << 64) - 1
EPOCH_DAY = dt.date(1970, 1, 1)
EPOCH = dt.datetime(1970, 1, 1)  # noqa: DTZ001 - timestamps without a zone count from here
EPOCH_UTC = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
MICROSECOND = dt.timedelta(microseconds=1)
INVERSE = bytes(255 - byte for byte in range(256))

_U32, _U64 = struct.Struct(">I"), struct.Struct(">Q")
_REAL, _DOUBLE = struct.Struct(">f"), struct.Struct(">d")

PAYLOAD_BYTES = {
    SqlType.BOOLEAN: 1,
    SqlType.SMALLINT: 8,
    SqlType.INTEGER: 8,
    SqlType.BIGINT: 8,
    SqlType.REAL: 4,
    SqlType.DOUBLE: 8,
    SqlType.DATE: 4,
    SqlType.TIMESTAMP: 8,
    SqlType.TIMESTAMPTZ: 8,
    SqlType.UUID: 16,
    SqlType.TIME: 8,
}
"""Bytes after the marker of each type of fixed length; text ends with 00 instead, others have `KEY_LENGTHS`."""
KEY_LENGTHS = {
    SqlType.NUMERIC: numerics.key_length,
    SqlType.BYTEA: bytea.key_length,
    SqlType.INTERVAL: intervals.key_length,
}
"""The length of a key of a type whose keys are neither of one length nor end with 00."""


class Undecodable(ValueError):
    """Bytes that do not encode their type."""


def encode(sql_type: SqlType, value: Value | None, *, descending: bool = False) -> bytes:
    """A value's bytes in a key. Its Python type is that of `catalog.values.types`."""
    data = NULL if value is None else LIVE + _ENCODERS[sql_type](value)
    return inverted(data) if descending else data


def encode_value(sql_type: SqlType, value: Value | None) -> bytes:
    """A value's bytes in a pair: with what a key leaves out."""
    if sql_type not in LEFT_OUT or value is None:
        return encode(sql_type, value)
    packed: bytes = pack(sql_type, value)
    return WHOLE_VALUE + packed


def key_of(sql_type: SqlType, data: bytes) -> bytes:
    """An encoded value as it stands in a key."""
    if data[:1] != WHOLE_VALUE:
        return data
    return LIVE + data[1 + LEFT_OUT[sql_type] :]


def value_of_key(sql_type: SqlType, length: int | None, key: bytes) -> bytes:
    """The value of a key's bytes as a pair would hold it; `length` is the column's."""
    if sql_type not in LEFT_OUT or key == NULL:
        return key
    try:
        if sql_type is SqlType.INTERVAL:
            return WHOLE_VALUE + intervals.packed(intervals.of_key(key[1:]))
        scale = 0 if length is None else numerics.scale_of_modifier(length)
        return WHOLE_VALUE + numerics.packed_key(key[1:], scale)
    except Malformed as error:
        raise Undecodable(f"the bytes {key.hex()} are no {sql_type.value}: {error}") from error


def decode(sql_type: SqlType, data: bytes, offset: int = 0, *, descending: bool = False) -> tuple[Value | None, int]:
    """The value at `offset`, and where the next one starts. Raises `Undecodable`."""
    end = offset + length_at(sql_type, data, offset, descending=descending)
    piece = inverted(data[offset:end]) if descending else data[offset:end]
    if piece == NULL:
        return None, end
    decoders = _WHOLE_DECODERS if piece[:1] == WHOLE_VALUE else _DECODERS
    try:
        return decoders[sql_type](piece[1:]), end
    except (OverflowError, UnicodeDecodeError, BadValue, Malformed) as error:
        raise Undecodable(f"the bytes {data[offset:end].hex()} are no {sql_type.value}: {error}") from error


def value_in(sql_type: SqlType, data: bytes) -> Value | None:
    """The value of a pair's bytes: a faster `decode`. Raises `Undecodable`."""
    if len(data) == _NUMBER_BYTES.get(sql_type) and data[0] == LIVE[0]:
        return _DECODERS[sql_type](data[1:])
    return decode(sql_type, data)[0]


def length_at(sql_type: SqlType, data: bytes, offset: int, *, descending: bool = False) -> int:
    """The length of the encoded value at `offset`. Raises `Undecodable`."""
    flip = 0xFF if descending else 0
    marker = data[offset] ^ flip if offset < len(data) else -1
    if marker == NULL[0]:
        return 1
    if marker != LIVE[0] and not (marker == WHOLE_VALUE[0] and sql_type in LEFT_OUT):
        raise Undecodable(f"no {sql_type.value} starts at byte {offset} of {data.hex()}")
    key_length = KEY_LENGTHS.get(sql_type)
    if key_length is not None:
        left_out = LEFT_OUT[sql_type] if marker == WHOLE_VALUE[0] else 0
        try:
            return 1 + left_out + key_length(data, offset + 1 + left_out, flip=flip)
        except Malformed as error:
            raise Undecodable(f"the {sql_type.value} at byte {offset} of {data.hex()} has no end") from error
    payload = PAYLOAD_BYTES.get(sql_type)
    end = data.find(TEXT_END ^ flip, offset) + 1 if payload is None else offset + 1 + payload
    if end <= offset or end > len(data):
        raise Undecodable(f"the {sql_type.value} at byte {offset} of {data.hex()} has no end")
    return end - offset


def inverted(data: bytes) -> bytes:
    return data.translate(INVERSE)


def _encode_boolean(value: Value) -> bytes:
    return b"\x01" if value else b"\x00"


def _encode_whole(value: Value) -> bytes:
    assert isinstance(value, int)
    return _U64.pack(value + SIGN_64)


def _plain(value: Value) -> float:
    assert isinstance(value, float)
    return 0.0 if value == 0 else (float("nan") if value != value else value)


def _encode_real(value: Value) -> bytes:
    bits: int = _U32.unpack(_REAL.pack(_plain(value)))[0]
    return _U32.pack(bits ^ MASK_32 if bits & SIGN_32 else bits | SIGN_32)


def _encode_double(value: Value) -> bytes:
    number = _plain(value)
    bits: int = _U64.unpack(_DOUBLE.pack(number))[0] & MASK_64
    return _U64.pack(bits ^ MASK_64 if bits & SIGN_64 else bits | SIGN_64)


def _encode_text(value: Value) -> bytes:
    assert isinstance(value, str), value
    assert "\x00" not in value, "text with NUL is refused where it is read"
    return value.encode() + b"\x00"


def _encode_char(value: Value) -> bytes:
    assert isinstance(value, str), value
    return _encode_text(value.rstrip(" "))


def _encode_array(of: SqlType) -> Callable[[Value], bytes]:
    return lambda value: _encode_text(to_text(of, value))


def _decode_array(of: SqlType) -> Callable[[bytes], Value]:
    return lambda payload: parse_text(of, payload[:-1].decode())


def _encode_numeric(value: Value) -> bytes:
    assert isinstance(value, Decimal), value
    return numerics.key_of(value)


def _encode_date(value: Value) -> bytes:
    assert isinstance(value, dt.date)
    return _U32.pack((value - EPOCH_DAY).days + SIGN_32)


def _encode_timestamp(value: Value) -> bytes:
    assert isinstance(value, dt.datetime)
    return _U64.pack((value - EPOCH) // MICROSECOND + SIGN_64)


def _encode_timestamptz(value: Value) -> bytes:
    assert isinstance(value, dt.datetime)
    return _U64.pack((value - EPOCH_UTC) // MICROSECOND + SIGN_64)


def _encode_uuid(value: Value) -> bytes:
    assert isinstance(value, uuid.UUID)
    return value.bytes


def _encode_bytea(value: Value) -> bytes:
    assert isinstance(value, bytes)
    return bytea.key_of(value)


def _encode_time(value: Value) -> bytes:
    assert isinstance(value, dt.timedelta)
    return _encode_whole(times.micros_of(value))


def _encode_interval(value: Value) -> bytes:
    assert isinstance(value, intervals.Interval)
    return intervals.key_of(value)


def _signed_64(payload: bytes) -> int:
    bits: int = _U64.unpack(payload)[0]
    return bits - SIGN_64


def _signed_32(payload: bytes) -> int:
    bits: int = _U32.unpack(payload)[0]
    return bits - SIGN_32


def _decode_real(payload: bytes) -> float:
    bits: int = _U32.unpack(payload)[0]
    number: float = _REAL.unpack(_U32.pack(bits ^ SIGN_32 if bits & SIGN_32 else bits ^ MASK_32))[0]
    return number


def _decode_double(payload: bytes) -> float:
    bits: int = _U64.unpack(payload)[0]
    raw = bits ^ SIGN_64 if bits & SIGN_64 else bits ^ MASK_64
    number: float = _DOUBLE.unpack(_U64.pack(raw))[0]
    return number


_ENCODERS: dict[SqlType, Callable[[Value], bytes]] = {
    SqlType.BOOLEAN: _encode_boolean,
    **dict.fromkeys(WHOLE, _encode_whole),
    SqlType.REAL: _encode_real,
    SqlType.DOUBLE: _encode_double,
    SqlType.NUMERIC: _encode_numeric,
    SqlType.TEXT: _encode_text,
    SqlType.VARCHAR: _encode_text,
    SqlType.CHAR: _encode_char,
    SqlType.DATE: _encode_date,
    SqlType.TIMESTAMP: _encode_timestamp,
    SqlType.TIMESTAMPTZ: _encode_timestamptz,
    SqlType.UUID: _encode_uuid,
    SqlType.JSON: _encode_text,
    SqlType.JSONB: _encode_text,
    SqlType.BYTEA: _encode_bytea,
    SqlType.TIME: _encode_time,
    SqlType.INTERVAL: _encode_interval,
    **{array: _encode_array(array) for array in ARRAYS},
}

_DECODERS: dict[SqlType, Callable[[bytes], Value]] = {
    SqlType.BOOLEAN: lambda payload: payload != b"\x00",
    **dict.fromkeys(WHOLE, _signed_64),
    SqlType.REAL: _decode_real,
    SqlType.DOUBLE: _decode_double,
    SqlType.NUMERIC: numerics.of_key,
    **dict.fromkeys(WRITTEN, lambda payload: payload[:-1].decode()),
    SqlType.DATE: lambda payload: EPOCH_DAY + dt.timedelta(days=_signed_32(payload)),
    SqlType.TIMESTAMP: lambda payload: EPOCH + dt.timedelta(microseconds=_signed_64(payload)),
    SqlType.TIMESTAMPTZ: lambda payload: EPOCH_UTC + dt.timedelta(microseconds=_signed_64(payload)),
    SqlType.UUID: lambda payload: uuid.UUID(bytes=payload),
    SqlType.JSONB: lambda payload: Jsonb(payload[:-1].decode()),
    SqlType.BYTEA: bytea.of_key,
    SqlType.TIME: lambda payload: times.of_micros(_signed_64(payload)),
    SqlType.INTERVAL: intervals.of_key,
    **{array: _decode_array(array) for array in ARRAYS},
}
_NUMBER_BYTES = {of: 1 + PAYLOAD_BYTES[of] for of in WHOLE}
_WHOLE_DECODERS: dict[SqlType, Callable[[bytes], Value]] = {of: PACKED[of][1] for of in LEFT_OUT}
