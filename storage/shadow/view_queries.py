"""The query of a view with today's names of tables, columns and views."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import postgast

from catalog.descriptor import Descriptor
from catalog.view_definition import TableUse, ViewDefinition, ViewUse
from expressions import grammar
from storage.shadow.names import quoted_if_needed
from storage.shadow.shown import SCHEMA

Tables = Mapping[int, Descriptor]


def query_of(view: ViewDefinition, views: Sequence[ViewDefinition], tables: Tables, schema: str = "") -> str:
    """The query with today's names, behind that of their schema where it is given: run again, it means the same."""
    tree = grammar.parse(view.query)
    query = tree.stmts[0].stmt
    uses = {use.name: use for use in view.tables}
    others = {use.name: use for use in view.views}
    known = {one.view_id: one for one in views}
    words = _Words.of(query)
    for place in list(_places(query)):
        node = place.range_var
        use = uses.get(node.relname)
        if node.schemaname not in ("", SCHEMA):
            continue
        if use is not None and use.table_id in tables:
            node.schemaname = schema or node.schemaname
            _name_table(place, use, tables[use.table_id], words)
        elif node.relname in others and others[node.relname].view_id in known:
            node.schemaname = schema or node.schemaname
            _name_view(place, others[node.relname], known[others[node.relname].view_id])
    return f" {postgast.deparse(tree)};"


@dataclass(frozen=True)
class _Words:
    """Words of a query without the table they mean: names of columns, and all columns there are."""

    columns: frozenset[str]
    names_all: bool

    @classmethod
    def of(cls, query: Any) -> "_Words":
        found, names_all = set[str](), False
        for _, message in postgast.walk(query):
            kind = message.DESCRIPTOR.name
            names_all = names_all or kind == "A_Star" or (kind == "JoinExpr" and message.is_natural)
            if kind == "ColumnRef" and len(message.fields) == 1:
                found.add(message.fields[0].string.sval)
        return cls(frozenset(found), names_all)


def _places(query: Any) -> Iterator[Any]:
    """Places in FROM that name a table or view, not a query of WITH."""
    pending: list[tuple[Any, frozenset[str]]] = [(query, frozenset())]
    while pending:
        message, hidden = pending.pop()
        if message.DESCRIPTOR.name == "Node" and message.WhichOneof("node") == "range_var":
            if message.range_var.schemaname or message.range_var.relname not in hidden:
                yield message
            continue
        if message.DESCRIPTOR.name == "SelectStmt" and message.HasField("with_clause"):
            clause = message.with_clause
            named = [item.common_table_expr.ctename for item in clause.ctes]
            for count, item in enumerate(clause.ctes):
                pending.append((item, hidden | frozenset(named if clause.recursive else named[:count])))
            hidden |= frozenset(named)
        for field, value in message.ListFields():
            if field.message_type is not None and field.name != "with_clause":
                pending += [(inner, hidden) for inner in (value if field.is_repeated else (value,))]


def _name_table(place: Any, use: TableUse, table: Descriptor, words: _Words) -> None:
    """A table by today's name, or as a query of its old columns where these would mean others."""
    called = {column_id: name for name, column_id in use.columns.items()}
    others = {column.name for column in table.public_columns if column.id not in called}
    renamed = any(called.get(column.id, column.name) != column.name for column in table.public_columns)
    node = place.range_var
    if table.name != use.name:
        _alias(node, use.name)
        node.relname = table.name
    if not renamed and not others & words.columns and not (others and words.names_all):
        return
    _alias(node, use.name)
    now = {column.id: column.name for column in table.public_columns}
    listed = ", ".join(
        f"{quoted_if_needed(now[c])} AS {quoted_if_needed(name)}" for name, c in use.columns.items() if c in now
    )
    _replace(place, f"SELECT {listed} FROM {_shown(node)}")


def _name_view(place: Any, use: ViewUse, view: ViewDefinition) -> None:
    """A view by today's name, or as a query of its old columns where it has more."""
    node, is_longer = place.range_var, use.columns is not None and len(view.columns) > use.columns
    if view.name != use.name or is_longer:
        _alias(node, use.name)
        node.relname = view.name
    if is_longer:
        listed = ", ".join(quoted_if_needed(column.name) for column in view.columns[: use.columns])
        _replace(place, f"SELECT {listed} FROM {_shown(node)}")


def _replace(place: Any, query: str) -> None:
    alias = place.range_var.alias
    subselect = grammar.parse(f"SELECT 1 FROM ({query}) AS x").stmts[0].stmt.select_stmt.from_clause[0].range_subselect
    subselect.alias.CopyFrom(alias)
    place.range_subselect.CopyFrom(subselect)


def _shown(node: Any) -> str:
    return ".".join(quoted_if_needed(name) for name in (node.schemaname, node.relname) if name)


def _alias(node: Any, name: str) -> None:
    if not node.alias.aliasname:
        node.alias.aliasname = name
