"""ALTER TABLE on constraints: CHECK, UNIQUE, and DROP of any kind. Existing rows are verified while writes continue;
from write-only on no writer can add violations."""

from __future__ import annotations

from dataclasses import replace

from catalog.descriptor import Descriptor
from catalog.elements import FOREIGN_KEY, REFERENCED, Constraint, Index
from catalog.text.sentence import Sentence
from changes.ddl.actions import DropConstraint, IndexPart, Name, NewCheck, NewUnique, Position, UseIndex
from changes.ddl.alter import OF_THE_KEY, impossible
from changes.ddl.errors import (
    INVALID_TABLE_DEFINITION,
    NOT_READY,
    NOT_SUPPORTED,
    UNDEFINED_OBJECT,
    WRONG_OBJECT_TYPE,
    DdlError,
)
from changes.ddl.placing import placed
from changes.plan.element_states import with_changed
from changes.plan.model import Element, Move, MoveKind
from changes.planning.dependents import check_index_is_free, slow_without, undone_without
from changes.planning.draft import Sketch, check_constraint_name, public_index
from expressions.errors import CHECK_VIOLATION
from expressions.rows import is_local, value_of


def add_check(sketch: Sketch, check: NewCheck) -> None:
    constraint = sketch.add_check(check)
    _check_fill_values(sketch, constraint, check)
    sketch.dangers.append(
        Sentence(
            "Every row of {name} is read once; one that breaks {rule} makes the change roll back.",
            name=sketch.base.name,
            rule=constraint.name,
        )
    )


def _check_fill_values(sketch: Sketch, constraint: Constraint, check: NewCheck) -> None:
    """A CHECK over added columns alone has one answer for all existing rows."""
    assert constraint.expression is not None, "a check has an expression"
    if not sketch.fresh.keys() >= set(constraint.columns) or not constraint.columns:
        return
    if not is_local(sketch.planned, constraint.expression):
        return  # PostgreSQL computes it, when the rows are verified
    with placed(check.expression.source, otherwise=check.position):
        holds = value_of(sketch.planned, constraint.expression, sketch.fresh)
    if holds is False:
        names = ", ".join(sketch.planned.column(column).name for column in constraint.columns)
        message = f"the fill value of {names} violates check constraint {constraint.name}"
        raise DdlError(CHECK_VIOLATION, message, position=check.position, hint="Choose another default.")


def add_unique(sketch: Sketch, unique: NewUnique) -> None:
    check_constraint_name(unique.name, sketch.base, sketch.new_constraint_names)
    parts = tuple(IndexPart(column) for column in unique.columns)
    if unique.primary:
        refuse_second_key(sketch, unique.position)
    _, index = sketch.add_index(
        unique.name, parts, unique=True, primary=unique.primary, is_constraint=not unique.primary
    )
    same = [c for c in index.column_ids if sketch.fresh.get(c) is not None]
    names = ", ".join(column.text for column in unique.columns)
    sketch.dangers.append(
        Sentence("If two rows have the same {columns} the check fails, and the change rolls back.", columns=names)
    )
    if len(same) == len(index.column_ids):
        sketch.dangers.append(Sentence("All rows get the same {columns}: two rows are one too many.", columns=names))


def refuse_second_key(sketch: Sketch, position: Position) -> None:
    added = (one for one in (*sketch.new.values(), *sketch.used.values()) if isinstance(one, Index) and one.primary)
    index = sketch.base.declared_index
    is_kept = index is not None and not sketch.drops(index)
    if is_kept or any(added) or not sketch.base.has_hidden_key:
        message = f'multiple primary keys for table "{sketch.base.name}" are not allowed'
        raise DdlError(INVALID_TABLE_DEFINITION, message, position=position)


def use_index(sketch: Sketch, action: UseIndex) -> tuple[Name, ...]:
    """ADD PRIMARY KEY or UNIQUE USING INDEX. Returns the columns of the index."""
    index = public_index(action.index, sketch.base, what="used")
    plain = index.unique and index.where is None and not any(part.descending for part in index.columns)
    if not plain:
        message = f'"{index.name}" is not a unique index over all rows, in ascending order'
        detail = "Cannot create a primary key or unique constraint using such an index."
        raise DdlError(WRONG_OBJECT_TYPE, f"{message}: {detail}", position=action.position)
    if sketch.drops(index):
        raise DdlError(NOT_SUPPORTED, f"index {index.name} is dropped by this statement", position=action.position)
    if action.primary:
        refuse_second_key(sketch, action.position)
    if index.id in sketch.used or index.is_constraint or (index.primary and not action.primary):
        message = f'index "{index.name}" is already associated with a constraint'
        raise DdlError(NOT_READY, message, position=action.index.position)
    new = replace(index, name=action.name.text or index.name, primary=action.primary, is_constraint=not action.primary)
    if new.name != index.name:
        check_constraint_name(action.name, sketch.base, sketch.new_constraint_names)

    def edit(table: Descriptor) -> Descriptor:
        return with_changed(table, new)

    sketch.dangers += undone_without(new, sketch.base, sketch.tables)
    sketch.used[index.id] = new
    sketch.last_edits.append(edit)
    sketch.moves.append(Move(Element(index.kind, index.id, index.name), MoveKind.ALTER))
    return tuple(Name(sketch.base.column(column).name) for column in index.column_ids)


def drop_constraint(sketch: Sketch, action: DropConstraint) -> None:
    name = action.name
    own = (one for one in sketch.base.constraints if one.rule != REFERENCED)
    constraint = next((one for one in own if one.name == name.text), None)
    index = next((one for one in sketch.base.indexes if one.unique and one.name == name.text), None)
    if constraint is not None and constraint.rule == FOREIGN_KEY:
        _drop_foreign_key(sketch, constraint)
    elif constraint is not None:
        sketch.drop_constraint(constraint)
        sketch.dangers.append(
            Sentence("From the first version past the check on, rows that break {rule} are accepted.", rule=name)
        )
    elif index is not None:
        what = f"constraint {name} on table {sketch.base.name}"
        check_index_is_free(index, sketch.base, sketch.tables, name.position, what, sketch.leaving)
        sketch.drop_index(index)
        sketch.dangers.append(
            Sentence("Equal values are accepted once {name} is delete-only; its entries are deleted.", name=name)
        )
        sketch.dangers += slow_without(index, sketch.base, sketch.tables, sketch.leaving)
    else:
        _no_such_constraint(sketch, action)


def _drop_foreign_key(sketch: Sketch, foreign_key: Constraint) -> None:
    sketch.drop_constraint(foreign_key)
    child, parent = sketch.base.name, sketch.parent_of(foreign_key).name
    sketch.dangers.append(
        Sentence(
            "Once {rule} is absent, a row of {name} may refer to nothing, and a row of {other} may go that others refer"
            " to.",
            rule=foreign_key.name,
            name=child,
            other=parent,
        )
    )


def _no_such_constraint(sketch: Sketch, action: DropConstraint) -> None:
    name, hint = action.name, None
    message = f'constraint "{name}" of relation "{sketch.base.name}" does not exist'
    if name.text == sketch.base.key_name and not sketch.base.has_hidden_key:
        raise impossible(OF_THE_KEY, name.position, "Create another table.")
    for column in sketch.base.columns:
        if column.not_null and name.text == sketch.base.not_null_name(column):
            hint = f"Write ALTER COLUMN {column.name} DROP NOT NULL."
    if action.forgiving and hint is None:
        sketch.notices.append(f"{message}, skipping")
        return
    raise DdlError(UNDEFINED_OBJECT, message, position=name.position, hint=hint)
