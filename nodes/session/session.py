"""A client's session: its life, its settings, and who executes each of its statements."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import monotonic, perf_counter

from expressions.analysis.building import Parameters
from expressions.errors import CANNOT_CONNECT_NOW, READ_ONLY_TRANSACTION, UNDEFINED_TABLE, SqlError, unsupported
from expressions.limits import begin_anew
from expressions.sqltypes import TEXT, UNKNOWN, Type, parameter_type
from leases.holders import shown
from leases.rules import LeaseError
from nodes.clients.portals import CopyData, Portal, Prepared
from nodes.clients.protocols import Client
from nodes.context import Environment
from nodes.copy.options import wants_binary
from nodes.crud.calls import declared
from nodes.execution.fairness import in_thread_if_large
from nodes.execution.held_rows import KeptByConnection
from nodes.notifications.listening import Listening
from nodes.people.rights import Person
from nodes.session import tracing
from nodes.session.block import Block
from nodes.session.cursors import Cursors
from nodes.session.dumps import refuse_first_query
from nodes.session.functions.advisory_locks import AdvisoryLocks
from nodes.session.functions.calls import SessionCalls, no_procedure
from nodes.session.functions.values import SessionValues
from nodes.session.named import NamedStatements
from nodes.session.planned import PlannedStatements
from nodes.session.points import Points
from nodes.session.requests import Requests
from nodes.session.schema.ddl import SchemaStatements
from nodes.session.schema.new_tables import NewTables
from nodes.session.schema.tables_of_queries import TablesOfQueries
from nodes.session.schema.view_statements import ViewStatements
from nodes.session.utility import Utility
from nodes.settings.variables import Variables
from nodes.sql.copying import COPIES, FROM, TO
from nodes.sql.session_calls import lone_call, name_of
from nodes.sql.standing_alone import NEXTVAL, SETVAL
from nodes.sql.statements import Statement, parse, public_text
from nodes.sql.tables_of_queries import table_of_query
from nodes.store.last_numbers import LastNumbers
from nodes.trace.record import Trace
from nodes.wire.columns import BINARY_FORMAT
from nodes.wire.messages import Field
from nodes.wire.results import Result

PLANNED = frozenset({"select", "insert", "update", "delete", "merge", "writing select", *COPIES})
WRITES = frozenset({"insert", "update", "delete", "merge", "writing select", "truncate", "ddl", FROM})
TRACED_AS = {FROM: "insert", TO: "select", "writing select": "select"}
WORDS = {"ddl": "a schema change", "crud": "this operation", "writing select": "a WITH that writes"}
AS_LONG_AS_IT_TAKES = frozenset({"ddl", "truncate"})
PSQL = "psql"
"""The program that reads on in its script where a COPY is refused, and takes its rows for statements."""
WITHOUT_DEFAULT_LIMIT = AS_LONG_AS_IT_TAKES | {"crud", *COPIES}
"""Statements whose time the node's default limit does not bound: an operation of `crud` has a limit of its own, and
COPY goes on while its client has data, or takes some."""
FOLLOWING = frozenset({"execute", "fetch"})
"""Statements whose result is that of another one, which they name."""
UNDECLARED = (0, UNKNOWN.oid)


@dataclass(eq=False)
class Session:
    env: Environment
    client: Client
    user: str
    variables: Variables = field(default_factory=Variables)
    person: Person = field(default_factory=lambda: Person(""))
    last: tuple[Statement, str] | None = None
    """The statement that runs, or ran last, with its text."""
    is_running: bool = False
    numbers: LastNumbers = field(default_factory=LastNumbers)
    data: CopyData | None = None
    """The data of the COPY FROM that runs: until it ends, the client's turn is as in a transaction."""

    def __post_init__(self) -> None:
        who = self.person.in_story(self.user)
        new_tables = NewTables(self.env, who)
        self.kept = KeptByConnection(self.env.rows)
        self.listening = Listening(self.kept)
        self.locks = AdvisoryLocks(self.env.lock_pool, self.client, self.user)
        self.block = Block(self.env, self.client, new_tables, self.variables, self, self.listening, self.locks)
        self.variables.has_asked = lambda: self.block.has_asked
        known = SessionValues(self.variables, self.user, self.client, self.person)
        self.points = Points(self.env, self.variables, known, self.block)
        self.planned = PlannedStatements(self.env, self.client, self.variables, known, self.block, self.points)
        self.requests = Requests(self.env, self.variables, known, self.block)
        views = ViewStatements(self.client, who, self.block, self.planned)
        self.schema = SchemaStatements(self.client, who, self.block, views)
        self.tables_of_queries = TablesOfQueries(self.planned, self.schema, self.block)
        self.named = NamedStatements(self.env, self.client, self.variables, known, self.block)
        self.calls = SessionCalls(self.env, self.client, self.variables, known, self.block, self.listening, self.locks)
        self.cursors = Cursors(self.client, self.block, self.planned, self.kept)
        self.utility = Utility(self.env.directory, self.client, self.variables, self.block)

    def label(self) -> tuple[int, str, str, str, bool]:
        """The session as the holder of leases: its number, user, program, and the statement that runs or ran last."""
        program = self.variables.get("application_name")
        text = "" if self.last is None else public_text(*self.last)
        return self.client.pid, self.user, program, shown(text), self.is_running

    @property
    def is_busy(self) -> bool:
        return self.client.is_busy

    # -- what a connection needs --------------------------------------------------------------------------------

    def status(self) -> bytes:
        return self.block.status()

    def reported(self) -> dict[str, str]:
        return self.variables.reported()

    def setting_changes(self) -> int:
        return self.variables.changes

    def is_notified_of(self, severity: str) -> bool:
        return severity not in self.variables.silenced

    async def parse(self, sql: str) -> Sequence[Statement]:
        """The statements of a text; a large one is read beside the event loop."""
        return await in_thread_if_large(sql, lambda: parse(sql))

    async def prepare(self, sql: str, statement: object, oids: Sequence[int]) -> Prepared:
        assert isinstance(statement, Statement)
        self._refuse_failed(statement)
        types = declared(oids) if statement.kind == "crud" else oids
        parameters = Parameters([parameter_type(oid) for oid in types])
        try:
            fields = await self._fields(statement, parameters)
        except LeaseError as error:
            raise lease_error(error) from error
        return Prepared(sql, statement, oids_for_client(parameters.types, oids), fields, declared=tuple(oids))

    async def execute(self, portal: Portal, *, alone: bool) -> Result:
        statement: Statement = portal.statement
        self._refuse_failed(statement)
        if self.locks.connection is not None:
            self.locks.refuse_lost()
        if statement.kind == "execute":
            return await self._execute_named(portal, alone=alone)
        if writes(statement):
            word = called_name(statement) or WORDS.get(statement.kind, statement.kind.upper())
            self.person.check_may_write(word)
            if self.variables.is_read_only:
                raise SqlError(READ_ONLY_TRANSACTION, f"cannot execute {word} in a read-only transaction")
        began, is_answered = perf_counter(), False
        self.last, self.is_running = (statement, portal.prepared.sql), True
        begin_anew()
        if self.variables.is_traced:
            portal.trace = Trace(TRACED_AS.get(statement.kind, statement.kind), statement.text)
        portal.data = self.data = self.client.copy_data() if statement.kind == FROM else None
        if statement.kind not in AS_LONG_AS_IT_TAKES:
            self.env.running[self] = monotonic()
        try:
            result = await self._done(portal, alone=alone)
            is_answered = True
            return result
        except LeaseError as error:
            raise lease_error(error) from error
        except SqlError as error:
            reads_on = self.variables.get("application_name") == PSQL and not self.block.is_explicit
            if self.data is not None and error.sqlstate == UNDEFINED_TABLE and reads_on:
                await self.data.discard(is_binary=wants_binary(statement.node))
            refuse_first_query(statement.text)
            raise
        finally:
            self.is_running, self.data = False, None
            self.env.running.pop(self, None)
            seconds = perf_counter() - began
            beat_s = 0.0 if statement.kind == "select" else seconds
            is_of_beat = statement.kind not in AS_LONG_AS_IT_TAKES
            self.env.meter.finished(seconds, is_error=not is_answered, beat_s=beat_s if is_of_beat else None)
            if portal.trace is not None:
                if not is_answered and statement.kind != "truncate":
                    portal.trace.forget()
                tracing.send(self.client, portal.trace, self.block, is_answered=is_answered)

    async def _execute_named(self, portal: Portal, *, alone: bool) -> Result:
        named = await self.named.executed(portal.statement.node)
        if named.statement is None:
            return Result("EXECUTE")
        named.result_formats, named.is_limited = portal.result_formats, portal.is_limited
        try:
            return await self.execute(named, alone=alone)
        except SqlError as error:
            error.offset = -1  # its place is one of the text that was prepared
            raise

    async def _done(self, portal: Portal, *, alone: bool) -> Result:
        statement: Statement = portal.statement
        node = statement.node
        match statement.kind:
            case kind if kind in PLANNED:
                way = self.points.way_of(portal) if alone else None
                done = None if way is None else await self.points.perform(way, portal)
                return done or await self.planned.run(portal, alone=alone)
            case "crud":
                return await self.requests.run(portal, alone=alone)
            case "ddl":
                made = table_of_query(statement)
                if made is not None:
                    return await self.tables_of_queries.make(portal, made, alone=alone)
                return await self.schema.change(statement)
            case "truncate":
                return await self.planned.truncate(portal)
            case "explain":
                inner = statement.within
                is_named = inner.kind == "execute"
                explained = await self.named.executed(inner.node) if is_named else Portal(Prepared("", inner))
                if explained.statement is None:
                    raise unsupported("EXPLAIN of an empty statement")
                return await self.planned.explain(node.options, explained)
            case "prepare":
                inner, oids = self.named.inner(statement)
                self.named.keep(statement.node.name, await self.prepare(portal.prepared.sql, inner, oids))
                return Result("PREPARE")
            case "listen":
                return await self.calls.listen(node.conditionname, alone=alone)
            case "unlisten":
                return self.calls.unlisten(node.conditionname, alone=alone)
            case "notify":
                await self.calls.notify(node.conditionname, node.payload, alone=alone)
                return Result("NOTIFY")
            case "call":
                return await self.calls.run(portal, alone=alone)
            case "procedure":
                raise await self._no_procedure(statement, portal.oids)
            case "cursor":
                return await self.cursors.declare(portal, alone=alone)
            case "fetch":
                return await self.cursors.fetch(portal)
            case "close portal":
                return await self.cursors.close(node.portalname)
        return await self.utility.run(statement)

    async def _fields(self, statement: Statement, parameters: Parameters) -> tuple[Field, ...] | None:
        if statement.kind in COPIES:
            return None
        if statement.kind in PLANNED:
            return await self.planned.fields(statement, parameters)
        if statement.kind == "crud":
            return self.requests.fields(statement, parameters)
        if statement.kind == "call":
            return await self.calls.fields(statement, parameters)
        if statement.kind == "procedure":
            raise await self._no_procedure(statement, [0 if of is UNKNOWN else of.oid for of in parameters.types])
        if statement.kind in FOLLOWING:
            return self._fields_now(statement)
        if statement.kind == "cursor":
            await self.cursors.parameters(statement, parameters)
            return None
        made = table_of_query(statement) if statement.kind == "ddl" else None
        if made is not None:
            await self.planned.fields(made.query, parameters)
            return None
        return self.utility.fields(statement)

    async def _no_procedure(self, statement: Statement, oids: Sequence[int]) -> SqlError:
        return await no_procedure(self.env, statement, oids, self.planned.users_settings())

    def _fields_now(self, statement: Statement) -> tuple[Field, ...] | None:
        if statement.kind == "fetch":
            return self.cursors.fields(statement.node)
        named = self.client.statements.prepared.get(statement.node.name)
        return None if named is None else named.fields

    def follow(self, prepared: Prepared) -> None:
        """Have a prepared EXECUTE or FETCH return what it names now."""
        if isinstance(prepared.statement, Statement) and prepared.statement.kind in FOLLOWING:
            prepared.fields = self._fields_now(prepared.statement)

    def formats_of(self, statement: object) -> tuple[int, ...]:
        """The formats of a simple query's result: text, but of what is fetched from a binary cursor."""
        if not isinstance(statement, Statement) or statement.kind != "fetch" or statement.node.ismove:
            return ()
        cursor = self.client.statements.cursors.get(statement.node.portalname)
        return (BINARY_FORMAT,) if cursor is not None and cursor.is_binary else ()

    def is_own_transaction(self, statement: object) -> bool:
        """True for a request of `crud`: however few rows of its answer are fetched, it is done."""
        return isinstance(statement, Statement) and statement.kind == "crud"

    def savepoints_set(self) -> int:
        return self.block.savepoints_set

    async def close_cursor(self, name: str) -> None:
        await self.cursors.close(name)

    def has_implicit_block(self) -> bool:
        """True if something waits for Sync to be committed: rows, or settings."""
        return self.block.is_implicit or (self.variables.is_undecided and not self.block.is_explicit)

    async def end_expired(self) -> None:
        await self.block.end_expired()

    async def end_implicit(self) -> None:
        await self.block.end_implicit()

    async def fail(self, error: SqlError) -> None:
        self.env.meter.totals.refuse(error.sqlstate)
        await self.block.fail(error)

    def has_notifications(self) -> bool:
        return bool(self.listening.waiting)

    def next_notification(self) -> tuple[int, str, str] | None:
        """Take one for the client, outside of any transaction: from whom, on which channel, and its payload."""
        if not self.listening.waiting or self.status() != b"I" or self.has_implicit_block():
            return None
        found = self.listening.next()
        if found is None:
            return None
        return found.sender_for(self.env.node, self.env.incarnation), found.channel, found.payload

    async def close(self) -> None:
        self.env.hub.leave(self.listening)
        self.listening.close()
        try:
            await self.block.close()
        finally:
            await self.locks.close()

    def statement_s_max(self, statement: object | None) -> float | None:
        is_long = isinstance(statement, Statement) and statement.kind in WITHOUT_DEFAULT_LIMIT
        if is_long and not self.variables.is_changed("statement_timeout"):
            return None
        return self.variables.statement_s

    def idle_s_max(self) -> float | None:
        """Seconds that the client may let us wait: any number while nobody else waits for what it holds."""
        holds_something = self.block.holds_something or self.data is not None
        return self.variables.idle_in_transaction_s if holds_something else None

    def _refuse_failed(self, statement: Statement) -> None:
        block = self.block
        has_expired = block.transaction is not None and block.transaction.reads_on
        if (block.is_failed or has_expired) and not self.utility.ends_block(statement):
            block.refuse_failed()


def writes(statement: Statement) -> bool:
    return (
        statement.kind in WRITES
        or (statement.kind == "crud" and statement.node.operation.writes)
        or called_name(statement) in (f"{NEXTVAL}()", f"{SETVAL}()")
    )


def called_name(statement: Statement) -> str:
    """The function that a statement is a call of, as PostgreSQL writes it; empty for another statement."""
    call = lone_call(statement.node) if statement.kind == "call" else None
    return "" if call is None else f"{name_of(call)}()"


def oids_for_client(types: Sequence[Type], declared: Sequence[int]) -> tuple[int, ...]:
    """The type of each parameter, for the client and for what it sends: as declared, else as found."""
    given = [*declared, *[0] * (len(types) - len(declared))]
    return tuple(
        (TEXT if of is UNKNOWN else of).oid if oid in UNDECLARED else oid for of, oid in zip(types, given, strict=True)
    )


def lease_error(error: LeaseError) -> SqlError:
    """Why a table cannot be leased now, for a client: another node may serve it."""
    return SqlError(CANNOT_CONNECT_NOW, str(error), hint="try another node")
