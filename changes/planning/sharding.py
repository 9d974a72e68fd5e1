"""Checks the sharding key and function of a statement against its table. With a sharding key outside the primary key, a
unique index over the primary key guards it: a row's own pairs keep it unique on one storage only, while the index's
entry lies in one place."""

from __future__ import annotations

from collections.abc import Iterable

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, Index, Kind, Placement, State
from catalog.text.sentence import Sentence
from changes.ddl.actions import STRCRC32, IndexPart, Name, Position, SetSharding
from changes.ddl.errors import (
    DATATYPE_MISMATCH,
    DEPENDENT_OBJECTS,
    DUPLICATE_COLUMN,
    INVALID_TABLE_DEFINITION,
    NOT_READY,
    UNDEFINED_COLUMN,
    UNDEFINED_OBJECT,
    DdlError,
)
from changes.ddl.sharding import shown
from changes.plan.model import Element
from changes.planning.draft import Sketch, placement_name
from storage.buckets import FUNCTIONS, ShardingFunction


def set_sharding(sketch: Sketch, action: SetSharding) -> None:
    """Copies rows to a new placement, which is read then. Another number of storages is another placement."""
    table, old = sketch.base, sketch.base.placement
    function = Name(old.function, action.position) if action.function is None else action.function
    if action.key is None:
        key = old.sharding_key
        if key:
            check_types([table.column(column) for column in key], function, function.position)
    else:
        key = check_key(action.key, function, table.columns) if action.key else ()
        key = () if key == table.primary_key else key
    if not key:
        check_default_key(table.key_columns, function)
    first = sketch.tables.storages.first
    storages = old.storages if action.storages is None else action.storages.value
    if (key, function.text, storages or first) == (old.sharding_key, old.function, old.storage_count(first)):
        sketch.notices.append(f"rows of {table.name} are spread by {placement_name(table, old)} already, skipping")
        return
    new = Placement(table.next_placement_id, key, function.text, state=State.DELETE_ONLY, storages=storages)
    element = sketch.add_placement(new)
    sketch.costs.append(
        Sentence(
            "Every row of {name} is copied to where {placement} places it: until the change ends it is stored twice,"
            " and each write of it writes both.",
            name=table.name,
            placement=element.name,
        )
    )
    _guard(sketch, action, new)
    sketch.drop(Element(Kind.PLACEMENT, old.id, placement_name(table, old)))


def _guard(sketch: Sketch, action: SetSharding, new: Placement) -> None:
    """The guarding index comes with the first placement that needs it, and stays."""
    table, guard = sketch.base, sketch.base.key_guard
    needs_guard = not set(new.sharding_key) <= set(table.primary_key)
    if needs_guard and guard is None:
        parts = [IndexPart(Name(column.name)) for column in table.key_columns]
        sketch.add_index(action.guard, parts, unique=True)
        sketch.dangers.append(
            Sentence(
                "Index {name} over the primary key is added, which keeps it unique on all storages: once it is public,"
                " the change can't be cancelled.",
                name=action.guard,
            )
        )
    elif guard is not None and not needs_guard and not table.is_home_in_key:
        sketch.costs.append(
            Sentence("Index {name} is not needed any more afterwards: it can be dropped then.", name=guard.name)
        )


def check_function(function: Name) -> ShardingFunction:
    if function.text not in FUNCTIONS:
        message = f'sharding function "{shown(function.text)}" does not exist'
        hint = f"There are: {', '.join(sorted(FUNCTIONS))}."
        raise DdlError(UNDEFINED_OBJECT, message, position=function.position, hint=hint)
    return FUNCTIONS[function.text]


def check_key(key: Iterable[Name], function: Name, columns: Iterable[Column]) -> tuple[ColumnId, ...]:
    """The columns of a sharding key, in order. Raises `DdlError`."""
    known, found = {column.name: column for column in columns}, []
    for name in key:
        column = known.get(name.text)
        if column is None:
            message = f'column "{name}" named in the sharding key does not exist'
            raise DdlError(UNDEFINED_COLUMN, message, position=name.position)
        if column.id in found:
            message = f'column "{name}" appears twice in the sharding key'
            raise DdlError(DUPLICATE_COLUMN, message, position=name.position)
        if column.state is not State.PUBLIC:
            message = f"column {name} is {column.state.value}: only a public column can be in a sharding key"
            raise DdlError(NOT_READY, message, position=name.position, hint="Another change of it has not ended.")
        found.append(column.id)
    check_types([column for column in known.values() if column.id in found], function, next(iter(key)).position)
    return tuple(found)


def check_default_key(columns: Iterable[Column], function: Name) -> None:
    """Refuses a primary key that the function does not take. The usual function takes all types."""
    if function.text != STRCRC32.text:
        check_types(columns, function, function.position)


def check_types(columns: Iterable[Column], function: Name, position: Position) -> None:
    of, listed = check_function(function), list(columns)
    for column in listed:
        if column.type not in of.types:
            message = f"column {column.name} is of type {column.type_name}: {function} does not spread rows by it"
            types = ", ".join(sorted(one.value for one in of.types))
            raise DdlError(DATATYPE_MISMATCH, message, position=position, hint=f"It takes columns of type {types}.")
    if of.columns_max is not None and len(listed) > of.columns_max:
        message = f"sharding function {function} takes {of.columns_max} column, not {len(listed)}"
        raise DdlError(INVALID_TABLE_DEFINITION, message, position=position)


def check_not_guard(index: Index, table: Descriptor, position: Position, what: str) -> None:
    """Refuses to drop the last index that guards the primary key."""
    left = [one for one in table.key_guards if one.state is State.PUBLIC and one != index]
    if table.is_home_in_key or index not in table.key_guards or left:
        return
    names = ", ".join(table.column(column).name for column in table.sharding_key)
    message = f"cannot drop {what}: rows are spread by {names}, and it keeps the primary key unique on all storages"
    hint = f"Spread the rows by columns of the primary key first: ALTER TABLE {table.name} SET (sharding_key = ..)."
    raise DdlError(DEPENDENT_OBJECTS, message, position=position, hint=hint)
