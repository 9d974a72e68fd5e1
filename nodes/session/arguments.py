"""Values that no row decides, given by expressions: those of EXECUTE, and of calls that stand alone."""

from collections.abc import Sequence
from dataclasses import dataclass

from expressions.analysis.aggregates import refuse_aggregates
from expressions.analysis.analyzer import Analyzer
from expressions.analysis.building import Parameters
from expressions.analysis.scopes import Scope
from expressions.errors import FEATURE_NOT_SUPPORTED, SqlError
from expressions.typed import Context, Expr, evaluate, is_simple
from nodes.clients.portals import Portal, Prepared
from nodes.context import Environment
from nodes.execution.in_place import Read
from nodes.settings.variables import Variables
from nodes.sql.admission import nodes_in
from nodes.sql.edits import text_of
from nodes.sql.readable import in_place
from nodes.sql.statements import Node, parse
from nodes.store.transaction import Owner
from nodes.wire.columns import Columns, Output
from storage.postgres import USERS_SETTINGS


def analysed(analyzer: Analyzer, node: Node, what: str) -> Expr:
    """An argument. Raises for what reads rows; `what` names the place, for the message."""
    for part in nodes_in(node):
        if part.DESCRIPTOR.name == "SubLink":
            raise SqlError(FEATURE_NOT_SUPPORTED, f"cannot use subquery in {what}", part.location)
    expr = analyzer.expr(node, Scope())
    refuse_aggregates(expr, what)
    return expr


def analyzer_of(parameters: Parameters, context: Context) -> Analyzer:
    return Analyzer({}, parameters, style=context.style)


@dataclass(frozen=True, slots=True)
class Asking:
    """The values of expressions in one session; `portal` has the parameters that they may name."""

    env: Environment
    owner: Owner
    context: Context
    variables: Variables
    portal: Portal | None = None

    async def texts(self, nodes: Sequence[Node], exprs: Sequence[Expr]) -> list[bytes | None]:
        """The values, as texts of their types: of what the node cannot compute by itself, by PostgreSQL."""
        if all(map(is_simple, exprs)):
            columns = Columns(tuple(Output("", expr.type) for expr in exprs), self.context.style)
            writers = zip(columns.writers(()), exprs, strict=True)
            return [write(evaluate(expr, {}, self.context)) for write, expr in writers]
        values = (f"({text_of(node)})::{expr.type}" for node, expr in zip(nodes, exprs, strict=True))
        [statement] = parse(f"SELECT {', '.join(values)}")
        given = self.portal or Portal(Prepared("", statement))
        portal = Portal(Prepared("", statement, given.oids), given.values, given.formats)
        place = in_place(statement, {}, {}, self.env.reader.functions, style=self.context.style)
        style = [self.variables.get(name) for name in USERS_SETTINGS]
        transaction = self.env.begin(is_read_only=True, by=self.owner)
        transaction.started_at = self.context.now
        try:
            result = await Read(self.env, transaction, portal, place, self.context, style).result(commit=True)
            rows = list(result.rows)
            if result.more is not None:
                rows += [row async for batch in result.more for row in batch]
        finally:
            if not transaction.is_over:
                await transaction.rollback()
        return list(rows[0])
