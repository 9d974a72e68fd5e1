"""The pairs of a row: what one statement does to them under one version of its table, and what a fill puts.

The rule table (`catalog.states`) says what each operation does to each element in each
state; here that becomes operations on keys. Removals under filling leave tombstones (R5):

    state          a row is deleted            a row is inserted
    delete-only    its pair is removed         nothing
    write-only     removed, or a tombstone     the pair is put
                   while a fill runs           (over a tombstone too)
    public         its pair is removed         the pair is put

The value of a derived column is put where an entry would be (`storage.derived`), and a partial index has entries
for the rows its condition accepts: an update may take a row in or out. `CannotDerive` is raised before anything is
done, when a row that is to be written gives an expression of the schema no value.

A statement first removes the old entries of all rows it touches and then puts the new
ones (`in_order`), so two rows may exchange values of a unique index.
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
    """The act on one key. The order is the order within a statement: removals first."""

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
    """One act on one key. `value` is what is put, or the row that owns a unique entry.

    `bucket` tells the storage, in a placement of `storages` (0: as many as the cluster began with).
    """

    act: Act
    bucket: int
    key: bytes
    value: bytes = EMPTY
    storages: int = 0


class TableNotWritable(Exception):
    """The table's state forbids the operation."""


def insert_row(descriptor: Descriptor, row: StoredRow, buckets: int = BUCKETS) -> list[Op]:
    """Operations that insert `row`. Raises `CannotDerive`.

    `row.columns` holds the encoded value of every public column and the evaluated default of every
    write-only one; a public column that is not named there is NULL. Derived columns are computed here.
    """
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
    """Operations that delete `row`, which must be as the transaction reads it now."""
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
    """Operations that give `old` the encoded values `assigned` to non-key columns, and a new K(r) when its key changes.

    A change of key moves every pair the row has, also those this version may not name. Raises `CannotDerive`.
    """
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
    """The operations of a running fill for `row` as it has read it, for every element that this version fills (R2).

    A value where the row has none, the row's entries, and in a placement that is filled all that the row has. Each
    is put only where there is neither a pair nor a tombstone: what a writer put or removed wins. Raises `CannotDerive`.
    """
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
    """The operations of a whole statement, all removals before all puts."""
    listed = list(ops)
    return [op for op in listed if op.act in REMOVALS] + [op for op in listed if op.act not in REMOVALS]


def _refuse_unknown(descriptor: Descriptor, operation: str) -> None:
    if descriptor.state is State.ABSENT or rule(Kind.TABLE, descriptor.state).insert is Write.UNKNOWN:
        raise TableNotWritable(f"table {descriptor.name} is {descriptor.state.value}: it takes no {operation}")


def _arrive(descriptor: Descriptor, row: StoredRow, buckets: int) -> list[Op]:
    """A moved row at its new key: every pair it had, but those of derived columns in delete-only, and its entries."""
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
    """The operations of an update in one placement: `writes` are put, the pairs of `stale` columns are removed.

    A placement that is not read is derived as an index is, and the whole row is its entry: delete-only removes the
    copy when the row changes, write-only puts all of it, because a fill may not have come there yet.
    """
    home = left = row_bucket(descriptor, placement, new, buckets)
    if not _is_spread_alike(descriptor, placement, old, new):
        require_bucket(descriptor, placement, new, buckets)
        left = row_bucket(descriptor, placement, old, buckets)
    moved, is_copy = home != left, placement.state is not State.PUBLIC
    puts = rule(Kind.PLACEMENT, placement.state).update is Write.REPLACE
    touched = (*writes, *stale)
    changed = [
        index
        for index in descriptor.indexes
        if is_copy
        or (moved and not _stays(descriptor, index, old))
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
    """True when two states of a row have the same sharding key, and so the same bucket."""
    if not placement.sharding_key:
        return old.key == new.key
    return all(key_value(descriptor, old, c) == key_value(descriptor, new, c) for c in placement.sharding_key)


# --- what a version does, found once for each


def _inserted(descriptor: Descriptor) -> tuple[tuple[ColumnId, bytes, bool], ...]:
    """The columns whose pairs an insert puts: id, end of the key, and whether it is a hidden column's default."""
    writes = ((column, rule(column.kind, column.state).insert) for column in descriptor.stored_columns)
    return tuple((c.id, COLUMN.pack(c.id), w is Write.PUT_DEFAULT) for c, w in writes if w in PUTS)


def _removed(descriptor: Descriptor) -> tuple[tuple[bytes, bool], ...]:
    """The columns whose pairs go with the row: end of the key, and whether a fill is running."""
    columns = (c for c in descriptor.stored_columns if c.state is not State.ABSENT)
    return tuple((COLUMN.pack(c.id), c.filling) for c in columns)


def _put_on_insert(descriptor: Descriptor) -> tuple[Index, ...]:
    return tuple(i for i in descriptor.indexes if rule(i.kind, i.state).insert is Write.PUT)


def _put_on_update(descriptor: Descriptor) -> tuple[Index, ...]:
    return tuple(i for i in descriptor.indexes if rule(i.kind, i.state).update is Write.REPLACE)


def key_guards(descriptor: Descriptor) -> frozenset[IndexId]:
    """The unique indexes over the primary key's columns, and no others."""
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
    """Every pair the row has, and those a running fill will put: its new place may lie in a finished range."""
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
    """Under filling a removal leaves a tombstone, so that a fill which read the row earlier puts nothing (R5)."""
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
    """The entries of a row. One over its primary key names no other owner than the row: a new row must create it."""
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
    """`entry_bucket` for an entry that is known and the bucket of its row."""
    key, owner = entry
    return unique_bucket(key[PREFIX.size :], buckets) if owner else home


def entry_bucket(descriptor: Descriptor, placement: Placement, index: Index, row: StoredRow, buckets: int) -> int:
    """An entry lies with its row; a unique entry lies where its own values say, whichever row holds it."""
    if not index.unique or has_null(descriptor, index, row):
        return row_bucket(descriptor, placement, row, buckets)
    return unique_bucket(index_values(descriptor, index, row), buckets)


def unique_bucket(values: bytes, buckets: int) -> int:
    """The bucket of a unique entry: strcrc32's checksum over its encoded indexed values."""
    return crc32c(values) % buckets + 1


def _stays(descriptor: Descriptor, index: Index, row: StoredRow) -> bool:
    """True for an entry that lies where its own values say, wherever its row lies.

    While it is filled a row that moves puts it: no range of the fill may see the row, neither where it was nor where
    it is.
    """
    return index.unique and not index.filling and not has_null(descriptor, index, row)


def _differs(
    descriptor: Descriptor,
    placement: Placement,
    index: Index,
    old: StoredRow,
    new: StoredRow,
    touched: Iterable[ColumnId],
) -> bool:
    """True when a statement that touches these columns changes the row's entry."""
    if descriptor.fact(_sources)[index.id].isdisjoint(touched):
        return False
    puts = rule(index.kind, index.state).update is Write.REPLACE
    entry_of = index_entry if puts else entry_now
    return entry_now(descriptor, placement, index, old) != entry_of(descriptor, placement, index, new)


def source_columns(descriptor: Descriptor, index: Index) -> frozenset[ColumnId]:
    """The columns whose change changes an entry: those that the index reads and the primary key."""
    return reads(index) | frozenset(descriptor.primary_key)


def columns_of_entry_home(descriptor: Descriptor, index: Index) -> frozenset[ColumnId]:
    """The columns that say what a row's entry is and where it lies: with the row, when one of its values is NULL."""
    return source_columns(descriptor, index) | frozenset(descriptor.sharding_key)


def readable_columns(descriptor: Descriptor, row: StoredRow) -> dict[ColumnId, bytes]:
    """The encoded values of the columns a user may see."""
    return {c.id: encoded_value(descriptor, row, c.id) for c in descriptor.public_columns if c.id != EXISTS}
