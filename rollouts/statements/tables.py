"""Tables: columns, keys, constraints, triggers; and rows as values, which lie beside the immutable schema, so that all
worlds of a stage share it. A row's identity is its first primary key: updates of the key are not modelled."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from rollouts.statements.errors import Refused
from rollouts.statements.expressions import Expression
from rollouts.statements.values import Type, Value

Identity = tuple[Value, ...]
Values = tuple[Value, ...]
Rows = Mapping[Identity, Values]
Contents = Mapping[str, Rows]
Write = tuple[str, Identity, Values | None]
"""A row that a statement wrote; without values it is deleted."""

Lock = tuple[str, str, Identity, bool]
"""Table, what is locked of it ("row", or the name of a unique key), which one, and True for an exclusive lock."""


HIDDEN = " (not public)"
"""The end of the name of a column that a version of Schema Lab does not show: no statement can name it."""


def hidden(name: str) -> str:
    return f"{name}{HIDDEN}"


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    type: Type
    is_required: bool = False
    default: Expression | None = None
    generated: Expression | None = None
    not_null: str = ""
    """The name of its NOT NULL; "": the one that PostgreSQL gives."""


@dataclass(frozen=True, slots=True)
class Unique:
    """A primary key, unique constraint or index; over columns or expressions, of all rows or some."""

    name: str
    parts: tuple[Expression, ...]
    columns: tuple[str, ...]
    condition: Expression | None = None
    is_constraint: bool = False
    """A constraint is dropped as one, not as its index."""

    @property
    def is_plain(self) -> bool:
        """True if it is over columns, of all rows: what a foreign key needs, and USING INDEX."""
        return self.condition is None and "" not in self.columns

    @property
    def uses(self) -> frozenset[str]:
        """Columns without which it is dropped."""
        parts = [*self.parts, *((self.condition,) if self.condition else ())]
        return frozenset().union(*(part.columns for part in parts))

    def of(self, row: Mapping[str, Value]) -> Identity | None:
        """The row's key; None with a NULL in it, or outside of the condition."""
        if self.condition is not None and not self.condition(row, {}):
            return None
        found = tuple(part(row, {}) for part in self.parts)
        return None if None in found else found


@dataclass(frozen=True, slots=True)
class Index:
    """One that is not unique: no row depends on it, but its name does."""

    name: str
    uses: frozenset[str]


@dataclass(frozen=True, slots=True)
class Check:
    """One that is not valid yet holds for new rows only."""

    name: str
    condition: Expression
    is_valid: bool = True


@dataclass(frozen=True, slots=True)
class Reference:
    """A foreign key. `action` is PostgreSQL's letter of ON DELETE."""

    name: str
    columns: tuple[str, ...]
    parent: str
    parent_columns: tuple[str, ...]
    action: str = "a"
    is_valid: bool = True


@dataclass(frozen=True, slots=True)
class Trigger:
    """Before INSERT or UPDATE, over `old.c` and `new.c`; of an INSERT every `old.c` is NULL."""

    name: str
    condition: Expression | None
    sets: tuple[tuple[str, Expression], ...]


@dataclass(frozen=True, slots=True)
class Table:
    """`key` names its primary key among `uniques`; "" without one."""

    name: str
    columns: tuple[Column, ...]
    key: str = ""
    uniques: tuple[Unique, ...] = ()
    checks: tuple[Check, ...] = ()
    references: tuple[Reference, ...] = ()
    triggers: tuple[Trigger, ...] = ()
    indexes: tuple[Index, ...] = ()
    names: tuple[str, ...] = field(init=False, default=())

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(column.name for column in self.columns))

    @property
    def relations(self) -> frozenset[str]:
        """The names of its indexes."""
        return frozenset([*(one.name for one in self.uniques), *(one.name for one in self.indexes)])

    @property
    def constraints(self) -> frozenset[str]:
        """The names of its constraints, but for NOT NULL."""
        keys = (one.name for one in self.uniques if one.is_constraint)
        return frozenset([*keys, *(one.name for one in self.checks), *(one.name for one in self.references)])

    def referred(self, reference: Reference) -> Unique | None:
        """The key of this table that a foreign key to it depends on."""
        wanted = set(reference.parent_columns)
        return next((one for one in self.uniques if one.is_plain and set(one.columns) == wanted), None)

    @property
    def types(self) -> dict[str, Type]:
        return {column.name: column.type for column in self.columns}

    @property
    def public_names(self) -> tuple[str, ...]:
        """The columns of a statement that names none."""
        return tuple(name for name in self.names if not name.endswith(HIDDEN))

    def row(self, values: Values) -> dict[str, Value]:
        return dict(zip(self.names, values, strict=True))

    def values(self, row: Mapping[str, Value]) -> Values:
        return tuple(row[name] for name in self.names)

    def column(self, name: str) -> Column:
        """Raises 42703."""
        for column in self.columns:
            if column.name == name:
                return column
        raise Refused("42703", f'column "{name}" of relation "{self.name}" does not exist')

    def with_column(self, name: str, change: Callable[[Column], Column]) -> "Table":
        self.column(name)
        return replace(self, columns=tuple(change(c) if c.name == name else c for c in self.columns))

    @property
    def primary(self) -> Unique | None:
        return next((one for one in self.uniques if one.name == self.key), None)


Schema = Mapping[str, Table]


def table_of(schema: Schema, name: str) -> Table:
    """Raises 42P01."""
    if name not in schema:
        raise Refused("42P01", f'relation "{name}" does not exist')
    return schema[name]


def check_row(table: Table, row: Mapping[str, Value]) -> None:
    """Raises 23502 or 23514."""
    for column in table.columns:
        if column.is_required and row[column.name] is None:
            text = f'null value in column "{column.name}" of relation "{table.name}" violates not-null constraint'
            raise Refused("23502", text)
    for check in table.checks:
        if check.condition(row, {}) is False:
            text = f'new row for relation "{table.name}" violates check constraint "{check.name}"'
            raise Refused("23514", text)


def check_unique(table: Table, unique: Unique, rows: Rows) -> None:
    """Raises 23505 for two rows with the same key."""
    seen: set[Identity] = set()
    for values in rows.values():
        key = unique.of(table.row(values))
        if key is not None and key in seen:
            raise Refused("23505", f'duplicate key value violates unique constraint "{unique.name}"')
        if key is not None:
            seen.add(key)


def check_reference(
    schema: Schema, reference: Reference, table: Table, rows: Iterable[Values], contents: Contents
) -> None:
    """Raises 23503 for a row that refers to none."""
    parent = table_of(schema, reference.parent)
    there = {
        tuple(row[name] for name in reference.parent_columns)
        for row in map(parent.row, contents.get(parent.name, {}).values())
    }
    for row in map(table.row, rows):
        key = tuple(row[name] for name in reference.columns)
        if None not in key and key not in there:
            text = f'insert or update on table "{table.name}" violates foreign key constraint "{reference.name}"'
            raise Refused("23503", text)


def applied(contents: Contents, writes: Iterable[Write]) -> dict[str, Rows]:
    result: dict[str, Rows] = dict(contents)
    fresh: dict[str, dict[Identity, Values]] = {}
    for table, identity, values in writes:
        if table not in result:
            continue
        rows = fresh.get(table)
        if rows is None:
            rows = fresh[table] = dict(result[table])
            result[table] = rows
        if values is None:
            rows.pop(identity, None)
        else:
            rows[identity] = values
    return result
