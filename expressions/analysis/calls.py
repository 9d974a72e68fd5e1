"""Calls: of functions, and of what looks like none, such as current_user."""

from collections.abc import Mapping
from typing import Any

from postgast import pg_query_pb2 as pb

from catalog.values.times import SECOND_DIGITS_MAX
from expressions.analysis.comparisons import Comparisons
from expressions.analysis.scopes import Scope
from expressions.analysis.tree import function_name
from expressions.errors import unsupported
from expressions.functions import local
from expressions.sqltypes import DATE, INT4, NAME, TEXT, TIME, TIMESTAMP, TIMESTAMPTZ, Type
from expressions.typed import Call, Context, Expr, lazy_call
from expressions.values import arithmetic

Node = Any
SESSION_VALUES = {
    "version": "version", "current_database": "database", "current_catalog": "database", "current_schema": "schema",
    "current_user": "user", "session_user": "user", "current_role": "user", "user": "user",
}  # fmt: skip
OF_NOW: Mapping[str, Type] = {"current_timestamp": TIMESTAMPTZ, "localtimestamp": TIMESTAMP, "localtime": TIME}
"""What the grammar has words for, with a precision or without."""


class Calls(Comparisons):
    def _sqlvalue_function(self, node: Node, scope: Scope) -> Expr:
        name = pb.SQLValueFunctionOp.Name(node.op).removeprefix("SVFOP_").lower()
        now = lazy_call("now", (), TIMESTAMPTZ, arithmetic.now, node.location)
        if name == "current_date":
            return self.cast(now, DATE, node.location)
        of = OF_NOW.get(name.removesuffix("_n"))
        if of is not None:
            digits = min(node.typmod, SECOND_DIGITS_MAX) if name.endswith("_n") else None
            return self.of_length(self.cast(now, of, node.location), digits, is_explicit=True, offset=node.location)
        if name in SESSION_VALUES:
            return session_value(SESSION_VALUES[name], node.location, TEXT if name == "version" else NAME)
        raise unsupported(name.removesuffix("_n"), node.location)

    def _func_call(self, node: Node, scope: Scope) -> Expr:
        name = function_name(node)
        if any((node.func_variadic, node.agg_star, node.agg_distinct, node.HasField("over"), len(node.agg_order))):
            raise unsupported(f"such a call of {name}", node.location)
        args = [self.expr(arg, scope) for arg in node.args]
        if name in SESSION_VALUES and not args:
            return session_value(SESSION_VALUES[name], node.location, TEXT if name == "version" else NAME)
        if name == "pg_backend_pid" and not args:
            return self.cast(session_value("pid", node.location), INT4, node.location)
        return self.function(name, local.FUNCTIONS.get(name, ()), args, node.location)


def session_value(name: str, offset: int, of: Type = TEXT) -> Call:
    def compute(context: Context) -> str | None:
        return context.session[name]

    return lazy_call("session", (), of, compute, offset)
