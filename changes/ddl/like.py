"""LIKE in CREATE TABLE: the tables it names, and the statement with elements in its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import postgast

from changes.ddl.actions import Position
from changes.ddl.source import Source, check_schema
from expressions import grammar

Node = Any

COMMENTS, CONSTRAINTS, DEFAULTS, IDENTITY, INDEXES = (1 << bit for bit in (0, 2, 3, 5, 6))
"""Bits of the grammar for what INCLUDING names. Others name what no table here has, or has otherwise."""
CATALOGS = ("pg_catalog", "information_schema", "schemalab")


@dataclass(frozen=True, slots=True)
class Like:
    """One LIKE. `schema` is "" for a table, else a catalog schema; `options` are the grammar's bits."""

    table: str
    schema: str
    options: int
    position: Position


class CopyingTable:
    """A CREATE TABLE with LIKE."""

    def __init__(self, text: str) -> None:
        source = Source(text)
        self._tree = grammar.parse(text)
        self._node = self._tree.stmts[0].stmt.create_stmt
        self.name = str(self._node.relation.relname)
        clauses = [item.table_like_clause for item in self._node.table_elts if item.HasField("table_like_clause")]
        self.likes = [_like(clause, source) for clause in clauses]

    def written_out(self, elements: Sequence[Sequence[str]]) -> str:
        """The statement with `elements` in place of each LIKE, columns first."""
        left = iter(elements)
        found: list[Node] = []
        for item in self._node.table_elts:
            found += (
                list(grammar.parse(f"CREATE TABLE t ({', '.join(next(left))})").stmts[0].stmt.create_stmt.table_elts)
                if item.HasField("table_like_clause")
                else [item]
            )
        found.sort(key=lambda item: item.WhichOneof("node") != "column_def")
        del self._node.table_elts[:]
        self._node.table_elts.extend(found)
        return str(postgast.deparse(self._tree))


def _like(clause: Node, source: Source) -> Like:
    named, position = clause.relation, source.where(clause.relation.location)
    schema = named.schemaname if named.schemaname in CATALOGS else ""
    if not schema:
        check_schema(named.schemaname, position)
    return Like(named.relname, schema, clause.options, position)
