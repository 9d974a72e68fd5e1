"""The rows of a result as COPY TO sends them: each in a message of its own, as PostgreSQL does."""

import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from expressions.errors import UNTRANSLATABLE, SqlError
from nodes.copy.encodings import NAMES
from nodes.copy.options import Options
from nodes.wire.messages import NULL_FIELD

HEAD, TRAILER = b"PGCOPY\n\xff\r\n\0" + bytes(8), b"\xff\xff"
_COUNT, _INT = struct.Struct("!h"), struct.Struct("!i")
LETTERS = {b"\\": b"\\\\", b"\b": b"\\b", b"\f": b"\\f", b"\n": b"\\n", b"\r": b"\\r", b"\t": b"\\t", b"\v": b"\\v"}

Value = bytes | None


@dataclass(frozen=True, slots=True)
class CopyOut:
    """COPY .. TO STDOUT of these columns; `forced_quote` are the places of those that stand in quotes."""

    names: tuple[str, ...]
    options: Options
    forced_quote: frozenset[int] = frozenset()

    @property
    def columns(self) -> int:
        return len(self.names)


@dataclass(eq=False)
class Outgoing:
    """The messages of one COPY TO: the next row, and what comes after the last one."""

    copy: CopyOut
    _written: Callable[[Sequence[Value]], bytes] = field(init=False)
    _head: bytes = b""

    def __post_init__(self) -> None:
        options = self.copy.options
        self._written = (
            _binary_row if options.is_binary else _csv_row(self.copy) if options.is_csv else _text_row(options)
        )
        if options.is_binary:
            self._head = HEAD

    def first(self) -> bytes | None:
        if not self.copy.options.header:
            return None
        names = [name.encode() for name in self.copy.names]
        return self._encoded(
            _csv_row(self.copy, is_header=True)(names) if self.copy.options.is_csv else self._written(names)
        )

    def row(self, values: Sequence[Value]) -> bytes:
        """A row; the first one in binary format comes with the header."""
        head, self._head = self._head, b""
        return head + self._encoded(self._written(values))

    def last(self) -> bytes | None:
        """The message after all rows, when there is one."""
        return self._head + TRAILER if self.copy.options.is_binary else None

    def _encoded(self, data: bytes) -> bytes:
        codec = self.copy.options.codec
        if not codec or data.isascii():
            return data
        try:
            return data.decode().encode(codec)
        except UnicodeEncodeError as error:
            shown = " ".join(f"0x{byte:02x}" for byte in error.object[error.start].encode())
            message = f'character with byte sequence {shown} in encoding "UTF8" has no equivalent in encoding'
            raise SqlError(UNTRANSLATABLE, f'{message} "{NAMES[codec]}"') from None


def _binary_row(values: Sequence[Value]) -> bytes:
    parts = [_COUNT.pack(len(values))]
    for value in values:
        parts += [NULL_FIELD] if value is None else [_INT.pack(len(value)), value]
    return b"".join(parts)


def _text_row(options: Options) -> Callable[[Sequence[Value]], bytes]:
    delimiter, null = options.delimiter.encode(), options.null.encode()
    escaped = LETTERS | {delimiter: LETTERS.get(delimiter, b"\\" + delimiter)}
    special = re.compile(b"[" + b"".join(re.escape(mark) for mark in escaped) + b"]")

    def text(value: bytes) -> bytes:
        return special.sub(lambda found: escaped[found.group()], value) if special.search(value) else value

    return lambda values: delimiter.join([null if value is None else text(value) for value in values]) + b"\n"


def _csv_row(copy: CopyOut, *, is_header: bool = False) -> Callable[[Sequence[Value]], bytes]:
    options = copy.options
    delimiter, null, quote = options.delimiter.encode(), options.null.encode(), options.quote.encode()
    escape = options.escape.encode()
    forced = frozenset() if is_header else copy.forced_quote
    quoted = re.compile(b"[\r\n" + re.escape(delimiter) + re.escape(quote) + b"]")
    escaped = re.compile(b"[" + re.escape(quote) + re.escape(escape) + b"]")
    alone = b"\\." if copy.columns == 1 else None

    def text(place: int, value: Value) -> bytes:
        if value is None:
            return null
        if place in forced or value in (null, alone) or quoted.search(value):
            return quote + escaped.sub(lambda found: escape + found.group(), value) + quote
        return value

    return lambda values: delimiter.join([text(place, value) for place, value in enumerate(values)]) + b"\n"
