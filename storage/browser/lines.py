"""Stored pairs in words; one that the version does not explain is shown raw and marked.

flights  id=7            carrier      'AA'
by_dest  dest='BOS'  ->  id=9         tombstone
"""

from __future__ import annotations

from dataclasses import dataclass

from catalog.descriptor import Descriptor
from catalog.elements import EXISTS, PRIMARY, Index
from catalog.values.types import to_text
from storage import encoding
from storage.pairs import PairName, StrayKey, key_parts, name_of, stored_key

SHOWN_BYTES_MAX = 200
READ_BYTES_MAX = 4096
"""The longest key or value that is no text; a longer text is read and shown up to here."""


@dataclass(frozen=True, slots=True)
class PairLine:
    """One pair. `element` is "" for an unexplained one."""

    storage: int
    k: str
    c: int
    value: str | None
    element: str
    row: str
    says: str
    is_tombstone: bool
    is_unknown: bool = False
    row_key: str = ""
    """K(r) of the row it is of, in hexadecimal digits; "" when the pair does not say."""


def describe(descriptor: Descriptor, storage: int, key: bytes, value: bytes | None) -> PairLine:
    """A stored pair in words under one version of its table."""
    raw, (k, c) = None if value is None else _hex(value), stored_key(key)
    value = None if value is None else short(value)
    try:
        name = name_of(descriptor, key)
        element, row, says = _words(descriptor, name, value)
    except (StrayKey, encoding.Undecodable, LookupError) as why:
        return PairLine(storage, _hex(k), c, raw, "", "", str(why), value is None, is_unknown=True)
    row_key = name.row_key if name.row_key is not None else value or b""
    return PairLine(storage, _hex(k), c, raw, element, row, says, value is None, row_key=row_key.hex())


def short(value: bytes) -> bytes:
    """Cuts a long value, which is always a text."""
    if len(value) <= READ_BYTES_MAX:
        return value
    return value[:READ_BYTES_MAX].decode(errors="ignore").encode() + bytes([encoding.TEXT_END])


def _words(descriptor: Descriptor, name: PairName, value: bytes | None) -> tuple[str, str, str]:
    if name.index != PRIMARY:
        index = descriptor.index(name.index)
        row = name.row_key if name.row_key is not None else value
        return index.name, _row(descriptor, row) if row else "", _indexed(descriptor, index, name.values or b"")
    assert name.row_key is not None
    row_words = _row(descriptor, name.row_key)
    if name.column == EXISTS:
        return descriptor.name, row_words, "exists"
    assert name.column is not None
    column = descriptor.column(name.column)
    return column.name, row_words, "" if value is None else _text(descriptor, column.id, value)


def _row(descriptor: Descriptor, key: bytes) -> str:
    parts = key_parts(descriptor, key)
    return ", ".join(f"{descriptor.column(c).shown}={_text(descriptor, c, data)}" for c, data in parts.items())


def _indexed(descriptor: Descriptor, index: Index, values: bytes) -> str:
    words, offset = [], 0
    for part in index.columns:
        column = descriptor.column(part.column)
        value, offset = encoding.decode(column.type, values, offset, descending=part.descending)
        words.append(f"{column.name}={'NULL' if value is None else to_text(column.type, value)}")
    return ", ".join(words)


def _text(descriptor: Descriptor, column_id: int, data: bytes) -> str:
    column = next(column for column in descriptor.columns if column.id == column_id)
    value, _ = encoding.decode(column.type, data)
    return "NULL" if value is None else _short(to_text(column.type, value))


def _short(text: str) -> str:
    return text if len(text) <= SHOWN_BYTES_MAX else f"{text[:SHOWN_BYTES_MAX]}…"


def _hex(data: bytes) -> str:
    shown = data[:SHOWN_BYTES_MAX].hex()
    many = len(data) if len(data) <= READ_BYTES_MAX else "many"
    return shown if len(data) <= SHOWN_BYTES_MAX else f"{shown}… ({many} bytes)"
