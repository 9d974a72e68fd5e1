"""A client's session: its settings, and what becomes of each statement.

alone        a statement that is its whole transaction: retried after 40001 and stale schema (T7)
in a block   explicit (BEGIN) or implicit (several statements up to Sync): 40001 goes to the client
             (`nodes.session.block`)
"""

import asyncio
import logging
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from time import monotonic, perf_counter
from typing import NamedTuple

from catalog.descriptor import Descriptor
from expressions.building import Parameters
from expressions.errors import (
    ACTIVE_TRANSACTION,
    CANNOT_CONNECT_NOW,
    READ_ONLY_TRANSACTION,
    UNDEFINED_COLUMN,
    UNDEFINED_TABLE,
    SqlError,
)
from expressions.limits import begin_anew
from expressions.sqltypes import TEXT, UNKNOWN, Type, parameter_type
from expressions.typed import Context
from leases.holders import shown
from leases.rules import LeaseError
from nodes.clients.portals import Prepared
from nodes.clients.protocols import Client
from nodes.context import Environment
from nodes.crud import operations
from nodes.crud.answers import field_of, plain_json
from nodes.crud.calls import argument_texts, call_of, declared, parsed_bytes
from nodes.crud.errors import error_json
from nodes.execution.fairness import LARGE_CHARS, in_thread, in_thread_if_large
from nodes.execution.held_rows import HeldRows, KeptByConnection
from nodes.execution.perform import perform
from nodes.execution.select import NotInOneBatch
from nodes.execution.truncate import truncate_some, truncate_within
from nodes.execution.writer import Ambiguous
from nodes.foreign_keys.enforced import pin_others
from nodes.people.rights import Person
from nodes.session import tracing
from nodes.session.block import Block, for_client
from nodes.session.ddl import SchemaStatements
from nodes.session.explain import explain
from nodes.session.new_tables import NewTables
from nodes.session.utility import Utility
from nodes.session.values import SessionValues
from nodes.settings.variables import Variables
from nodes.sql.planner import Plan, SelectPlan, TruncatePlan, make_plan
from nodes.sql.statements import Statement, parse
from nodes.store.checked import checked
from nodes.store.name_resolution import Names
from nodes.store.transaction import Retry, Transaction
from nodes.trace.record import Trace
from nodes.wire.messages import Field
from nodes.wire.parameters import array_bytes, values_of
from nodes.wire.results import Result

log = logging.getLogger(__name__)

TRIES_MAX = 12
PAUSE_S, PAUSE_S_MAX = 0.002, 0.1
PLANNED = frozenset({"select", "insert", "update", "delete"})
WRITES = frozenset({"insert", "update", "delete", "truncate", "ddl"})
STATEMENT_OF = {"insert": "insert", "replace": "insert", "upsert": "insert", "update": "update", "delete": "delete"}
"""The statement that an operation is, by its verb; the others are queries."""
WORDS = {"ddl": "a schema change", "crud": "this operation"}
AS_LONG_AS_IT_TAKES = frozenset({"ddl", "truncate"})
WITHOUT_DEFAULT_LIMIT = AS_LONG_AS_IT_TAKES | {"crud"}
"""Statements whose time the node's default limit does not bound: an operation of `crud` has a limit of its own."""
UNDECLARED = (0, UNKNOWN.oid)
RELOADABLE = frozenset({UNDEFINED_TABLE, UNDEFINED_COLUMN})


class Bound(NamedTuple):
    """The values that Bind gave a statement: those of its parameters, their formats, and those of its result."""

    values: Sequence[bytes | None] = ()
    formats: Sequence[int] = ()
    result_formats: tuple[int, ...] = ()


UNBOUND = Bound()


@dataclass(eq=False)
class Session:
    """One client's session."""

    env: Environment
    client: Client
    user: str
    variables: Variables = field(default_factory=Variables)
    person: Person = field(default_factory=lambda: Person(""))
    statement: str = ""
    is_running: bool = False
    trace: Trace | None = None
    """The record of the statement that runs, when the client has asked for one (`nodes.trace`)."""

    def __post_init__(self) -> None:
        new_tables = NewTables(self.env, self.user)
        self.kept = KeptByConnection(self.env.rows)
        self.block = Block(self.env, self.client, new_tables, self.variables, self)
        self.variables.has_asked = lambda: self.block.has_asked
        self.schema = SchemaStatements(self.client, self.user, self.block)
        self.utility = Utility(self.env.directory, self.client, self.variables, self.block)
        self.names = Names(self.env)
        self._known = SessionValues(self.variables, self.user, self.client.pid)

    def label(self) -> tuple[int, str, str, str, bool]:
        """The session as the holder of leases: its number, user, program, and the statement that runs or ran last."""
        program = self.variables.get("application_name")
        return self.client.pid, self.user, program, shown(self.statement), self.is_running

    # -- what a connection needs --------------------------------------------------------------------------------

    def status(self) -> bytes:
        return self.block.status()

    def reported(self) -> dict[str, str]:
        return self.variables.reported()

    def setting_changes(self) -> int:
        """Number of changes of settings: what was reported holds while it stays the same."""
        return self.variables.changes

    async def parse(self, sql: str) -> Sequence[Statement]:
        """The statements of a text; a large one is read beside the event loop."""
        return await in_thread_if_large(sql, lambda: parse(sql))

    async def prepare(self, sql: str, statement: object, oids: Sequence[int]) -> Prepared:
        """Find the types of parameters and result."""
        assert isinstance(statement, Statement)
        self._refuse_failed(statement)
        types = declared(oids) if statement.kind == "crud" else oids
        parameters = Parameters([parameter_type(oid, n) for n, oid in enumerate(types, start=1)])
        try:
            fields = await self._fields(statement, parameters)
        except LeaseError as error:
            raise lease_error(error) from error
        return Prepared(sql, statement, oids_for_client(parameters.types, oids), fields)

    async def execute(
        self,
        prepared: Prepared,
        values: Sequence[bytes | None],
        formats: Sequence[int],
        *,
        alone: bool,
        result_formats: tuple[int, ...] = (),
    ) -> Result:
        statement = prepared.statement
        assert isinstance(statement, Statement)
        self._refuse_failed(statement)
        if writes(statement):
            word = WORDS.get(statement.kind, statement.kind.upper())
            self.person.check_may_write(word)
            if self.variables.is_read_only:
                raise SqlError(READ_ONLY_TRANSACTION, f"cannot execute {word} in a read-only transaction")
        began, is_answered = perf_counter(), False
        self.statement, self.is_running = prepared.sql, True
        begin_anew()
        if self.variables.is_traced:
            self.trace = Trace(statement.kind, statement.text)
        if statement.kind not in AS_LONG_AS_IT_TAKES:
            self.env.running[self] = monotonic()
        try:
            if statement.kind in PLANNED & WRITES and self.block.transaction is not None:
                await self.client.statements.read_portals()
            if statement.kind in PLANNED:
                result = await self._planned(statement, prepared, Bound(values, formats, result_formats), alone=alone)
            elif statement.kind == "crud":
                result = await self._crud(statement, prepared, Bound(values, formats), alone=alone)
            else:
                result = await self._unplanned(statement)
            is_answered = True
            return result
        except LeaseError as error:
            raise lease_error(error) from error
        finally:
            self.is_running = False
            self.env.running.pop(self, None)
            self.env.meter.finished(perf_counter() - began, is_error=not is_answered)
            if self.trace is not None:
                trace, self.trace = self.trace, None
                if not is_answered and statement.kind != "truncate":
                    trace.forget()
                tracing.send(self.client, trace, self.block, is_answered=is_answered)

    def is_own_transaction(self, statement: object) -> bool:
        """True for a request of `crud`: however few rows of its answer are fetched, it is done."""
        return isinstance(statement, Statement) and statement.kind == "crud"

    def savepoints_set(self) -> int:
        return self.block.savepoints_set

    def has_implicit_block(self) -> bool:
        """True if something waits for Sync to be committed: rows, or settings."""
        return self.block.is_implicit or (self.variables.is_undecided and not self.block.is_explicit)

    async def end_implicit(self) -> None:
        await self.block.end_implicit()

    async def fail(self, error: SqlError) -> None:
        self.env.meter.totals.refuse(error.sqlstate)
        await self.block.fail(error)

    async def close(self) -> None:
        await self.block.close()

    def statement_s_max(self, statement: object | None) -> float | None:
        """Seconds that a statement may take."""
        is_long = isinstance(statement, Statement) and statement.kind in WITHOUT_DEFAULT_LIMIT
        if is_long and not self.variables.is_changed("statement_timeout"):
            return None
        return self.variables.statement_s

    def idle_s_max(self) -> float | None:
        """Seconds that the client may let us wait: any number while nobody else waits for what it holds."""
        return self.variables.idle_in_transaction_s if self.block.holds_something else None

    def _refuse_failed(self, statement: Statement) -> None:
        if not self.utility.ends_block(statement):
            self.block.refuse_failed()

    # -- statements with a plan ---------------------------------------------------------------------------------

    async def _planned(self, statement: Statement, prepared: Prepared, bound: Bound, *, alone: bool) -> Result:
        if alone and not self.block.is_open:
            return await self._alone(statement, prepared, bound)
        transaction = self.block.current()
        try:
            async with checked(transaction):
                plan, context = await self.plan(transaction, statement, prepared.oids, bound)
                prepared.check_result(plan_fields(plan))
                return await perform(self.env, transaction, plan, context, commit=False)
        except Retry as retry:
            raise await self.block.refused(retry) from retry

    async def _alone(self, statement: Statement, prepared: Prepared, bound: Bound) -> Result:
        """A statement that is its own transaction, tried again while nothing of it was kept."""
        fresh, in_one_batch, is_reloaded = False, True, False
        last: SqlError | None = None
        for attempt in range(TRIES_MAX):
            transaction = self.env.begin(is_read_only=statement.kind == "select", by=self)
            try:
                async with checked(transaction):
                    plan, context = await self.plan(transaction, statement, prepared.oids, bound, fresh=fresh)
                    prepared.check_result(plan_fields(plan))
                    result = await perform(self.env, transaction, plan, context, commit=in_one_batch)
                if result.more is not None:
                    result.more = self.block.streamed(transaction, result.more)
                elif not transaction.is_over:
                    await transaction.commit()
                return result
            except (Ambiguous, NotInOneBatch):
                in_one_batch = False
                if self.trace is not None:
                    self.trace.forget()
            except Retry as retry:
                self.env.meter.retried()
                last, fresh = for_client(retry), retry.stale
                if self.trace is not None:
                    self.trace.again("retry", sqlstate=retry.sqlstate, message=retry.message, fresh=fresh)
                await transaction.rollback()
                await asyncio.sleep(random.uniform(0, min(PAUSE_S * 2**attempt, PAUSE_S_MAX)))
            except SqlError as error:
                if error.sqlstate not in RELOADABLE or is_reloaded:
                    raise
                last, fresh, is_reloaded = error, True, True  # an old schema could explain it
                if self.trace is not None:
                    self.trace.again("reload", sqlstate=error.sqlstate, message=error.message)
            finally:
                if not transaction.is_over and not self.block.is_streaming(transaction):
                    await transaction.rollback()
        assert last is not None
        raise last

    async def plan(
        self,
        transaction: Transaction,
        statement: Statement,
        oids: Sequence[int],
        bound: Bound,
        *,
        fresh: bool = False,
    ) -> tuple[Plan, Context]:
        types = [parameter_type(oid, n) for n, oid in enumerate(oids, start=1)]
        parameters = Parameters(types, count_max=len(bound.values))
        transaction.trace = self.trace
        catalog = await self.catalog(transaction, statement.tables, fresh=fresh)
        plan = await self._made(statement, catalog, parameters)
        await pin_others(self.env, transaction, plan, fresh=fresh)
        style, now = self.variables.style, transaction.started_at
        read = partial(values_of, oids, bound.values, bound.formats, style, now)
        values = read() if array_bytes(oids, bound.values) <= LARGE_CHARS else await in_thread(read)
        context = Context(values, now, self._known, style, bound.result_formats)
        if self.trace is not None:
            tracing.planned(self.env, self.trace, transaction, catalog, plan, context)
        return plan, context

    async def _fields(self, statement: Statement, parameters: Parameters) -> tuple[Field, ...] | None:
        """The columns of the statement's result; None when it has none."""
        if statement.kind == "crud":
            for number in range(1, statement.node.parameters + 1):
                if parameters.type_of(number) is UNKNOWN:
                    parameters.settle(number, TEXT)
            return field_of(statement.node.name)
        if statement.kind not in PLANNED:
            return self.utility.fields(statement)
        if self.block.transaction is not None:
            try:
                async with checked(self.block.transaction):
                    return await self._fields_in(self.block.transaction, statement, parameters, fresh=False)
            except Retry as retry:
                raise await self.block.refused(retry) from retry
        for fresh in (False, True):
            transaction = self.env.begin(is_read_only=True, by=self)
            try:
                async with checked(transaction):
                    return await self._fields_in(transaction, statement, parameters, fresh=fresh)
            except SqlError as error:
                if fresh or not (isinstance(error, Retry) or error.sqlstate in RELOADABLE):
                    raise
            finally:
                await transaction.rollback()
        raise AssertionError("the second try returns or raises")

    async def _fields_in(
        self, transaction: Transaction, statement: Statement, parameters: Parameters, *, fresh: bool
    ) -> tuple[Field, ...] | None:
        catalog = await self.catalog(transaction, statement.tables, fresh=fresh)
        return plan_fields(await self._made(statement, catalog, parameters))

    async def catalog(
        self, transaction: Transaction, names: frozenset[str], *, fresh: bool = False
    ) -> dict[str, Descriptor]:
        """The versions that the transaction uses of these tables; a name that no table bears is left out."""
        return await self.names.versions(transaction, names, self.block.new_tables.tables, fresh=fresh)

    async def _made(self, statement: Statement, catalog: Mapping[str, Descriptor], parameters: Parameters) -> Plan:
        style = self.variables.style
        try:
            return await in_thread_if_large(statement.text, lambda: make_plan(statement, catalog, parameters, style))
        except SqlError as error:
            raise await self.names.explained(error, catalog) from None

    # -- requests -----------------------------------------------------------------------------------------------

    async def _crud(self, statement: Statement, prepared: Prepared, bound: Bound, *, alone: bool) -> Result:
        """A request of `crud`: it has a transaction of its own, and answers with JSON.

        One that writes stands alone in its message: statements in one message are one transaction, and what is done
        could not be undone when a later one fails.
        """
        if self.block.is_open:
            message = "a crud operation cannot run inside a transaction block"
            raise SqlError(ACTIVE_TRANSACTION, message, hint="each is a transaction of its own: use autocommit")
        if statement.node.operation.writes and not alone:
            message = f"crud.{statement.node.operation.name} cannot run among other statements"
            raise SqlError(ACTIVE_TRANSACTION, message, hint="it is a transaction of its own: send it by itself")
        caller = operations.Caller(self, self._known, self.variables.style, self.trace)
        if (trace := self.trace) is not None:
            trace.kind = STATEMENT_OF.get(statement.node.operation.verb, "select")
            caller.planned = lambda *found: tracing.planned(self.env, trace, *found)
        name = statement.node.name
        texts = argument_texts(prepared.oids, bound.values, bound.formats)
        longest = max((text for text in (statement.text, *texts) if text is not None), key=len)
        with HeldRows(self.env.rows) as held:
            try:
                held.take(parsed_bytes(statement.node, texts))
                call = await in_thread_if_large(longest, lambda: call_of(statement.node, texts))
            except SqlError as error:
                return Result("SELECT", field_of(name), [(plain_json(error_json(error, None, None)).encode(),)])
            if call.operation.name != "pairs":
                answer = await operations.answer(self.env, call, caller)
                return Result("SELECT", field_of(name), [(answer.encode(),)], has_written=call.operation.writes)
            result, transaction = await operations.stream(self.env, call, caller, name)
        if transaction is not None and result.more is not None:
            result.more = self.block.streamed(transaction, result.more)
        return result

    # -- everything else ----------------------------------------------------------------------------------------

    async def _unplanned(self, statement: Statement) -> Result:
        if statement.kind == "ddl":
            return await self.schema.change(statement)
        if statement.kind == "truncate":
            return await self._truncate(statement)
        if statement.kind == "explain":
            return await self._explain(statement)
        return await self.utility.run(statement)

    async def _truncate(self, statement: Statement) -> Result:
        if self.block.is_open:
            await self._truncate_inside(statement)
            return Result("TRUNCATE TABLE", has_written=True)
        while await self._truncate_some(statement):
            pass
        return Result("TRUNCATE TABLE")

    async def _truncate_inside(self, statement: Statement) -> None:
        """TRUNCATE in a block: rows are deleted by the block's own transaction, and come back with a rollback."""
        transaction = self.block.current()
        await self.client.statements.read_portals()
        try:
            async with checked(transaction):
                plan, _ = await self.plan(transaction, statement, (), UNBOUND)
                assert isinstance(plan, TruncatePlan)
                await truncate_within(self.env, transaction, plan)
        except Retry as retry:
            raise await self.block.refused(retry) from retry

    async def _truncate_some(self, statement: Statement) -> int:
        """One bounded transaction of a TRUNCATE (R9); the number of rows it deleted."""
        last: SqlError | None = None
        fresh = False
        for attempt in range(TRIES_MAX):
            transaction = self.env.begin(by=self)
            try:
                async with checked(transaction):
                    plan, _ = await self.plan(transaction, statement, (), UNBOUND, fresh=fresh)
                    assert isinstance(plan, TruncatePlan)
                    return await truncate_some(self.env, transaction, plan)
            except Retry as retry:
                last, fresh = retry, retry.stale
                await asyncio.sleep(random.uniform(0, min(PAUSE_S * 2**attempt, PAUSE_S_MAX)))
            except SqlError as error:
                if error.sqlstate not in RELOADABLE or fresh:
                    raise
                last, fresh = error, True
            finally:
                if not transaction.is_over:
                    await transaction.rollback()
        assert last is not None
        raise last

    async def _explain(self, statement: Statement) -> Result:
        for fresh in (False, True):
            transaction = self.env.begin(is_read_only=True, by=self)
            try:
                async with checked(transaction):
                    catalog = await self.catalog(transaction, statement.tables, fresh=fresh)
                    context = Context((), transaction.started_at, self._known, self.variables.style)
                    explained = await in_thread_if_large(
                        statement.text,
                        lambda catalog=catalog, context=context: explain(self.env, statement, catalog, context),
                    )
                await transaction.check()
                return explained
            except SqlError as error:
                if fresh or not (isinstance(error, Retry) or error.sqlstate in RELOADABLE):
                    raise
            finally:
                await transaction.rollback()
        raise AssertionError("the second try returns or raises")


def writes(statement: Statement) -> bool:
    """True for what takes the right to write."""
    return statement.kind in WRITES or (statement.kind == "crud" and statement.node.operation.writes)


def plan_fields(plan: Plan) -> tuple[Field, ...] | None:
    if isinstance(plan, SelectPlan):
        return plan.columns.fields
    returning = getattr(plan, "returning", None)
    return None if returning is None else returning.columns.fields


def oids_for_client(types: Sequence[Type], declared: Sequence[int]) -> tuple[int, ...]:
    """The type of each parameter, for the client and for what it sends: as declared, else as found."""
    given = [*declared, *[0] * (len(types) - len(declared))]
    return tuple(
        (TEXT if of is UNKNOWN else of).oid if oid in UNDECLARED else oid for of, oid in zip(types, given, strict=True)
    )


def lease_error(error: LeaseError) -> SqlError:
    """Why a table cannot be leased now, for a client: another node may serve it."""
    return SqlError(CANNOT_CONNECT_NOW, str(error), hint="try another node")
