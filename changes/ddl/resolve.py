"""Checks the names of a parsed statement against the tables that the open changes will leave (X1): existing names
exist, new ones are free. A name that is given up is free only when the change that gives it up is complete (L12)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import TypeGuard, TypeVar

from catalog.descriptor import Descriptor
from catalog.elements import State, TableId
from catalog.object_names import free_name, object_name
from catalog.text.similar import perhaps
from catalog.values.types import SqlType
from catalog.view_definition import ViewDefinition
from changes.ddl import actions
from changes.ddl.errors import (
    DUPLICATE_COLUMN,
    DUPLICATE_TABLE,
    INVALID_PARAMETER,
    UNDEFINED_COLUMN,
    UNDEFINED_OBJECT,
    UNDEFINED_TABLE,
    WRONG_OBJECT_TYPE,
    DdlError,
    unsupported,
)
from changes.ddl.statements import Statement
from expressions.rows import Judge, JudgeDefault
from expressions.typed import PyValue
from storage.buckets import AS_BEGUN, StorageCount

Named = TypeVar("Named", actions.CreateTable, actions.AlterTable)
GUARD = "pkey_guard"
"""The end of the name of an index that guards a primary key."""


class NothingToDo(Warning):
    """IF EXISTS or IF NOT EXISTS applies: no change is made, the client gets a notice with `sqlstate`."""

    def __init__(self, message: str, sqlstate: str = "00000") -> None:
        super().__init__(message)
        self.message = message
        self.sqlstate = sqlstate


@dataclass(frozen=True, slots=True)
class CatalogView:
    """The tables as the open changes will leave them, and the names that are taken, each with why."""

    tables: tuple[Descriptor, ...]
    taken: Mapping[str, str] = field(default_factory=dict)
    sandboxes: frozenset[TableId] = frozenset()
    storages: StorageCount = AS_BEGUN
    is_private: bool = False
    """True for the temporary tables of a session, where others may be made."""
    views: tuple[ViewDefinition, ...] = ()
    judge: Judge | None = field(default=None, compare=False)
    """PostgreSQL's word on expressions that are not computed here."""
    compute: Callable[[Descriptor, str, SqlType], PyValue] | None = field(default=None, compare=False)
    """PostgreSQL's value of one that reads no column."""
    judge_default: JudgeDefault | None = field(default=None, compare=False)

    def hint_at(self, name: str) -> str | None:
        """A hint about an unknown table: why its name is taken, or a similar name."""
        return self.taken.get(name) or perhaps("table", name, (t.name for t in self.tables if t.state is State.PUBLIC))

    def table(self, name: str) -> Descriptor | None:
        return next((t for t in self.tables if t.name == name and t.state is not State.ABSENT), None)

    def named(self, name: str) -> Descriptor | None:
        return self.table(name)

    def numbered(self, table_id: int) -> Descriptor | None:
        return next((t for t in self.tables if t.table_id == table_id), None)

    def owner_of(self, index: str) -> Descriptor | None:
        return next((t for t in self.tables if any(i.name == index for i in t.indexes)), None)

    def why_taken(self, name: str) -> str | None:
        """Why a name is taken, "" without a special reason; None when it is free."""
        if name in self.taken:
            return self.taken[name]
        implied = any(name in t.implied_relations for t in self.tables if t.state is not State.ABSENT)
        return "" if implied or self.table(name) or self.owner_of(name) or self.view(name) else None

    def view(self, name: str) -> ViewDefinition | None:
        return next((view for view in self.views if view.name == name), None)


def resolve(statement: Statement, view: CatalogView) -> actions.Action:
    """The action with its names settled; raises `DdlError` or `NothingToDo`."""
    action = statement.action
    forgiving = statement.forgiving
    match action:
        case actions.CreateTable() if action.temporary and not view.is_private:
            hint = "It is a session's own: send it to a node."
            raise unsupported("a temporary table as a change", position=action.table.position, hint=hint)
        case actions.CreateTable():
            _check_free(action.table, view, forgiving=forgiving)
            placed = replace(action, storages=_storages_of_new(action, view.storages))
            named = with_names(placed, _names(action.table, action.uniques, view))
            return _with_free_names(named, view)
        case actions.DropTable():
            return _drop_table(action, view, forgiving=forgiving)
        case actions.CreateIndex():
            return _create_index(action, view, forgiving=forgiving)
        case actions.DropIndex():
            return replace(action, table=_owner(action.index, view, forgiving=forgiving))
        case actions.RenameIndex():
            table = _owner(action.index, view, forgiving=forgiving)
            _check_free(action.new, view, forgiving=False)
            return replace(action, table=table)
        case actions.SetComment() if action.of == "index":
            if view.owner_of(action.name.text) is None:
                _check_relation(action.name, view, "an index")
            return replace(action, table=_owner(action.name, view, forgiving=False))
        case actions.SetComment():
            _check_relation(action.table, view, "a table")
            return action
        case actions.AlterTable() | actions.RenameColumn() | actions.RenameConstraint() | actions.RenameTable():
            return _altered(action, view, forgiving=forgiving)


def _altered(
    action: actions.AlterTable | actions.RenameColumn | actions.RenameConstraint | actions.RenameTable,
    view: CatalogView,
    *,
    forgiving: bool,
) -> actions.Action:
    _check_table(action.table, view, forgiving=forgiving)
    if isinstance(action, actions.RenameTable) or (
        isinstance(action, actions.RenameConstraint) and _is_unique(action, view)
    ):
        _check_free(action.new, view, forgiving=False)
    if isinstance(action, actions.AlterTable):
        for one in action.alterations:
            if isinstance(one, actions.UseIndex) and one.name not in (actions.UNNAMED, one.index):
                _check_free(one.name, view, forgiving=False)
            if isinstance(one, actions.SetSharding) and one.storages is not None:
                _check_storages(one.storages, view.storages)
        return _with_free_names(with_names(action, _names(action.table, list(uniques_of(action)), view)), view)
    return action


def implied_names(action: actions.CreateTable | actions.AlterTable) -> list[str | None]:
    """Names of the statement's sequences, in order, and of a new table's primary key; None: the usual name."""
    if isinstance(action, actions.CreateTable):
        return [*(column.sequence for column in action.columns if column.identity), action.key_name]
    return [one.sequence_name for one in action.alterations if _makes_sequence(one)]


def with_implied_names(action: Named, names: Sequence[str | None]) -> Named:
    """The inverse of `implied_names`."""
    left = iter(names)
    if isinstance(action, actions.CreateTable):
        columns = tuple(replace(c, sequence=next(left)) if c.identity else c for c in action.columns)
        return replace(action, columns=columns, key_name=next(left))
    return replace(
        action,
        alterations=tuple(
            replace(one, sequence_name=next(left)) if _makes_sequence(one) else one for one in action.alterations
        ),
    )


def _makes_sequence(one: actions.Alteration) -> TypeGuard[actions.SetIdentity]:
    return isinstance(one, actions.SetIdentity) and not one.is_dropped and one.sequence is None


def _with_free_names(action: Named, view: CatalogView) -> Named:
    table = action.table.text
    also = {table, *(unique.name.text for unique in uniques_of(action))}
    names: list[str | None] = []
    if isinstance(action, actions.CreateTable):
        wanted = [(column.name, column.sequence) for column in action.columns if column.identity]
    else:
        wanted = [(one.column, one.sequence_name) for one in action.alterations if _makes_sequence(one)]
    for column, given in wanted:
        if given is not None and (given in also or view.why_taken(given) is not None):
            raise DdlError(DUPLICATE_TABLE, f'relation "{given}" already exists', position=column.position)
        name = given or _free_name(table, [column.text], "seq", view, also=also)
        also.add(name)
        names.append(None if name == object_name(table, column.text, "seq") else name)
    if isinstance(action, actions.CreateTable):
        key = _free_name(table, (), "pkey", view, also=also)
        names.append(None if key == object_name(table, "", "pkey") else key)
    return with_implied_names(action, names)


def _storages_of_new(action: actions.CreateTable, there: StorageCount) -> actions.Number | None:
    if action.storages is not None:
        return _check_storages(action.storages, there)
    return None if there.existing == there.first else actions.Number(there.existing)


def _check_storages(named: actions.Number, there: StorageCount) -> actions.Number:
    if named.value > there.existing:
        message = f"there are {there.existing} storages: rows cannot be spread over {named.value}"
        hint = "An administrator adds one first: manage.py storages add."
        raise DdlError(INVALID_PARAMETER, message, position=named.position, hint=hint)
    return named


def _is_unique(action: actions.RenameConstraint, view: CatalogView) -> bool:
    """True for a constraint that an index keeps: its name is unique among relations."""
    owner = view.owner_of(action.constraint.text)
    return owner is not None and owner.name == action.table.text


def _check_relation(name: actions.Name, view: CatalogView, what: str) -> None:
    is_table = view.table(name.text) is not None
    if is_table and what == "a table":
        return
    if is_table or view.owner_of(name.text) is not None or view.view(name.text) is not None:
        raise DdlError(WRONG_OBJECT_TYPE, f'"{name}" is not {what}', position=name.position)
    message = f'relation "{name}" does not exist'
    raise DdlError(UNDEFINED_TABLE, message, position=name.position, hint=view.hint_at(name.text))


def _check_table(name: actions.Name, view: CatalogView, *, forgiving: bool) -> None:
    if view.table(name.text):
        return
    if view.view(name.text):
        hint = "Of a view the name may change, ALTER VIEW .. RENAME TO, and the query: CREATE OR REPLACE VIEW."
        raise DdlError(WRONG_OBJECT_TYPE, f'"{name}" is not a table', position=name.position, hint=hint)
    if view.owner_of(name.text):
        hint = "Of an index only the name may change: ALTER INDEX .. RENAME TO."
        raise DdlError(WRONG_OBJECT_TYPE, f'"{name}" is not a table', position=name.position, hint=hint)
    if forgiving:
        raise NothingToDo(f'relation "{name}" does not exist, skipping')
    message = f'relation "{name}" does not exist'
    raise DdlError(UNDEFINED_TABLE, message, position=name.position, hint=view.hint_at(name.text))


# --- names of the indexes that keep UNIQUE


def uniques_of(action: actions.CreateTable | actions.AlterTable) -> Iterator[actions.NewUnique]:
    if isinstance(action, actions.CreateTable):
        yield from action.uniques
        return
    for alteration in action.alterations:
        if isinstance(alteration, actions.NewUnique):
            yield alteration
        if isinstance(alteration, actions.AddColumn):
            yield from alteration.uniques
        if isinstance(alteration, actions.SetSharding):
            yield actions.NewUnique(alteration.guard, (), guards_key=True)


def with_names(action: Named, names: Sequence[actions.Name]) -> Named:
    left = iter(names)
    if isinstance(action, actions.CreateTable):
        return replace(action, uniques=tuple(replace(one, name=next(left)) for one in action.uniques))
    found = []
    for alteration in action.alterations:
        if isinstance(alteration, actions.NewUnique):
            alteration = replace(alteration, name=next(left))
        elif isinstance(alteration, actions.AddColumn):
            named = tuple(replace(one, name=next(left)) for one in alteration.uniques)
            alteration = replace(alteration, uniques=named)
        elif isinstance(alteration, actions.SetSharding):
            alteration = replace(alteration, guard=next(left))
        found.append(alteration)
    return replace(action, alterations=tuple(found))


def _names(table: actions.Name, uniques: Sequence[actions.NewUnique], view: CatalogView) -> list[actions.Name]:
    names: list[actions.Name] = []
    for unique in uniques:
        if unique.name != actions.UNNAMED:
            _check_free(unique.name, view, forgiving=False)
            if unique.name in names or unique.name == table:
                message = f'relation "{unique.name}" already exists'
                raise DdlError(DUPLICATE_TABLE, message, position=unique.name.position)
            names.append(unique.name)
            continue
        columns = () if unique.guards_key or unique.primary else tuple(column.text for column in unique.columns)
        word = GUARD if unique.guards_key else "pkey" if unique.primary else "key"
        also = {table.text, *(name.text for name in names)}
        names.append(actions.Name(_free_name(table.text, columns, word, view, also=also)))
    return names


def _check_free(name: actions.Name, view: CatalogView, *, forgiving: bool) -> None:
    why = view.why_taken(name.text)
    if why is None:
        return
    if forgiving and not why:
        raise NothingToDo(f'relation "{name}" already exists, skipping', DUPLICATE_TABLE)
    raise DdlError(DUPLICATE_TABLE, f'relation "{name}" already exists', position=name.position, hint=why or None)


def _drop_table(action: actions.DropTable, view: CatalogView, *, forgiving: bool) -> actions.DropTable:
    name = action.table
    if view.table(name.text):
        return action
    if view.owner_of(name.text):
        hint = "Use DROP INDEX to remove an index."
        raise DdlError(WRONG_OBJECT_TYPE, f'"{name}" is not a table', position=name.position, hint=hint)
    if view.view(name.text):
        hint = "Use DROP VIEW to remove a view."
        raise DdlError(WRONG_OBJECT_TYPE, f'"{name}" is not a table', position=name.position, hint=hint)
    if forgiving:
        raise NothingToDo(f'table "{name}" does not exist, skipping')
    raise DdlError(
        UNDEFINED_TABLE, f'table "{name}" does not exist', position=name.position, hint=view.hint_at(name.text)
    )


def _create_index(action: actions.CreateIndex, view: CatalogView, *, forgiving: bool) -> actions.CreateIndex:
    table = view.table(action.table.text)
    if table is None:
        raise _no_such_table(action.table, view)
    _check_index_columns(action, table)
    if action.index == actions.UNNAMED:
        columns = [part.column.text for part in action.columns]
        return replace(action, index=actions.Name(_free_name(action.table.text, columns, "idx", view)))
    _check_free(action.index, view, forgiving=forgiving)
    return action


def _no_such_table(name: actions.Name, view: CatalogView) -> DdlError:
    if view.owner_of(name.text):
        message = f'cannot create index on relation "{name}"'
        return DdlError(WRONG_OBJECT_TYPE, message, position=name.position, hint="It is an index itself.")
    if view.view(name.text):
        message = f'cannot create index on relation "{name}"'
        return DdlError(WRONG_OBJECT_TYPE, message, position=name.position, hint="It is a view.")
    message = f'relation "{name}" does not exist'
    return DdlError(UNDEFINED_TABLE, message, position=name.position, hint=view.hint_at(name.text))


def _check_index_columns(action: actions.CreateIndex, table: Descriptor) -> None:
    seen: set[actions.Name] = set()
    for part in action.columns:
        if part.column in seen:
            message = f'column "{part.column}" appears twice in the index'
            raise DdlError(DUPLICATE_COLUMN, message, position=part.column.position)
        seen.add(part.column)
        column = next((c for c in table.columns if c.name == part.column.text), None)
        if column is None or column.state is not State.PUBLIC:
            public = (c.name for c in table.public_columns)
            hint = f"It is {column.state.value}: only a public column can be used." if column else None
            hint = hint or perhaps("column", part.column.text, public)
            message = f'column "{part.column}" does not exist'
            raise DdlError(UNDEFINED_COLUMN, message, position=part.column.position, hint=hint)


def _free_name(
    table: str, columns: Iterable[str], word: str, view: CatalogView, *, also: AbstractSet[str] = frozenset()
) -> str:
    return free_name(table, columns, word, lambda name: name in also or view.why_taken(name) is not None)


def _owner(name: actions.Name, view: CatalogView, *, forgiving: bool) -> actions.Name:
    table = view.owner_of(name.text)
    if table is not None:
        return actions.Name(table.name)
    if view.table(name.text):
        hint = "It is a table: use DROP TABLE, or ALTER TABLE .. RENAME TO."
        raise DdlError(WRONG_OBJECT_TYPE, f'"{name}" is not an index', position=name.position, hint=hint)
    if forgiving:
        raise NothingToDo(f'index "{name}" does not exist, skipping')
    message = f'index "{name}" does not exist'
    indexes = (index.name for table in view.tables for index in table.public_indexes)
    meant = view.taken.get(name.text) or perhaps("index", name.text, indexes)
    raise DdlError(UNDEFINED_OBJECT, message, position=name.position, hint=meant)
