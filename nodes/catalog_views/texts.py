"""Indexes, constraints and defaults as SQL, in PostgreSQL's words: for people without what needs not be said."""

import re

from catalog.descriptor import Descriptor
from catalog.elements import CHECK, RESTRICT, Column, ColumnId, Constraint
from catalog.values.types import SqlType
from expressions.rows import columns_of as read_columns
from expressions.rows import is_operation, shown
from expressions.sqltypes import OF_SQL_TYPE
from storage.shadow.keys import Key
from storage.shadow.names import quoted

_QUOTED = re.compile(r"'([^']|'')*'")


def columns_of(table: Descriptor, constraint: Constraint) -> tuple[ColumnId, ...]:
    """The columns that a constraint is about: those it names, or those it reads, in the table's order."""
    if constraint.rule == CHECK and constraint.expression is not None:
        return tuple(sorted(read_columns(constraint.expression), key=lambda column: table.column(column).number))
    return constraint.columns


def condition_of(table: Descriptor, expression: str | None) -> str | None:
    """A kept predicate with this version's names, in brackets if it is an operation, as PostgreSQL shows it."""
    if expression is None:
        return None
    text = shown(table, expression)
    return f"({text})" if is_operation(text) else text


def default_of(column: Column) -> str:
    """A default; a quoted constant has its type, as PostgreSQL shows it."""
    text = column.default or ""
    if _QUOTED.fullmatch(text):
        name = "bpchar" if column.type is SqlType.CHAR else OF_SQL_TYPE[column.type].name
        return f"{text}::{name}"
    return f"({text})" if is_operation(text) else text


def _listed(table: Descriptor, columns: tuple[ColumnId, ...]) -> str:
    return ", ".join(quoted(table.column(column).name) for column in columns)


def _bare(condition: str, *, pretty: bool) -> str:
    return condition[1:-1] if pretty and condition.startswith("(") and condition.endswith(")") else condition


def index_of(table: Descriptor, key: Key, *, pretty: bool) -> str:
    parts = (quoted(table.column(p.column).name) + (" DESC" if p.descending else "") for p in key.columns)
    name = quoted(table.name) if pretty else f"public.{quoted(table.name)}"
    unique = "UNIQUE " if key.unique else ""
    where = condition_of(table, key.where)
    condition = f" WHERE {_bare(where, pretty=pretty)}" if where is not None else ""
    return f"CREATE {unique}INDEX {quoted(key.name)} ON {name} USING btree ({', '.join(parts)}){condition}"


def key_of(table: Descriptor, key: Key) -> str:
    word = "PRIMARY KEY" if key.primary else "UNIQUE"
    return f"{word} ({_listed(table, tuple(part.column for part in key.columns))})"


def constraint_of(table: Descriptor, constraint: Constraint, other: Descriptor | None, *, pretty: bool) -> str:
    """A CHECK or a foreign key; `other` is the table that it refers to."""
    if constraint.rule == CHECK:
        condition = condition_of(table, constraint.expression) or ""
        return f"CHECK ({_bare(condition, pretty=pretty)})"
    assert other is not None, f"{constraint.name} refers to nothing"
    actions = "".join(
        f" ON {word} RESTRICT"
        for word, does in (("UPDATE", constraint.on_update), ("DELETE", constraint.on_delete))
        if does == RESTRICT
    )
    there = f"{quoted(other.name)}({_listed(other, constraint.reference_columns)})"
    return f"FOREIGN KEY ({_listed(table, constraint.columns)}) REFERENCES {there}{actions}"
