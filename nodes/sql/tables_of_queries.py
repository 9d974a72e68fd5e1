"""CREATE TABLE AS and SELECT INTO, read: the query, and the table that is made for its rows. The rows come through an
INSERT of this very query, so that parameters and places in the text are what they were."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import postgast
from postgast import pg_query_pb2 as pb

from catalog.values.types import type_name
from expressions import grammar
from expressions.errors import DUPLICATE_COLUMN, FEATURE_NOT_SUPPORTED, SYNTAX_ERROR, SqlError, unsupported
from expressions.sqltypes import PARAMETER_OIDS, length_of_modifier
from nodes.catalog_queries.asks import asked_of
from nodes.sql.edits import Words
from nodes.sql.statements import Statement, first_query, tables_in
from nodes.wire.messages import Field
from storage.shadow.names import quoted_if_needed

Node = Any


@dataclass(frozen=True, slots=True)
class TableOfQuery:
    """A table that is to be made of a query. `forgiving`: IF NOT EXISTS. `is_empty`: WITH NO DATA."""

    into: Node
    query: Statement
    text: str
    """Of the whole statement: that of the query has blanks where the other words are."""
    forgiving: bool = False
    is_empty: bool = False

    @property
    def table(self) -> str:
        return str(self.into.rel.relname)

    def create(self, outputs: Sequence[Field]) -> str:
        """CREATE TABLE for rows like these. Raises `SqlError`."""
        names = [item.string.sval for item in self.into.col_names]
        if len(names) > len(outputs):
            raise SqlError(SYNTAX_ERROR, "too many column names were specified")
        named = [*names, *(output.name for output in outputs[len(names) :])]
        twice = next((name for place, name in enumerate(named) if name in named[:place]), None)
        if twice is not None:
            raise SqlError(DUPLICATE_COLUMN, f'column "{twice}" specified more than once')
        columns = (f"{quoted_if_needed(name)} {_type_of(name, one)}" for name, one in zip(named, outputs, strict=True))
        tree = grammar.parse(f"CREATE TABLE t ({', '.join(columns)})")
        made = tree.stmts[0].stmt.create_stmt
        made.relation.CopyFrom(self.into.rel)
        made.options.extend(self.into.options)
        made.oncommit = self.into.on_commit
        made.if_not_exists = self.forgiving
        return str(postgast.deparse(tree))

    def insert(self) -> Statement:
        node = pb.InsertStmt()
        node.relation.CopyFrom(self.into.rel)
        node.select_stmt.select_stmt.CopyFrom(self.query.node)
        node.override = pb.OVERRIDING_NOT_SET
        return Statement("insert", node, self.text, self.query.start, self.query.tables | {self.table})


def table_of_query(statement: Statement) -> TableOfQuery | None:
    """The table that a statement makes of a query; None for others. Raises `SqlError` for what is not taken."""
    kind, node = statement.node.DESCRIPTOR.name, statement.node
    if kind == "SelectStmt":
        query = pb.SelectStmt()
        query.CopyFrom(node)
        first = first_query(query)
        into = pb.IntoClause()
        into.CopyFrom(first.into_clause)
        first.ClearField("into_clause")
        words = Words(statement.text)
        name = words.index(into.rel.location - statement.start)
        begin, last = name, name + (2 if into.rel.schemaname else 0)
        while words[begin] != "into":
            begin -= 1
        return TableOfQuery(into, _query(statement, query, [(begin, last)]), statement.text)
    if kind != "CreateTableAsStmt":
        return None
    if node.objtype != pb.OBJECT_TABLE:
        raise unsupported(
            "a materialized view", hint="use CREATE TABLE AS, and fill the table again when it is to be newer"
        )
    if node.query.WhichOneof("node") != "select_stmt":
        raise unsupported("CREATE TABLE AS EXECUTE", hint="write the query itself")
    words = Words(statement.text)
    first, end = words.after(words.index(node.into.rel.location - statement.start), "as"), len(words.tokens)
    behind = {("with", "data"): 2, ("no", "data"): 3}.get((words[end - 2], words[end - 1]), 0)
    cuts = [(0, first - 1), *([(end - behind, end - 1)] if behind else [])]
    query = _query(statement, node.query.select_stmt, cuts)
    return TableOfQuery(node.into, query, statement.text, node.if_not_exists, node.into.skip_data)


def _query(statement: Statement, node: Node, cuts: Sequence[tuple[int, int]]) -> Statement:
    text = Words(statement.text).blanked(cuts)
    return Statement("select", node, text, statement.start, frozenset(tables_in(node)), asks=asked_of(node))


def _type_of(name: str, column: Field) -> str:
    of = PARAMETER_OIDS.get(column.oid)
    if of is None or of.sql_type is None:
        what = f"oid {column.oid}" if of is None else of
        message = f'column "{name}" is of type {what}, which no column of a table has'
        raise SqlError(FEATURE_NOT_SUPPORTED, message, hint="cast it")
    return type_name(of.sql_type, length_of_modifier(of, column.modifier))
