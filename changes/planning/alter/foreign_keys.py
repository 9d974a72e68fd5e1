"""ALTER TABLE on foreign keys, in both tables' descriptors: FOREIGN KEY in the child, REFERENCED in the parent. It
needs columns of equal types, and the primary key, or a public unique index without a condition, over exactly the
referenced columns; both must stay."""

from __future__ import annotations

from collections.abc import Iterator

from catalog.descriptor import Descriptor
from catalog.elements import FOREIGN_KEY, PRIMARY, ColumnId, Constraint, Index, IndexId, State
from catalog.text.sentence import Sentence
from catalog.values.types import ARRAYS
from changes.ddl.actions import Name, NewForeignKey
from changes.ddl.columns import constant
from changes.ddl.errors import (
    DATATYPE_MISMATCH,
    DUPLICATE_COLUMN,
    INVALID_FOREIGN_KEY,
    NOT_READY,
    NOT_SUPPORTED,
    UNDEFINED_COLUMN,
    UNDEFINED_OBJECT,
    UNDEFINED_TABLE,
    DdlError,
)
from changes.planning.dependents import what_is_read
from changes.planning.draft import Sketch


def add_foreign_key(sketch: Sketch, action: NewForeignKey) -> None:
    columns = _referring(sketch, action)
    name = sketch.foreign_key_name(action.name, columns)
    parent = _referenced_table(sketch, action.references)
    # raises `DdlError` where a foreign key would touch a sandbox: faults made there must reach no other table
    for table in (sketch.base, parent):
        if table.table_id in sketch.tables.sandboxes:
            raise sandbox_refusal(table.name, action)
    there = _referenced_columns(parent, action)
    if len(columns) != len(there):
        message = "number of referencing and referenced columns for foreign key disagree"
        raise DdlError(INVALID_FOREIGN_KEY, message, position=action.position)
    index = _unique_by(sketch, parent, there, action)
    _check_types(sketch, parent, name, columns, there, action)
    foreign_key = Constraint(
        sketch.next_constraint(),
        name,
        FOREIGN_KEY,
        columns,
        references=parent.table_id,
        reference_columns=there,
        state=State.WRITE_ONLY,
        index=index,
        on_delete=action.on_delete,
        on_update=action.on_update,
    )
    sketch.add_foreign_key(foreign_key, parent)
    sketch.dangers += _dangers(sketch, foreign_key, parent)


# --- what it is between


def _referring(sketch: Sketch, action: NewForeignKey) -> tuple[ColumnId, ...]:
    known = {column.name for column in sketch.planned.columns}
    for at, name in enumerate(action.columns):
        if name.text not in known:
            raise _no_such_column(name)
        if name in action.columns[:at]:
            message = f'column "{name}" appears twice in foreign key constraint'
            raise DdlError(DUPLICATE_COLUMN, message, position=name.position)
    return tuple(sketch.readable(name, "foreign key") for name in action.columns)


def _no_such_column(name: Name) -> DdlError:
    message = f'column "{name}" referenced in foreign key constraint does not exist'
    return DdlError(UNDEFINED_COLUMN, message, position=name.position)


def _referenced_table(sketch: Sketch, name: Name) -> Descriptor:
    parent = sketch.base if name.text == sketch.base.name else sketch.tables.named(name.text)
    if parent is None:
        raise DdlError(UNDEFINED_TABLE, f'relation "{name}" does not exist', position=name.position)
    if parent.state is not State.PUBLIC:
        message = f"table {name} is {parent.state.value}: only a public table can be referred to"
        raise DdlError(NOT_READY, message, position=name.position, hint="Another change of it has not ended.")
    return parent


def sandbox_refusal(table: str, action: NewForeignKey) -> DdlError:
    message = f"table {table} is a sandbox: no foreign key leads from or to it"
    hint = "A sandbox is for the lab, which may break the rules there: use a table of your own."
    return DdlError(NOT_SUPPORTED, message, position=action.position, hint=hint)


def _referenced_columns(parent: Descriptor, action: NewForeignKey) -> tuple[ColumnId, ...]:
    if not action.reference_columns:
        if not parent.declared_key:
            message = f'there is no primary key for referenced table "{parent.name}"'
            raise DdlError(UNDEFINED_OBJECT, message, position=action.position)
        return parent.declared_key
    found: list[ColumnId] = []
    for name in action.reference_columns:
        column = next((c for c in parent.columns if c.name == name.text), None)
        if column is None:
            raise _no_such_column(name)
        if column.state is not State.PUBLIC:
            message = f"column {name} is {column.state.value}: only a public column can be referred to"
            raise DdlError(NOT_READY, message, position=name.position, hint="Another change of it has not ended.")
        if column.id in found:
            message = "foreign key referenced-columns list must not contain duplicates"
            raise DdlError(INVALID_FOREIGN_KEY, message, position=name.position)
        found.append(column.id)
    return tuple(found)


def _unique_by(sketch: Sketch, parent: Descriptor, columns: tuple[ColumnId, ...], action: NewForeignKey) -> IndexId:
    if set(columns) == set(parent.primary_key):
        return PRIMARY
    over = [
        index
        for index in parent.indexes
        if index.unique and len(index.column_ids) == len(columns) and set(index.column_ids) == set(columns)
    ]
    over.sort(key=lambda index: not index.primary)
    for index in over:
        if index.state is State.PUBLIC and index.where is None:
            _check_stays(sketch, parent, index, action)
            return index.id
    message = f'there is no unique constraint matching given keys for referenced table "{parent.name}"'
    names = _names(parent, columns)
    hint = f"CREATE UNIQUE INDEX ON {parent.name} ({names}) first."
    if over:
        why = f"is {over[0].state.value}" if over[0].where is None else "has a condition, so not every row is in it"
        hint = f"Index {over[0].name} {why}."
    position = action.reference_columns[0].position if action.reference_columns else action.position
    raise DdlError(INVALID_FOREIGN_KEY, message, position=position, hint=hint)


def _check_stays(sketch: Sketch, parent: Descriptor, index: Index, action: NewForeignKey) -> None:
    """A table that refers to itself cannot drop in the same statement what it refers by."""
    if parent.table_id == sketch.base.table_id and sketch.drops(index):
        message = f"foreign key refers by index {index.name}, which this statement drops"
        raise DdlError(NOT_SUPPORTED, message, position=action.references.position, hint="Send two statements.")


def _check_types(
    sketch: Sketch,
    parent: Descriptor,
    name: str,
    columns: tuple[ColumnId, ...],
    there: tuple[ColumnId, ...],
    action: NewForeignKey,
) -> None:
    for at, (own, other) in enumerate(zip(columns, there, strict=True)):
        mine, theirs = sketch.planned.column(own), parent.column(other)
        if mine.type is not theirs.type:
            why = (
                f'key columns "{mine.name}" of {sketch.base.name} and "{theirs.name}" of {parent.name} are of '
                f"different types: {mine.type.value} and {theirs.type.value}"
            )
            message = f'foreign key constraint "{name}" cannot be implemented: {why}'
            hint = f"Both are compared by their stored bytes: give {mine.name} the type {theirs.type.value} first."
            if mine.type in ARRAYS:
                hint = "Keep what each element refers to in a table of its own."
            raise DdlError(DATATYPE_MISMATCH, message, position=action.columns[at].position, hint=hint)


# --- in plain words


def _dangers(sketch: Sketch, foreign_key: Constraint, parent: Descriptor) -> list[str]:
    child = sketch.base.name
    own = f"({_names(sketch.planned, foreign_key.columns)})"
    phrase = f"{parent.name} ({_names(parent, foreign_key.reference_columns)})"
    dangers: list[str] = [
        Sentence(
            "Every row of {name} is read once; one whose {columns} is not in {rule} makes the change roll back, and is"
            " named.",
            name=child,
            columns=own,
            rule=phrase,
        )
    ]
    same = {column: value for column in foreign_key.columns if (value := sketch.fresh.get(column)) is not None}
    if len(same) == len(foreign_key.columns):
        values = ", ".join(constant(sketch.planned.column(column).type, value) for column, value in same.items())
        dangers.append(
            Sentence(
                "All rows of {name} refer to ({values}): {rule} must have it, or inserts into {child} that leave it to"
                " the default are refused until the change has rolled back.",
                name=child,
                values=values,
                rule=phrase,
                child=child,
            )
        )
    return dangers


def slow_deletes(sketch: Sketch) -> Iterator[str]:
    """Warnings about added foreign keys whose referring rows no index finds."""
    kept = [index for index in sketch.base.public_indexes if not sketch.drops(index)]
    indexes = [*kept, *(one for one in sketch.new.values() if isinstance(one, Index))]
    for element in sketch.there:
        foreign_key, child = sketch.new[element], sketch.base.name
        assert isinstance(foreign_key, Constraint), element
        if costly := what_is_read(foreign_key, sketch.planned, indexes):
            parent = sketch.parent_of(foreign_key).name
            on = f"{child} ({_names(sketch.planned, foreign_key.columns)})"
            yield Sentence(
                "Without an index on {columns} each delete from {name} reads {read}: CREATE INDEX ON {index}"
                " would help.",
                columns=on,
                name=parent,
                read=costly,
                index=on,
            )


def _names(table: Descriptor, columns: tuple[ColumnId, ...]) -> str:
    return ", ".join(table.column(column).name for column in columns)
