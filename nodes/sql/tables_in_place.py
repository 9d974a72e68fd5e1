"""A SELECT whose tables are replaced in place by queries, and positions of its errors mapped back. Pure.

    SELECT f.id FROM public.flights f WHERE public.flights.id = 7 FOR UPDATE OF f
                     (SELECT ..) f                     flights.id

A query in front of the text (WITH) would break schemas before names and a WITH query that has a table's name. Here each
reference is replaced where it stands, so it also gets a query of its own: for the columns that the text names.
Locking clauses go, because a serializable transaction gives what they promise. PostgreSQL does not know the key of a
query, so GROUP BY of a whole key gets the other columns of its table, too.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from expressions import grammar
from expressions.errors import FEATURE_NOT_SUPPORTED, UNDEFINED_TABLE, SqlError, unsupported
from nodes.sql.admission import nodes_in

Node = Any
Columns = frozenset[str] | None
"""Names that the text has for columns; None where it may mean all of them."""

SCHEMA = "public"
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


@dataclass(frozen=True, slots=True)
class Replacement:
    """Bytes `start` to `end` of the user's text became `text`."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Compiled:
    """The text for PostgreSQL, and what was replaced to get it."""

    original: str
    text: str
    replacements: tuple[Replacement, ...]

    def position(self, position: int) -> int:
        """The character of the user's text that a character of the compiled one comes from; both count from 1.

        Any place within a table's query is the place of the table's name.
        """
        at, shift = len(self.text[: position - 1].encode()), 0
        for replacement in self.replacements:
            begin = replacement.start + shift
            if at < begin:
                break
            size = len(replacement.text.encode())
            if at < begin + size:
                at, shift = replacement.start, 0
                break
            shift += size - (replacement.end - replacement.start)
        return len(self.original.encode()[: at - shift].decode(errors="ignore")) + 1


def compiled(text: str, select: Node, tables: Mapping[str, Table], more: Sequence[Replacement] = ()) -> Compiled:
    """The text of `select`, which stands alone in it, over the queries of `tables`, and with `more` replaced."""
    walk = _Walk(text, tables, list(more))
    walk.read(select, frozenset())
    done = tuple(sorted(walk.replacements, key=lambda one: one.start))
    source, pieces, at = text.encode(), [], 0
    for one in done:
        pieces += [source[at : one.start].decode(), one.text]
        at = one.end
    return Compiled(text, "".join([*pieces, source[at:].decode()]), done)


@dataclass
class _Walk:
    text: str
    tables: Mapping[str, Table]
    replacements: list[Replacement] = field(default_factory=list)
    references: list[Node] = field(default_factory=list)
    groups: list[Node] = field(default_factory=list)
    """SELECTs with a GROUP BY."""

    def read(self, select: Node, scope: frozenset[str]) -> None:
        self.source, self.tokens = self.text.encode(), grammar.tokens(self.text)
        self.starts = [token.start for token in self.tokens]
        locked = self._visit(select, scope)
        columns = self._columns(select)
        for reference in self.references:
            self._replace_table(reference, columns)
        for grouped in self.groups:
            self._group_by_more(grouped, columns)
        if locked:
            self._cut_locks()

    def _visit(self, message: Node, scope: frozenset[str]) -> bool:
        """Collects what is replaced. True if a locking clause stands in it."""
        locked, pending = False, [(message, scope)]
        while pending:
            node, names = pending.pop()
            kind = node.DESCRIPTOR.name
            fields = node.ListFields()
            if kind == "RangeVar" and self._is_table(node, names):
                self.references.append(node)
            elif kind == "RangeTableSample":
                raise unsupported("TABLESAMPLE", node.location)
            elif kind == "ColumnRef" and len(node.fields) > 2 and node.fields[0].string.sval == SCHEMA:
                self._cut(self._index(node.location), 2)
            elif kind == "SelectStmt":
                locked = locked or bool(node.locking_clause)
                _require_lockable(node)
                self.groups += [node] if node.group_clause else []
                if node.HasField("with_clause"):
                    with_names = [item.common_table_expr.ctename for item in node.with_clause.ctes]
                    for place, item in enumerate(node.with_clause.ctes):
                        seen = with_names if node.with_clause.recursive else with_names[:place]
                        pending.append((item.common_table_expr, names | set(seen)))
                    names |= set(with_names)
                    fields = [(f, value) for f, value in fields if f.name != "with_clause"]
            for field_, value in fields:
                if field_.message_type is not None and field_.name != "locking_clause":
                    pending += [(inner, names) for inner in (value if field_.is_repeated else [value])]
        return locked

    def _is_table(self, node: Node, scope: frozenset[str]) -> bool:
        if node.schemaname:
            return node.schemaname == SCHEMA and node.relname in self.tables
        return node.relname not in scope and node.relname in self.tables

    def _columns(self, select: Node) -> Columns:
        """The names of columns in the text; None for a star, a whole row, or columns that go by their place."""
        names: set[str] = set()
        relations = {alias_of(reference) for reference in self.references}
        if any(reference.alias.colnames for reference in self.references):
            return None
        for node in nodes_in(select):
            kind = node.DESCRIPTOR.name
            if kind == "ColumnRef":
                if any(part.WhichOneof("node") == "a_star" for part in node.fields):
                    return None
                names |= {part.string.sval for part in node.fields}
            elif kind == "JoinExpr":
                if node.is_natural:
                    return None
                names |= {part.string.sval for part in node.using_clause}
        return None if names & relations and self._names_a_row(select, relations) else frozenset(names)

    @staticmethod
    def _names_a_row(select: Node, relations: set[str]) -> bool:
        references = (node for node in nodes_in(select) if node.DESCRIPTOR.name == "ColumnRef")
        return any(node.fields[-1].string.sval in relations for node in references)

    def _replace_table(self, node: Node, columns: Columns) -> None:
        first = self._index(node.location)
        last = first + (2 if node.schemaname else 0)
        if self._word(last + 1) == "*":
            last += 1
        if not node.inh:  # ONLY t, ONLY (t)
            is_bracketed = self._word(first - 1) == "("
            first, last = first - 1 - is_bracketed, last + is_bracketed
        query = f"({self.tables[node.relname].query(node.location, columns)})"
        alias = "" if node.alias.aliasname else f" AS {quoted(node.relname)}"
        if self._word(first - 1) == "table":
            first, query = first - 1, f"SELECT * FROM {query}"
        start, end = self.tokens[first].start, self.tokens[last].end
        self.replacements.append(Replacement(start, end, query + alias))

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
        index = self._index(min(place for place in places if place > 0))
        while (self._word(index - 1), self._word(index)) != ("group", "by"):
            index -= 1
        index += self._word(index + 1) in ("all", "distinct")
        end = self.tokens[index].end
        self.replacements.append(Replacement(end, end, " " + "".join(more)))

    def _cut(self, first: int, count: int) -> None:
        start, end = self.tokens[first].start, self.tokens[first + count - 1].end
        self.replacements.append(Replacement(start, end, ""))

    def _cut_locks(self) -> None:
        """FOR [NO KEY] UPDATE | [KEY] SHARE [OF a, b] [NOWAIT | SKIP LOCKED]; no other FOR is followed so."""
        place = 0
        while place < len(self.tokens):
            if self._word(place) != "for" or self._word(place + 1) not in STRENGTHS:
                place += 1
                continue
            last = place + 1
            while self._word(last) not in ("update", "share"):
                last += 1
            if self._word(last + 1) == "of":
                last += 2
                while self._word(last + 1) in (",", "."):
                    last += 2
            last += {"nowait": 1, "skip": 2}.get(self._word(last + 1), 0)
            self._cut(place, last - place + 1)
            place = last + 1

    def _index(self, location: int) -> int:
        return bisect_right(self.starts, location) - 1

    def _word(self, index: int) -> str:
        if not 0 <= index < len(self.tokens):
            return ""
        token = self.tokens[index]
        return self.source[token.start : token.end].decode().lower()


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
    """The tables of a FROM, those of its subqueries left out."""
    pending = list(items)
    while pending:
        item = pending.pop()
        if item.HasField("range_var"):
            yield item.range_var
        elif item.HasField("join_expr"):
            pending += [item.join_expr.larg, item.join_expr.rarg]


def alias_of(node: Node) -> str:
    """The name that a FROM item goes by."""
    alias: str = node.alias.aliasname or getattr(node, "relname", "")
    return alias


def quoted(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"'
