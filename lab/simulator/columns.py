"""The column that a value belongs to, whatever its name and its type have become. The ledger stores values by the
*root*, the first column in a row of twins, of which each has a new id and takes over name and values."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, State, TableId
from catalog.values.types import SqlType
from lab.cluster.control_plane import Control
from lab.scripts.text import value_text
from lab.simulator.oracle import Rows, RowWrite, Write
from storage.pairs import missing_value

NULL = "null"


@dataclass
class Columns:
    control: Control
    roots: dict[tuple[TableId, ColumnId], Column] = field(default_factory=dict)

    def root(self, table: TableId, column: ColumnId) -> Column:
        """The first column of a row of twins, as its first version has it."""
        known = self.roots.get((table, column))
        if known is None:
            versions = self.control.published[table]
            first = next(c for version in versions for c in version.columns if c.id == column)
            known = first if first.derived is None else self.root(table, first.derived.source)
            self.roots[table, column] = known
        return known

    def meant(self, write: Write, descriptor: Descriptor) -> RowWrite:
        """The values that a statement wrote under this version; a write-only column got its default."""
        table = descriptor.table_id
        if write.verb == "update":
            column = descriptor.column_named(str(write.column))
            return RowWrite(write, {self.root(table, column.id).id: write.values[0]})
        if write.verb != "insert":
            return RowWrite(write)
        given = zip(descriptor.public_columns[1:], write.values, strict=True)
        values = {self.root(table, column.id).id: value for column, value in given}
        for column in descriptor.columns:
            if column.state is State.WRITE_ONLY and column.derived is None:
                values[self.root(table, column.id).id] = _missing(column)
        return RowWrite(write, values)

    def texts(self, rows: Rows, descriptor: Descriptor) -> list[str]:
        """The rows that a query under this version must see, as scripts write them, sorted."""
        return sorted(f"({', '.join((key, *self._values(descriptor, row)))})" for key, row in rows.items())

    def _values(self, descriptor: Descriptor, row: Mapping[ColumnId, str]) -> list[str]:
        found = []
        for column in descriptor.public_columns[1:]:
            root = self.root(descriptor.table_id, column.id)
            literal = row.get(root.id)
            found.append(_as_type(column.type, _missing(root) if literal is None else literal))
        return found


def _missing(column: Column) -> str:
    return value_text(column, missing_value(column))


def _as_type(sql_type: SqlType, literal: str) -> str:
    if literal == NULL or (sql_type is SqlType.TEXT) is literal.startswith("'"):
        return literal
    return f"'{literal}'" if sql_type is SqlType.TEXT else literal.strip("'")
