"""Derived columns: the twin of a column whose type changes. Before the swap the twin is write-only and derived from the
old column, after it the reverse. Only a statement that writes its source puts a derived pair (moving the row writes
all); in delete-only it removes the pair, as an index entry."""

from collections.abc import Mapping

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, State
from catalog.states import Write, rule
from catalog.values.errors import BadValue
from catalog.values.types import fitted
from expressions.errors import NOT_NULL_VIOLATION, SqlError
from expressions.typed import PyValue
from storage import encoding
from storage.pairs import CannotDerive, StoredRow, computed, encoded_value, row_words
from storage.reads import reads

NO_COLUMNS: frozenset[ColumnId] = frozenset()


def derived_columns(descriptor: Descriptor) -> tuple[Column, ...]:
    return tuple(c for c in descriptor.columns if c.derived is not None and c.state is not State.ABSENT)


def derived_value(descriptor: Descriptor, column: Column, row: StoredRow) -> bytes:
    """The encoded derived value of a row. Raises `CannotDerive`."""
    assert column.derived is not None, column
    value = computed(descriptor, row, column.derived.expression, f"column {column.name}", column.type)
    try:
        return encoded_derived(column, value)
    except SqlError as error:
        raise CannotDerive(f"column {column.name}", row_words(descriptor, row.key), error) from error


def encoded_derived(column: Column, value: PyValue) -> bytes:
    """A derived value as stored; raises 23502 for NULL, 22001 for a long one."""
    if value is None and column.not_null:
        raise SqlError(NOT_NULL_VIOLATION, "it would be NULL, and the column is NOT NULL")
    return encoding.encode_value(column.type, fitting(column, value))


def fitting(column: Column, value: PyValue) -> PyValue:
    """The value as the column takes it; raises 22001 or 22003."""
    try:
        return fitted(column.type, column.length, value)
    except BadValue as error:
        raise SqlError(error.sqlstate, str(error)) from error


def matches(descriptor: Descriptor, column: Column, row: StoredRow) -> bool:
    """True when a row's derived pair and its source agree, in either direction (C5)."""
    assert column.derived is not None, column
    try:
        if derived_value(descriptor, column, row) == row.columns.get(column.id):
            return True
    except CannotDerive:
        pass
    if column.derived.inverse is None:
        return False
    source, inverse = descriptor.column(column.derived.source), column.derived.inverse
    try:
        back = encoded_derived(source, computed(descriptor, row, inverse, f"column {source.name}", source.type))
    except (CannotDerive, SqlError):
        return False
    return back == encoded_value(descriptor, row, source.id)


def with_derived(descriptor: Descriptor, row: StoredRow) -> StoredRow:
    """A new row with its derived values. Raises `CannotDerive`."""
    derived = descriptor.fact(derived_columns)
    if not derived:
        return row
    columns = dict(row.columns)
    for column in derived:
        columns.pop(column.id, None)
        if rule(column.kind, column.state).insert is Write.PUT:
            columns[column.id] = derived_value(descriptor, column, row)
    return row._replace(columns=columns)


def after_update(
    descriptor: Descriptor, old: StoredRow, assigned: Mapping[ColumnId, bytes], key: bytes
) -> tuple[StoredRow, frozenset[ColumnId], frozenset[ColumnId]]:
    """The row after an update, the derived columns whose pairs it puts, and those whose pairs it removes."""
    new, derived = old._replace(key=key, columns={**old.columns, **assigned}), descriptor.fact(derived_columns)
    if not derived:
        return new, NO_COLUMNS, NO_COLUMNS
    written = set(assigned) | (set(descriptor.primary_key) if key != old.key else set())
    puts, removes = set(), set()
    columns = dict(new.columns)
    for column in derived:
        if reads(column).isdisjoint(written):
            continue
        if rule(column.kind, column.state).update is Write.REPLACE:
            columns[column.id] = derived_value(descriptor, column, new)
            puts.add(column.id)
        else:
            columns.pop(column.id, None)
            removes.add(column.id)
    return new._replace(columns=columns), frozenset(puts), frozenset(removes)


def value_to_fill(descriptor: Descriptor, column: Column, row: StoredRow) -> bytes | None:
    """The value that a running fill would put for `column`; None for nothing, or when it will fail."""
    if not column.filling:
        return None
    if column.derived is None:
        return column.fill_value
    try:
        return derived_value(descriptor, column, row)
    except CannotDerive:
        return None
