"""From PostgreSQL's parse tree to typed expressions.

Types are found as PostgreSQL finds them, from the leaves up (`expressions.analysis.building`). What a node cannot do
ends here, by name and with its place in the statement, and so does every mistake of the user's that can be seen without
data.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from postgast import pg_query_pb2 as pb

from catalog.descriptor import Descriptor
from expressions.analysis.aggregates import Aggregates, grouping, refuse_aggregates
from expressions.analysis.building import Parameters
from expressions.analysis.comparisons import Comparisons
from expressions.analysis.composed import formatted, shown_date, type_of
from expressions.analysis.scopes import Scan, Scope
from expressions.analysis.tree import (
    function_name,
    interval_literal,
    interval_unit_of_name,
    is_row,
    length_of_name,
    location_of,
    number_literal,
    operator_name,
    refuse_long_list,
    type_of_name,
)
from expressions.dates.zones import PLAIN, TimeStyle
from expressions.documents import building as documents
from expressions.errors import (
    STATEMENT_TOO_COMPLEX,
    TOO_MANY_ARGUMENTS,
    UNDEFINED_FUNCTION,
    UNDEFINED_PARAMETER,
    SqlError,
    unsupported,
)
from expressions.functions import allowed
from expressions.sqltypes import (
    ARRAY_OF,
    BOOL,
    DATE,
    DOCUMENTS,
    INT4,
    INTERVAL,
    JSONB,
    KEYED,
    NO_MODIFIER,
    NUMBERED,
    NUMERIC,
    TEXT,
    TEXTUAL,
    TIME,
    TIMESTAMP,
    TIMESTAMPTZ,
    UNKNOWN,
    Type,
    key_text,
)
from expressions.typed import (
    Call,
    Context,
    Expr,
    Fragment,
    Literal,
    Parameter,
    is_constant,
    lazy_call,
    modifier_of,
    size_of,
    sort_key,
)
from expressions.values import arithmetic

Node = Any
DEPTH_MAX = 200
PARTS_MAX = 100_000
ARGUMENTS_MAX = 100

SESSION_VALUES = {
    "version": "version", "current_database": "database", "current_catalog": "database", "current_schema": "schema",
    "current_user": "user", "session_user": "user", "current_role": "user", "user": "user",
}  # fmt: skip
OF_CONSTANTS = ("current_setting", "set_config", "like_escape")


@dataclass(eq=False)
class Analyzer(Comparisons):
    """The analysis of one statement. `subquery` analyses a SELECT inside it (`nodes.sql.queries.selects`)."""

    catalog: Mapping[str, Descriptor]
    parameters: Parameters = field(default_factory=Parameters)
    scans: list[Scan] = field(default_factory=list)
    subquery: Callable[[Node, Scope], "tuple[tuple[str | Expr, ...], list[Type]]"] | None = None
    windows: dict[str, Node] = field(default_factory=dict)
    style: TimeStyle = PLAIN
    relations: set[str] = field(default_factory=set)
    """Those of pg_catalog that the statement reads."""
    where_true: dict[Expr, Expr] = field(default_factory=dict)
    _depth: int = 0

    def note_relations(self, names: frozenset[str]) -> None:
        self.relations |= names

    # -- expressions --------------------------------------------------------------------------------------------

    def expr(self, node: Node, scope: Scope) -> Expr:
        """The typed expression of a parse node; its type may still be unknown."""
        kind = node.WhichOneof("node")
        method = getattr(self, f"_{kind}", None) if kind else None
        if method is None:
            raise unsupported(f"{(kind or 'this').replace('_', ' ')} in an expression", location_of(node, kind))
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise SqlError(STATEMENT_TOO_COMPLEX, f"the expression is nested deeper than {DEPTH_MAX} levels")
        try:
            result: Expr = method(getattr(node, kind), scope)
        finally:
            self._depth -= 1
        if size_of(result) > PARTS_MAX:
            message = f"the expression has more than {PARTS_MAX} parts when each is written out"
            raise SqlError(STATEMENT_TOO_COMPLEX, message, location_of(node, kind))
        return result

    def condition(self, node: Node, scope: Scope, clause: str) -> Expr:
        """A boolean expression that contains no aggregate."""
        expr = self.boolean(self.expr(node, scope), clause)
        refuse_aggregates(expr, clause)
        return self._where_true(expr) if self.where_true else expr

    def _where_true(self, expr: Expr) -> Expr:
        if isinstance(expr, Call) and expr.name == "AND":
            return replace(expr, args=tuple(self._where_true(arg) for arg in expr.args))
        return self.where_true.get(expr, expr)

    # -- leaves -------------------------------------------------------------------------------------------------

    def _a_const(self, node: Node, scope: Scope) -> Expr:
        kind = node.WhichOneof("val")
        if node.isnull:
            return Literal(None, UNKNOWN, node.location)
        if kind == "ival":
            return Literal(node.ival.ival, INT4, node.location)
        if kind == "fval":
            return number_literal(node.fval.fval, node.location)
        if kind == "boolval":
            return Literal(node.boolval.boolval, BOOL, node.location)
        if kind == "sval":
            return Literal(node.sval.sval, UNKNOWN, node.location)
        raise unsupported("a bit string", node.location)

    def _param_ref(self, node: Node, scope: Scope) -> Expr:
        if not 1 <= node.number <= self.parameters.count_max:
            raise SqlError(UNDEFINED_PARAMETER, f"there is no parameter ${node.number}", node.location)
        return Parameter(node.number, self.parameters.type_of(node.number), node.location)

    def _column_ref(self, node: Node, scope: Scope) -> Expr:
        parts = []
        for part in node.fields:
            if part.WhichOneof("node") == "a_star":
                raise SqlError("42601", "* stands for columns only in the list of a SELECT or RETURNING", node.location)
            parts.append(part.string.sval)
        return scope.resolve(parts, node.location)

    def _sqlvalue_function(self, node: Node, scope: Scope) -> Expr:
        name = pb.SQLValueFunctionOp.Name(node.op).removeprefix("SVFOP_").lower()
        now = lazy_call("now", "", (), TIMESTAMPTZ, arithmetic.now, node.location)
        if name == "current_date":
            return self.cast(now, DATE, node.location)
        if name == "localtime":
            return self.cast(now, TIME, node.location)
        if name == "localtimestamp":
            return self.cast(now, TIMESTAMP, node.location)
        if name == "current_timestamp":
            return now
        if name in SESSION_VALUES:
            return session_value(SESSION_VALUES[name], node.location)
        raise unsupported(name, node.location)

    # -- operators ----------------------------------------------------------------------------------------------

    def _a_expr(self, node: Node, scope: Scope) -> Expr:
        kind = pb.A_Expr_Kind.Name(node.kind)
        method = getattr(self, "_x_" + kind.removeprefix("AEXPR_").lower(), None)
        if method is None:
            raise unsupported(kind.removeprefix("AEXPR_").replace("_", " "), node.location)
        result: Expr = method(node, scope)
        return result

    def _x_op(self, node: Node, scope: Scope) -> Expr:
        name = operator_name(node.name)
        if is_row(node.lexpr) or is_row(node.rexpr):
            return self._row_comparison(node, name, scope)
        args = [self.expr(node.rexpr, scope)]
        if node.HasField("lexpr"):
            args.insert(0, self.expr(node.lexpr, scope))
        return self.operator(name, args, node.location)

    _x_like = _x_ilike = _x_op

    def _bool_expr(self, node: Node, scope: Scope) -> Expr:
        word = pb.BoolExprType.Name(node.boolop).removesuffix("_EXPR")
        args = [self.boolean(self.expr(arg, scope), word) for arg in node.args]
        if word == "NOT":
            return self.negated(args[0], node.location)
        return self.all_of(args, node.location) if word == "AND" else self.any_of(args, node.location)

    def _null_test(self, node: Node, scope: Scope) -> Expr:
        word, compute = ("NULL", arithmetic.is_null) if node.nulltesttype == 1 else ("NOT NULL", arithmetic.is_not_null)
        items = node.arg.row_expr.args if is_row(node.arg) else (node.arg,)
        values = [self.known(self.expr(item, scope)) for item in items]
        tests = [lazy_call(f"IS {word}", f"({{0}} IS {word})", (v,), BOOL, compute, node.location) for v in values]
        return tests[0] if len(tests) == 1 else self.all_of(tests, node.location)

    def _boolean_test(self, node: Node, scope: Scope) -> Expr:
        name = pb.BoolTestType.Name(node.booltesttype)
        arg = self.boolean(self.expr(node.arg, scope), name.replace("_", " "))
        wanted = {"TRUE": True, "FALSE": False, "UNKNOWN": None}[name.rsplit("_", 1)[1]]
        word = "NULL" if wanted is None else str(wanted).upper()
        negated = "NOT" in name
        compute = arithmetic.is_not_value(wanted) if negated else arithmetic.is_value(wanted)  # type: ignore[arg-type]
        template = f"({{0}} IS {'NOT ' if negated else ''}{word})"
        return lazy_call("IS", template, (arg,), BOOL, compute, node.location)

    def _x_nullif(self, node: Node, scope: Scope) -> Expr:
        left, right = self.expr(node.lexpr, scope), self.expr(node.rexpr, scope)
        test = self.operator("=", (left, right), node.location)
        assert isinstance(test, Call)
        of = self.known(left).type
        if test.args[0].type in KEYED:
            template = "CASE WHEN {0} THEN NULL ELSE {1} END"
            return lazy_call("nullif", template, (test, self.known(left)), of, arithmetic.nullif_equal, node.location)
        first = self.coerce(left, of) if left.type is UNKNOWN else left
        return lazy_call("nullif", "nullif({0}, {1})", (first, test.args[1]), of, arithmetic.nullif, node.location)

    # -- functions and casts ------------------------------------------------------------------------------------

    def _type_cast(self, node: Node, scope: Scope) -> Expr:
        if node.arg.WhichOneof("node") == "a_array_expr" and not len(node.arg.a_array_expr.elements):
            nothing: Any = ()
            return Literal(nothing, type_of_name(node.type_name), node.location)
        if node.arg.WhichOneof("node") == "a_array_expr" and len(node.type_name.array_bounds):
            return self._array(node.arg.a_array_expr, scope, type_of_name(node.type_name))
        arg = self.expr(node.arg, scope)
        place = node.location if node.location >= 0 else arg.offset
        unit = interval_unit_of_name(node.type_name)
        if unit is not None:
            return self._interval(arg, unit, place)
        cast = self.cast(arg, type_of_name(node.type_name), place)
        if cast is arg and cast.type is NUMERIC and modifier_of(cast) != NO_MODIFIER:
            cast = Call("cast", "{0}", (arg,), NUMERIC, lambda value: value, offset=place)  # its scale is its own
        return self.of_length(cast, length_of_name(node.type_name), is_explicit=True, offset=place)

    def _interval(self, arg: Expr, unit: str, offset: int) -> Expr:
        """`interval '5' day` and the like: the unit of a number without one, and the least that is kept."""
        if arg.type is UNKNOWN and isinstance(arg, Literal) and isinstance(arg.value, str):
            arg = Literal(interval_literal(arg.value, unit, arg.offset), INTERVAL, arg.offset)
        value = self.cast(arg, INTERVAL, offset)
        return (
            value
            if unit == "second"
            else self.function("date_trunc", allowed.FUNCTIONS["date_trunc"], (Literal(unit, TEXT), value), offset)
        )

    def _a_array_expr(self, node: Node, scope: Scope) -> Expr:
        refuse_long_list(len(node.elements), node.location)
        if not len(node.elements):
            raise SqlError(
                "42P18", "cannot determine type of empty array", node.location, hint="cast it, as in ARRAY[]::integer[]"
            )
        args, of = self.common([self.expr(item, scope) for item in node.elements], "ARRAY")
        if of in TEXTUAL:
            args, of = [self.coerce(arg, TEXT) for arg in args], TEXT
        if of not in ARRAY_OF:
            raise unsupported(f"an array of {of}", node.location)
        return Call("array", "[{all}]", tuple(args), ARRAY_OF[of], offset=node.location)

    def _array(self, node: Node, scope: Scope, of: Type) -> Expr:
        """ARRAY[..] under a cast: it is its elements that are cast."""
        refuse_long_list(len(node.elements), node.location)
        element = of.element
        assert element is not None
        args = tuple(self.cast(self.expr(item, scope), element, node.location) for item in node.elements)
        return Call("array", "[{all}]", args, of, offset=node.location)

    def _a_indirection(self, node: Node, scope: Scope) -> Expr:
        """An element of an array, by its number, or a field of one that has its number beside it."""
        expr = self.expr(node.arg, scope)
        for item in node.indirection:
            if expr.type is NUMBERED and item.WhichOneof("node") == "string" and item.string.sval in ("x", "n"):
                field_ = item.string.sval
                expr = Call("field", f"struct_extract({{0}}, '{field_}')", (expr,), INT4, offset=expr.offset)
                continue
            if expr.type is JSONB and item.WhichOneof("node") == "a_indices" and not item.a_indices.is_slice:
                expr = self.operator("->", (expr, self.expr(item.a_indices.uidx, scope)), expr.offset)
                continue
            if item.WhichOneof("node") != "a_indices" or item.a_indices.is_slice or expr.type.element is None:
                raise unsupported("a slice of an array, or a field of a value", expr.offset)
            number = self.coerce(self.expr(item.a_indices.uidx, scope), INT4)
            first = expr.type.first
            place = "{1}" if first == 1 else f"{{1}} + {1 - first}"
            template = f"CASE WHEN {{1}} >= {first} THEN {{0}}[{place}] END"
            expr = Call("element", template, (expr, number), expr.type.element, offset=expr.offset)
        return expr

    def _collate_clause(self, node: Node, scope: Scope) -> Expr:
        name = node.collname[-1].string.sval
        if name not in ("C", "POSIX", "default", "ucs_basic"):
            raise unsupported(f'collation "{name}"', node.location, hint="text is ordered by code point (C)")
        return self.expr(node.arg, scope)

    def _coalesce_expr(self, node: Node, scope: Scope) -> Expr:
        args, of = self.common([self.expr(arg, scope) for arg in node.args], "COALESCE")
        return lazy_call("coalesce", "coalesce({all})", args, of, arithmetic.coalesce, node.location)

    def _min_max_expr(self, node: Node, scope: Scope) -> Expr:
        word, pick = ("greatest", max) if node.op == 1 else ("least", min)
        args, of = self.common([self.expr(arg, scope) for arg in node.args], word.upper())
        if of in DOCUMENTS:
            raise unsupported(f"{word.upper()} of {of}", node.location)
        template = f"own_{of.name}_{word}([{{all}}])" if of in KEYED else f"{word}({{all}})"
        return lazy_call(word, template, args, of, arithmetic.extreme(pick), node.location)

    def _case_expr(self, node: Node, scope: Scope) -> Expr:
        subject = self.expr(node.arg, scope) if node.HasField("arg") else None
        conditions, values = [], []
        for when in node.args:
            test = self.expr(when.case_when.expr, scope)
            if subject is not None:
                test = self.operator("=", (subject, test), when.case_when.location)
            conditions.append(self.boolean(test, "CASE/WHEN"))
            values.append(self.expr(when.case_when.result, scope))
        default = (
            self.expr(node.defresult, scope) if node.HasField("defresult") else Literal(None, UNKNOWN, node.location)
        )
        typed, of = self.common([*values, default], "CASE")
        return self.case(list(zip(conditions, typed[:-1], strict=True)), typed[-1], of, node.location)

    def _grouping_func(self, node: Node, scope: Scope) -> Expr:
        return grouping([self.known(self.expr(arg, scope)) for arg in node.args], node.location)

    def _func_call(self, node: Node, scope: Scope) -> Expr:
        name = function_name(node)
        if node.func_variadic:
            raise unsupported("VARIADIC", node.location)
        if (
            name in allowed.AGGREGATES
            or name in documents.AGGREGATES
            or name in allowed.WINDOW_ONLY
            or name in ("percentile_cont", "percentile_disc", "mode")
        ):
            return Aggregates(self).call(name, node, scope)
        if node.agg_star or node.agg_distinct or node.HasField("over") or len(node.agg_order):
            raise SqlError("42809", f"{name} is not an aggregate function", node.location)
        if len(node.args) > ARGUMENTS_MAX:
            message = f"cannot pass more than {ARGUMENTS_MAX} arguments to a function"
            raise SqlError(TOO_MANY_ARGUMENTS, message, node.location)
        if name == "make_interval" and any(arg.WhichOneof("node") == "named_arg_expr" for arg in node.args):
            return self._make_interval(node, scope)
        args = [self.expr(arg, scope) for arg in node.args]
        if name in SESSION_VALUES and not args:
            return session_value(SESSION_VALUES[name], node.location)
        if name == "pg_backend_pid" and not args:
            return self.cast(session_value("pid", node.location), INT4, node.location)
        if name == "pg_is_in_recovery" and not args:
            return Literal(False, BOOL, node.location)
        if name in ("concat", "concat_ws", "quote_literal", "quote_nullable"):
            args = [self.output_text(a) for a in args]
        if name == "pg_typeof" and len(args) == 1:
            return type_of(self, args[0], node.location)
        if name == "to_char" and len(args) == 2 and args[0].type in (DATE, TIMESTAMP, TIMESTAMPTZ):
            return shown_date(self, args[0], args[1], node.location)
        if name == "format" and args:
            return formatted(self, args, node.location)
        if name in documents.BUILT:
            build, of = documents.BUILT[name]
            return build(self, args, of, node.location)
        if name in allowed.SETS:
            rows = self.set_of(name, args, node.location)
            return Call("unnest", "unnest({0})", (rows,), rows.type, offset=node.location)
        if name == "octet_length" and args:
            args[0] = self.padded(args[0])
        call = self.function(name, allowed.FUNCTIONS.get(name, ()), args, node.location)
        if name in OF_CONSTANTS and not is_constant(call):
            raise unsupported(f"{name} of a column", node.location, hint="use a constant or a parameter")
        return call

    def _make_interval(self, node: Node, scope: Scope) -> Expr:
        """make_interval(days => 10): what is not named is nothing."""
        fields = ("years", "months", "weeks", "days", "hours", "mins", "secs")
        given: dict[str, Expr] = {}
        for place, arg in enumerate(node.args):
            is_named = arg.WhichOneof("node") == "named_arg_expr"
            field = arg.named_arg_expr.name if is_named else fields[min(place, len(fields) - 1)]
            if field in given or field not in fields:
                message = f"function make_interval({field} => ..) does not exist"
                raise SqlError(UNDEFINED_FUNCTION, message, node.location)
            given[field] = self.expr(arg.named_arg_expr.arg if is_named else arg, scope)
        args = [given.get(field, Literal(0, INT4)) for field in fields]
        return self.function("make_interval", allowed.FUNCTIONS["make_interval"], args, node.location)

    def set_of(self, name: str, args: Sequence[Expr], offset: int) -> Call:
        """A function that gives rows, as the engine's list of them. Its type is that of a row."""
        return self.function(name, allowed.SETS[name], args, offset)

    # -- subqueries ---------------------------------------------------------------------------------------------

    def _current_of_expr(self, node: Node, scope: Scope) -> Expr:
        raise unsupported("WHERE CURRENT OF", hint="name the row by its primary key")

    def rows_of(self, node: Node, scope: Scope) -> "tuple[tuple[str | Expr, ...], list[Type]]":
        assert self.subquery is not None
        return self.subquery(node, scope)

    def _sub_link(self, node: Node, scope: Scope) -> Expr:
        kind = pb.SubLinkType.Name(node.sub_link_type).removesuffix("_SUBLINK")
        if kind in ("ANY", "ALL") and is_row(node.testexpr):
            return self.row_beside_rows(node, kind, scope)
        parts, types = self.rows_of(node.subselect.select_stmt, scope)
        if kind == "EXISTS":
            return Fragment(("EXISTS (", *parts, ")"), BOOL, is_query=True, offset=node.location)
        if kind not in ("EXPR", "ANY", "ALL", "ARRAY"):
            raise unsupported(f"{kind} of a subquery", node.location)
        if len(types) != 1:
            raise SqlError("42601", "subquery must return only one column", node.location)
        if kind == "ARRAY":
            element = TEXT if types[0] in TEXTUAL else types[0]
            if element not in ARRAY_OF:
                raise unsupported(f"an array of {types[0]}", node.location)
            return Fragment(("ARRAY(", *parts, ")"), ARRAY_OF[element], is_query=True, offset=node.location)
        value = Fragment(("(", *parts, ")"), types[0], is_query=True, offset=node.location)
        if kind == "EXPR":
            return value
        name = operator_name(node.oper_name) if len(node.oper_name) else "="
        test = self.operator(name, (self.expr(node.testexpr, scope), value), node.location)
        assert isinstance(test, Call)
        of = test.args[1].type
        if (of.duck != types[0].duck or test.args[1] != replace(value, type=of)) or name not in arithmetic.COMPARISONS:
            raise unsupported(f"{kind} of a subquery with another type", node.location, hint="cast inside the subquery")
        if of in KEYED:
            rows = (f"(SELECT {key_text(of, 'k.v')} FROM (", *parts, ") AS k(v))")
            whole = ("(", sort_key(test.args[0]), f" {name} {kind} ", *rows, ")")
            return Fragment(whole, BOOL, offset=node.location)
        return Fragment(("(", test.args[0], f" {name} {kind} ", value, ")"), BOOL, offset=node.location)


def session_value(name: str, offset: int) -> Call:
    def compute(context: Context) -> str | None:
        return context.session[name]

    return lazy_call("session", "", (), TEXT, compute, offset)
