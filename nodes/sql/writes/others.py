"""The tables beside the one that a statement writes: FROM of UPDATE, USING of DELETE and MERGE. Pure.

Names are PostgreSQL's to understand. What is worked out here is which columns of these tables RETURNING names, since a
row is given to it with these alone; too many of them do no harm.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from postgast import pg_query_pb2 as pb

from expressions.errors import unsupported
from nodes.sql.admission import nodes_in
from nodes.sql.column_names import star_of
from nodes.wire.columns import Output

Node = Any
MARK = "\x02"
"""The name of a column that stands before those of each table."""
Shown = list[tuple[str, str]]
"""Columns by the names of their relations and their own."""


@dataclass(frozen=True, slots=True)
class Others:
    """Items of a FROM, with the columns of each relation in it."""

    items: Sequence[Node]
    columns: Mapping[str, Sequence[Output]]

    @classmethod
    def of(cls, items: Sequence[Node], outputs: Sequence[Output]) -> "Others":
        """`outputs`: the columns of `all_columns`."""
        columns: dict[str, list[Output]] = {}
        names = iter(aliases(items))
        for output in outputs:
            if output.name == MARK:
                found = columns.setdefault(next(names), [])
            else:
                found.append(output)
        return cls(items, columns)

    def star(self) -> Shown:
        """The columns that * stands for. Raises 0A000 for one that both sides of a join make, or without a relation."""
        return [one for item in self.items for one in self._star(item)]

    def star_of(self, alias: str) -> Shown:
        """The columns that alias.* stands for."""
        return [(alias, output.name) for output in self.columns[alias]]

    def _star(self, item: Node) -> Shown:
        join = join_of(item)
        if join is None:
            names = aliases([item])
            if not names:
                raise unsupported("RETURNING * beside a relation without a name", hint="name it: (..) AS q")
            return [one for alias in names for one in self.star_of(alias)]
        left, right = self._star(join.larg), self._star(join.rarg)
        names = self._merged(join)
        if names and join.jointype == pb.JOIN_FULL:
            raise unsupported("RETURNING * of a column that two tables make")
        first = {name: one for one, name in (right if join.jointype == pb.JOIN_RIGHT else left)}
        return [*((first[name], name) for name in names), *(one for one in (*left, *right) if one[1] not in names)]

    def _merged(self, join: Node) -> list[str]:
        """The names of columns that a join makes one of, in their order."""
        if not join.is_natural:
            return [name.string.sval for name in join.using_clause]
        there = {name for _, name in self._star(join.rarg)}
        return [name for _, name in self._star(join.larg) if name in there]

    def named_in(self, nodes: Sequence[Node]) -> Shown:
        """The columns that expressions of RETURNING may name. Raises 0A000 for a name that means two."""
        shown = set(self.star()) if any(star_of(node) == "" for node in nodes) else set()
        hidden = set(self._hidden())
        for alias, outputs in self.columns.items():
            names = [output.name for output in outputs]
            shown |= {(alias, name) for name in named_in(nodes, alias, [n for n in names if (alias, n) not in hidden])}
            shown |= {(alias, name) for name in qualified_in(nodes, alias) if name in names}
        listed = [(alias, output.name) for alias, outputs in self.columns.items() for output in outputs]
        twice = next((one for one, count in Counter(listed).items() if count > 1 and one in shown), None)
        if twice is not None:
            raise unsupported(f"RETURNING of two columns {twice[1]} of {twice[0]}", hint="give them other names")
        return [one for one in listed if one in shown]

    def _hidden(self) -> Iterator[tuple[str, str]]:
        """Columns that a name alone does not mean, since a join has made one of them and another."""
        pending = list(self.items)
        while pending:
            join = join_of(pending.pop())
            if join is not None:
                pending += [join.larg, join.rarg]
                names, side = self._merged(join), join.larg if join.jointype == pb.JOIN_RIGHT else join.rarg
                yield from (one for one in self._star(side) if one[1] in names)


def join_of(item: Node) -> Node | None:
    """The join that an item of FROM is, if its relations can be named."""
    return item.join_expr if item.HasField("join_expr") and not item.join_expr.HasField("alias") else None


def aliases(items: Sequence[Node]) -> list[str]:
    """The names of the relations in a FROM; one without a name is left out."""
    found = []
    for item in items:
        join, one = join_of(item), getattr(item, item.WhichOneof("node"))
        if join is not None:
            found += aliases([join.larg, join.rarg])
            continue
        alias = one.alias.aliasname or getattr(one, "relname", "")
        if not alias and item.HasField("range_function"):
            called = one.functions[0].list.items[0]
            alias = called.func_call.funcname[-1].string.sval if called.HasField("func_call") else ""
        found += [alias] if alias else []
    return found


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
    """The columns that expressions name with the name of their relation."""
    refs = (one for node in nodes for one in nodes_in(node) if one.DESCRIPTOR.name == "ColumnRef")
    named = ([part.string.sval for part in one.fields if part.WhichOneof("node") == "string"] for one in refs)
    return {parts[-1] for parts in named if parts[-2:-1] == [relation]}
