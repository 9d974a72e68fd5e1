"""A table as pairs: the place of each part of a row in the store.

                       k                            c   v
    row existence      P · 0 · K(r)                 0   empty
    non-key column C   P · 0 · K(r)                 C   the encoded value
    index entry        P · I · values of r · K(r)   0   empty
    unique entry       P · I · values of r          0   K(r)     (no value NULL)

P placement (2 bytes), I index (2; 0: rows), K(r) the encoded primary key: one range holds one index, or one row. NULL
in v is a tombstone and nothing else: SQL's NULL is a value. Outside the store a pair has one key in the same order: T ·
k · c for a pair of a row, T · k for an entry (T: the table, 4 bytes; c: 2), converted by `stored_key`,
`storage.statements` and `storage.arrow.encoding`.
"""

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from catalog.descriptor import Descriptor, UnknownElement
from catalog.elements import EXISTS, PRIMARY, Column, ColumnId, Index, IndexId, Placement, PlacementId
from catalog.text.mistakes import cut, with_short_values
from catalog.text.sentence import Sentence
from catalog.values.types import SqlType, Value, to_text
from expressions import rows
from expressions.errors import NUMBER_OUT_OF_RANGE, PROGRAM_LIMIT, SqlError
from expressions.typed import PyValue
from storage import encoding
from storage.answers import NO_ANSWERS, Answers, Question, answer
from storage.buckets import CUSTOM, bucket_of

PREFIX = struct.Struct(">IHH")
COLUMN = struct.Struct(">H")
INDEX = struct.Struct(">H")
EMPTY = b""
TABLE_BYTES = PREFIX.size - COLUMN.size - INDEX.size
INDEX_OF_ROWS = INDEX.pack(PRIMARY)

Pair = tuple[bytes, bytes | None]
"""A key and its value; the value None is a tombstone."""


NO_COLUMNS: Mapping[ColumnId, bytes] = {}


class StoredRow(NamedTuple):
    """K(r), and the encoded value of every column pair of a row; `answers` are PostgreSQL's."""

    key: bytes
    columns: Mapping[ColumnId, bytes] = NO_COLUMNS
    answers: Answers = NO_ANSWERS


@dataclass(frozen=True, slots=True)
class PairName:
    """The element of a pair. `column` for pairs of rows, `values` for entries."""

    placement: PlacementId
    index: IndexId
    row_key: bytes | None
    column: ColumnId | None = None
    values: bytes | None = None


KEY_BYTES_MAX = 2600
"""The longest key a pair may have, for writers, fills and loads alike: a B-tree page takes a few bytes more."""


class StrayKey(ValueError):
    """A key that cannot be a pair of this table."""


class CannotDerive(ValueError):
    """An expression of the schema has no value for a row: `what` names it, `sqlstate` is the reason."""

    verb = "has no value"

    def __init__(self, what: str, row: str, why: SqlError) -> None:
        message = with_short_values(why.message)
        super().__init__(f"{what} {self.verb} for {row}: {message}")
        self.what, self.row, self.sqlstate, self.why = what, row, why.sqlstate, message


class KeyTooLong(CannotDerive):
    """A row's key or entry has more than `KEY_BYTES_MAX` bytes: 54000."""

    verb = "has no room"

    def __init__(self, descriptor: Descriptor, row_key: bytes, size: int, index: Index | None = None) -> None:
        row = row_words(descriptor, row_key)
        what = f"index {index.name}" if index else f"the primary key of {descriptor.name}"
        super().__init__(
            what, row, SqlError(PROGRAM_LIMIT, f"its key would take {size} bytes, the limit is {KEY_BYTES_MAX}")
        )


def require_short_key(descriptor: Descriptor, row_key: bytes) -> None:
    """Raises `KeyTooLong`."""
    size = PREFIX.size + len(row_key) + COLUMN.size
    if size > KEY_BYTES_MAX:
        raise KeyTooLong(descriptor, row_key, size)


def prefix(descriptor: Descriptor, placement: PlacementId, index: IndexId = PRIMARY) -> bytes:
    """The first 8 bytes of all keys of an index (0: of the rows) of a placement."""
    return PREFIX.pack(descriptor.table_id, placement, index)


def placement_prefix(descriptor: Descriptor, placement: PlacementId) -> bytes:
    """The first 6 bytes of all keys of a placement."""
    return prefix(descriptor, placement)[: -INDEX.size]


def after(key_prefix: bytes) -> bytes:
    """The end of the range of keys that start with `key_prefix`."""
    return (int.from_bytes(key_prefix) + 1).to_bytes(len(key_prefix))


def is_of_rows(key: bytes) -> bool:
    """True for a key, or a place between keys, of rows; False for entries."""
    return key[PREFIX.size - INDEX.size : PREFIX.size] == INDEX_OF_ROWS


def stored_key(key: bytes) -> tuple[bytes, int]:
    """(k, c) of a pair's key, or of a `place`."""
    if len(key) > PREFIX.size and is_of_rows(key):
        return key[TABLE_BYTES : -COLUMN.size], int.from_bytes(key[-COLUMN.size :])
    return key[TABLE_BYTES:], EXISTS


def place(start: bytes) -> bytes:
    """The place before the first key that begins with `start`: at least T, P and I, no column."""
    return start + COLUMN.pack(EXISTS) if len(start) > PREFIX.size and is_of_rows(start) else start


def after_key(key: bytes) -> bytes:
    if not is_of_rows(key):
        return key + b"\x00"
    return key[: -COLUMN.size] + COLUMN.pack(int.from_bytes(key[-COLUMN.size :]) + 1)


def column_key(key_prefix: bytes, row_key: bytes, column: ColumnId = EXISTS) -> bytes:
    return key_prefix + row_key + COLUMN.pack(column)


def row_key(descriptor: Descriptor, values: Iterable[Value | None]) -> bytes:
    types = (column.type for column in descriptor.key_columns)
    return b"".join(encoding.encode(t, v) for t, v in zip(types, values, strict=True))


def key_parts(descriptor: Descriptor, key: bytes) -> dict[ColumnId, bytes]:
    parts, offset = {}, 0
    for column in descriptor.key_columns:
        size = encoding.length_at(column.type, key, offset)
        parts[column.id] = encoding.value_of_key(column.type, column.length, key[offset : offset + size])
        offset += size
    if offset != len(key):
        raise encoding.Undecodable(f"{len(key) - offset} bytes follow the key of {descriptor.name}: {key.hex()}")
    return parts


def encoded_value(descriptor: Descriptor, row: StoredRow, column_id: ColumnId) -> bytes:
    """A row's encoded value in a column; a missing pair reads as fill value or NULL."""
    if column_id in descriptor.primary_key:
        if len(descriptor.primary_key) > 1:
            return key_parts(descriptor, row.key)[column_id]
        (column,) = descriptor.key_columns
        return encoding.value_of_key(column.type, column.length, row.key)
    there = row.columns.get(column_id)
    return missing_value(descriptor.column(column_id)) if there is None else there


def missing_value(column: Column) -> bytes:
    """The value of a missing pair: a fill value, or NULL. Also before the fill: a node in delete-only must find the
    entry that a node in write-only put for an unfilled row."""
    return encoding.NULL if column.fill_value is None else column.fill_value


def index_values(descriptor: Descriptor, index: Index, row: StoredRow) -> bytes:
    """The encoded indexed values of a row, descending ones inverted."""
    pieces = []
    for part in index.columns:
        value = key_value(descriptor, row, part.column)
        pieces.append(encoding.inverted(value) if part.descending else value)
    return b"".join(pieces)


def key_value(descriptor: Descriptor, row: StoredRow, column_id: ColumnId) -> bytes:
    """A row's value in a column as in keys: equal values have equal bytes."""
    return encoding.key_of(descriptor.column(column_id).type, encoded_value(descriptor, row, column_id))


def has_null(descriptor: Descriptor, index: Index, row: StoredRow) -> bool:
    """True when an indexed value is NULL: such rows never collide."""
    return any(encoded_value(descriptor, row, part.column) == encoding.NULL for part in index.columns)


def values_read(descriptor: Descriptor, row: StoredRow, expression: str) -> dict[ColumnId, PyValue]:
    found: dict[ColumnId, PyValue] = {}
    for column_id in rows.columns_of(expression):
        data = encoded_value(descriptor, row, column_id)
        found[column_id] = encoding.decode(descriptor.column(column_id).type, data)[0]
    return found


def question(descriptor: Descriptor, row: StoredRow, expression: str, returns: SqlType) -> Question:
    inputs = (encoded_value(descriptor, row, column_id) for column_id in sorted(rows.columns_of(expression)))
    return Question(expression, returns, tuple(inputs))


def computed(descriptor: Descriptor, row: StoredRow, expression: str, what: str, returns: SqlType) -> PyValue:
    """The value of an expression for one row. Raises `CannotDerive`, `Unanswered`."""
    try:
        if not rows.is_local(descriptor, expression):
            return answer(row.answers, question(descriptor, row, expression, returns))
        return rows.value_of(descriptor, expression, values_read(descriptor, row, expression))
    except SqlError as error:
        raise CannotDerive(what, row_words(descriptor, row.key), error) from error


def accepts(descriptor: Descriptor, index: Index, row: StoredRow) -> bool:
    """True when `row` has an entry in `index`. Raises `CannotDerive`."""
    if index.where is None:
        return True
    what = f"the condition of index {index.name}"
    return computed(descriptor, row, index.where, what, SqlType.BOOLEAN) is True


def index_entry(
    descriptor: Descriptor, placement: Placement, index: Index, row: StoredRow
) -> tuple[bytes, bytes] | None:
    """The entry of `row`, or None when the condition refuses it. Raises `CannotDerive`."""
    if not accepts(descriptor, index, row):
        return None
    entry = entry_pair(descriptor, placement, index, row)
    if len(entry[0]) > KEY_BYTES_MAX:
        raise KeyTooLong(descriptor, row.key, len(entry[0]), index)
    return entry


def entry_now(descriptor: Descriptor, placement: Placement, index: Index, row: StoredRow) -> tuple[bytes, bytes] | None:
    """The entry that an existing row may have: none was put without a value, or when too long."""
    try:
        return index_entry(descriptor, placement, index, row)
    except CannotDerive:
        return None


def entry_pair(descriptor: Descriptor, placement: Placement, index: Index, row: StoredRow) -> tuple[bytes, bytes]:
    start = prefix(descriptor, placement.id, index.id) + index_values(descriptor, index, row)
    if index.unique and not has_null(descriptor, index, row):
        return start, row.key
    return start + row.key, EMPTY


def row_bucket(descriptor: Descriptor, placement: Placement, row: StoredRow, buckets: int) -> int:
    if not placement.sharding_key:
        return _bucket_of_key(descriptor.fact(types_of_key), placement.function, row.key, buckets)
    types = (descriptor.column(column_id).type for column_id in placement.sharding_key)
    found = (key_value(descriptor, row, column_id) for column_id in placement.sharding_key)
    values = [(sql_type, encoding.decode(sql_type, data)[0]) for sql_type, data in zip(types, found, strict=True)]
    return bucket_of(placement.function, values, buckets)


def require_bucket(descriptor: Descriptor, placement: Placement, row: StoredRow, buckets: int) -> None:
    """Refuses a new row with an invalid bucket. Raises `CannotDerive` (22003)."""
    if placement.function != CUSTOM:
        return
    (column,) = placement.sharding_key or descriptor.primary_key
    value, _ = encoding.decode(descriptor.column(column).type, encoded_value(descriptor, row, column))
    if isinstance(value, int) and not 1 <= value <= buckets:
        raise no_bucket(descriptor, row.key, column, value, buckets)


def no_bucket(descriptor: Descriptor, row_key: bytes, column: ColumnId, value: int, buckets: int) -> CannotDerive:
    name = descriptor.column(column).shown
    why = SqlError(NUMBER_OUT_OF_RANGE, f"{name} = {value} is not a bucket, which are 1 to {buckets}")
    return CannotDerive("custom placement", row_words(descriptor, row_key), why)


@lru_cache(maxsize=4096)
def _bucket_of_key(types: tuple[SqlType, ...], function: str, key: bytes, buckets: int) -> int:
    """Cached: a statement asks for each pair."""
    values: list[tuple[SqlType, Value | None]] = []
    offset = 0
    for sql_type in types:
        value, offset = encoding.decode(sql_type, key, offset)
        values.append((sql_type, value))
    return bucket_of(function, values, buckets)


def text_of(descriptor: Descriptor, column_id: ColumnId, data: bytes) -> str | None:
    sql_type = descriptor.column(column_id).type
    value, _ = encoding.decode(sql_type, data)
    return None if value is None else to_text(sql_type, value)


def row_words(descriptor: Descriptor, key: bytes) -> str:
    """ "row id = 7"."""
    parts = key_parts(descriptor, key)
    shown = (f"{descriptor.column(c).shown} = {cut(str(text_of(descriptor, c, d)))}" for c, d in parts.items())
    return "row " + ", ".join(shown)


def version_named(descriptor: Descriptor) -> Sentence:
    return Sentence("{table}@{version}", table=descriptor.name, version=descriptor.version)


def name_of(descriptor: Descriptor, key: bytes) -> PairName:
    """The element of a key. Raises `StrayKey`."""
    if len(key) < PREFIX.size:
        raise StrayKey(f"key {key.hex()} is too short for a pair")
    table, placement, index_id = PREFIX.unpack_from(key)
    if table != descriptor.table_id or placement not in {p.id for p in descriptor.placements}:
        why, version = (
            "key {key} is of table {table}, placement {placement}, not of {version}",
            version_named(descriptor),
        )
        raise StrayKey(Sentence(why, key=key.hex(), table=table, placement=placement, version=version))
    try:
        if index_id == PRIMARY:
            return _row_pair(descriptor, PlacementId(placement), key[PREFIX.size :])
        return _entry(descriptor, PlacementId(placement), descriptor.index(IndexId(index_id)), key[PREFIX.size :])
    except (UnknownElement, encoding.Undecodable) as error:
        why = "key {key} is no pair of {version}: {error}"
        raise StrayKey(Sentence(why, key=key.hex(), version=version_named(descriptor), error=str(error))) from error


def _row_pair(descriptor: Descriptor, placement: PlacementId, rest: bytes) -> PairName:
    key, suffix = rest[: -COLUMN.size], rest[-COLUMN.size :]
    key_parts(descriptor, key)
    return PairName(placement, PRIMARY, key, column=ColumnId(COLUMN.unpack(suffix)[0]))


def _entry(descriptor: Descriptor, placement: PlacementId, index: Index, rest: bytes) -> PairName:
    offset, null = 0, False
    for part in index.columns:
        sql_type = descriptor.column(part.column).type
        size = encoding.length_at(sql_type, rest, offset, descending=part.descending)
        null |= size == 1
        offset += size
    key = None if index.unique and not null else rest[offset:]
    if key is None and offset != len(rest):
        raise encoding.Undecodable(f"{len(rest) - offset} bytes follow the values of a unique entry")
    if key is not None:
        key_parts(descriptor, key)
    return PairName(placement, index.id, key, values=rest[:offset])


def types_of_key(descriptor: Descriptor) -> tuple[SqlType, ...]:
    return tuple(column.type for column in descriptor.key_columns)


def is_existence(key: bytes) -> bool:
    return key.endswith(COLUMN.pack(EXISTS))


def rows_of(descriptor: Descriptor, placement: Placement, pairs: Iterable[Pair]) -> list[StoredRow]:
    columns: dict[bytes, dict[ColumnId, bytes]] = {}
    existing = []
    start = prefix(descriptor, placement.id)
    for key, value in pairs:
        if value is None or not key.startswith(start):
            continue
        this, column_id = key[len(start) : -COLUMN.size], ColumnId(COLUMN.unpack(key[-COLUMN.size :])[0])
        if column_id == EXISTS:
            existing.append(this)
        else:
            columns.setdefault(this, {})[column_id] = value
    return [StoredRow(key, columns.get(key, {})) for key in existing]
