"""COMMENT ON: one version, in which nothing moves. The comment of a UNIQUE or PRIMARY KEY stands beside its index's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from catalog.descriptor import Descriptor
from catalog.elements import REFERENCED, Kind, State
from changes.ddl.actions import SetComment
from changes.ddl.errors import UNDEFINED_COLUMN, UNDEFINED_OBJECT, DdlError
from changes.ddl.resolve import NothingToDo
from changes.plan.element_states import element_of, with_changed
from changes.plan.model import Element, Move, MoveKind
from changes.planning.draft import public_index
from changes.planning.stages import Draft

Edit = Callable[[Descriptor], Descriptor]


def set_comment(action: SetComment, table: Descriptor) -> Draft:
    """Raises `DdlError` or `NothingToDo`."""
    element, edit = READERS[action.of](action, table)
    if edit(table) == table:
        raise NothingToDo(f"the comment of {element} is so already, skipping")
    return Draft(table.table_id, table.name, table, (Move(element, MoveKind.COMMENT),), edit=edit)


def _of_table(action: SetComment, table: Descriptor) -> tuple[Element, Edit]:
    element = Element(Kind.TABLE, table.table_id, table.name)
    return element, lambda before: replace(before, comment=action.text)


def _of_column(action: SetComment, table: Descriptor) -> tuple[Element, Edit]:
    name = action.name
    column = next((one for one in table.public_columns if one.name == name.text), None)
    if column is None:
        message = f'column "{name}" of relation "{table.name}" does not exist'
        raise DdlError(UNDEFINED_COLUMN, message, position=name.position)

    def edit(before: Descriptor) -> Descriptor:
        return with_changed(before, replace(before.column(column.id), comment=action.text))

    return Element(column.kind, column.id, column.name), edit


def _of_index(action: SetComment, table: Descriptor) -> tuple[Element, Edit]:
    index = public_index(action.name, table, what="commented on")

    def edit(before: Descriptor) -> Descriptor:
        return with_changed(before, replace(before.index(index.id), comment=action.text))

    return Element(index.kind, index.id, index.name), edit


def _of_constraint(action: SetComment, table: Descriptor) -> tuple[Element, Edit]:
    name = action.name
    index = next((one for one in table.public_indexes if one.unique and one.name == name.text), None)
    if index is not None:
        kept = index

        def edit_kept(before: Descriptor) -> Descriptor:
            return with_changed(before, replace(before.index(kept.id), constraint_comment=action.text))

        return Element(index.kind, index.id, index.name), edit_kept
    if name.text == table.key_name and not table.has_hidden_key:
        element = Element(Kind.TABLE, table.table_id, table.name)
        return element, lambda before: replace(before, key_comment=action.text)
    own = (one for one in table.constraints if one.rule != REFERENCED and one.name == name.text)
    constraint = next((one for one in own if one.state is State.PUBLIC), None)
    if constraint is None:
        message = f'constraint "{name}" for table "{table.name}" does not exist'
        raise DdlError(UNDEFINED_OBJECT, message, position=name.position)
    number = constraint.id

    def edit(before: Descriptor) -> Descriptor:
        return with_changed(before, replace(before.constraint(number), comment=action.text))

    return replace(element_of(constraint), partner=None), edit


READERS = {"table": _of_table, "column": _of_column, "index": _of_index, "constraint": _of_constraint}
