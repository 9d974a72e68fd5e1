"""From PostgreSQL's parse tree to typed expressions of one row, types from the leaves up as PostgreSQL finds them. An
`SqlError` says that an expression is not understood here, or wrong: the caller asks PostgreSQL which."""

from dataclasses import dataclass, field
from typing import Any

from postgast import pg_query_pb2 as pb

from expressions.analysis.building import Parameters
from expressions.analysis.casts import Casts
from expressions.analysis.comparisons import refuse_incomparable
from expressions.analysis.scopes import Scope
from expressions.analysis.tree import is_row, location_of, number_literal, operator_name
from expressions.dates.zones import PLAIN, TimeStyle
from expressions.errors import STATEMENT_TOO_COMPLEX, UNDEFINED_PARAMETER, SqlError, unsupported
from expressions.sqltypes import (
    BOOL,
    FLOAT8,
    INT4,
    INTEGERS,
    NUMERIC,
    UNKNOWN,
    VARCHAR,
)
from expressions.typed import Call, Expr, Literal, Parameter, lazy_call, size_of
from expressions.values import arithmetic

Node = Any

DEPTH_MAX = 200
PARTS_MAX = 100_000


@dataclass(eq=False)
class Analyzer(Casts):
    parameters: Parameters = field(default_factory=Parameters)
    style: TimeStyle = PLAIN
    _depth: int = 0

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
        return self.boolean(self.expr(node, scope), clause)

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

    def _x_between_sym(self, node: Node, scope: Scope) -> Expr:
        other = type(node)()
        other.CopyFrom(node)
        for item in (node.rexpr.list.items[1], node.rexpr.list.items[0]):
            other.rexpr.list.items.add().CopyFrom(item)
        del other.rexpr.list.items[:2]
        return self.any_of([self._x_between(each, scope) for each in (node, other)], node.location)

    def _x_not_between_sym(self, node: Node, scope: Scope) -> Expr:
        return self.negated(self._x_between_sym(node, scope), node.location)

    def _column_ref(self, node: Node, scope: Scope) -> Expr:
        parts = []
        for part in node.fields:
            if part.WhichOneof("node") == "a_star":
                raise SqlError("42601", "* stands for columns only in the list of a SELECT or RETURNING", node.location)
            parts.append(part.string.sval)
        return scope.resolve(parts, node.location)

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

    _x_like = _x_op

    def _bool_expr(self, node: Node, scope: Scope) -> Expr:
        word = pb.BoolExprType.Name(node.boolop).removesuffix("_EXPR")
        args = [self.boolean(self.expr(arg, scope), word) for arg in node.args]
        if word == "NOT":
            return self.negated(args[0], node.location)
        return self.all_of(args, node.location) if word == "AND" else self.any_of(args, node.location)

    def _null_test(self, node: Node, scope: Scope) -> Expr:
        word, compute = ("NULL", arithmetic.is_null) if node.nulltesttype == 1 else ("NOT NULL", arithmetic.is_not_null)
        return lazy_call(f"IS {word}", (self.known(self.expr(node.arg, scope)),), BOOL, compute, node.location)

    def _boolean_test(self, node: Node, scope: Scope) -> Expr:
        name = pb.BoolTestType.Name(node.booltesttype)
        arg = self.boolean(self.expr(node.arg, scope), name.replace("_", " "))
        wanted = {"TRUE": True, "FALSE": False, "UNKNOWN": None}[name.rsplit("_", 1)[1]]
        negated = "NOT" in name
        compute = arithmetic.is_not_value(wanted) if negated else arithmetic.is_value(wanted)  # type: ignore[arg-type]
        return lazy_call(name.replace("_", " "), (arg,), BOOL, compute, node.location)

    def _x_nullif(self, node: Node, scope: Scope) -> Expr:
        left, right = self.expr(node.lexpr, scope), self.expr(node.rexpr, scope)
        test = self.operator("=", (left, right), node.location)
        assert isinstance(test, Call)
        is_number = left.type in (*INTEGERS, NUMERIC) and test.args[0].type in (NUMERIC, FLOAT8)
        if is_number or left.type in (UNKNOWN, VARCHAR):
            left = test.args[0]  # the type is the operator's; of numbers integers alone have operators of two types
        of = self.known(left).type
        first = self.coerce(left, of) if left.type is UNKNOWN else left
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
            self.expr(node.defresult, scope) if node.HasField("defresult") else Literal(None, UNKNOWN, node.location)
        )
        typed, of = self.common([*values, default], "CASE")
        return self.case(list(zip(conditions, typed[:-1], strict=True)), typed[-1], of, node.location)
