"""A statement that writes as the store judges it: types of parameters, columns of the result, and mistakes. Pure.

    UPDATE public.t SET a = b + 1 FROM u WHERE t.id = u.id RETURNING u.c      of the client
    UPDATE pg_temp.t SET a = b + 1 FROM u WHERE t.id = u.id RETURNING u.c     parsed by the store, and never done

There t and u are empty tables, with the names, columns and keys of the versions that the statement uses
(`nodes.execution.judging`). So all that can be wrong with its words PostgreSQL says, in its own words.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from catalog.descriptor import Descriptor
from catalog.elements import Column
from catalog.text.sql_names import quoted
from catalog.values.types import type_name
from expressions.analysis.scopes import hidden_column, not_public
from expressions.dates.zones import TimeStyle
from expressions.errors import UNDEFINED_COLUMN, UNDEFINED_TABLE, SqlError, unsupported
from expressions.sqltypes import PARAMETER_OIDS, TEXT, UNKNOWN, Type, length_of_modifier
from nodes.sql.admission import Admitted
from nodes.sql.edits import Compiled, edited
from nodes.sql.naming import SCHEMA, ViewInUse, not_there
from nodes.sql.readable import refuse_calls
from nodes.sql.writes.pieces import Assembled
from nodes.wire.columns import Columns, Output
from nodes.wire.messages import Field
from nodes.wire.oids import view_number


@dataclass(frozen=True, slots=True)
class Described:
    """The types of the parameters of a text, and the columns of its result, as the store describes them.

    Of a statement that writes these name tables, views and columns by their own numbers.
    """

    parameters: Sequence[int]
    columns: Sequence[Field]


@dataclass(eq=False)
class Undescribed(Exception):
    """A text of which the store has to say what it is, with these types of parameters (0: open)."""

    whole: Assembled
    start: int
    query: Admitted
    oids: tuple[int, ...]

    def judged(self, names: Sequence[str]) -> Compiled:
        """The text for the store, where relations of these names are temporary. Raises as `refuse_calls` does."""
        try:
            refuse_calls(self.query)
        except SqlError as error:
            raise self.whole.placed(error, self.start) from None
        found = [
            one.location for one in self.query.of_kinds("RangeVar") if one.schemaname == SCHEMA and one.relname in names
        ]
        for one in self.query.of_kinds("ColumnRef"):
            parts = [part.string.sval for part in one.fields]
            found += [one.location] if len(parts) > 2 and parts[0] == SCHEMA and parts[1] in names else []
        words = [self.query.words.index(location) for location in found]
        return edited(self.query.text, [self.query.words.replacement(word, word, "pg_temp") for word in words])

    def place(self, byte: int) -> int:
        """The byte of the client's text that a byte of this one comes from."""
        return self.start + self.whole.origin(byte)

    def explained(self, error: SqlError, tables: Mapping[str, Descriptor]) -> SqlError:
        """PostgreSQL's error, with what the node knows of a name that it does not find."""
        at = error.offset
        if error.sqlstate == UNDEFINED_TABLE:
            named = next((one for one in self.query.of_kinds("RangeVar") if self.place(one.location) == at), None)
            error = error if named is None else not_there(named)
        elif error.sqlstate == UNDEFINED_COLUMN:
            columns = [(one.location, one.fields[-1].string.sval) for one in self.query.of_kinds("ColumnRef")]
            columns += [(one.location, one.name) for one in self.query.of_kinds("ResTarget")]
            error.column = next((name for location, name in columns if self.place(location) == at), None)
            for table in tables.values() if error.column is not None else ():
                hidden = hidden_column(table, error.column or "")
                if hidden is not None:
                    return not_public(table, hidden, at)
        error.offset = at
        return error


@dataclass(frozen=True, slots=True)
class EmptyTable:
    """A table without rows, of the names and types of a version. `number`: that of the table, or of the view."""

    name: str
    sql: str
    number: int
    columns: tuple[int, ...]
    """Their numbers, in their order."""


def empty_table(table: Descriptor) -> EmptyTable:
    """The table of a version: its columns, its key, and the names of what ON CONFLICT may call."""
    parts = [f"{quoted(column.name)} {column.type_name}{_identity(table, column)}" for column in table.public_columns]
    key = [table.column(column_id) for column_id in table.declared_key]
    if key and all(column in table.public_columns for column in key):
        columns = ", ".join(quoted(column.name) for column in key)
        parts.append(f"CONSTRAINT {_own_name(table)} PRIMARY KEY ({columns})")
    names = [table.key_name, *(index.name for index in table.public_indexes if index.unique)]
    parts += [f"CONSTRAINT {quoted(name)} CHECK (true)" for name in dict.fromkeys(names)]
    return _empty(table.name, parts, table.table_id, [column.number for column in table.public_columns])


def empty_view(view: ViewInUse) -> EmptyTable:
    """A view, as a table of its columns."""
    definition = view.definition
    columns = [f"{quoted(one.name)} {_type_of(one.type_oid, one.modifier)}" for one in definition.columns]
    return _empty(definition.name, columns, view_number(definition.view_id), range(1, len(columns) + 1))


def _empty(name: str, parts: Sequence[str], number: int, columns: Sequence[int]) -> EmptyTable:
    return EmptyTable(name, f"CREATE TABLE pg_temp.{quoted(name)} ({', '.join(parts)})", number, tuple(columns))


def _identity(table: Descriptor, column: Column) -> str:
    if not column.identity:
        return ""
    named = f"(SEQUENCE NAME pg_temp.{_own_name(table, column.number)})"
    return f" GENERATED {'ALWAYS' if column.identity_always else 'BY DEFAULT'} AS IDENTITY {named}"


def _own_name(table: Descriptor, number: int = 0) -> str:
    """A name for what PostgreSQL makes beside a table, which must not be that of another table."""
    return quoted(f"\x02{table.table_id} {number}")


def _type_of(oid: int, modifier: int) -> str:
    of = PARAMETER_OIDS.get(oid, TEXT)
    return of.name if of.sql_type is None else type_name(of.sql_type, length_of_modifier(of, modifier))


def outputs_of(columns: Sequence[Field]) -> tuple[Output, ...]:
    """Described columns. One of a type that a node has not has only its name."""
    found = []
    for column in columns:
        of = PARAMETER_OIDS.get(column.oid) or Type(f"oid {column.oid}", column.oid, column.typlen, UNKNOWN.category)
        found.append(Output(column.name, of, (column.table, column.column), column.modifier))
    return tuple(found)


def columns_of(outputs: Sequence[Output], style: TimeStyle) -> Columns:
    """The columns of a result. Raises 0A000 for one of a type that a node has not."""
    for output in outputs:
        if output.type.category == UNKNOWN.category:
            raise unsupported(f'column "{output.name}" of this type in a statement that writes', hint="cast it to text")
    return Columns(outputs, style)
