"""LISTEN, NOTIFY, and the functions that stand alone (`nodes.sql.session_calls`), in one session."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from expressions.analysis.building import Parameters
from expressions.errors import UNDEFINED_FUNCTION, WRONG_OBJECT_TYPE, SqlError, unsupported
from expressions.functions.casts import IMPLICIT
from expressions.sqltypes import BOOL, INT8, TEXT, UNKNOWN, Type, parameter_type
from expressions.typed import Context
from nodes.clients.portals import Portal
from nodes.clients.protocols import Client
from nodes.context import Environment
from nodes.execution.describing import describe
from nodes.notifications.listening import ALL, Listening
from nodes.notifications.pieces import STORE_CHANNEL, Notification, pieces_of
from nodes.session.arguments import Arguments
from nodes.session.block import Block
from nodes.session.functions.advisory_locks import WAIT_IN_BLOCK_MS, AdvisoryLocks, Lock, key_of
from nodes.session.functions.numbers import SessionNumbers, argument_nodes
from nodes.session.functions.values import SessionValues
from nodes.session.tries import sent
from nodes.settings.variables import Variables
from nodes.sql.admission import CRUD, admitted
from nodes.sql.edits import Compiled, text_of
from nodes.sql.readable import InPlace
from nodes.sql.session_calls import field_of, lone_call, name_of
from nodes.sql.standing_alone import CHANNELS, FUNCTIONS, NOTIFY, SEQUENCE_FUNCTIONS, SLEEP, UNLOCK_ALL, UNLOCKS
from nodes.sql.statements import Statement
from nodes.store.pipeline import Command
from nodes.wire.columns import Columns, Output
from nodes.wire.messages import Field
from nodes.wire.parameters import values_of
from nodes.wire.results import Result

BOOLEAN, NUMBER = Columns((Output("", BOOL),)), Columns((Output("", INT8),))
SEND = "SELECT pg_notify(%b, %b), pg_current_xact_id()"
"""The transaction has an id then, by which it can be asked what became of it (T7)."""
NO_PROCEDURES = "A node has no procedures: send their statements, in one transaction."
SLEEP_S_MAX = 366 * 86_400.0
Value = bool | int | bytes | list[bytes] | None


@dataclass(eq=False)
class SessionCalls:
    env: Environment
    client: Client
    variables: Variables
    known: SessionValues
    block: Block
    listening: Listening
    locks: AdvisoryLocks

    # -- LISTEN and NOTIFY --------------------------------------------------------------------------------------

    async def listen(self, channel: str, *, alone: bool) -> Result:
        await self.env.hub.join(self.listening, self.client.deliver, self.client.end_now)
        self._ask(channel, listens=True, alone=alone)
        return Result("LISTEN")

    def unlisten(self, channel: str, *, alone: bool) -> Result:
        self._ask(channel or ALL, listens=False, alone=alone)
        return Result("UNLISTEN")

    def _ask(self, channel: str, *, listens: bool, alone: bool) -> None:
        if not alone:
            self.block.current()
        self.listening.ask(channel, listens=listens, savepoint=self.block.savepoints_set)
        if not self.block.is_open:
            self.listening.end(committed=True)

    async def notify(self, channel: str, payload: str, *, alone: bool) -> None:
        """Have the transaction send it when it commits; the store folds what it says twice."""
        texts = pieces_of(Notification(self.env.node, self.env.incarnation, self.client.pid, channel, payload))
        commands = [Command(SEND, (STORE_CHANNEL.encode(), text.encode()), is_text=True) for text in texts]
        await sent(self.block, commands, alone=alone)

    # -- calls --------------------------------------------------------------------------------------------------

    async def fields(self, statement: Statement, parameters: Parameters) -> tuple[Field, ...]:
        arguments = self._arguments(statement, parameters, Context(style=self.variables.style))
        for node, of in zip(arguments.nodes, await self._types(statement, arguments), strict=True):
            if node.HasField("param_ref") and parameters.type_of(node.param_ref.number) is UNKNOWN:
                parameters.settle(node.param_ref.number, of)
        return (field_of(statement.node),)

    async def run(self, portal: Portal, *, alone: bool) -> Result:
        statement = portal.statement
        now, style = self.block.now, self.variables.style
        values = values_of(portal.oids, portal.values, portal.formats, style, now)
        context = Context(values, now, self.known, style, portal.result_formats)
        types = [parameter_type(oid) for oid in portal.oids]
        arguments = self._arguments(statement, Parameters(types, count_max=len(values)), context, portal)
        given = await arguments.texts(await self._types(statement, arguments))
        texts = [text if text is None else text.decode() for text in given]
        call = lone_call(statement.node)
        assert call is not None
        value = await self._value(name_of(call), call, texts, alone=alone)
        if isinstance(value, int):
            [write] = (BOOLEAN if isinstance(value, bool) else NUMBER).writers(portal.result_formats)
            value = write(value)
        rows = value if isinstance(value, list) else [value]
        return Result("SELECT", (field_of(statement.node),), [(row,) for row in rows])

    async def _value(self, name: str, call: Any, texts: list[str | None], *, alone: bool) -> Value:
        """The value of a call, or those of several rows; nothing at all, b"", of one that gives none."""
        if name == NOTIFY:
            await self.notify(texts[0] or "", texts[1] or "", alone=alone)
            return b""
        if name == CHANNELS:
            return [channel.encode() for channel in self.listening.channels]
        if name == UNLOCK_ALL:
            await self.locks.give_all()
            return b""
        known = [text for text in texts if text is not None]
        if len(known) < len(texts):
            return None
        if name in SEQUENCE_FUNCTIONS:
            by_column = len(texts) > len(call.args)
            return await SessionNumbers(self.block).call(name, known, by_column=by_column, alone=alone)
        if name == SLEEP:
            if (seconds := float(known[0])) > 0:  # not at all for what is no time, as pg_sleep does
                await asyncio.sleep(min(seconds, SLEEP_S_MAX))
            return b""
        lock = Lock(key_of([int(text) for text in known]), name.endswith("shared"))
        if name in UNLOCKS:
            return await self.locks.give(lock)
        is_of_transaction = "_xact_" in name
        transaction = self.block.current() if is_of_transaction and not alone else self.block.transaction
        wait_ms = self.variables.lock_ms
        if transaction is not None and (transaction.has_written or transaction.pins):
            wait_ms = min(wait_ms or WAIT_IN_BLOCK_MS, WAIT_IN_BLOCK_MS)
        savepoint = self.block.savepoints_set if is_of_transaction else None
        taken = await self.locks.take(lock, tries="_try_" in name, savepoint=savepoint, wait_ms=wait_ms)
        if is_of_transaction and not self.block.is_open:
            await self.locks.end_transaction()
        return b"" if FUNCTIONS[name].gives is None else taken

    def _arguments(
        self, statement: Statement, parameters: Parameters, context: Context, portal: Portal | None = None
    ) -> Arguments:
        call = lone_call(statement.node)
        assert call is not None
        what, owner = f"a call of {name_of(call)}", self.block.owner
        return Arguments(self.env, owner, context, self.variables, argument_nodes(call), what, parameters, portal)

    async def _types(self, statement: Statement, arguments: Arguments) -> list[Type]:
        call, found = lone_call(statement.node), await arguments.types()
        assert call is not None
        for takes in FUNCTIONS[name_of(call)].takes:
            types = [*[TEXT] * (len(found) - len(call.args)), *takes]
            if len(types) == len(found) and all(
                of in (UNKNOWN, wanted) or (of, wanted) in IMPLICIT for of, wanted in zip(found, types, strict=True)
            ):
                return types
        shown = ", ".join(map(str, found))
        raise SqlError(UNDEFINED_FUNCTION, f"function {name_of(call)}({shown}) does not exist")


async def no_procedure(env: Environment, statement: Statement, oids: Sequence[int], style: Sequence[str]) -> SqlError:
    """The refusal of a CALL, the store's own (42883). Raises for an argument that the reader role may not use."""
    call = statement.node.funccall
    names = [part.string.sval for part in call.funcname]
    if names[0] == CRUD and len(names) > 1:
        hint = "To call a function, use SELECT."
        return SqlError(WRONG_OBJECT_TYPE, f"{'.'.join(names)} is not a procedure", call.location, hint=hint)
    if len(call.args):
        admitted(f"SELECT {', '.join(map(text_of, call.args))}", env.reader.functions)
    place = InPlace(Compiled(statement.text, statement.text, ()), (), statement.start)
    try:
        await describe(env, None, place, oids, style)
    except SqlError as error:
        if error.message.startswith("procedure "):
            error.hint = NO_PROCEDURES
        return error
    return unsupported("a call of a procedure", call.location, hint=NO_PROCEDURES)
