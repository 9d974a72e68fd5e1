"""The messages of PostgreSQL's wire protocol 3, as bytes and back: framing and layout. Which message may come when is
the business of `nodes.clients.connection`. A client's message is refused here when its bytes do not add up."""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from expressions import errors

PROTOCOL_3 = 3
SSL_REQUEST = 80877103
GSSENC_REQUEST = 80877104
CANCEL_REQUEST = 80877102

STARTUP_BYTES_MAX = 10_000
MESSAGE_BYTES_MAX = 16 * 2**20
COPY_MESSAGE_BYTES_MAX = 2**30 - 1
"""Of data for COPY, which is not kept until it is complete."""
PASSWORD_BYTES_MAX = 4096

_INT = struct.Struct("!i")
_SHORT = struct.Struct("!h")
_COUNT = struct.Struct("!H")
_HEAD = struct.Struct("!ci")
_FIELD = struct.Struct("!IhIhih")
HEAD_BYTES = _HEAD.size
NULL_FIELD = _INT.pack(-1)

BIND_COMPLETE = b"2\x00\x00\x00\x04"
PARSE_COMPLETE = b"1\x00\x00\x00\x04"
CLOSE_COMPLETE = b"3\x00\x00\x00\x04"
NO_DATA = b"n\x00\x00\x00\x04"
PORTAL_SUSPENDED = b"s\x00\x00\x00\x04"
EMPTY_QUERY = b"I\x00\x00\x00\x04"
COPY_DONE = b"c\x00\x00\x00\x04"
AUTHENTICATION_OK = b"R\x00\x00\x00\x08\x00\x00\x00\x00"


@dataclass(frozen=True, slots=True)
class Field:
    """A column of a result as a client sees it. `table` and `column`: the oid and number of the one that it shows."""

    name: str
    oid: int
    typlen: int = -1
    table: int = field(default=0, compare=False)
    column: int = field(default=0, compare=False)
    modifier: int = -1


@dataclass(frozen=True, slots=True)
class Bind:
    portal: str
    statement: str
    formats: tuple[int, ...]
    values: tuple[bytes | None, ...]
    result_formats: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Parse:
    name: str
    sql: str
    oids: tuple[int, ...]


class Reader:
    """Walks over the body of one message; running past its end is a protocol violation."""

    __slots__ = ("body", "offset")

    def __init__(self, body: bytes) -> None:
        self.body = body
        self.offset = 0

    def count(self) -> int:
        return int.from_bytes(self.take(_COUNT.size))

    def int32(self) -> int:
        return int.from_bytes(self.take(_INT.size), signed=True)

    def take(self, count: int) -> bytes:
        end = self.offset + count
        if count < 0 or end > len(self.body):
            raise errors.FatalError(errors.PROTOCOL_VIOLATION, "insufficient data left in message")
        taken = self.body[self.offset : end]
        self.offset = end
        return taken

    def text(self) -> str:
        end = self.body.find(b"\x00", self.offset)
        if end < 0:
            raise errors.FatalError(errors.PROTOCOL_VIOLATION, "invalid string in message")
        raw = self.body[self.offset : end]
        self.offset = end + 1
        return decode_text(raw)

    def end(self) -> None:
        if self.offset != len(self.body):
            raise errors.FatalError(errors.PROTOCOL_VIOLATION, "invalid message format")


def decode_text(raw: bytes) -> str:
    """A client's text, which must be UTF-8 and hold no NUL."""
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        shown = " ".join(f"0x{byte:02x}" for byte in raw[error.start : error.start + 4])
        raise errors.SqlError(errors.BAD_CHARACTER, f'invalid byte sequence for encoding "UTF8": {shown}') from None
    if "\x00" in text:
        raise errors.SqlError(errors.BAD_CHARACTER, 'invalid byte sequence for encoding "UTF8": 0x00')
    return text


def check_password_head(head: bytes | bytearray) -> None:
    """Kind and length of what a client sends that has not signed in yet."""
    kind, length = _HEAD.unpack_from(head)
    if kind != b"p":
        raise errors.FatalError(
            errors.PROTOCOL_VIOLATION, f"expected a password message, got {kind.decode('latin-1')!r}"
        )
    if not 4 <= length <= PASSWORD_BYTES_MAX:
        text = f"invalid length {length} of a password message: it has 4 to {PASSWORD_BYTES_MAX} bytes"
        raise errors.FatalError(errors.PROTOCOL_VIOLATION, text)


def read_parse(body: bytes) -> Parse:
    reader = Reader(body)
    name, sql = reader.text(), reader.text()
    oids = tuple(reader.int32() for _ in range(reader.count()))
    reader.end()
    return Parse(name, sql, oids)


def read_bind(body: bytes) -> Bind:
    """Read in place: every statement of a prepared kind comes this way."""
    portal, offset = _name(body, 0)
    statement, offset = _name(body, offset)
    formats, offset = _shorts(body, offset)
    try:
        count = _COUNT.unpack_from(body, offset)[0]
        offset += 2
        values: list[bytes | None] = []
        for _ in range(count):
            length = _INT.unpack_from(body, offset)[0]
            offset += 4
            if length < 0:
                values.append(None)
                continue
            values.append(body[offset : offset + length])
            offset += length
        result_formats, offset = _shorts(body, offset)
    except struct.error:
        offset = -1
    if offset != len(body):
        raise errors.FatalError(errors.PROTOCOL_VIOLATION, "invalid message format")
    return Bind(portal, statement, formats, tuple(values), result_formats)


def _name(body: bytes, offset: int) -> tuple[str, int]:
    end = body.find(b"\x00", offset)
    if end < 0:
        raise errors.FatalError(errors.PROTOCOL_VIOLATION, "invalid string in message")
    return decode_text(body[offset:end]) if end > offset else "", end + 1


def _shorts(body: bytes, offset: int) -> tuple[tuple[int, ...], int]:
    try:
        count = _COUNT.unpack_from(body, offset)[0]
        return struct.unpack_from(f"!{count}h", body, offset + 2), offset + 2 + 2 * count
    except struct.error:
        raise errors.FatalError(errors.PROTOCOL_VIOLATION, "insufficient data left in message") from None


def read_execute(body: bytes) -> tuple[str, int]:
    """Portal name and the most rows to send; 0 means all."""
    reader = Reader(body)
    portal, rows_max = reader.text(), reader.int32()
    reader.end()
    return portal, rows_max


def read_target(body: bytes) -> tuple[str, str]:
    """The target of Describe and Close: "S" a statement or "P" a portal, and its name."""
    reader = Reader(body)
    kind, name = reader.take(1), reader.text()
    reader.end()
    if kind not in (b"S", b"P"):
        raise errors.FatalError(errors.PROTOCOL_VIOLATION, f"invalid subtype {kind[0]} of a DESCRIBE or CLOSE message")
    return kind.decode(), name


def read_startup(body: bytes) -> dict[str, str]:
    reader = Reader(body)
    parameters: dict[str, str] = {}
    while name := reader.text():
        parameters[name] = reader.text()
    reader.end()
    return parameters


def message(kind: bytes, body: bytes = b"") -> bytes:
    return _HEAD.pack(kind, len(body) + 4) + body


def cstring(text: str) -> bytes:
    return text.encode() + b"\x00"


def parameter_status(name: str, value: str) -> bytes:
    return message(b"S", cstring(name) + cstring(value))


def backend_key(pid: int, secret: int) -> bytes:
    return message(b"K", struct.pack("!iI", pid, secret))


def authentication(code: int, body: bytes = b"") -> bytes:
    return message(b"R", _INT.pack(code) + body)


def negotiate_version(unknown_options: Sequence[str]) -> bytes:
    """NegotiateProtocolVersion: the newest version we speak is 3.0, and these options we do not know."""
    options = b"".join(cstring(option) for option in unknown_options)
    return message(b"v", struct.pack("!ii", PROTOCOL_3 << 16, len(unknown_options)) + options)


def notification(pid: int, channel: str, payload: str) -> bytes:
    return message(b"A", _INT.pack(pid) + cstring(channel) + cstring(payload))


def ready(status: bytes) -> bytes:
    return b"Z\x00\x00\x00\x05" + status


def command_complete(tag: str) -> bytes:
    return message(b"C", cstring(tag))


def parameter_description(oids: Sequence[int]) -> bytes:
    return message(b"t", _COUNT.pack(len(oids)) + b"".join(_INT.pack(oid) for oid in oids))


def row_description(fields: Sequence[Field], formats: Sequence[int] = ()) -> bytes:
    """`formats`: none, one for all columns, or one each."""
    parts = [_SHORT.pack(len(fields))]
    for place, shown in enumerate(fields):
        form = formats[place if len(formats) > 1 else 0] if formats else 0
        parts.append(cstring(shown.name))
        parts.append(_FIELD.pack(shown.table, shown.column, shown.oid, shown.typlen, shown.modifier, form))
    return message(b"T", b"".join(parts))


def data_row(values: Sequence[bytes | None]) -> bytes:
    parts = [_SHORT.pack(len(values))]
    for value in values:
        if value is None:
            parts.append(NULL_FIELD)
        else:
            parts.append(_INT.pack(len(value)))
            parts.append(value)
    body = b"".join(parts)
    return _HEAD.pack(b"D", len(body) + 4) + body


def copy_response(kind: bytes, columns: int, *, is_binary: bool) -> bytes:
    """CopyInResponse (G) or CopyOutResponse (H)."""
    form = int(is_binary)
    return message(kind, struct.pack(f"!bh{columns}h", form, columns, *[form] * columns))


def copy_data(data: bytes | memoryview) -> bytes:
    return b"".join((_HEAD.pack(b"d", len(data) + 4), data))


def error_response(error: errors.SqlError, sql: str = "") -> bytes:
    return message(b"E", _fields(error, sql))


def notice_response(
    text: str, *, severity: str = "NOTICE", sqlstate: str = "00000", detail: str | None = None
) -> bytes:
    return message(b"N", _fields(errors.SqlError(sqlstate, text, severity=severity, detail=detail), ""))


def _fields(error: errors.SqlError, sql: str) -> bytes:
    position = errors.position_of(sql, error.offset)
    schema, table, column = ("public" if error.table else None), error.table, error.column
    if error.sqlstate in (errors.UNDEFINED_TABLE, errors.UNDEFINED_COLUMN):  # what is not there has no field
        schema = table = column = None
    pairs: Iterable[tuple[bytes, str | None]] = (
        (b"S", error.severity),
        (b"V", error.severity),
        (b"C", error.sqlstate),
        (b"M", error.message),
        (b"D", error.detail),
        (b"H", error.hint),
        (b"P", None if position is None else str(position)),
        (b"W", error.where),
        (b"s", schema),
        (b"t", table),
        (b"c", column),
        (b"n", error.constraint),
        (b"R", error.routine),
    )
    shown = (code + cstring(value.replace("\x00", "")) for code, value in pairs if value is not None)
    return b"".join(shown) + b"\x00"
