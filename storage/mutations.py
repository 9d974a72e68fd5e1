"""What one statement does to the pairs of a row, under one version of its table.

The rule table (`catalog.states`) says what each operation does to each element in each
state; here that becomes operations on keys. Removals under filling leave tombstones (R5):

    state          a row is deleted            a row is inserted
    delete-only    its pair is removed         nothing
    write-only     removed, or a tombstone     the pair is put
                   while a fill runs           (over a tombstone too)
    public         its pair is removed         the pair is put

A statement first removes the old entries of all rows it touches and then puts the new
ones (`in_order`), so two rows may exchange values of a unique index.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from catalog.descriptor import Descriptor
from catalog.elements import EXISTS, Column, ColumnId, Index, Kind, Placement, State
from catalog.states import Write, rule
from storage import encoding
from storage.buckets import BUCKETS, crc32c
from storage.pairs import (
    EMPTY,
    StoredRow,
    column_key,
    encoded_value,
    has_null,
    index_entry,
    index_values,
    prefix,
    row_bucket,
)


class Act(Enum):
    """What is done to one key. The order is the order within a statement: removals first."""

    REMOVE = "remove the pair if there is one"
    TOMBSTONE = "put a tombstone, whether or not a pair is there"
    REMOVE_UNIQUE = "remove the entry if it is this row's own"
    TOMBSTONE_UNIQUE = "put a tombstone unless another row's live entry is there"
    CREATE = "put the pair; refused when a live one is there"
    PUT = "put the pair, replacing what is there"
    PUT_UNIQUE = "put the entry; refused when another row's live entry is there"


REMOVALS = frozenset({Act.REMOVE, Act.TOMBSTONE, Act.REMOVE_UNIQUE, Act.TOMBSTONE_UNIQUE})


@dataclass(frozen=True, slots=True)
class Op:
    """One act on one key. `bucket` tells the storage; `value` is what is put, or the row that owns a unique entry."""

    act: Act
    bucket: int
    key: bytes
    value: bytes = EMPTY


class TableNotWritable(Exception):
    """The table's state forbids the operation."""


def insert_row(descriptor: Descriptor, row: StoredRow, buckets: int = BUCKETS) -> list[Op]:
    """Operations that insert `row`.

    `row.columns` holds the encoded value of every public column and the evaluated default of every
    write-only one; a public column that is not named there is NULL.
    """
    _refuse_unknown(descriptor, "insert")
    ops: list[Op] = []
    for placement in descriptor.placements:
        if rule(Kind.PLACEMENT, placement.state).insert is Write.PUT:
            ops += _put_row(descriptor, placement, row, buckets)
            ops += _put_entries(descriptor, placement, row, buckets, Write.PUT)
    return ops


def delete_row(descriptor: Descriptor, row: StoredRow, buckets: int = BUCKETS) -> list[Op]:
    """Operations that delete `row`, which must be as the transaction reads it now."""
    ops: list[Op] = []
    for placement in descriptor.placements:
        if placement.state is not State.ABSENT:
            ops += _remove_row(descriptor, placement, row, buckets)
            ops += _remove_entries(descriptor, placement, row, descriptor.indexes, buckets)
    return ops


def update_row(
    descriptor: Descriptor,
    old: StoredRow,
    assigned: Mapping[ColumnId, bytes],
    new_key: bytes | None = None,
    buckets: int = BUCKETS,
) -> list[Op]:
    """Operations that give `old` the encoded values `assigned` to non-key columns, and a new K(r) when its key changes.

    A change of key moves every pair the row has, also those this version may not name.
    """
    _refuse_unknown(descriptor, "update")
    new = StoredRow(old.key if new_key is None else new_key, {**old.columns, **assigned})
    if new.key != old.key:
        return delete_row(descriptor, old, buckets) + _arrive(descriptor, new, buckets)
    ops: list[Op] = []
    for placement in descriptor.placements:
        if placement.state is not State.ABSENT:
            ops += _update_placement(descriptor, placement, old, new, assigned, buckets)
    return ops


def in_order(ops: Iterable[Op]) -> list[Op]:
    """The operations of a whole statement, all removals before all puts."""
    listed = list(ops)
    return [op for op in listed if op.act in REMOVALS] + [op for op in listed if op.act not in REMOVALS]


def _refuse_unknown(descriptor: Descriptor, operation: str) -> None:
    if descriptor.state is State.ABSENT or rule(Kind.TABLE, descriptor.state).insert is Write.UNKNOWN:
        raise TableNotWritable(f"table {descriptor.name} is {descriptor.state.value}: it takes no {operation}")


def _arrive(descriptor: Descriptor, row: StoredRow, buckets: int) -> list[Op]:
    """A moved row at its new key: every pair it had, and the entries that an update puts."""
    ops: list[Op] = []
    for placement in descriptor.placements:
        if rule(Kind.PLACEMENT, placement.state).update is Write.REPLACE:
            ops += _move_row(descriptor, placement, row, buckets)
            ops += _put_entries(descriptor, placement, row, buckets, Write.REPLACE)
    return ops


def _update_placement(
    descriptor: Descriptor,
    placement: Placement,
    old: StoredRow,
    new: StoredRow,
    assigned: Mapping[ColumnId, bytes],
    buckets: int,
) -> list[Op]:
    """What an update does to the row in one placement.

    A placement that is not read is derived as an index is, and the whole row is its entry: delete-only removes the
    copy when the row changes, write-only puts all of it, because a fill may not have come there yet.
    """
    moved = row_bucket(descriptor, placement, old, buckets) != row_bucket(descriptor, placement, new, buckets)
    is_copy = placement.state is not State.PUBLIC
    puts = rule(Kind.PLACEMENT, placement.state).update is Write.REPLACE
    changed = [i for i in descriptor.indexes if moved or is_copy or _differs(descriptor, placement, i, old, new)]
    ops = list(_remove_entries(descriptor, placement, old, changed, buckets))
    if moved or not puts:
        ops += _remove_row(descriptor, placement, old, buckets)
    if not puts:
        return ops
    if moved or is_copy:
        ops += _move_row(descriptor, placement, new, buckets)
    else:
        ops += _put_assigned(descriptor, placement, new, assigned, buckets)
    ops += _put_entries(descriptor, placement, new, buckets, Write.REPLACE, changed)
    return ops


def _put_row(descriptor: Descriptor, placement: Placement, row: StoredRow, buckets: int) -> Iterator[Op]:
    bucket, start = row_bucket(descriptor, placement, row, buckets), prefix(descriptor, placement.id)
    yield Op(Act.CREATE, bucket, column_key(start, row.key))
    for column in descriptor.stored_columns:
        write = rule(column.kind, column.state).insert
        if write is Write.PUT:
            value = row.columns.get(column.id, encoding.NULL)
            yield Op(Act.PUT, bucket, column_key(start, row.key, column.id), value)
        elif write is Write.PUT_DEFAULT:
            yield Op(Act.PUT, bucket, column_key(start, row.key, column.id), row.columns[column.id])


def _move_row(descriptor: Descriptor, placement: Placement, row: StoredRow, buckets: int) -> Iterator[Op]:
    """Every pair the row has, and those a running fill still owes it: its new place may lie in a finished range."""
    bucket, start = row_bucket(descriptor, placement, row, buckets), prefix(descriptor, placement.id)
    yield Op(Act.CREATE if placement.state is State.PUBLIC else Act.PUT, bucket, column_key(start, row.key))
    for column in descriptor.stored_columns:
        value = row.columns.get(column.id, column.fill_value if column.filling else None)
        if column.state is not State.ABSENT and value is not None:
            yield Op(Act.PUT, bucket, column_key(start, row.key, column.id), value)


def _put_assigned(
    descriptor: Descriptor, placement: Placement, row: StoredRow, assigned: Mapping[ColumnId, bytes], buckets: int
) -> Iterator[Op]:
    bucket, start = row_bucket(descriptor, placement, row, buckets), prefix(descriptor, placement.id)
    for column_id, value in assigned.items():
        column = descriptor.column(column_id)
        assert rule(column.kind, column.state).update is Write.PUT, f"{column.name} is {column.state.value}"
        yield Op(Act.PUT, bucket, column_key(start, row.key, column_id), value)


def _remove_row(descriptor: Descriptor, placement: Placement, row: StoredRow, buckets: int) -> Iterator[Op]:
    bucket, start = row_bucket(descriptor, placement, row, buckets), prefix(descriptor, placement.id)
    yield Op(_removal(placement), bucket, column_key(start, row.key))
    for column in descriptor.stored_columns:
        if column.state is not State.ABSENT:
            yield Op(_removal(placement, column), bucket, column_key(start, row.key, column.id))


def _removal(*elements: Placement | Column | Index) -> Act:
    """Under filling a removal leaves a tombstone, so that a fill which read the row earlier puts nothing (R5)."""
    return Act.TOMBSTONE if any(element.filling for element in elements) else Act.REMOVE


def _put_entries(
    descriptor: Descriptor,
    placement: Placement,
    row: StoredRow,
    buckets: int,
    write: Write,
    indexes: Iterable[Index] | None = None,
) -> Iterator[Op]:
    for index in descriptor.indexes if indexes is None else indexes:
        state_rule = rule(index.kind, index.state)
        if (state_rule.insert if write is Write.PUT else state_rule.update) is write:
            key, value = index_entry(descriptor, placement, index, row)
            act = Act.PUT_UNIQUE if value else Act.PUT
            yield Op(act, entry_bucket(descriptor, placement, index, row, buckets), key, value)


def _remove_entries(
    descriptor: Descriptor, placement: Placement, row: StoredRow, indexes: Iterable[Index], buckets: int
) -> Iterator[Op]:
    for index in indexes:
        if index.state is State.ABSENT:
            continue
        key, value = index_entry(descriptor, placement, index, row)
        filling = _removal(placement, index) is Act.TOMBSTONE
        if value:
            act = Act.TOMBSTONE_UNIQUE if filling else Act.REMOVE_UNIQUE
        else:
            act = Act.TOMBSTONE if filling else Act.REMOVE
        yield Op(act, entry_bucket(descriptor, placement, index, row, buckets), key, value)


def entry_bucket(descriptor: Descriptor, placement: Placement, index: Index, row: StoredRow, buckets: int) -> int:
    """An entry lies with its row; a unique entry lies where its own values say, whichever row holds it."""
    if not index.unique or has_null(descriptor, index, row):
        return row_bucket(descriptor, placement, row, buckets)
    return unique_bucket(index_values(descriptor, index, row), buckets)


def unique_bucket(values: bytes, buckets: int) -> int:
    """The bucket of a unique entry: strcrc32's checksum over its encoded indexed values."""
    return crc32c(values) % buckets + 1


def _differs(descriptor: Descriptor, placement: Placement, index: Index, old: StoredRow, new: StoredRow) -> bool:
    return index_entry(descriptor, placement, index, old) != index_entry(descriptor, placement, index, new)


def source_columns(descriptor: Descriptor, index: Index) -> frozenset[ColumnId]:
    """The columns whose change changes an entry: the indexed ones and the primary key."""
    return frozenset(index.column_ids) | frozenset(descriptor.primary_key)


def readable_columns(descriptor: Descriptor, row: StoredRow) -> dict[ColumnId, bytes]:
    """The encoded values of the columns a user may see."""
    return {c.id: encoded_value(descriptor, row, c.id) for c in descriptor.public_columns if c.id != EXISTS}
