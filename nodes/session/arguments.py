"""Values that no row decides, given by expressions: those of EXECUTE, and of calls that stand alone."""

from collections.abc import Sequence

from expressions.analysis.aggregates import refuse_aggregates
from expressions.analysis.building import Parameters
from expressions.analysis.scopes import Scope
from expressions.errors import FEATURE_NOT_SUPPORTED, SqlError
from expressions.typed import Context, Expr, evaluate, is_simple
from nodes.context import Environment
from nodes.execution.select import select_result
from nodes.sql.planner import Planner, SelectPlan
from nodes.sql.queries.query import Output, Query
from nodes.sql.statements import Node
from nodes.wire.columns import Columns


def analysed(planner: Planner, node: Node, what: str) -> Expr:
    """An argument. Raises for what reads rows; `what` names the place, for the message."""
    if node.WhichOneof("node") == "sub_link":
        raise SqlError(FEATURE_NOT_SUPPORTED, f"cannot use subquery in {what}", node.sub_link.location)
    expr = planner.analyzer.expr(node, Scope())
    refuse_aggregates(expr, what)
    if planner.analyzer.scans or planner.analyzer.relations:
        raise SqlError(FEATURE_NOT_SUPPORTED, f"cannot use subquery in {what}")
    return expr


def planner_of(parameters: Parameters, context: Context) -> Planner:
    return Planner({}, parameters, context.style)


async def texts_of(env: Environment, exprs: Sequence[Expr], context: Context) -> list[bytes | None]:
    """The values, as texts of their types."""
    outputs = tuple(Output("", expr.type) for expr in exprs)
    columns = Columns(outputs, context.style)
    if all(map(is_simple, exprs)):
        return [write(evaluate(expr, {}, context)) for write, expr in zip(columns.writers(()), exprs, strict=True)]
    parts: list[str | Expr] = ["SELECT "]
    for place, expr in enumerate(exprs):
        parts += [", " if place else "", expr, f" AS o{place}"]
    plan = SelectPlan(Query(tuple(parts), outputs), (), outputs, columns)
    result = await select_result(env, env.begin(), plan, context, commit=False)
    return list(result.rows[0])
