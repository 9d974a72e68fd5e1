"""PostgreSQL's wire protocol 3 as a server speaks it: any libpq client may connect.

    an error is sent at once: a client that has sent Flush waits for it
    after an error in the extended protocol everything up to Sync is skipped
    statements up to Sync, or of one simple query, are one transaction unless BEGIN says otherwise
    ReadyForQuery reports the transaction: I idle, T in one, E in a failed one

Between messages other work gets its turn when it is due: a client may send thousands of messages at once. No wait for a
client is without limit: a transaction that waits for it holds versions and a session at the store.
"""

import asyncio
import contextlib
import datetime as dt
import logging
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from catalog import clock
from expressions import errors
from nodes.clients.channel import Channel
from nodes.clients.copying import CopyData
from nodes.clients.protocols import Connection, Registry, Session
from nodes.clients.startup import Greeting, Startup
from nodes.clients.statements import Statements
from nodes.execution.fairness import Turns
from nodes.people.rights import Person
from nodes.wire import messages

log = logging.getLogger(__name__)

STARTUP_S_MAX = 10.0
LATER_S = 0.1
GOODBYE = "terminating connection due to administrator command"
IDLE_IN_TRANSACTION = "25P03"


@dataclass(eq=False)
class Client:
    clients: Registry
    channel: Channel
    pid: int
    greeting: Greeting
    secret: int = field(default_factory=lambda: secrets.randbits(32))
    task: "asyncio.Task[None] | None" = None
    began_at: dt.datetime = field(default_factory=clock.now)
    person: Person | None = None
    session: Session | None = None
    statements: Statements = field(init=False)
    turns: Turns = field(default_factory=Turns)
    _reported: dict[str, str] = field(default_factory=dict)
    _reported_at: int = -1
    _skip_to_sync: bool = False
    is_executing: bool = False
    _is_waiting: bool = False
    _later: asyncio.TimerHandle | None = None
    interrupt: errors.SqlError | None = None
    _goodbye: errors.FatalError | None = None
    _in_block: errors.FatalError | None = None
    """The goodbye to a client whose block is open."""

    def __post_init__(self) -> None:
        self.statements = Statements(self)

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
            goodbye = self._goodbye if self._in_block is None or self.status() == b"I" else self._in_block
            self._last_words(goodbye or errors.FatalError(errors.ADMIN_SHUTDOWN, GOODBYE))
        except Exception:
            log.exception("client %s: internal error", self.pid)
            self._last_words(errors.FatalError(errors.INTERNAL_ERROR, "internal error of the node; its log says more"))
        finally:
            self.clients.forget(self)
            self.statements.clear()
            if self.session is not None:
                await self.session.close()
            self.channel.close()

    async def _serve(self) -> None:
        try:
            async with asyncio.timeout(STARTUP_S_MAX):
                startup = Startup(self.clients, self.channel, self.greeting.admission, self.greeting.tls)
                signed_in = await startup.signed_in()
        except TimeoutError:
            raise errors.FatalError(
                errors.PROTOCOL_VIOLATION, f"nobody has signed in within {STARTUP_S_MAX:g} s"
            ) from None
        if signed_in is None:
            return
        self.person, parameters = signed_in
        self.clients.admit(self, self.person)
        self.session = self.greeting.open_session(self, self.person, parameters)
        self.statements.begin(self.session)
        self._report()
        self.channel.send(messages.backend_key(self.pid, self.secret))
        self.channel.send(messages.ready(self.session.status()))
        await self.flush()
        while await self._serve_message():
            pass

    def connections(self) -> Sequence[Connection]:
        return self.clients.signed_in()

    @property
    def user(self) -> str:
        return "" if self.person is None else self.person.name

    @property
    def address(self) -> str:
        return self.channel.address

    @property
    def application_name(self) -> str:
        return "" if self.session is None else self.session.reported()["application_name"]

    @property
    def is_encrypted(self) -> bool:
        return self.channel.is_encrypted

    def status(self) -> bytes:
        return b"I" if self.session is None else self.session.status()

    @property
    def is_busy(self) -> bool:
        return not self._is_waiting

    def abandon(self) -> None:
        """The client is gone: what runs for it is of no use."""
        if self.task is not None and self.is_executing:
            self.task.cancel()

    def cancel(self, why: errors.SqlError) -> None:
        if self.is_executing and self.task is not None and self.interrupt is None:
            self.interrupt = why
            self.task.cancel()

    def say_goodbye(self, why: errors.FatalError) -> None:
        """End the connection as soon as it is in no transaction."""
        self._goodbye = why
        if self._is_waiting and (self.session is None or self.session.status() == b"I") and self.task is not None:
            self.task.cancel()

    def end_now(self, why: errors.FatalError, in_block: errors.FatalError | None = None) -> None:
        self._goodbye, self._in_block = why, in_block
        if self.task is not None:
            self.task.cancel()

    def notice(self, text: str, severity: str = "NOTICE", sqlstate: str = "00000", detail: str | None = None) -> None:
        """Tell the client something at once, while its statement runs, if it wants to hear of such things."""
        if self.session is not None and not self.session.is_notified_of(severity):
            return
        self.channel.send(messages.notice_response(text, severity=severity, sqlstate=sqlstate, detail=detail))
        self.channel.write()

    def deliver(self) -> None:
        """Sends notifications, if it is the client's turn and no transaction is open. The rest is tried again."""
        if self._is_waiting and self._send_notifications():
            self.channel.write()
        if self.channel.is_full and self._later is None:
            self._later = asyncio.get_running_loop().call_later(LATER_S, self._deliver_later)

    def _deliver_later(self) -> None:
        self._later = None
        if not self.channel.is_lost:
            self.deliver()

    def _send_notifications(self) -> bool:
        assert self.session is not None
        has_sent = False
        while not self.channel.is_full and (found := self.session.next_notification()) is not None:
            self.channel.send(messages.notification(*found))
            has_sent = True
        return has_sent

    def copy_data(self) -> CopyData:
        return CopyData(self.channel, self.clients_turn)

    def _last_words(self, error: errors.FatalError) -> None:
        self.channel.send(messages.error_response(error))
        self.channel.write()

    # -- messages -----------------------------------------------------------------------------------------------

    async def _serve_message(self) -> bool:
        assert self.session is not None
        if self._goodbye is not None and self.session.status() == b"I":
            raise self._goodbye
        kind, body = self.channel.message_at_hand() or await self._next_message()
        if kind == ord("X"):
            return False
        if kind == ord("S"):
            self._skip_to_sync = False
            try:
                await self.statements.sync()
            except errors.SqlError as error:
                await self._fail(error)
            if self.session.status() == b"I":
                self.statements.portals.clear()
            await self.ready()
        elif not self._skip_to_sync:
            await self._guarded(chr(kind), body)
        await self.session.end_expired()
        if self.channel.is_full:
            await self.flush()
        if self.turns.are_due:
            await self.turns.give()
        return True

    async def _next_message(self) -> tuple[int, bytes]:
        self._is_waiting = True
        assert self.session is not None
        if self.session.has_notifications():
            self.deliver()  # they have come since the last answer, while it was not the client's turn
        if self.session.idle_s_max() is None:
            message = await self.channel.message()
        else:
            with self.clients_turn():
                message = await self.channel.message()
        self._is_waiting = False
        return message

    async def _guarded(self, kind: str, body: bytes) -> None:
        try:
            work = self.statements.serve(kind, body)
            if work is not None:
                await work
        except errors.FatalError:
            raise
        except errors.SqlError as error:
            await self._fail(error)
        except (ConnectionError, asyncio.CancelledError):
            raise
        except Exception:
            log.exception("client %s: internal error in %r", self.pid, self.statements.sql[:200])
            await self._fail(errors.SqlError(errors.INTERNAL_ERROR, "internal error of the node; its log says more"))
        else:
            return
        if kind == "Q":
            await self.ready()
        else:
            self._skip_to_sync = True

    async def _fail(self, error: errors.SqlError) -> None:
        assert self.session is not None
        self.statements.portals.clear()
        try:
            await self.session.fail(error)
        finally:
            self.channel.send(messages.error_response(error, self.statements.sql))
            self.channel.write()

    async def ready(self) -> None:
        assert self.session is not None
        self._report()
        while self._send_notifications() and self.channel.is_full:
            await self.flush()
        self.channel.send(messages.ready(self.session.status()))
        await self.flush()

    async def flush(self) -> None:
        if not self.channel.flush_at_once():
            with self.clients_turn():
                await self.channel.flush()

    @contextlib.contextmanager
    def clients_turn(self) -> Iterator[None]:
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

    def timed(self, statement: object | None) -> "Limit":
        """While inside, the statement runs against its time limit: waiting, working and sending."""
        assert self.session is not None
        limit_s = self.session.statement_s_max(statement)
        return Limit(None if limit_s is None else asyncio.get_running_loop().call_later(limit_s, self._time_out))

    def _time_out(self) -> None:
        self.cancel(errors.SqlError(errors.QUERY_CANCELED, "canceling statement due to statement timeout"))

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

    def interruptible(self) -> "Interruptible":
        """While inside, a cancel request turns into an error of the statement."""
        return Interruptible(self)


class Interruptible:
    """The part of a client's work that a cancel request may end."""

    __slots__ = ("client",)

    def __init__(self, client: Client) -> None:
        self.client = client

    async def __aenter__(self) -> None:
        client = self.client
        if client.task is not None and client.task.cancelling():
            raise asyncio.CancelledError  # the connection was to end while a COMMIT was on its way
        client.is_executing = True

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        client, why = self.client, self.client.interrupt
        client.is_executing = False
        if why is None or client.task is None:
            return
        if not isinstance(error, asyncio.CancelledError):
            # The statement, perhaps a COMMIT, had ended first: what it did is reported, not that it was cancelled (T7).
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0)  # a cancellation that came as the statement ended is delivered here
        client.interrupt = None
        client.task.uncancel()
        if isinstance(error, asyncio.CancelledError):
            why.detail = "\n".join(getattr(error, "__notes__", ())) or why.detail  # notes of the statement
            raise why from None


class Limit:
    __slots__ = ("_timer",)

    def __init__(self, timer: asyncio.TimerHandle | None) -> None:
        self._timer = timer

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
