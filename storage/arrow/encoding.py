"""The vectorised twin of `storage.encoding`: columns of values to columns of bytes and back, by Arrow kernels and
strided copies, one for each byte of the payload. Hypothesis compares the two for every type."""

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from catalog.elements import EXISTS
from catalog.values import bytea
from catalog.values.packed import LEFT_OUT, PACKED
from catalog.values.types import ARRAY_OF, ARRAYS, FLOATING, WHOLE, WRITTEN, SqlType
from storage import encoding
from storage.arrow.buffers import bytes_of, swapped
from storage.arrow.key_order import key_order
from storage.encoding import INVERSE, KEY_LENGTHS, LIVE, NULL, PAYLOAD_BYTES, WHOLE_VALUE
from storage.pairs import COLUMN, INDEX, INDEX_OF_ROWS, PREFIX, TABLE_BYTES

ARROW: dict[SqlType, pa.DataType] = {
    SqlType.BOOLEAN: pa.bool_(),
    SqlType.SMALLINT: pa.int16(),
    SqlType.INTEGER: pa.int32(),
    SqlType.BIGINT: pa.int64(),
    SqlType.REAL: pa.float32(),
    SqlType.DOUBLE: pa.float64(),
    SqlType.NUMERIC: pa.binary(),
    **dict.fromkeys(WRITTEN, pa.string()),
    SqlType.DATE: pa.date32(),
    SqlType.TIMESTAMP: pa.timestamp("us"),
    SqlType.TIMESTAMPTZ: pa.timestamp("us", "UTC"),
    SqlType.UUID: pa.uuid(),
    SqlType.BYTEA: pa.binary(),
    SqlType.TIME: pa.int64(),
    SqlType.INTERVAL: pa.binary(),
}
ARROW |= {array: pa.list_(pa.string() if of is SqlType.UUID else ARROW[of]) for of, array in ARRAY_OF.items()}
"""The Arrow type of each column type. Some have none (`catalog.values.packed`): Arrow's own numeric is too short."""

END = 1 << 30
"""A slice to the end: longer than any value."""

_INTS = {4: pa.int32(), 8: pa.int64()}
_SIGNS = {size: pa.scalar(-(1 << 8 * size - 1), of) for size, of in _INTS.items()}
_EMPTY = pa.scalar(b"", pa.binary())
_ROWS, _NO_COLUMN = pa.scalar(INDEX_OF_ROWS, pa.binary()), pa.scalar(COLUMN.pack(EXISTS), pa.binary())


class MalformedPairs(ValueError):
    """Bytes that do not encode their type."""


@dataclass(frozen=True, slots=True)
class Pairs:
    keys: pa.Array
    values: pa.Array

    def __len__(self) -> int:
        return len(self.keys)

    def slice(self, start: int, length: int | None = None) -> "Pairs":
        return Pairs(self.keys.slice(start, length), self.values.slice(start, length))

    def filter(self, mask: pa.Array) -> "Pairs":
        return Pairs(self.keys.filter(mask), self.values.filter(mask))

    def sorted(self) -> "Pairs":
        order = key_order(self.keys)
        return self if order is None else Pairs(self.keys.take(order), self.values.take(order))


def concat(parts: Iterable[Pairs]) -> Pairs:
    listed = list(parts)
    if not listed:
        return Pairs(pa.array([], pa.binary()), pa.array([], pa.binary()))
    return Pairs(pa.concat_arrays([p.keys for p in listed]), pa.concat_arrays([p.values for p in listed]))


# --- values


def encode(sql_type: SqlType, column: pa.Array, *, descending: bool = False) -> pa.Array:
    """Each value's bytes in a key, NULLs included. `column` has the type's Arrow type; texts have no NUL."""
    if sql_type in LEFT_OUT:
        encoded = key_of(sql_type, encode_value(sql_type, column))
        return inverted(encoded) if descending else encoded
    if sql_type in ARRAYS:
        values = listed(sql_type, column)
        return pa.array([encoding.encode(sql_type, items, descending=descending) for items in values], pa.binary())
    if sql_type in WRITTEN:
        column = pc.utf8_rtrim(column, " ") if sql_type is SqlType.CHAR else column
        encoded = join(LIVE, column.cast(pa.binary()), b"\x00")
    elif sql_type is SqlType.BYTEA:
        encoded = join(LIVE, pc.replace_substring(column, bytea.ZERO, bytea.ESCAPED_ZERO), bytea.END)
    else:
        payloads = _payloads(sql_type, column)
        count = len(column)
        size = PAYLOAD_BYTES[sql_type]
        step = size + 1
        data = bytearray(LIVE) * (count * step)
        for place in range(size):
            data[place + 1 :: step] = payloads[place::size]
        encoded = fixed_length(data, count, step)
    if column.null_count:
        encoded = pc.if_else(column.is_valid(), encoded, pa.scalar(NULL, pa.binary()))
    return inverted(encoded) if descending else encoded


def encode_value(sql_type: SqlType, column: pa.Array) -> pa.Array:
    if sql_type not in LEFT_OUT:
        return encode(sql_type, column)
    return pc.if_else(column.is_valid(), join(WHOLE_VALUE, column.fill_null(b"")), pa.scalar(NULL, pa.binary()))


def key_of(sql_type: SqlType, encoded: pa.Array) -> pa.Array:
    if sql_type not in LEFT_OUT:
        return encoded
    is_whole = pc.equal(pc.binary_slice(encoded, 0, 1), pa.scalar(WHOLE_VALUE, pa.binary()))
    return pc.if_else(is_whole, join(LIVE, pc.binary_slice(encoded, 1 + LEFT_OUT[sql_type], END)), encoded)


def value_of_key(sql_type: SqlType, length: int | None, keys: pa.Array) -> pa.Array:
    if sql_type not in LEFT_OUT:
        return keys
    return pa.array([encoding.value_of_key(sql_type, length, key) for key in keys.to_pylist()], pa.binary())


def listed(sql_type: SqlType, column: pa.Array) -> list[Any]:
    found: list[Any] = column.to_pylist()
    if sql_type not in PACKED:
        return found
    _, value_of = PACKED[sql_type]
    return [None if data is None else value_of(data) for data in found]


def column_of(sql_type: SqlType, values: Iterable[Any]) -> pa.Array:
    if sql_type in PACKED:
        pack, _ = PACKED[sql_type]
        values = [None if value is None else pack(value) for value in values]
    elif sql_type is SqlType.UUID:
        raw = pa.array([None if value is None else value.bytes for value in values], pa.binary(16))
        return pa.ExtensionArray.from_storage(pa.uuid(), raw)
    return pa.array(values, ARROW[sql_type])


def decode(sql_type: SqlType, encoded: pa.Array, *, descending: bool = False) -> pa.Array:
    """The column of encoded values. Raises `MalformedPairs`."""
    plain = inverted(encoded) if descending else encoded
    if sql_type in LEFT_OUT:
        # completes keys among the values by what keys leave out
        is_key = pc.equal(pc.binary_slice(plain, 0, 1), pa.scalar(LIVE, pa.binary()))
        if pc.any(is_key).as_py():
            plain = pc.if_else(is_key, value_of_key(sql_type, None, plain.fill_null(NULL)), plain)
    is_live = pc.fill_null(pc.greater(pc.binary_length(plain), 1), False)
    alive = pc.sum(is_live).as_py() or 0
    if alive == len(plain):
        return _decode_live(sql_type, plain)
    column = _decode_live(sql_type, plain.filter(is_live))
    places = pc.subtract(pc.cumulative_sum(is_live.cast(pa.int32())), 1)
    return column.take(pc.if_else(is_live, places, pa.scalar(None, pa.int32())))


def inverted(encoded: pa.Array) -> pa.Array:
    """Every byte inverted: ascending order becomes descending."""
    data, first = bytes_of(encoded)
    offsets = encoded.buffers()[1].slice(4 * encoded.offset, 4 * (len(encoded) + 1))
    if first:
        moved = pc.subtract(
            pa.Array.from_buffers(pa.int32(), len(encoded) + 1, [None, offsets]), pa.scalar(first, pa.int32())
        )
        offsets = moved.buffers()[1]
    assert encoded.null_count == 0
    return pa.Array.from_buffers(pa.binary(), len(encoded), [None, offsets, pa.py_buffer(data.translate(INVERSE))])


def join(*parts: pa.Array | bytes) -> pa.Array:
    """The parts of each row one after the other; bytes are the same for all rows."""
    scalars = [pa.scalar(part, pa.binary()) if isinstance(part, bytes) else part for part in parts]
    return pc.binary_join_element_wise(*scalars, _EMPTY)


def cut(types: Iterable[SqlType], joined: pa.Array) -> list[pa.Array]:
    """Keys cut into the encoded values of non-NULL columns of these types."""
    pieces, rest = [], joined
    for sql_type in types:
        if sql_type in KEY_LENGTHS:
            whole = rest.to_pylist()
            sizes = [encoding.length_at(sql_type, data, 0) for data in whole]
            halves = [(data[:size], data[size:]) for data, size in zip(whole, sizes, strict=True)]
            pieces.append(pa.array([first for first, _ in halves], pa.binary()))
            rest = pa.array([last for _, last in halves], pa.binary())
        elif sql_type in WRITTEN:
            halves = pc.split_pattern(rest, b"\x00", max_splits=1)
            pieces.append(join(pc.list_element(halves, 0), b"\x00"))
            rest = pc.list_element(halves, 1)
        else:
            size = 1 + PAYLOAD_BYTES[sql_type]
            pieces.append(pc.binary_slice(rest, 0, size))
            rest = pc.binary_slice(rest, size, END)
    if pc.sum(pc.binary_length(rest)).as_py():
        raise MalformedPairs("bytes follow the last column of a key")
    return pieces


def _payloads(sql_type: SqlType, column: pa.Array) -> bytes:
    size, count = PAYLOAD_BYTES[sql_type], len(column)
    if sql_type is SqlType.BOOLEAN:
        return _raw(column.cast(pa.uint8()), count)
    if sql_type is SqlType.UUID:
        storage = column.storage if isinstance(column, pa.ExtensionArray) else column
        return bytes(storage.buffers()[1].slice(16 * storage.offset, 16 * count))
    if sql_type in FLOATING:
        # bits of floats in the order of their values: -0 is 0, one NaN, greatest of all
        zero, nan = pa.scalar(0.0, column.type), pa.scalar(float("nan"), column.type)
        zeros = pc.if_else(pc.equal(column, zero), zero, column)
        bits = pc.if_else(pc.is_nan(zeros), nan, zeros).view(_INTS[size])
        ordered = pc.if_else(
            pc.less(bits, pa.scalar(0, _INTS[size])), pc.bit_wise_not(bits), pc.bit_wise_xor(bits, _SIGNS[size])
        )
    else:
        ordered = pc.bit_wise_xor(column.cast(_INTS[size]), _SIGNS[size])
    return swapped(_raw(ordered, count * size), size)


def _decode_live(sql_type: SqlType, encoded: pa.Array) -> pa.Array:
    if sql_type in ARRAYS:
        return column_of(sql_type, [encoding.decode(sql_type, data)[0] for data in encoded.to_pylist()])
    if sql_type in LEFT_OUT:
        return pc.binary_slice(encoded, 1, END)
    if sql_type in WRITTEN:
        return pc.binary_slice(encoded, 1, -1).cast(pa.string())
    if sql_type is SqlType.BYTEA:
        return pc.replace_substring(pc.binary_slice(encoded, 1, -len(bytea.END)), bytea.ESCAPED_ZERO, bytea.ZERO)
    size, count = PAYLOAD_BYTES[sql_type], len(encoded)
    data, _ = bytes_of(pc.binary_slice(encoded, 1, END))
    if len(data) != count * size:
        raise MalformedPairs(f"{len(data)} bytes are not {count} values of {sql_type.value}")
    if sql_type is SqlType.BOOLEAN:
        return pa.Array.from_buffers(pa.uint8(), count, [None, pa.py_buffer(data)]).cast(pa.bool_())
    if sql_type is SqlType.UUID:
        storage = pa.Array.from_buffers(pa.binary(16), count, [None, pa.py_buffer(data)])
        return pa.ExtensionArray.from_storage(pa.uuid(), storage)
    bits = pa.Array.from_buffers(_INTS[size], count, [None, pa.py_buffer(swapped(data, size))])
    flipped = pc.bit_wise_xor(bits, _SIGNS[size])
    if sql_type in FLOATING:
        is_positive = pc.less(bits, pa.scalar(0, _INTS[size]))
        return pc.if_else(is_positive, flipped, pc.bit_wise_not(bits)).view(ARROW[sql_type])
    return flipped.cast(ARROW[sql_type]) if sql_type in WHOLE else flipped.view(ARROW[sql_type])


def fixed_length(data: bytes | bytearray, count: int, size: int) -> pa.Array:
    """A column of `count` byte strings of one length, from `data`."""
    return pa.Array.from_buffers(pa.binary(size), count, [None, pa.py_buffer(data)]).cast(pa.binary())


def _raw(column: pa.Array, size: int) -> bytes:
    width = column.type.bit_width // 8
    return bytes(column.buffers()[1].slice(width * column.offset, size)) if size else b""


# --- pages, COPY and parameters


def unpack(
    table_id: int,
    count: int,
    ks: bytes | None,
    cs: bytes | None,
    values: bytes | None,
    k_sizes: bytes | None,
    value_sizes: bytes | None,
) -> Pairs:
    """Unpacks a page of `storage.statements.packed_scan_sql`, without an object per pair."""
    if not count:
        return concat([])
    stored = _column(count, ks or b"", k_sizes or b""), fixed_length(cs or b"", count, COLUMN.size)
    return Pairs(keys_of(table_id, *stored), _column(count, values or b"", value_sizes or b""))


def keys_of(table_id: int, ks: pa.Array, cs: pa.Array) -> pa.Array:
    """The inverse of `stored_keys`."""
    table = table_id.to_bytes(TABLE_BYTES)
    is_of_rows = pc.equal(pc.binary_slice(ks, PREFIX.size - TABLE_BYTES - INDEX.size, PREFIX.size - TABLE_BYTES), _ROWS)
    if pc.all(is_of_rows).as_py():
        return join(table, ks, cs)
    if not pc.any(is_of_rows).as_py():
        return join(table, ks)
    return join(table, ks, pc.if_else(is_of_rows, cs, _EMPTY))


def stored_keys(keys: pa.Array) -> tuple[pa.Array, pa.Array]:
    """k, and the bytes of c, of each key (`pairs.stored_key`)."""
    is_of_rows = pc.equal(pc.binary_slice(keys, PREFIX.size - INDEX.size, PREFIX.size), _ROWS)
    of_rows = pc.binary_slice(keys, TABLE_BYTES, -COLUMN.size), pc.binary_slice(keys, -COLUMN.size, END)
    if pc.all(is_of_rows).as_py():
        return of_rows
    entries = pc.binary_slice(keys, TABLE_BYTES, END)
    return pc.if_else(is_of_rows, of_rows[0], entries), pc.if_else(is_of_rows, of_rows[1], _NO_COLUMN)


def _column(count: int, data: bytes, sizes: bytes) -> pa.Array:
    lengths = pa.Array.from_buffers(pa.int32(), count, [None, pa.py_buffer(swapped(sizes, 4))])
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths)])
    return pa.Array.from_buffers(pa.binary(), count, [None, offsets.buffers()[1], pa.py_buffer(data)])


COPY_HEAD = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
COPY_TAIL = b"\xff\xff"


def copy_payload(pairs: Pairs) -> bytes:
    """The pairs as COPY BINARY reads (k, c, v)."""
    ks, cs = stored_keys(pairs.keys)
    c_size = COLUMN.size.to_bytes(4)
    rows = join(b"\x00\x03", _sizes(ks), ks, c_size, cs, _sizes(pairs.values), pairs.values)
    return COPY_HEAD + bytes_of(rows)[0] + COPY_TAIL


ARRAY_HEAD = struct.Struct(">iiiii")
BYTEA = 17
"""The id of PostgreSQL's type bytea."""


def array_payload(column: pa.Array) -> bytes:
    """A column of bytes as PostgreSQL reads an array of bytea in binary."""
    elements, _ = bytes_of(join(_sizes(column), column)) if len(column) else (b"", 0)
    return ARRAY_HEAD.pack(1, 0, BYTEA, len(column), 1) + elements


def _sizes(column: pa.Array) -> pa.Array | bytes:
    """The length of each value in four bytes; one value when all are equal."""
    lengths = pc.binary_length(column)
    bounds = pc.min_max(lengths)
    if bounds["min"].as_py() == bounds["max"].as_py():
        return int(bounds["min"].as_py() or 0).to_bytes(4)
    return fixed_length(swapped(_raw(lengths, 4 * len(column)), 4), len(column), 4)
