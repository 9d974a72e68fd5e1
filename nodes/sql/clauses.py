"""GROUP BY, DISTINCT, ORDER BY and LIMIT, which name what a query shows by its place, its name or its expression."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from expressions.aggregates import direction_of, refuse_aggregates
from expressions.analysis import Analyzer
from expressions.errors import INVALID_COLUMN_REFERENCE, SqlError, unsupported
from expressions.scopes import Scope
from expressions.sqltypes import INT8, INTEGERS, KEYED, UNKNOWN
from expressions.typed import Expr, Literal, joined, sort_key
from nodes.sql.keys import distinct_on
from nodes.sql.query import Parts, Target, refuse_wide

Node = Any


@dataclass(frozen=True, slots=True)
class Clauses:
    """Analyses these clauses of one statement's queries."""

    analyzer: Analyzer

    def groups(self, node: Node, scope: Scope, places: "Places") -> list[Expr] | None:
        if not len(node.group_clause):
            return None
        refuse_wide(len(node.group_clause))
        if node.group_distinct:
            raise unsupported("GROUP BY DISTINCT")
        groups = []
        for item in node.group_clause:
            if item.WhichOneof("node") == "grouping_set":
                raise unsupported("GROUPING SETS, CUBE and ROLLUP", item.grouping_set.location)
            key = self._reference(item, scope, places, "GROUP BY", prefer_input=True)
            expr = places.targets[key - 1].expr if isinstance(key, int) else key
            refuse_aggregates(expr, "GROUP BY")
            groups.append(expr)
        return groups

    def _reference(self, item: Node, scope: Scope, places: "Places", clause: str, *, prefer_input: bool) -> Expr | int:
        """The target of ORDER BY or GROUP BY: an output by number or name, or an expression."""
        kind, targets = item.WhichOneof("node"), places.targets
        if kind == "a_const" and item.a_const.WhichOneof("val") == "ival":
            number = int(item.a_const.ival.ival)
            if not 1 <= number <= len(targets):
                place = item.a_const.location
                raise SqlError(INVALID_COLUMN_REFERENCE, f"{clause} position {number} is not in select list", place)
            return number
        if kind == "column_ref" and len(item.column_ref.fields) == 1:
            name = item.column_ref.fields[0].string.sval
            if not (prefer_input and any(r.has(name) for r in scope.relations)):
                named = places.by_name.get(name, ())
                if named and all(targets[i - 1].expr == targets[named[0] - 1].expr for i in named):
                    return named[0]
                if len(named) > 1:
                    raise SqlError("42702", f'{clause} "{name}" is ambiguous', item.column_ref.location)
        expr = self.analyzer.known(self.analyzer.expr(item, scope))
        return expr if clause == "GROUP BY" else places.by_expr.get(expr, expr)

    def order(self, node: Node, scope: Scope, places: "Places") -> list[tuple[Expr | int, str]]:
        order = []
        refuse_wide(len(node.sort_clause))
        for item in node.sort_clause:
            key = self._reference(item.sort_by.node, scope, places, "ORDER BY", prefer_input=False)
            order.append((key, direction_of(item.sort_by)))
        return order

    def distinct(self, node: Node, scope: Scope, places: "Places") -> Parts:
        if not len(node.distinct_clause):
            return ()
        named = [item for item in node.distinct_clause if item.WhichOneof("node")]
        if not named:
            if len(node.group_clause) and any(target.expr.type in KEYED for target in places.targets):
                raise unsupported("DISTINCT of grouped numerics", hint="group by all of them")
            return distinct_on([target.expr for target in places.targets])
        refuse_wide(len(named))
        keys = [self._reference(item, scope, places, "DISTINCT ON", prefer_input=False) for item in named]
        named_exprs = (places.targets[key - 1].expr if isinstance(key, int) else key for key in keys)
        return ("DISTINCT ON (", *joined((sort_key(expr),) for expr in named_exprs), ") ")

    def limits(self, node: Node, scope: Scope) -> Parts:
        parts: list[str | Expr] = []
        if node.HasField("limit_count"):
            if node.limit_option == 3:
                raise unsupported("FETCH .. WITH TIES")
            if not (node.limit_count.WhichOneof("node") == "a_const" and node.limit_count.a_const.isnull):
                parts += [" LIMIT ", self._count(node.limit_count, "LIMIT")]
        if node.HasField("limit_offset"):
            parts += [" OFFSET ", self._count(node.limit_offset, "OFFSET")]
        return tuple(parts)

    def _count(self, node: Node, clause: str) -> Expr:
        expr = self.analyzer.expr(node, Scope())
        if expr.type not in (*INTEGERS, UNKNOWN):
            raise SqlError("42804", f"argument of {clause} must be type bigint, not type {expr.type}", expr.offset)
        count = self.analyzer.coerce(expr, INT8)
        if isinstance(count, Literal) and isinstance(count.value, int) and count.value < 0:
            raise SqlError("2201W" if clause == "LIMIT" else "2201X", f"{clause} must not be negative", expr.offset)
        return count


def ordered_by(order: Iterable[tuple[Expr | int, str]]) -> Parts:
    """ORDER BY with these keys, outputs by number; nothing without a key."""
    keys = joined((str(key) if isinstance(key, int) else key, direction) for key, direction in order)
    return (" ORDER BY ", *keys) if keys else ()


@dataclass(frozen=True)
class Places:
    """Where the targets of a query stand, from 1: all of a name, the first of an expression. Worked out when asked."""

    targets: Sequence[Target]

    @cached_property
    def by_name(self) -> dict[str, list[int]]:
        places: dict[str, list[int]] = {}
        for number, target in enumerate(self.targets, 1):
            places.setdefault(target.name, []).append(number)
        return places

    @cached_property
    def by_expr(self) -> dict[Expr, int]:
        places: dict[Expr, int] = {}
        for number, target in enumerate(self.targets, 1):
            places.setdefault(target.expr, number)
        return places
