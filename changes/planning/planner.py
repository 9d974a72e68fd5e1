"""From an action to a plan: versions, their order, and reorganisations."""

from dataclasses import replace

from catalog.descriptor import FIRST_PLACEMENT, Descriptor
from catalog.elements import Column, ColumnId, Constraint, Index, Kind, Placement, State, TableId
from catalog.object_names import object_name
from catalog.text.sentence import Sentence
from catalog.values.types import SqlType
from changes.ddl import actions
from changes.ddl.errors import (
    DEPENDENT_OBJECTS,
    DUPLICATE_TABLE,
    NOT_READY,
    UNDEFINED_COLUMN,
    UNDEFINED_TABLE,
    DdlError,
)
from changes.ddl.resolve import GUARD
from changes.plan.element_states import element_of
from changes.plan.model import Element, Move, MoveKind, Plan
from changes.planning.alter.alter_table import altered
from changes.planning.alter.defaults import judge_default
from changes.planning.alter.foreign_keys import add_foreign_key, slow_deletes
from changes.planning.comments import set_comment
from changes.planning.dependents import check_index_is_free, check_table_is_free, slow_without
from changes.planning.draft import Sketch, check_public, public_index, refuse_unsorted
from changes.planning.renames import rename_column, rename_constraint, rename_index, rename_table
from changes.planning.sharding import check_default_key, check_key
from changes.planning.stages import Draft, compose
from changes.planning.tables import NO_TABLES, Tables, partners_of
from changes.planning.viewed import refuse_what_views_read
from changes.review.check import review
from expressions.typed import Context


def make_plan(
    action: actions.Action,
    descriptor: Descriptor | None,
    *,
    table_id: int | None = None,
    context: Context | None = None,
    tables: Tables = NO_TABLES,
) -> Plan:
    """The plan of `action` on `descriptor`; raises `DdlError` or `NothingToDo`. CREATE TABLE has no descriptor but a
    reserved `table_id`. `context` is the time, for defaults of added columns. `tables` are the others as they will be
    when the change begins."""
    if isinstance(action, actions.CreateTable):
        if descriptor is not None and descriptor.state is not State.ABSENT:
            raise DdlError(DUPLICATE_TABLE, f'relation "{action.table}" already exists', position=action.table.position)
        assert table_id is not None, "a new table needs the id reserved for it"
        return review(compose(_create_table(action, TableId(table_id), tables)))
    plan = compose(_draft(action, _usable(action.table, descriptor), context or Context(), tables))
    refuse_what_views_read(plan, tables, action.table.position)
    return review(plan)


def _draft(
    action: actions.DropTable
    | actions.CreateIndex
    | actions.DropIndex
    | actions.AlterTable
    | actions.RenameTable
    | actions.RenameColumn
    | actions.RenameIndex
    | actions.RenameConstraint
    | actions.SetComment,
    table: Descriptor,
    context: Context,
    tables: Tables,
) -> Draft:
    match action:
        case actions.DropTable():
            return _drop_table(action, table, tables)
        case actions.CreateIndex():
            return _create_index(action, table, tables)
        case actions.DropIndex():
            return _drop_index(action, table, tables)
        case actions.AlterTable():
            return altered(action, table, context, tables)
        case actions.RenameTable():
            return rename_table(action, table)
        case actions.RenameColumn():
            return rename_column(action, table)
        case actions.RenameIndex():
            return rename_index(action, table)
        case actions.RenameConstraint():
            return rename_constraint(action, table, tables)
        case actions.SetComment():
            return set_comment(action, table)


def _usable(name: actions.Name, descriptor: Descriptor | None) -> Descriptor:
    if descriptor is None or descriptor.state is State.ABSENT:
        raise DdlError(UNDEFINED_TABLE, f'relation "{name}" does not exist', position=name.position)
    if descriptor.state is not State.PUBLIC:
        message = f"table {name} is {descriptor.state.value}: only a public table can be changed"
        raise DdlError(NOT_READY, message, position=name.position, hint="Another change of it has not ended.")
    return descriptor


# Tables

ROW_IDS = actions.NewColumn(actions.ROW_ID, SqlType.BIGINT, not_null=True, identity=True)
"""The key of a table whose statement names none: numbers of a sequence, as those of identity columns."""


def _create_table(action: actions.CreateTable, table_id: TableId, tables: Tables) -> Draft:
    element = Element(Kind.TABLE, table_id, action.table.text)
    for column in action.columns:
        judge_default(tables.judge_default, column.type, column.default, column.name.text, column.default_sql)
    alone = _with_constraints(action, _bare_table(action, table_id), tables)
    draft = Draft(table_id, action.table.text, None, (Move(element, MoveKind.ADD),), {element: alone})
    return _referring(draft, element, alone, action, tables) if action.foreign_keys else draft


def _referring(draft: Draft, element: Element, alone: Descriptor, action: actions.CreateTable, tables: Tables) -> Draft:
    """A new table with foreign keys: those to itself are public with it, others move in both tables."""
    sketch = Sketch(replace(alone, state=State.PUBLIC), tables=tables)
    for foreign_key in action.foreign_keys:
        add_foreign_key(sketch, foreign_key)
    itself = [one for one in sketch.there if one.partner is not None and one.partner[0] == alone.table_id]
    sides = [side for one in itself for side in (sketch.new[one], sketch.there[one]) if isinstance(side, Constraint)]
    table = replace(
        alone,
        constraints=(*alone.constraints, *(replace(side, state=State.PUBLIC) for side in sides)),
        next_constraint_id=sketch.planned.next_constraint_id,
    )
    others = [one for one in sketch.there if one not in itself]
    return replace(
        draft,
        moves=(*draft.moves, *(Move(one, MoveKind.ADD) for one in others)),
        new={element: table, **{one: sketch.new[one] for one in others}},
        dangers=tuple(slow_deletes(sketch)),
        partners=partners_of(others, alone, tables),
        there={one: sketch.there[one] for one in others},
    )


def _bare_table(action: actions.CreateTable, table_id: TableId) -> Descriptor:
    named = action.columns if action.primary_key else (*action.columns, ROW_IDS)
    ids = {column.name.text: ColumnId(number) for number, column in enumerate(named, 1)}
    key = tuple(_column_id(ids, name) for name in action.primary_key or (actions.ROW_ID,))
    columns = tuple(_new_column(column, ids[column.name.text], key) for column in named)
    for column, new in zip(columns, named, strict=True):
        if column.id in key:
            refuse_unsorted(column, new.name.position)
    sharding_key: tuple[ColumnId, ...] = ()
    storages = 0 if action.storages is None else action.storages.value
    if action.sharding_key:
        given = check_key(action.sharding_key, action.sharding_function, columns)
        sharding_key = () if given == key else given
    else:
        check_default_key([column for column in columns if column.id in key], action.sharding_function)
    return Descriptor(
        table_id=table_id,
        name=action.table.text,
        version=1,
        state=State.DELETE_ONLY,
        columns=columns,
        primary_key=key,
        placements=(Placement(FIRST_PLACEMENT, sharding_key, action.sharding_function.text, storages=storages),),
        next_column_id=ColumnId(len(ids) + 1),
        coordination=action.coordination,
        key_constraint=action.key_name,
    )


def _with_constraints(action: actions.CreateTable, table: Descriptor, tables: Tables) -> Descriptor:
    sketch = Sketch(table, tables=tables)
    checks = tuple(replace(sketch.add_check(check), state=State.PUBLIC) for check in action.checks)
    indexes: list[Index] = []
    for unique in action.uniques:
        columns = "" if unique.guards_key else "_".join(column.text for column in unique.columns)
        otherwise = object_name(action.table.text, columns, GUARD if unique.guards_key else "key")
        name = actions.Name(otherwise) if unique.name == actions.UNNAMED else unique.name
        parts = tuple(map(actions.IndexPart, unique.columns))
        _, index = sketch.add_index(name, parts, unique=True, is_constraint=not unique.guards_key)
        indexes.append(replace(index, state=State.PUBLIC))
    return replace(
        table,
        indexes=tuple(indexes),
        constraints=checks,
        next_index_id=sketch.planned.next_index_id,
        next_constraint_id=sketch.planned.next_constraint_id,
    )


def _column_id(ids: dict[str, ColumnId], name: actions.Name) -> ColumnId:
    if name.text not in ids:
        message = f'column "{name}" named in key does not exist'
        raise DdlError(UNDEFINED_COLUMN, message, position=name.position)
    return ids[name.text]


def _new_column(column: actions.NewColumn, column_id: ColumnId, key: tuple[ColumnId, ...]) -> Column:
    return Column(
        id=column_id,
        name=column.name.text,
        type=column.type,
        not_null=column.not_null or column_id in key,
        default=column.default,
        identity=column.identity,
        length=column.length,
        identity_always=column.identity_always,
        identity_start=column.identity_start,
        sequence=column.sequence,
    )


def _drop_table(action: actions.DropTable, table: Descriptor, tables: Tables) -> Draft:
    check_table_is_free(table, tables, action.table.position)
    element = Element(Kind.TABLE, table.table_id, table.name)
    dangers = (
        Sentence(
            "All rows of {name} are deleted; undoing the change later restores its structure, not its rows.",
            name=table.name,
        ),
    )
    draft = _of_table(table, Move(element, MoveKind.DROP), dangers)
    return _with_foreign_keys(draft, table, tables) if table.foreign_keys else draft


def _with_foreign_keys(draft: Draft, table: Descriptor, tables: Tables) -> Draft:
    """Foreign keys of a dropped table are absent before it leaves public."""
    for one in table.foreign_keys:
        check_public(one.name, "constraint", one.state, None)
    foreign_keys = tuple(element_of(one) for one in table.foreign_keys)
    partners = partners_of(foreign_keys, table, tables)
    names = {partner.table_id: partner.name for partner in (table, *partners)}
    warnings = tuple(
        Sentence(
            "Foreign key {name} to {other} is dropped with it, before the table leaves public.",
            name=one.name,
            other=names[one.references],
        )
        for one in table.foreign_keys
        if one.references is not None
    )
    return replace(
        draft,
        moves=(*draft.moves, *(Move(element, MoveKind.DROP) for element in foreign_keys)),
        late=frozenset(move.element for move in draft.moves),
        dangers=(*draft.dangers, *warnings),
        partners=partners,
    )


def _of_table(table: Descriptor, move: Move, dangers: tuple[str, ...] = ()) -> Draft:
    return Draft(table.table_id, table.name, table, (move,), dangers=dangers)


# Indexes


def _create_index(action: actions.CreateIndex, table: Descriptor, tables: Tables) -> Draft:
    if any(index.name == action.index.text for index in table.indexes):
        raise DdlError(DUPLICATE_TABLE, f'relation "{action.index}" already exists', position=action.index.position)
    sketch = Sketch(table, tables=tables)
    _, index = sketch.add_index(action.index, action.columns, unique=action.unique, where=action.where)
    sketch.costs.append(
        Sentence(
            "Every row of {name} is read once; each later write of it also writes {index}.",
            name=table.name,
            index=index.name,
        )
    )
    if index.unique:
        same = Sentence("If two rows have the same values the check fails, and the change rolls back.")
        sketch.dangers.append(same)
    return sketch.draft()


def _drop_index(action: actions.DropIndex, table: Descriptor, tables: Tables) -> Draft:
    index = public_index(action.index, table)
    if index.primary or index.is_constraint:
        message = f"cannot drop index {index.name} because constraint {index.name} on table {table.name} requires it"
        hint = f"You can drop constraint {index.name} on table {table.name} instead."
        raise DdlError(DEPENDENT_OBJECTS, message, position=action.index.position, hint=hint)
    check_index_is_free(index, table, tables, action.index.position, f"index {index.name}")
    element = Element(index.kind, index.id, index.name)
    dangers = (
        Sentence("Queries that use {index} read the whole table instead, from the first version on.", index=index.name),
        Sentence("Past delete-only it can't be cancelled: its entries are incomplete from then on."),
        *slow_without(index, table, tables),
    )
    return _of_table(table, Move(element, MoveKind.DROP), dangers)
