"""DDL through a node: submitted as a change, followed until it has ended, told step by step.

The statement returns when the change is complete. A client that gives up (Ctrl-C) leaves it running: a
schema change belongs to the cluster, not to the session that asked for it. A store that restarts meanwhile
is waited for. In an explicit transaction only CREATE TABLE is taken, whose table is nobody else's until
COMMIT (T9).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg

from catalog.descriptor import Descriptor
from expressions.errors import (
    CONNECTION_FAILURE,
    FEATURE_NOT_SUPPORTED,
    OBJECT_IN_USE,
    QUERY_CANCELED,
    READ_ONLY_TRANSACTION,
    SERIALIZATION_FAILURE,
    TOO_MANY_CONNECTIONS,
    SqlError,
)
from nodes.sql.statements import Statement
from nodes.store.pipeline import Command, finished, first_line
from nodes.store.transaction import Retry, Transaction
from nodes.wire.results import Result

if TYPE_CHECKING:
    from changes.rate_limits import TooFast
    from nodes.session.session import Session

log = logging.getLogger(__name__)

TAGS = {"CreateStmt": "CREATE TABLE", "IndexStmt": "CREATE INDEX"}
FOLLOWED_MAX = 8
PLACES = threading.BoundedSemaphore(FOLLOWED_MAX)
LOOK_S = 5.0
PAUSES_S = (0.05, 0.5, 0.0)
"""Between tries to tell what became of a new table."""
ROOM_TRIES_MAX = 60
"""Others of the same user may be faster each time there is room for one more change."""
STORE_TRIES, STORE_PAUSE_S = 30, 1.0


class SchemaStatements:
    """The schema changes of one session, and the tables its transaction has made."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.new_tables: dict[str, Descriptor] = {}
        self._untold: dict[int, bool] = {}  # new tables whose transaction is over: did it commit?

    async def change(self, statement: Statement, *, alone: bool) -> Result:
        """Submit and follow. Raises the error that the statement or its change ended with."""
        session = self.session
        if session.is_explicit:
            if statement.node.DESCRIPTOR.name == "CreateStmt":
                return await self._create_inside(statement)
            raise SqlError(
                FEATURE_NOT_SUPPORTED,
                f"{tag_of(statement)} inside a transaction is not supported: other nodes take part in it",
                hint="run it by itself; CREATE TABLE is the one that may stand in a transaction",
            )
        if session.transaction is not None:
            await self._leave_block(statement)
        return await self._submit(statement)

    async def _leave_block(self, statement: Statement) -> None:
        """What stood before it in one message is committed first; a session that would wait for itself is refused."""
        transaction = self.session.transaction
        assert transaction is not None
        if transaction.connection is not None and not transaction.has_written and transaction.pins:
            await self.session.end_implicit()
            return
        if transaction.has_written:
            raise SqlError(
                OBJECT_IN_USE,
                f"{tag_of(statement)} must wait for this session's own transaction: send it by itself",
            )
        await self.session.end_implicit()

    async def _submit(self, statement: Statement) -> Result:
        from changes.ddl.errors import DdlError
        from changes.ddl.resolve import NothingToDo
        from changes.services import ChangeError

        try:
            for _ in range(ROOM_TRIES_MAX):
                full = await self._submit_if_room(statement)
                if full is None:
                    return Result(tag_of(statement))
                self.session.client.notice(f"{full.message}: waiting for {full.left_s} s")
                await asyncio.sleep(full.left_s)
            raise full
        except NothingToDo as nothing:
            self.session.client.notice(nothing.message, sqlstate=nothing.sqlstate)
            return Result(tag_of(statement))
        except DdlError as error:
            raise ddl_error(error, statement) from None
        except ChangeError as error:
            raise SqlError(error.sqlstate, str(error)) from None

    async def _submit_if_room(self, statement: Statement) -> TooFast | None:
        """Submit and follow; the refusal when this user has submitted too many within the last minute.

        A program waits where a person is refused: its next statement comes after this one. A cancel ends the wait.
        """
        from changes.rate_limits import TooFast
        from changes.services import submit

        who = self.session.user
        try:
            with place_to_follow():
                submission = in_database_thread(lambda: submit(statement.text, who=who))
                change, cancel = await finished(submission)  # once it is stored, its number has to be told
                await self._follow(change.pk, change.table_name, cancel)
        except TooFast as full:
            return full
        return None

    async def _follow(self, change_id: int, table: str, cancel: asyncio.CancelledError | None) -> None:
        """Tell each step until the change has ended, unless nobody wants to know."""

        def tell(event: dict[str, Any]) -> None:
            self.session.client.notice(f"change {change_id}: {event.get('sentence') or event['kind']}")

        try:
            if cancel is not None:
                raise cancel
            status, error = await follow(change_id, self.session.env.pool.dsn, tell)
        except asyncio.CancelledError:
            self.session.client.notice(f"change {change_id} of {table} goes on without you", "WARNING", QUERY_CANCELED)
            raise
        if status == "failed":
            error = error or {}
            raise SqlError(
                error.get("sqlstate") or "55000",
                f"change {change_id} failed and was rolled back: {error.get('message', 'see its story')}",
                hint=error.get("hint"),
            )
        if status == "cancelled":
            raise SqlError(QUERY_CANCELED, f"change {change_id} was cancelled and has been rolled back")

    # -- CREATE TABLE inside a transaction (T9) -----------------------------------------------------------------

    async def _create_inside(self, statement: Statement) -> Result:
        from changes.ddl.errors import DdlError
        from changes.ddl.resolve import NothingToDo
        from changes.ddl.statements import parse
        from changes.planning.table_in_transaction import new_table
        from changes.services import reserve_table

        session = self.session
        if session.is_read_only:
            raise SqlError(READ_ONLY_TRANSACTION, "cannot execute CREATE TABLE in a read-only transaction")
        if session.transaction is not None and session.transaction.savepoints:
            raise SqlError(FEATURE_NOT_SUPPORTED, "CREATE TABLE after a SAVEPOINT is not supported: make it before")
        try:
            parsed, env = parse(statement.text), session.env
            name = parsed.action.table.text
            if name in self.new_tables:
                raise SqlError("42P07", f'relation "{name}" already exists')
            reservation = in_database_thread(lambda: reserve_table(parsed, node=env.node, incarnation=env.incarnation))
            reserved, cancel = await finished(reservation)  # names that are taken have to be freed again
        except NothingToDo as nothing:
            session.client.notice(nothing.message, sqlstate=nothing.sqlstate)
            return Result("CREATE TABLE")
        except DdlError as error:
            raise ddl_error(error, statement) from None
        self.new_tables[name] = new_table(reserved.action, reserved.table_id)
        if cancel is not None:
            raise cancel
        session.block()
        return Result("CREATE TABLE")

    async def before_commit(self, transaction: Transaction) -> None:
        """The catalog rows of the tables made here, by the same transaction, after the user's last statement."""
        from changes.planning.table_in_transaction import statements_at_commit

        env = self.session.env
        for table in self.new_tables.values():
            commands = [
                Command(sql, tuple(as_text(p) for p in params), is_text=True)
                for sql, params in statements_at_commit(table, storages=env.storages, who=self.session.user)
            ]
            results = await transaction.run(commands)
            if results[0].command_tuples != 1:
                raise Retry(f'the name "{table.name}" was given up: this node was taken for dead')
            transaction.note_written()

    async def after_transaction(self, *, committed: bool) -> None:
        """Tell the others of new tables, or free their names; what cannot be done now is tried again next time."""
        tables, self.new_tables = self.new_tables, {}
        self._untold |= {table.table_id: committed for table in tables.values()}
        if self._untold:
            _, cancel = await finished(self._tell_untold())
            if cancel is not None and not committed:  # after a COMMIT it comes too late
                raise cancel

    async def _tell_untold(self) -> None:
        from django.db import Error

        from changes.services import announce_table, free_table

        for table_id, committed in list(self._untold.items()):
            for pause_s in PAUSES_S:
                try:
                    if committed:
                        await in_database_thread(lambda t=table_id: announce_table(t, who=self.session.user))
                    else:
                        await in_database_thread(lambda t=table_id: free_table(t))
                except (Error, StoreDown) as error:
                    log.warning("table %s: %s", table_id, error)
                    await asyncio.sleep(pause_s)
                else:
                    del self._untold[table_id]
                    break


def tag_of(statement: Statement) -> str:
    """The command tag of a DDL statement, as PostgreSQL has it: a column is renamed by ALTER TABLE."""
    kind, node = statement.node.DESCRIPTOR.name, statement.node
    if kind == "DropStmt":
        return f"DROP {_object(node.remove_type)}"
    if kind == "AlterTableStmt":
        return f"ALTER {_object(node.objtype)}"
    if kind == "RenameStmt":
        renamed = _object(node.rename_type)
        return f"ALTER {renamed if renamed in ('TABLE', 'INDEX') else _object(node.relation_type)}"
    return TAGS.get(kind, kind.removesuffix("Stmt").upper())


def _object(number: int) -> str:
    from postgast import pg_query_pb2 as pb

    return str(pb.ObjectType.Name(number)).removeprefix("OBJECT_").replace("_", " ")


def ddl_error(error: Any, statement: Statement) -> SqlError:
    """A refusal of the planner's, with its place in the text the client sent."""
    offset = -1
    if error.position:
        offset = statement.start + len(statement.text[: error.position - 1].encode())
    return SqlError(error.sqlstate, error.message, offset, hint=error.hint)


def as_text(value: Any) -> bytes | None:
    """A parameter in PostgreSQL's text form."""
    if value is None:
        return None
    if isinstance(value, list | tuple):
        return ("{" + ",".join(json.dumps(str(v)) for v in value) + "}").encode()
    return str(value).encode()


T = TypeVar("T")


class StoreDown(SqlError):
    """The store does not answer now."""


class StoreBusy(StoreDown):
    """The store answers, but not in time: nothing was kept."""

    def __init__(self) -> None:
        message = "the schema change could not be taken in time: others are being taken, or the store is slow"
        super().__init__(SERIALIZATION_FAILURE, message, hint="nothing was stored: try again")


async def in_database_thread(work: Callable[[], T]) -> T:
    """Run something that uses Django's connection; the thread's connection is closed with it."""

    def run() -> T:
        from django.db import InterfaceError, OperationalError, connection

        from catalog.services import OutOfTime

        try:
            return work()
        except OutOfTime as error:
            raise StoreBusy from error
        except (OperationalError, InterfaceError) as error:
            raise StoreDown(CONNECTION_FAILURE, f"the store does not answer: {first_line(error)}") from error
        finally:
            connection.close()

    return await asyncio.to_thread(run)


@contextlib.contextmanager
def place_to_follow() -> Iterator[None]:
    """Each session that follows a change has a session of its own at the store: a node has only so many."""
    if not PLACES.acquire(blocking=False):
        raise SqlError(
            TOO_MANY_CONNECTIONS,
            f"{FOLLOWED_MAX} schema changes are followed on this node already",
            hint="wait until one has ended, use another node, or `manage.py change submit`",
        )
    try:
        yield
    finally:
        PLACES.release()


Outcome = tuple[str, dict[str, Any] | None]


async def follow(change_id: int, dsn: str, tell: Callable[[dict[str, Any]], None]) -> Outcome:
    """Tell each event of the change as it is committed, until it has ended: its status and error.

    A store that restarts is waited for, with a limit.
    """
    since = failures = 0
    while True:
        try:
            async with await psycopg.AsyncConnection.connect(
                dsn, autocommit=True, application_name="schemalab follower", connect_timeout=10
            ) as ear:
                await ear.execute("LISTEN schemalab_change")
                while True:
                    events, outcome = await in_database_thread(lambda seen=since: story_of(change_id, seen))
                    failures = 0
                    for event in events:
                        since = event["seq"]
                        tell(event)
                    if outcome is not None:
                        return outcome
                    await _heard(ear, str(change_id))
        except (psycopg.OperationalError, StoreDown) as error:
            failures += 1
            if failures >= STORE_TRIES:
                message = f"change {change_id} goes on, but the store does not answer to tell how"
                hint = f"see `manage.py change show {change_id}`"
                raise SqlError(CONNECTION_FAILURE, message, detail=str(error), hint=hint) from error
            await asyncio.sleep(STORE_PAUSE_S)


async def _heard(ear: psycopg.AsyncConnection[Any], change: str) -> None:
    """Return when this change is in the news, or after `LOOK_S`: news may be lost."""
    end = time.monotonic() + LOOK_S
    while (left_s := end - time.monotonic()) > 0:
        async for note in ear.notifies(timeout=left_s, stop_after=1):
            if note.payload == change:
                return


def story_of(change_id: int, since: int) -> tuple[list[dict[str, Any]], Outcome | None]:
    """The events after `since`, and how the change ended if it has."""
    from catalog.selectors import events_since
    from catalog.story import change_stream
    from changes.models import ENDED, Change

    status, error = Change.objects.values_list("status", "error").get(pk=change_id)
    events = events_since(change_stream(change_id), since)
    return events, (str(status), error) if status in ENDED else None
