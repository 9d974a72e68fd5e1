"""The public parts of a version, as clients see them. Columns go by numbers, which a change of type keeps. Of an
expression's two texts `kept`, with columns by id, is compared; the one with this version's names is executed."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from catalog.descriptor import Descriptor
from catalog.elements import CHECK, FOREIGN_KEY, RESTRICT, Column, ColumnId, State
from catalog.text.sql_names import quoted
from catalog.view_definition import ViewColumn, ViewDefinition
from expressions.rows import columns_of, shown
from storage.shadow.keys import Key, is_shown_as_constraint, keys_of, required_columns

PRIMARY, UNIQUE, INDEX = "primary", "unique", "index"
SCHEMA = "public"


def relation(name: str, schema: str = SCHEMA) -> str:
    return f"{schema}.{quoted(name)}"


@dataclass(frozen=True, slots=True)
class Numbers:
    """An identity; `generation` changes when it was dropped and added again."""

    sequence: str
    always: bool
    start: int
    generation: int


@dataclass(frozen=True, slots=True)
class ShownColumn:
    number: int
    name: str
    type: str
    required: str | None
    default: str | None
    numbers: Numbers | None
    comment: str | None


@dataclass(frozen=True, slots=True)
class ShownKey:
    """A primary key, UNIQUE or index over columns, by number and descending or not."""

    id: int
    name: str
    kind: str
    columns: tuple[tuple[int, bool], ...]
    unique: bool
    kept: str | None
    reads: frozenset[int]
    comment: str | None
    constraint_comment: str | None
    condition: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class ShownCheck:
    id: int
    name: str
    kept: str
    reads: frozenset[int]
    comment: str | None
    condition: str = field(compare=False)


@dataclass(frozen=True, slots=True)
class ShownReference:
    """A foreign key; `others` are the referenced columns' numbers in table `table_id`."""

    id: int
    name: str
    columns: tuple[int, ...]
    table_id: int
    others: tuple[int, ...]
    key_id: int
    on_delete: str
    on_update: str
    comment: str | None


@dataclass(frozen=True, slots=True)
class ShownTable:
    table_id: int
    name: str
    comment: str | None
    columns: tuple[ShownColumn, ...]
    keys: tuple[ShownKey, ...]
    checks: tuple[ShownCheck, ...]
    references: tuple[ShownReference, ...]
    schema: str = SCHEMA

    def relation(self, index: str = "") -> str:
        """The table's name with its schema, or that of its index."""
        return relation(index or self.name, self.schema)

    def column(self, number: int) -> ShownColumn:
        return next(column for column in self.columns if column.number == number)


@dataclass(frozen=True, slots=True)
class ShownView:
    """A view: its query with today's names, and the columns that it reads, by table."""

    view_id: int
    revision: int
    name: str
    columns: tuple[ViewColumn, ...]
    query: str
    reads: tuple[tuple[int, frozenset[int]], ...]
    views: frozenset[int]
    zone: str
    order: str


def shown_table(table: Descriptor, others: dict[int, Descriptor]) -> ShownTable | None:
    """The table, or None unless public. A foreign key needs its table among `others`."""
    if table.state is not State.PUBLIC:
        return None
    required = required_columns(table)
    return ShownTable(
        table.table_id,
        table.name,
        table.comment,
        tuple(_column(table, column, is_required=column.id in required) for column in table.public_columns),
        tuple(_key(table, key) for key in keys_of(table)),
        tuple(
            ShownCheck(c.id, c.name, c.expression, _read(table, c.expression), c.comment, shown(table, c.expression))
            for c in table.constraints
            if c.rule == CHECK and c.state is State.PUBLIC and c.expression is not None
        ),
        tuple(_references(table, others)),
    )


def _column(table: Descriptor, column: Column, *, is_required: bool) -> ShownColumn:
    numbers = None
    if column.identity:
        sequence = table.sequence_name(column)
        numbers = Numbers(sequence, column.identity_always, column.identity_start, column.identity_generation)
    required = table.not_null_name(column) if is_required else None
    return ShownColumn(column.number, column.name, column.type_name, required, column.default, numbers, column.comment)


def _key(table: Descriptor, key: Key) -> ShownKey:
    kind = PRIMARY if key.primary else UNIQUE if is_shown_as_constraint(key) else INDEX
    index = next((one for one in table.indexes if one.id == key.id), None)
    return ShownKey(
        key.id,
        key.name,
        kind,
        tuple((table.column(part.column).number, part.descending) for part in key.columns),
        key.unique,
        key.where,
        _read(table, key.where),
        None if index is None else index.comment,
        table.key_comment if index is None else index.constraint_comment,
        None if key.where is None else shown(table, key.where),
    )


def _references(table: Descriptor, others: dict[int, Descriptor]) -> Iterable[ShownReference]:
    for one in table.constraints:
        other = None if one.references is None else others.get(one.references)
        if one.rule != FOREIGN_KEY or one.state is not State.PUBLIC or other is None:
            continue
        yield ShownReference(
            one.id,
            one.name,
            _numbers(table, one.columns),
            other.table_id,
            _numbers(other, one.reference_columns),
            one.index,
            "RESTRICT" if one.on_delete == RESTRICT else "NO ACTION",
            "RESTRICT" if one.on_update == RESTRICT else "NO ACTION",
            one.comment,
        )


def _numbers(table: Descriptor, columns: Iterable[ColumnId]) -> tuple[int, ...]:
    return tuple(table.column(column).number for column in columns)


def _read(table: Descriptor, expression: str | None) -> frozenset[int]:
    return frozenset() if expression is None else frozenset(_numbers(table, columns_of(expression)))


def shown_view(view: ViewDefinition, query: str, tables: dict[int, Descriptor]) -> ShownView:
    reads = tuple(
        (use.table_id, frozenset(_numbers(tables[use.table_id], use.columns.values()))) for use in view.tables
    )
    return ShownView(
        view.view_id,
        view.revision,
        view.name,
        view.columns,
        query,
        tuple((table_id, frozenset(numbers)) for table_id, numbers in reads),
        frozenset(use.view_id for use in view.views),
        view.zone,
        view.order,
    )
