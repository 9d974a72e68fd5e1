"""A parsed statement, held against the tables there are: do its names exist, and are its new ones free?

A change may queue behind others of its table (X1), so it is judged by the table as those will leave it; but a name
that is being given up is free again only when the change that gives it up is complete (L12).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from catalog.descriptor import Descriptor
from catalog.elements import State
from changes.actions import Action, CreateIndex, CreateTable, DropIndex, DropTable, Name
from changes.ddl import UNNAMED, Statement
from changes.ddl_errors import (
    DUPLICATE_COLUMN,
    DUPLICATE_TABLE,
    UNDEFINED_COLUMN,
    UNDEFINED_OBJECT,
    UNDEFINED_TABLE,
    WRONG_OBJECT_TYPE,
    DdlError,
)

NAME_BYTES_MAX = 63


class NothingToDo(Warning):
    """IF EXISTS or IF NOT EXISTS, and so it is: no change is made, the client gets a notice. `sqlstate` is its code."""

    def __init__(self, message: str, sqlstate: str = "00000") -> None:
        super().__init__(message)
        self.message = message
        self.sqlstate = sqlstate


@dataclass(frozen=True, slots=True)
class CatalogView:
    """The tables as the open changes will leave them, and the names that cannot be given yet, each with why."""

    tables: tuple[Descriptor, ...]
    taken: Mapping[str, str] = field(default_factory=dict)

    def table(self, name: str) -> Descriptor | None:
        return next((t for t in self.tables if t.name == name and t.state is not State.ABSENT), None)

    def owner_of(self, index: str) -> Descriptor | None:
        return next((t for t in self.tables if any(i.name == index for i in t.indexes)), None)

    def why_taken(self, name: str) -> str | None:
        """Why no new table or index may bear `name`; None when it is free."""
        if name in self.taken:
            return self.taken[name]
        return "" if self.table(name) or self.owner_of(name) else None


def resolve(statement: Statement, view: CatalogView) -> Action:
    """The statement's action with every name settled; raises `DdlError`, or `NothingToDo`."""
    action = statement.action
    if isinstance(action, CreateTable):
        _check_free(action.table, view, forgiving=statement.forgiving)
        return action
    if isinstance(action, DropTable):
        return _drop_table(action, view, forgiving=statement.forgiving)
    if isinstance(action, CreateIndex):
        return _create_index(action, view, forgiving=statement.forgiving)
    return _drop_index(action, view, forgiving=statement.forgiving)


def _check_free(name: Name, view: CatalogView, *, forgiving: bool) -> None:
    why = view.why_taken(name.text)
    if why is None:
        return
    if forgiving and not why:
        raise NothingToDo(f'relation "{name}" already exists, skipping', DUPLICATE_TABLE)
    raise DdlError(DUPLICATE_TABLE, f'relation "{name}" already exists', position=name.position, hint=why or None)


def _drop_table(action: DropTable, view: CatalogView, *, forgiving: bool) -> DropTable:
    name = action.table
    if view.table(name.text):
        return action
    if view.owner_of(name.text):
        hint = "Use DROP INDEX to remove an index."
        raise DdlError(WRONG_OBJECT_TYPE, f'"{name}" is not a table', position=name.position, hint=hint)
    if forgiving:
        raise NothingToDo(f'table "{name}" does not exist, skipping')
    raise DdlError(
        UNDEFINED_TABLE, f'table "{name}" does not exist', position=name.position, hint=view.taken.get(name.text)
    )


def _create_index(action: CreateIndex, view: CatalogView, *, forgiving: bool) -> CreateIndex:
    table = view.table(action.table.text)
    if table is None:
        raise _no_such_table(action.table, view)
    _check_index_columns(action, table)
    if action.index == UNNAMED:
        return replace(action, index=Name(_free_index_name(action, view)))
    _check_free(action.index, view, forgiving=forgiving)
    return action


def _no_such_table(name: Name, view: CatalogView) -> DdlError:
    if view.owner_of(name.text):
        message = f'cannot create index on relation "{name}"'
        return DdlError(WRONG_OBJECT_TYPE, message, position=name.position, hint="It is an index itself.")
    message = f'relation "{name}" does not exist'
    return DdlError(UNDEFINED_TABLE, message, position=name.position, hint=view.taken.get(name.text))


def _check_index_columns(action: CreateIndex, table: Descriptor) -> None:
    seen: set[Name] = set()
    for part in action.columns:
        if part.column in seen:
            message = f'column "{part.column}" appears twice in the index'
            raise DdlError(DUPLICATE_COLUMN, message, position=part.column.position)
        seen.add(part.column)
        column = next((c for c in table.columns if c.name == part.column.text), None)
        if column is None or column.state is not State.PUBLIC:
            hint = f"It is {column.state.value}: only a public column can be used." if column else None
            message = f'column "{part.column}" does not exist'
            raise DdlError(UNDEFINED_COLUMN, message, position=part.column.position, hint=hint)


def _free_index_name(action: CreateIndex, view: CatalogView) -> str:
    """PostgreSQL's way of naming: table_column_idx, then .._idx1, .."""
    stem = "_".join((action.table.text, *(part.column.text for part in action.columns)))
    tails = ("_idx", *(f"_idx{n}" for n in range(1, len(view.tables) + len(view.taken) + _index_count(view) + 2)))
    return next(name for tail in tails if view.why_taken(name := _cut(stem, tail) + tail) is None)


def _index_count(view: CatalogView) -> int:
    return sum(len(table.indexes) for table in view.tables)


def _cut(stem: str, tail: str) -> str:
    return stem.encode()[: NAME_BYTES_MAX - len(tail)].decode(errors="ignore")


def _drop_index(action: DropIndex, view: CatalogView, *, forgiving: bool) -> DropIndex:
    name = action.index
    table = view.owner_of(name.text)
    if table is not None:
        return replace(action, table=Name(table.name))
    if view.table(name.text):
        hint = "Use DROP TABLE to remove a table."
        raise DdlError(WRONG_OBJECT_TYPE, f'"{name}" is not an index', position=name.position, hint=hint)
    if forgiving:
        raise NothingToDo(f'index "{name}" does not exist, skipping')
    message = f'index "{name}" does not exist'
    raise DdlError(UNDEFINED_OBJECT, message, position=name.position, hint=view.taken.get(name.text))
