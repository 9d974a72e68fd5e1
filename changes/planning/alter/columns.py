"""ALTER TABLE on columns: ADD, DROP (with the constraints that read it and the indexes that cover it), NOT NULL,
DEFAULT."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial

from catalog.descriptor import Descriptor
from catalog.elements import FOREIGN_KEY, REFERENCED, Column, Kind, State
from catalog.text.sentence import Sentence
from catalog.text.similar import perhaps
from catalog.values.errors import BadValue
from catalog.values.types import fitted
from changes.ddl.actions import AddColumn, DropColumn, Name, NewColumn, SetDefault, SetNotNull
from changes.ddl.alter import OF_THE_KEY, impossible
from changes.ddl.columns import constant, read_default
from changes.ddl.errors import (
    DUPLICATE_COLUMN,
    INVALID_TABLE_DEFINITION,
    NOT_READY,
    UNDEFINED_COLUMN,
    DdlError,
    check_width,
    unsupported,
)
from changes.ddl.source import Source
from changes.plan.element_states import with_changed
from changes.plan.model import Element, Move, MoveKind
from changes.planning.alter.constraints import add_check, add_unique
from changes.planning.alter.defaults import fill_value, judge_default
from changes.planning.alter.foreign_keys import add_foreign_key
from changes.planning.dependents import check_column_is_free
from changes.planning.draft import Sketch
from expressions.errors import NOT_NULL_VIOLATION, OUT_OF_MEMORY, PROGRAM_LIMIT, QUERY_CANCELED
from expressions.typed import PyValue
from storage import encoding
from storage.reads import reads

TOO_LARGE = frozenset({PROGRAM_LIMIT, OUT_OF_MEMORY, QUERY_CANCELED})
"""Codes of a default that takes long to compute: once is enough."""


def add_column(sketch: Sketch, action: AddColumn) -> None:
    new = action.column
    if any(column.name == new.name.text for column in sketch.base.columns):
        message = f'column "{new.name}" of relation "{sketch.base.name}" already exists'
        if action.forgiving:
            sketch.notices.append(f"{message}, skipping")
            return
        raise DdlError(DUPLICATE_COLUMN, message, position=new.name.position)
    check_width(len(sketch.planned.public_columns) + 1, new.name.position)
    judge = partial(judge_default, sketch.tables.judge_default, new.type, new.default, new.name.text, new.default_sql)
    try:
        value = _fill_value(sketch, action)
    except DdlError as error:
        if error.sqlstate not in TOO_LARGE:
            judge()  # it names a wrong type better, but computes the default again
        raise
    judge()
    column = Column(
        id=sketch.planned.next_column_id,
        name=new.name.text,
        type=new.type,
        state=State.DELETE_ONLY,
        not_null=new.not_null,
        default=new.default,
        fill_value=None if new.default is None else encoding.encode_value(new.type, value),
        added_with_default=new.default is not None,
        length=new.length,
    )
    sketch.add_column(column)
    sketch.fresh[column.id] = value
    if column.required:
        shown = "NULL" if value is None else constant(new.type, value)
        sketch.costs.append(
            Sentence(
                "Every row of {name} is written once: its {column} becomes {value}.",
                name=sketch.base.name,
                column=column.name,
                value=shown,
            )
        )
    for check in action.checks:
        add_check(sketch, check)
    for unique in action.uniques:
        add_unique(sketch, unique)
    for foreign_key in action.foreign_keys:
        add_foreign_key(sketch, foreign_key)


def _fill_value(sketch: Sketch, action: AddColumn) -> PyValue:
    new = action.column
    if new.identity:
        hint = "Create another table with an identity column, and copy the rows."
        raise unsupported(
            "an identity or serial column on a table that is there", position=new.name.position, hint=hint
        )
    value = None
    if new.default is not None:
        compute = None if sketch.tables.compute is None else partial(sketch.tables.compute, sketch.base)
        value = fill_value(new.type, new.default, new.name.text, new.default_position, sketch.context, compute)
        value = _fitted(new, value)
    if new.not_null and new.default is None:
        hint = "Give it a DEFAULT; or add it without NOT NULL, fill it with UPDATE, then SET NOT NULL."
        what = "NOT NULL without a default on an added column: the rows that are there have no value. It"
        raise unsupported(what, position=new.name.position, hint=hint)
    if new.not_null and value is None:
        message = f"the default of column {new.name} is NULL, and the column is NOT NULL"
        raise DdlError(NOT_NULL_VIOLATION, message, position=new.default_position or new.name.position)
    return value


def _fitted(new: NewColumn, value: PyValue) -> PyValue:
    try:
        return fitted(new.type, new.length, value)
    except BadValue as error:
        raise DdlError(error.sqlstate, str(error), position=new.default_position) from error


def drop_column(sketch: Sketch, action: DropColumn) -> None:
    column = _column(sketch, action.column, forgiving=action.forgiving)
    if column is None:
        return
    name = action.column
    if column.id in sketch.base.primary_key:
        raise impossible(f"{OF_THE_KEY}, {column.name} among them,", name.position, "Create another table.")
    if column.id in sketch.base.sharding_key:
        raise impossible(f"dropping {column.name}, by which rows are spread,", name.position, "Keep it.")
    check_column_is_free(column, sketch.base, sketch.tables, name.position, sketch.leaving)
    sketch.dropped.add(column.id)
    if sketch.dropped >= {one.id for one in sketch.base.public_columns}:
        raise unsupported("a table without columns", position=name.position)
    kind = Kind.REQUIRED_COLUMN if column.added_with_default else Kind.OPTIONAL_COLUMN
    sketch.drop(Element(kind, column.id, column.name))
    taken = [index for index in sketch.base.indexes if column.id in reads(index)]
    for index in taken:
        sketch.drop_index(index)
    own = (one for one in sketch.base.constraints if one.rule != REFERENCED)
    for constraint in (one for one in own if column.id in reads(one)):
        sketch.drop_constraint(constraint)
        words = (
            "Foreign key {name} refers by {column} and is dropped with it."
            if constraint.rule == FOREIGN_KEY
            else "Constraint {name} reads {column} and is dropped with it."
        )
        sketch.dangers.append(Sentence(words, name=constraint.name, column=column.name))
    if column.not_null:
        sketch.drop(_not_null(sketch, column))
    sketch.dangers.append(
        Sentence(
            "All values of {name} are lost; undoing the change later restores the column, not its values.",
            name=column.name,
        )
    )
    for index in taken:
        unique, plain = (
            "Unique index {name} covers it and is dropped with it.",
            "Index {name} covers it and is dropped with it.",
        )
        sketch.dangers.append(Sentence(unique if index.unique else plain, name=index.name))


def _not_null(sketch: Sketch, column: Column) -> Element:
    name = sketch.base.not_null_name(column)
    return Element(Kind.CONSTRAINT, sketch.next_constraint(), name, column.id)


def _column(sketch: Sketch, name: Name, *, forgiving: bool = False) -> Column | None:
    column = next((c for c in sketch.base.columns if c.name == name.text), None)
    if column is None:
        message = f'column "{name}" of relation "{sketch.base.name}" does not exist'
        if forgiving:
            sketch.notices.append(f"{message}, skipping")
            return None
        hint = perhaps("column", name.text, (c.name for c in sketch.base.public_columns))
        raise DdlError(UNDEFINED_COLUMN, message, position=name.position, hint=hint)
    if column.state is not State.PUBLIC:
        message = f"column {name} is {column.state.value}: only a public column can be changed"
        raise DdlError(NOT_READY, message, position=name.position, hint="Another change of it has not ended.")
    return column


def column_there(sketch: Sketch, name: Name) -> Column:
    """The public column of that name; raises `DdlError`."""
    column = _column(sketch, name)
    assert column is not None, "a column that is not there is refused"
    return column


# --- NOT NULL and defaults


def set_not_null(sketch: Sketch, action: SetNotNull) -> None:
    column, name = column_there(sketch, action.column), action.column
    if column.not_null == action.not_null:
        phrase = "is NOT NULL already" if column.not_null else "is not NOT NULL"
        sketch.notices.append(f"column {name} of {sketch.base.name} {phrase}, skipping")
        return
    if action.not_null:
        sketch.moves.append(Move(_not_null(sketch, column), MoveKind.ADD))
        sketch.dangers.append(
            Sentence(
                "Every row of {name} is read once; one without {rule} makes the change roll back.",
                name=sketch.base.name,
                rule=column.name,
            )
        )
        return
    declared = sketch.base.declared_index
    if column.id in sketch.base.declared_key and not (declared is not None and sketch.drops(declared)):
        message = f'column "{name}" is in a primary key'
        raise DdlError(INVALID_TABLE_DEFINITION, message, position=name.position)
    if column.identity:
        message = f'column "{name}" of relation "{sketch.base.name}" is an identity column'
        raise DdlError("42601", message, position=name.position)
    sketch.drop(_not_null(sketch, column))


def require_values(sketch: Sketch, columns: Iterable[Name]) -> None:
    """NOT NULL for the columns of an added primary key."""
    for name in columns:
        column = next(one for one in sketch.planned.columns if one.name == name.text)
        moves = [move.kind for move in sketch.moves if move.element.column == column.id]
        if MoveKind.DROP in moves:
            message = f'column "{name}" is in a primary key'
            raise DdlError(INVALID_TABLE_DEFINITION, message, position=name.position)
        if column.not_null or moves:
            continue
        if column.id in sketch.fresh:
            raise unsupported("a primary key over an added column that is not NOT NULL", position=name.position)
        set_not_null(sketch, SetNotNull(name))


def set_default(sketch: Sketch, action: SetDefault) -> None:
    column, name, sql = column_there(sketch, action.column), action.column, action.default
    if column.identity:
        message = f'column "{name}" of relation "{sketch.base.name}" is an identity column'
        raise DdlError("42601", message, position=name.position)
    text = None if sql is None else read_default(column.type, sql.node, Source(sql.source), column.name, column.length)
    judge_default(sketch.tables.judge_default, column.type, text, column.name, sql)
    if text == column.default:
        sketch.notices.append(f"column {name} of {sketch.base.name} has that default already, skipping")
        return

    def edit(table: Descriptor) -> Descriptor:
        return with_changed(table, replace(table.column(column.id), default=text))

    sketch.edits.append(edit)
    sketch.moves.append(Move(Element(column.kind, column.id, column.name), MoveKind.ALTER))
    sketch.dangers.append(
        Sentence("Rows that are there keep their {column}; only later inserts see the default.", column=column.name)
    )
