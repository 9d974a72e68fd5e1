"""One row as it is stored: its pairs and entries in every element, whether queries see them, and why not. Entries are
looked up by the row's values. The audit finds entries under other values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from catalog.descriptor import Descriptor
from catalog.elements import EXISTS, Column, Index, Kind, Placement, State
from catalog.states import Read, rule
from catalog.values.types import parse_text
from storage import encoding
from storage.answers import NO_ANSWERS, Answers
from storage.browser.segments import SHOWN_BYTES_MAX, Segment, key_segments, key_values, value_segments
from storage.buckets import storage_of
from storage.mutations import PUTS, entry_bucket
from storage.pairs import (
    COLUMN,
    CannotDerive,
    StoredRow,
    accepts,
    after,
    column_key,
    encoded_value,
    entry_pair,
    key_parts,
    missing_value,
    name_of,
    place,
    prefix,
    row_bucket,
    rows_of,
    text_of,
)

Stored = Mapping[bytes, Sequence[tuple[int, bytes | None]]]
"""The pairs by key: on which storages each lies, and with which value there."""


@dataclass(frozen=True, slots=True)
class Layout:
    buckets: int
    storages: int


@dataclass(frozen=True, slots=True)
class Home:
    """Where a row lies under one placement; None when its key alone does not say."""

    placement: Placement
    columns: str
    values: str
    bucket: int | None
    storage: int | None
    storages: int = 0


@dataclass(frozen=True, slots=True)
class Slot:
    """A pair that the row has or could have. `stored` is "live", "tombstone" or "none"; `why` says whether a query sees
    it. `storage` is None for no pair, `belongs` its storage by the rules; `other` is K(r) in hex of another row that
    owns this row's unique entry, or ""."""

    element: str
    name: str
    state: State
    filling: bool
    placement: int
    key: tuple[Segment, ...]
    value: tuple[Segment, ...]
    says: str
    stored: str
    why: str
    storage: int | None
    belongs: int | None
    other: str = ""

    @property
    def is_misplaced(self) -> bool:
        return self.stored == "live" and not self.other and self.belongs not in (None, self.storage)


@dataclass(frozen=True, slots=True)
class RowView:
    """A row under one version of its table. `exists`: queries of that version find it."""

    key: bytes
    exists: bool
    homes: tuple[Home, ...]
    slots: tuple[Slot, ...]


def read_row(descriptor: Descriptor, key: bytes, stored: Stored) -> StoredRow:
    """The row in the public placement; without columns when it does not exist."""
    start = prefix(descriptor, descriptor.placement.id)
    pairs = sorted((k, _live(places)) for k, places in stored.items() if k.startswith(start + key))
    found = [row for row in rows_of(descriptor, descriptor.placement, pairs) if row.key == key]
    return found[0] if found else StoredRow(key)


def _live(places: Iterable[tuple[int, bytes | None]]) -> bytes | None:
    return next((value for _, value in places if value is not None), None)


def ranges(descriptor: Descriptor, key: bytes) -> list[tuple[bytes, bytes]]:
    """The key range [low, high) of the row's own pairs under each placement."""
    starts = [prefix(descriptor, placement.id) + key for placement in descriptor.placements]
    return [(place(start), place(after(start))) for start in starts]


def entry_keys(descriptor: Descriptor, row: StoredRow) -> list[bytes]:
    return [entry_pair(descriptor, p, i, row)[0] for p in descriptor.placements for i in descriptor.indexes]


def row_shown(
    descriptor: Descriptor, key: bytes, stored: Stored, layout: Layout, answers: Answers = NO_ANSWERS
) -> RowView:
    """Everything of one row, from its pairs in `ranges` and `entry_keys`."""
    row = read_row(descriptor, key, stored)._replace(answers=answers)
    existence = column_key(prefix(descriptor, descriptor.placement.id), key)
    exists = _live(stored.get(existence, ())) is not None
    slots: list[Slot] = []
    homes = tuple(home_of(descriptor, placement, row, layout, exists=exists) for placement in descriptor.placements)
    for home in homes:
        slots += _row_slots(descriptor, home, row, stored)
        if exists:
            slots += _entry_slots(descriptor, home, row, stored, layout)
        slots += _stray_slots(descriptor, home, key, stored)
    return RowView(key, exists, homes, tuple(slots))


def home_of(descriptor: Descriptor, placement: Placement, row: StoredRow, layout: Layout, *, exists: bool) -> Home:
    ids = placement.sharding_key or descriptor.primary_key
    if not exists and not set(ids) <= set(descriptor.primary_key):
        return Home(placement, ", ".join(descriptor.column(one).shown for one in ids), "", None, None)
    values = [text_of(descriptor, one, encoded_value(descriptor, row, one)) for one in ids]
    count = placement.storage_count(layout.storages)
    bucket = row_bucket(descriptor, placement, row, layout.buckets)
    return Home(
        placement,
        ", ".join(descriptor.column(one).shown for one in ids),
        ", ".join("NULL" if value is None else value for value in values),
        bucket,
        storage_of(bucket, count, layout.buckets),
        count,
    )


@dataclass(frozen=True, slots=True)
class _Owner:
    """The element of a pair. `accepts`: its condition is true; `has_row`: the row exists there; `row`: K(r)."""

    element: str
    name: str
    state: State
    filling: bool
    kind: Kind
    row: bytes
    column: Column | None = None
    accepts: bool = True
    has_row: bool = True


def _row_slots(descriptor: Descriptor, home: Home, row: StoredRow, stored: Stored) -> Iterator[Slot]:
    start = prefix(descriptor, home.placement.id)
    table = _Owner("row", descriptor.name, descriptor.state, False, Kind.TABLE, row.key)
    existence = column_key(start, row.key)
    has_row = _live(stored.get(existence, ())) is not None
    yield from _slots(table, descriptor, home, existence, stored)
    for column in descriptor.stored_columns:
        if column.state is not State.ABSENT:
            of = ("column", column.name, column.state, column.filling, column.kind, row.key, column)
            owner = _Owner(*of, has_row=has_row)
            yield from _slots(owner, descriptor, home, column_key(start, row.key, column.id), stored)


def _entry_slots(descriptor: Descriptor, home: Home, row: StoredRow, stored: Stored, layout: Layout) -> Iterator[Slot]:
    for index in descriptor.indexes:
        if index.state is State.ABSENT:
            continue
        key, _ = entry_pair(descriptor, home.placement, index, row)
        bucket = entry_bucket(descriptor, home.placement, index, row, layout.buckets)
        filling = index.filling or home.placement.filling
        of = (index.kind.value, index.name, index.state, filling, index.kind, row.key)
        owner = _Owner(*of, accepts=_is_accepted(descriptor, index, row))
        count = home.placement.storage_count(layout.storages)
        at = replace(home, bucket=bucket, storage=storage_of(bucket, count, layout.buckets))
        yield from _slots(owner, descriptor, at, key, stored)


def _is_accepted(descriptor: Descriptor, index: Index, row: StoredRow) -> bool:
    try:
        return accepts(descriptor, index, row)
    except CannotDerive:
        return False


def _slots(owner: _Owner, descriptor: Descriptor, home: Home, key: bytes, stored: Stored) -> Iterator[Slot]:
    segments = tuple(key_segments(descriptor, key))
    made = (owner.element, owner.name, owner.state, owner.filling, home.placement.id, segments)
    for storage, value in stored.get(key, ()):
        found = "live" if value is not None else "tombstone"
        shown = (
            tuple(key_values(descriptor, value) if owner.column is None else value_segments(owner.column, value))
            if value
            else ()
        )
        other = value.hex() if value and owner.column is None and value != owner.row else ""
        why = "of another row" if other else _why(owner, home, found)
        says = _says(owner, value, segments, shown)
        yield Slot(*made, shown, says, found, why, storage, home.storage, other)
    if not stored.get(key):
        yield Slot(*made, (), _reads_as(descriptor, owner), "none", _why(owner, home, "none"), None, home.storage)


def _says(owner: _Owner, value: bytes | None, key: Sequence[Segment], shown: Sequence[Segment]) -> str:
    if owner.kind is Kind.TABLE:
        return "" if value is None else "exists"
    if owner.column is not None:
        return ", ".join(one.says.partition(" = ")[2] for one in shown)
    leads_to = shown or [one for one in key if one.part == "key"]
    values = ", ".join(one.says for one in key if one.part == "value")
    return f"{values} → {', '.join(one.says for one in leads_to)}"


def _reads_as(descriptor: Descriptor, owner: _Owner) -> str:
    if owner.column is None:
        return ""
    text = text_of(descriptor, owner.column.id, missing_value(owner.column))
    return "NULL" if text is None else text


def _why(owner: _Owner, home: Home, found: str) -> str:
    if found == "tombstone":
        return found
    is_placed = home.placement.state is State.PUBLIC
    read = rule(owner.kind, owner.state).read
    if found == "live":
        if not owner.has_row:
            return "without its row"
        if not owner.accepts:
            return "against the condition"
        if not is_placed:
            return "placement not used"
        return {Read.USED: "visible", Read.UNKNOWN: "not known"}.get(read, "not used")
    if not owner.accepts:
        return "no entry"
    if not owner.has_row:
        return "no row"
    if is_placed and read is Read.USED:
        return "reads as" if owner.column is not None else "no row" if owner.kind is Kind.TABLE else "missing"
    is_put = rule(owner.kind, owner.state).insert in PUTS and rule(Kind.PLACEMENT, home.placement.state).insert in PUTS
    return "not yet" if is_put else "never put"


def _stray_slots(descriptor: Descriptor, home: Home, key: bytes, stored: Stored) -> Iterator[Slot]:
    start = prefix(descriptor, home.placement.id) + key
    known = {EXISTS, *(column.id for column in descriptor.stored_columns if column.state is not State.ABSENT)}
    for pair, places in stored.items():
        is_of_row = pair.startswith(start) and len(pair) == len(start) + COLUMN.size
        if not is_of_row or name_of(descriptor, pair).column in known:
            continue
        segments = tuple(key_segments(descriptor, pair))
        made = ("unknown", segments[-1].says, State.ABSENT, False, home.placement.id, segments, ())
        for storage, value in places:
            found = "live" if value is not None else "tombstone"
            yield Slot(*made, (value or b"")[:SHOWN_BYTES_MAX].hex(), found, "stray", storage, home.storage)


def key_of(descriptor: Descriptor, texts: Iterable[str]) -> bytes:
    """K(r) from texts in key order. Raises `ValueError`."""
    given = list(texts)
    columns = descriptor.key_columns
    if len(given) != len(columns):
        raise ValueError(
            f"the key of {descriptor.name} has {len(columns)} values: {', '.join(c.shown for c in columns)}"
        )
    return b"".join(encoding.encode(c.type, parse_text(c.type, text)) for c, text in zip(columns, given, strict=True))


def key_texts(descriptor: Descriptor, key: bytes) -> list[str]:
    """The values of K(r) as texts. Raises `encoding.Undecodable`."""
    return [text_of(descriptor, column, data) or "" for column, data in key_parts(descriptor, key).items()]
