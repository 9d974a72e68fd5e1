"""The statements of one connection: simple queries, prepared statements and portals, message by message. Here is
decided whether an answer may be taken back, interrupted or suspended; what a statement does, by the session."""

from collections.abc import Coroutine, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any, Protocol

from expressions import errors
from nodes.clients.channel import Channel
from nodes.clients.copying import send_copy
from nodes.clients.cursors import Cursor, Hold
from nodes.clients.portals import Kept, Portal, Prepared, description, send_at_once, send_rows
from nodes.clients.protocols import Session
from nodes.execution.fairness import LARGE_CHARS, Turns
from nodes.execution.held_rows import bytes_of
from nodes.wire import messages
from nodes.wire.columns import checked
from nodes.wire.messages import Reader
from nodes.wire.results import Result

SQL_BYTES_MAX = 2**20
PREPARED_MAX = 1000
CURSORS_MAX = 1000


class Line(Protocol):
    """The connection, as far as its statements need it (`nodes.clients.connection`)."""

    channel: Channel
    turns: Turns

    async def ready(self) -> None: ...

    def flush(self) -> Coroutine[Any, Any, None]: ...

    def clients_turn(self) -> AbstractContextManager[None]: ...

    def timed(self, statement: object | None) -> AbstractContextManager[None]: ...

    def interruptible(self) -> AbstractAsyncContextManager[None]: ...


class Statements:
    """The statements and portals of a client; `sql` is the text of its last message that has one."""

    session: Session

    def __init__(self, line: Line) -> None:
        self.line = line
        self.sql = ""
        self.prepared: Kept[Prepared] = Kept[Prepared].uncounted()
        self.portals: Kept[Portal] = Kept[Portal].uncounted()
        self.cursors: Kept[Cursor] = Kept[Cursor].uncounted()
        self._batch = 0
        self._undescribed: Portal | None = None

    def begin(self, session: Session) -> None:
        self.session = session
        self.prepared, self.portals, self.cursors = Kept(session.kept), Kept(session.kept), Kept(session.kept)

    def clear(self) -> None:
        self.prepared.clear()
        self.portals.clear()
        self.cursors.clear()

    def close_portals(self, *, since: int = 0) -> None:
        """Close what reads in the transaction, which is over, or in the part of it since that savepoint."""
        for name in [name for name, portal in self.portals.items() if portal.savepoint >= since]:
            self.portals.pop(name)
        for name, cursor in list(self.cursors.items()):
            if cursor.hold is not Hold.HELD and cursor.savepoint >= since:
                self.cursors.pop(name)

    async def hold_cursors(self) -> None:
        """The transaction is about to commit: what cursors WITH HOLD have still to read is read."""
        for cursor in list(self.cursors.values()):
            if cursor.hold is Hold.AT_COMMIT:
                await cursor.before_commit()

    def end_cursors(self, *, committed: bool) -> None:
        """The transaction is over: its cursors are closed, those WITH HOLD only if it did not commit."""
        for cursor in self.cursors.values():
            cursor.end(committed=committed)
        self.close_portals()

    def refuse_taken(self, name: str) -> None:
        """Raises 42P05 when another statement is prepared by this name, 54000 when there are too many."""
        if name and name in self.prepared:
            raise errors.SqlError("42P05", f'prepared statement "{name}" already exists')
        if len(self.prepared) >= PREPARED_MAX and name not in self.prepared:
            raise errors.SqlError(
                errors.PROGRAM_LIMIT, f"a connection keeps at most {PREPARED_MAX} prepared statements"
            )

    def refuse_taken_cursor(self, name: str) -> None:
        """Raises 42P03 when another cursor, or portal, has this name, 54000 when there are too many."""
        if name and (name in self.portals or name in self.cursors):
            raise errors.SqlError("42P03", f'cursor "{name}" already exists')
        if len(self.cursors) >= CURSORS_MAX:
            raise errors.SqlError(errors.PROGRAM_LIMIT, f"a connection has at most {CURSORS_MAX} cursors")

    def serve(self, kind: str, body: bytes) -> Coroutine[Any, Any, None] | None:
        if kind == "E":
            return self._execute(body)
        if kind == "B":
            self._bind(body)
        elif kind == "D":
            return self._describe(body)
        elif kind == "Q":
            return self._query(body)
        elif kind == "P":
            return self._parse(body)
        elif kind == "C":
            return self._close(body)
        elif kind == "H":
            return self.line.flush()
        elif kind == "F":
            raise errors.unsupported("the function call protocol")
        elif kind == "p":
            raise errors.FatalError(errors.PROTOCOL_VIOLATION, "unexpected password message")
        return None  # d, c, f: what is left of a COPY that was refused or has failed

    async def sync(self) -> None:
        self._batch += 1
        await self.end_implicit()

    async def end_implicit(self) -> None:
        if self.session.has_implicit_block():
            with self.line.timed(None):
                async with self.line.interruptible():
                    await self.session.end_implicit()

    # -- simple query -------------------------------------------------------------------------------------------

    async def _query(self, body: bytes) -> None:
        self.sql = ""
        reader = Reader(body)
        self.sql = _bounded(reader.text())
        reader.end()
        self.prepared.pop("", None)
        self.portals.pop("", None)
        statements = await self._parsed()
        if not statements:
            self.line.channel.send(messages.EMPTY_QUERY)
        for statement in statements:
            await self.line.turns.give()
            prepared, formats = Prepared(self.sql, statement), self.session.formats_of(statement)
            with self.line.timed(statement):
                portal = Portal(prepared, result_formats=formats)
                result = portal.result = await self._run(portal, alone=len(statements) == 1)
                if result.fields is not None:
                    self.line.channel.send(messages.row_description(result.fields, formats))
                await self.answer(portal, 0)
                if self.line.channel.is_full and statement is not statements[-1]:
                    async with self.line.interruptible():
                        await self.line.flush()
        await self.end_implicit()
        await self.line.ready()

    # -- extended query -----------------------------------------------------------------------------------------

    async def _parse(self, body: bytes) -> None:
        self.sql = ""
        parse = messages.read_parse(body)
        self.sql = _bounded(parse.sql)
        self.refuse_taken(parse.name)
        statements = await self._parsed()
        if len(statements) > 1:
            raise errors.SqlError(errors.SYNTAX_ERROR, "cannot insert multiple commands into a prepared statement")
        prepared = Prepared(parse.sql, None)
        if statements:
            with self.line.timed(statements[0]):
                async with self.line.interruptible():
                    prepared = await self.session.prepare(parse.sql, statements[0], parse.oids)
        prepared.batch = self._batch
        self.prepared[parse.name] = prepared
        self.line.channel.send(messages.PARSE_COMPLETE)

    async def _parsed(self) -> Sequence[object]:
        """The statements of the text. A large one waits for the planning thread as long as a statement may take."""
        if len(self.sql) <= LARGE_CHARS:
            return await self.session.parse(self.sql)
        with self.line.timed(None):
            async with self.line.interruptible():
                return await self.session.parse(self.sql)

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
            message = f"bind message has {len(bind.formats)} parameter formats but {len(bind.values)} parameters"
            raise errors.SqlError(errors.PROTOCOL_VIOLATION, message)
        if prepared.statement is not None:
            self.session.follow(prepared)
        wanted = checked(bind.result_formats, None if prepared.fields is None else len(prepared.fields))
        formats = bind.formats * len(bind.values) if len(bind.formats) == 1 else bind.formats
        if bind.portal:
            self.refuse_taken_cursor(bind.portal)
        savepoint = self.session.savepoints_set()
        self.portals[bind.portal] = Portal(prepared, bind.values, formats, savepoint=savepoint, result_formats=wanted)
        self.line.channel.send(messages.BIND_COMPLETE)

    async def _describe(self, body: bytes) -> None:
        kind, name = messages.read_target(body)
        if kind == "S":
            prepared = self._statement(name)
            self.line.channel.send(messages.parameter_description(prepared.oids))
        elif name in self.cursors:
            cursor = self.cursors[name]
            self.line.channel.send(description(cursor.fields, (int(cursor.is_binary),)))
            return
        else:
            portal = self._portal(name)
            prepared = portal.prepared
            may_wait = prepared.fields is not None and portal.result is None and not self._is_described(prepared)
            if may_wait and await self._next_kind() == ord("E"):
                self._undescribed = portal
                return
            self._describe_now(prepared, portal.result_formats)
            return
        self._describe_now(prepared)

    def _describe_now(self, prepared: Prepared, formats: tuple[int, ...] = ()) -> None:
        prepared.is_described = True
        self.line.channel.send(prepared.description(formats))

    def _is_described(self, prepared: Prepared) -> bool:
        """True if the client may have read what the statement's result looks like."""
        prepared.is_described = prepared.is_described or prepared.batch != self._batch
        return prepared.is_described

    async def _next_kind(self) -> int:
        """The kind of the next message. A client that sent neither Sync nor Flush cannot be waiting for us."""
        kind = self.line.channel.kind_at_hand()
        if kind is not None:
            return kind
        with self.line.clients_turn():
            return await self.line.channel.next_kind()

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
            self.line.channel.send(messages.EMPTY_QUERY)
            return
        is_whole = rows_max == 0 or self.session.is_own_transaction(prepared.statement)
        alone = portal.result is None and is_whole and await self._next_kind() == ord("S")
        with self.line.timed(prepared.statement):
            if portal.result is None:
                portal.savepoint, portal.is_limited = self.session.savepoints_set(), rows_max > 0
                is_described = self._is_described(prepared)
                portal.result = await self._run(portal, alone=alone)
                if not is_described:
                    prepared.fields = portal.result.fields
            if undescribed is portal:
                self._describe_now(prepared, portal.result_formats)
            await self.answer(portal, max(rows_max, 0))

    async def _close(self, body: bytes) -> None:
        kind, name = messages.read_target(body)
        if kind == "S":
            self.prepared.pop(name, None)
        elif self.portals.pop(name, None) is None and name in self.cursors:
            async with self.line.interruptible():
                await self.session.close_cursor(name)
        self.line.channel.send(messages.CLOSE_COMPLETE)

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

    async def _run(self, portal: Portal, *, alone: bool) -> Result:
        async with self.line.interruptible():
            return await self.session.execute(portal, alone=alone)

    async def answer(self, portal: Portal, rows_max: int) -> None:
        result, channel, flush = portal.result, self.line.channel, self.line.flush
        assert result is not None
        if result.copy is not None:
            if portal.is_done:
                raise errors.SqlError(errors.NOT_IN_PREREQUISITE_STATE, "a COPY that is done cannot be executed again")
            with self.session.kept.holding(result.bytes_held):
                async with self.line.interruptible():
                    await send_copy(portal, channel, flush)
            return
        if send_at_once(portal, rows_max, channel):
            return
        held = result.bytes_held
        if not held and result.more is None:  # the rows are not many
            held = sum(bytes_of(row) for row in result.rows)
        is_kept = result.has_written and self.session.status() == b"I" and not self.session.has_implicit_block()
        with self.session.kept.holding(held if portal.waiting_bytes is None else 0):
            try:
                async with self.line.interruptible():
                    is_done = await send_rows(portal, rows_max, channel, flush)
            except errors.SqlError as error:
                if is_kept:  # an error would say that it is not (T7)
                    message = f"{error.message}: it is done, but its answer was not taken"
                    raise errors.FatalError(error.sqlstate, message) from None
                raise
        if portal.counted:
            self.portals.recount(portal)  # a portal that keeps too much is refused, not suspended
        if not is_done:
            self.line.channel.send(messages.PORTAL_SUSPENDED)


def _bounded(sql: str) -> str:
    if len(sql) > SQL_BYTES_MAX:
        raise errors.SqlError(
            errors.PROGRAM_LIMIT, f"the statement has {len(sql)} characters; the limit is {SQL_BYTES_MAX}"
        )
    return sql
