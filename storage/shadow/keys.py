"""The primary key and public indexes of a table as one list, with PostgreSQL's names."""

from collections.abc import Iterator
from dataclasses import dataclass

from catalog.descriptor import Descriptor
from catalog.elements import PRIMARY, ColumnId, IndexColumn

_ENDS, _BEGINS = ("_key", "_uniq", "_unique"), ("uq_", "unq_", "unique_")


@dataclass(frozen=True, slots=True)
class Key:
    """An index as clients see it."""

    id: int
    name: str
    columns: tuple[IndexColumn, ...]
    unique: bool
    where: str | None = None
    primary: bool = False
    is_constraint: bool = False


def keys_of(table: Descriptor) -> Iterator[Key]:
    """The primary key first, without one over hidden row ids."""
    if not table.has_hidden_key:
        columns = tuple(map(IndexColumn, table.primary_key))
        yield Key(PRIMARY, table.key_name, columns, unique=True, primary=True)
    for index in sorted(table.public_indexes, key=lambda index: not index.primary):
        if not any(table.column(column).is_hidden for column in index.column_ids):
            yield Key(
                index.id, index.name, index.columns, index.unique, index.where, index.primary, index.is_constraint
            )


def is_shown_as_constraint(key: Key) -> bool:
    """True for a primary key, a UNIQUE, and an index named like one, as `trips_code_key`."""
    if key.primary or key.is_constraint:
        return True
    is_plain = key.unique and key.where is None and not any(part.descending for part in key.columns)
    return is_plain and (key.name.endswith(_ENDS) or key.name.startswith(_BEGINS))


def required_columns(table: Descriptor) -> frozenset[ColumnId]:
    return frozenset(c.id for c in table.public_columns if c.not_null or c.id in table.declared_key)
