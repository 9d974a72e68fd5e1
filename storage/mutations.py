"""The effect of a statement, or of a fill, on the pairs of a row: the rule table (`catalog.states`) as operations on
keys. While a fill runs a removal leaves a tombstone (R5), which a put replaces.

A derived column is put where an entry would be (`storage.derived`). `CannotDerive` is raised before any operation. A
statement removes the old entries of all its rows before it puts new ones (`in_order`), so that two rows may exchange
values of a unique index.
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import NamedTuple

from catalog.descriptor import Descriptor
from catalog.elements import EXISTS, Column, ColumnId, Index, IndexId, Kind, Placement, State
from catalog.states import Write, rule
from storage import encoding
from storage.buckets import BUCKETS, crc32c
from storage.derived import after_update, derived_columns, derived_value, value_to_fill, with_derived
from storage.pairs import (
    COLUMN,
    EMPTY,
    PREFIX,
    StoredRow,
    column_key,
    encoded_value,
    entry_now,
    has_null,
    index_entry,
    index_values,
    key_value,
    missing_value,
    prefix,
    require_bucket,
    require_short_key,
    row_bucket,
)
from storage.reads import reads


class Act(Enum):
    """The act on one key, in the order within a statement: removals first."""

    REMOVE = "remove the pair if there is one"
    TOMBSTONE = "put a tombstone, whether or not a pair is there"
    REMOVE_UNIQUE = "remove the entry if it is this row's own"
    TOMBSTONE_UNIQUE = "put a tombstone unless another row's live entry is there"
    CREATE = "put the pair; refused when a live one is there"
    PUT = "put the pair, replacing what is there"
    PUT_UNIQUE = "put the entry; refused when another row's live entry is there"


PUTS = frozenset({Write.PUT, Write.PUT_DEFAULT})
REMOVALS = frozenset({Act.REMOVE, Act.TOMBSTONE, Act.REMOVE_UNIQUE, Act.TOMBSTONE_UNIQUE})


class Op(NamedTuple):
    """One act on one key. `value` is what is put, or the row that owns a unique entry. `bucket` determines the storage
    in a placement of `storages` (0: as many as the cluster began with)."""

    act: Act
    bucket: int
    key: bytes
    value: bytes = EMPTY
    storages: int = 0


class TableNotWritable(Exception):
    """The table's state forbids the operation."""


def insert_row(descriptor: Descriptor, row: StoredRow, buckets: int = BUCKETS) -> list[Op]:
    """Operations that insert `row`. Raises `CannotDerive`. `row.columns` has the encoded values of public columns
    (missing: NULL) and the evaluated defaults of write-only ones."""
    _refuse_unknown(descriptor, "insert")
    require_short_key(descriptor, row.key)
    whole = with_derived(descriptor, row)
    ops: list[Op] = []
    for placement in descriptor.placements:
        if rule(Kind.PLACEMENT, placement.state).insert is Write.PUT:
            require_bucket(descriptor, placement, whole, buckets)
            home = row_bucket(descriptor, placement, whole, buckets)
            ops += _put_row(descriptor, placement, whole, home)
            put = descriptor.fact(_put_on_insert)
            ops += _put_entries(descriptor, placement, whole, home, put, buckets, is_new=True)
    return ops


def delete_row(descriptor: Descriptor, row: StoredRow, buckets: int = BUCKETS) -> list[Op]:
    """Operations that delete `row`, as the transaction reads it now."""
    ops: list[Op] = []
    for placement in descriptor.placements:
        if placement.state is not State.ABSENT:
            home = row_bucket(descriptor, placement, row, buckets)
            ops += _remove_row(descriptor, placement, row, home)
            ops += _remove_entries(descriptor, placement, row, home, descriptor.indexes, buckets)
    return ops


def update_row(
    descriptor: Descriptor,
    old: StoredRow,
    assigned: Mapping[ColumnId, bytes],
    new_key: bytes | None = None,
    buckets: int = BUCKETS,
) -> list[Op]:
    """Operations that give `old` the encoded values `assigned`, and a new K(r) when its key changes. Raises
    `CannotDerive`. A change of key moves every pair of the row, also those this version may not name."""
    _refuse_unknown(descriptor, "update")
    new, derived, stale = after_update(descriptor, old, assigned, old.key if new_key is None else new_key)
    if new.key != old.key:
        return delete_row(descriptor, old, buckets) + _arrive(descriptor, new, buckets)
    writes = {column_id: new.columns[column_id] for column_id in (*assigned, *derived)}
    ops: list[Op] = []
    for placement in descriptor.placements:
        if placement.state is not State.ABSENT:
            ops += _update_placement(descriptor, placement, old, new, writes, stale, buckets)
    return ops


def fill_row(descriptor: Descriptor, row: StoredRow, buckets: int = BUCKETS) -> list[Op]:
    """Operations of a running fill for `row`, for every element that this version fills (R2). Raises `CannotDerive`.
    Each pair is put only where there is neither a pair nor a tombstone: writers win."""
    lacking = [c for c in descriptor.stored_columns if c.filling and c.id not in row.columns]
    values = {c.id: derived_value(descriptor, c, row) if c.derived else missing_value(c) for c in lacking}
    whole = row._replace(columns={**row.columns, **values})
    ops: list[Op] = []
    for placement in descriptor.placements:
        if rule(Kind.PLACEMENT, placement.state).insert is not Write.PUT:
            continue
        if placement.filling:
            require_bucket(descriptor, placement, whole, buckets)
        home, start = row_bucket(descriptor, placement, whole, buckets), prefix(descriptor, placement.id)
        if placement.filling:
            ops += _move_row(descriptor, placement, whole, home)
        else:
            ops += (
                Op(Act.PUT, home, column_key(start, row.key, column), value, placement.storages)
                for column, value in values.items()
            )
        indexes = [i for i in descriptor.fact(_put_on_insert) if i.filling or placement.filling]
        ops += _put_entries(descriptor, placement, whole, home, indexes, buckets)
    return ops


def in_order(ops: Iterable[Op]) -> list[Op]:
    """A whole statement: all removals before all puts."""
    listed = list(ops)
    return [op for op in listed if op.act in REMOVALS] + [op for op in listed if op.act not in REMOVALS]


def _refuse_unknown(descriptor: Descriptor, operation: str) -> None:
    if descriptor.state is State.ABSENT or rule(Kind.TABLE, descriptor.state).insert is Write.UNKNOWN:
        raise TableNotWritable(f"table {descriptor.name} is {descriptor.state.value}: it takes no {operation}")


def _arrive(descriptor: Descriptor, row: StoredRow, buckets: int) -> list[Op]:
    """A moved row at its new key: every pair but those of delete-only derived columns, and its entries."""
    require_short_key(descriptor, row.key)
    derived = descriptor.fact(derived_columns)
    unput = {c.id for c in derived if rule(c.kind, c.state).update is Write.REMOVE_OLD}
    row = row._replace(columns={c: v for c, v in row.columns.items() if c not in unput}) if unput else row
    ops: list[Op] = []
    for placement in descriptor.placements:
        if rule(Kind.PLACEMENT, placement.state).update is Write.REPLACE:
            require_bucket(descriptor, placement, row, buckets)
            home = row_bucket(descriptor, placement, row, buckets)
            ops += _move_row(descriptor, placement, row, home)
            put = descriptor.fact(_put_on_update)
            ops += _put_entries(descriptor, placement, row, home, put, buckets, is_new=True)
    return ops


def _update_placement(
    descriptor: Descriptor,
    placement: Placement,
    old: StoredRow,
    new: StoredRow,
    writes: Mapping[ColumnId, bytes],
    stale: Iterable[ColumnId],
    buckets: int,
) -> list[Op]:
    """An update in one placement: `writes` are put, the pairs of `stale` columns are removed. A placement that is not
    read is like an index whose entry is the whole row: delete-only removes the copy, write-only puts all of it, since a
    fill may not have come there yet."""
    home = left = row_bucket(descriptor, placement, new, buckets)
    if not _is_spread_alike(descriptor, placement, old, new):
        require_bucket(descriptor, placement, new, buckets)
        left = row_bucket(descriptor, placement, old, buckets)
    moved, is_copy = home != left, placement.state is not State.PUBLIC
    puts = rule(Kind.PLACEMENT, placement.state).update is Write.REPLACE
    touched = (*writes, *stale)
    # true for an entry that lies where its own values say, wherever its row lies. While it is filled a row that
    # moves puts it: no range of the fill may see the row, neither where it was nor where it is
    changed = [
        index
        for index in descriptor.indexes
        if is_copy
        or (moved and not (index.unique and not index.filling and not has_null(descriptor, index, old)))
        or _differs(descriptor, placement, index, old, new, touched)
    ]
    ops = list(_remove_entries(descriptor, placement, old, left, changed, buckets))
    if moved or not puts:
        ops += _remove_row(descriptor, placement, old, left)
    else:
        ops += _remove_values(descriptor, placement, old, home, stale)
    if not puts:
        return ops
    if moved or is_copy:
        ops += _move_row(descriptor, placement, new, home)
    else:
        ops += _put_values(descriptor, placement, new, home, writes)
    put = descriptor.fact(_put_on_update)
    ops += _put_entries(descriptor, placement, new, home, [i for i in changed if i in put], buckets)
    return ops


def _is_spread_alike(descriptor: Descriptor, placement: Placement, old: StoredRow, new: StoredRow) -> bool:
    if not placement.sharding_key:
        return old.key == new.key
    return all(key_value(descriptor, old, c) == key_value(descriptor, new, c) for c in placement.sharding_key)


# --- what a version does, found once for each


def _inserted(descriptor: Descriptor) -> tuple[tuple[ColumnId, bytes, bool], ...]:
    """Columns whose pairs an insert puts: id, end of the key, and whether it is a hidden default."""
    writes = ((column, rule(column.kind, column.state).insert) for column in descriptor.stored_columns)
    return tuple((c.id, COLUMN.pack(c.id), w is Write.PUT_DEFAULT) for c, w in writes if w in PUTS)


def _removed(descriptor: Descriptor) -> tuple[tuple[bytes, bool], ...]:
    """Columns whose pairs go with the row: end of the key, and whether a fill runs."""
    columns = (c for c in descriptor.stored_columns if c.state is not State.ABSENT)
    return tuple((COLUMN.pack(c.id), c.filling) for c in columns)


def _put_on_insert(descriptor: Descriptor) -> tuple[Index, ...]:
    return tuple(i for i in descriptor.indexes if rule(i.kind, i.state).insert is Write.PUT)


def _put_on_update(descriptor: Descriptor) -> tuple[Index, ...]:
    return tuple(i for i in descriptor.indexes if rule(i.kind, i.state).update is Write.REPLACE)


def key_guards(descriptor: Descriptor) -> frozenset[IndexId]:
    return frozenset(index.id for index in descriptor.key_guards)


def _sources(descriptor: Descriptor) -> dict[IndexId, frozenset[ColumnId]]:
    return {index.id: source_columns(descriptor, index) for index in descriptor.indexes}


# --- operations


def _put_row(descriptor: Descriptor, placement: Placement, row: StoredRow, home: int) -> Iterator[Op]:
    start = prefix(descriptor, placement.id) + row.key
    yield Op(Act.CREATE, home, start + COLUMN.pack(EXISTS), EMPTY, placement.storages)
    for column_id, suffix, is_default in descriptor.fact(_inserted):
        value = row.columns[column_id] if is_default else row.columns.get(column_id, encoding.NULL)
        yield Op(Act.PUT, home, start + suffix, value, placement.storages)


def _move_row(descriptor: Descriptor, placement: Placement, row: StoredRow, home: int) -> Iterator[Op]:
    """Every pair of the row, and those a running fill will put: its new place may lie in a finished range."""
    start = prefix(descriptor, placement.id)
    act = Act.CREATE if placement.state is State.PUBLIC else Act.PUT
    yield Op(act, home, column_key(start, row.key), EMPTY, placement.storages)
    for column in descriptor.stored_columns:
        value = row.columns.get(column.id) or value_to_fill(descriptor, column, row)
        if column.state is not State.ABSENT and value is not None:
            yield Op(Act.PUT, home, column_key(start, row.key, column.id), value, placement.storages)


def _put_values(
    descriptor: Descriptor, placement: Placement, row: StoredRow, home: int, values: Mapping[ColumnId, bytes]
) -> Iterator[Op]:
    start = prefix(descriptor, placement.id)
    for column_id, value in values.items():
        column = descriptor.column(column_id)
        puts = rule(column.kind, column.state).update in (Write.PUT, Write.REPLACE)
        assert puts, f"{column.name} is {column.state.value}"
        yield Op(Act.PUT, home, column_key(start, row.key, column_id), value, placement.storages)


def _remove_values(
    descriptor: Descriptor, placement: Placement, row: StoredRow, home: int, columns: Iterable[ColumnId]
) -> Iterator[Op]:
    start = prefix(descriptor, placement.id)
    for column_id in columns:
        act = _removal(placement, descriptor.column(column_id))
        yield Op(act, home, column_key(start, row.key, column_id), EMPTY, placement.storages)


def _remove_row(descriptor: Descriptor, placement: Placement, row: StoredRow, home: int) -> Iterator[Op]:
    start = prefix(descriptor, placement.id) + row.key
    yield Op(_removal(placement), home, start + COLUMN.pack(EXISTS), EMPTY, placement.storages)
    for suffix, is_filling in descriptor.fact(_removed):
        act = Act.TOMBSTONE if is_filling else _removal(placement)
        yield Op(act, home, start + suffix, EMPTY, placement.storages)


def _removal(*elements: Placement | Column | Index) -> Act:
    """Under filling a tombstone, so that a fill which read the row earlier puts nothing (R5)."""
    for element in elements:
        if element.filling:
            return Act.TOMBSTONE
    return Act.REMOVE


def _put_entries(
    descriptor: Descriptor,
    placement: Placement,
    row: StoredRow,
    home: int,
    indexes: Iterable[Index],
    buckets: int,
    *,
    is_new: bool = False,
) -> Iterator[Op]:
    """The row's entries. One over its primary key names no other owner, so a new row must create it."""
    for index in indexes:
        entry = index_entry(descriptor, placement, index, row)
        if entry is not None:
            act = Act.PUT_UNIQUE if entry[1] else Act.PUT
            if is_new and index.id in descriptor.fact(key_guards):
                act = Act.CREATE
            yield Op(act, _entry_home(entry, home, buckets), *entry, placement.storages)


def _remove_entries(
    descriptor: Descriptor, placement: Placement, row: StoredRow, home: int, indexes: Iterable[Index], buckets: int
) -> Iterator[Op]:
    for index in indexes:
        entry = None if index.state is State.ABSENT else entry_now(descriptor, placement, index, row)
        if entry is None:
            continue
        filling = _removal(placement, index) is Act.TOMBSTONE
        if entry[1]:
            act = Act.TOMBSTONE_UNIQUE if filling else Act.REMOVE_UNIQUE
        else:
            act = Act.TOMBSTONE if filling else Act.REMOVE
        yield Op(act, _entry_home(entry, home, buckets), *entry, placement.storages)


def _entry_home(entry: tuple[bytes, bytes], home: int, buckets: int) -> int:
    key, owner = entry
    return unique_bucket(key[PREFIX.size :], buckets) if owner else home


def entry_bucket(descriptor: Descriptor, placement: Placement, index: Index, row: StoredRow, buckets: int) -> int:
    """An entry lies with its row; a unique entry where its own values say."""
    if not index.unique or has_null(descriptor, index, row):
        return row_bucket(descriptor, placement, row, buckets)
    return unique_bucket(index_values(descriptor, index, row), buckets)


def unique_bucket(values: bytes, buckets: int) -> int:
    """strcrc32's checksum over the encoded indexed values of a unique entry."""
    return crc32c(values) % buckets + 1


def _differs(
    descriptor: Descriptor,
    placement: Placement,
    index: Index,
    old: StoredRow,
    new: StoredRow,
    touched: Iterable[ColumnId],
) -> bool:
    if descriptor.fact(_sources)[index.id].isdisjoint(touched):
        return False
    puts = rule(index.kind, index.state).update is Write.REPLACE
    entry_of = index_entry if puts else entry_now
    return entry_now(descriptor, placement, index, old) != entry_of(descriptor, placement, index, new)


def source_columns(descriptor: Descriptor, index: Index) -> frozenset[ColumnId]:
    return reads(index) | frozenset(descriptor.primary_key)


def columns_of_entry_home(descriptor: Descriptor, index: Index) -> frozenset[ColumnId]:
    """Columns that determine a row's entry and its place: with the row, when a value is NULL."""
    return source_columns(descriptor, index) | frozenset(descriptor.sharding_key)


def readable_columns(descriptor: Descriptor, row: StoredRow) -> dict[ColumnId, bytes]:
    return {c.id: encoded_value(descriptor, row, c.id) for c in descriptor.public_columns if c.id != EXISTS}
