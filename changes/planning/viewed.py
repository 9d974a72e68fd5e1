"""Refuses plans that take away what views read, in PostgreSQL's words. Names may change: views refer to ids."""

from collections.abc import Iterator

from catalog.descriptor import Descriptor
from catalog.elements import Column, State
from catalog.text.sql_names import quoted
from catalog.view_definition import ViewDefinition
from changes.ddl.actions import Position
from changes.ddl.errors import DEPENDENT_OBJECTS, NOT_SUPPORTED, DdlError
from changes.plan.model import Plan
from changes.planning.tables import Tables


def refuse_what_views_read(plan: Plan, tables: Tables, position: Position) -> None:
    """Raises 2BP01 for a column or table that a view reads, and 0A000 for a change of its type."""
    if plan.base is None:
        return
    if plan.result.state is State.ABSENT:
        readers = [view for view in tables.views if any(use.table_id == plan.base.table_id for use in view.tables)]
        what, depends = (
            f"table {plan.base.name}",
            [f"view {view.name} depends on table {plan.base.name}" for view in readers],
        )
        _refuse(what, depends, readers, position)
        return
    for column in plan.base.public_columns:
        readers = [view for view in tables.views if column.id in _columns_read(view, plan.base)]
        if readers:
            _check_stays(column, plan.base, plan.result, readers, position)


def _check_stays(
    column: Column, before: Descriptor, after: Descriptor, readers: list[ViewDefinition], position: Position
) -> None:
    same = next((one for one in after.public_columns if one.id == column.id), None)
    if same is not None and (same.type, same.length) == (column.type, column.length):
        return
    if same is not None or any(one.name == column.name for one in after.public_columns):
        names = ", ".join(view.name for view in readers)
        hint = f'Column "{column.name}" is read by {names}: drop the view first, and make it again.'
        message = "cannot alter type of a column used by a view or rule"
        raise DdlError(NOT_SUPPORTED, message, position=position, hint=hint)
    what = f"column {column.name} of table {before.name}"
    _refuse(what, [f"view {view.name} depends on {what}" for view in readers], readers, position)


def _refuse(what: str, depends: list[str], readers: list[ViewDefinition], position: Position) -> None:
    if readers:
        message = f"cannot drop {what} because other objects depend on it: {', '.join(depends)}"
        first = "; ".join(f"DROP VIEW {quoted(view.name)}" for view in readers)
        raise DdlError(DEPENDENT_OBJECTS, message, position=position, hint=f"Drop what reads it first: {first}.")


def _columns_read(view: ViewDefinition, table: Descriptor) -> Iterator[int]:
    for use in view.tables:
        if use.table_id == table.table_id:
            yield from use.columns.values()
