"""RENAME: one version, in which nothing moves, since stored keys have ids; of a foreign key in both tables at once."""

from __future__ import annotations

from dataclasses import replace

from catalog.descriptor import Descriptor
from catalog.elements import NOT_NULL, REFERENCED, Kind, State
from catalog.text.similar import perhaps
from changes.ddl.actions import Name, RenameColumn, RenameConstraint, RenameIndex, RenameTable
from changes.ddl.errors import DUPLICATE_COLUMN, UNDEFINED_COLUMN, UNDEFINED_OBJECT, DdlError, unsupported
from changes.plan.element_states import element_of, with_changed
from changes.plan.model import Element, Move, MoveKind
from changes.planning.draft import check_constraint_name, check_public, public_index
from changes.planning.stages import Draft
from changes.planning.tables import Tables, partners_of


def rename_table(action: RenameTable, table: Descriptor) -> Draft:
    draft = _renamed(table, Element(Kind.TABLE, table.table_id, table.name))
    return replace(draft, edit=lambda before: before.renamed(name=action.new.text))


def rename_column(action: RenameColumn, table: Descriptor) -> Draft:
    column = next((c for c in table.columns if c.name == action.column.text), None)
    if column is None or column.state is not State.PUBLIC:
        meant = perhaps("column", action.column.text, (c.name for c in table.public_columns))
        hint = f"It is {column.state.value}: another change of it has not ended." if column else meant
        message = f'column "{action.column}" does not exist'
        raise DdlError(UNDEFINED_COLUMN, message, position=action.column.position, hint=hint)
    if any(c.name == action.new.text for c in table.columns):
        message = f'column "{action.new}" of relation "{table.name}" already exists'
        raise DdlError(DUPLICATE_COLUMN, message, position=action.new.position)
    new = replace(column, name=action.new.text)
    draft = _renamed(table, Element(column.kind, column.id, column.name))

    def edit(before: Descriptor) -> Descriptor:
        return before.renamed(columns=with_changed(before, new).columns)

    return replace(draft, edit=edit)


def rename_index(action: RenameIndex, table: Descriptor) -> Draft:
    index = public_index(action.index, table, what="renamed")
    new = replace(index, name=action.new.text)
    draft = _renamed(table, Element(index.kind, index.id, index.name))

    def edit(before: Descriptor) -> Descriptor:
        return with_changed(before, new)

    return replace(draft, edit=edit)


def rename_constraint(action: RenameConstraint, table: Descriptor, tables: Tables) -> Draft:
    """The name of a UNIQUE is its index's, as in PostgreSQL."""
    name = action.constraint
    if any(index.unique and index.name == name.text for index in table.indexes):
        check_constraint_name(action.new, table)
        return rename_index(RenameIndex(name, action.table, action.new), table)
    constraint = next((c for c in table.constraints if c.name == name.text and c.rule != REFERENCED), None)
    if constraint is None or constraint.rule == NOT_NULL:
        raise _no_such_constraint(name, table)
    check_public(name.text, "constraint", constraint.state, name.position)
    check_constraint_name(action.new, table)
    element = element_of(constraint)
    other = None if constraint.partner is None else (constraint.references, constraint.partner)

    def edit(before: Descriptor) -> Descriptor:
        mine = constraint.id if before.table_id == table.table_id else None
        return replace(
            before,
            constraints=tuple(
                replace(c, name=action.new.text) if c.id == mine or (before.table_id, c.id) == other else c
                for c in before.constraints
            ),
        )

    partners = partners_of((element,), table, tables)
    return replace(_renamed(table, element), edit=edit, edit_there=edit, partners=partners)


def _no_such_constraint(name: Name, table: Descriptor) -> DdlError:
    implied = {table.not_null_name(column): "a NOT NULL" for column in table.columns if column.not_null}
    implied |= {table.key_name: "a primary key"}
    if name.text in implied:
        hint = "Its name follows from those of the table and its columns."
        return unsupported(f"RENAME CONSTRAINT of {implied[name.text]}", position=name.position, hint=hint)
    message = f'constraint "{name}" for table "{table.name}" does not exist'
    return DdlError(UNDEFINED_OBJECT, message, position=name.position)


def _renamed(table: Descriptor, element: Element) -> Draft:
    return Draft(table.table_id, table.name, table, (Move(element, MoveKind.RENAME),))
