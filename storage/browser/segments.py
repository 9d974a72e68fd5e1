"""A key cut into its parts. An index entry has the indexed values (V) after its index, then K(r) unless it is unique.

k                     c
0001 0000 01 80..07   0000
P    I    K           C
1    rows id = 7      exists
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from catalog.descriptor import Descriptor
from catalog.elements import EXISTS, PRIMARY, Column, ColumnId
from catalog.values.types import to_text
from storage import encoding
from storage.pairs import COLUMN, PREFIX, StrayKey, name_of

SHOWN_BYTES_MAX = 40
SAYS_CHARS_MAX = 60


@dataclass(frozen=True, slots=True)
class Segment:
    """`part` is "placement", "index", "value", "key", "column" or "unknown"; `says` is its meaning."""

    part: str
    hex: str
    says: str


def key_segments(descriptor: Descriptor, key: bytes) -> list[Segment]:
    """The parts of a key under one version of its table; one unknown part when it is no key of it."""
    try:
        name = name_of(descriptor, key)
    except StrayKey as why:
        return [Segment("unknown", _hex(key), str(why))]
    _, placement, index_id = PREFIX.unpack_from(key)
    index = None if index_id == PRIMARY else descriptor.index(name.index)
    found = [
        Segment("placement", key[4:6].hex(), str(placement)),
        Segment("index", key[6 : PREFIX.size].hex(), "rows" if index is None else index.name),
    ]
    at = PREFIX.size
    if index is not None:
        parts = [(descriptor.column(part.column), part.descending) for part in index.columns]
        found += _values("value", parts, key[at : at + len(name.values or b"")])
        at += len(name.values or b"")
    if name.row_key is not None:
        found += key_values(descriptor, key[at : at + len(name.row_key)])
        at += len(name.row_key)
    if name.column is not None:
        says = "exists" if name.column == EXISTS else _column_name(descriptor, name.column)
        found.append(Segment("column", key[at : at + COLUMN.size].hex(), says))
    return found


def key_values(descriptor: Descriptor, row_key: bytes) -> list[Segment]:
    return list(_values("key", [(column, False) for column in descriptor.key_columns], row_key))


def value_segments(column: Column, value: bytes) -> list[Segment]:
    return list(_values("value", [(column, False)], value))


def _values(part: str, columns: Iterable[tuple[Column, bool]], data: bytes) -> Iterator[Segment]:
    at = 0
    for column, descending in columns:
        value, end = encoding.decode(column.type, data, at, descending=descending)
        text = "NULL" if value is None else to_text(column.type, value)
        yield Segment(part, _hex(data[at:end]), f"{column.shown} = {_cut(text, SAYS_CHARS_MAX)}")
        at = end


def _column_name(descriptor: Descriptor, column_id: ColumnId) -> str:
    names = {column.id: column.shown for column in descriptor.columns}
    return names.get(column_id, f"column {column_id}")


def _hex(data: bytes) -> str:
    return data.hex() if len(data) <= SHOWN_BYTES_MAX else f"{data[:SHOWN_BYTES_MAX].hex()}…"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}…"
