"""WITH: queries that have a name, from there to the end of what WITH stands before."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from postgast import walk as walk_tree

from expressions.analysis.scopes import Scope
from expressions.errors import DUPLICATE_ALIAS, SqlError, unsupported
from expressions.typed import joined
from nodes.sql.extent import Extent
from nodes.sql.queries.from_clause import renamed
from nodes.sql.queries.query import Parts, Query
from nodes.wire.columns import Output

Node = Any


Known = tuple[str, tuple[Output, ...]] | None
"""Our name for a query of WITH, and its columns; None for a statement that returns nothing."""


class Queries(Protocol):
    """The queries of one statement (`nodes.sql.queries.selects`)."""

    @property
    def extent(self) -> Extent: ...

    def query(self, node: Node, parent: Scope | None = None) -> Query: ...

    def number(self) -> int: ...


@dataclass(eq=False)
class WithQueries:
    """The WITH queries that may be named where the analysis is now, by the levels they stand in."""

    selects: Queries
    levels: list[dict[str, Known]] = field(default_factory=list)
    repeated: list[str] = field(default_factory=list)
    """The names of the recursive queries whose repeated part is analysed now."""

    @contextmanager
    def before(self, node: Node, parent: Scope | None = None) -> Iterator[Parts]:
        """The WITH of a statement, whose queries may be named meanwhile."""
        self.levels.append({})
        try:
            yield self._parts(node.with_clause, parent) if node.HasField("with_clause") else ()
        finally:
            self.levels.pop()

    def find(self, name: str, offset: int) -> tuple[str, tuple[Output, ...]] | None:
        """The query that a name means here, innermost first: our name for it, and its columns."""
        level = next((level for level in reversed(self.levels) if name in level), {})
        if name in level and level[name] is None:
            raise SqlError("0A000", f'WITH query "{name}" does not have a RETURNING clause', offset)
        return level.get(name)

    def reads_itself(self, node: Node) -> bool:
        """True if a SELECT of such a part has a query in FROM that is repeated with it."""
        items = list(node.from_clause)
        while self.repeated and items:
            item = items.pop()
            if item.WhichOneof("node") == "join_expr":
                items += [item.join_expr.larg, item.join_expr.rarg]
            elif item.WhichOneof("node") == "range_var" and item.range_var.relname in self.repeated:
                return not item.range_var.schemaname
        return False

    def _parts(self, clause: Node, parent: Scope | None) -> Parts:
        parts: list[Parts] = []
        for item in clause.ctes:
            cte = item.common_table_expr
            if cte.ctequery.WhichOneof("node") != "select_stmt":
                hint = "it may stand in the WITH of a whole statement"
                raise unsupported("a statement that writes inside WITH here", cte.location, hint=hint)
            if cte.HasField("search_clause") or cte.HasField("cycle_clause"):
                word = "SEARCH" if cte.HasField("search_clause") else "CYCLE"
                hint = "keep the way in an array: path || id, and WHERE id <> ALL (path)"
                raise unsupported(f"{word} in WITH RECURSIVE", cte.location, hint=hint)
            self.selects.extent.with_query(cte.location)
            if cte.ctename in self.levels[-1]:
                message = f'WITH query name "{cte.ctename}" specified more than once'
                raise SqlError(DUPLICATE_ALIAS, message, cte.location)
            name = f"w{self.selects.number()}"
            if clause.recursive and is_recursive(cte):
                query = self._recursive(cte, name, parent)
            else:
                query = self.selects.query(cte.ctequery.select_stmt, parent)
            outputs = renamed(query.outputs, [a.string.sval for a in cte.aliascolnames], cte.ctename, cte.location)
            columns = ", ".join(f"o{i}" for i in range(len(outputs)))
            parts.append((f"{name}({columns}) AS (", *query.parts, ")"))
            self.levels[-1][cte.ctename] = (name, outputs)
        return ("WITH RECURSIVE " if clause.recursive else "WITH ", *joined(parts), " ")

    def _recursive(self, cte: Node, name: str, parent: Scope | None) -> Query:
        node = cte.ctequery.select_stmt
        if node.op != 2 or len(node.sort_clause) or node.HasField("limit_count"):
            raise SqlError(
                "42P19", f'recursive query "{cte.ctename}" must be anchor UNION [ALL] recursive term', cte.location
            )
        for _, message in walk_tree(node.larg):
            if type(message).__name__ == "RangeVar" and message.relname == cte.ctename and not message.schemaname:
                words = f'recursive reference to query "{cte.ctename}" must not appear within its non-recursive term'
                raise SqlError("42P19", words, message.location)
        anchor = self.selects.query(node.larg, parent)
        outputs = renamed(anchor.outputs, [a.string.sval for a in cte.aliascolnames], cte.ctename, cte.location)
        self.levels[-1][cte.ctename] = (name, outputs)
        self.repeated.append(cte.ctename)
        step = self.selects.query(node.rarg, parent)
        self.repeated.pop()
        if [o.type for o in step.outputs] != [o.type for o in anchor.outputs]:
            raise SqlError("42804", f'recursive query "{cte.ctename}": the terms differ in column types', cte.location)
        word = " UNION ALL " if node.all else " UNION "
        return Query((*anchor.parts, word, *step.parts), outputs)


def is_recursive(cte: Node) -> bool:
    """True if a WITH query names itself."""
    return any(
        type(message).__name__ == "RangeVar" and message.relname == cte.ctename and not message.schemaname
        for _, message in walk_tree(cte.ctequery)
    )
