"""GROUP BY, DISTINCT, ORDER BY and LIMIT, which name what a query shows by its place, its name or its expression."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from postgast import pg_query_pb2 as pb

from expressions.analysis.aggregates import direction_of, refuse_aggregates
from expressions.analysis.analyzer import Analyzer
from expressions.analysis.scopes import Scope
from expressions.analysis.tree import location_of
from expressions.errors import INVALID_COLUMN_REFERENCE, SYNTAX_ERROR, SqlError
from expressions.sqltypes import FLOATS, INT8, INTEGERS, NUMERIC, UNKNOWN
from expressions.typed import Expr, Literal, joined, place_of, refuse_unsorted
from nodes.sql.queries.grouping_sets import Groups, groups_of
from nodes.sql.queries.query import Parts, Target, refuse_wide

Node = Any


@dataclass(frozen=True, slots=True)
class Clauses:
    """Analyses these clauses of one statement's queries."""

    analyzer: Analyzer

    def groups(self, node: Node, scope: Scope, places: "Places") -> Groups | None:
        if not len(node.group_clause):
            return None
        refuse_wide(len(node.group_clause))

        def expr(item: Node) -> Expr:
            key = self._reference(item, scope, places, "GROUP BY", prefer_input=True)
            found = places.shown(key)
            refuse_aggregates(found, "GROUP BY")
            return found

        groups = groups_of(node.group_clause, expr, is_distinct=node.group_distinct)
        refuse_wide(len(groups.exprs))
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

    def distinct(self, node: Node, scope: Scope, places: "Places", order: Sequence[tuple[Expr | int, str]]) -> Parts:
        if not len(node.distinct_clause):
            return ()
        named = [item for item in node.distinct_clause if item.WhichOneof("node")]
        if not named:
            refuse_unlisted(order)
            for target in places.targets:
                refuse_unsorted(target.expr)
            return ("DISTINCT ",)
        refuse_wide(len(named))
        keys = [self._reference(item, scope, places, "DISTINCT ON", prefer_input=False) for item in named]
        named_exprs = [places.shown(key) for key in keys]
        places_of = [location_of(item, str(item.WhichOneof("node"))) for item in named]
        self._refuse_other_order(named_exprs, [places.shown(key) for key, _ in order], places_of)
        for expr in named_exprs:
            refuse_unsorted(expr)
        return ("DISTINCT ON (", *joined((expr,) for expr in named_exprs), ") ")

    def _refuse_other_order(self, keys: Sequence[Expr], order: Sequence[Expr], offsets: Sequence[int]) -> None:
        """Refuses ORDER BY that does not begin with what DISTINCT ON names: it would not say which row is first."""
        first = list(dict.fromkeys(order))[: len(set(keys))]
        beyond = next((offset for key, offset in zip(keys, offsets, strict=True) if key not in first), None)
        if beyond is not None and any(key not in keys for key in first):
            message = "SELECT DISTINCT ON expressions must match initial ORDER BY expressions"
            raise SqlError(INVALID_COLUMN_REFERENCE, message, beyond)

    def limit(self, node: Node) -> "Limit":
        """LIMIT, OFFSET and FETCH FIRST."""
        count = offset = None
        has_ties = bool(node.HasField("limit_count") and node.limit_option == pb.LIMIT_OPTION_WITH_TIES)
        if has_ties and not len(node.sort_clause):
            raise SqlError(SYNTAX_ERROR, "WITH TIES cannot be specified without ORDER BY clause")
        if node.HasField("limit_count"):
            is_all = node.limit_count.WhichOneof("node") == "a_const" and node.limit_count.a_const.isnull
            count = None if is_all else self._count(node.limit_count, "LIMIT")
        if node.HasField("limit_offset"):
            offset = self._count(node.limit_offset, "OFFSET")
        return Limit(count, offset, has_ties=has_ties and count is not None)

    def _count(self, node: Node, clause: str) -> Expr:
        expr = self.analyzer.expr(node, Scope())
        if expr.type not in (*INTEGERS, NUMERIC, *FLOATS, UNKNOWN):
            raise SqlError("42804", f"argument of {clause} must be type bigint, not type {expr.type}", expr.offset)
        count = self.analyzer.cast(expr, INT8, expr.offset)
        if isinstance(count, Literal) and isinstance(count.value, int) and count.value < 0:
            raise SqlError("2201W" if clause == "LIMIT" else "2201X", f"{clause} must not be negative", expr.offset)
        return count


def refuse_unlisted(order: Sequence[tuple[Expr | int, str]]) -> None:
    """Refuses DISTINCT with ORDER BY of what is not shown: one row that is shown may have many values of it."""
    unlisted = next((key for key, _ in order if not isinstance(key, int)), None)
    if unlisted is not None:
        message = "for SELECT DISTINCT, ORDER BY expressions must appear in select list"
        raise SqlError(INVALID_COLUMN_REFERENCE, message, place_of(unlisted))


@dataclass(frozen=True, slots=True)
class Limit:
    """Numbers of rows that are left out, and that then come; with ties also those equal to the last one."""

    count: Expr | None
    offset: Expr | None
    has_ties: bool = False

    @property
    def parts(self) -> Parts:
        count: Parts = () if self.count is None else (" LIMIT ", self.count)
        return count if self.offset is None else (*count, " OFFSET ", self.offset)

    def with_ties(self, select: Parts, columns: int) -> Parts:
        """The rows of a query that shows their `positions`, too."""
        assert self.count is not None
        before: Parts = ("0",) if self.offset is None else ("coalesce(", self.offset, ", 0)")
        shown = ", ".join(f"t.o{place}" for place in range(columns)) or "t.nothing"
        some: Parts = (self.count, " > 0 AND t.ties - ", self.count, " <= ", *before)
        wanted: Parts = ("t.place > ", *before, " AND (", self.count, " IS NULL OR (", *some, "))")
        return (f"SELECT {shown} FROM (", *select, ") AS t WHERE ", *wanted, " ORDER BY t.place")


def positions(order: Iterable[tuple[Expr, str]]) -> Parts:
    """The place of a row in its order, and that of the first one that equals it."""
    window: Parts = (" OVER (", *ordered_by(order), ") AS ")
    return ("row_number()", *window, "place, rank()", *window, "ties")


def ordered_by(order: Iterable[tuple[Expr | int, str]]) -> Parts:
    """ORDER BY with these keys, outputs by number; nothing without a key."""
    keys = joined((str(key) if isinstance(key, int) else key, direction) for key, direction in order)
    return (" ORDER BY ", *keys) if keys else ()


@dataclass(frozen=True)
class Places:
    """Where the targets of a query stand, from 1: all of a name, the first of an expression. Worked out when asked."""

    targets: Sequence[Target]

    def shown(self, key: Expr | int) -> Expr:
        """The expression of a target by its place, or one that is no target."""
        return self.targets[key - 1].expr if isinstance(key, int) else key

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
