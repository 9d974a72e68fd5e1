"""The staging table of a COPY FROM, into which PostgreSQL itself reads what the client sends. Pure.

It has the name, the public columns, defaults and constraints of the version that is written. So formats, options,
defaults, WHERE, NOT NULL and CHECK are PostgreSQL's, and its errors name the client's table, line and column. It is
alone in its session's `pg_temp`, and goes with the transaction that made it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, State
from catalog.text.sql_names import quoted
from catalog.values.types import WHOLE, SqlType, type_of_bytes
from expressions.limits import VALUE_BYTES_MAX
from nodes.sql.writes.pieces import Assembled
from nodes.sql.writes.row_rules import Rules
from storage.shadow.shown import shown_table

NUMBERED = "nullif(1, 1)"
"""The default of an identity column that the data may leave open: NULL, for which the node takes a number."""


@dataclass(frozen=True, slots=True)
class CopyIn:
    """COPY .. FROM STDIN into columns of a table. `text` lacks the WHERE, if there is one."""

    descriptor: Descriptor
    text: Assembled
    columns: tuple[Column, ...]
    header: int
    """Lines before the first row."""
    is_csv: bool
    leaves_out: bool
    """A row with a wrong value is left out, with a notice."""
    has_where: bool
    takes_defaults: bool
    """The data may say that a column takes its default."""

    @property
    def is_counted(self) -> bool:
        """Each row of the data becomes one of the table, so that its line is known."""
        return not self.leaves_out and not self.has_where

    @property
    def read(self) -> tuple[Column, ...]:
        """The columns whose values the staging table gives; what is left is for the node to number."""
        return tuple(c for c in self.descriptor.public_columns if not c.identity or c in self.columns)

    def create_sql(self, defaults: Mapping[ColumnId, str]) -> str:
        """`defaults`: expressions of the columns that have one."""
        shown = shown_table(self.descriptor, {})
        assert shown is not None, "a table that is written is public"
        parts = []
        for column, one in zip(self.descriptor.public_columns, shown.columns, strict=True):
            is_numbered = bool(column.identity) and (self.takes_defaults or column not in self.columns)
            default = NUMBERED if is_numbered else defaults.get(column.id)
            required = one.required is not None and not is_numbered
            given = f" DEFAULT {default}" if default is not None else ""
            parts.append(f"{quoted(column.name)} {_type(column)}{given}{' NOT NULL' if required else ''}")
        parts += [f"CONSTRAINT {quoted(check.name)} CHECK ({check.condition})" for check in shown.checks]
        return f"CREATE TABLE {self.name} ({', '.join(parts)})"

    @property
    def name(self) -> str:
        return f"pg_temp.{quoted(self.descriptor.name)}"

    @property
    def read_sql(self) -> str:
        return f"SELECT {', '.join(map(_value, self.read))} FROM {self.name}"

    def rules_left(self, rules: Rules) -> Rules:
        """The rules that the staging table has not: those of what is not public. What is numbered is never NULL."""
        known = {column.id for column in self.read}
        required = tuple(r for r in rules.required if r[1] is not None or not (r[0].identity or r[0].id in known))
        checks = tuple(c for c in rules.checks if c[0].state is not State.PUBLIC)
        return replace(rules, required=required, checks=checks)


def _value(column: Column) -> str:
    """A column in its store's type; of a value that is too long as much as shows that."""
    name = quoted(column.name)
    if column.type in WHOLE:
        return f"{name}::{column.type.value}"
    if column.type in (SqlType.TEXT, SqlType.VARCHAR, SqlType.BYTEA) and column.length is None:
        return f"substring({name}, 1, {VALUE_BYTES_MAX + 1})"
    return name


def _type(column: Column) -> str:
    if column.type in WHOLE and column.length is not None:  # nodes of the narrower type still read it
        return type_of_bytes(column.length).value
    return column.type_name
