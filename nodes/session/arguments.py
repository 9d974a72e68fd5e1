"""Values that no row decides, given by expressions: those of EXECUTE, and of calls that stand alone. The store says the
types and values of what is not a constant, a parameter or a value of the session."""

from collections.abc import Sequence
from dataclasses import dataclass

from expressions.analysis.analyzer import Analyzer
from expressions.analysis.building import Parameters
from expressions.analysis.scopes import Scope
from expressions.errors import FEATURE_NOT_SUPPORTED, SqlError
from expressions.rows import place_in
from expressions.sqltypes import UNKNOWN, Type, parameter_type
from expressions.typed import Context, Expr, evaluate, is_simple
from nodes.clients.portals import Portal, Prepared
from nodes.context import Environment
from nodes.execution.describing import describe
from nodes.execution.in_place import Read
from nodes.settings.variables import Variables
from nodes.sql.admission import nodes_in
from nodes.sql.edits import text_of
from nodes.sql.readable import InPlace, in_place
from nodes.sql.statements import Node, Statement, parse
from nodes.store.transaction import Owner
from nodes.wire.columns import Columns, Output
from storage.postgres import USERS_SETTINGS

IN_WHERE = " in WHERE"


@dataclass(frozen=True, slots=True)
class Arguments:
    """Arguments in one session. `what` names their place, for messages; `portal` has the parameters that they name."""

    env: Environment
    owner: Owner
    context: Context
    variables: Variables
    nodes: Sequence[Node]
    what: str
    parameters: Parameters
    portal: Portal | None = None

    async def types(self) -> list[Type]:
        """Their types: unknown of a quoted constant, of NULL and of a parameter without one. Types of other parameters
        are noted. Raises `SqlError` for what reads rows."""
        for part in [part for node in self.nodes for part in nodes_in(node)]:
            if part.DESCRIPTOR.name == "SubLink":
                raise SqlError(FEATURE_NOT_SUPPORTED, f"cannot use subquery in {self.what}", part.location)
        local = [self._local(node, None) for node in self.nodes]
        if None not in local:
            return [expr.type for expr in local if expr is not None]
        are_open = [self._is_open(node) for node in self.nodes]
        asked = ["NULL" if is_open else text_of(node) for node, is_open in zip(self.nodes, are_open, strict=True)]
        listed = ", ".join(asked)
        oids = [0 if of is UNKNOWN else of.oid for of in self.parameters.types]
        try:
            place = self._placed(f"SELECT {listed} WHERE ROW({listed}) IS NULL")[1]
            found = await describe(self.env, None, place, oids, self._style())
        except SqlError as error:
            if error.message.endswith(IN_WHERE):
                error.message = f"{error.message.removesuffix(IN_WHERE)} in {self.what}"
                error.offset -= len(f"{listed} WHERE ROW(".encode())
            error.offset = self._place(error.offset, asked)
            raise
        for number, oid in enumerate(found.parameters, start=1):
            if self.parameters.type_of(number) is UNKNOWN:
                self.parameters.settle(number, parameter_type(oid))
        known = [parameter_type(column.oid) for column in found.columns]
        return [UNKNOWN if is_open else of for of, is_open in zip(known, are_open, strict=True)]

    async def texts(self, types: Sequence[Type]) -> list[bytes | None]:
        local = [self._local(node, of) for node, of in zip(self.nodes, types, strict=True)]
        exprs = [expr for expr in local if expr is not None]
        if len(exprs) == len(local):
            columns = Columns(tuple(Output("", expr.type) for expr in exprs), self.context.style)
            writers = zip(columns.writers(()), exprs, strict=True)
            return [write(evaluate(expr, {}, self.context)) for write, expr in writers]
        texts, casts = [text_of(node) for node in self.nodes], [f")::{of}" for of in types]
        try:
            return await self._asked(f"SELECT {', '.join(f'({t}{cast}' for t, cast in zip(texts, casts, strict=True))}")
        except SqlError as error:
            error.offset = self._place(error.offset, texts, "(", casts)
            raise

    async def _asked(self, text: str) -> list[bytes | None]:
        statement, place = self._placed(text)
        given = self.portal or Portal(Prepared("", statement))
        portal = Portal(Prepared("", statement, given.oids), given.values, given.formats)
        transaction = self.env.begin(is_read_only=True, by=self.owner)
        transaction.started_at = self.context.now
        try:
            read = Read(self.env, transaction, portal, place, self.context, self._style())
            result = await read.result(commit=True)
            rows = list(result.rows)
            if result.more is not None:
                rows += [row async for batch in result.more for row in batch]
        finally:
            if not transaction.is_over:
                await transaction.rollback()
        return list(rows[0])

    def _local(self, node: Node, of: Type | None) -> Expr | None:
        analyzer = Analyzer(self.parameters, style=self.context.style)
        try:
            expr = analyzer.expr(node, Scope())
            found = expr if of is None else analyzer.coerce(expr, of, assignment=True)
        except SqlError:
            return None
        return found if is_simple(found) else None

    def _is_open(self, node: Node) -> bool:
        """True for a quoted constant, NULL or a parameter without a type: it has the one that is wanted."""
        if node.HasField("a_const"):
            return bool(node.a_const.isnull) or node.a_const.HasField("sval")
        return node.HasField("param_ref") and self.parameters.type_of(node.param_ref.number) is UNKNOWN

    def _place(self, offset: int, texts: Sequence[str], before: str = "", after: Sequence[str] = ()) -> int:
        start = len("SELECT ")
        for node, text, more in zip(self.nodes, texts, after or [""] * len(texts), strict=True):
            start += len(before)
            if start <= offset < start + len(text.encode()):
                return place_in(text, node, offset - start)
            start += len(f"{text}{more}, ".encode())
        return -1

    def _placed(self, text: str) -> tuple[Statement, InPlace]:
        [statement] = parse(text)
        return statement, in_place(statement, {}, {}, self.env.reader.functions, style=self.context.style)

    def _style(self) -> list[str]:
        return [self.variables.get(name) for name in USERS_SETTINGS]
