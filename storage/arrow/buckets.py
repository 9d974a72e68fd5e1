"""The buckets of many rows at once: the vectorised twin of `storage.buckets.bucket_of`.

Texts of one length stand in a block; one step of the CRC goes over one column of it. A column of bytes is XORed
as one large number and looked up with `bytes.translate`, so a step costs some nanoseconds for each row:

    crc = crc >> 8 ^ TABLE[(crc ^ byte) & 0xFF]      four columns of bytes: shift, look up, XOR
"""

import pyarrow as pa
import pyarrow.compute as pc

from storage.buckets import CRC_TABLE

_PLANES = tuple(bytes(entry >> 8 * place & 0xFF for entry in CRC_TABLE) for place in range(4))
"""The CRC table cut into its four bytes, lowest first: tables for `bytes.translate`."""


def strcrc32(texts: pa.Array, buckets: int) -> pa.Array:
    """The bucket, 1..`buckets`, of each text (no nulls), as `storage.buckets.crc32c` gives it."""
    data = texts.cast(pa.binary())
    lengths = pc.binary_length(data)
    found = pa.nulls(len(data), pa.int64())
    for length in pc.unique(lengths).to_pylist():
        mask = pc.equal(lengths, length)
        found = pc.replace_with_mask(found, mask, _buckets(data.filter(mask), length, buckets))
    return found


def storage_of(bucket: pa.Array, *, storages: int, buckets: int) -> pa.Array:
    """The storage that owns each bucket, as `storage.buckets.storage_of` has it."""
    return pc.add(pc.divide(pc.multiply(pc.subtract(bucket, 1), storages), buckets), 1).cast(pa.int32())


def _buckets(block: pa.Array, length: int, buckets: int) -> pa.Array:
    crc = _crc32c(_bytes(block, length), length, len(block))
    return pc.add(pc.subtract(crc, pc.multiply(pc.divide(crc, buckets), buckets)), 1)


def _bytes(block: pa.Array, length: int) -> bytes:
    """The texts of one length one after the other (`filter` has made the block start at offset 0)."""
    return bytes(block.buffers()[2])[: length * len(block)] if length else b""


def _crc32c(texts: bytes, length: int, count: int) -> pa.Array:
    """The CRC of each of `count` texts that lie one after the other."""
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
