"""DDL through a node: submitted as a change, and followed with a notice for each step until it has ended.

A client that gives up (Ctrl-C) leaves it running: a schema change belongs to the cluster, not to the session. A store
that restarts is waited for. In an explicit transaction the tables that it has made itself are changed at once
(`nodes.session.schema.new_tables`).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import psycopg

from expressions import errors
from expressions.dates.zones import PLAIN
from nodes.clients.protocols import Client
from nodes.execution.fairness import in_thread_if_large
from nodes.session.block import Block
from nodes.session.database_thread import StoreDown, in_database_thread, of_catalog
from nodes.session.schema import without_effect
from nodes.session.schema.view_statements import ViewStatements, is_about_view
from nodes.sql.statements import Statement, ddl_error, is_copying, is_several, tag_of
from nodes.sql.statements import parse as parse_sql
from nodes.store.pipeline import finished
from nodes.wire.results import Result

if TYPE_CHECKING:
    from changes.submission.rate_limits import TooFast

log = logging.getLogger(__name__)

FOLLOWED_MAX = 8
PLACES = threading.BoundedSemaphore(FOLLOWED_MAX)
LOOK_S = 5.0
ROOM_TRIES_MAX = 60
"""Others of the same user may be faster each time there is room for one more change."""
STORE_TRIES, STORE_PAUSE_S = 30, 1.0


class SchemaStatements:
    def __init__(self, client: Client, who: str, block: Block, views: ViewStatements) -> None:
        self.client, self.who, self.block, self.views = client, who, block, views

    async def change(self, statement: Statement) -> Result:
        """Submit and follow, one change for each table that a DROP names. Raises the error that one ended with."""
        if is_about_view(statement):
            return await self.views.change(statement)
        notice = without_effect.notice_of(statement)
        if notice is not None:
            return await self._without_effect(statement, notice)
        absent = without_effect.absent_of(statement)
        if absent is not None:
            known = [one for one in absent[1] if one in without_effect.SCHEMAS or await self.block.has_table(one)]
            for name in () if known else absent[1]:
                self.client.notice(f'{absent[0]} "{name}" does not exist, skipping')
            if not known:
                return Result(tag_of(statement))
        if is_copying(statement.node):
            await self._make_copy(statement)
            return Result(tag_of(statement))
        await self.notify(statement)
        if statement.node.DESCRIPTOR.name == "DropStmt" and is_several(statement.node):
            for one in await self._drops(statement):
                await (self.views.change(one) if is_about_view(one) else self._change(one))
            return Result(tag_of(statement))
        await self._change(statement)
        return Result(tag_of(statement))

    async def _without_effect(self, statement: Statement, notice: str) -> Result:
        table = without_effect.table_of(statement)
        if table is not None and not await self._is_there(statement, table):
            if not without_effect.is_forgiving(statement):
                raise without_effect.undefined(table)
            notice = f'relation "{table}" does not exist, skipping'
        self.client.notice(notice)
        return Result(tag_of(statement))

    async def _is_there(self, statement: Statement, name: str) -> bool:
        """True if a table or a view has the name, or a sequence may: a dump gives a column its own only afterwards.
        Raises 42809 for a table where a view is meant."""
        if await self.block.has_table(name):
            if without_effect.names_view(statement):
                raise errors.SqlError(errors.WRONG_OBJECT_TYPE, f'"{name}" is not a view')
            return True
        if self.block.env.directory.may_be_view(name):  # it was just looked up
            return True
        if not without_effect.may_name_sequence(statement):
            return False
        tables = [*self.block.new_tables.tables.values(), *await self.block.env.directory.tables()]
        return any(table.sequence_name(one) == name for table in tables for one in table.public_columns)

    async def notify(self, statement: Statement) -> None:
        """Notices about what is taken and means something else here; what is refused is refused later."""
        from changes.ddl.errors import DdlError
        from changes.ddl.statements import parse

        with contextlib.suppress(DdlError):
            parsed = await in_thread_if_large(statement.text, lambda: parse(statement.text))
            for notice in parsed.notices:
                self.client.notice(notice)
            for warning in parsed.warnings:
                self.client.notice(warning, "WARNING", errors.INVALID_PARAMETER_VALUE)

    async def _drops(self, statement: Statement) -> list[Statement]:
        from changes.submission.new_tables import drops

        own = tuple(self.block.new_tables.tables.values())
        found = await of_catalog(statement, lambda: drops(statement.text, own=own))
        for notice in found.notices:
            self.client.notice(notice)
        return [one for text in found.statements for one in parse_sql(text)]

    async def _make_copy(self, statement: Statement) -> None:
        from changes.submission.new_tables import copied_table

        own = tuple(self.block.new_tables.tables.values())
        copied = await of_catalog(statement, lambda: copied_table(statement.text, own=own))
        for notice in copied.notices:
            self.client.notice(notice)
        for text in copied.afterwards:
            self.client.notice(f"followed by {text}")
        try:
            [create] = parse_sql(copied.create)
            await self.notify(create)
            if await self._change(create):
                for text in copied.afterwards:
                    await self._change(*parse_sql(text))
        except errors.SqlError as error:
            error.offset = -1  # its place is one of the statement as it was written out
            raise

    async def _change(self, statement: Statement) -> bool:
        """Submit a change and follow it, or change a table of the session's own; False: there was nothing to do."""
        statement = await self._in_utc(statement)
        if not self.block.is_explicit and await self.block.new_tables.is_private(statement):
            was_open = self.block.is_open
            is_changed = await self._change_inside(statement)
            if not was_open:
                await self.block.end_implicit()
            return is_changed
        if self.block.is_explicit:
            return await self._change_inside(statement)
        await self.block.end_before(tag_of(statement))
        return await self._submit(statement)

    async def _in_utc(self, statement: Statement) -> Statement:
        """The statement with its literals as the session's zone, order of dates and style of intervals read them."""
        from changes.submission.new_tables import in_utc

        style = self.block.variables.style
        if (style.zone.is_utc, style.order, style.intervals) == (True, PLAIN.order, PLAIN.intervals):
            return statement
        own = tuple(self.block.new_tables.tables.values())
        text = await of_catalog(statement, lambda: in_utc(statement.text, style, own=own))
        return statement if text == statement.text else parse_sql(text)[0]

    async def _change_inside(self, statement: Statement) -> bool:
        """In an explicit transaction: its own tables are changed at once, others by a change of their own, or not."""
        from changes.planning.table_in_transaction import OthersTakePart

        block, tag = self.block, tag_of(statement)
        block.refuse_read_only(tag)
        try:
            async with block.refusing():
                existing = await block.new_tables.change(statement, block.current())
        except OthersTakePart as others:
            why = "for tables that it has not made: other nodes take part"
            detail = f'Table "{others.table}" was there before this transaction began.'
            await block.commit_before(tag, f"{tag} inside a transaction is not supported {why}", detail)
        else:
            if existing is not None:
                self.client.notice(existing.message, sqlstate=existing.sqlstate)
            return existing is None
        is_changed = await self._submit(statement)
        block.current()
        return is_changed

    async def _submit(self, statement: Statement) -> bool:
        from changes.ddl.errors import DdlError
        from changes.ddl.resolve import NothingToDo
        from changes.services import ChangeError

        try:
            for _ in range(ROOM_TRIES_MAX):
                full = await self._submit_if_room(statement)
                if full is None:
                    self.block.env.router.table_made()
                    return True
                self.client.notice(f"{full.message}: waiting for {full.left_s} s")
                await asyncio.sleep(full.left_s)
            raise full
        except NothingToDo as nothing:
            self.client.notice(nothing.message, sqlstate=nothing.sqlstate)
            return False
        except DdlError as error:
            raise ddl_error(error, statement) from None
        except ChangeError as error:
            raise errors.SqlError(error.sqlstate, str(error)) from None

    async def _submit_if_room(self, statement: Statement) -> TooFast | None:
        """Submits and follows; the refusal when this user has submitted too many within the last minute. A program
        waits where a person is refused: its next statement comes after this one."""
        from changes.services import submit
        from changes.submission.rate_limits import TooFast

        who = self.who
        try:
            with place_to_follow():
                submission = in_database_thread(lambda: submit(statement.text, who=who))
                change, cancel = await finished(submission)  # once it is stored, the client has to get its number
                await self._follow(change.pk, change.table_name, cancel)
        except TooFast as full:
            return full
        return None

    async def _follow(self, change_id: int, table: str, cancel: asyncio.CancelledError | None) -> None:
        def report(event: dict[str, Any]) -> None:
            self.client.notice(f"change {change_id}: {event.get('sentence') or event['kind']}")

        try:
            if cancel is not None:
                raise cancel
            status, error = await follow(change_id, self.block.env.pool.dsn, report)
        except asyncio.CancelledError as given_up:
            self.client.notice(f"change {change_id} of {table} goes on without you", "WARNING", errors.QUERY_CANCELED)
            to_end = f"`manage.py change cancel {change_id}` cancels it."
            given_up.add_note(f"Change {change_id} of {table} goes on. {to_end}")
            raise
        if status == "failed":
            error = error or {}
            why, _, rows = error.get("message", "see its story").partition("\n")
            raise errors.SqlError(
                error.get("sqlstate") or errors.NOT_IN_PREREQUISITE_STATE,
                f"change {change_id} failed and was rolled back: {why}",
                detail=rows or None,
                hint=error.get("hint"),
            )
        if status == "awaiting":
            raise errors.SqlError(
                errors.NOT_IN_PREREQUISITE_STATE,
                f"change {change_id} awaits approval: it begins once somebody other than {self.who} approves it",
                hint=f"see its page, or `manage.py change show {change_id}`",
            )
        if status == "cancelled":
            raise errors.SqlError(errors.QUERY_CANCELED, f"change {change_id} was cancelled and has been rolled back")


@contextlib.contextmanager
def place_to_follow() -> Iterator[None]:
    """Each session that follows a change has a session of its own at the store: a node has only so many."""
    if not PLACES.acquire(blocking=False):
        raise errors.SqlError(
            errors.TOO_MANY_CONNECTIONS,
            f"{FOLLOWED_MAX} schema changes are followed on this node already",
            hint="wait until one has ended, use another node, or `manage.py change submit`",
        )
    try:
        yield
    finally:
        PLACES.release()


Outcome = tuple[str, dict[str, Any] | None]


async def follow(change_id: int, dsn: str, report: Callable[[dict[str, Any]], None]) -> Outcome:
    """Reports each event of the change as it is committed, until it has ended: its status and error. A store that
    restarts is waited for, with a limit."""
    since = failures = 0
    while True:
        try:
            async with await psycopg.AsyncConnection.connect(
                dsn, autocommit=True, application_name="schemalab follower", connect_timeout=10
            ) as listener:
                await listener.execute("LISTEN schemalab_change")
                while True:
                    events, outcome = await in_database_thread(lambda seen=since: story_of(change_id, seen))
                    failures = 0
                    for event in events:
                        since = event["seq"]
                        report(event)
                    if outcome is not None:
                        return outcome
                    await _notified(listener, str(change_id))
        except (psycopg.OperationalError, StoreDown) as error:
            failures += 1
            if failures >= STORE_TRIES:
                message = f"change {change_id} goes on, but the store does not answer: nobody can follow it"
                hint = f"see `manage.py change show {change_id}`"
                raise errors.SqlError(errors.CONNECTION_FAILURE, message, detail=str(error), hint=hint) from error
            await asyncio.sleep(STORE_PAUSE_S)


async def _notified(listener: psycopg.AsyncConnection[Any], change: str) -> None:
    """Return when this change is in the news, or after `LOOK_S`: news may be lost."""
    end = time.monotonic() + LOOK_S
    while (left_s := end - time.monotonic()) > 0:
        async for note in listener.notifies(timeout=left_s, stop_after=1):
            if note.payload == change:
                return


def story_of(change_id: int, since: int) -> tuple[list[dict[str, Any]], Outcome | None]:
    """The events after `since`, and how the change ended if it has; one that awaits approval is not waited for."""
    from catalog.selectors import events_since
    from catalog.story import change_stream
    from changes.models import ENDED, Change, Status

    status, error = Change.objects.values_list("status", "error").get(pk=change_id)
    events = events_since(change_stream(change_id), since)
    return events, (str(status), error) if status in (*ENDED, Status.AWAITING) else None
