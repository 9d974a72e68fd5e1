"""The tables beside the one that a statement writes: FROM of UPDATE, USING of DELETE and MERGE. Pure. Here is worked
out which columns of these tables RETURNING names; too many of them do no harm."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from postgast import pg_query_pb2 as pb

from expressions.errors import unsupported
from nodes.sql.admission import nodes_in
from nodes.sql.column_names import implied_name, star_of
from nodes.sql.writes.pieces import unnamed
from nodes.wire.columns import Output

Node = Any
RELATIONS = {"RangeTableFunc": "xmltable", "JsonTable": "json_table"}
Shown = list[tuple[str, str]]
"""Columns by the names of their relations and their own."""


@dataclass(frozen=True, slots=True)
class Others:
    items: Sequence[Node]
    columns: Mapping[str, Sequence[Output]]

    def star(self) -> Shown:
        """The columns that * stands for. Raises 0A000 for one that both sides of a join make."""
        found, _, is_full = self._seen()
        if is_full:
            raise unsupported("RETURNING * of a column that two tables make")
        return found

    def star_of(self, alias: str) -> Shown:
        return [(alias, output.name) for output in self.columns[alias]]

    def _seen(self) -> tuple[Shown, Shown, bool]:
        """The columns that * stands for, those that a name alone does not mean, and whether two sides make one, by
        USING or NATURAL."""
        relations, hidden, is_full = iter(self.columns), Shown(), False

        def seen(item: Node) -> Shown:
            nonlocal is_full
            join = join_of(item)
            if join is None:
                return self.star_of(next(relations))
            left, right = seen(join.larg), seen(join.rarg)
            names = [name.string.sval for name in join.using_clause]
            if join.is_natural:
                there = {name for _, name in right}
                names = [name for _, name in left if name in there]
            if join.HasField("join_using_alias"):
                hidden.extend(self.star_of(next(relations)))
            is_full = is_full or bool(names and join.jointype == pb.JOIN_FULL)
            kept, other = (right, left) if join.jointype == pb.JOIN_RIGHT else (left, right)
            hidden.extend(one for one in other if one[1] in names)
            first = {name: one for one, name in kept}
            return [*((first[name], name) for name in names), *(one for one in (*left, *right) if one[1] not in names)]

        return [one for item in self.items for one in seen(item)], hidden, is_full

    def named_in(self, nodes: Sequence[Node]) -> Shown:
        """The columns that expressions of RETURNING may name. Raises 0A000 for a name that means two."""
        shown = set(self.star()) if any(star_of(node) == "" for node in nodes) else set()
        hidden = set(self._seen()[1])
        for alias, outputs in self.columns.items():
            names = [output.name for output in outputs]
            shown |= {(alias, name) for name in named_in(nodes, alias, [n for n in names if (alias, n) not in hidden])}
            shown |= {(alias, name) for name in qualified_in(nodes, alias) if name in names}
        listed = [(alias, output.name) for alias, outputs in self.columns.items() for output in outputs]
        twice = next((one for one, count in Counter(listed).items() if count > 1 and one in shown), None)
        if twice is not None:
            raise unsupported(f"RETURNING of two columns {twice[1]} of {twice[0]}", hint="give them other names")
        return [one for one in listed if one in shown]


def join_of(item: Node) -> Node | None:
    """The join that an item of FROM is, if its relations can be named."""
    return item.join_expr if item.HasField("join_expr") and not item.join_expr.HasField("alias") else None


def aliases(items: Sequence[Node]) -> list[str]:
    """The names of the relations in a FROM, of which a subquery may have none of its own (`unnamed`)."""
    found, without_name = list[str](), 0
    for one in _relations(items):
        alias = one.alias.aliasname or getattr(one, "relname", "") or RELATIONS.get(one.DESCRIPTOR.name, "")
        if not alias and one.DESCRIPTOR.name == "JoinExpr":
            alias = one.join_using_alias.aliasname
        if not alias and one.DESCRIPTOR.name == "RangeFunction":
            alias = implied_name(one.functions[0].list.items[0])
        found.append(alias or unnamed(without_name))
        without_name += not alias
    return found


def _relations(items: Sequence[Node]) -> Iterator[Node]:
    for item in items:
        join = join_of(item)
        if join is None:
            yield getattr(item, item.WhichOneof("node"))
        else:
            yield from _relations([join.larg, join.rarg])
            yield from [join] if join.HasField("join_using_alias") else []


def named_in(nodes: Sequence[Node], relation: str, columns: Collection[str]) -> set[str]:
    """The columns of a relation that expressions may name: all where one names a row of it."""
    found: set[str] = set()
    for node in nodes:
        for one in nodes_in(node):
            if one.DESCRIPTOR.name != "ColumnRef":
                continue
            parts = [part.string.sval for part in one.fields if part.WhichOneof("node") == "string"]
            is_star = len(parts) < len(one.fields)
            if (is_star and parts[-1:] in ([], [relation])) or (parts == [relation] and relation not in columns):
                return set(columns)
            if not is_star and len(parts) == 1:
                found |= {parts[0]} & set(columns)
            elif not is_star and parts[-2] == relation:
                if parts[-1] not in columns:
                    return set(columns)  # t.f calls f(t)
                found.add(parts[-1])
    return found


def qualified_in(nodes: Sequence[Node], relation: str) -> set[str]:
    refs = (one for node in nodes for one in nodes_in(node) if one.DESCRIPTOR.name == "ColumnRef")
    named = ([part.string.sval for part in one.fields if part.WhichOneof("node") == "string"] for one in refs)
    return {parts[-1] for parts in named if parts[-2:-1] == [relation]}
