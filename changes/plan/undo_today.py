"""The undo offered today: found by ids, written with today's names, and planned before it is shown (X7). There is none
where it would lose a later change, be refused, or drop more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from catalog.descriptor import Descriptor
from catalog.elements import REFERENCED, Column, ColumnId, Constraint, ConstraintId, Index, Kind, State
from catalog.text.message import named_element
from catalog.text.sentence import Sentence, sentence_of
from changes.ddl.actions import CreateTable
from changes.ddl.errors import DdlError
from changes.ddl.resolve import CatalogView, NothingToDo, resolve
from changes.ddl.statements import parse
from changes.plan.element_states import AnyElement, definition_of
from changes.plan.model import Element, Move, MoveKind, Plan, name_in
from changes.plan.undo import Undo, undo_of
from changes.planning.planner import make_plan
from storage.reads import reads

ALTERED = ("type", "length", "default", "identity", "identity_always", "identity_start", "identity_generation")
"""The properties of a column that ALTER changes in place."""


class NoUndo(Exception):
    def __init__(self, template: str, **values: object) -> None:
        super().__init__(Sentence(template, **values))


@dataclass(frozen=True, slots=True)
class Offer:
    undo: Undo
    plan: Plan


def offer(plan: Plan, view: CatalogView) -> Offer:
    """The undo of a change that is done. Raises `NoUndo`."""
    named = plan
    if not plan.drops_table:
        today = view.numbered(plan.table_id)
        if today is None or today.state is not State.PUBLIC:
            raise NoUndo(
                "No undo: {element} no longer exists.", element=sentence_of(named_element("table", plan.result.name))
            )
        for move in plan.moves:
            _check_as_left(plan, move, today)
        # the plan, with every element that still exists under today's name; a rename keeps the name it took away
        renamed = {(e.kind.family, e.id) for e in plan.moving(MoveKind.RENAME)}
        result = _with_names_of(plan.result, today, set())
        base = None if plan.base is None else _with_names_of(plan.base, result, renamed)
        last = plan.forward.index(plan.publishes[-1])
        forward = (*plan.forward[:last], replace(plan.forward[last], descriptor=result), *plan.forward[last + 1 :])
        kept = (MoveKind.RENAME, MoveKind.DROP)
        moves = [
            move
            if move.kind in kept
            else replace(move, element=replace(move.element, name=name_in(result, move.element)))
            for move in plan.moves
        ]
        named = replace(plan, table=today.name, moves=tuple(moves), base=base, forward=forward)
    for one in _foreign_keys_back(plan):
        if one.references == plan.table_id:
            continue
        parent = None if one.references is None else view.numbered(one.references)
        there = set() if parent is None else {column.id for column in parent.public_columns}
        if not there.issuperset(one.reference_columns):
            raise NoUndo(
                "No undo: foreign key {name} refers to a table or column that no longer exists.", name=one.name
            )
    undo = undo_of(named, view)
    back = _planned(undo.statement, view)
    _check_reach(plan, back)
    _check_afterwards(undo, back, view)
    return Offer(undo, back)


def signature(moves: list[dict[str, Any]]) -> set[tuple[str, str, str]]:
    """The moves of a plan's JSON by names, which an undo has in common with what it brings back."""
    return {(move["direction"], move["kind"], move["name"]) for move in moves}


# --- the elements as the change left them


def _check_as_left(plan: Plan, move: Move, today: Descriptor) -> None:
    element, result = move.element, plan.result
    if move.kind is MoveKind.DROP:
        _check_read(plan, element, today)
        return
    if element.column in {one.id for one in plan.moving(MoveKind.DROP) if one.kind.is_user_column}:
        return  # a NOT NULL of a column that was dropped
    now, left = _found(element, today), _found(element, result)
    if now is None:
        raise NoUndo("No undo: {element} no longer exists.", element=element)
    if left is not None and _facets(move, now) != _facets(move, left):
        raise NoUndo("No undo: {element} has changed since.", element=element)


def _found(element: Element, table: Descriptor) -> Descriptor | AnyElement | None:
    if element.kind is Kind.TABLE:
        return table
    if element.column is not None:
        return next((one for one in table.columns if one.id == element.column and one.state is State.PUBLIC), None)
    places: Any = table.columns if element.kind.is_column else table.constraints
    places = table.indexes if element.kind.is_index else places
    places = table.placements if element.kind is Kind.PLACEMENT else places
    return next((one for one in places if one.id == element.id and one.state is State.PUBLIC), None)


def _facets(move: Move, found: Any) -> object:
    """The properties that the change gave; the name only after a rename."""
    if move.element.column is not None:
        return found.not_null
    if move.kind is MoveKind.RENAME:
        return found.name
    if move.kind is MoveKind.COMMENT:
        return [getattr(found, name, None) for name in ("comment", "key_comment", "constraint_comment")]
    if move.kind is MoveKind.ALTER and isinstance(found, Column):
        return [getattr(found, name) for name in ALTERED]
    if not isinstance(found, Descriptor):
        return _bare(found)
    if move.kind is MoveKind.ALTER:
        return found.coordination
    rules = [one for one in found.constraints if one.rule != REFERENCED]  # a table referred to cannot be dropped
    own: tuple[AnyElement, ...] = (*found.columns, *found.indexes, *rules, *found.placements)
    return found.primary_key, [_bare(one) for one in own], found.coordination


def _bare(one: AnyElement) -> AnyElement:
    if isinstance(one, Column):
        return replace(one, name="", comment=None, sequence=None, not_null_constraint=None)
    if isinstance(one, Index):
        return replace(one, name="", comment=None, constraint_comment=None)
    return replace(one, name="", comment=None) if isinstance(one, Constraint) else one


def _check_read(plan: Plan, element: Element, today: Descriptor) -> None:
    """The columns that an element reads must be the same, not namesakes."""
    assert plan.base is not None, "what is dropped was there"
    read = {ColumnId(element.column)} if element.column is not None else set()
    if element.kind is Kind.PLACEMENT:
        read |= {*plan.base.placement.sharding_key}
    definition = definition_of(element, [plan.base])
    if isinstance(definition, Index | Constraint):
        read |= reads(definition)
    there = {column.id for column in today.public_columns} | {c.id for c in plan.base.columns if c.is_hidden}
    back = {ColumnId(one.id) for one in plan.moving(MoveKind.DROP) if one.kind.is_column}
    if read - there - back:
        name = plan.base.column(min(read - there - back)).name
        raise NoUndo("No undo: column {name}, which {element} reads, no longer exists.", name=name, element=element)


def _foreign_keys_back(plan: Plan) -> Iterator[Constraint]:
    if plan.base is None:
        return
    if plan.drops_table:
        yield from plan.base.foreign_keys
        return
    for element in plan.moving(MoveKind.DROP):
        if element.partner is not None:
            yield plan.base.constraint(ConstraintId(element.id))


# --- today's names


def _with_names_of(table: Descriptor, named: Descriptor, kept: set[tuple[Any, int]]) -> Descriptor:
    """A column whose type was changed has the name of its twin."""
    columns = {one.number: one.name for one in named.columns} | {one.id: one.name for one in named.columns}
    indexes = {one.id: one.name for one in named.indexes}
    constraints = {one.id: one.name for one in named.constraints}

    def name_of(one: Any, names: dict[Any, str], *numbers: int) -> str:
        if (one.kind.family, one.id) in kept:
            return str(one.name)
        return next((names[number] for number in numbers if number in names), str(one.name))

    return replace(
        table,
        name=table.name if (Kind.TABLE.family, table.table_id) in kept else named.name,
        columns=tuple(replace(one, name=name_of(one, columns, one.id, one.number)) for one in table.columns),
        indexes=tuple(replace(one, name=name_of(one, indexes, one.id)) for one in table.indexes),
        constraints=tuple(replace(one, name=name_of(one, constraints, one.id)) for one in table.constraints),
        key_constraint=named.key_constraint,
    )


# --- what the undo would do


def _planned(statement: str, view: CatalogView) -> Plan:
    try:
        action = resolve(parse(statement), view)
        base = None if isinstance(action, CreateTable) else view.named(action.table.text)
        return make_plan(action, base, table_id=0, tables=view)
    except DdlError as refused:
        raise NoUndo("No undo: it would be refused ({message}).", message=refused.message) from refused
    except NothingToDo as nothing:
        raise NoUndo("No undo: it would be refused ({message}).", message=nothing) from nothing


def _check_reach(plan: Plan, back: Plan) -> None:
    if plan.moves[0].element.kind is Kind.TABLE:
        assert plan.drops_table or back.table_id == plan.table_id, f"{back.title} is not {plan.title}"
        return
    assert back.table_id == plan.table_id, f"{back.table} is not {plan.table}"
    moved = {_key(move.element) for move in plan.moves}
    moved |= {("not null", e.id) for e in plan.moving(MoveKind.ADD) if e.kind.is_column}
    for move in back.moves:
        if move.kind is not MoveKind.ADD and _key(move.element) not in moved:
            raise NoUndo("No undo: it would also change {element}.", element=move.element)


def _key(element: Element) -> tuple[object, int]:
    """An element by ids; a NOT NULL by its column, since its constraint gets a new id each time."""
    return (element.kind.family, element.id) if element.column is None else ("not null", element.column)


def _check_afterwards(undo: Undo, back: Plan, view: CatalogView) -> None:
    for statement in undo.afterwards:
        left = {table.table_id: table for table in (*view.tables, *back.results)}
        view = replace(view, tables=tuple(left.values()))
        back = _planned(statement, view)
