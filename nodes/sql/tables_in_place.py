"""A SELECT whose tables are replaced in place by queries, and positions of its errors mapped back. Pure.

    SELECT f.id FROM public.flights f WHERE public.flights.id = 7 FOR UPDATE OF f
                     (SELECT ..) f                     flights.id

A WITH in front of the text would break schemas before names and a WITH query that has a table's name. Locking clauses
go, because a serializable transaction gives what they promise. PostgreSQL does not know the key of a query, so GROUP BY
of a whole key gets the other columns of its table, too.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from catalog.text.sql_names import quoted
from expressions.errors import FEATURE_NOT_SUPPORTED, UNDEFINED_TABLE, SqlError, unsupported
from nodes.sql.admission import Admitted, nodes_in
from nodes.sql.edits import Compiled, Replacement, edited, nodes_in_scope
from nodes.sql.naming import SCHEMA

Node = Any
Columns = frozenset[str] | None
"""Names that the text has for columns; None where it may mean all of them."""

LOCKING = frozenset({"locking_clause"})
STRENGTHS = {"update", "share", "no", "key"}
AGGREGATES = {"sum", "avg", "min", "max", "array_agg", "string_agg", "bool_and", "bool_or", "every"}
"""Functions that cannot stand beside a locking clause, as far as a tree tells; count(*) it tells by itself."""


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of a table as a query: for each use of it, by its place in the text and the columns that are named."""

    query: Callable[[int, Columns], str]
    key: tuple[str, ...] = ()
    groupable: tuple[str, ...] = ()
    """Columns other than the key's, of types that have an equality: GROUP BY may have them."""


def compiled(query: Admitted, tables: Mapping[str, Table], more: Sequence[Replacement] = ()) -> Compiled:
    walk = _Walk(query, tables, list(more))
    walk.read()
    return edited(query.text, walk.replacements)


@dataclass
class _Walk:
    query: Admitted
    tables: Mapping[str, Table]
    replacements: list[Replacement] = field(default_factory=list)
    references: list[Node] = field(default_factory=list)
    groups: list[Node] = field(default_factory=list)

    def read(self) -> None:
        self.words = self.query.words
        locked = self._visit(self.query.stmt.select_stmt)
        columns = self._columns()
        for reference in self.references:
            self._replace_table(reference, columns)
        for grouped in self.groups:
            self._group_by_more(grouped, columns)
        if locked:
            self._cut_locks()

    def _visit(self, select: Node) -> bool:
        locked = False
        for node, names in nodes_in_scope(select, without=LOCKING):
            kind = node.DESCRIPTOR.name
            if kind == "RangeVar":
                is_own = node.schemaname == SCHEMA if node.schemaname else node.relname not in names
                if is_own and node.relname in self.tables:
                    self.references.append(node)
            elif kind == "RangeTableSample":
                raise no_sample(node.location)
            elif kind == "ColumnRef" and len(node.fields) > 2 and node.fields[0].string.sval == SCHEMA:
                self._cut(self.words.index(node.location), 2)
            elif kind == "SelectStmt":
                locked = locked or bool(node.locking_clause)
                _require_lockable(node)
                self.groups += [node] if node.group_clause else []
        return locked

    def _columns(self) -> Columns:
        names: set[str] = set()
        relations = {alias_of(reference) for reference in self.references}
        if any(reference.alias.colnames for reference in self.references):
            return None
        for node in self.query.of_kinds("ColumnRef"):
            parts = [part.string.sval for part in node.fields]
            if parts[-1] in relations or any(part.WhichOneof("node") == "a_star" for part in node.fields):
                return None  # a row
            names.update(parts)
        for node in self.query.of_kinds("JoinExpr"):
            if node.is_natural:
                return None
            names |= {part.string.sval for part in node.using_clause}
        return frozenset(names)

    def _replace_table(self, node: Node, columns: Columns) -> None:
        first = self.words.index(node.location)
        last = first + (2 if node.schemaname else 0)
        if self.words[last + 1] == "*":
            last += 1
        if not node.inh:  # ONLY t, ONLY (t)
            is_bracketed = self.words[first - 1] == "("
            first, last = first - 1 - is_bracketed, last + is_bracketed
        query = f"({self.tables[node.relname].query(node.location, columns)})"
        alias = "" if node.alias.aliasname else f" AS {quoted(node.relname)}"
        if self.words[first - 1] == "table":
            first, query = first - 1, f"SELECT * FROM {query}"
        self.replacements.append(self.words.replacement(first, last, query + alias))

    def _group_by_more(self, select: Node, columns: Columns) -> None:
        """A key that is grouped by determines its row, so the row's other columns change no group."""
        items = [item.column_ref.fields for item in select.group_clause if item.HasField("column_ref")]
        grouped = {tuple(part.string.sval for part in fields[-2:]) for fields in items}
        more, replaced = [], {reference.location for reference in self.references}
        for reference in _own_tables(select.from_clause):
            if reference.location not in replaced or reference.alias.colnames:
                continue
            table, alias = self.tables[reference.relname], alias_of(reference)
            if table.key and all((column,) in grouped or (alias, column) in grouped for column in table.key):
                named = [column for column in table.groupable if columns is None or column in columns]
                more += [f"{quoted(alias)}.{quoted(column)}, " for column in named]
        if not more:
            return
        places = [getattr(node, "location", 0) for node in nodes_in(select.group_clause[0])]
        index = self.words.index(min(place for place in places if place > 0))
        while (self.words[index - 1], self.words[index]) != ("group", "by"):
            index -= 1
        index += self.words[index + 1] in ("all", "distinct")
        end = self.words.tokens[index].end
        self.replacements.append(Replacement(end, end, " " + "".join(more)))

    def _cut(self, first: int, count: int) -> None:
        self.replacements.append(self.words.replacement(first, first + count - 1, ""))

    def _cut_locks(self) -> None:
        """FOR [NO KEY] UPDATE | [KEY] SHARE [OF a, b] [NOWAIT | SKIP LOCKED]; no other FOR is followed so."""
        place = 0
        while place < len(self.words.tokens):
            if self.words[place] != "for" or self.words[place + 1] not in STRENGTHS:
                place += 1
                continue
            last = place + 1
            while self.words[last] not in ("update", "share"):
                last += 1
            if self.words[last + 1] == "of":
                last += 2
                while self.words[last + 1] in (",", "."):
                    last += 2
            last += {"nowait": 1, "skip": 2}.get(self.words[last + 1], 0)
            self._cut(place, last - place + 1)
            place = last + 1


def no_sample(location: int) -> SqlError:
    hint = "choose rows by the key, as in WHERE id % 10 = 0, or sort by random() and take a LIMIT"
    return unsupported("TABLESAMPLE", location, hint=hint)


def _require_lockable(select: Node) -> None:
    """FOR UPDATE locks rows of relations of this SELECT's own FROM, which its result must show one by one."""
    if not select.locking_clause:
        return
    calls = [call for item in select.target_list for call in nodes_in(item) if call.DESCRIPTOR.name == "FuncCall"]
    if (
        select.distinct_clause
        or select.group_clause
        or select.HasField("having_clause")
        or select.HasField("larg")
        or any(call.agg_star or call.HasField("over") or call.funcname[-1].string.sval in AGGREGATES for call in calls)
    ):
        raise SqlError(FEATURE_NOT_SUPPORTED, "FOR UPDATE is not allowed where rows are grouped or combined")
    named = {alias_of(node) for item in select.from_clause for node in nodes_in(item) if hasattr(node, "alias")}
    for item in select.locking_clause:
        for rel in item.locking_clause.locked_rels:
            if rel.range_var.relname not in named:
                message = f'relation "{rel.range_var.relname}" in FOR UPDATE clause not found in FROM clause'
                raise SqlError(UNDEFINED_TABLE, message, rel.range_var.location)


def _own_tables(items: Sequence[Node]) -> Iterator[Node]:
    pending = list(items)
    while pending:
        item = pending.pop()
        if item.HasField("range_var"):
            yield item.range_var
        elif item.HasField("join_expr"):
            pending += [item.join_expr.larg, item.join_expr.rarg]


def alias_of(node: Node) -> str:
    alias: str = node.alias.aliasname or getattr(node, "relname", "")
    return alias
