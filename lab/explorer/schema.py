"""The model's table: a primary key, one column, and the element that is on its way.

index, unique index    t (id, a)   index by_a on a
column                 t (id, a)   the column a itself
constraint             t (id, a)   NOT NULL on a
placement              t (id, a)   by id, and by a
table                  t (id, a)   the table itself
"""

from catalog.descriptor import Descriptor
from catalog.elements import (
    Column,
    ColumnId,
    Constraint,
    ConstraintId,
    Index,
    IndexColumn,
    IndexId,
    Kind,
    Placement,
    PlacementId,
    State,
    TableId,
)
from catalog.states import Write, rule
from catalog.types import SqlType
from lab.explorer.model import Model, Stage
from storage import encoding
from storage.clauses import element_label
from storage.pairs import PairName

ID, A = ColumnId(1), ColumnId(2)
BY_A = IndexId(1)
NOT_NULL = ConstraintId(1)
OLD, NEW = PlacementId(1), PlacementId(2)
FIRST_VALUE = 11
"""Row numbers and values do not overlap, so an encoded piece of a key tells which of the two it is."""

FILLED = frozenset({Kind.REQUIRED_COLUMN, Kind.INDEX, Kind.UNIQUE_INDEX, Kind.PLACEMENT})
VERIFIED = frozenset({Kind.UNIQUE_INDEX, Kind.CONSTRAINT})
"""The kinds whose change may fail because of what users wrote: duplicates, NULLs."""

DELETED = frozenset(Kind) - {Kind.CONSTRAINT}


def encoded(number: int) -> bytes:
    """The model's value `number` in the store; 0 is NULL."""
    return encoding.encode(SqlType.BIGINT, None if number == 0 else FIRST_VALUE - 1 + number)


def row_key_of(row: int) -> bytes:
    return encoding.encode(SqlType.BIGINT, row)


FILL_VALUE = encoded(1)
DEFAULT = encoded(2)
"""What an insert puts into a required column it cannot name: not the fill value, so that they can't be mistaken."""


def descriptor(model: Model, stage: Stage, version: int, *, filling: bool) -> Descriptor:
    """Version `version` of the model's table, with its elements in the states of `stage`."""
    kind, state = model.kind, stage[-1]
    return Descriptor(
        table_id=TableId(1),
        name="t",
        version=version,
        columns=(Column(ID, "id", SqlType.BIGINT, not_null=True), *_column(kind, state, filling)),
        primary_key=(ID,),
        indexes=_index(kind, state, filling),
        constraints=_not_null(kind, state),
        placements=_placements(model, stage, filling),
        state=state if kind is Kind.TABLE else State.PUBLIC,
    )


def _column(kind: Kind, state: State, filling: bool) -> tuple[Column, ...]:
    if kind is Kind.CONSTRAINT:
        return (Column(A, "a", SqlType.BIGINT, not_null=state is State.PUBLIC),)
    if kind not in (Kind.OPTIONAL_COLUMN, Kind.REQUIRED_COLUMN):
        return (Column(A, "a", SqlType.BIGINT),)
    if state is State.ABSENT:
        return ()
    required = kind is Kind.REQUIRED_COLUMN
    fill_value = FILL_VALUE if required else None
    return (Column(A, "a", SqlType.BIGINT, state, added_with_default=required, fill_value=fill_value, filling=filling),)


def _index(kind: Kind, state: State, filling: bool) -> tuple[Index, ...]:
    if kind not in (Kind.INDEX, Kind.UNIQUE_INDEX) or state is State.ABSENT:
        return ()
    unique = kind is Kind.UNIQUE_INDEX
    return (Index(BY_A, "by_a", (IndexColumn(A),), unique=unique, state=state, filling=filling),)


def _not_null(kind: Kind, state: State) -> tuple[Constraint, ...]:
    if kind is not Kind.CONSTRAINT or state is State.ABSENT:
        return ()
    return (Constraint(NOT_NULL, "a_not_null", "not null", (A,), state=state),)


def _placements(model: Model, stage: Stage, filling: bool) -> tuple[Placement, ...]:
    if model.kind is not Kind.PLACEMENT:
        return (Placement(OLD),)
    old = Placement(OLD, state=stage[0])
    new = Placement(NEW, sharding_key=(A,) if model.by_value else (), state=stage[1], filling=filling)
    return tuple(p for p in (old, new) if p.state is not State.ABSENT)


def refuses_null(described: Descriptor) -> bool:
    """Whether this version makes writers keep NOT NULL."""
    states = (rule(c.kind, c.state).insert for c in described.constraints)
    return Write.ENFORCE in states


def is_of_element(kind: Kind, name: PairName, *, placement: PlacementId = NEW) -> bool:
    """Whether a pair is one of the element's that is on its way."""
    if kind in (Kind.INDEX, Kind.UNIQUE_INDEX):
        return name.index == BY_A
    if kind in (Kind.OPTIONAL_COLUMN, Kind.REQUIRED_COLUMN):
        return name.column == A
    if kind is Kind.PLACEMENT:
        return name.placement == placement
    return kind is Kind.TABLE


def element_labels(described: Descriptor, kind: Kind) -> frozenset[str]:
    """What `storage.clauses` calls the element: its tombstones are allowed until the change has ended."""
    elements: tuple[Column | Index | Placement, ...] = tuple(c for c in described.columns if c.id == A)
    if kind in (Kind.INDEX, Kind.UNIQUE_INDEX):
        elements = described.indexes
    if kind is Kind.PLACEMENT:
        elements = described.placements
    return frozenset(element_label(element) for element in elements)
