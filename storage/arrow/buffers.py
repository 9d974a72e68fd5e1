"""Bytes of columns."""

from array import array

import pyarrow as pa

_CODES = {2: "h", 4: "i", 8: "q"}


def swapped(data: bytes, size: int) -> bytes:
    numbers = array(_CODES[size])
    numbers.frombytes(data)
    numbers.byteswap()
    return numbers.tobytes()


def bytes_of(column: pa.Array) -> tuple[bytes, int]:
    """The bytes of a binary column's values, and where they begin in its buffer."""
    _, offsets, data = column.buffers()
    if not len(column) or data is None:
        return b"", 0
    bounds = memoryview(offsets).cast("B").cast("i")
    first, last = bounds[column.offset], bounds[column.offset + len(column)]
    return bytes(data.slice(first, last - first)), first
