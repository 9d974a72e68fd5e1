"""Names that a query may use: the columns of its FROM, and those of the queries around it. Only public columns of a
table's descriptor are found; naming another raises an error with its state and why."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, State
from catalog.text.similar import similar
from expressions.errors import AMBIGUOUS_COLUMN, UNDEFINED_COLUMN, UNDEFINED_TABLE, SqlError
from expressions.sqltypes import OF_SQL_TYPE, TEXT, VARCHAR, modifier_of_length
from expressions.typed import Call, ColumnRef, Expr, bare, is_constant

WHY = {
    State.DELETE_ONLY: "a schema change has only begun to add it, or is about to remove it",
    State.WRITE_ONLY: "a schema change is still filling it, or has begun to remove it",
    State.ABSENT: "it is not there yet",
}


@dataclass(eq=False)
class Scan:
    """One use of a table in a statement: which columns it needs and what is known of them."""

    number: int
    descriptor: Descriptor
    used: set[ColumnId] = field(default_factory=set)
    conditions: list[Expr] = field(default_factory=list)
    place: tuple[int, ...] = ()
    """Where its name stands in the text; of a view's table, where the view's does, then where it is in the view."""

    @property
    def sql(self) -> str:
        return f"r{self.number}"

    @functools.cached_property
    def pinned_key(self) -> tuple[Expr, ...] | None:
        """The constants that pin the whole primary key; asked for only when all conditions are known."""
        return pinned_key(self.descriptor, self.conditions)

    @functools.cached_property
    def used_columns(self) -> tuple[Column, ...]:
        """The columns it needs; asked for only when the statement is analysed."""
        return tuple(c for c in self.descriptor.columns if c.id in self.used)


@dataclass(eq=False)
class Relation:
    """A relation in FROM, by the name the query gives it; a table's columns are made when they are named.
    `is_nullable`: an outer join may put NULLs in place of a row."""

    number: int
    name: str
    columns: dict[str, Expr] = field(default_factory=dict)
    scan: Scan | None = None
    is_nullable: bool = False
    duplicates: frozenset[str] = frozenset()
    named: Mapping[str, ColumnId] | None = None
    """The columns of a table that are seen, by other names than it gives them; None: all, by its own."""

    def names(self) -> list[str]:
        if self.named is not None:
            return list(self.named)
        if self.scan is not None:
            return [c.name for c in self.scan.descriptor.public_columns]
        return list(self.columns)

    def has(self, name: str) -> bool:
        return name in (self.columns if self.scan is None else self._public)

    @functools.cached_property
    def _public(self) -> frozenset[str]:
        return frozenset(self.names())

    def column(self, name: str) -> Expr:
        if name in self.duplicates:
            raise SqlError(AMBIGUOUS_COLUMN, f'column reference "{name}" is ambiguous')
        if self.scan is not None and name not in self.columns:
            descriptor = self.scan.descriptor
            column = descriptor.column_named(name) if self.named is None else descriptor.column(self.named[name])
            self.scan.used.add(column.id)
            self.columns[name] = reference(self.scan, column)
        return self.columns[name]


def reference(scan: Scan, column: Column) -> ColumnRef:
    sql = f"{scan.sql}.c{column.id}"
    origin = (scan.descriptor.table_id, column.number)
    of = OF_SQL_TYPE[column.type]
    modifier = modifier_of_length(of, column.length)
    return ColumnRef(sql, of, column.name, scan.number, column.id, origin=origin, modifier=modifier)


@dataclass(frozen=True, eq=False)
class Merged:
    """A column that JOIN .. USING made of one on either side: it stands for theirs, and for no other relation's."""

    name: str
    expr: Expr
    relations: frozenset[Relation]


@dataclass(eq=False)
class Scope:
    parent: "Scope | None" = None
    relations: list[Relation] = field(default_factory=list)
    merged: list[Merged] = field(default_factory=list)
    is_reached: bool = False
    """A query within it has looked for a name here."""

    def merge(self, new: Merged) -> None:
        """Add a merged column. What was merged on one of its sides is part of it."""
        self.merged = [m for m in self.merged if m.name != new.name or not m.relations <= new.relations] + [new]

    def find(self, name: str, offset: int) -> Expr | None:
        """The column an unqualified name stands for, in this query or one around it."""
        merged = [m for m in self.merged if m.name == name and m.relations <= {*self.relations}]
        behind = {relation for m in merged for relation in m.relations}
        holders = [r for r in self.relations if r not in behind and r.has(name)]
        if len(merged) + len(holders) > 1:
            raise SqlError(AMBIGUOUS_COLUMN, f'column reference "{name}" is ambiguous', offset)
        if merged:
            return merged[0].expr
        if holders:
            return at(holders[0].column(name), offset)
        return self._outside().find(name, offset) if self.parent else None

    def relation(self, name: str) -> Relation | None:
        found = next((r for r in self.relations if r.name == name), None)
        return found or (self._outside().relation(name) if self.parent else None)

    def _outside(self) -> "Scope":
        assert self.parent is not None
        self.parent.is_reached = True
        return self.parent

    def hidden(self, name: str) -> tuple[Descriptor, Column] | None:
        """A column of that name that is not public."""
        for relation in self.relations:
            column = None if relation.scan is None else hidden_column(relation.scan.descriptor, name)
            if relation.scan is not None and column is not None:
                return relation.scan.descriptor, column
        return self.parent.hidden(name) if self.parent else None

    def resolve(self, parts: Sequence[str], offset: int) -> Expr:
        """The column that `name`, `relation.name` or `schema.relation.name` stands for. Raises 42703 or 42P01."""
        name = parts[-1]
        if len(parts) == 1:
            found = self.find(name, offset)
            if found is None:
                raise self.unknown(name, offset)
            return found
        relation = self.relation(parts[-2])
        if relation is None:
            raise SqlError(UNDEFINED_TABLE, f'missing FROM-clause entry for table "{parts[-2]}"', offset)
        if not relation.has(name):
            if relation.scan is not None and (column := hidden_column(relation.scan.descriptor, name)) is not None:
                raise not_public(relation.scan.descriptor, column, offset)
            hint = self.meant(name, relation)
            message = f"column {parts[-2]}.{name} does not exist"
            raise SqlError(UNDEFINED_COLUMN, message, offset, hint=hint, column=name)
        return at(relation.column(name), offset)

    def unknown(self, name: str, offset: int) -> SqlError:
        hidden = self.hidden(name)
        if hidden is not None:
            return not_public(*hidden, offset)
        if self.relation(name) is not None:
            message = f'"{name}" is a whole row: name its columns'
            return SqlError("0A000", message, offset, hint=f"row_to_json({name}) is one value")
        hint = self.meant(name)
        return SqlError(UNDEFINED_COLUMN, f'column "{name}" does not exist', offset, hint=hint, column=name)

    def meant(self, name: str, only: Relation | None = None) -> str | None:
        """PostgreSQL's hint at the column that was probably meant, of this query or of one around it."""
        scope: Scope | None = self
        while scope is not None:
            relations = scope.relations if only is None else [only]
            owners = {column: relation.name for relation in relations for column in relation.names()}
            found = similar(name, owners)
            if found is not None:
                return f'Perhaps you meant to reference the column "{owners[found]}.{found}".'
            scope = scope.parent if only is None else None
        return None


def at(expr: Expr, offset: int) -> Expr:
    """The same column, seen at another place of the statement."""
    if isinstance(expr, ColumnRef):
        return replace(expr, offset=offset)
    return expr


def hidden_column(descriptor: Descriptor, name: str) -> Column | None:
    return next((c for c in descriptor.columns if c.name == name and c.state is not State.PUBLIC), None)


def not_public(descriptor: Descriptor, column: Column, offset: int) -> SqlError:
    return SqlError(
        UNDEFINED_COLUMN,
        f'column "{column.name}" of table "{descriptor.name}" is {column.state.value} in version {descriptor.version}:'
        f" {WHY[column.state]}",
        offset,
        hint="statements may name it once it is public",
    )


def pinned_key(descriptor: Descriptor, conditions: Sequence[Expr]) -> tuple[Expr, ...] | None:
    """The constants that `=` gives to each column of the primary key; None when a column has none."""
    given: dict[int, Expr] = {}
    for condition in conditions:
        if isinstance(condition, Call) and condition.name == "=":
            for column, constant in (condition.args, reversed(condition.args)):
                column = bare(column)
                if (
                    isinstance(column, ColumnRef)
                    and constant.type in (column.type, TEXT if column.type is VARCHAR else column.type)
                    and is_constant(constant)
                ):
                    given.setdefault(column.column_id, constant)
    if not given.keys() >= set(descriptor.primary_key):
        return None
    return tuple(given[column_id] for column_id in descriptor.primary_key)
