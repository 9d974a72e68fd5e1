"""A transaction of a node: SERIALIZABLE at the store, under leases, with a deadline (protocol.md, section 6).

T1  pin: one version of each table, from its first use to the end
T2  BEGIN and `enter` go in the same batch as the first statement
T4  until its first write it has no deadline, and a query in progress outlives its lease; a lease renewed at the
    same version moves the deadline, in the next batch or while none comes
T5  after ROLLBACK TO, `enter` again for every table that is pinned
T7  once COMMIT is sent, neither a cancel nor a lost session decides: the store is asked what it did
"""

import asyncio
import datetime as dt
import logging
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from psycopg import pq

from catalog import clock
from catalog.descriptor import Descriptor
from catalog.view_definition import ViewDefinition
from expressions.errors import (
    CONNECTION_FAILURE,
    INVALID_SAVEPOINT,
    LOCK_NOT_AVAILABLE,
    NO_ACTIVE_TRANSACTION,
    TRANSACTION_UNKNOWN,
    UNDEFINED_SCHEMA,
    UNDEFINED_TABLE,
    SqlError,
)
from leases.node.uses import Pin
from nodes.store import deadline, refusals
from nodes.store.entering import BOTH_HASHES, NO_DEADLINE, Hashes, arm_command, enter_command, is_strict
from nodes.store.last_numbers import LastNumbers
from nodes.store.lost_commit import outcome_of
from nodes.store.pinned import PinnedSession
from nodes.store.pipeline import (
    CancelledAtCommit,
    Command,
    StoreConnection,
    StoreConnectionLost,
    StoreError,
    StorePool,
    UsersCommand,
    finished,
    int4,
)
from nodes.store.refusals import HAD_TO_END, CommitUnknown, Retry
from nodes.store.relay import Relay
from nodes.trace.record import Trace
from storage.commit_outcomes import Outcome

log = logging.getLogger(__name__)

BEGIN = "BEGIN ISOLATION LEVEL SERIALIZABLE"
BEGIN_READ_ONLY = "BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY"
XID = Command("SELECT pg_current_xact_id_if_assigned()::text")
COMMIT = Command("COMMIT")
NEWEST_VISIBLE = "SELECT coalesce(max(version), 0) FROM storage_1.versions WHERE table_id = %b"
SUCCESSES = (pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK)


class Owner(Protocol):
    user: str
    numbers: LastNumbers

    @property
    def is_busy(self) -> bool: ...

    def label(self) -> tuple[int, str, str, str, bool]: ...


@dataclass(eq=False)
class Transaction:
    """One transaction. `settle` is called once, when its references are to be released."""

    pool: StorePool
    storages: int
    settle: Callable[["Transaction"], None]
    is_read_only: bool = False
    is_reading: bool = False
    """No statement that may write has begun: it has no deadline, its lock bounds it (T4)."""
    by: Owner | None = None
    """The session it belongs to, for those who ask who holds a lease."""
    is_block: bool = False
    """It keeps its session at the store while its client thinks."""
    began: float = field(default_factory=time.monotonic)
    pins: dict[int, Pin] = field(default_factory=dict)
    own: Mapping[int, Descriptor] = field(default_factory=dict)
    """The tables that it has made itself, which it uses without a lease (T9)."""
    views: dict[int, ViewDefinition] = field(default_factory=dict)
    """The views that it has read, by id, as they are in its snapshot."""
    connection: StoreConnection | None = None
    pinned: PinnedSession | None = None
    """The session at the store that its client keeps, if it keeps one: it runs in that."""
    before_commit: Sequence[Command] = ()
    """Commands right before COMMIT, which computes the rest of cursors WITH HOLD."""
    sends: dict[int, Hashes] = field(default_factory=dict)
    """The hashes of a table that are compared; by default both."""
    savepoints: list[tuple[str, int]] = field(default_factory=list)
    """Name and number of each that can be returned to."""
    savepoints_set: int = 0
    """How many there were so far: the number of the last one."""
    started_at: dt.datetime = field(default_factory=clock.now)
    has_written: bool = False
    first_locks: Sequence[Command] = ()
    """Locks that it takes before its snapshot is made, so that what it is about does not change meanwhile."""
    trace: Trace | None = None
    """Where the statement that runs is recorded, if its client wants to know."""
    is_over: bool = False
    has_committed: bool = False
    reads_on: bool = False
    """Its lease has expired while a query runs, which may finish: nothing else begins in it (T4)."""
    portals: dict[str, int] = field(default_factory=dict)
    """Its cursors at the store by their names: the number of the last savepoint when each was declared."""
    closing: set[str] = field(default_factory=set)
    """Those among them that nobody wants any more."""
    _entered: dict[int, Pin] = field(default_factory=dict)
    armed: dt.datetime | None = None
    """The deadline that the store has of it."""
    _looking: asyncio.TimerHandle | None = None
    _deadline: deadline.Deadline | None = None
    _xid: bytes | None = None
    _relay: Relay | None = None
    _portals: int = 0
    _has_failed: bool = False
    """The store takes nothing more of it but ROLLBACK; what it was asked before that has been checked."""

    @property
    def is_unchecked(self) -> bool:
        """True while it uses a version that nothing vouches for: without a lease, and no storage has been asked yet."""
        return any(not pin.is_leased and table_id not in self._entered for table_id, pin in self.pins.items())

    async def check(self) -> None:
        """Has the storages check each version that nothing vouches for. Raises `Retry` when one is not accepted. Under
        a version without a lease also an answer that needs no storage, or an error, would be an old schema's."""
        if self.is_unchecked and not self._has_failed:
            await self.run([])

    @property
    def expires_at(self) -> dt.datetime | None:
        if len(self.pins) == 1:
            return next(iter(self.pins.values())).expires_at_now
        return min((pin.expires_at_now for pin in self.pins.values()), default=None)

    def run(
        self, commands: Sequence[Command], *, commit: bool = False, returns_xid: bool = False, only: int | None = None
    ) -> "Coroutine[Any, Any, list[pq.abc.PGresult]]":
        """Runs one batch: what must precede the commands, the commands, and COMMIT when asked. Raises `SqlError`.
        `returns_xid`: the last command answers with the transaction's id, which is otherwise asked for before COMMIT.
        `only`: the one storage that the commands use; it alone is entered if the batch is the whole transaction."""
        is_first = self._looking is None and self._relay is None
        run = self._run if is_first else self._run_next
        return run(commands, commit=commit, returns_xid=returns_xid, only=only)

    async def _run_next(self, commands: Sequence[Command], **options: Any) -> "list[pq.abc.PGresult]":
        await self._quiet()
        return await self._run(commands, **options)

    async def ask(
        self, before: Sequence[Command], texts: Sequence[UsersCommand]
    ) -> "list[pq.abc.PGresult] | tuple[int, SqlError]":
        """The results of texts of which nothing stays; or the place of the one that failed, and its error. What the
        commands `before` have set holds for the texts alone. Raises what no text is to blame for."""
        back = [Command("ROLLBACK TO SAVEPOINT asked"), Command("RELEASE SAVEPOINT asked")]
        try:
            results = await self.run([Command("SAVEPOINT asked"), *before, *texts, *back])
        except refusals.UsersError as error:
            await self._quiet()
            await self._send(back)
            self._has_failed = False
            return next(n for n, text in enumerate(texts) if text is error.command), error
        return results[1 + len(before) : -len(back)]

    def relay(self, commands: Sequence[Command], relay: Relay, *, commit: bool = False) -> None:
        """Begin a batch with a command whose rows go to `relay`. With `commit` it ends the transaction."""
        self._relay = relay
        relay.begin(asyncio.get_running_loop().create_task(self.run(commands, commit=commit)))

    async def _end_relay(self) -> None:
        relay, self._relay = self._relay, None
        if relay is not None:
            await relay.drop()

    async def _run(
        self, commands: Sequence[Command], *, commit: bool = False, returns_xid: bool = False, only: int | None = None
    ) -> "list[pq.abc.PGresult]":
        self._refuse_ended()
        is_whole = commit and self.connection is None and len(self.pins) == 1
        prologue, entering, armed = self._prologue(only if is_whole else None)
        batch, pins = [*prologue, *commands], dict(self.pins)
        skipped = len(batch) - len(commands)
        if commit:
            batch += [COMMIT] if self.is_read_only or returns_xid else [XID, COMMIT]
        if self.connection is None:
            self.connection = await self._connect()
            batch[:0] = [Command(BEGIN_READ_ONLY if self.is_read_only else BEGIN), *self.first_locks]
            skipped += 1 + len(self.first_locks)
        try:
            results = await self.connection.run(batch, commit=commit)
        except CancelledAtCommit as cancelled:
            results = await self._settle_cancelled(cancelled, len(batch), asks=not self.is_read_only)
            return results[skipped : skipped + len(commands)]
        except StoreConnectionLost as lost:
            if not commit or self.is_read_only:
                raise self._ended(lost) from lost
            results = await self._settle_lost(lost, len(batch))
            return results[skipped : skipped + len(commands)]
        except StoreError as error:
            self._has_failed = True
            users = batch[error.position] if error.position < len(batch) else None
            if isinstance(users, UsersCommand) and refusals.is_users(error):
                raise refusals.users_error(error, users) from error
            raise self._translated(error, skipped, entering) from error
        self._entered = pins
        if commit:
            self._finish(committed=True)
        else:
            self._note_armed(armed)
        return results[skipped : skipped + len(commands)]

    async def _connect(self) -> StoreConnection:
        pinned = None if self.pinned is None else await self.pinned.connect()
        if pinned is not None:
            return pinned
        return await self.pool.take("" if self.by is None else self.by.user, is_block=self.is_block)

    def _prologue(self, only: int | None = None) -> tuple[list[Command], list[Pin], dt.datetime | None]:
        """Commands that precede the next ones, the uses whose `enter` stands last in them, and the deadline armed then.
        `enter` is for each table not entered yet, for all when the first write comes (T4)."""
        new = [pin for table_id, pin in self.pins.items() if table_id not in self._entered]
        if self.is_reading:
            return [self._enter(pin, NO_DEADLINE, only) for pin in new], new, None
        armed, expires_at = self.armed, self.expires_at
        if expires_at is None:
            return [], [], armed
        if armed is None and self._entered:
            new += [pin for table_id, pin in self.pins.items() if table_id in self._entered and not is_strict(pin)]
            again = [self._enter(pin, expires_at) for pin in new]
            return again or [arm_command(expires_at)], new, expires_at
        if new:
            return [self._enter(pin, expires_at, only) for pin in new], new, expires_at
        if armed is not None and expires_at > armed:
            return [arm_command(expires_at)], [], expires_at
        return [], [], armed

    def _note_armed(self, armed: dt.datetime | None) -> None:
        """The deadline that the store has now; a transaction that only reads has none."""
        if self.is_reading:
            return
        self.armed = armed
        if self._looking is None:
            self._looking = asyncio.get_running_loop().call_later(deadline.LOOK_S, self._look)

    def _look(self) -> None:
        self._deadline = deadline.Deadline(self)

    def _enter(self, pin: Pin, expires_at: dt.datetime, only: int | None = None) -> Command:
        return enter_command(pin, expires_at, self.storages, self.sends.get(pin.table_id, BOTH_HASHES), only)

    def will_write(self) -> None:
        """A statement begins that may write: from its first batch on the transaction has a deadline (T4)."""
        self.is_reading = self.reads_on = False

    def note_written(self) -> None:
        self.has_written = True
        self.will_write()

    async def newest_visible(self, table_id: int) -> int:
        """The newest version of a table in its snapshot (T3); 0: none."""
        [result] = await self.run([Command(NEWEST_VISIBLE, (int4(table_id),))])
        return int.from_bytes(result.get_value(0, 0) or b"")

    async def commit(self) -> None:
        """Raises 40001 when it cannot be serialized, 08007 when its outcome is unknown."""
        await self._quiet()
        self._refuse_ended()
        if self.connection is None:
            if self.is_unchecked:
                await self.run([], commit=True)
            else:
                self._finish(committed=True)
            return
        batch, _, _ = self._prologue()
        if self.has_written and self._xid is None:
            self._xid = (await self._send([*batch, XID]))[-1].get_value(0, 0)
            batch = []
        try:
            batch += self.before_commit
            await self.connection.run([*batch, COMMIT], commit=True)
        except CancelledAtCommit as cancelled:
            await self._settle_cancelled(cancelled, len(batch) + 1, asks=self._xid is not None)
        except StoreConnectionLost as lost:
            if not self.has_written:
                raise self._ended(lost) from lost
            await self._settle_unknown(lost)
        except StoreError as error:
            if self.before_commit and refusals.is_users(error):
                raise SqlError(error.sqlstate, error.message, detail=error.detail or None) from error
            raise self._translated(error) from error
        else:
            self._finish(committed=True)

    async def _send(self, commands: Sequence[Command], entering: Sequence[Pin] = ()) -> "list[pq.abc.PGresult]":
        assert self.connection is not None
        try:
            return await self.connection.run(commands)
        except StoreConnectionLost as lost:
            raise self._ended(lost) from lost
        except StoreError as error:
            raise self._translated(error, len(commands), entering) from error

    async def rollback(self) -> None:
        """Undo everything and release what is held; never fails."""
        await self._end_relay()
        connection = self.connection
        try:
            await self._quiet()
            if connection is not None and not connection.is_lost:
                await connection.run([Command("ROLLBACK")])
                connection = None
        except StoreError as error:
            log.info("rollback: %s", error)
        finally:
            if connection is not None:  # not known to be out of the transaction: no session for the next one
                await connection.close()
            self._finish()

    async def abandon(self, why: str) -> None:
        """The node may not serve it any more: end its session at the store."""
        self.reads_on = False
        if self._relay is not None:
            self._relay.resume()  # a session at the store that is paused would not hear its end
        for pin in self.pins.values():
            pin.ended_because = pin.ended_because or why
        if self.connection is not None:
            await self.connection.close()

    def _finish(self, *, committed: bool = False) -> None:
        if self.is_over:
            return
        self.is_over, self.has_committed = True, committed
        if self._looking is not None:
            self._looking.cancel()
        if self._deadline is not None:
            self._deadline.close()
        self.savepoints.clear()
        self.settle(self)
        self._leave_session()

    def _leave_session(self) -> None:
        connection, self.connection = self.connection, None
        if connection is not None and (self.pinned is None or connection is not self.pinned.connection):
            self.pool.put_back(connection)

    async def _quiet(self) -> None:
        """Waits until the session takes a batch: moving a deadline takes a round trip. Relayed rows are all sent, or
        dropped, before their client asks for something else."""
        if self._relay is not None and not self._relay.is_of(asyncio.current_task()):
            await self._end_relay()
        while self._deadline is not None and self._deadline.moving is not None:
            await asyncio.shield(self._deadline.moving)

    def open_portal(self) -> str:
        """The name for a cursor of its own at the store, which no client gives to one."""
        self._portals += 1
        name = f"\x01{self._portals}"
        self.portals[name] = self.savepoints_set
        return name

    def close_portal(self, name: str) -> None:
        """Close it before the next one is opened, unless a savepoint has done so."""
        if name in self.portals:
            self.closing.add(name)

    # -- savepoints ---------------------------------------------------------------------------------------------

    async def savepoint(self, name: str) -> None:
        self.savepoints_set += 1
        number = self.savepoints_set
        await self.run([Command(f"SAVEPOINT p{number}")])
        self.savepoints.append((name, number))

    async def release(self, name: str) -> int:
        place = self._find(name)
        number = self.savepoints[place][1]
        await self.run([Command(f"RELEASE SAVEPOINT p{number}")])
        del self.savepoints[place:]
        return number

    async def rollback_to(self, name: str) -> int:
        """Undoes what came after a savepoint; its number. T5: the lock and the deadline went with the savepoint, so it
        enters again for each pinned table."""
        await self._quiet()
        self._refuse_ended()
        place = self._find(name)
        number = self.savepoints[place][1]
        expires_at = NO_DEADLINE if self.is_reading else self.expires_at
        enters = [self._enter(pin, expires_at) for pin in self.pins.values()] if expires_at else []
        pins = dict(self.pins)
        await self._send([Command(f"ROLLBACK TO SAVEPOINT p{number}"), *enters], list(pins.values()))
        self._entered, self._has_failed = pins, False
        self._note_armed(expires_at)
        self.portals = {name: since for name, since in self.portals.items() if since < number}
        self.closing &= self.portals.keys()
        del self.savepoints[place + 1 :]
        return number

    def _find(self, name: str) -> int:
        for place in range(len(self.savepoints) - 1, -1, -1):
            if self.savepoints[place][0] == name:
                return place
        raise SqlError(INVALID_SAVEPOINT, f'savepoint "{name}" does not exist')

    # -- trouble ------------------------------------------------------------------------------------------------

    def _refuse_ended(self) -> None:
        if self.is_over:  # a new session at the store would be in another snapshot, under no lease
            raise SqlError(NO_ACTIVE_TRANSACTION, "the transaction this belongs to is over")
        for pin in self.pins.values():
            if pin.ended_because is not None and not self.reads_on:
                raise Retry(f"{HAD_TO_END}{pin.ended_because}", stale=True)
        if self.connection is not None and self.connection.is_lost:
            raise self._ended(StoreConnectionLost(CONNECTION_FAILURE, self.connection.last_words))

    def _ended(self, lost: StoreError) -> SqlError:
        return refusals.why_ended(self.pins.values(), lost)

    def _translated(self, error: StoreError, skipped: int = 0, entering: Sequence[Pin] = ()) -> SqlError:
        if self.first_locks and error.sqlstate in (LOCK_NOT_AVAILABLE, UNDEFINED_TABLE, UNDEFINED_SCHEMA):
            return Retry(error.message, stale=error.sqlstate != LOCK_NOT_AVAILABLE)  # its table, or a storage, is gone
        pins, has_own_tables = self.pins.values(), bool(self.own)
        return refusals.translated(error, pins, skipped=skipped, entering=entering, has_own_tables=has_own_tables)

    async def _settle_cancelled(
        self, cancelled: CancelledAtCommit, sent: int, *, asks: bool
    ) -> "list[pq.abc.PGresult]":
        """A cancel found COMMIT on its way: it is too late when the transaction committed, and heard when not (T7)."""
        if cancelled.error is None:
            self._finish(committed=True)
            return cancelled.results
        if not asks or not isinstance(cancelled.error, StoreConnectionLost):
            raise cancelled.cancel
        try:
            return await self._settle_lost(cancelled.error, sent)
        except CommitUnknown:
            raise
        except SqlError:
            if any(pin.ended_because for pin in self.pins.values()):
                raise  # 40001: nothing was committed, whoever cancels now
            raise cancelled.cancel from None

    async def _settle_lost(self, lost: StoreConnectionLost, sent: int) -> "list[pq.abc.PGresult]":
        """The session was lost in a batch that ends in COMMIT: how far did it come?"""
        if self._xid is not None:
            await self._settle_unknown(lost)
            return []
        done = [result for result in lost.results if result.status in SUCCESSES]
        if len(done) == sent:
            self._finish(committed=True)
            return done
        if len(done) == sent - 1:
            self._xid = done[-1].get_value(0, 0)  # all but COMMIT: ask
        elif lost.sqlstate != CONNECTION_FAILURE:
            raise self._ended(lost) from lost  # the store itself ended it before COMMIT
        await self._settle_unknown(lost)
        return done

    async def _settle_unknown(self, lost: StoreConnectionLost) -> None:
        """T7: ask what became of the transaction; return when it committed."""
        assert self.connection is not None
        began_in = self.connection.life
        self._leave_session()  # its place in the pool may be the one in which to ask
        xid, outcome, cancel = self._xid, Outcome.UNKNOWN, None
        if xid is not None:
            outcome, cancel = await finished(outcome_of(self.pool, xid, began_in))
        self._finish(committed=outcome is Outcome.COMMITTED)
        if outcome is Outcome.COMMITTED:
            return
        if outcome is Outcome.ABORTED and cancel is not None:
            raise cancel
        if outcome is Outcome.ABORTED:
            why = self._ended(lost)
            raise why if isinstance(why, Retry) else Retry(f"{why.message}; nothing was committed") from lost
        raise CommitUnknown(
            TRANSACTION_UNKNOWN,
            f"the session at the store was lost at COMMIT and its outcome is not known: {lost.message}",
            hint="look whether the change is there before you try again",
        )
