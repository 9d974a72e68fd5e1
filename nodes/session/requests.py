"""A request of `crud` in a session: a transaction of its own, answered with JSON."""

from dataclasses import dataclass

from expressions.analysis.building import Parameters
from expressions.errors import ACTIVE_TRANSACTION, SqlError
from expressions.sqltypes import TEXT, UNKNOWN
from nodes.clients.portals import Portal
from nodes.context import Environment
from nodes.crud import operations
from nodes.crud.answers import field_of, plain_json
from nodes.crud.calls import argument_texts, call_of, parsed_bytes
from nodes.crud.errors import error_json
from nodes.execution.fairness import in_thread_if_large
from nodes.execution.held_rows import HeldRows
from nodes.session import tracing
from nodes.session.block import Block
from nodes.session.functions.values import SessionValues
from nodes.settings.variables import Variables
from nodes.sql.statements import Statement
from nodes.wire.messages import Field
from nodes.wire.results import Result

STATEMENT_OF = {"insert": "insert", "replace": "insert", "upsert": "insert", "update": "update", "delete": "delete"}
"""The statement that an operation is, by its verb; the others are queries."""


@dataclass(eq=False)
class Requests:
    """The requests of one session. One that writes stands alone in its message: statements in one message are one
    transaction, and what is done could not be undone when a later one fails."""

    env: Environment
    variables: Variables
    known: SessionValues
    block: Block

    def fields(self, statement: Statement, parameters: Parameters) -> tuple[Field, ...]:
        for number in range(1, statement.node.parameters + 1):
            if parameters.type_of(number) is UNKNOWN:
                parameters.settle(number, TEXT)
        return field_of(statement.node.name)

    async def run(self, portal: Portal, *, alone: bool) -> Result:
        node, operation, trace = portal.statement.node, portal.statement.node.operation, portal.trace
        if self.block.is_open:
            message = "a crud operation cannot run inside a transaction block"
            raise SqlError(ACTIVE_TRANSACTION, message, hint="each is a transaction of its own: use autocommit")
        if operation.writes and not alone:
            message = f"crud.{operation.name} cannot run among other statements"
            raise SqlError(ACTIVE_TRANSACTION, message, hint="it is a transaction of its own: send it by itself")
        caller = operations.Caller(self.block.owner, self.known, self.variables.style, trace)
        if trace is not None:
            trace.kind = STATEMENT_OF.get(operation.verb, "select")
            caller.planned = lambda *found: tracing.planned(self.env, trace, *found)
        texts = argument_texts(portal.oids, portal.values, portal.formats)
        longest = max((text for text in (portal.statement.text, *texts) if text is not None), key=len)
        with HeldRows(self.env.rows) as held:
            try:
                held.take(parsed_bytes(node, texts))
                call = await in_thread_if_large(longest, lambda: call_of(node, texts))
            except SqlError as error:
                return Result("SELECT", field_of(node.name), [(plain_json(error_json(error, None, None)).encode(),)])
            if operation.name != "pairs":
                answer = await operations.answer(self.env, call, caller)
                return Result("SELECT", field_of(node.name), [(answer.encode(),)], has_written=operation.writes)
            result, transaction = await operations.stream(self.env, call, caller, node.name)
        if transaction is not None and result.more is not None:
            result.more = self.block.streamed(transaction, result.more)
        return result
