"""From PostgreSQL's parse tree to typed expressions of one row, types from the leaves up as PostgreSQL finds them. An
`SqlError` says that an expression is not understood here, or wrong: the caller asks PostgreSQL which."""

from dataclasses import dataclass, field
from typing import Any

from postgast import pg_query_pb2 as pb

from catalog.values.times import SECOND_DIGITS_MAX
from expressions import sqltypes as pg
from expressions.analysis import tree
from expressions.analysis.building import Parameters
from expressions.analysis.comparisons import Comparisons, refuse_incomparable
from expressions.analysis.scopes import Scope
from expressions.dates.zones import PLAIN, TimeStyle
from expressions.errors import DATATYPE_MISMATCH, STATEMENT_TOO_COMPLEX, UNDEFINED_PARAMETER, SqlError, unsupported
from expressions.functions import local
from expressions.typed import Call, Context, Expr, Literal, Parameter, lazy_call, modifier_of, size_of
from expressions.values import arithmetic

Node = Any

SESSION_VALUES = {
    "version": "version", "current_database": "database", "current_catalog": "database", "current_schema": "schema",
    "current_user": "user", "session_user": "user", "current_role": "user", "user": "user",
}  # fmt: skip
OF_NOW = {"current_timestamp": pg.TIMESTAMPTZ, "localtimestamp": pg.TIMESTAMP, "localtime": pg.TIME}
"""What the grammar has words for, with a precision or without."""

DEPTH_MAX = 200
PARTS_MAX = 100_000


@dataclass(eq=False)
class Analyzer(Comparisons):
    parameters: Parameters = field(default_factory=Parameters)
    style: TimeStyle = PLAIN
    _depth: int = 0

    # -- expressions --------------------------------------------------------------------------------------------

    def expr(self, node: Node, scope: Scope) -> Expr:
        """The typed expression of a parse node; its type may still be unknown."""
        kind = node.WhichOneof("node")
        method = getattr(self, f"_{kind}", None) if kind else None
        if method is None:
            raise unsupported(f"{(kind or 'this').replace('_', ' ')} in an expression", tree.location_of(node, kind))
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise SqlError(STATEMENT_TOO_COMPLEX, f"the expression is nested deeper than {DEPTH_MAX} levels")
        try:
            result: Expr = method(getattr(node, kind), scope)
        finally:
            self._depth -= 1
        if size_of(result) > PARTS_MAX:
            message = f"the expression has more than {PARTS_MAX} parts when each is written out"
            raise SqlError(STATEMENT_TOO_COMPLEX, message, tree.location_of(node, kind))
        return result

    def condition(self, node: Node, scope: Scope, clause: str) -> Expr:
        return self.boolean(self.expr(node, scope), clause)

    # -- leaves -------------------------------------------------------------------------------------------------

    def _a_const(self, node: Node, scope: Scope) -> Expr:
        kind = node.WhichOneof("val")
        if node.isnull:
            return Literal(None, pg.UNKNOWN, node.location)
        if kind == "ival":
            return Literal(node.ival.ival, pg.INT4, node.location)
        if kind == "fval":
            return tree.number_literal(node.fval.fval, node.location)
        if kind == "boolval":
            return Literal(node.boolval.boolval, pg.BOOL, node.location)
        if kind == "sval":
            return Literal(node.sval.sval, pg.UNKNOWN, node.location)
        raise unsupported("a bit string", node.location)

    def _param_ref(self, node: Node, scope: Scope) -> Expr:
        if not 1 <= node.number <= self.parameters.count_max:
            raise SqlError(UNDEFINED_PARAMETER, f"there is no parameter ${node.number}", node.location)
        return Parameter(node.number, self.parameters.type_of(node.number), node.location)

    def _x_between_sym(self, node: Node, scope: Scope) -> Expr:
        other = type(node)()
        other.CopyFrom(node)
        for item in (node.rexpr.list.items[1], node.rexpr.list.items[0]):
            other.rexpr.list.items.add().CopyFrom(item)
        del other.rexpr.list.items[:2]
        return self.any_of([self._x_between(each, scope) for each in (node, other)], node.location)

    def _column_ref(self, node: Node, scope: Scope) -> Expr:
        parts = []
        for part in node.fields:
            if part.WhichOneof("node") == "a_star":
                raise SqlError("42601", "* stands for columns only in the list of a SELECT or RETURNING", node.location)
            parts.append(part.string.sval)
        return scope.resolve(parts, node.location)

    # -- operators ----------------------------------------------------------------------------------------------

    def _a_expr(self, node: Node, scope: Scope) -> Expr:
        kind = pb.A_Expr_Kind.Name(node.kind).removeprefix("AEXPR_")
        method = getattr(self, "_x_" + kind.removeprefix("NOT_").lower(), None)
        if method is None:
            raise unsupported(kind.replace("_", " "), node.location)
        result: Expr = method(node, scope)
        return self.negated(result, node.location) if kind.startswith("NOT_") else result

    def _x_op(self, node: Node, scope: Scope) -> Expr:
        name = tree.operator_name(node.name)
        if tree.is_row(node.lexpr) or tree.is_row(node.rexpr):
            return self._row_comparison(node, name, scope)
        args = [self.expr(node.rexpr, scope)]
        if node.HasField("lexpr"):
            args.insert(0, self.expr(node.lexpr, scope))
        return self.operator(name, args, node.location)

    _x_like = _x_op

    def _bool_expr(self, node: Node, scope: Scope) -> Expr:
        word = pb.BoolExprType.Name(node.boolop).removesuffix("_EXPR")
        args = [self.boolean(self.expr(arg, scope), word) for arg in node.args]
        if word == "NOT":
            return self.negated(args[0], node.location)
        return self.all_of(args, node.location) if word == "AND" else self.any_of(args, node.location)

    def _null_test(self, node: Node, scope: Scope) -> Expr:
        compute = arithmetic.is_value(None, negated=node.nulltesttype != 1)
        name = "IS NULL" if node.nulltesttype == 1 else "IS NOT NULL"
        return lazy_call(name, (self.known(self.expr(node.arg, scope)),), pg.BOOL, compute, node.location)

    def _boolean_test(self, node: Node, scope: Scope) -> Expr:
        name = pb.BoolTestType.Name(node.booltesttype)
        arg = self.boolean(self.expr(node.arg, scope), name.replace("_", " "))
        wanted = {"TRUE": True, "FALSE": False, "UNKNOWN": None}[name.rsplit("_", 1)[1]]
        compute = arithmetic.is_value(wanted, negated="NOT" in name)
        return lazy_call(name.replace("_", " "), (arg,), pg.BOOL, compute, node.location)

    def _x_nullif(self, node: Node, scope: Scope) -> Expr:
        left, right = self.expr(node.lexpr, scope), self.expr(node.rexpr, scope)
        test = self.operator("=", (left, right), node.location)
        assert isinstance(test, Call)
        is_number = left.type in (*pg.INTEGERS, pg.NUMERIC) and test.args[0].type in (pg.NUMERIC, pg.FLOAT8)
        if is_number or left.type in (pg.UNKNOWN, pg.VARCHAR):
            left = test.args[0]  # the type is the operator's; of numbers integers alone have operators of two types
        of = self.known(left).type
        first = self.coerce(left, of) if left.type is pg.UNKNOWN else left
        return lazy_call("nullif", (first, test.args[1]), of, arithmetic.nullif, node.location)

    # -- the first of several values ------------------------------------------------------------------------------

    def _coalesce_expr(self, node: Node, scope: Scope) -> Expr:
        args, of = self.common([self.expr(arg, scope) for arg in node.args], "COALESCE")
        return lazy_call("coalesce", args, of, arithmetic.coalesce, node.location)

    def _min_max_expr(self, node: Node, scope: Scope) -> Expr:
        word, pick = ("greatest", max) if node.op == 1 else ("least", min)
        args, of = self.common([self.expr(arg, scope) for arg in node.args], word.upper())
        refuse_incomparable(of, node.location)
        return lazy_call(word, args, of, arithmetic.extreme(pick), node.location)

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
            self.expr(node.defresult, scope) if node.HasField("defresult") else Literal(None, pg.UNKNOWN, node.location)
        )
        typed, of = self.common([*values, default], "CASE")
        return self.case(list(zip(conditions, typed[:-1], strict=True)), typed[-1], of, node.location)

    # -- calls and casts ------------------------------------------------------------------------------------------

    def _sqlvalue_function(self, node: Node, scope: Scope) -> Expr:
        name = pb.SQLValueFunctionOp.Name(node.op).removeprefix("SVFOP_").lower()
        now = lazy_call("now", (), pg.TIMESTAMPTZ, arithmetic.now, node.location)
        if name == "current_date":
            return self.cast(now, pg.DATE, node.location)
        of = OF_NOW.get(name.removesuffix("_n"))
        if of is not None:
            digits = min(node.typmod, SECOND_DIGITS_MAX) if name.endswith("_n") else None
            return self.of_length(self.cast(now, of, node.location), digits, is_explicit=True, offset=node.location)
        if name in SESSION_VALUES:
            return session_value(SESSION_VALUES[name], node.location, pg.TEXT if name == "version" else pg.NAME)
        raise unsupported(name.removesuffix("_n"), node.location)

    def _func_call(self, node: Node, scope: Scope) -> Expr:
        name = tree.function_name(node)
        if any((node.func_variadic, node.agg_star, node.agg_distinct, node.HasField("over"), len(node.agg_order))):
            raise unsupported(f"such a call of {name}", node.location)
        args = [self.expr(arg, scope) for arg in node.args]
        if name in SESSION_VALUES and not args:
            return session_value(SESSION_VALUES[name], node.location, pg.TEXT if name == "version" else pg.NAME)
        if name == "pg_backend_pid" and not args:
            return self.cast(session_value("pid", node.location), pg.INT4, node.location)
        return self.function(name, local.FUNCTIONS.get(name, ()), args, node.location)

    def _type_cast(self, node: Node, scope: Scope) -> Expr:
        if node.arg.WhichOneof("node") == "a_array_expr" and not len(node.arg.a_array_expr.elements):
            nothing: Any = ()
            return Literal(nothing, tree.type_of_name(node.type_name), node.location)
        arg = self.expr(node.arg, scope)
        place = node.location if node.location >= 0 else arg.offset
        cast = self.cast(arg, tree.type_of_name(node.type_name), place)
        if cast is arg and cast.type in (pg.NUMERIC, *pg.MOMENTS) and modifier_of(cast) != pg.NO_MODIFIER:
            same = lambda value: value  # noqa: E731 - its scale or precision is its own
            cast = Call("cast", (arg,), cast.type, same, offset=place)
        return self.of_length(cast, tree.length_of_name(node.type_name), is_explicit=True, offset=place)

    def _collate_clause(self, node: Node, scope: Scope) -> Expr:
        name = node.collname[-1].string.sval
        if name not in ("C", "POSIX", "default", "ucs_basic"):
            raise unsupported(f'collation "{name}"', node.location, hint="text is ordered by code point (C)")
        arg = self.expr(node.arg, scope)
        if arg.type not in (*pg.TEXTUAL, pg.NAME, pg.UNKNOWN) and arg.type.element not in pg.TEXTUAL:
            message = f"collations are not supported by type {arg.type}"
            raise SqlError(DATATYPE_MISMATCH, message, node.location)
        return arg


def session_value(name: str, offset: int, of: pg.Type = pg.TEXT) -> Call:
    def compute(context: Context) -> str | None:
        return context.session[name]

    return lazy_call("session", (), of, compute, offset)
