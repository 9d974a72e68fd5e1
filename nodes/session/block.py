"""A session's transaction block, from its first statement to COMMIT, ROLLBACK or failure.

    none        nothing runs; a statement alone is a transaction of its own (`nodes.session.tries`)
    implicit    several statements up to Sync: they commit together at its end
    explicit    from BEGIN to COMMIT or ROLLBACK
    failed      an explicit one that takes nothing but its end (25P02)

Without a savepoint to return to, a failed block releases the session at the store and its leases at once.
"""

import datetime as dt
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from catalog import clock
from expressions import errors
from nodes.clients.protocols import Client
from nodes.context import Environment
from nodes.notifications.listening import Listening
from nodes.session.functions.advisory_locks import AdvisoryLocks
from nodes.session.schema.new_tables import NewTables
from nodes.settings.variables import AUTOCOMMIT, COMMIT_FIRST_HINT, READ_ONLY, Variables
from nodes.store.pinned import PinnedSession
from nodes.store.refusals import HAD_TO_END, CommitUnknown, Retry
from nodes.store.transaction import Owner, Transaction
from nodes.wire.results import Row


@dataclass(eq=False)
class Block:
    env: Environment
    client: Client
    new_tables: NewTables
    variables: Variables
    owner: Owner
    listening: Listening
    locks: AdvisoryLocks
    transaction: Transaction | None = None
    is_explicit: bool = False
    is_failed: bool = False
    _streaming: set[Transaction] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.pinned = PinnedSession(self.env.pool)

    def status(self) -> bytes:
        if self.is_failed:
            return b"E"
        return b"T" if self.is_explicit else b"I"

    @property
    def is_open(self) -> bool:
        return self.is_explicit or self.transaction is not None

    @property
    def is_implicit(self) -> bool:
        return self.transaction is not None and not self.is_explicit

    @property
    def has_asked(self) -> bool:
        return self.transaction is not None and self.transaction.connection is not None

    @property
    def savepoints_set(self) -> int:
        """Number of savepoints that the transaction has set so far, those that are gone included."""
        return 0 if self.transaction is None else self.transaction.savepoints_set

    @property
    def holds_something(self) -> bool:
        """True if versions, and a session at the store, are held while the client is waited for."""
        return self.transaction is not None or bool(self._streaming)

    async def has_table(self, name: str) -> bool:
        """True if a table of this name is there for this session: its transaction's own, or everybody's."""
        return name in self.new_tables.tables or await self.env.directory.find(name) is not None

    @property
    def now(self) -> dt.datetime:
        return clock.now() if self.transaction is None else self.transaction.started_at

    def refuse_failed(self) -> None:
        """Raises 25P02 in a failed block, 40001 when the lease has expired of one that has only read (T4)."""
        if self.is_failed:
            message = "current transaction is aborted, commands ignored until end of transaction block"
            raise errors.SqlError(errors.IN_FAILED_TRANSACTION, message)
        if self.transaction is not None and self.transaction.reads_on:
            raise for_client(Retry(f"{HAD_TO_END}{self._why_expired(self.transaction)}"))

    async def end_expired(self) -> None:
        """The statement that was in progress when the lease expired is done: its transaction has no other (T4)."""
        if self.transaction is not None and self.transaction.reads_on:
            await self.transaction.abandon(self._why_expired(self.transaction))

    @staticmethod
    def _why_expired(transaction: Transaction) -> str:
        return next((pin.ended_because for pin in transaction.pins.values() if pin.ended_because), "its lease expired")

    def current(self) -> Transaction:
        """The block's transaction; a new implicit one when there is none."""
        if self.transaction is None:
            self.transaction = self.new_tables.begun(self.env.begin(by=self.owner, is_block=True))
            self.transaction.is_reading = True
            self.transaction.pinned = self.pinned
        if not self.has_asked:
            self.transaction.is_read_only = self.is_explicit and self.variables.is_read_only
        return self.transaction

    def begin(self, *, is_read_only: bool | None) -> None:
        """BEGIN; without a word about it the transaction is what the session's are by default."""
        if self.is_explicit:
            self.client.notice("there is already a transaction in progress", "WARNING", errors.ACTIVE_TRANSACTION)
            return
        self.is_explicit = True
        if is_read_only is not None:
            self.variables.set(READ_ONLY, "on" if is_read_only else "off", is_local=True)
        self.current()

    async def commit(self) -> str:
        if not self.is_explicit:
            self.client.notice("there is no transaction in progress", "WARNING", errors.NO_ACTIVE_TRANSACTION)
            return "COMMIT"
        if self.is_failed:
            await self.end()
            return "ROLLBACK"
        self.is_explicit = False
        await self._commit()
        return "COMMIT"

    async def commit_before(self, tag: str, message: str, detail: str | None = None) -> None:
        """Commits what an explicit block has done before a schema change, where the session has it so; the client is in
        its block still: SET LOCAL and its modes stay. Raises 0A000, with this message, where it may not."""
        if not self.variables.commits_before_ddl:
            raise errors.SqlError(errors.FEATURE_NOT_SUPPORTED, message, detail=detail, hint=COMMIT_FIRST_HINT)
        if self.current().savepoints:
            message += ", and a savepoint is open"
            hint = "release the savepoint first: what stands before the statement has to be committed"
            raise errors.SqlError(errors.FEATURE_NOT_SUPPORTED, message, detail=detail, hint=hint)
        await self._commit(goes_on=True)
        self.client.notice(f"what the transaction has done is committed before {tag} ({AUTOCOMMIT} is on)")

    async def end_before(self, tag: str) -> None:
        """Commits what stood before a schema change in one message. Raises 55006 where that has written."""
        if self.transaction is not None:
            if self.transaction.has_written:
                message = f"{tag} must wait for this session's own transaction: send it by itself"
                raise errors.SqlError(errors.OBJECT_IN_USE, message)
            await self.end_implicit()

    def refuse_read_only(self, tag: str) -> None:
        if self.variables.is_read_only:
            message = f"cannot execute {tag} in a read-only transaction"
            raise errors.SqlError(errors.READ_ONLY_TRANSACTION, message)

    async def rollback(self) -> str:
        if not self.is_open:
            self.client.notice("there is no transaction in progress", "WARNING", errors.NO_ACTIVE_TRANSACTION)
        await self.end()
        return "ROLLBACK"

    async def end_implicit(self) -> None:
        if self.is_implicit:
            await self._commit()
        elif not self.is_explicit:
            self.variables.end(committed=True)

    async def _commit(self, *, goes_on: bool = False) -> None:
        if self.transaction is not None:
            await self.client.statements.hold_cursors()
        transaction, self.transaction = self.transaction, None
        if transaction is None:
            return
        keeps_local = False
        try:
            await self.new_tables.before_commit(transaction)
            await transaction.commit()
            keeps_local = goes_on
            if keeps_local:
                self.variables.commit_so_far()
            else:
                self.variables.end(committed=True)
        except Retry as retry:
            raise await self.refused(retry) from retry
        except CommitUnknown as unknown:
            if not self.new_tables.has_altered_temporary:
                raise
            detail = "Nobody knows either which version a temporary table of this session has now: it ends with it."
            raise errors.FatalError(unknown.sqlstate, unknown.message, detail=detail, hint=unknown.hint) from unknown
        finally:
            if not keeps_local:
                self.variables.end(committed=False)
            committed = transaction.is_over
            if not transaction.is_over:
                await transaction.rollback()
            self.client.statements.end_cursors(committed=transaction.has_committed)
            self.listening.end(committed=transaction.has_committed)
            await self.new_tables.after_transaction(committed=committed and transaction.has_committed)
            await self.locks.end_transaction()
            await self.release_unused()

    async def savepoint(self, word: str, name: str) -> str:
        if not self.is_explicit:
            raise errors.SqlError(errors.NO_ACTIVE_TRANSACTION, f"{word} can only be used in transaction blocks")
        async with self.refusing():  # each of them enters what was only described so far, or again
            if word == "ROLLBACK TO":
                if self.transaction is None:
                    raise errors.SqlError(errors.INVALID_SAVEPOINT, f'savepoint "{name}" does not exist')
                number = await self.transaction.rollback_to(name)
                await self.new_tables.return_to(number, self.transaction)
                self.variables.return_to(number)
                self.client.statements.close_portals(since=number)
                self.listening.return_to(number)
                await self.locks.end_transaction(since=number)
                self.is_failed = False
                return "ROLLBACK"
            if word == "SAVEPOINT":
                await self.current().savepoint(name)
                self.variables.mark(self.savepoints_set)
                self.new_tables.mark(self.savepoints_set)
            else:
                number = await self.current().release(name)
                self.variables.release(number)
                self.new_tables.release(number)
        return word

    def refusing(self) -> "Refusing":
        """While inside, what cannot be tried again here becomes the client's error."""
        return Refusing(self)

    async def refused(self, retry: Retry) -> errors.SqlError:
        """The error that a client gets where the node cannot try again; the version that was refused is loaded anew."""
        await self.env.load_refused(retry)
        return for_client(retry)

    async def fail(self, error: errors.SqlError) -> None:
        """A statement failed: an implicit block is undone, an explicit one waits for its end."""
        await self._end_streams()
        if not self.is_explicit:
            if self.transaction is not None:
                await self.end()
            self.variables.end(committed=False)
            return
        self.is_failed = True
        can_return = bool(self.transaction and self.transaction.savepoints) and not isinstance(error, errors.FatalError)
        connection = None if self.transaction is None else self.transaction.connection
        if not can_return or connection is None or connection.is_lost:
            await self._roll_back()

    async def end(self) -> None:
        """Roll back what was not committed; what comes next is outside of any block."""
        self.is_explicit = self.is_failed = False
        await self._roll_back()

    async def _roll_back(self) -> None:
        self.variables.end(committed=False)
        transaction, self.transaction = self.transaction, None
        if transaction is not None:
            self.client.statements.end_cursors(committed=False)
            self.listening.end(committed=False)
            await transaction.rollback()
        await self.new_tables.after_transaction(committed=False)
        await self.locks.end_transaction()
        await self.release_unused()

    async def release_unused(self) -> None:
        """Give the session at the store back that the client keeps, unless a cursor of it needs that."""
        is_used = self.transaction is not None or any(c.is_holdable for c in self.client.statements.cursors.values())
        if self.pinned.connection is not None and not is_used:
            await self.pinned.release()

    async def close(self) -> None:
        await self._end_streams()
        await self.end()
        await self.pinned.release()
        await self.new_tables.give_up_temporary()

    # -- statements alone whose rows still come ------------------------------------------------------------------

    def streamed(self, transaction: Transaction, batches: AsyncIterator[list[Row]]) -> AsyncIterator[list[Row]]:
        """The rows of a statement that is its own transaction, which ends with the last of them."""
        self._streaming.add(transaction)  # now: a generator begins only when it is asked for its first batch
        return self._stream(transaction, batches)

    async def _stream(self, transaction: Transaction, batches: AsyncIterator[list[Row]]) -> AsyncIterator[list[Row]]:
        try:
            async with self.refusing():
                async for batch in batches:
                    yield batch
        finally:
            await self._end_stream(transaction)

    def is_streaming(self, transaction: Transaction) -> bool:
        return transaction in self._streaming

    async def _end_streams(self) -> None:
        for transaction in list(self._streaming):
            await self._end_stream(transaction)

    async def _end_stream(self, transaction: Transaction) -> None:
        """Whoever comes first ends the transaction: the rows' reader, or the session that is closed under it."""
        if transaction in self._streaming:
            self._streaming.discard(transaction)
            if not transaction.is_over:
                await transaction.rollback()


def for_client(retry: Retry) -> errors.SqlError:
    """The error a client gets: 40001 or 40P01, whatever the store's code was."""
    return errors.SqlError(retry.sqlstate, retry.message, hint=retry.hint)


class Refusing:
    """A class, since `contextlib` would cost five times as much in each statement of a block."""

    __slots__ = ("block",)

    def __init__(self, block: Block) -> None:
        self.block = block

    async def __aenter__(self) -> None: ...

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Retry):
            raise await self.block.refused(error) from error
