"""Aggregates and window functions of a query, and where they may not stand."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from catalog.values.arrays import OF_ARRAYS, OF_ONE_DIMENSION
from expressions.analysis import documents
from expressions.analysis.scopes import Scope
from expressions.analysis.tree import operator_name
from expressions.errors import (
    GROUPING_ERROR,
    TOO_MANY_ARGUMENTS,
    WINDOWING_ERROR,
    SqlError,
    unsupported,
)
from expressions.functions import allowed
from expressions.functions.overloads import Overload
from expressions.sqltypes import (
    DATE,
    FLOAT8,
    INT4,
    INT8,
    INTERVAL,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UNKNOWN,
    Type,
)
from expressions.typed import Call, Expr, Fragment, bare, joined, place_of, refuse_unsorted

Node = Any
Parts = list[str | Expr]
GROUPING = "GROUPING("
"""The beginning of a call of GROUPING."""
GROUPING_MAX = 31
_EXCLUDED = {0x8000: "CURRENT ROW", 0x10000: "GROUP", 0x20000: "TIES"}
"""What a frame leaves out, by PostgreSQL's bits."""


class Analysis(Protocol):
    """The analysis of the expressions inside (`expressions.analysis.analyzer`)."""

    @property
    def windows(self) -> Mapping[str, Node]: ...

    def expr(self, node: Node, scope: Scope) -> Expr: ...

    def condition(self, node: Node, scope: Scope, clause: str) -> Expr: ...

    def row_of(self, node: Node, scope: Scope) -> list[tuple[str, Expr]] | None: ...

    def value_or_row(self, node: Node, scope: Scope) -> Expr: ...

    def known(self, expr: Expr) -> Expr: ...

    def coerce(self, expr: Expr, target: Type) -> Expr: ...

    def chosen(
        self, name: str, overloads: Sequence[Overload], args: Sequence[Expr], offset: int
    ) -> tuple[Overload, tuple[Type, ...]]: ...


@dataclass(frozen=True, slots=True)
class Aggregates:
    """Analyses calls of aggregates and window functions, with what stands in OVER, FILTER and WITHIN GROUP."""

    analysis: Analysis

    def call(self, name: str, node: Node, scope: Scope) -> Expr:
        parts, of = self._head(name, node, scope)
        if node.HasField("agg_filter"):
            condition = self.analysis.condition(node.agg_filter, scope, "FILTER")
            parts = [*parts, " FILTER (WHERE ", condition, ")"]
        if not node.HasField("over"):
            if name in allowed.WINDOW_ONLY:
                raise SqlError("42809", f"window function {name} requires an OVER clause", node.location)
            refuse_nested(parts, node.location)
        else:
            parts = [*parts, " OVER (", *self._window(node.over, scope), ")"]
        return Fragment(tuple(parts), of, is_aggregate=not node.HasField("over"), offset=node.location)

    def _head(self, name: str, node: Node, scope: Scope) -> tuple[Parts, Type]:
        is_document = name in documents.AGGREGATES
        if name == "count" and len(node.args) == 1:
            fields = self.analysis.row_of(node.args[0], scope)
            if fields is not None:
                return ["count(", *joined((field,) for _, field in fields), ")"], INT8
        args = [
            self.analysis.value_or_row(a, scope) if is_document else self.analysis.expr(a, scope) for a in node.args
        ]
        if node.agg_within_group:
            return self._ordered_set(name, args, node, scope)
        if node.agg_star:
            if name != "count":
                raise SqlError("42809", f"{name}(*) must have arguments", node.location)
            return ["count(*)"], INT8
        if is_document:
            return self._called(name, args, node, scope), documents.AGGREGATES[name]
        table = allowed.WINDOW_ONLY if name in allowed.WINDOW_ONLY else allowed.AGGREGATES
        if (
            name
            in (
                "count",
                "min",
                "max",
                "any_value",
                "first_value",
                "last_value",
                "nth_value",
                "lag",
                "lead",
                "array_agg",
            )
            and args
        ):
            args = [self.analysis.known(args[0]), *args[1:]]
        if name == "array_agg" and args and args[0].type.element is not None:
            raise unsupported(f"array_agg of arrays: {OF_ARRAYS}", node.location, hint=OF_ONE_DIMENSION)
        overload, types = self.analysis.chosen(name, table[name], args, node.location)
        coerced = [self.analysis.coerce(a, t) for a, t in zip(args, types, strict=True)]
        return self._called(name, coerced, node, scope), overload.result

    def _called(self, name: str, args: Sequence[Expr], node: Node, scope: Scope) -> Parts:
        parts: Parts = [name, "(", "DISTINCT " if node.agg_distinct else "", *joined((arg,) for arg in args)]
        order = self.sort(node.agg_order, scope) if len(node.agg_order) else []
        if node.agg_distinct:
            for arg in args:
                refuse_unsorted(arg)
            _refuse_unlisted(order, args)
        return [*parts, *([" ORDER BY ", *order] if order else []), ")"]

    def _ordered_set(self, name: str, args: list[Expr], node: Node, scope: Scope) -> tuple[Parts, Type]:
        key = self.analysis.known(self.analysis.expr(node.agg_order[0].sort_by.node, scope))
        if name == "percentile_cont":
            of, key = FLOAT8, self.analysis.coerce(key, FLOAT8)
        else:
            of = key.type
        fraction: Parts = [self.analysis.coerce(args[0], FLOAT8)] if args else []
        direction = " DESC" if node.agg_order[0].sort_by.sortby_dir == 3 else ""
        return [f"{name}(", *fraction, ") WITHIN GROUP (ORDER BY ", key, direction + ")"], of

    def _window(self, over: Node, scope: Scope) -> Parts:
        partition, order, frame = self._whole_window(over)
        exprs = (self.analysis.known(self.analysis.expr(node, scope)) for node in partition)
        keys = joined((_sorted(expr),) for expr in exprs)
        parts: Parts = ["PARTITION BY ", *keys] if keys else []
        if len(order):
            parts += [" ORDER BY ", *self.sort(order, scope)]
        return [*parts, *self._frame(frame, order, scope)]

    def _whole_window(self, over: Node) -> tuple[Sequence[Node], Sequence[Node], Node]:
        """Find what a window is divided and sorted by, and the one that has its frame; it may begin with another."""
        name = over.refname or (over.name if not (len(over.partition_clause) or len(over.order_clause)) else "")
        if not name or self.analysis.windows.get(name) is over:
            return over.partition_clause, over.order_clause, over
        if name not in self.analysis.windows:
            raise SqlError("42704", f'window "{name}" does not exist', over.location)
        partition, order, frame = self._whole_window(self.analysis.windows[name])
        if not over.refname:
            return partition, order, frame
        message = None
        if len(over.partition_clause):
            message = f'cannot override PARTITION BY clause of window "{name}"'
        elif len(over.order_clause) and len(order):
            message = f'cannot override ORDER BY clause of window "{name}"'
        elif frame.frame_options & 0x1:
            message = f'cannot copy window "{name}" because it has a frame clause'
        if message is not None:
            raise SqlError(WINDOWING_ERROR, message, over.location)
        return partition, over.order_clause if len(over.order_clause) else order, over

    def _frame(self, over: Node, order: Sequence[Node], scope: Scope) -> Parts:
        bits = over.frame_options
        if not bits & 0x1:
            return []
        unit = "ROWS" if bits & 0x4 else "RANGE" if bits & 0x2 else "GROUPS"
        of: Type | None = INT8
        if unit == "RANGE":
            of = self._distance(order, scope)
        start = self._frame_end(bits, over, of, "start_offset", (0x20, 0x80, 0x200, 0x800), scope)
        end = self._frame_end(bits, over, of, "end_offset", (0x40, 0x100, 0x400, 0x1000), scope)
        excluded = next((f" EXCLUDE {words}" for bit, words in _EXCLUDED.items() if bits & bit), "")
        return [f" {unit} BETWEEN ", *start, " AND ", *end, excluded]

    def _distance(self, order: Sequence[Node], scope: Scope) -> Type | None:
        """The type of a quoted distance from the row's own place."""
        if len(order) != 1:
            return None
        of = self.analysis.expr(order[0].sort_by.node, scope).type
        return INTERVAL if of in (DATE, TIMESTAMP, TIMESTAMPTZ, TIME, INTERVAL) else of

    def _frame_end(
        self,
        bits: int,
        over: Node,
        of: Type | None,
        offset_field: str,
        masks: tuple[int, int, int, int],
        scope: Scope,
    ) -> Parts:
        first, last, current, before = masks
        if bits & first:
            return ["UNBOUNDED PRECEDING"]
        if bits & last:
            return ["UNBOUNDED FOLLOWING"]
        if bits & current:
            return ["CURRENT ROW"]
        given = self.analysis.expr(getattr(over, offset_field), scope)
        offset = self.analysis.coerce(given, of) if given.type is UNKNOWN and of is not None else given
        offset = self.analysis.known(offset)
        return [offset, " PRECEDING" if bits & before else " FOLLOWING"]

    def sort(self, clause: Iterable[Node], scope: Scope) -> Parts:
        """ORDER BY of an aggregate or a window."""
        exprs = ((self.analysis.expr(item.sort_by.node, scope), direction_of(item.sort_by)) for item in clause)
        return joined((_sorted(self.analysis.known(expr)), direction) for expr, direction in exprs)


def _sorted(expr: Expr) -> Expr:
    refuse_unsorted(expr)
    return expr


def _refuse_unlisted(order: Parts, args: Sequence[Expr]) -> None:
    """Refuses DISTINCT with an order by what is no argument. The engine sorts by the arguments alone."""
    listed = [one for arg in args for one in (bare(arg), arg)]
    exprs = [part for part in order if not isinstance(part, str)]
    unlisted = next((expr for expr in exprs if not any(is_same(expr, one) for one in listed)), None)
    if unlisted is not None:
        message = "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list"
        raise SqlError("42P10", message, place_of(unlisted))


def is_same(one: Expr, other: Expr) -> bool:
    """True for what was written twice: each call has a function of its own to compute it."""
    if not (isinstance(one, Call) and isinstance(other, Call)):
        return one == other
    alike = (one.name, one.type, len(one.args)) == (other.name, other.type, len(other.args))
    return alike and all(map(is_same, one.args, other.args))


def grouping(args: Sequence[Expr], offset: int) -> Fragment:
    """GROUPING(..): a bit for each expression that the row's grouping set does not have."""
    if len(args) > GROUPING_MAX:
        raise SqlError(TOO_MANY_ARGUMENTS, "GROUPING must have fewer than 32 arguments", offset)
    keys = joined((_sorted(arg),) for arg in args)
    return Fragment((GROUPING, *keys, ")"), INT4, is_aggregate=True, offset=offset)


def direction_of(sort: Node) -> str:
    """ASC or DESC with PostgreSQL's place for NULLs: they are greatest."""
    using = operator_name(sort.use_op) if sort.sortby_dir == 4 else ""
    if using not in ("", "<", ">", "~<~", "~>~"):
        message = f"operator {using} is not a valid ordering operator"
        raise SqlError("42809", message, sort.location, hint='Ordering operators must be "<" or ">".')
    word = "DESC" if sort.sortby_dir == 3 or ">" in using else "ASC"
    first = sort.sortby_nulls == 2 or (sort.sortby_nulls != 3 and word == "DESC")
    return f" {word} NULLS {'FIRST' if first else 'LAST'}"


def aggregates_in(expr: Expr) -> Iterator[Fragment]:
    """The aggregates of this query in the expression; those of a subquery are its own."""
    if isinstance(expr, Fragment) and expr.is_aggregate:
        yield expr
    elif isinstance(expr, Call):
        for arg in expr.args:
            yield from aggregates_in(arg)
    elif isinstance(expr, Fragment) and not expr.is_query:
        for part in expr.parts:
            if not isinstance(part, str):
                yield from aggregates_in(part)


def windows_in(expr: Expr) -> Iterator[Fragment]:
    """The window functions in the expression."""
    if isinstance(expr, Fragment) and " OVER (" in expr.parts:
        yield expr
    inner = expr.args if isinstance(expr, Call) else ()
    for arg in inner:
        yield from windows_in(arg)


def refuse_aggregates(expr: Expr, clause: str) -> None:
    for part in aggregates_in(expr):
        raise SqlError(GROUPING_ERROR, f"aggregate functions are not allowed in {clause}", part.offset)
    for part in windows_in(expr):
        raise SqlError(WINDOWING_ERROR, f"window functions are not allowed in {clause}", part.offset)


def refuse_nested(parts: Sequence[str | Expr], offset: int) -> None:
    for part in parts:
        inner = None if isinstance(part, str) else next(aggregates_in(part), None)
        if inner is not None:
            raise SqlError(GROUPING_ERROR, "aggregate function calls cannot be nested", inner.offset)
