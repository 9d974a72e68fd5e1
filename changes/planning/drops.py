"""DROP of several tables or indexes, and DROP .. CASCADE, as a change each, all planned before the first is submitted,
so that the statement is refused as a whole. Referring tables come first; with CASCADE foreign keys from other tables go
first, as do those of a circle."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from catalog.descriptor import Descriptor
from catalog.elements import Constraint, TableId
from catalog.text.sql_names import quoted
from catalog.view_definition import ViewDefinition, readers_of
from changes.ddl import actions
from changes.ddl.resolve import CatalogView, NothingToDo, resolve
from changes.ddl.statements import Dropping, Statement, parse
from changes.planning.planner import make_plan


@dataclass(frozen=True, slots=True)
class Drops:
    """The statements in order, and PostgreSQL's notices."""

    statements: tuple[str, ...]
    notices: tuple[str, ...]


def drops_of(dropping: Dropping, view: CatalogView) -> Drops:
    found, notices = [], []
    views: list[ViewDefinition] = []
    for name in dict.fromkeys(dropping.names):
        is_table = dropping.what == "TABLE"
        action: actions.Action = actions.DropTable(name) if is_table else actions.DropIndex(name, actions.UNNAMED)
        try:
            found.append(resolve(Statement(action, dropping.forgiving), view))
        except NothingToDo as nothing:
            notices.append(nothing.message)
    if dropping.what == "INDEX":
        texts = [f"DROP INDEX {quoted(one.index.text)}" for one in found if isinstance(one, actions.DropIndex)]
    else:
        tables = [view.named(one.table.text) for one in found]
        leaving = [table for table in tables if table is not None]
        freed = list(_freed(leaving, view)) if dropping.cascades else []
        notices += [f"drop cascades to constraint {key.name} on table {child}" for child, key in freed]
        views = _reading(leaving, view) if dropping.cascades else []
        notices += [f"drop cascades to view {one.name}" for one in views]
        texts = [_drop_constraint(child, key) for child, key in freed]
        texts += list(_in_order(leaving))
    _check(texts, view, [one.view_id for one in views])
    if views:
        texts = [f"DROP VIEW {', '.join(quoted(one.name) for one in views)}", *texts]
    return Drops(tuple(texts), tuple(notices))


def _reading(leaving: list[Descriptor], view: CatalogView) -> list[ViewDefinition]:
    ids = {table.table_id for table in leaving}
    first = [one for one in view.views if any(use.table_id in ids for use in one.tables)]
    known = {one.view_id for one in first}
    return [*first, *(one for one in readers_of(known, view.views))]


def _freed(leaving: list[Descriptor], view: CatalogView) -> Iterator[tuple[str, Constraint]]:
    ids = {table.table_id for table in leaving}
    for table in leaving:
        for one in table.referenced_by:
            child = None if one.references in ids or one.references is None else view.numbered(one.references)
            if child is not None:
                yield child.name, one


def _drop_constraint(child: str, foreign_key: Constraint) -> str:
    return f"ALTER TABLE {quoted(child)} DROP CONSTRAINT {quoted(foreign_key.name)}"


def _in_order(leaving: list[Descriptor]) -> Iterator[str]:
    left = {table.table_id: table for table in leaving}
    while left:
        table = next((one for one in left.values() if not _referring(one, left)), None)
        if table is None:  # a circle is opened at its first table
            table = next(iter(left.values()))
            for child, one in _referring(table, left):
                yield _drop_constraint(child.name, one)
                kept = tuple(other for other in child.constraints if other.id != one.partner)
                left[child.table_id] = replace(child, constraints=kept)
        del left[table.table_id]
        yield f"DROP TABLE {quoted(table.name)}"


def _referring(table: Descriptor, left: Mapping[TableId, Descriptor]) -> list[tuple[Descriptor, Constraint]]:
    found = []
    for one in table.referenced_by:
        child = None if one.references in (None, table.table_id) else left.get(one.references or TableId(0))
        if child is not None and any(other.id == one.partner for other in child.constraints):
            found.append((child, one))
    return found


def _check(texts: list[str], view: CatalogView, views: Collection[int]) -> None:
    known = {table.table_id: table for table in view.tables}
    left = tuple(one for one in view.views if one.view_id not in views)
    for text in texts:
        here = replace(view, tables=tuple(known.values()), views=left)
        action = resolve(parse(text), here)
        plan = make_plan(action, here.named(action.table.text), tables=here)
        known |= {table.table_id: table for table in plan.results}
