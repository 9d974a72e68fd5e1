"""The tables of models: t (id, a), or child (id, a) and parent (id), with the elements that move: the column or table
itself, an index by_a (perhaps WHERE a = 11), NOT NULL or CHECK (a = 11), a foreign key (L11), placements by id and by
a. A parent's key and the value that refers to it are encoded alike, so values stand for parents."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

from catalog.descriptor import Descriptor
from catalog.elements import (
    EXISTS,
    FOREIGN_KEY,
    PRIMARY,
    Column,
    ColumnId,
    Constraint,
    ConstraintId,
    Derivation,
    Index,
    IndexColumn,
    IndexId,
    Kind,
    Placement,
    PlacementId,
    State,
    TableId,
)
from catalog.text.message import Text
from catalog.values.types import SqlType, limit_of
from changes.plan.model import Element
from lab.explorer.model import TWINS, WIDTHS, Model, Stage
from lab.explorer.rules_left_out import Broken
from storage import encoding
from storage.integrity.clauses import element_label
from storage.integrity.constraints import constraint_violations
from storage.pairs import PairName, StoredRow

ID, A, TWIN = ColumnId(1), ColumnId(2), ColumnId(3)
TABLE = TableId(1)
INDEX_NAMES = {1: "by_a", 2: "by_a_too"}
CONSTRAINT = ConstraintId(1)
OLD, NEW = PlacementId(1), PlacementId(2)
FIRST_VALUE = 11
"""Row numbers and values do not overlap, so an encoded piece of a key tells which of the two it is."""

FIRST_ONLY = f'"#{A}" = {FIRST_VALUE}'
"""What a CHECK demands, and a partial index accepts."""

OWN_LINK = Constraint(
    CONSTRAINT, "t_a_fkey", FOREIGN_KEY, (A,), references=TABLE, reference_columns=(ID,), partner=ConstraintId(2),
    index=PRIMARY,
)  # fmt: skip
BOTH_ENDS = (OWN_LINK, OWN_LINK.mirrored(TABLE))
CHILD, PARENT = 0, 1
"""The tables of a foreign key, by their place in a stage."""

NAMES = ("child", "parent")
IDS = (TABLE, TableId(2))
LINK_NAME = "child_a_fkey"
LINK = Constraint(
    CONSTRAINT, LINK_NAME, FOREIGN_KEY, (A,), references=IDS[PARENT], reference_columns=(ID,), partner=CONSTRAINT,
    index=PRIMARY,
)  # fmt: skip


@cache
def encoded(number: int) -> bytes:
    """The model's value `number` in the store; 0 is NULL."""
    return encoding.encode(SqlType.BIGINT, None if number == 0 else FIRST_VALUE - 1 + number)


@cache
def row_key_of(row: int) -> bytes:
    return encoding.encode(SqlType.BIGINT, row)


FILL_VALUE = encoded(1)
DEFAULT = encoded(2)
"""What an insert puts into a required column it cannot name: not the fill value, so that they can't be mistaken."""


BEYOND = 40_000
"""A value that a smallint lacks."""

TYPES = {"narrow": (SqlType.SMALLINT, None), "bounded": (SqlType.BIGINT, SqlType.SMALLINT.typlen)}


def numbers_of(model: Model) -> tuple[int, ...]:
    return (1, BEYOND) if model.widths else tuple(range(1, model.values + 1))


def width_of(described: Descriptor) -> Text:
    column = described.column(A)
    return WIDTHS[next((word for word, of in TYPES.items() if of == (column.type, column.length)), "wide")]


def has_room(column: Column, number: int) -> bool:
    """True if the column can hold a value; every column can hold NULL (0)."""
    value, _ = encoding.decode(SqlType.BIGINT, encoded(number))
    assert value is None or isinstance(value, int)
    limit = limit_of(column.type, column.length)
    return value is None or -limit <= value < limit


NOTHING: frozenset[int] = frozenset()


def elements_of(model: Model) -> tuple[Element, ...]:
    """The elements that move, in the order of a stage; placements are two, a foreign key is one."""
    if model.has_placements:
        return Element(Kind.PLACEMENT, OLD, "the old placement"), Element(Kind.PLACEMENT, NEW, "the new placement")
    if model.kinds == TWINS:
        return Element(Kind.DERIVED_COLUMN, A, "a"), Element(Kind.DERIVED_COLUMN, TWIN, "a (new)")
    numbers = iter(INDEX_NAMES)
    return tuple(_element(model, kind, next(numbers) if kind.is_index else 1) for kind in model.kinds)


def _element(model: Model, kind: Kind, number: int) -> Element:
    if kind.is_index:
        return Element(kind, number, INDEX_NAMES[number])
    if kind.is_user_column:
        return Element(kind, A, "a")
    if kind is Kind.TABLE:
        return Element(kind, TABLE, "t")
    if model.foreign_key or model.refers_to_itself:
        link = LINK if model.foreign_key else OWN_LINK
        assert link.references is not None
        assert link.partner is not None
        return Element(kind, link.id, link.name, partner=(link.references, link.partner))
    return Element(kind, CONSTRAINT, _constraint_name(model), column=None if model.check else A)


def tables_of(
    model: Model, stage: Stage, versions: Sequence[int], *, filling: frozenset[int] = NOTHING
) -> tuple[Descriptor, ...]:
    how, how_of_parent = model.coordinations
    if not model.foreign_key:
        return (replace(descriptor(model, stage, versions[0], filling=filling), coordination=how),)
    *columns, child, parent = stage
    bare = descriptor(model, (*columns, child), versions[CHILD], filling=filling)
    bare = replace(bare, name=NAMES[CHILD], coordination=how)
    key = Column(ID, "id", SqlType.BIGINT, not_null=True)
    there = Descriptor(IDS[PARENT], NAMES[PARENT], versions[PARENT], (key,), (ID,), next_column_id=A)
    there = replace(there, coordination=how_of_parent)
    return _bearing(bare, LINK, child), _bearing(there, LINK.mirrored(IDS[CHILD]), parent)


def _bearing(table: Descriptor, link: Constraint, state: State) -> Descriptor:
    borne = () if state is State.ABSENT else (replace(link, state=state),)
    return replace(table, constraints=borne, next_constraint_id=ConstraintId(1 + len(borne)))


def descriptor(model: Model, stage: Stage, version: int, *, filling: frozenset[int] = NOTHING) -> Descriptor:
    elements = [_Part(kind, stage[at], at in filling) for at, kind in enumerate(model.kinds)]
    columns = (Column(ID, "id", SqlType.BIGINT, not_null=True), *_column(model, elements, version))
    indexes = tuple(_indexes(model, [part for part in elements if part.kind.is_index], ID if model.apart else A))
    constraints = tuple(_constraints(model, elements))
    return Descriptor(
        table_id=TABLE,
        name="t",
        version=version,
        columns=columns,
        primary_key=(ID,),
        indexes=indexes,
        constraints=constraints,
        placements=_placements(model, stage, bool(filling)),
        state=stage[0] if model.kind is Kind.TABLE else State.PUBLIC,
        next_column_id=ColumnId(1 + max(column.id for column in columns)),
        next_index_id=IndexId(1 + max((index.id for index in indexes), default=0)),
        next_constraint_id=ConstraintId(1 + max((one.id for one in constraints), default=0)),
    )


@dataclass(frozen=True, slots=True)
class _Part:
    kind: Kind
    state: State
    filling: bool


def _column(model: Model, parts: Sequence[_Part], version: int) -> Iterator[Column]:
    """The column a. It stays in a version that has lost it while an index or constraint still needs it."""
    if model.widths:
        sql_type, length = TYPES.get(model.widths.split(",")[version - 1], (SqlType.BIGINT, None))
        yield Column(A, "a", sql_type, length=length)
        return
    if model.kinds == TWINS:
        yield from _twins(*parts)
        return
    moves = next((part for part in parts if part.kind.is_user_column), None)
    not_null = any(_is_public_not_null(model, part) for part in parts)
    if moves is None:
        yield Column(A, "a", SqlType.BIGINT, not_null=not_null)
        return
    others = any(part.state is not State.ABSENT for part in parts)
    if moves.state is State.ABSENT and (model.apart or not others):
        return
    required = moves.kind is Kind.REQUIRED_COLUMN
    yield Column(
        A,
        "a",
        SqlType.BIGINT,
        moves.state,
        not_null=not_null,
        default=str(FIRST_VALUE if model.check else FIRST_VALUE + 1) if required else None,
        added_with_default=required,
        fill_value=FILL_VALUE if required else None,
        filling=moves.filling,
    )


def _twins(old: _Part, twin: _Part) -> Iterator[Column]:
    is_swapped = twin.state is State.PUBLIC
    if old.state is not State.ABSENT:
        back = Derivation(TWIN, f'"#{TWIN}"') if is_swapped else None
        yield Column(A, "a (old)" if is_swapped else "a", SqlType.BIGINT, old.state, derived=back)
    if twin.state is not State.ABSENT:
        yield Column(
            TWIN,
            "a" if is_swapped else "a (new)",
            SqlType.BIGINT,
            twin.state,
            added_with_default=is_swapped,
            filling=twin.filling,
            derived=None if is_swapped else Derivation(A, f'"#{A}"'),
        )


def value_column(described: Descriptor) -> Column | None:
    """The column that users call a: of two twins, the one that is not derived."""
    return next((c for c in described.columns if c.id in (A, TWIN) and c.derived is None), None)


def _is_public_not_null(model: Model, part: _Part) -> bool:
    """A public NOT NULL belongs to the column; while it moves it is a constraint."""
    is_constraint = part.kind is Kind.CONSTRAINT and part.state is State.PUBLIC
    return is_constraint and not (model.check or model.foreign_key or model.refers_to_itself)


def _indexes(model: Model, parts: Sequence[_Part], over: ColumnId) -> Iterator[Index]:
    where = FIRST_ONLY if model.partial else None
    for number, part in enumerate(parts, 1):
        if part.state is not State.ABSENT:
            unique, name = part.kind is Kind.UNIQUE_INDEX, INDEX_NAMES[number]
            columns = (IndexColumn(over),)
            yield Index(IndexId(number), name, columns, unique, where, state=part.state, filling=part.filling)


def _constraints(model: Model, parts: Sequence[_Part]) -> Iterator[Constraint]:
    for part in parts:
        if part.kind is not Kind.CONSTRAINT or part.state is State.ABSENT:
            continue
        if model.refers_to_itself:
            yield from (replace(one, state=part.state) for one in BOTH_ENDS)
        elif model.check:
            yield Constraint(CONSTRAINT, _constraint_name(model), "check", (A,), FIRST_ONLY, state=part.state)
        elif part.state is not State.PUBLIC:
            yield Constraint(CONSTRAINT, _constraint_name(model), "not null", (A,), state=part.state)


def _placements(model: Model, stage: Stage, filling: bool) -> tuple[Placement, ...]:
    if not model.has_placements:
        return (Placement(OLD),)
    before, after = model.storage_counts
    old = Placement(OLD, (), _function(model), stage[0], storages=before)
    new = Placement(NEW, (A,) if model.by_value else (), _function(model), stage[1], filling, after)
    if model.lacks(Broken.IN_PLACE) and old.state is State.ABSENT:
        return (replace(old, state=State.PUBLIC, storages=after),)
    return tuple(p for p in (old, new) if p.state is not State.ABSENT)


def _function(model: Model) -> str:
    """A function by which rows 1 and 2 lie apart on three storages, and together on two."""
    return "mpcrc32" if model.storages else "strcrc32"


def refuses(described: Descriptor, row: StoredRow) -> bool:
    return bool(constraint_violations(described, row))


def names_of(model: Model) -> list[str]:
    if model.kinds == TWINS:
        return ["column a", "its twin"]
    indexes = iter(INDEX_NAMES.values())
    return [next(indexes) if kind.is_index else _name(model, kind) for kind in model.kinds]


def _name(model: Model, kind: Kind) -> str:
    match kind:
        case Kind.TABLE:
            return "table t"
        case Kind.PLACEMENT:
            return "the new placement"
        case Kind.CONSTRAINT:
            return _constraint_name(model)
    return "column a"


def _constraint_name(model: Model) -> str:
    if model.refers_to_itself or model.foreign_key:
        return OWN_LINK.name if model.refers_to_itself else LINK_NAME
    return "a_is_11" if model.check else "a_not_null"


def part_of(model: Model, name: PairName) -> int | None:
    """The place of the element that a pair belongs to; None for what does not move."""
    if model.has_placements:
        return 0 if name.placement == NEW else None
    if model.kind is Kind.TABLE:
        return 0
    if name.index != PRIMARY:
        indexes = [at for at, kind in enumerate(model.kinds) if kind.is_index]
        return indexes[name.index - 1]
    if model.kinds == TWINS:
        return {A: 0, TWIN: 1}.get(name.column or EXISTS)
    columns = (at for at, kind in enumerate(model.kinds) if kind.is_user_column)
    return next(columns, None) if name.column == A else None


def element_labels(described: Descriptor, model: Model) -> frozenset[str]:
    """The elements' names in `storage.integrity.clauses`, which allows their tombstones during a change."""
    elements: list[Column | Index | Placement] = [*described.indexes]
    elements += [c for c in described.columns if c.id != ID]
    elements += described.placements if model.has_placements else ()
    return frozenset(element_label(element) for element in elements)
