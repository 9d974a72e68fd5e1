"""Buckets of many rows: the vectorised twin of `storage.buckets.bucket_of`. One step of the CRC goes over one column of
a block of texts of one length, XORed as one large number and looked up with `bytes.translate`."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from catalog.values.types import WHOLE, WRITTEN, SqlType, to_text
from storage.arrow.encoding import END, encode, join, listed
from storage.buckets import CRC_TABLE, CUSTOM, PACKED, bucket_of

_PLANES = tuple(bytes(entry >> 8 * place & 0xFF for entry in CRC_TABLE) for place in range(4))
"""The CRC table cut into its four bytes, lowest first: tables for `bytes.translate`."""


TEXT_BY_CAST = WHOLE | WRITTEN | {SqlType.BOOLEAN}
_NOTHING = pa.scalar(b"", pa.binary())
_SIGN_64 = -(1 << 63)


def buckets_of(function: str, types: Sequence[SqlType], values: Sequence[pa.Array], buckets: int) -> pa.Array:
    """The bucket of each row under a named function, from its sharding key's values."""
    if function == CUSTOM:
        # buckets that rows name: those beyond what there is come round again, and NULL is the first
        bucket = values[0].cast(pa.int64())
        left = pc.subtract(bucket, pc.multiply(pc.divide(bucket, buckets), buckets))  # of the sign of what is divided
        rest = pc.subtract(left, 1)  # not of the number itself, of which the least has none before it
        return pc.add(pc.fill_null(pc.if_else(pc.less(rest, 0), pc.add(rest, buckets), rest), 0), 1)
    if function not in PIECES:
        rows = zip(*(listed(of, array) for of, array in zip(types, values, strict=True)), strict=True)
        found = [bucket_of(function, zip(types, row, strict=True), buckets) for row in rows]
        return pa.array(found, pa.int64())
    pieces, is_before_null = [], None
    for sql_type, array in zip(types, values, strict=True):
        piece = PIECES[function](sql_type, array).cast(pa.binary())
        if array.null_count or is_before_null is not None:  # nothing counts from the first NULL on
            is_there = array.is_valid()
            is_before_null = is_there if is_before_null is None else pc.and_(is_before_null, is_there)
            piece = pc.if_else(is_before_null, pc.fill_null(piece, _NOTHING), _NOTHING)
        pieces.append(piece)
    return strcrc32(join(*pieces), buckets)


def _texts(sql_type: SqlType, values: pa.Array) -> pa.Array:
    if sql_type in TEXT_BY_CAST:
        return values.cast(pa.string())
    texts = (None if value is None else to_text(sql_type, value) for value in listed(sql_type, values))
    return pa.array(texts, pa.string())


def _packed(sql_type: SqlType, values: pa.Array) -> pa.Array:
    """MessagePack's shortest form of booleans and integers; of other types their texts."""
    if sql_type not in PACKED:
        return _texts(sql_type, values)
    if sql_type is SqlType.BOOLEAN:
        return pc.if_else(values, pa.scalar(b"\xc3", pa.binary()), pa.scalar(b"\xc2", pa.binary()))
    numbers = values.cast(pa.int64())
    # the order-preserving encoding has the sign turned over: turned before, it is the number's own bytes
    data = pc.binary_slice(encode(SqlType.BIGINT, pc.fill_null(pc.add(numbers, _SIGN_64), 0)), 1, END)
    is_negative = pc.less(numbers, 0)
    found = pc.if_else(is_negative, join(b"\xd3", data), join(b"\xcf", data))
    for size, signed, unsigned in ((4, b"\xd2", b"\xce"), (2, b"\xd1", b"\xcd"), (1, b"\xd0", b"\xcc")):
        last, bits = pc.binary_slice(data, 8 - size, END), 8 * size
        fits = pc.and_(pc.greater_equal(numbers, -(1 << bits - 1)), pc.less(numbers, 1 << bits))
        found = pc.if_else(fits, pc.if_else(is_negative, join(signed, last), join(unsigned, last)), found)
    is_short = pc.and_(pc.greater_equal(numbers, -32), pc.less(numbers, 128))
    return pc.if_else(is_short, pc.binary_slice(data, 7, END), found)


PIECES = {"strcrc32": _texts, "mpcrc32": _packed}
"""The bytes that a value adds, of functions that are a CRC; another function goes row by row."""


def strcrc32(texts: pa.Array, buckets: int) -> pa.Array:
    """The bucket, 1..`buckets`, of each text (no nulls)."""
    data = texts.cast(pa.binary())
    lengths = pc.binary_length(data)
    found = pa.nulls(len(data), pa.int64())
    for length in pc.unique(lengths).to_pylist():
        mask = pc.equal(lengths, length)
        block = data.filter(mask)
        # the texts of one length one after the other (`filter` has made the block start at offset 0)
        crc = _crc32c(bytes(block.buffers()[2])[: length * len(block)] if length else b"", length, len(block))
        found = pc.replace_with_mask(
            found, mask, pc.add(pc.subtract(crc, pc.multiply(pc.divide(crc, buckets), buckets)), 1)
        )
    return found


def storage_of(bucket: pa.Array, *, storages: int, buckets: int) -> pa.Array:
    return pc.add(pc.divide(pc.multiply(pc.subtract(bucket, 1), storages), buckets), 1).cast(pa.int32())


def _crc32c(texts: bytes, length: int, count: int) -> pa.Array:
    crc = [b"\xff" * count] * 4
    for place in range(length):
        looked_up = _xor(crc[0], texts[place::length])
        above = [crc[1], crc[2], crc[3], bytes(count)]
        crc = [_xor(a, looked_up.translate(plane)) for a, plane in zip(above, _PLANES, strict=True)]
    numbers = bytearray(4 * count)
    for place, plane in enumerate(crc):
        numbers[place::4] = plane
    return pa.Array.from_buffers(pa.uint32(), count, [None, pa.py_buffer(numbers)]).cast(pa.int64())


def _xor(left: bytes, right: bytes) -> bytes:
    return (int.from_bytes(left, "little") ^ int.from_bytes(right, "little")).to_bytes(len(left), "little")
