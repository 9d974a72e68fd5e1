"""COPY, from its parse tree: FROM is an INSERT of rows that are still to come, TO a query. It refuses what would reach
the file system of a node, or start a program there."""

from collections.abc import Mapping, Sequence
from typing import Any

from catalog.descriptor import Descriptor
from catalog.elements import Column
from catalog.text.sql_names import quoted
from expressions.analysis.building import Parameters
from expressions.dates.zones import PLAIN, TimeStyle
from expressions.errors import (
    DUPLICATE_COLUMN,
    FEATURE_NOT_SUPPORTED,
    INVALID_COLUMN_REFERENCE,
    SYNTAX_ERROR,
    WRONG_OBJECT_TYPE,
    SqlError,
    unsupported,
)
from nodes.copy.options import forced_quotes, option
from nodes.copy.staging import CopyIn
from nodes.sql.naming import NO_VIEWS, SCHEMAS, ViewInUse, table_of
from nodes.sql.planner import Planner, make_plan
from nodes.sql.plans import InsertPlan, Plan
from nodes.sql.statements import Statement
from nodes.sql.writes.assignments import column_named
from nodes.sql.writes.pieces import Assembled, Pieces, assembled
from nodes.sql.writes.questions import Described
from nodes.sql.writes.row_rules import rules_of
from nodes.sql.writes.source_text import Reading

Node = Any
COPIES = FROM, TO = "copy from", "copy to"
NO_HEADER = ("false", "off", "0")
NOT_HERE = "Anyone can COPY to stdout or from stdin. psql's \\copy reads and writes files of the client."
LARGE = " `manage.py load` loads large files."


class CopyPlanner(Planner):
    def _plan(self, kind: str, node: Node) -> Plan:
        refuse_files(node)
        return self.copy_from(node)

    def copy_from(self, node: Node) -> InsertPlan:
        if self.is_view(node.relation):
            hint = "copy into the tables that it reads"
            raise SqlError(WRONG_OBJECT_TYPE, f'cannot copy to view "{node.relation.relname}"', hint=hint)
        descriptor = table_of(self.catalog, node.relation)
        columns, (scan, _) = copied(descriptor, node.attlist), self.scope(node, descriptor)
        has_where, format_, header = node.HasField("where_clause"), option(node, "format"), option(node, "header")
        copy = CopyIn(
            descriptor,
            self._text(node, descriptor, columns),
            columns,
            header=int(header not in (None, *NO_HEADER)),
            is_csv=format_ == "csv",
            leaves_out=option(node, "on_error") == "ignore",
            has_where=has_where,
            takes_defaults=option(node, "default") is not None,
        )
        defaults, rules = self.defaults(descriptor), copy.rules_left(rules_of(descriptor))
        return InsertPlan(descriptor, columns, (), None, defaults, rules, None, None, scan, copy=copy)

    def _text(self, node: Node, descriptor: Descriptor, columns: Sequence[Column]) -> Assembled:
        """COPY into the staging table, with the options as the statement words them."""
        written = self.source_text(node, descriptor).written
        clauses, names = written.clauses, ", ".join(quoted(column.name) for column in columns)
        is_binary = written.verb + 1 < written.target and clauses.words[written.verb + 1] == "binary"
        options = clauses.next(written.target, written.end, "from") + 2
        end = clauses.next(options, written.end, "where")
        verb = "COPY BINARY" if is_binary else "COPY"
        pieces: Pieces = (f"{verb} pg_temp.{quoted(descriptor.name)} ({names}) FROM STDIN ",)
        pieces += (clauses.slice(options, end),) if options < end else ()
        return assembled(self.statement.text, pieces)


def copied(descriptor: Descriptor, names: Sequence[Node]) -> tuple[Column, ...]:
    if not len(names):
        return descriptor.public_columns
    columns: list[Column] = []
    for item in names:
        column = column_named(descriptor, item.string.sval, -1)
        if column in columns:
            raise SqlError(DUPLICATE_COLUMN, f'column "{column.name}" specified more than once')
        columns.append(column)
    return tuple(columns)


def check_copy_to(node: Node, tables: Mapping[str, Descriptor], views: Mapping[str, ViewInUse]) -> None:
    """Raises `SqlError` for a COPY TO that is none of a query or of columns of a table."""
    refuse_no_query(node)
    if node.HasField("query"):
        return
    if node.relation.relname in views and node.relation.schemaname in SCHEMAS:
        hint = "Try the COPY (SELECT ...) TO variant."
        raise SqlError(WRONG_OBJECT_TYPE, f'cannot copy from view "{node.relation.relname}"', hint=hint)
    descriptor = table_of(tables, node.relation)
    names = {column.name for column in copied(descriptor, node.attlist)}
    for name in forced_quotes(node) if option(node, "format") == "csv" else ():
        if name not in names:  # the query in place of the table has other words for it
            column_named(descriptor, name, -1)
            raise SqlError(INVALID_COLUMN_REFERENCE, f'FORCE_QUOTE column "{name}" not referenced by COPY')


def refuse_no_query(node: Node) -> None:
    """Raises `SqlError` for a COPY TO that reaches a file, or that no SELECT stands for."""
    refuse_files(node)
    if node.HasField("where_clause"):
        raise SqlError(SYNTAX_ERROR, "WHERE clause not allowed with COPY TO")
    if not node.HasField("query"):
        return
    if node.query.WhichOneof("node") != "select_stmt":
        raise unsupported("COPY of a statement that writes", hint="run it by itself, with RETURNING")
    if node.query.select_stmt.HasField("into_clause"):
        raise SqlError(FEATURE_NOT_SUPPORTED, "COPY (SELECT INTO) is not supported")


def refuse_files(node: Node) -> None:
    way = "from" if node.is_from else "to"
    hint = NOT_HERE + (LARGE if node.is_from else "")
    if node.is_program:
        raise unsupported(f"COPY {way} a program", hint=hint)
    if node.filename:
        raise unsupported(f"COPY {way} a file", hint=hint)


def make_copy_plan(
    statement: Statement,
    catalog: Mapping[str, Descriptor],
    parameters: Parameters,
    style: TimeStyle = PLAIN,
    views: Mapping[str, ViewInUse] = NO_VIEWS,
    reading: Reading | None = None,
    answers: Sequence[Described] = (),
) -> Plan:
    return make_plan(statement, catalog, parameters, style, CopyPlanner, views, reading, answers)
