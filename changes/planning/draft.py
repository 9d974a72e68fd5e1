"""The draft of a statement: elements with ids and definitions, not yet in order. `planned` is the table with its new
columns as if public, for expressions of the statement."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import reduce

from catalog.descriptor import Descriptor
from catalog.elements import (
    REFERENCED,
    Column,
    ColumnId,
    Constraint,
    ConstraintId,
    Index,
    IndexColumn,
    IndexId,
    Kind,
    Placement,
    State,
)
from catalog.object_names import free_name
from catalog.text.similar import perhaps
from catalog.values.types import UNSORTED, SqlType
from changes.ddl.actions import UNNAMED, IndexPart, Name, NewCheck, Position, Sql
from changes.ddl.errors import (
    DUPLICATE_OBJECT,
    NOT_READY,
    NOT_SUPPORTED,
    UNDEFINED_COLUMN,
    UNDEFINED_OBJECT,
    DdlError,
    unsupported,
)
from changes.ddl.placing import placed
from changes.plan.element_states import NewElement, element_of
from changes.plan.model import Element, Move, MoveKind
from changes.planning.stages import Draft, Swap
from changes.planning.tables import NO_TABLES, Tables, partners_of
from expressions.rows import canonical, columns_of
from expressions.typed import Context, PyValue
from storage.reads import reads

Edit = Callable[[Descriptor], Descriptor]


@dataclass
class Sketch:
    base: Descriptor
    context: Context = field(default_factory=Context)
    tables: Tables = NO_TABLES
    leaving: frozenset[ConstraintId] = frozenset()
    """The foreign keys that the statement drops: what they depend on may be dropped with them."""
    planned: Descriptor = field(init=False)
    moves: list[Move] = field(default_factory=list)
    new: dict[Element, NewElement] = field(default_factory=dict)
    dropped: set[ColumnId] = field(default_factory=set)
    retyped: set[ColumnId] = field(default_factory=set)
    swaps: list[Swap] = field(default_factory=list)
    edits: list[Edit] = field(default_factory=list)
    later_edits: tuple[Edit, ...] = ()
    """Of versions that follow the first one."""
    last_edits: list[Edit] = field(default_factory=list)
    """Of one version after all others, when the change can only go on: what a rollback could not take back."""
    lifted: list[Edit] = field(default_factory=list)
    """Of the version after that: what only a version that knows the last edits may write."""
    dangers: list[str] = field(default_factory=list)
    costs: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    there: dict[Element, Constraint] = field(default_factory=dict)
    """The other side of an added foreign key, in the table that it references."""
    used: dict[IndexId, Index] = field(default_factory=dict)
    """The indexes that constraints come to use, as they will be."""
    placement: tuple[Element, Placement] | None = None
    fresh: dict[ColumnId, PyValue] = field(default_factory=dict)
    """The values of existing rows in added columns."""

    def __post_init__(self) -> None:
        self.planned = self.base

    # --- adding

    def add_column(self, column: Column) -> Element:
        element = Element(column.kind, column.id, column.name)
        self._add(element, column)
        public = replace(column, state=State.PUBLIC)
        used = ColumnId(column.id + 1)
        self.planned = replace(self.planned, columns=(*self.planned.columns, public), next_column_id=used)
        return element

    def add_index(
        self,
        name: Name,
        parts: Iterable[IndexPart],
        *,
        unique: bool,
        where: Sql | None = None,
        primary: bool = False,
        is_constraint: bool = False,
    ) -> tuple[Element, Index]:
        number = self.planned.next_index_id
        listed = tuple(parts)
        columns = tuple(IndexColumn(self.readable(part.column, "index"), part.descending) for part in listed)
        for part, column in zip(listed, columns, strict=True):
            refuse_unsorted(self.planned.column(column.column), part.column.position)
        kept = None if where is None else self.expression(where, SqlType.BOOLEAN, "index predicate", name.position)
        index = Index(
            number,
            name.text,
            columns,
            unique,
            kept,
            state=State.DELETE_ONLY,
            primary=primary,
            is_constraint=is_constraint,
        )
        self.planned = replace(self.planned, next_index_id=IndexId(number + 1))
        element = Element(index.kind, number, index.name)
        self._add(element, index)
        return element, index

    def add_placement(self, placement: Placement) -> Element:
        element = Element(placement.kind, placement.id, placement_name(self.base, placement))
        self.moves.append(Move(element, MoveKind.ADD))
        self.placement = element, placement
        return element

    def add_check(self, check: NewCheck) -> Constraint:
        kept = self.expression(check.expression, SqlType.BOOLEAN, "check constraint", check.position)
        columns = tuple(sorted(columns_of(kept)))
        only = [self.planned.column(columns[0]).name] if len(columns) == 1 else []
        name = self._constraint_name(check.name, only, "check")
        number = self.next_constraint()
        constraint = Constraint(number, name, "check", columns, kept, state=State.WRITE_ONLY)
        self._add(Element(Kind.CONSTRAINT, number, name), constraint)
        return constraint

    def foreign_key_name(self, given: Name, columns: Iterable[ColumnId]) -> str:
        """The name given, or PostgreSQL's: table_columns_fkey."""
        return self._constraint_name(given, [self.planned.column(column).name for column in columns], "fkey")

    def add_foreign_key(self, foreign_key: Constraint, parent: Descriptor) -> Element:
        """Adds this table's side, and the table that it references."""
        partner = self._next_constraint_of(parent)
        whole = replace(foreign_key, partner=partner)
        element = element_of(whole)
        self._add(element, whole)
        self.there[element] = whole.mirrored(self.base.table_id)
        return element

    def parent_of(self, foreign_key: Constraint) -> Descriptor:
        parents = partners_of((element_of(foreign_key),), self.base, self.tables)
        return parents[0] if parents else self.base

    def _next_constraint_of(self, parent: Descriptor) -> ConstraintId:
        if parent.table_id == self.base.table_id:
            return self.next_constraint()
        taken = sum(e.partner is not None and e.partner[0] == parent.table_id for e in self.there)
        return ConstraintId(parent.next_constraint_id + taken)

    def next_constraint(self) -> ConstraintId:
        number = self.planned.next_constraint_id
        self.planned = replace(self.planned, next_constraint_id=ConstraintId(number + 1))
        return number

    def _add(self, element: Element, new: NewElement) -> None:
        self.moves.append(Move(element, MoveKind.ADD))
        self.new[element] = new

    @property
    def new_constraint_names(self) -> frozenset[str]:
        """Names of new constraints and indexes; columns have other names."""
        return frozenset(one.name for one in (*self.new.values(), *self.used.values()) if not isinstance(one, Column))

    def _constraint_name(self, given: Name, columns: Iterable[str], word: str) -> str:
        also = self.new_constraint_names
        if given != UNNAMED:
            check_constraint_name(given, self.base, also)
            return given.text
        taken = constraint_names(self.base) | also
        return free_name(self.base.name, columns, word, taken.__contains__)

    # --- dropping

    def drop(self, element: Element) -> None:
        if all(move.element != element for move in self.moves):
            self.moves.append(Move(element, MoveKind.DROP))

    def drop_index(self, index: Index) -> None:
        check_public(index.name, "index", index.state, None)
        self.drop(Element(index.kind, index.id, index.name))

    def drop_constraint(self, constraint: Constraint) -> Element:
        check_public(constraint.name, "constraint", constraint.state, None)
        element = element_of(constraint)
        self.drop(element)
        return element

    def drops(self, index: Index) -> bool:
        return Move(Element(index.kind, index.id, index.name), MoveKind.DROP) in self.moves

    # --- reading

    def expression(self, sql: Sql, returns: SqlType, what: str, position: Position) -> str:
        """An expression over the table's columns; raises when it reads a dropped one."""
        with placed(sql.source, otherwise=position):
            judge = self.tables.judge
            kept = canonical(self.planned, sql.node or sql.text, returns=returns, what=what, judge=judge)
        for column in sorted(columns_of(kept)):
            self._check_stays(column, f"{what} {sql.text}", position)
        return kept

    def readable(self, name: Name, what: str) -> ColumnId:
        column = next((c for c in self.planned.columns if c.name == name.text), None)
        if column is None:
            hint = perhaps("column", name.text, (c.name for c in self.planned.public_columns))
            raise DdlError(UNDEFINED_COLUMN, f'column "{name}" does not exist', position=name.position, hint=hint)
        check_public(name.text, "column", column.state, name.position)
        self._check_stays(column.id, what, name.position)
        return column.id

    def _check_stays(self, column: ColumnId, what: str, position: Position) -> None:
        for dropped, why in ((self.dropped, "drops"), (self.retyped, "gives another type")):
            if column in dropped:
                message = f"{what} reads column {self.planned.column(column).name}, which this statement {why}"
                raise DdlError(NOT_SUPPORTED, message, position=position, hint="Send two statements.")

    # --- the result

    def draft(self) -> Draft:
        # new optional columns that a new index or constraint reads: they are written as soon as it is
        read = {column for new in self.new.values() for column in reads(new)}
        return Draft(
            self.base.table_id,
            self.base.name,
            self.base,
            tuple(self.moves),
            {**self.new, **dict(filter(None, [self.placement]))},
            covered=frozenset(e for e in self.new if e.kind is Kind.OPTIONAL_COLUMN and e.id in read),
            late=self._late(),
            swaps=tuple(self.swaps),
            edit=_one_after_the_other(self.edits) if self.edits else None,
            later_edits=(
                *self.later_edits,
                *(_one_after_the_other(edits) for edits in (self.last_edits, self.lifted) if edits),
            ),
            dangers=tuple(self.dangers),
            costs=tuple(self.costs),
            partners=partners_of((move.element for move in self.moves), self.base, self.tables),
            there=self.there,
        )

    def _late(self) -> frozenset[Element]:
        """Dropped columns and indexes that a dropped constraint needs: it is absent before they leave public."""
        dropped = {move.element for move in self.moves if move.kind is MoveKind.DROP}
        constraints = {one.id: one for one in self.base.constraints}
        columns: set[int] = {element.column for element in dropped if element.column is not None}
        indexes: set[int] = set()
        for element in dropped:
            if element.kind is Kind.CONSTRAINT and element.column is None:
                one = constraints[ConstraintId(element.id)]
                columns |= reads(one)
                if one.references == self.base.table_id:
                    columns |= set(one.reference_columns)
                    indexes.add(one.index)
        return frozenset(
            element
            for element in dropped
            if (element.kind.is_index and element.id in indexes)
            or (element.kind.is_user_column and element.id in columns)
        )


def _one_after_the_other(edits: Iterable[Edit]) -> Edit:
    every = tuple(edits)
    return lambda table: reduce(lambda here, edit: edit(here), every, table)


# --- names and states


def refuse_unsorted(column: Column, position: Position) -> None:
    """Keys and indexes need types whose bytes sort."""
    if column.type is SqlType.JSON:
        message = 'data type json has no default operator class for access method "btree"'
        raise DdlError(UNDEFINED_OBJECT, message, position=position)
    if column.type in UNSORTED:
        hint = "Keep what is looked for in a column of its own."
        raise unsupported(f"an index over {column.name}, a {column.type_name},", position=position, hint=hint)


def placement_name(table: Descriptor, placement: Placement) -> str:
    """A placement in words: "strcrc32(id) on 3 storages"."""
    key = placement.sharding_key or table.primary_key
    spread = f"{placement.function}({', '.join(table.column(column).shown for column in key)})"
    return f"{spread} on {storages_words(placement.storages)}" if placement.storages else spread


def storages_words(count: int) -> str:
    return "1 storage" if count == 1 else f"{count} storages"


def constraint_names(table: Descriptor) -> frozenset[str]:
    own = {one.name for one in table.constraints if one.rule != REFERENCED}
    key = set() if table.has_hidden_key else {table.key_name}
    return frozenset(own | key | {index.name for index in table.indexes if index.unique})


def check_constraint_name(name: Name, table: Descriptor, also: AbstractSet[str] = frozenset()) -> None:
    if name.text in constraint_names(table) | also:
        message = f'constraint "{name}" for relation "{table.name}" already exists'
        hint = "A name that is given up is free when the change is done: choose another one."
        raise DdlError(DUPLICATE_OBJECT, message, position=name.position, hint=hint)


def public_index(name: Name, table: Descriptor, *, what: str = "dropped") -> Index:
    """The public index of that name; raises `DdlError`."""
    index = next((index for index in table.indexes if index.name == name.text), None)
    if index is None:
        raise DdlError(UNDEFINED_OBJECT, f'index "{name}" does not exist', position=name.position)
    if index.state is not State.PUBLIC:
        message = f"index {index.name} is {index.state.value}: only a public index can be {what}"
        raise DdlError(NOT_READY, message, position=name.position, hint="Another change of it has not ended.")
    return index


def check_public(name: str, what: str, state: State, position: Position) -> None:
    if state is not State.PUBLIC:
        message = f"{what} {name} is {state.value}: only a public {what} can be used or changed"
        raise DdlError(NOT_READY, message, position=position, hint="Another change of it has not ended.")
