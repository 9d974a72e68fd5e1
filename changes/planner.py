"""From what a statement asks for to a plan: which versions, in which order, with which reorganisations.

Here it is settled what an action means for the table as it is: elements, ids, dangers. The
order of versions is the composer's (`changes.composer`); a plan is reviewed (`changes.review`)
before anyone sees it.
"""

from catalog.descriptor import FIRST_INDEX, Descriptor
from catalog.elements import (
    Column,
    ColumnId,
    Index,
    IndexColumn,
    Kind,
    Placement,
    PlacementId,
    State,
    TableId,
)
from changes.actions import Action, CreateIndex, CreateTable, DropIndex, DropTable, Name, NewColumn
from changes.composer import Draft, compose
from changes.ddl_errors import (
    DUPLICATE_TABLE,
    NOT_READY,
    UNDEFINED_COLUMN,
    UNDEFINED_OBJECT,
    UNDEFINED_TABLE,
    DdlError,
    unsupported,
)
from changes.plan import Direction, Element, Move, Plan
from changes.review import review


def make_plan(action: Action, descriptor: Descriptor | None, *, table_id: int | None = None) -> Plan:
    """The plan of `action` on the table as `descriptor` has it; raises `DdlError`.

    CREATE TABLE has no descriptor yet: it takes the `table_id` that was reserved for it.
    """
    if isinstance(action, CreateTable):
        if descriptor is not None and descriptor.state is not State.ABSENT:
            raise DdlError(DUPLICATE_TABLE, f'relation "{action.table}" already exists', position=action.table.position)
        assert table_id is not None, "a new table needs the id reserved for it"
        return review(_create_table(action, TableId(table_id)))
    table = _usable(action.table, descriptor)
    if isinstance(action, DropTable):
        return review(_drop_table(table))
    if isinstance(action, CreateIndex):
        return review(_create_index(action, table))
    return review(_drop_index(action, table))


def _usable(name: Name, descriptor: Descriptor | None) -> Descriptor:
    if descriptor is None or descriptor.state is State.ABSENT:
        raise DdlError(UNDEFINED_TABLE, f'relation "{name}" does not exist', position=name.position)
    if descriptor.state is not State.PUBLIC:
        message = f"table {name} is {descriptor.state.value}: only a public table can be changed"
        raise DdlError(NOT_READY, message, position=name.position, hint="Another change of it has not ended.")
    return descriptor


# Tables


def _create_table(action: CreateTable, table_id: TableId) -> Plan:
    element = Element(Kind.TABLE, table_id, action.table.text)
    move, new = Move(element, Direction.ADD), {element: _new_table(action, table_id)}
    return compose(Draft(table_id, action.table.text, None, (move,), new))


def _new_table(action: CreateTable, table_id: TableId) -> Descriptor:
    ids = {column.name.text: ColumnId(number) for number, column in enumerate(action.columns, 1)}
    key = tuple(_column_id(ids, name) for name in action.primary_key)
    sharding_key = tuple(_column_id(ids, name) for name in action.sharding_key)
    if not set(sharding_key) <= set(key):
        raise unsupported("a sharding key outside the primary key", position=action.sharding_key[0].position)
    return Descriptor(
        table_id=table_id,
        name=action.table.text,
        version=1,
        state=State.DELETE_ONLY,
        columns=tuple(_new_column(column, ids[column.name.text], key) for column in action.columns),
        primary_key=key,
        placements=(Placement(PlacementId(1), sharding_key, action.sharding_function),),
        next_column_id=ColumnId(len(ids) + 1),
        next_index_id=FIRST_INDEX,
    )


def _column_id(ids: dict[str, ColumnId], name: Name) -> ColumnId:
    if name.text not in ids:
        message = f'column "{name}" named in key does not exist'
        raise DdlError(UNDEFINED_COLUMN, message, position=name.position)
    return ids[name.text]


def _new_column(column: NewColumn, column_id: ColumnId, key: tuple[ColumnId, ...]) -> Column:
    return Column(
        id=column_id,
        name=column.name.text,
        type=column.type,
        not_null=column.not_null or column_id in key,
        default=column.default,
        identity=column.identity,
    )


def _drop_table(table: Descriptor) -> Plan:
    element = Element(Kind.TABLE, table.table_id, table.name)
    dangers = (
        f"Nobody can use {table.name} from the first version on.",
        f"All rows of {table.name} are deleted; undoing the change later restores its structure, not its rows.",
    )
    return compose(Draft(table.table_id, table.name, table, (Move(element, Direction.DROP),), dangers=dangers))


# Indexes


def _create_index(action: CreateIndex, table: Descriptor) -> Plan:
    if any(index.name == action.index.text for index in table.indexes):
        raise DdlError(DUPLICATE_TABLE, f'relation "{action.index}" already exists', position=action.index.position)
    index = _new_index(action, table)
    element = Element(index.kind, index.id, index.name)
    move, dangers = Move(element, Direction.ADD), _index_dangers(index, table)
    return compose(Draft(table.table_id, table.name, table, (move,), {element: index}, dangers=dangers))


def _new_index(action: CreateIndex, table: Descriptor) -> Index:
    return Index(
        id=table.next_index_id,
        name=action.index.text,
        columns=tuple(IndexColumn(_indexed(part.column, table), part.descending) for part in action.columns),
        unique=action.unique,
        where=action.where,
        state=State.DELETE_ONLY,
    )


def _indexed(name: Name, table: Descriptor) -> ColumnId:
    column = next((c for c in table.columns if c.name == name.text), None)
    if column is None:
        raise DdlError(UNDEFINED_COLUMN, f'column "{name}" does not exist', position=name.position)
    if column.state is not State.PUBLIC:
        message = f"column {name} is {column.state.value}: only a public column can be indexed"
        raise DdlError(NOT_READY, message, position=name.position)
    return column.id


def _index_dangers(index: Index, table: Descriptor) -> tuple[str, ...]:
    cost = f"Every row of {table.name} is read once; each later write of it also writes {index.name}."
    if index.unique:
        return cost, "If two rows have the same values the check fails, and the change walks back."
    return (cost,)


def _drop_index(action: DropIndex, table: Descriptor) -> Plan:
    index = next((index for index in table.indexes if index.name == action.index.text), None)
    if index is None:
        raise DdlError(UNDEFINED_OBJECT, f'index "{action.index}" does not exist', position=action.index.position)
    if index.state is not State.PUBLIC:
        message = f"index {index.name} is {index.state.value}: only a public index can be dropped"
        raise DdlError(NOT_READY, message, position=action.index.position, hint="Another change of it has not ended.")
    element = Element(index.kind, index.id, index.name)
    dangers = (
        f"Queries that use {index.name} read the whole table instead, from the first version on.",
        "Past delete-only it can't be cancelled: its entries are incomplete from then on.",
    )
    return compose(Draft(table.table_id, table.name, table, (Move(element, Direction.DROP),), dangers=dangers))
