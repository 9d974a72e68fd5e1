"""A client's session: its transaction, its settings, and what becomes of each statement.

    alone        a statement that is its whole transaction: retried after 40001 and stale schema (T7)
    in a block   explicit (BEGIN) or implicit (several statements up to Sync): 40001 goes to the client

A failed explicit block takes nothing but its end (25P02); without a savepoint to return to it lets go of
the store and of its leases at once.
"""

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Protocol

from catalog.descriptor import Descriptor
from expressions.analysis import Parameters
from expressions.errors import (
    ACTIVE_TRANSACTION,
    CANNOT_CONNECT_NOW,
    IN_FAILED_TRANSACTION,
    NO_ACTIVE_TRANSACTION,
    READ_ONLY_TRANSACTION,
    UNDEFINED_COLUMN,
    UNDEFINED_TABLE,
    FatalError,
    SqlError,
    unsupported,
)
from expressions.sqltypes import TEXT, UNKNOWN, Type, parameter_type
from expressions.typed import Context
from leases.holders import shown
from leases.rules import LeaseError
from nodes.clients.portals import Prepared
from nodes.context import Environment
from nodes.execution import dml
from nodes.execution.fairness import in_thread_if_large
from nodes.execution.select import fields_of, select_result
from nodes.execution.truncate import truncate_some
from nodes.execution.writer import Ambiguous
from nodes.foreign_keys.enforced import pin_others
from nodes.people.rights import Person
from nodes.session.ddl import SchemaStatements
from nodes.session.explain import explain
from nodes.session.utility import Utility
from nodes.session.values import SessionValues
from nodes.sql.planner import (
    DeletePlan,
    InsertPlan,
    Plan,
    SelectPlan,
    TruncatePlan,
    UpdatePlan,
    make_plan,
)
from nodes.sql.statements import Statement, parse
from nodes.sql.variables import Variables
from nodes.store.name_resolution import Names
from nodes.store.transaction import Retry, Transaction
from nodes.wire.messages import Field
from nodes.wire.parameters import values_of
from nodes.wire.results import Result, Row

log = logging.getLogger(__name__)

TRIES_MAX = 12
PAUSE_S, PAUSE_S_MAX = 0.002, 0.1
PLANNED = frozenset({"select", "insert", "update", "delete"})
WRITES = frozenset({"insert", "update", "delete", "truncate", "ddl"})
AS_LONG_AS_IT_TAKES = frozenset({"ddl", "truncate"})
UNDECLARED = (0, UNKNOWN.oid)
RELOADABLE = frozenset({UNDEFINED_TABLE, UNDEFINED_COLUMN})


class Client(Protocol):
    """The connection, as far as a session needs it (`nodes.clients.connection`)."""

    pid: int
    prepared: dict[str, Prepared]

    def notice(self, text: str, severity: str = "NOTICE", sqlstate: str = "00000") -> None: ...


@dataclass(eq=False)
class Session:
    """One client's session."""

    env: Environment
    client: Client
    user: str
    variables: Variables = field(default_factory=Variables)
    person: Person = field(default_factory=lambda: Person(""))
    transaction: Transaction | None = None
    is_explicit: bool = False
    is_failed: bool = False
    is_read_only: bool = False
    statement: str = ""
    is_running: bool = False
    _owned: set[Transaction] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.utility = Utility(self)
        self._known = SessionValues(self)
        self.schema = SchemaStatements(self)
        self.names = Names(self.env)

    def label(self) -> tuple[int, str, str, str, bool]:
        """Who holds what this session holds: session, user, program, and the statement that runs or ran last."""
        program = self.variables.get("application_name")
        return self.client.pid, self.user, program, shown(self.statement), self.is_running

    # -- what the wire asks -------------------------------------------------------------------------------------

    def status(self) -> bytes:
        if self.is_failed:
            return b"E"
        return b"T" if self.is_explicit else b"I"

    def reported(self) -> dict[str, str]:
        return self.variables.reported()

    def setting_changes(self) -> int:
        """How often a setting was changed: what was reported holds while it stays the same."""
        return self.variables.changes

    async def parse(self, sql: str) -> Sequence[Statement]:
        """The statements of a text; a large one is read beside the event loop."""
        return await in_thread_if_large(sql, lambda: parse(sql))

    async def prepare(self, sql: str, statement: object, oids: Sequence[int]) -> Prepared:
        """Find the types of parameters and result."""
        assert isinstance(statement, Statement)
        self._refuse_failed(statement)
        parameters = Parameters([parameter_type(oid, n) for n, oid in enumerate(oids, start=1)])
        try:
            fields = await self._fields(statement, parameters)
        except LeaseError as error:
            raise lease_trouble(error) from error
        return Prepared(sql, statement, told_oids(parameters.types, oids), fields)

    async def execute(
        self, prepared: Prepared, values: Sequence[bytes | None], formats: Sequence[int], *, alone: bool
    ) -> Result:
        statement = prepared.statement
        assert isinstance(statement, Statement)
        self._refuse_failed(statement)
        if self._is_write(statement):
            word = statement.kind.upper() if statement.kind != "ddl" else "a schema change"
            self.person.check_may_write(word)
            if self.is_read_only:
                raise SqlError(READ_ONLY_TRANSACTION, f"cannot execute {word} in a read-only transaction")
        began, is_answered = perf_counter(), False
        self.statement, self.is_running = prepared.sql, True
        try:
            if statement.kind in PLANNED:
                result = await self._planned(statement, prepared, values, formats, alone=alone)
            else:
                result = await self._unplanned(statement, alone=alone)
            is_answered = True
            return result
        except LeaseError as error:
            raise lease_trouble(error) from error
        finally:
            self.is_running = False
            self.env.meter.finished(perf_counter() - began, is_error=not is_answered)

    def has_implicit_block(self) -> bool:
        return self.transaction is not None and not self.is_explicit

    async def end_implicit(self) -> None:
        """Sync, or the end of a simple query: an implicit block commits."""
        if self.transaction is not None and not self.is_explicit:
            transaction, self.transaction = self.transaction, None
            await self._commit(transaction)

    async def fail(self, error: SqlError) -> None:
        """A statement failed: an implicit block is undone, an explicit one waits for its end."""
        await self._drop_owned()
        if self.transaction is None and not self.is_explicit:
            return
        if self.is_explicit:
            self.is_failed = True
            can_return = bool(self.transaction and self.transaction.savepoints) and not isinstance(error, FatalError)
            if can_return and not self.transaction_is_gone():
                return
            await self._let_go()
            return
        await self._end_transaction()

    def transaction_is_gone(self) -> bool:
        """Whether the session at the store has ended: no savepoint can bring it back."""
        connection = None if self.transaction is None else self.transaction.connection
        return connection is None or connection.is_lost

    async def _let_go(self) -> None:
        """A failed block that cannot go on holds nothing any more; the client still has to end it."""
        transaction, self.transaction = self.transaction, None
        if transaction is not None:
            await transaction.rollback()
        await self.schema.after_transaction(committed=False)

    async def close(self) -> None:
        await self._drop_owned()
        await self._end_transaction()

    # -- statements with a plan ---------------------------------------------------------------------------------

    async def _planned(
        self, statement: Statement, prepared: Prepared, values: Sequence[bytes | None], formats: Sequence[int],
        *, alone: bool,
    ) -> Result:  # fmt: skip
        if alone and self.transaction is None and not self.is_explicit:
            return await self._alone(statement, prepared, values, formats)
        transaction = self.block()
        plan, context = await self.plan(transaction, statement, prepared.oids, values, formats)
        prepared.check_result(plan_fields(plan))
        try:
            return await self.run(transaction, plan, context, commit=False)
        except Retry as retry:
            raise self._told(retry) from retry

    async def _alone(
        self, statement: Statement, prepared: Prepared, values: Sequence[bytes | None], formats: Sequence[int]
    ) -> Result:
        """A statement that is its own transaction, tried again while nothing of it was kept."""
        fresh, in_one_flight, is_reloaded = False, True, False
        last: SqlError | None = None
        for attempt in range(TRIES_MAX):
            transaction = self.env.begin(is_read_only=self._is_pure_read(statement), by=self)
            try:
                plan, context = await self.plan(transaction, statement, prepared.oids, values, formats, fresh=fresh)
                prepared.check_result(plan_fields(plan))
                result = await self.run(transaction, plan, context, commit=in_one_flight)
                if result.more is not None:
                    result.more = self._streamed(transaction, result.more)
                elif not transaction.is_over:
                    await transaction.commit()
                return result
            except Ambiguous:
                in_one_flight = False
            except Retry as retry:
                self.env.meter.retried()
                last, fresh = self._told(retry), retry.stale
                await transaction.rollback()
                await asyncio.sleep(random.uniform(0, min(PAUSE_S * 2**attempt, PAUSE_S_MAX)))
            except SqlError as error:
                if error.sqlstate not in RELOADABLE or is_reloaded:
                    raise
                last, fresh, is_reloaded = error, True, True  # an old schema could explain it
            finally:
                if not transaction.is_over and transaction not in self._owned:
                    await transaction.rollback()
        assert last is not None
        raise last

    async def _streamed(self, transaction: Transaction, batches: AsyncIterator[list[Row]]) -> AsyncIterator[list[Row]]:
        self._owned.add(transaction)
        try:
            async for batch in batches:
                yield batch
        except Retry as retry:
            raise self._told(retry) from retry
        finally:
            self._owned.discard(transaction)
            if not transaction.is_over:
                await transaction.rollback()

    async def plan(
        self,
        transaction: Transaction,
        statement: Statement,
        oids: Sequence[int],
        values: Sequence[bytes | None],
        formats: Sequence[int],
        *,
        fresh: bool = False,
    ) -> tuple[Plan, Context]:
        types = [parameter_type(oid, n) for n, oid in enumerate(oids, start=1)]
        parameters = Parameters(types, count_max=len(values))
        catalog = await self.catalog(transaction, statement.tables, fresh=fresh)
        plan = await self._made(statement, catalog, parameters)
        await pin_others(self.env, transaction, plan, fresh=fresh)
        bound = values_of(oids, values, formats)
        return plan, self.context(transaction, bound)

    def context(self, transaction: Transaction, parameters: Sequence[Any] = ()) -> Context:
        return Context(parameters, transaction.started_at, self._known)

    async def run(self, transaction: Transaction, plan: Plan, context: Context, *, commit: bool) -> Result:
        match plan:
            case SelectPlan():
                return await select_result(self.env, transaction, plan, context, commit=commit)
            case InsertPlan():
                return await dml.insert(self.env, transaction, plan, context, commit=commit)
            case UpdatePlan():
                return await dml.update(self.env, transaction, plan, context, commit=commit)
            case DeletePlan():
                return await dml.delete(self.env, transaction, plan, context, commit=commit)
        raise unsupported("this statement")

    async def _fields(self, statement: Statement, parameters: Parameters) -> tuple[Field, ...] | None:
        """The columns of the statement's result; None when it has none."""
        if statement.kind not in PLANNED:
            return self.utility.fields(statement)
        if self.transaction is not None:
            return await self._fields_in(self.transaction, statement, parameters, fresh=False)
        for fresh in (False, True):
            transaction = self.env.begin(is_read_only=True, by=self)
            try:
                return await self._fields_in(transaction, statement, parameters, fresh=fresh)
            except SqlError as error:
                if error.sqlstate not in RELOADABLE or fresh:
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
        return await self.names.versions(transaction, names, self.schema.new_tables, fresh=fresh)

    async def _made(self, statement: Statement, catalog: Mapping[str, Descriptor], parameters: Parameters) -> Plan:
        try:
            return await in_thread_if_large(statement.text, lambda: make_plan(statement, catalog, parameters))
        except SqlError as error:
            raise await self.names.explained(error, catalog) from None

    # -- blocks -------------------------------------------------------------------------------------------------

    def block(self) -> Transaction:
        """The transaction of the block; a new implicit one when there is none."""
        if self.transaction is None:
            self.transaction = self.env.begin(is_read_only=self.is_read_only, by=self)
        return self.transaction

    def begin(self, *, is_read_only: bool) -> None:
        if self.is_explicit:
            self.client.notice("there is already a transaction in progress", "WARNING", ACTIVE_TRANSACTION)
            return
        self.is_explicit, self.is_read_only = True, is_read_only
        if self.transaction is None:
            self.transaction = self.env.begin(is_read_only=is_read_only, by=self)

    async def commit(self) -> str:
        """COMMIT: the tag tells what became of it."""
        if not self.is_explicit:
            self.client.notice("there is no transaction in progress", "WARNING", NO_ACTIVE_TRANSACTION)
            return "COMMIT"
        if self.is_failed:
            await self._end_transaction()
            return "ROLLBACK"
        transaction, self.transaction = self.transaction, None
        self.is_explicit = self.is_read_only = False
        if transaction is not None:
            await self._commit(transaction)
        return "COMMIT"

    async def rollback(self) -> str:
        if not self.is_explicit and self.transaction is None:
            self.client.notice("there is no transaction in progress", "WARNING", NO_ACTIVE_TRANSACTION)
        await self._end_transaction()
        return "ROLLBACK"

    async def _commit(self, transaction: Transaction) -> None:
        try:
            await self.schema.before_commit(transaction)
            await transaction.commit()
        except Retry as retry:
            raise self._told(retry) from retry
        finally:
            committed = transaction.is_over
            if not transaction.is_over:
                await transaction.rollback()
            await self.schema.after_transaction(committed=committed and transaction.has_committed)

    async def _end_transaction(self) -> None:
        transaction, self.transaction = self.transaction, None
        self.is_explicit = self.is_failed = self.is_read_only = False
        if transaction is not None:
            await transaction.rollback()
        await self.schema.after_transaction(committed=False)

    async def _drop_owned(self) -> None:
        for transaction in list(self._owned):
            self._owned.discard(transaction)
            if not transaction.is_over:
                await transaction.rollback()

    # -- everything else ----------------------------------------------------------------------------------------

    async def _unplanned(self, statement: Statement, *, alone: bool) -> Result:
        if statement.kind == "ddl":
            return await self.schema.change(statement, alone=alone)
        if statement.kind == "truncate":
            return await self._truncate(statement)
        if statement.kind == "explain":
            return await self._explain(statement)
        return await self.utility.run(statement)

    async def _truncate(self, statement: Statement) -> Result:
        if self.is_explicit or self.transaction is not None:
            raise SqlError(ACTIVE_TRANSACTION, "TRUNCATE cannot run inside a transaction block", hint="use DELETE")
        while await self._truncate_some(statement):
            pass
        return Result("TRUNCATE TABLE")

    async def _truncate_some(self, statement: Statement) -> int:
        """One bounded transaction of a TRUNCATE (R9); the number of rows it deleted."""
        last: SqlError | None = None
        fresh = False
        for attempt in range(TRIES_MAX):
            transaction = self.env.begin(by=self)
            try:
                plan, _ = await self.plan(transaction, statement, (), (), (), fresh=fresh)
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
        transaction = self.env.begin(is_read_only=True, by=self)
        try:
            for fresh in (False, True):
                catalog = await self.catalog(transaction, statement.tables, fresh=fresh)
                try:
                    return explain(self.env, statement, catalog, self.context(transaction))
                except SqlError as error:
                    if error.sqlstate not in RELOADABLE or fresh:
                        raise
            raise AssertionError("the second try returns or raises")
        finally:
            await transaction.rollback()

    # -- small questions ----------------------------------------------------------------------------------------

    def _refuse_failed(self, statement: Statement) -> None:
        if self.is_failed and not self.utility.ends_block(statement):
            raise SqlError(
                IN_FAILED_TRANSACTION,
                "current transaction is aborted, commands ignored until end of transaction block",
            )

    def _is_write(self, statement: Statement) -> bool:
        return statement.kind in WRITES

    def _is_pure_read(self, statement: Statement) -> bool:
        return statement.kind == "select"

    def _told(self, retry: Retry) -> SqlError:
        """What a client is told: 40001 or 40P01, whatever the store's code was."""
        return SqlError(retry.sqlstate, retry.message, hint=retry.hint)

    def statement_s_max(self, statement: object | None) -> float | None:
        """How long a statement may take. The node's default is not meant for what goes on for as long as it takes."""
        is_long = isinstance(statement, Statement) and statement.kind in AS_LONG_AS_IT_TAKES
        if is_long and not self.variables.is_changed("statement_timeout"):
            return None
        return self.variables.seconds("statement_timeout")

    def idle_s_max(self) -> float | None:
        """How long the client may let us wait: as long as it likes while nobody else waits for what it holds."""
        if self.transaction is None and not self._owned:
            return None
        return self.variables.seconds("idle_in_transaction_session_timeout")


def plan_fields(plan: Plan) -> tuple[Field, ...] | None:
    if isinstance(plan, SelectPlan):
        return fields_of(plan.outputs)
    returning = getattr(plan, "returning", None)
    return None if returning is None else fields_of(returning.outputs)


def told_oids(types: Sequence[Type], declared: Sequence[int]) -> tuple[int, ...]:
    """What each parameter is, for the client and for what it sends: as it said itself, else as it was found."""
    said = [*declared, *[0] * (len(types) - len(declared))]
    return tuple(
        (TEXT if of is UNKNOWN else of).oid if oid in UNDECLARED else oid for of, oid in zip(types, said, strict=True)
    )


def lease_trouble(error: LeaseError) -> SqlError:
    """Why a table cannot be leased now, for a client: another node may serve it."""
    return SqlError(CANNOT_CONNECT_NOW, str(error), hint="try another node")
