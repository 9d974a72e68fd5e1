"""Literals that other sessions read otherwise: a time without a zone, a date of numbers, an interval. Nodes read a
descriptor's texts in UTC, so a statement is rewritten before it is submitted:

    SET TimeZone = 'Europe/Berlin'
    ALTER TABLE t ADD CHECK (at > '2020-01-01')      becomes      CHECK (at > '2019-12-31 23:00:00+00')
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from postgast import pg_query_pb2 as pb

from expressions import grammar
from expressions.dates.reading import NeedsNow
from expressions.dates.zones import PLAIN, TimeStyle
from expressions.errors import SqlError
from expressions.sqltypes import DATE, INTERVAL, TIME, TIMESTAMP, TIMESTAMPTZ, Type
from expressions.typed import PyValue, parse_value, value_text

_STYLED = frozenset(of.oid for of in (DATE, INTERVAL, TIME, TIMESTAMP, TIMESTAMPTZ))


@dataclass(frozen=True, slots=True)
class Reading:
    """The literals of one statement that `style` reads otherwise than `usual`, the style of its next reader: by their
    byte, as written and in UTC."""

    style: TimeStyle
    usual: TimeStyle = PLAIN
    found: dict[int, tuple[str, str]] = field(default_factory=dict)


_reading: ContextVar[Reading | None] = ContextVar("literals of the session", default=None)


@contextmanager
def reading(style: TimeStyle, usual: TimeStyle = PLAIN) -> Iterator[Reading]:
    """While inside, literals are read in this style and noted."""
    now = Reading(style, usual)
    token = _reading.set(now)
    try:
        yield now
    finally:
        _reading.reset(token)


def in_utc(of: Type, text: str, offset: int) -> str:
    """The literal as every session reads it, where one of the session is being read. Raises `SqlError`."""
    now = _reading.get()
    if now is None or (of.element or of).oid not in _STYLED:
        return text
    try:
        value = parse_value(of, text, offset, now.style)
    except NeedsNow:
        return text
    spelled = value_text(of, value)
    assert spelled is not None, text
    if spelled and _usual(of, text, now.usual) != value:
        now.found[offset] = (text, spelled.decode())
        return spelled.decode()
    return text


def _usual(of: Type, text: str, usual: TimeStyle) -> PyValue:
    try:
        return parse_value(of, text, -1, usual)
    except SqlError:
        return None


def rewritten(sql: str, read: Reading) -> str:
    whole, pieces, at = sql.encode(), list[bytes](), 0
    for start, end, spelled in respelled(sql, read):
        pieces += [whole[at:start], spelled.encode()]
        at = end
    return b"".join([*pieces, whole[at:]]).decode()


def respelled(sql: str, read: Reading) -> list[tuple[int, int, str]]:
    """These literals in UTC, and the bytes where they stand. One that a rule has written out of it stands nowhere."""
    whole, found = sql.encode(), []
    ends = {token.start: token.end for token in grammar.tokens(sql) if token.token in (pb.SCONST, pb.USCONST)}
    for start, (text, spelled) in sorted(read.found.items()):
        written = whole[start : ends.get(start, start)].decode()
        if written and (written[0] != "'" or written[1:-1].replace("''", "'") == text):
            found.append((start, ends[start], f"'{spelled}'"))
    return found
