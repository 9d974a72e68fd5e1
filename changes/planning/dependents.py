"""Refuses to drop what a foreign key needs, unless the same statement drops the key (`leaving`): the referenced table,
its columns, the index that makes them unique. An index that finds referring rows may be dropped, with a warning."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from catalog.descriptor import Descriptor
from catalog.elements import PRIMARY, Column, Constraint, ConstraintId, Index
from catalog.text.sentence import Sentence
from changes.ddl.actions import Position
from changes.ddl.errors import DEPENDENT_OBJECTS, DdlError
from changes.planning.sharding import check_not_guard
from changes.planning.tables import Tables
from storage.integrity.referring import way_to


def check_table_is_free(table: Descriptor, tables: Tables, position: Position) -> None:
    others = (one for one in table.referenced_by if one.references != table.table_id)
    _refuse(f"table {table.name}", others, table, tables, position)


def check_column_is_free(
    column: Column, table: Descriptor, tables: Tables, position: Position, leaving: Collection[ConstraintId] = ()
) -> None:
    referring = (one for one in _staying(table, leaving) if column.id in one.columns)
    _refuse(f"column {column.name} of table {table.name}", referring, table, tables, position)


def check_index_is_free(
    index: Index,
    table: Descriptor,
    tables: Tables,
    position: Position,
    what: str,
    leaving: Collection[ConstraintId] = (),
) -> None:
    """Refuses to drop an index that a foreign key needs, or that guards the key. `what` it is called."""
    check_not_guard(index, table, position, what)
    referring = (one for one in _staying(table, leaving) if one.index == index.id and index.id != PRIMARY)
    _refuse(what, referring, table, tables, position)


def undone_without(index: Index, table: Descriptor, tables: Tables) -> Iterator[str]:
    """Sentences about foreign keys that need an index, for the undo of USING INDEX."""
    for one in table.referenced_by:
        if one.index == index.id and index.id != PRIMARY:
            yield Sentence(
                "It can be undone only once foreign key {key} of {name}, which refers by {index}, is dropped.",
                key=one.name,
                name=_child_of(one, table, tables),
                index=index.name,
            )


def referring_words(referenced: Constraint, table: Descriptor, tables: Tables) -> str:
    return f"foreign key {referenced.name} of {_child_of(referenced, table, tables)}"


def what_is_read(foreign_key: Constraint, table: Descriptor, indexes: Iterable[Index]) -> str:
    """The rows that are read to find referring ones without these indexes; "" for no others."""
    _, leading = way_to(table, foreign_key.columns, indexes)
    if len(leading) == len(foreign_key.columns):
        return ""
    if not leading:
        return Sentence("all of {name}", name=table.name)
    return Sentence(
        "all rows of {name} with the same {columns}",
        name=table.name,
        columns=", ".join(table.column(column).name for column in leading),
    )


def slow_without(
    index: Index, table: Descriptor, tables: Tables, leaving: Collection[ConstraintId] = ()
) -> Iterator[str]:
    """Warnings about foreign keys whose referring rows no other index finds as well."""
    others = [one for one in table.public_indexes if one.id != index.id]
    for one in (foreign_key for foreign_key in table.foreign_keys if foreign_key.id not in leaving):
        then = what_is_read(one, table, others)
        if then not in ("", what_is_read(one, table, table.public_indexes)):
            parent = table if one.references == table.table_id else tables.numbered(one.references or 0)
            of = parent.name if parent else "the table it refers to"
            yield Sentence(
                "Each delete from {name} reads {read} then: no other index begins with the columns of foreign"
                " key {key}.",
                name=of,
                read=then,
                key=one.name,
            )


def _staying(table: Descriptor, leaving: Collection[ConstraintId]) -> Iterator[Constraint]:
    return (one for one in table.referenced_by if one.references != table.table_id or one.partner not in leaving)


def _refuse(what: str, referring: Iterable[Constraint], table: Descriptor, tables: Tables, position: Position) -> None:
    found = list(referring)
    if not found:
        return
    depends = ", ".join(referring_words(one, table, tables) for one in found)
    message = f"cannot drop {what} because other objects depend on it: {depends}"
    first = "; ".join(f"ALTER TABLE {_child_of(one, table, tables)} DROP CONSTRAINT {one.name}" for one in found)
    raise DdlError(DEPENDENT_OBJECTS, message, position=position, hint=f"Drop what refers to it first: {first}.")


def _child_of(referenced: Constraint, table: Descriptor, tables: Tables) -> str:
    assert referenced.references is not None, referenced
    if referenced.references == table.table_id:
        return table.name
    child = tables.numbered(referenced.references)
    return f"table {referenced.references}" if child is None else child.name
