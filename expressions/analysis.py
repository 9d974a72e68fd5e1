"""From PostgreSQL's parse tree to typed expressions.

Types are found as PostgreSQL finds them: from the leaves up, and a quoted literal or an undeclared
parameter takes the type of what stands beside it. Whatever has no entry in `expressions.functions` ends
here, by name and with its place in the statement, and so does every mistake of the user's that can
be seen without data.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from postgast import pg_query_pb2 as pb

from catalog.descriptor import Descriptor
from expressions import arithmetic, functions
from expressions.errors import (
    AMBIGUOUS_FUNCTION,
    CANNOT_COERCE,
    DATATYPE_MISMATCH,
    GROUPING_ERROR,
    PROGRAM_LIMIT,
    STATEMENT_TOO_COMPLEX,
    TOO_MANY_ARGUMENTS,
    UNDEFINED_FUNCTION,
    UNDEFINED_PARAMETER,
    WINDOWING_ERROR,
    SqlError,
    unsupported,
)
from expressions.functions import ASSIGNMENT, CAST_TEMPLATES, IMPLICIT, Overload, choose
from expressions.scopes import Scan, Scope
from expressions.sqltypes import (
    BOOL,
    DATE,
    FLOAT8,
    INT4,
    INT8,
    TEXT,
    TIMESTAMP,
    TIMESTAMPTZ,
    UNKNOWN,
    Type,
    type_named,
)
from expressions.typed import (
    Call,
    Context,
    Expr,
    Fragment,
    Literal,
    Parameter,
    evaluate,
    parse_value,
    size_of,
)

Node = Any
PARAMETERS_MAX = 65535
DEPTH_MAX = 200
PARTS_MAX = 100_000
LIST_MAX = 20_000
ARGUMENTS_MAX = 100
DIGITS_MAX = 300
DOUBLE_BITS_MAX = 1023

SESSION_VALUES = {
    "version": "version", "current_database": "database", "current_catalog": "database", "current_schema": "schema",
    "current_user": "user", "session_user": "user", "current_role": "user", "user": "user",
}  # fmt: skip


@dataclass(eq=False)
class Parameters:
    """The types of $1, $2, ..: declared by the client or found from their surroundings."""

    types: list[Type] = field(default_factory=list)
    count_max: int = PARAMETERS_MAX

    def type_of(self, number: int) -> Type:
        while len(self.types) < number:
            self.types.append(UNKNOWN)
        return self.types[number - 1]

    def settle(self, number: int, of: Type) -> None:
        self.type_of(number)
        self.types[number - 1] = of


@dataclass(eq=False)
class Analyzer:
    """What one statement is analysed with. `subquery` analyses a SELECT inside it (`nodes.sql.selects`)."""

    catalog: Mapping[str, Descriptor]
    parameters: Parameters = field(default_factory=Parameters)
    scans: list[Scan] = field(default_factory=list)
    subquery: Callable[[Node, Scope], "tuple[tuple[str | Expr, ...], list[Type]]"] | None = None
    is_volatile: bool = False
    windows: dict[str, Node] = field(default_factory=dict)
    _depth: int = 0

    # -- expressions --------------------------------------------------------------------------------------------

    def expr(self, node: Node, scope: Scope) -> Expr:
        """The typed expression of a parse node; its type may still be unknown."""
        kind = node.WhichOneof("node")
        method = getattr(self, f"_{kind}", None) if kind else None
        if method is None:
            raise unsupported(f"{(kind or 'this').replace('_', ' ')} in an expression", _location(node, kind))
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise SqlError(STATEMENT_TOO_COMPLEX, f"the expression is nested deeper than {DEPTH_MAX} levels")
        try:
            result: Expr = method(getattr(node, kind), scope)
        finally:
            self._depth -= 1
        if size_of(result) > PARTS_MAX:
            message = f"the expression has more than {PARTS_MAX} parts when each is written out"
            raise SqlError(STATEMENT_TOO_COMPLEX, message, _location(node, kind))
        return result

    def condition(self, node: Node, scope: Scope, clause: str) -> Expr:
        """A boolean expression that contains no aggregate."""
        expr = self.boolean(self.expr(node, scope), clause)
        refuse_aggregates(expr, clause)
        return expr

    def boolean(self, expr: Expr, clause: str) -> Expr:
        if expr.type not in (BOOL, UNKNOWN):
            raise SqlError(
                DATATYPE_MISMATCH, f"argument of {clause} must be type boolean, not type {expr.type}", _offset(expr)
            )
        return self.coerce(expr, BOOL)

    def known(self, expr: Expr) -> Expr:
        """The expression with a type: what is still unknown becomes text."""
        return self.coerce(expr, TEXT) if expr.type is UNKNOWN else expr

    def coerce(self, expr: Expr, target: Type, *, assignment: bool = False) -> Expr:
        """The expression as `target`, by implicit casts only or by those of an assignment. Raises 42804."""
        if expr.type is target:
            return expr
        if expr.type is UNKNOWN:
            return self._settle(expr, target)
        allowed = (expr.type, target) in (ASSIGNMENT if assignment else IMPLICIT) or (assignment and target is TEXT)
        if not allowed:
            raise SqlError(DATATYPE_MISMATCH, f"cannot use {expr.type} where {target} is needed", _offset(expr))
        return self.cast(expr, target, _offset(expr))

    def cast(self, expr: Expr, target: Type, offset: int) -> Expr:
        """An explicit cast. Raises 42846."""
        if expr.type is target:
            return Literal(expr.value, target, expr.offset) if isinstance(expr, Literal) else expr
        if expr.type is UNKNOWN:
            return self._settle(expr, target)
        template = CAST_TEMPLATES.get((expr.type, target))
        if template is None:
            raise SqlError(CANNOT_COERCE, f"cannot cast type {expr.type} to {target}", offset)
        if isinstance(expr, Literal) and expr.is_exact and target in (INT4, INT8):
            return rounded(expr, target, offset)
        compute = functions.cast_compute(expr.type, target)
        call = Call("cast", template, (expr,), target, compute, offset=offset)
        if isinstance(expr, Literal) and compute is not None:
            return Literal(placed(lambda: evaluate(call, {}, Context()), offset), target, expr.offset)
        return call

    def _settle(self, expr: Expr, target: Type) -> Expr:
        if isinstance(expr, Parameter):
            self.parameters.settle(expr.number, target)
            return Parameter(expr.number, target, expr.offset)
        if isinstance(expr, Literal):
            value = None if expr.value is None else parse_value(target, str(expr.value), expr.offset)
            return Literal(value, target, expr.offset)
        assert isinstance(expr, Fragment), expr  # a subquery whose only column is a quoted literal
        return Call("cast", CAST_TEMPLATES.get((TEXT, target), "{0}"), (expr,), target, offset=expr.offset)

    def common(self, exprs: Sequence[Expr], what: str) -> tuple[list[Expr], Type]:
        """The expressions as the one type that all of them can be (CASE, COALESCE, IN, UNION). Raises 42804."""
        of = common_type([(e.type, _offset(e)) for e in exprs], what)
        return [self.coerce(e, of) for e in exprs], of

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
        now = Call("now", "", (), TIMESTAMPTZ, arithmetic.now, strict=False, offset=node.location)
        if name == "current_date":
            return self.cast(now, DATE, node.location)
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
        if _is_row(node.lexpr) or _is_row(node.rexpr):
            return self._row_comparison(node, name, scope)
        args = [self.expr(node.rexpr, scope)]
        if node.HasField("lexpr"):
            args.insert(0, self.expr(node.lexpr, scope))
        return self.operator(name, args, node.location)

    _x_like = _x_ilike = _x_op

    def operator(self, name: str, args: Sequence[Expr], offset: int) -> Expr:
        name = "<>" if name == "!=" else name
        if name == "||":
            args = self._concatenated(args)
        overloads = functions.OPERATORS.get(name, ())
        fitting = choose(overloads, self._beside(args))
        if len(fitting) != 1:
            shown = " ".join([*(str(a.type) for a in args[:-1]), name, str(args[-1].type)])
            if fitting:
                raise SqlError(AMBIGUOUS_FUNCTION, f"operator is not unique: {shown}", offset, hint="add a cast")
            raise SqlError(
                UNDEFINED_FUNCTION,
                f"operator does not exist: {shown}",
                offset,
                hint="no operator of that name takes these types: a cast may help",
            )
        return self._call(name, *fitting[0], args, offset)

    def _concatenated(self, args: Sequence[Expr]) -> list[Expr]:
        """text || anything is text."""
        if any(a.type in (TEXT, UNKNOWN) for a in args):
            return [self.cast(a, TEXT, _offset(a)) for a in args]
        return list(args)

    def _beside(self, args: Sequence[Expr]) -> list[Type]:
        """Argument types, an unknown one taken to be of the other's type, as for PostgreSQL's operators."""
        types = [a.type for a in args]
        if len(types) == 2 and UNKNOWN in types:
            other = types[0] if types[1] is UNKNOWN else types[1]
            if other is UNKNOWN:
                return [TEXT, TEXT]
            return [t if t is not UNKNOWN or other not in (BOOL, TEXT, INT4, INT8, FLOAT8) else other for t in types]
        return types

    def _call(self, name: str, overload: Overload, types: tuple[Type, ...], args: Sequence[Expr], offset: int) -> Call:
        coerced = tuple(self.coerce(a, t) for a, t in zip(args, types, strict=True))
        return Call(name, overload.template, coerced, overload.result, overload.compute, overload.strict, offset)

    def _row_comparison(self, node: Node, name: str, scope: Scope) -> Expr:
        left, right = (self._row(side, scope) for side in (node.lexpr, node.rexpr))
        if len(left) != len(right):
            raise SqlError("42601", "unequal number of entries in row expressions", node.location)
        if name not in arithmetic.COMPARISONS:
            raise unsupported(f"operator {name} of rows", node.location)
        pairs = list(zip(left, right, strict=True))
        equal = [self.operator("=", pair, node.location) for pair in pairs]
        if name == "=":
            return self._and(equal, node.location)
        if name == "<>":
            return self._not(self._and(equal, node.location), node.location)
        # The first pair that is not equal decides, also when that is not known: flat, however many there are.
        decided = [
            (self._not_true(same, node.location), self.operator(name[0], pair, node.location))
            for pair, same in zip(pairs[:-1], equal[:-1], strict=True)
        ]
        return self._case(decided, self.operator(name, pairs[-1], node.location), BOOL, node.location)

    def _not_true(self, arg: Expr, offset: int) -> Expr:
        compute = arithmetic.is_not_value(True)
        return Call("IS", "({0} IS NOT TRUE)", (arg,), BOOL, compute, strict=False, offset=offset)

    def _row(self, node: Node, scope: Scope) -> list[Expr]:
        if not _is_row(node):
            raise unsupported("a comparison of a row with something else", _location(node, node.WhichOneof("node")))
        return [self.expr(arg, scope) for arg in node.row_expr.args]

    def _bool_expr(self, node: Node, scope: Scope) -> Expr:
        word = pb.BoolExprType.Name(node.boolop).removesuffix("_EXPR")
        args = [self.boolean(self.expr(arg, scope), word) for arg in node.args]
        if word == "NOT":
            return self._not(args[0], node.location)
        return self._and(args, node.location) if word == "AND" else self._or(args, node.location)

    def _and(self, args: Sequence[Expr], offset: int) -> Expr:
        return self._joined("AND", args, arithmetic.conjunction, offset)

    def _or(self, args: Sequence[Expr], offset: int) -> Expr:
        return self._joined("OR", args, arithmetic.disjunction, offset)

    def _joined(self, word: str, args: Sequence[Expr], compute: arithmetic.Compute, offset: int) -> Expr:
        template = "(" + f" {word} ".join(f"{{{i}}}" for i in range(len(args))) + ")"
        return Call(word, template, tuple(args), BOOL, compute, strict=False, offset=offset)

    def _not(self, arg: Expr, offset: int) -> Expr:
        return Call("NOT", "(NOT {0})", (arg,), BOOL, lambda a: not a, offset=offset)

    def _null_test(self, node: Node, scope: Scope) -> Expr:
        arg = self.known(self.expr(node.arg, scope))
        if node.nulltesttype == 1:
            return Call(
                "IS NULL", "({0} IS NULL)", (arg,), BOOL, arithmetic.is_null, strict=False, offset=node.location
            )
        return Call(
            "IS NOT NULL", "({0} IS NOT NULL)", (arg,), BOOL, arithmetic.is_not_null, strict=False, offset=node.location
        )

    def _boolean_test(self, node: Node, scope: Scope) -> Expr:
        name = pb.BoolTestType.Name(node.booltesttype)
        arg = self.boolean(self.expr(node.arg, scope), name.replace("_", " "))
        wanted = {"TRUE": True, "FALSE": False, "UNKNOWN": None}[name.rsplit("_", 1)[1]]
        word = "NULL" if wanted is None else str(wanted).upper()
        negated = "NOT" in name
        compute = arithmetic.is_not_value(wanted) if negated else arithmetic.is_value(wanted)  # type: ignore[arg-type]
        template = f"({{0}} IS {'NOT ' if negated else ''}{word})"
        return Call("IS", template, (arg,), BOOL, compute, strict=False, offset=node.location)

    def _x_distinct(self, node: Node, scope: Scope) -> Expr:
        args, _ = self.common([self.expr(node.lexpr, scope), self.expr(node.rexpr, scope)], "IS DISTINCT FROM")
        template = "({0} IS DISTINCT FROM {1})"
        return Call("DISTINCT", template, tuple(args), BOOL, arithmetic.distinct, strict=False, offset=node.location)

    def _x_not_distinct(self, node: Node, scope: Scope) -> Expr:
        return self._not(self._x_distinct(node, scope), node.location)

    def _x_nullif(self, node: Node, scope: Scope) -> Expr:
        left, right = self.expr(node.lexpr, scope), self.expr(node.rexpr, scope)
        test = self.operator("=", (left, right), node.location)
        assert isinstance(test, Call)
        of = self.known(left).type
        first = self.coerce(left, of) if left.type is UNKNOWN else left
        return Call(
            "nullif",
            "nullif({0}, {1})",
            (first, test.args[1]),
            of,
            arithmetic.nullif,
            strict=False,
            offset=node.location,
        )

    def _x_in(self, node: Node, scope: Scope) -> Expr:
        negated = operator_name(node.name) == "<>"
        refuse_long_list(len(node.rexpr.list.items), node.location)
        if _is_row(node.lexpr):
            tests = [self._row_equality(node.lexpr, item, scope, node.location) for item in node.rexpr.list.items]
            found: Expr = self._or(tests, node.location) if len(tests) > 1 else tests[0]
        else:
            args = [self.expr(node.lexpr, scope), *(self.expr(item, scope) for item in node.rexpr.list.items)]
            args, _ = self.common(args, "IN")
            template = "({0} IN (" + ", ".join(f"{{{i}}}" for i in range(1, len(args))) + "))"
            compute: arithmetic.Compute
            reads: int | None
            if all(isinstance(arg, Literal) for arg in args[1:]):
                compute, reads = arithmetic.OneOfValues.of([a.value for a in args[1:] if isinstance(a, Literal)]), 1
            else:
                compute, reads = arithmetic.one_of, None
            found = Call("IN", template, tuple(args), BOOL, compute, strict=False, offset=node.location, reads=reads)
        return self._not(found, node.location) if negated else found

    def _row_equality(self, left: Node, right: Node, scope: Scope, offset: int) -> Expr:
        pairs = list(zip(self._row(left, scope), self._row(right, scope), strict=True))
        return self._and([self.operator("=", pair, offset) for pair in pairs], offset)

    def _x_op_any(self, node: Node, scope: Scope) -> Expr:
        return self._array_test(node, scope, "ANY")

    def _x_op_all(self, node: Node, scope: Scope) -> Expr:
        return self._array_test(node, scope, "ALL")

    def _array_test(self, node: Node, scope: Scope, word: str) -> Expr:
        name = operator_name(node.name)
        left = self.expr(node.lexpr, scope)
        items = self._array_items(node.rexpr, scope)
        refuse_long_list(len(items or ()), node.location)
        if items is None:
            raise unsupported(f"{word} over an array that is not written out", node.location, hint="use IN (..)")
        tests = [self.operator(name, (left, item), node.location) for item in items]
        if not tests:
            return Literal(word == "ALL", BOOL, node.location)
        return self._or(tests, node.location) if word == "ANY" else self._and(tests, node.location)

    def _array_items(self, node: Node, scope: Scope) -> list[Expr] | None:
        kind = node.WhichOneof("node")
        if kind == "a_array_expr":
            return [self.expr(item, scope) for item in node.a_array_expr.elements]
        if kind == "type_cast":
            return self._array_items(node.type_cast.arg, scope)
        if kind == "a_const" and node.a_const.WhichOneof("val") == "sval":
            return [Literal(item, UNKNOWN, node.a_const.location) for item in array_words(node.a_const.sval.sval)]
        return None

    def _x_between(self, node: Node, scope: Scope) -> Expr:
        value = self.expr(node.lexpr, scope)
        low, high = (self.expr(item, scope) for item in node.rexpr.list.items)
        above = self.operator(">=", (value, low), node.location)
        return self._and([above, self.operator("<=", (value, high), node.location)], node.location)

    def _x_not_between(self, node: Node, scope: Scope) -> Expr:
        return self._not(self._x_between(node, scope), node.location)

    # -- functions and casts ------------------------------------------------------------------------------------

    def _type_cast(self, node: Node, scope: Scope) -> Expr:
        target = type_of_name(node.type_name)
        arg = self.expr(node.arg, scope)
        return self.cast(arg, target, node.location if node.location >= 0 else _offset(arg))

    def _collate_clause(self, node: Node, scope: Scope) -> Expr:
        name = node.collname[-1].string.sval
        if name not in ("C", "POSIX", "default", "ucs_basic"):
            raise unsupported(f'collation "{name}"', node.location, hint="text is ordered by code point (C)")
        return self.expr(node.arg, scope)

    def _coalesce_expr(self, node: Node, scope: Scope) -> Expr:
        args, of = self.common([self.expr(arg, scope) for arg in node.args], "COALESCE")
        return Call(
            "coalesce", "coalesce({all})", tuple(args), of, arithmetic.coalesce, strict=False, offset=node.location
        )

    def _min_max_expr(self, node: Node, scope: Scope) -> Expr:
        word, pick = ("greatest", max) if node.op == 1 else ("least", min)
        args, of = self.common([self.expr(arg, scope) for arg in node.args], word.upper())
        compute = arithmetic.extreme(pick)
        return Call(word, f"{word}({{all}})", tuple(args), of, compute, strict=False, offset=node.location)

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
        return self._case(list(zip(conditions, typed[:-1], strict=True)), typed[-1], of, node.location)

    def _case(self, whens: Sequence[tuple[Expr, Expr]], default: Expr, of: Type, offset: int) -> Expr:
        if not whens:
            return default
        args = [*(expr for when in whens for expr in when), default]
        words = " ".join(f"WHEN {{{i}}} THEN {{{i + 1}}}" for i in range(0, len(args) - 1, 2))
        template = f"CASE {words} ELSE {{{len(args) - 1}}} END"
        return Call("case", template, tuple(args), of, arithmetic.case, strict=False, offset=offset)

    def _func_call(self, node: Node, scope: Scope) -> Expr:
        name = function_name(node)
        if node.func_variadic:
            raise unsupported("VARIADIC", node.location)
        if (
            name in functions.AGGREGATES
            or name in functions.WINDOW_ONLY
            or name in ("percentile_cont", "percentile_disc", "mode")
        ):
            return self._aggregate(name, node, scope)
        if node.agg_star or node.agg_distinct or node.HasField("over") or len(node.agg_order):
            raise SqlError("42809", f"{name} is not an aggregate function", node.location)
        if len(node.args) > ARGUMENTS_MAX:
            message = f"cannot pass more than {ARGUMENTS_MAX} arguments to a function"
            raise SqlError(TOO_MANY_ARGUMENTS, message, node.location)
        args = [self.expr(arg, scope) for arg in node.args]
        if name in SESSION_VALUES and not args:
            return session_value(SESSION_VALUES[name], node.location)
        if name == "current_setting" and args and isinstance(args[0], Literal):
            return session_value("setting:" + str(args[0].value), node.location)
        if name == "pg_backend_pid" and not args:
            return self.cast(session_value("pid", node.location), INT4, node.location)
        if name == "pg_is_in_recovery" and not args:
            return Literal(False, BOOL, node.location)
        if name in ("random", "gen_random_uuid", "uuidv4", "clock_timestamp"):
            self.is_volatile = True
        if name in ("concat", "concat_ws", "quote_literal"):
            args = [self._output_text(a) for a in args]
        return self._function(name, functions.FUNCTIONS.get(name, ()), args, node.location)

    def _output_text(self, arg: Expr) -> Expr:
        """What a client would be shown: concat and the like say t and f where a cast says true and false."""
        if arg.type is BOOL:
            return Call("output", "CASE WHEN {0} THEN 't' WHEN NOT {0} THEN 'f' END", (arg,), TEXT, arithmetic.t_or_f)
        return self.cast(arg, TEXT, _offset(arg))

    def _function(self, name: str, overloads: Sequence[Overload], args: Sequence[Expr], offset: int) -> Call:
        return self._call(name, *self._chosen(name, overloads, args, offset), args, offset)

    def _chosen(
        self, name: str, overloads: Sequence[Overload], args: Sequence[Expr], offset: int
    ) -> tuple[Overload, tuple[Type, ...]]:
        fitting = choose(overloads, [a.type for a in args])
        shown = f"{name}({', '.join(str(a.type) for a in args)})"
        if not fitting:
            raise SqlError(
                UNDEFINED_FUNCTION,
                f"function {shown} does not exist",
                offset,
                hint="a node has no function of that name that takes these types: a cast may help",
            )
        if len(fitting) > 1:
            raise SqlError(AMBIGUOUS_FUNCTION, f"function {shown} is not unique", offset, hint="add casts")
        return fitting[0]

    # -- aggregates and windows ---------------------------------------------------------------------------------

    def _aggregate(self, name: str, node: Node, scope: Scope) -> Expr:
        parts, of = self._aggregate_head(name, node, scope)
        if node.HasField("agg_filter"):
            condition = self.condition(node.agg_filter, scope, "FILTER")
            parts = [*parts, " FILTER (WHERE ", condition, ")"]
        if not node.HasField("over"):
            if name in functions.WINDOW_ONLY:
                raise SqlError("42809", f"window function {name} requires an OVER clause", node.location)
            refuse_nested(parts, node.location)
            return self._finished(name, parts, of, node.location, is_aggregate=True)
        parts = [*parts, " OVER (", *self._window(node.over, scope), ")"]
        return self._finished(name, parts, of, node.location, is_aggregate=False)

    def _aggregate_head(self, name: str, node: Node, scope: Scope) -> "tuple[list[str | Expr], Type]":
        args = [self.expr(arg, scope) for arg in node.args]
        if node.agg_within_group:
            return self._ordered_set(name, args, node, scope)
        if node.agg_star:
            if name != "count":
                raise SqlError("42809", f"{name}(*) must have arguments", node.location)
            return ["count(*)"], INT8
        table = functions.WINDOW_ONLY if name in functions.WINDOW_ONLY else functions.AGGREGATES
        if name in ("count", "min", "max", "first_value", "last_value", "nth_value", "lag", "lead") and args:
            args = [self.known(args[0]), *args[1:]]
        overload, types = self._chosen(name, table[name], args, node.location)
        coerced = [self.coerce(a, t) for a, t in zip(args, types, strict=True)]
        engine, _, _ = overload.template.partition(":")
        inner: list[str | Expr] = ["DISTINCT "] if node.agg_distinct else []
        for number, arg in enumerate(coerced):
            inner += [", ", arg] if number else [arg]
        if len(node.agg_order):
            inner += [" ORDER BY ", *self.sort(node.agg_order, scope)]
        return [engine, "(", *inner, ")"], overload.result

    def _ordered_set(self, name: str, args: list[Expr], node: Node, scope: Scope) -> "tuple[list[str | Expr], Type]":
        key = self.known(self.expr(node.agg_order[0].sort_by.node, scope))
        if name == "percentile_cont":
            of, key = FLOAT8, self.coerce(key, FLOAT8)
        else:
            of = key.type
        fraction: list[str | Expr] = [self.coerce(args[0], FLOAT8)] if args else []
        direction = " DESC" if node.agg_order[0].sort_by.sortby_dir == 3 else ""
        return [f"{name}(", *fraction, ") WITHIN GROUP (ORDER BY ", key, direction + ")"], of

    def _finished(
        self, name: str, parts: "Sequence[str | Expr]", of: Type, offset: int, *, is_aggregate: bool
    ) -> Fragment:
        needs_cast = (name == "sum" and of is INT8) or (name == "ntile")
        whole: tuple[str | Expr, ...] = ("CAST(", *parts, f" AS {of.duck})") if needs_cast else tuple(parts)
        return Fragment(whole, of, is_aggregate=is_aggregate, offset=offset)

    def _window(self, over: Node, scope: Scope) -> "list[str | Expr]":
        if over.name or over.refname:
            name = over.name or over.refname
            if name not in self.windows:
                raise SqlError("42704", f'window "{name}" does not exist', over.location)
            base = type(over)()
            base.CopyFrom(self.windows[name])
            base.name = ""
            if over.name or not (len(over.partition_clause) or len(over.order_clause)):
                return self._window(base, scope)
            raise unsupported("a window that adds to a named one", over.location)
        parts: list[str | Expr] = []
        for number, node in enumerate(over.partition_clause):
            parts += [", " if number else "PARTITION BY ", self.known(self.expr(node, scope))]
        if len(over.order_clause):
            parts += [" ORDER BY ", *self.sort(over.order_clause, scope)]
        return [*parts, *self._frame(over, scope)]

    def _frame(self, over: Node, scope: Scope) -> "list[str | Expr]":
        bits = over.frame_options
        if not bits & 0x1:
            return []
        unit = "ROWS" if bits & 0x4 else "RANGE" if bits & 0x2 else "GROUPS"
        if bits & 0x78000:
            raise unsupported("EXCLUDE in a window frame", over.location)
        start = self._frame_end(bits, over, "start_offset", (0x20, 0x80, 0x200, 0x800), scope)
        end = self._frame_end(bits, over, "end_offset", (0x40, 0x100, 0x400, 0x1000), scope)
        return [f" {unit} BETWEEN ", *start, " AND ", *end]

    def _frame_end(
        self, bits: int, over: Node, offset_field: str, masks: tuple[int, int, int, int], scope: Scope
    ) -> "list[str | Expr]":
        first, last, current, before = masks
        if bits & first:
            return ["UNBOUNDED PRECEDING"]
        if bits & last:
            return ["UNBOUNDED FOLLOWING"]
        if bits & current:
            return ["CURRENT ROW"]
        offset = self.known(self.expr(getattr(over, offset_field), scope))
        return [offset, " PRECEDING" if bits & before else " FOLLOWING"]

    def sort(self, clause: Iterable[Node], scope: Scope) -> "list[str | Expr]":
        """ORDER BY of an aggregate or a window."""
        parts: list[str | Expr] = []
        for number, item in enumerate(clause):
            parts += [", "] if number else []
            parts += [self.known(self.expr(item.sort_by.node, scope)), direction_of(item.sort_by)]
        return parts

    # -- subqueries ---------------------------------------------------------------------------------------------

    def _sub_link(self, node: Node, scope: Scope) -> Expr:
        kind = pb.SubLinkType.Name(node.sub_link_type).removesuffix("_SUBLINK")
        assert self.subquery is not None
        parts, types = self.subquery(node.subselect.select_stmt, scope)
        if kind == "EXISTS":
            return Fragment(("EXISTS (", *parts, ")"), BOOL, is_query=True, offset=node.location)
        if kind not in ("EXPR", "ANY", "ALL"):
            raise unsupported(f"{kind} of a subquery", node.location)
        if len(types) != 1:
            raise SqlError("42601", "subquery must return only one column", node.location)
        value = Fragment(("(", *parts, ")"), types[0], is_query=True, offset=node.location)
        if kind == "EXPR":
            return value
        name = operator_name(node.oper_name) if len(node.oper_name) else "="
        test = self.operator(name, (self.expr(node.testexpr, scope), value), node.location)
        assert isinstance(test, Call)
        if test.args[1] is not value or name not in arithmetic.COMPARISONS:
            raise unsupported(f"{kind} of a subquery with another type", node.location, hint="cast inside the subquery")
        return Fragment(("(", test.args[0], f" {name} {kind} ", value, ")"), BOOL, offset=node.location)


# -- small calculations -----------------------------------------------------------------------------------------


def number_literal(text: str, offset: int) -> Literal:
    """A number too long for an integer, or with a point or an exponent."""
    plain = text.replace("_", "")
    digits = plain.removeprefix("-")
    has_base = digits[:2].lower() in ("0x", "0o", "0b")
    if has_base or (digits.isdigit() and len(digits) <= DIGITS_MAX):
        value = int(plain, 0 if has_base else 10)
        for of in (INT4, INT8):
            if -arithmetic.LIMITS[of] <= value < arithmetic.LIMITS[of]:
                return Literal(value, of, offset)
        plain = str(float(value)) if value.bit_length() <= DOUBLE_BITS_MAX else "1e999"
    return Literal(parse_value(FLOAT8, plain, offset), FLOAT8, offset, is_exact=True)


def rounded(literal: Literal, target: Type, offset: int) -> Literal:
    """A number with a point as an integer: halves away from zero, as PostgreSQL's numeric rounds."""
    value = literal.value
    assert isinstance(value, float)
    whole = math.floor(abs(value) + 0.5) * (-1 if value < 0 else 1)
    return Literal(placed(lambda: arithmetic.ranged(target, whole), offset), target, literal.offset)


def refuse_long_list(length: int, offset: int) -> None:
    if length > LIST_MAX:
        message = f"a list of {length} values is longer than {LIST_MAX}"
        raise SqlError(
            PROGRAM_LIMIT, message, offset, hint="ask in parts, or insert the values into a table and join it"
        )


def session_value(name: str, offset: int) -> Call:
    def compute(context: Context) -> str | None:
        return context.settings[name]

    return Call("session", "", (), TEXT, compute, strict=False, offset=offset)


def operator_name(parts: Sequence[Node]) -> str:
    return str(parts[-1].string.sval)


def function_name(node: Node) -> str:
    parts = [part.string.sval for part in node.funcname]
    if len(parts) > 1 and parts[0] not in ("pg_catalog", "public"):
        raise SqlError("3F000", f'schema "{parts[0]}" does not exist', node.location)
    return str(parts[-1])


def type_of_name(node: Node) -> Type:
    name = node.names[-1].string.sval
    if len(node.array_bounds):
        raise unsupported(f"an array type ({name}[])", node.location)
    length = None
    if len(node.typmods) and name != "interval":
        length = node.typmods[0].a_const.ival.ival
    return type_named(name, node.location, length=length)


def common_type(found: Sequence[tuple[Type, int]], what: str) -> Type:
    """PostgreSQL's choice for CASE, UNION and the like."""
    of = UNKNOWN
    for candidate, offset in found:
        if candidate is UNKNOWN or candidate is of:
            continue
        if of is UNKNOWN or (of, candidate) in IMPLICIT:
            of = candidate
        elif (candidate, of) not in IMPLICIT:
            raise SqlError(DATATYPE_MISMATCH, f"{what} types {of} and {candidate} cannot be matched", offset)
    return TEXT if of is UNKNOWN else of


def direction_of(sort: Node) -> str:
    """ASC or DESC with PostgreSQL's place for NULLs: they are greatest."""
    if sort.sortby_dir == 4:
        raise unsupported("ORDER BY .. USING", sort.location)
    word = "DESC" if sort.sortby_dir == 3 else "ASC"
    first = sort.sortby_nulls == 2 or (sort.sortby_nulls != 3 and word == "DESC")
    return f" {word} NULLS {'FIRST' if first else 'LAST'}"


def array_words(text: str) -> list[str | None]:
    """The elements of an array literal such as {1,2,NULL}."""
    inner = text.strip()
    if not (inner.startswith("{") and inner.endswith("}")):
        raise SqlError("22P02", f'malformed array literal: "{text}"')
    words: list[str | None] = []
    current, is_quoted, was_quoted, escape = "", False, False, False
    for char in inner[1:-1] + ",":
        if escape:
            current, escape = current + char, False
        elif char == "\\":
            escape = True
        elif char == '"':
            is_quoted, was_quoted = not is_quoted, True
        elif char == "," and not is_quoted:
            word = current if was_quoted else current.strip()
            words.append(None if word.upper() == "NULL" and not was_quoted else word)
            current, was_quoted = "", False
        else:
            current += char
    return [] if words == [""] else words


def placed(compute: Callable[[], Any], offset: int) -> Any:
    """The computed value; an error gets the place it is about."""
    try:
        return compute()
    except SqlError as error:
        error.offset = error.offset if error.offset >= 0 else offset
        raise


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


def refuse_nested(parts: "Sequence[str | Expr]", offset: int) -> None:
    for part in parts:
        inner = None if isinstance(part, str) else next(aggregates_in(part), None)
        if inner is not None:
            raise SqlError(GROUPING_ERROR, "aggregate function calls cannot be nested", inner.offset)


def _offset(expr: Expr) -> int:
    return expr.offset


def _location(node: Node, kind: str | None) -> int:
    return int(getattr(getattr(node, kind), "location", -1)) if kind else -1


def _is_row(node: Node) -> bool:
    return bool(node.WhichOneof("node") == "row_expr")
