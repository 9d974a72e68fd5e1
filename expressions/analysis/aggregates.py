"""Aggregates and window functions of a query, and where they may not stand."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from catalog.values.arrays import OF_ARRAYS, OF_ONE_DIMENSION
from expressions.analysis.scopes import Scope
from expressions.analysis.tree import operator_name
from expressions.documents import building as documents
from expressions.errors import (
    GROUPING_ERROR,
    TOO_MANY_ARGUMENTS,
    WINDOWING_ERROR,
    SqlError,
    unsupported,
)
from expressions.functions import allowed, casts
from expressions.functions.aggregates import DEVIATIONS
from expressions.functions.overloads import Overload
from expressions.limits import guarded, guarded_elements
from expressions.sqltypes import (
    DATE,
    FLOAT4,
    FLOAT8,
    INT4,
    INT8,
    INTERVAL,
    KEY,
    KEYED,
    NUMERIC,
    TEXT,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UNKNOWN,
    Type,
)
from expressions.typed import Call, ColumnRef, Expr, Fragment, bare, is_constant, joined, place_of, sort_key, walk
from expressions.values.intervals import engine_interval

Node = Any
Parts = list[str | Expr]
GROUPING = "CAST(GROUPING("
"""The beginning of a call of GROUPING."""
GROUPING_MAX = 31
_EXCLUDED = {0x8000: "CURRENT ROW", 0x10000: "GROUP", 0x20000: "TIES"}
"""What a frame leaves out, by PostgreSQL's bits."""
OVERFLOWING = frozenset({
    "sum", "avg", "covar_pop", "covar_samp", "corr", "regr_slope", "regr_intercept", "regr_r2", "regr_avgx",
    "regr_avgy", "regr_sxx", "regr_syy", "regr_sxy", *DEVIATIONS,
})  # fmt: skip
"""Aggregates of doubles whose sums may be too large for one."""
_OF_SQUARES = frozenset({"covar_pop", "covar_samp", *DEVIATIONS})
_NO_SLOPE = "CASE WHEN {sxx} <> 0 THEN {found} END"
_QUOTIENTS = {
    "corr": "CASE WHEN {sxx} <> 0 AND {syy} <> 0 THEN {found} END",
    "regr_slope": _NO_SLOPE,
    "regr_intercept": _NO_SLOPE,
    "regr_r2": "CASE WHEN {sxx} <> 0 THEN CASE WHEN {syy} = 0 THEN 1 ELSE {found} END END",
}
"""What these are, where all values are one."""
PAIRS = "list("
"""The beginning of array_agg(DISTINCT ..) of values that are compared by something else."""
WHOLE_TO_NUMERIC = casts.TEMPLATES[INT8, NUMERIC]


class Analysis(Protocol):
    """The analysis of the expressions inside (`expressions.analysis.analyzer`)."""

    @property
    def windows(self) -> Mapping[str, Node]: ...

    def expr(self, node: Node, scope: Scope) -> Expr: ...

    def condition(self, node: Node, scope: Scope, clause: str) -> Expr: ...

    def row_of(self, node: Node, scope: Scope) -> list[tuple[str, Expr]] | None: ...

    def value_or_row(self, node: Node, scope: Scope) -> Expr: ...

    def is_there(self, node: Node, scope: Scope) -> Expr | None: ...

    def known(self, expr: Expr) -> Expr: ...

    def coerce(self, expr: Expr, target: Type) -> Expr: ...

    def cast(self, expr: Expr, target: Type, offset: int) -> Expr: ...

    def output_text(self, arg: Expr) -> Expr: ...

    def operator(self, name: str, args: Sequence[Expr], offset: int) -> Expr: ...

    def chosen(
        self, name: str, overloads: Sequence[Overload], args: Sequence[Expr], offset: int
    ) -> tuple[Overload, tuple[Type, ...]]: ...


@dataclass(frozen=True, slots=True)
class Aggregates:
    """Analyses calls of aggregates and window functions, with what stands in OVER, FILTER and WITHIN GROUP."""

    analysis: Analysis

    def call(self, name: str, node: Node, scope: Scope) -> Expr:
        parts, of = self._head(name, node, scope)
        head = len(parts)
        if node.HasField("agg_filter"):
            condition = self.analysis.condition(node.agg_filter, scope, "FILTER")
            parts = [*parts, " FILTER (WHERE ", condition, ")"]
        if not node.HasField("over"):
            if name in allowed.WINDOW_ONLY:
                raise SqlError("42809", f"window function {name} requires an OVER clause", node.location)
            refuse_nested(parts, node.location)
        else:
            parts = [*parts, " OVER (", *self._window(node.over, scope), ")"]
        if of is FLOAT8 and name in OVERFLOWING:
            parts = _bounded(name, parts, head)
        return self._finished(name, parts, of, node.location, is_aggregate=not node.HasField("over"))

    def _head(self, name: str, node: Node, scope: Scope) -> tuple[Parts, Type]:
        is_document = name in documents.AGGREGATES
        if name == "count" and len(node.args) == 1:
            fields = self.analysis.row_of(node.args[0], scope)
            if fields is not None:
                test = self.analysis.is_there(node.args[0], scope)
                record = _record(fields)
                counted = record if test is None else ["CASE WHEN ", test, " THEN ", *record, " END"]
                return ["count(", "DISTINCT " if node.agg_distinct else "", *counted, ")"], INT8
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
            return self._document(name, args, node, scope)
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
        engine = overload.template
        if name == "string_agg":
            coerced[1] = _separator(coerced[1])
        if coerced and coerced[0].type in KEYED and engine in ("min", "max"):
            return [f"arg_{engine}(", coerced[0], ", ", sort_key(coerced[0]), ")"], overload.result
        if node.agg_distinct and name == "array_agg" and coerced[0].type in KEYED:
            return self._distinct_array(args[0], node, scope), overload.result
        if node.agg_distinct and any(arg.type in KEYED for arg in coerced):
            coerced = self._distinct(name, coerced, node.location)
        inner: Parts = [*(["DISTINCT "] if node.agg_distinct else []), *joined((arg,) for arg in coerced)]
        if len(node.agg_order):
            order = self.sort(node.agg_order, scope)
            if node.agg_distinct:
                _refuse_unlisted(order, coerced)
            inner += [" ORDER BY ", *order]
        elif node.agg_distinct and name in ("string_agg", "array_agg"):
            inner += [" ORDER BY ", coerced[0], " ASC NULLS LAST"]  # PostgreSQL finds what is distinct by sorting
        return [engine, "(", *inner, ")"], overload.result

    def _document(self, name: str, args: list[Expr], node: Node, scope: Scope) -> tuple[Parts, Type]:
        """The parts that the engine strings together: a document of each row."""
        if node.agg_distinct:
            raise unsupported(f"{name}(DISTINCT)", node.location, hint="use DISTINCT in a subquery")
        parts = documents.aggregated(name, self.analysis, args, node.location)
        order: Parts = [" ORDER BY ", *self.sort(node.agg_order, scope)] if len(node.agg_order) else []
        return ["string_agg(", *parts, ", ', '", *order, ")"], documents.AGGREGATES[name]

    def _distinct(self, name: str, args: Sequence[Expr], offset: int) -> list[Expr]:
        """Arguments by which the engine finds the same values: it would take 1.0 and 1.00 for two."""
        if name == "count":
            return [sort_key(arg) for arg in args]
        if name in ("sum", "avg", *DEVIATIONS):
            return list(args)  # they are found where they are added up
        raise unsupported(f"{name}(DISTINCT) of {args[0].type}", offset, hint="cast to text, or trim_scale first")

    def _distinct_array(self, arg: Expr, node: Node, scope: Scope) -> Parts:
        """The values with what they are compared by, in order: those that are the same stand side by side."""
        key = sort_key(arg)
        order = self.sort(node.agg_order, scope) if len(node.agg_order) else [key, " ASC NULLS LAST"]
        _refuse_unlisted(order, [arg])
        pair = Call("pair", "{{'k': {0}, 'v': {1}}}", (key, arg), KEY, offset=arg.offset)
        return [PAIRS, pair, " ORDER BY ", *order, ")"]

    def _ordered_set(self, name: str, args: list[Expr], node: Node, scope: Scope) -> tuple[Parts, Type]:
        key = self.analysis.known(self.analysis.expr(node.agg_order[0].sort_by.node, scope))
        if key.type in KEYED and name != "percentile_cont":
            raise unsupported(f"{name} of {key.type}", node.location, hint="cast it to double precision")
        if name == "percentile_cont":
            of, key = FLOAT8, self.analysis.coerce(key, FLOAT8)
        else:
            of = key.type
        fraction: Parts = [_fraction(self.analysis.coerce(args[0], FLOAT8))] if args else []
        direction = " DESC" if node.agg_order[0].sort_by.sortby_dir == 3 else ""
        return [f"{name}(", *fraction, ") WITHIN GROUP (ORDER BY ", key, direction + ")"], of

    def _finished(
        self, name: str, parts: Sequence[str | Expr], of: Type, offset: int, *, is_aggregate: bool
    ) -> Fragment:
        whole: tuple[str | Expr, ...]
        if of is INTERVAL and name in ("sum", "avg"):
            if parts[2] == "DISTINCT ":
                raise unsupported(f"{name}(DISTINCT) of intervals", offset)
            whole = (f"own_interval_{name}_of(list", *parts[1:], ")")
            return Fragment(whole, of, is_aggregate=is_aggregate, offset=offset)
        if of is NUMERIC and name in ("sum", "avg"):
            return Fragment(_exact(name, list(parts)), of, is_aggregate=is_aggregate, offset=offset)
        if of is NUMERIC and name in DEVIATIONS:
            return Fragment(_exact_deviation(name, list(parts)), of, is_aggregate=is_aggregate, offset=offset)
        needs_cast = (name == "sum" and of in (INT8, FLOAT4)) or (name == "ntile")
        whole = ("CAST(", *parts, f" AS {of.duck})") if needs_cast else tuple(parts)
        if name in documents.AGGREGATES:
            whole = documents.finished(name, parts)
        elif parts[0] == PAIRS:
            kept = "list_filter(x, lambda e, i: i = 1 OR e.k IS DISTINCT FROM x[i - 1].k)"
            values = f"list_transform({kept}, lambda e: e.v)"
            guard = f"list_transform([{values}], lambda l: {guarded_elements('l', of.duck)})[1]"
            whole = ("list_transform([", *whole, f"], lambda x: {guard})[1]")
        elif name == "array_agg":
            whole = ("list_transform([", *whole, f"], lambda x: {guarded_elements('x', of.duck)})[1]")
        elif name == "string_agg":
            whole = ("list_transform([", *whole, f"], lambda x: {guarded('strlen(x)', 'x')})[1]")
        return Fragment(whole, of, is_aggregate=is_aggregate, offset=offset)

    def _window(self, over: Node, scope: Scope) -> Parts:
        partition, order, frame = self._whole_window(over)
        exprs = (self.analysis.known(self.analysis.expr(node, scope)) for node in partition)
        keys = joined((sort_key(expr),) for expr in exprs)
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
        if offset.type is INTERVAL:
            offset = Call("engine interval", engine_interval("{0}"), (offset,), INTERVAL)
        return [offset, " PRECEDING" if bits & before else " FOLLOWING"]

    def sort(self, clause: Iterable[Node], scope: Scope) -> Parts:
        """ORDER BY of an aggregate or a window."""
        exprs = ((self.analysis.expr(item.sort_by.node, scope), direction_of(item.sort_by)) for item in clause)
        return joined((sort_key(self.analysis.known(expr)), direction) for expr, direction in exprs)


def _record(fields: Sequence[tuple[str, Expr]]) -> Parts:
    """A row by which the engine counts: it is there whatever its fields are."""
    each = [(f"'f{place}': ", sort_key(field)) for place, (_, field) in enumerate(fields)]
    return ["{", *joined(each or [("'f': 0",)]), "}"]


def _refuse_unlisted(order: Parts, args: Sequence[Expr]) -> None:
    """Refuses DISTINCT with an order by what is no argument. The engine sorts by the arguments alone."""
    listed = [sort_key(one) for arg in args for one in (bare(arg), arg)]
    exprs = [part for part in order if not isinstance(part, str)]
    unlisted = next((expr for expr in exprs if not any(is_same(expr, one) for one in listed)), None)
    if unlisted is not None:
        message = "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list"
        raise SqlError("42P10", message, place_of(unlisted))


def _fraction(given: Expr) -> Expr:
    """The fraction of a percentile, which is a constant. Raises 22003 for one beyond 0 and 1."""

    def checked(value: float) -> float:
        if not 0 <= value <= 1:
            raise SqlError("22003", f"percentile value {value:g} is not between 0 and 1", given.offset)
        return value

    return Call("fraction", "", (given,), FLOAT8, checked, offset=given.offset) if is_constant(given) else given


def _bounded(name: str, parts: Parts, head: int) -> Parts:
    """A double of all rows. The engine knows no overflow (22003), and finds no number where PostgreSQL finds NULL."""
    args = _arguments(parts[:head])
    rest = parts[head:]
    finite = joined((("isfinite(", arg, ")") for arg in args), " AND ")
    missing = joined(((arg, " IS NULL") for arg in args), " OR ")  # such a row does not count
    found: Parts = ["{'found': ", *parts, ", 'finite': bool_and((", *finite, ") OR ", *missing, ")", *rest]
    large, case = "NOT isfinite({found})", "{found}"
    if name in _QUOTIENTS:
        for word in ("sxx", "syy"):
            found += [f", '{word}': regr_{word}(", *joined((arg,) for arg in args), ")", *rest]
        large, case = "(isinf({sxx}) OR isinf({syy}))", _QUOTIENTS[name]
    elif name in _OF_SQUARES:
        case = "CASE WHEN {finite} OR {found} IS NULL THEN {found} ELSE CAST('NaN' AS DOUBLE) END"
    overflow = "CAST(error('SQLSTATE 22003 value out of range: overflow') AS DOUBLE)"
    whole = f"CASE WHEN {{finite}} AND {large} THEN {overflow} ELSE {case} END"
    # HAVING takes s.found for a column, so each part is asked for by a call
    whole = whole.format(**{word: f"struct_extract(s, '{word}')" for word in ("found", "finite", "sxx", "syy")})
    return ["list_transform([", *found, f"}}], lambda s: {whole})[1]"]


def _arguments(head: Parts) -> list[Expr]:
    """The arguments of an aggregate, without what it sorts them by."""
    end = head.index(" ORDER BY ") if " ORDER BY " in head else len(head)
    return [part for part in head[:end] if not isinstance(part, str)]


def _separator(given: Expr) -> Expr:
    """Returns the separator: nothing where it is NULL. The query engine takes one for all texts."""
    if any(isinstance(part, ColumnRef | Fragment) for part in walk(given)):
        hint = "write the separator as a constant, or join it to the texts"
        raise unsupported("string_agg with a separator that rows decide", given.offset, hint=hint)
    return Call("coalesce", "coalesce({0}, '')", (given,), TEXT, offset=given.offset)


def _exact(name: str, parts: list[str | Expr]) -> tuple[str | Expr, ...]:
    """The sum or average of integers, which the engine adds up, or of numerics, which it hands on.

    A window is added up by the engine, too, as whole numbers of a fixed scale: its frames share their rows.
    """
    head, rest = parts[1:2], parts[2:]
    is_distinct = rest[0] == "DISTINCT "
    arg = rest[1 if is_distinct else 0]
    assert not isinstance(arg, str), parts
    end = rest[2 if is_distinct else 1 :]
    if arg.type is not NUMERIC:
        total: Parts = ["CAST(sum", *head, *rest, " AS VARCHAR)"]
        if name == "sum":
            return ("numeric_of_text(", *total, ")")
        return ("numeric_average(", *total, ", count", *head, *rest, ")")
    if " OVER (" in end:
        if is_distinct:
            raise unsupported(f"{name}(DISTINCT) over a window", arg.offset)
        scale = Call("scale", "numeric_scale({0})", (arg,), INT8)
        whole = Call("whole", "numeric_shifted({0})", (arg,), INT8)
        total = ["CAST(sum(", whole, *end, " AS VARCHAR), max(", scale, *end]
        return (f"numeric_shifted_{name}(", *total, ", count(", arg, *end, ")")
    word = f"numeric_{name}_of{'_distinct' if is_distinct else ''}(list("
    return (word, arg, *end, ")")


def _exact_deviation(name: str, parts: list[str | Expr]) -> tuple[str | Expr, ...]:
    """The stddev or variance of integers, by sums of the engine's, or of numerics, which it hands on."""
    is_distinct = parts[2] == "DISTINCT "
    arg, end = parts[3 if is_distinct else 2], parts[4 if is_distinct else 3 :]
    assert not isinstance(arg, str), parts
    if arg.type is NUMERIC or is_distinct:
        if " OVER (" in end:
            what = "DISTINCT" if is_distinct else "of numerics"
            raise unsupported(f"{name} {what} over a window", arg.offset, hint="cast to double precision")
        number = arg if arg.type is NUMERIC else Call("cast", WHOLE_TO_NUMERIC, (arg,), NUMERIC)
        return (f"numeric_{name}_of{'_distinct' if is_distinct else ''}(list(", number, *end, ")")
    square = Call("square", "(CAST({0} AS HUGEINT) * CAST({0} AS HUGEINT))", (arg,), INT8)
    sums: Parts = ["CAST(sum(", square, *end, " AS VARCHAR), CAST(sum(", arg, *end, " AS VARCHAR)"]
    return (f"numeric_{name}(", *sums, ", count(", arg, *end, ")")


def is_same(one: Expr, other: Expr) -> bool:
    """True for what was written twice: each call has a function of its own to compute it."""
    if not (isinstance(one, Call) and isinstance(other, Call)):
        return one == other
    alike = (one.name, one.template, one.type, len(one.args)) == (
        other.name, other.template, other.type, len(other.args)
    )  # fmt: skip
    return alike and all(map(is_same, one.args, other.args))


def grouping(args: Sequence[Expr], offset: int) -> Fragment:
    """GROUPING(..): a bit for each expression that the row's grouping set does not have."""
    if len(args) > GROUPING_MAX:
        raise SqlError(TOO_MANY_ARGUMENTS, "GROUPING must have fewer than 32 arguments", offset)
    keys = joined((sort_key(arg),) for arg in args)
    return Fragment((GROUPING, *keys, ") AS INTEGER)"), INT4, is_aggregate=True, offset=offset)


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
