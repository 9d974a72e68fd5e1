"""Rows between their stored bytes and their values."""

from collections.abc import Iterable, Mapping

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId
from catalog.values.types import ARRAYS
from expressions.errors import PROGRAM_LIMIT, SqlError
from expressions.limits import TOO_LONG, VALUE_BYTES_MAX, refuse_array
from expressions.typed import PyValue
from storage import encoding
from storage.pairs import StoredRow, key_parts, missing_value

LARGE_ARRAYS_BYTES = 2**15
"""Stored bytes of arrays that take some milliseconds to take apart, element by element."""


def arrays_of(columns: Iterable[Column]) -> tuple[Column, ...]:
    return tuple(column for column in columns if column.type in ARRAYS)


def are_large(row: StoredRow, arrays: Iterable[Column]) -> bool:
    """True if these columns of a row are to be taken apart beside the event loop."""
    return sum(len(row.columns.get(column.id, b"")) for column in arrays) > LARGE_ARRAYS_BYTES


def is_long(row: StoredRow) -> bool:
    """True if a row's pairs are to be made, or taken away, beside the event loop: conditions of indexes read it."""
    return sum(map(len, row.columns.values())) > LARGE_ARRAYS_BYTES


def decoded(descriptor: Descriptor, row: StoredRow, columns: Iterable[Column]) -> dict[ColumnId, PyValue]:
    parts = key_parts(descriptor, row.key)
    values: dict[ColumnId, PyValue] = {}
    for column in columns:
        data = parts.get(column.id) or row.columns.get(column.id) or missing_value(column)
        values[column.id] = encoding.value_in(column.type, data)
    return values


def encoded(descriptor: Descriptor, values: Mapping[ColumnId, PyValue]) -> dict[ColumnId, bytes]:
    return {c: encoding.encode_value(descriptor.column(c).type, value) for c, value in values.items()}


def stored(descriptor: Descriptor, values: Mapping[ColumnId, PyValue]) -> StoredRow:
    """A new row's bytes: the key from the primary key's values, the others as they are given."""
    key = b"".join(encoding.encode(c.type, values[c.id]) for c in descriptor.key_columns)
    columns = {c.id: encoding.encode_value(c.type, values[c.id]) for c in descriptor.stored_columns if c.id in values}
    return StoredRow(key, columns)


def refuse_long(descriptor: Descriptor, values: Mapping[ColumnId, PyValue]) -> None:
    for column_id, value in values.items():
        if isinstance(value, tuple):
            refuse_array(value)
        if isinstance(value, str) and len(value) * 4 > VALUE_BYTES_MAX and len(value.encode()) > VALUE_BYTES_MAX:
            column = descriptor.column(column_id).name
            raise SqlError(PROGRAM_LIMIT, TOO_LONG, table=descriptor.name, column=column)
