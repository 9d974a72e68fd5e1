"""The columns of a result, and their values as a client gets them: PostgreSQL's own text or binary, byte for byte. Text
depends on the session's time zone, so a plan, which is made for one, knows how to write its result; binary does not: a
timestamptz is microseconds since 2000 in UTC."""

import datetime as dt
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from catalog.values.arrays import array_text
from catalog.values.bytea import escaped_text
from catalog.values.interval_styles import WRITERS
from catalog.values.times import micros_of
from catalog.values.types import to_text
from expressions import sqltypes as pg
from expressions.dates.zones import PLAIN, TimeStyle, moment_text
from expressions.errors import INVALID_PARAMETER_VALUE, PROTOCOL_VIOLATION, SqlError, unsupported
from nodes.wire import oids
from nodes.wire.messages import Field
from nodes.wire.numerics import numeric_bytes

TEXT_FORMAT, BINARY_FORMAT = 0, 1
JSONB_VERSION = b"\x01"
"""The first byte of a jsonb in binary."""
Writer = Callable[[Any], bytes | None]
EPOCH_DAY = dt.date(2000, 1, 1).toordinal()
EPOCH = dt.datetime(2000, 1, 1)  # noqa: DTZ001 - timestamps without a zone count from here
EPOCH_UTC = EPOCH.replace(tzinfo=dt.UTC)
MICROSECOND = dt.timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Output:
    name: str
    type: pg.Type
    origin: tuple[int, int] = (0, 0)
    """The column of a table that it shows, by the ids of both."""
    modifier: int = pg.NO_MODIFIER


_int2, _int4, _int8 = struct.Struct("!h").pack, struct.Struct("!i").pack, struct.Struct("!q").pack
_real, _double = struct.Struct("!f").pack, struct.Struct("!d").pack
_interval = struct.Struct("!qii").pack


def _text_writers(style: TimeStyle) -> dict[pg.Type, Callable[[Any], bytes]]:
    def whole(value: int) -> bytes:
        return b"%d" % value

    def of_type(of: pg.Type) -> Callable[[Any], bytes]:
        sql_type = of.sql_type
        assert sql_type is not None
        return lambda value: to_text(sql_type, value).encode()

    def of_array(write: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
        return lambda items: array_text(items, lambda item: write(item).decode()).encode()

    zoned: Callable[[Any], bytes] = lambda value: moment_text(value, style.zone).encode()  # noqa: E731
    written: dict[pg.Type, Callable[[Any], bytes]] = {
        pg.BOOL: lambda value: b"t" if value else b"f",
        pg.INT2: whole,
        pg.INT4: whole,
        pg.INT8: whole,
        pg.FLOAT4: of_type(pg.FLOAT4),
        pg.FLOAT8: of_type(pg.FLOAT8),
        pg.NUMERIC: of_type(pg.NUMERIC),
        **dict.fromkeys((pg.TEXT, pg.VARCHAR), str.encode),
        pg.DATE: lambda value: value.isoformat().encode(),
        pg.TIMESTAMP: of_type(pg.TIMESTAMP),
        pg.TIMESTAMPTZ: of_type(pg.TIMESTAMPTZ) if style.is_utc else zoned,
        pg.UUID: lambda value: str(value).encode(),
        pg.BYTEA: (lambda value: escaped_text(value).encode()) if style.shows_escapes else of_type(pg.BYTEA),
        pg.TIME: of_type(pg.TIME),
        pg.INTERVAL: lambda value: WRITERS[style.intervals](value).encode(),
        **dict.fromkeys(pg.DOCUMENTS, str.encode),
        pg.NAME: str.encode,
    }
    arrays = {array: of_array(written[of]) for of, array in pg.ARRAY_OF.items()}
    return written | arrays


BINARY: dict[pg.Type, Callable[[Any], bytes]] = {
    pg.BOOL: lambda value: b"\x01" if value else b"\x00",
    pg.INT2: _int2,
    pg.INT4: _int4,
    pg.INT8: _int8,
    pg.FLOAT4: _real,
    pg.FLOAT8: _double,
    pg.NUMERIC: numeric_bytes,
    **dict.fromkeys((pg.TEXT, pg.VARCHAR), str.encode),
    pg.DATE: lambda value: _int4(value.toordinal() - EPOCH_DAY),
    pg.TIMESTAMP: lambda value: _int8((value - EPOCH) // MICROSECOND),
    pg.TIMESTAMPTZ: lambda value: _int8((value - EPOCH_UTC) // MICROSECOND),
    pg.UUID: lambda value: bytes(value.bytes),
    pg.BYTEA: bytes,
    pg.TIME: lambda value: _int8(micros_of(value)),
    pg.INTERVAL: lambda value: _interval(value.micros, value.days, value.months),
    pg.JSON: str.encode,
    pg.JSONB: lambda value: JSONB_VERSION + value.encode(),
    pg.NAME: str.encode,
}

_array, _dimension = struct.Struct("!iii").pack, struct.Struct("!ii").pack


def _array_writer(element: pg.Type) -> Callable[[Any], bytes]:
    """One dimension, whether there are NULLs, the elements' type; length and first number; then the elements."""
    oid, write = element.oid, BINARY[element]

    def written(items: Sequence[Any]) -> bytes:
        parts = [_array(1, None in items, oid), _dimension(len(items), 1)] if items else [_array(0, 0, oid)]
        for item in items:
            value = None if item is None else write(item)
            parts += [_int4(-1)] if value is None else [_int4(len(value)), value]
        return b"".join(parts)

    return written


BINARY |= {array: _array_writer(of) for of, array in pg.ARRAY_OF.items()}


def _nullable(write: Callable[[Any], bytes]) -> Writer:
    return lambda value: None if value is None else write(value)


class Columns:
    def __init__(self, outputs: Sequence[Output] = (), style: TimeStyle = PLAIN) -> None:
        texts = _TEXTS.get(style)
        if texts is None:
            if len(_TEXTS) >= STYLES_MAX:
                _TEXTS.clear()
            written = _text_writers(style)
            texts = _TEXTS[style] = {of: _nullable(write) for of, write in written.items()}
        self.types = tuple(o.type for o in outputs)
        self.fields = tuple(
            Field(o.name, o.type.oid, o.type.typlen, *oids.place(*o.origin), o.modifier) for o in outputs
        )
        self._texts = tuple(texts.get(o.type) or _other(o) for o in outputs)
        self._binaries = tuple(_BINARIES.get(o.type) or _other(o) for o in outputs)

    def writers(self, formats: tuple[int, ...]) -> tuple[Writer, ...]:
        """The writer of each column in the formats that the client has asked for. Raises 08P01 for too many of them."""
        if not formats:
            return self._texts
        return tuple(
            binary if form == BINARY_FORMAT else text
            for form, text, binary in zip(each(formats, len(self.types)), self._texts, self._binaries, strict=True)
        )


_TEXTS: dict[TimeStyle, dict[pg.Type, Writer]] = {}
STYLES_MAX = 256
_BINARIES = {of: _nullable(write) for of, write in BINARY.items()}


def _other(output: Output) -> Writer:
    """A char is kept without its trailing blanks, and shown with them. What no column has keeps its format."""
    if output.type is not pg.BPCHAR:

        def refuse(value: Any) -> bytes:
            raise unsupported(f"another format of a value of type {output.type}", hint="cast it to text")

        return _nullable(refuse)
    length = max(output.modifier - pg.HEAD, 0)
    return _nullable(lambda value: value.ljust(length).encode())


def checked(formats: tuple[int, ...], count: int | None) -> tuple[int, ...]:
    """The result formats of a Bind, none when all are text. Raises 22023 for an unknown one, 08P01 for a bad number."""
    for form in formats:
        if form not in (TEXT_FORMAT, BINARY_FORMAT):
            raise SqlError(INVALID_PARAMETER_VALUE, f"unsupported format code: {form}")
    if count is not None:
        each(formats, count)
    return formats if any(formats) else ()


def each(formats: tuple[int, ...], count: int) -> tuple[int, ...]:
    if len(formats) < 2:
        return (formats or (TEXT_FORMAT,)) * count
    if len(formats) != count:
        message = f"bind message has {len(formats)} result formats but query has {count} columns"
        raise SqlError(PROTOCOL_VIOLATION, message)
    return formats
