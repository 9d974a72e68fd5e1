"""A stream in binary format as rows of fields, whatever the pieces it comes in."""

import struct
from collections.abc import Iterator

from expressions.errors import BAD_COPY_FORMAT, PROGRAM_LIMIT, SqlError
from expressions.limits import TOO_LONG, VALUE_BYTES_MAX
from nodes.copy.lines import LINE_CHARS_MAX

SIGNATURE = b"PGCOPY\n\xff\r\n\0"
HEAD = SIGNATURE + bytes(8)
TRAILER = b"\xff\xff"
WITH_OIDS = 1 << 16

_COUNT, _INT = struct.Struct("!h"), struct.Struct("!i")


class Tuples:
    """Rows of a stream. `number` is that of the row that is being read, `column` the place of the field in it."""

    def __init__(self, columns: int) -> None:
        self.number = 0
        self.column: int | None = None
        self._columns = columns
        self._data = bytearray()
        self._skip: int | None = None
        """Bytes of the header that are still to come, once it was read."""
        self._row: list[bytes | None] = []
        self._row_bytes = 0
        self._is_in_row = False
        self._is_over = False

    @property
    def pending(self) -> int:
        return len(self._data) + self._row_bytes

    def feed(self, data: bytes) -> Iterator[list[bytes | None]]:
        self._data += data
        place = 0
        if self._skip is None and not self._read_header():
            return
        assert self._skip is not None
        if self._skip:
            skipped = min(self._skip, len(self._data))
            del self._data[:skipped]
            self._skip -= skipped
            if self._skip:
                return
        while True:
            if self._is_over:
                if place < len(self._data):
                    raise SqlError(BAD_COPY_FORMAT, "received copy data after EOF marker")
                break
            if not self._is_in_row:
                if len(self._data) - place < _COUNT.size:
                    break
                self._begin_row(_COUNT.unpack_from(self._data, place)[0])
                place += _COUNT.size
                continue
            if len(self._row) == self._columns:
                self._is_in_row, self.column = False, None
                yield self._row
                continue
            size = self._field_size(place)
            if size is None or len(self._data) - place < _INT.size + max(size, 0):
                break
            place += _INT.size
            self._row.append(None if size < 0 else bytes(self._data[place : place + size]))
            self._row_bytes += max(size, 0)
            place += max(size, 0)
        del self._data[:place]

    def end(self) -> None:
        """The stream has ended. Raises 22P04 when it ends in the middle of a row or of its header."""
        if self._skip is None:
            self._read_header(is_last=True)
        if self._skip:
            raise SqlError(BAD_COPY_FORMAT, "invalid COPY file header (wrong length)")
        if self._is_in_row:
            raise SqlError(BAD_COPY_FORMAT, "unexpected EOF in COPY data")
        self.number += not self._is_over

    def _read_header(self, *, is_last: bool = False) -> bool:
        """True when the header is complete, but for what it says is to be skipped."""
        begin = bytes(self._data[: len(SIGNATURE)])
        if begin != SIGNATURE[: len(begin)] or (is_last and len(begin) < len(SIGNATURE)):
            raise SqlError(BAD_COPY_FORMAT, "COPY file signature not recognized")
        if len(self._data) < len(SIGNATURE) + _INT.size:
            if is_last:
                raise SqlError(BAD_COPY_FORMAT, "invalid COPY file header (missing flags)")
            return False
        (flags,) = _INT.unpack_from(self._data, len(SIGNATURE))
        if flags & WITH_OIDS:
            raise SqlError(BAD_COPY_FORMAT, "invalid COPY file header (WITH OIDS)")
        if flags >> 16:
            raise SqlError(BAD_COPY_FORMAT, "unrecognized critical flags in COPY file header")
        if len(self._data) < len(HEAD):
            if is_last:
                raise SqlError(BAD_COPY_FORMAT, "invalid COPY file header (missing length)")
            return False
        (skip,) = _INT.unpack_from(self._data, len(SIGNATURE) + _INT.size)
        if skip < 0:
            raise SqlError(BAD_COPY_FORMAT, "invalid COPY file header (missing length)")
        self._skip = skip
        del self._data[: len(HEAD)]
        return True

    def _begin_row(self, count: int) -> None:
        self.number += 1
        if count == -1:
            self._is_over = True
            return
        if count != self._columns:
            raise SqlError(BAD_COPY_FORMAT, f"row field count is {count}, expected {self._columns}")
        self._is_in_row, self._row, self._row_bytes = True, [], 0

    def _field_size(self, place: int) -> int | None:
        """The size of the next field, -1 for NULL; None when it has not come yet."""
        self.column = len(self._row)
        if len(self._data) - place < _INT.size:
            return None
        size: int = _INT.unpack_from(self._data, place)[0]
        if size < -1:
            raise SqlError(BAD_COPY_FORMAT, "invalid field size")
        if size > VALUE_BYTES_MAX:
            raise SqlError(PROGRAM_LIMIT, TOO_LONG)
        if self._row_bytes + size > LINE_CHARS_MAX:
            raise SqlError(PROGRAM_LIMIT, f"a row of COPY's data may have at most {LINE_CHARS_MAX} bytes")
        return size
