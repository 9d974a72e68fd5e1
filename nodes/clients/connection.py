"""PostgreSQL's wire protocol 3 as a server speaks it: any libpq client may connect.

A `Client` is one connection from its first byte to its last. It knows the order of messages (startup,
authentication, simple and extended queries, cancel) and nothing of SQL: statements go to a `Session`.
The rules that are easily broken:

    an error is sent at once: a client that has sent Flush waits for it
    after an error in the extended protocol everything up to Sync is skipped
    statements up to Sync, or of one simple query, are one transaction unless BEGIN says otherwise
    ReadyForQuery tells the truth about the transaction: I idle, T in one, E in a failed one

Nobody waits for a client for ever: not for one that does not sign in, nor, while its transaction holds versions and
a session at the store, for one that neither sends the next statement nor takes its rows.
"""

import asyncio
import contextlib
import logging
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from expressions import errors
from nodes.clients.channel import Channel
from nodes.clients.interruptible import Interruptible
from nodes.clients.portals import Kept, Portal, Prepared, read_on, send_at_once, send_rows
from nodes.clients.protocols import Registry, Session
from nodes.clients.startup import Greeting, Startup
from nodes.execution.held_rows import bytes_of
from nodes.people.rights import Person
from nodes.wire import messages
from nodes.wire.columns import checked
from nodes.wire.messages import Reader
from nodes.wire.results import Result

log = logging.getLogger(__name__)

SQL_BYTES_MAX = 2**20
STARTUP_S_MAX = 10.0
PREPARED_MAX = 1000
GOODBYE = "terminating connection due to administrator command"
IDLE_IN_TRANSACTION = "25P03"


@dataclass(eq=False)
class Client:
    """One connection."""

    clients: Registry
    channel: Channel
    pid: int
    greeting: Greeting
    secret: int = field(default_factory=lambda: secrets.randbits(32))
    task: "asyncio.Task[None] | None" = None
    person: Person | None = None
    session: Session | None = None
    prepared: Kept[Prepared] = field(default_factory=Kept[Prepared].uncounted)
    portals: Kept[Portal] = field(default_factory=Kept[Portal].uncounted)
    sql: str = ""
    _reported: dict[str, str] = field(default_factory=dict)
    _reported_at: int = -1
    _skip_to_sync: bool = False
    _batch: int = 0
    _undescribed: Portal | None = None
    is_executing: bool = False
    _is_waiting: bool = False
    interrupt: errors.SqlError | None = None
    _goodbye: errors.FatalError | None = None

    # -- life ---------------------------------------------------------------------------------------------------

    async def serve(self) -> None:
        try:
            await self._serve()
        except (ConnectionResetError, BrokenPipeError):
            log.debug("client %s is gone", self.pid)
        except errors.FatalError as error:
            self._last_words(error)
        except errors.SqlError as error:  # a message that cannot even be read as text
            self._last_words(errors.FatalError(error.sqlstate, error.message))
        except asyncio.CancelledError:
            self._last_words(self._goodbye or errors.FatalError(errors.ADMIN_SHUTDOWN, GOODBYE))
        except Exception:
            log.exception("client %s: internal error", self.pid)
            self._last_words(errors.FatalError(errors.INTERNAL_ERROR, "internal error of the node; its log says more"))
        finally:
            self.clients.forget(self)
            self.prepared.clear()
            self.portals.clear()
            if self.session is not None:
                await self.session.close()
            self.channel.close()

    async def _serve(self) -> None:
        try:
            async with asyncio.timeout(STARTUP_S_MAX):
                signed_in = await self._startup().signed_in()
        except TimeoutError:
            raise errors.FatalError(
                errors.PROTOCOL_VIOLATION, f"nobody has signed in within {STARTUP_S_MAX:g} s"
            ) from None
        if signed_in is None:
            return
        self.person, parameters = signed_in
        self.clients.admit(self, self.person)
        self.session = self.greeting.open_session(self, self.person, parameters)
        self.prepared, self.portals = Kept(self.session.kept), Kept(self.session.kept)
        self._report()
        self.channel.send(messages.backend_key(self.pid, self.secret))
        self.channel.send(messages.ready(self.session.status()))
        await self._flush()
        while await self._serve_message():
            pass

    def _startup(self) -> Startup:
        return Startup(self.clients, self.channel, self.greeting.admission, self.greeting.tls)

    def abandon(self) -> None:
        """The client is gone: what runs for it is of no use."""
        if self.task is not None and self.is_executing:
            self.task.cancel()

    def cancel(self, why: errors.SqlError) -> None:
        """Interrupt the statement that runs now, if one does."""
        if self.is_executing and self.task is not None and self.interrupt is None:
            self.interrupt = why
            self.task.cancel()

    def say_goodbye(self, why: errors.FatalError) -> None:
        """End the connection as soon as it is in no transaction."""
        self._goodbye = why
        if self._is_waiting and (self.session is None or self.session.status() == b"I") and self.task is not None:
            self.task.cancel()

    def end_now(self, why: errors.FatalError) -> None:
        self._goodbye = why
        if self.task is not None:
            self.task.cancel()

    def notice(self, text: str, severity: str = "NOTICE", sqlstate: str = "00000", detail: str | None = None) -> None:
        """Tell the client something at once, while its statement runs."""
        self.channel.send(messages.notice_response(text, severity=severity, sqlstate=sqlstate, detail=detail))
        self.channel.write()

    def close_portals(self, *, since: int = 0) -> None:
        """Close what reads in the transaction, which is over, or in the part of it since that savepoint."""
        for name in [name for name, portal in self.portals.items() if portal.savepoint >= since]:
            self.portals.pop(name)

    async def read_portals(self) -> None:
        """The transaction is about to write: what its portals have still to read is as it was before."""
        for name, portal in self.portals.items():
            if portal.result is not None and portal.result.more is not None:
                await read_on(portal, name, self.portals)

    def _last_words(self, error: errors.FatalError) -> None:
        self.channel.send(messages.error_response(error))
        self.channel.write()

    # -- messages -----------------------------------------------------------------------------------------------

    async def _serve_message(self) -> bool:
        """Serve one message; False when the client says goodbye."""
        assert self.session is not None
        if self._goodbye is not None and self.session.status() == b"I":
            raise self._goodbye
        self._is_waiting = True
        with self._clients_turn():
            kind, body = await self.channel.message()
        self._is_waiting = False
        if kind == ord("X"):
            return False
        if kind == ord("S"):
            await self._sync()
        elif not self._skip_to_sync:
            await self._guarded(chr(kind), body)
        if self.channel.is_full:
            await self._flush()
        return True

    async def _guarded(self, kind: str, body: bytes) -> None:
        """Serve a message so that an error is reported and contained."""
        try:
            await self._dispatch(kind, body)
        except errors.FatalError:
            raise
        except errors.SqlError as error:
            await self._fail(error)
        except (ConnectionError, asyncio.CancelledError):
            raise
        except Exception:
            log.exception("client %s: internal error in %r", self.pid, self.sql[:200])
            await self._fail(errors.SqlError(errors.INTERNAL_ERROR, "internal error of the node; its log says more"))
        else:
            return
        if kind == "Q":
            await self._ready()
        else:
            self._skip_to_sync = True

    async def _fail(self, error: errors.SqlError) -> None:
        assert self.session is not None
        self.portals.clear()
        try:
            await self.session.fail(error)
        finally:
            self.channel.send(messages.error_response(error, self.sql))
            self.channel.write()

    async def _dispatch(self, kind: str, body: bytes) -> None:
        if kind == "Q":
            await self._query(body)
        elif kind == "P":
            await self._parse(body)
        elif kind == "B":
            self._bind(body)
        elif kind == "D":
            await self._describe(body)
        elif kind == "E":
            await self._execute(body)
        elif kind == "C":
            self._close(body)
        elif kind == "H":
            await self._flush()
        elif kind == "F":
            raise errors.unsupported("the function call protocol")
        elif kind == "p":
            raise errors.FatalError(errors.PROTOCOL_VIOLATION, "unexpected password message")
        # d, c, f: what is left of a COPY that was refused

    async def _ready(self) -> None:
        assert self.session is not None
        self._report()
        self.channel.send(messages.ready(self.session.status()))
        await self._flush()

    async def _flush(self) -> None:
        """Write what is gathered; wait while the client does not take it."""
        with self._clients_turn():
            await self.channel.flush()

    @contextlib.contextmanager
    def _clients_turn(self) -> Iterator[None]:
        """While inside it is the client's turn; the connection ends if it lets a transaction wait too long for it."""
        assert self.session is not None
        limit_s = self.session.idle_s_max()
        if limit_s is None:
            yield
            return
        why = errors.FatalError(IDLE_IN_TRANSACTION, "terminating connection due to idle-in-transaction timeout")
        timer = asyncio.get_running_loop().call_later(limit_s, self.end_now, why)
        try:
            yield
        finally:
            timer.cancel()

    @contextlib.contextmanager
    def _timed(self, statement: object | None) -> Iterator[None]:
        """While inside, the statement runs against its time limit: waiting, working and sending."""
        assert self.session is not None
        limit_s = self.session.statement_s_max(statement)
        if limit_s is None:
            yield
            return
        why = errors.SqlError(errors.QUERY_CANCELED, "canceling statement due to statement timeout")
        timer = asyncio.get_running_loop().call_later(limit_s, self.cancel, why)
        try:
            yield
        finally:
            timer.cancel()

    def _report(self) -> None:
        """Tell the client the settings that libpq keeps track of, when they are new."""
        assert self.session is not None
        if self._reported_at == (at := self.session.setting_changes()):
            return
        self._reported_at = at
        for name, value in self.session.reported().items():
            if self._reported.get(name) != value:
                self._reported[name] = value
                self.channel.send(messages.parameter_status(name, value))

    def _sql(self, sql: str) -> str:
        if len(sql) > SQL_BYTES_MAX:
            raise errors.SqlError(
                errors.PROGRAM_LIMIT, f"the statement has {len(sql)} characters; the limit is {SQL_BYTES_MAX}"
            )
        return sql

    # -- simple query -------------------------------------------------------------------------------------------

    async def _query(self, body: bytes) -> None:
        assert self.session is not None
        self.sql = ""
        reader = Reader(body)
        self.sql = self._sql(reader.text())
        reader.end()
        self.prepared.pop("", None)
        self.portals.pop("", None)
        statements = await self.session.parse(self.sql)
        if not statements:
            self.channel.send(messages.EMPTY_QUERY)
        for statement in statements:
            prepared = Prepared(self.sql, statement)
            with self._timed(statement):
                result = await self._run(prepared, (), (), alone=len(statements) == 1)
                if result.fields is not None:
                    self.channel.send(messages.row_description(result.fields))
                await self._answer(Portal(prepared, (), (), result), 0)
                if self.channel.is_full and statement is not statements[-1]:
                    async with self._interruptible():
                        await self._flush()
        await self._end_implicit()
        await self._ready()

    async def _end_implicit(self) -> None:
        assert self.session is not None
        if self.session.has_implicit_block():
            with self._timed(None):
                async with self._interruptible():
                    await self.session.end_implicit()

    # -- extended query -----------------------------------------------------------------------------------------

    async def _parse(self, body: bytes) -> None:
        assert self.session is not None
        self.sql = ""
        parse = messages.read_parse(body)
        self.sql = self._sql(parse.sql)
        if parse.name and parse.name in self.prepared:
            raise errors.SqlError("42P05", f'prepared statement "{parse.name}" already exists')
        if len(self.prepared) >= PREPARED_MAX and parse.name not in self.prepared:
            raise errors.SqlError(
                errors.PROGRAM_LIMIT, f"a connection keeps at most {PREPARED_MAX} prepared statements"
            )
        statements = await self.session.parse(parse.sql)
        if len(statements) > 1:
            raise errors.SqlError(errors.SYNTAX_ERROR, "cannot insert multiple commands into a prepared statement")
        prepared = Prepared(parse.sql, None)
        if statements:
            with self._timed(statements[0]):
                async with self._interruptible():
                    prepared = await self.session.prepare(parse.sql, statements[0], parse.oids)
        prepared.batch = self._batch
        self.prepared[parse.name] = prepared
        self.channel.send(messages.PARSE_COMPLETE)

    def _bind(self, body: bytes) -> None:
        bind = messages.read_bind(body)
        prepared = self._statement(bind.statement)
        self.sql = prepared.sql
        if len(bind.values) != len(prepared.oids):
            raise errors.SqlError(
                errors.PROTOCOL_VIOLATION,
                f'bind message supplies {len(bind.values)} parameters, but prepared statement "{bind.statement}" '
                f"requires {len(prepared.oids)}",
            )
        if len(bind.formats) not in (0, 1, len(bind.values)):
            raise errors.SqlError(errors.PROTOCOL_VIOLATION, f"bind message has {len(bind.formats)} parameter formats")
        wanted = checked(bind.result_formats, None if prepared.fields is None else len(prepared.fields))
        formats = bind.formats * len(bind.values) if len(bind.formats) == 1 else bind.formats
        if bind.portal and bind.portal in self.portals:
            raise errors.SqlError("42P03", f'cursor "{bind.portal}" already exists')
        assert self.session is not None
        savepoint = self.session.savepoints_set()
        self.portals[bind.portal] = Portal(prepared, bind.values, formats, savepoint=savepoint, result_formats=wanted)
        self.channel.send(messages.BIND_COMPLETE)

    async def _describe(self, body: bytes) -> None:
        kind, name = messages.read_target(body)
        if kind == "S":
            prepared = self._statement(name)
            self.channel.send(messages.parameter_description(prepared.oids))
        else:
            portal = self._portal(name)
            prepared = portal.prepared
            if portal.result is None and not self._is_described(prepared) and await self._next_kind() == ord("E"):
                self._undescribed = portal
                return
            self._describe_now(prepared, portal.result_formats)
            return
        self._describe_now(prepared)

    def _describe_now(self, prepared: Prepared, formats: tuple[int, ...] = ()) -> None:
        prepared.is_described = True
        self.channel.send(description(prepared.fields, formats))

    def _is_described(self, prepared: Prepared) -> bool:
        """True if the client may have read what the statement's result looks like."""
        prepared.is_described = prepared.is_described or prepared.batch != self._batch
        return prepared.is_described

    async def _next_kind(self) -> int:
        """The kind of the next message. A client that sent neither Sync nor Flush cannot be waiting for us."""
        with self._clients_turn():
            return await self.channel.next_kind()

    async def _execute(self, body: bytes) -> None:
        name, rows_max = messages.read_execute(body)
        undescribed, self._undescribed = self._undescribed, None
        if undescribed is not None and undescribed is not self.portals.get(name):
            self._describe_now(undescribed.prepared, undescribed.result_formats)
        portal = self._portal(name)
        prepared, self.sql = portal.prepared, portal.prepared.sql
        if prepared.statement is None:
            if undescribed is portal:
                self._describe_now(prepared, portal.result_formats)
            self.channel.send(messages.EMPTY_QUERY)
            return
        alone = portal.result is None and rows_max == 0 and await self._next_kind() == ord("S")
        with self._timed(prepared.statement):
            if portal.result is None:
                portal.savepoint = self.session.savepoints_set()
                is_described = self._is_described(prepared)
                portal.result = await self._run(
                    prepared, portal.values, portal.formats, alone=alone, result_formats=portal.result_formats
                )
                if not is_described:
                    prepared.fields = portal.result.fields
            if undescribed is portal:
                self._describe_now(prepared, portal.result_formats)
            await self._answer(portal, max(rows_max, 0))

    def _close(self, body: bytes) -> None:
        kind, name = messages.read_target(body)
        if kind == "S":
            self.prepared.pop(name, None)
        else:
            self.portals.pop(name, None)
        self.channel.send(messages.CLOSE_COMPLETE)

    async def _sync(self) -> None:
        assert self.session is not None
        self._skip_to_sync = False
        self._batch += 1
        try:
            await self._end_implicit()
        except errors.SqlError as error:
            await self._fail(error)
        if self.session.status() == b"I":
            self.portals.clear()
        await self._ready()

    def _statement(self, name: str) -> Prepared:
        try:
            return self.prepared[name]
        except KeyError:
            raise errors.SqlError(
                errors.INVALID_STATEMENT_NAME, f'prepared statement "{name}" does not exist'
            ) from None

    def _portal(self, name: str) -> Portal:
        try:
            return self.portals[name]
        except KeyError:
            raise errors.SqlError(errors.INVALID_CURSOR_NAME, f'portal "{name}" does not exist') from None

    # -- execution ----------------------------------------------------------------------------------------------

    async def _run(
        self,
        prepared: Prepared,
        values: Sequence[bytes | None],
        formats: Sequence[int],
        *,
        alone: bool,
        result_formats: tuple[int, ...] = (),
    ) -> Result:
        assert self.session is not None
        async with self._interruptible():
            return await self.session.execute(prepared, values, formats, alone=alone, result_formats=result_formats)

    async def _answer(self, portal: Portal, rows_max: int) -> None:
        """Send what the portal has; what is at hand and small needs no waiting."""
        if send_at_once(portal, rows_max, self.channel):
            return
        assert self.session is not None
        result = portal.result
        assert result is not None
        held = result.bytes_held
        if not held and result.more is None:  # the rows are not many
            held = sum(bytes_of(row) for row in result.rows)
        is_kept = result.has_written and self.session.status() == b"I" and not self.session.has_implicit_block()
        with self.session.kept.holding(held if portal.waiting_bytes is None else 0):
            try:
                async with self._interruptible():
                    is_done = await send_rows(portal, rows_max, self.channel, self._flush)
            except errors.SqlError as error:
                if is_kept:  # an error would say that it is not (T7)
                    message = f"{error.message}: it is done, but its answer was not taken"
                    raise errors.FatalError(error.sqlstate, message) from None
                raise
        if portal.counted:
            self.portals.recount(portal)  # a portal that keeps too much is refused, not suspended
        if not is_done:
            self.channel.send(messages.PORTAL_SUSPENDED)

    def _interruptible(self) -> "Interruptible":
        """While inside, a cancel request turns into an error of the statement."""
        return Interruptible(self)


def description(fields: Sequence[messages.Field] | None, formats: Sequence[int] = ()) -> bytes:
    """The answer to Describe."""
    return messages.NO_DATA if fields is None else messages.row_description(fields, formats)
