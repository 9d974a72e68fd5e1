"""DDL through a node: submitted as a change, followed until it has ended, told step by step.

The statement returns when the change is complete. A client that gives up (Ctrl-C) leaves it running: a
schema change belongs to the cluster, not to the session that asked for it. In an explicit transaction
only CREATE TABLE is taken, whose table is nobody else's until COMMIT (T9).
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from catalog.descriptor import Descriptor
from expressions.errors import (
    FEATURE_NOT_SUPPORTED,
    OBJECT_IN_USE,
    QUERY_CANCELED,
    READ_ONLY_TRANSACTION,
    SqlError,
)
from nodes.libpq import Command
from nodes.results import Result
from nodes.statements import Statement
from nodes.transaction import Retry, Transaction, positional

if TYPE_CHECKING:
    from nodes.session import Session

TAGS = {"CreateStmt": "CREATE TABLE", "IndexStmt": "CREATE INDEX"}
EVENTS_MAX = 10_000


class SchemaStatements:
    """The schema changes of one session, and the tables its transaction has made."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.new_tables: dict[str, Descriptor] = {}

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
        from changes.ddl_check import NothingToDo
        from changes.ddl_errors import DdlError
        from changes.services import ChangeError, submit

        who = self.session.user
        try:
            change = await in_database_thread(lambda: submit(statement.text, who=who))
        except NothingToDo as nothing:
            self.session.client.notice(nothing.message, sqlstate=nothing.sqlstate)
            return Result(tag_of(statement))
        except DdlError as error:
            raise ddl_error(error, statement) from None
        except ChangeError as error:
            raise SqlError(error.sqlstate, str(error)) from None
        await self._follow(change.pk, change.table_name)
        return Result(tag_of(statement))

    async def _follow(self, change_id: int, table: str) -> None:
        """Tell each step until the change has ended."""
        try:
            async for event in followed(change_id):
                self.session.client.notice(f"change {change_id}: {event.get('sentence') or event['kind']}")
        except asyncio.CancelledError:
            self.session.client.notice(f"change {change_id} of {table} goes on without you", "WARNING", QUERY_CANCELED)
            raise
        status, error = await in_database_thread(lambda: outcome_of(change_id))
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
        from changes.actions import CreateTable
        from changes.ddl import parse
        from changes.ddl_errors import DdlError
        from changes.new_table import new_table
        from changes.services import reserve_table

        session = self.session
        if session.is_read_only:
            raise SqlError(READ_ONLY_TRANSACTION, "cannot execute CREATE TABLE in a read-only transaction")
        if session.transaction is not None and session.transaction.savepoints:
            raise SqlError(FEATURE_NOT_SUPPORTED, "CREATE TABLE after a SAVEPOINT is not supported: make it before")
        try:
            action = parse(statement.text).action
            assert isinstance(action, CreateTable)
            name, env = action.table.text, session.env
            if name in self.new_tables:
                raise SqlError("42P07", f'relation "{name}" already exists')
            table_id = await in_database_thread(
                lambda: reserve_table(name, node=env.node, incarnation=env.incarnation, position=action.table.position)
            )
        except DdlError as error:
            raise ddl_error(error, statement) from None
        self.new_tables[name] = new_table(action, table_id)
        session.block()
        return Result("CREATE TABLE")

    async def before_commit(self, transaction: Transaction) -> None:
        """The catalog rows of the tables made here, by the same transaction, after the user's last statement."""
        from changes.new_table import statements_at_commit

        env = self.session.env
        for table in self.new_tables.values():
            commands = [
                Command(positional(sql), tuple(as_text(p) for p in params), is_text=True)
                for sql, params in statements_at_commit(table, storages=env.storages, who=self.session.user)
            ]
            results = await transaction.run(commands)
            if results[0].command_tuples != 1:
                raise Retry(f'the name "{table.name}" was given up: this node was taken for dead')
            transaction.note_written()

    async def after_transaction(self, *, committed: bool) -> None:
        """Tell the others of new tables, or free their names."""
        from changes.services import announce_table, free_table

        tables, self.new_tables = self.new_tables, {}
        for table in tables.values():
            if committed:
                await in_database_thread(lambda t=table: announce_table(t.table_id, who=self.session.user))
            else:
                await in_database_thread(lambda t=table: free_table(t.table_id))


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


async def in_database_thread(work: Callable[[], T]) -> T:
    """Run something that uses Django's connection; the thread's connection is closed with it."""

    def run() -> T:
        from django.db import connection

        try:
            return work()
        finally:
            connection.close()

    return await asyncio.to_thread(run)


async def followed(change_id: int) -> Any:
    """The events of a change, read by a thread of its own that ends with the change."""
    loop, queue = asyncio.get_running_loop(), asyncio.Queue[Any](EVENTS_MAX)

    def put(item: Any) -> None:
        with contextlib.suppress(RuntimeError, asyncio.QueueFull):  # the loop is closed, or nobody listens any more
            loop.call_soon_threadsafe(queue.put_nowait, item)

    threading.Thread(target=lambda: _read_story(change_id, put), daemon=True, name=f"change {change_id}").start()
    while (item := await queue.get()) is not None:
        if isinstance(item, BaseException):
            raise item
        yield item


def _read_story(change_id: int, put: Callable[[Any], None]) -> None:
    from django.db import connection

    from changes.services import follow

    try:
        events: Iterator[Any] = follow(change_id)
        for event in events:
            put(event)
        put(None)
    except Exception as error:  # noqa: BLE001 - told to the session that follows
        put(error)
    finally:
        connection.close()


def outcome_of(change_id: int) -> tuple[str, dict[str, Any] | None]:
    from changes.models import Change

    status, error = Change.objects.values_list("status", "error").get(pk=change_id)
    return str(status), error
