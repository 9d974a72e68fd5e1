"""The effect of a move on a descriptor. Only this module finds and replaces elements of each kind. A NOT NULL is a
constraint while it moves, and the column's property once public. A foreign key stands in two descriptors, or twice in
one; `partner_of` is its other side."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from catalog.descriptor import Descriptor, UnknownElement
from catalog.elements import (
    FOREIGN_KEY,
    Column,
    ColumnId,
    Constraint,
    ConstraintId,
    Index,
    IndexId,
    Kind,
    Placement,
    PlacementId,
    State,
)
from changes.plan.model import Element, Step, StepKind, Transition
from storage.reads import reads

NewElement = Column | Index | Constraint
AnyElement = NewElement | Placement
T = TypeVar("T", bound=AnyElement)


def state_of(descriptor: Descriptor, element: Element) -> State:
    if element.kind is Kind.TABLE:
        return descriptor.state
    if element.column is not None and any(one.id == element.column and one.not_null for one in descriptor.columns):
        return State.PUBLIC
    if element.kind.is_column:  # a table may have 1,600
        try:
            return descriptor.column(ColumnId(element.id)).state
        except UnknownElement:
            return State.ABSENT
    found = [one.state for one in _places(descriptor, element) if one.id == element.id]
    return found[0] if found else State.ABSENT


def is_filling(descriptor: Descriptor, element: Element) -> bool:
    """True when a reorganisation fills `element` in this version (R4)."""
    return any(one.id == element.id and getattr(one, "filling", False) for one in _places(descriptor, element))


def with_state(descriptor: Descriptor, element: Element, state: State, *, filling: bool = False) -> Descriptor:
    """The version with `element` in another state; both sides of a foreign key of a table to itself."""
    if element.kind is Kind.TABLE:
        return replace(descriptor, state=state)
    if element.column is not None:
        # A public NOT NULL is the column's; one that moves is a constraint
        column_id = ColumnId(element.column)
        column = replace(descriptor.column(column_id), not_null=state is State.PUBLIC, not_null_constraint=None)
        others = tuple(one for one in descriptor.constraints if one.id != element.id)
        bare = replace(descriptor, columns=_exchanged(descriptor.columns, column), constraints=others)
        if state in (State.PUBLIC, State.ABSENT):
            return bare
        number = ConstraintId(element.id)
        return with_new(bare, Constraint(number, element.name, "not null", (column_id,), state=state))
    if element.kind.is_column:
        column = replace(descriptor.column(ColumnId(element.id)), state=state, filling=filling)
        return replace(descriptor, columns=_exchanged(descriptor.columns, column))
    if element.kind.is_index:
        index = replace(descriptor.index(IndexId(element.id)), state=state, filling=filling)
        return replace(descriptor, indexes=_exchanged(descriptor.indexes, index))
    if element.kind is Kind.PLACEMENT:
        moving = next(one for one in descriptor.placements if one.id == element.id)
        placement = replace(moving, state=state, filling=filling)
        return replace(descriptor, placements=_exchanged(descriptor.placements, placement))
    constraints = _exchanged(
        descriptor.constraints, replace(descriptor.constraint(ConstraintId(element.id)), state=state)
    )
    for other in descriptor.constraints:
        if (descriptor.table_id, other.id) == element.partner:
            constraints = _exchanged(constraints, replace(other, state=state))
    return replace(descriptor, constraints=constraints)


def with_new(descriptor: Descriptor, new: AnyElement) -> Descriptor:
    """The version with one more element, whose id is used up."""
    if isinstance(new, Placement):
        used_placement = PlacementId(max(descriptor.next_placement_id, new.id + 1))
        return replace(descriptor, placements=(*descriptor.placements, new), next_placement_id=used_placement)
    if isinstance(new, Column):
        used = ColumnId(max(descriptor.next_column_id, new.id + 1))
        return replace(descriptor, columns=(*descriptor.columns, new), next_column_id=used)
    if isinstance(new, Index):
        used_index = IndexId(max(descriptor.next_index_id, new.id + 1))
        return replace(descriptor, indexes=(*descriptor.indexes, new), next_index_id=used_index)
    used_constraint = ConstraintId(max(descriptor.next_constraint_id, new.id + 1))
    return replace(descriptor, constraints=(*descriptor.constraints, new), next_constraint_id=used_constraint)


def with_changed(descriptor: Descriptor, new: AnyElement) -> Descriptor:
    if isinstance(new, Placement):
        return replace(descriptor, placements=_changed(descriptor.placements, new))
    if isinstance(new, Column):
        return replace(descriptor, columns=_changed(descriptor.columns, new))
    if isinstance(new, Index):
        return replace(descriptor, indexes=_changed(descriptor.indexes, new))
    return replace(descriptor, constraints=_changed(descriptor.constraints, new))


def element_of(constraint: Constraint) -> Element:
    """A constraint as an element; a foreign key with its other side."""
    partner = None
    if constraint.rule == FOREIGN_KEY:
        assert constraint.references is not None, constraint
        assert constraint.partner is not None, constraint
        partner = (int(constraint.references), int(constraint.partner))
    return Element(Kind.CONSTRAINT, constraint.id, constraint.name, partner=partner)


def partner_of(element: Element) -> Element:
    """A foreign key as the referenced table has it."""
    assert element.partner is not None, f"{element} spans no tables"
    return Element(Kind.CONSTRAINT, element.partner[1], element.name)


def referring_to(table: Descriptor, elements: Iterable[Element]) -> tuple[Element, ...]:
    return tuple(e for e in elements if e.partner is not None and e.partner[0] == table.table_id)


def definition_of(element: Element, versions: Iterable[Descriptor]) -> NewElement | None:
    """The element in the first version that has it; None for a table, a placement and a NOT NULL."""
    if element.column is not None:
        return None
    found = (one for version in versions for one in _places(version, element) if one.id == element.id)
    return next((one for one in found if not isinstance(one, Placement)), None)


def columns_read(element: Element, versions: Iterable[Descriptor]) -> frozenset[ColumnId]:
    if element.column is not None:
        return frozenset({ColumnId(element.column)})
    found = definition_of(element, versions)
    return frozenset() if found is None else reads(found)


def moved(descriptor: Descriptor, element: Element, state: State, *, filling: bool = False) -> Descriptor:
    return with_state(descriptor, element, state, filling=filling).next_version()


def publish(
    before: Descriptor | None, after: Descriptor, elements: Iterable[Element], partners: tuple[Descriptor, ...] = ()
) -> Step:
    moves = [
        Transition(element, state_of(before, element) if before else State.ABSENT, state_of(after, element))
        for element in elements
    ]
    made = tuple(t for t in moves if t.before is not t.after)
    return Step(StepKind.PUBLISH, after.version, made, after, partners=partners)


def drain(after: Descriptor, partners: tuple[Descriptor, ...] = ()) -> Step:
    """The step that waits until no transaction uses an older version (L9, L11)."""
    return Step(StepKind.DRAIN, after.version, partners=partners)


def _places(descriptor: Descriptor, element: Element) -> Sequence[AnyElement]:
    if element.kind.is_column:
        return descriptor.columns
    if element.kind.is_index:
        return descriptor.indexes
    if element.kind is Kind.PLACEMENT:
        return descriptor.placements
    return descriptor.constraints if element.kind is Kind.CONSTRAINT else ()


def _exchanged(there: tuple[T, ...], new: T) -> tuple[T, ...]:
    return tuple(one for one in _changed(there, new) if one.state is not State.ABSENT)


def _changed(there: tuple[T, ...], new: T) -> tuple[T, ...]:
    return tuple(new if one.id == new.id else one for one in there)
