"""A session at the store in which PostgreSQL reads the data of one COPY FROM, apart from the transaction that writes.

    BEGIN, the client's settings, reader role, CREATE TABLE pg_temp.t · COPY pg_temp.t · SELECT · ROLLBACK

It takes as long as its client sends, and no lease has to last so long: it has no version's lock and no deadline, and
nothing of it stays. The transaction that writes begins when the data is complete.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass

import psycopg
from psycopg import pq
from psycopg.copy import AsyncLibpqWriter

from expressions.errors import CONNECTION_FAILURE, PROGRAM_LIMIT, SqlError
from expressions.limits import TOO_LONG
from nodes.store.pipeline import (
    ANSWER_BYTES_MAX,
    BINARY,
    READ_COMMITTED,
    AnswerTooLong,
    Command,
    StoreConnection,
    StoreError,
    StorePool,
    UsersCommand,
    finished,
    first_line,
)
from nodes.store.relay import Relay, Row

BYTES_MAX = 2**31
"""Of the data of one COPY."""
LINE_BYTES_MAX = 2**23
"""Of data in text and CSV. PostgreSQL quotes a wrong value whole, and a node holds what it says."""
WRITE_BYTES = 2**16
ROLLBACK = Command("ROLLBACK")


@dataclass(eq=False)
class _Messages:
    """Messages from PostgreSQL amid the data.

    libpq hands over a notice at once, and an error when the data end. So bytes that give no notice are an error,
    unless the rest of a notice comes while more is sent.
    """

    notice: Callable[[str], None]
    _is_unclear: bool = False
    _has_notice: bool = False

    def receive(self, result: "pq.abc.PGresult") -> None:
        self._has_notice = True
        self.notice((result.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) or b"").decode())

    def have_error(self, *, is_read: bool) -> bool:
        """True if an error has come; `is_read`: something was read after the last data."""
        has_notice, was_unclear = self._has_notice, self._is_unclear
        self._has_notice, self._is_unclear = False, not has_notice and (is_read or was_unclear)
        return was_unclear and not has_notice


@dataclass(eq=False)
class _Size:
    """The size of the data, and in text and CSV that of the line that has not ended."""

    has_lines: bool
    total: int = 0
    line: int = 0

    def add(self, piece: bytes) -> None:
        """Raises 54000 for what is too long."""
        self.total += len(piece)
        if self.total > BYTES_MAX:
            hint = "copy in parts, or use `manage.py load`, which loads in bounded transactions"
            raise SqlError(PROGRAM_LIMIT, f"one COPY may have at most {BYTES_MAX} bytes", hint=hint)
        if self.has_lines:
            end = max(piece.rfind(b"\n"), piece.rfind(b"\r"))
            self.line = len(piece) - 1 - end if end >= 0 else self.line + len(piece)
            if self.line > LINE_BYTES_MAX:
                message = f"a line of COPY's data may have at most {LINE_BYTES_MAX} bytes"
                raise SqlError(PROGRAM_LIMIT, message, hint="look for a line end that is missing")


class _Writer(AsyncLibpqWriter):
    """Writes the data."""

    is_cut = False
    """The rest of the data does not come: PostgreSQL is not to take what came for all of them."""

    async def finish(self, exc: BaseException | None = None) -> None:
        await super().finish(InterruptedError() if exc is None and self.is_cut else exc)


class Staging:
    """The staging table of one COPY in its session."""

    row_bytes = 0
    """Of the data of a row, on an average."""

    def __init__(self, connection: StoreConnection) -> None:
        self._connection = connection

    async def make(self, before: Command, create_sql: str) -> None:
        """Make the table. `before`: the settings of the client, and its role."""
        try:
            await self._connection.run([Command(READ_COMMITTED), before, UsersCommand(create_sql)])
        except StoreError as error:
            raise SqlError(
                error.sqlstate, error.message, detail=error.detail or None, hint=error.hint or None
            ) from error

    async def copy(
        self,
        sql: str,
        begin: Callable[[bool], Awaitable[None]],
        pieces: AsyncIterator[bytes],
        notice: Callable[[str], None],
        offset_of: Callable[[int], int],
    ) -> None:
        """Have PostgreSQL read the data. Raises its errors; `offset_of` gives the byte of the client's text.

        `begin` asks for the data, binary or not, once the options are accepted. After an error nobody needs to send on.
        """
        waiting = bytearray()
        messages = _Messages(notice)
        try:
            async with self._connection.apart(messages.receive) as session, session.cursor() as cursor:
                writer = _Writer(cursor)
                async with cursor.copy(sql, writer=writer) as copy:
                    await copy.write(b"")  # psycopg adds nothing to data that has begun
                    assert cursor.pgresult is not None
                    is_binary = bool(cursor.pgresult.binary_tuples)
                    size = _Size(has_lines=not is_binary)
                    await begin(is_binary)
                    async for piece in pieces:
                        size.add(piece)
                        waiting += piece
                        if len(waiting) >= WRITE_BYTES:
                            await copy.write(bytes(waiting))
                            waiting.clear()
                            if messages.have_error(is_read=self._connection.read_notices()):
                                writer.is_cut = True
                                break
                    await copy.write(bytes(waiting))
            self.row_bytes = size.total // max(cursor.rowcount, 1)
        except psycopg.Error as error:
            raise _translated(error, offset_of) from error
        except AnswerTooLong:
            raise SqlError(PROGRAM_LIMIT, TOO_LONG) from None
        if writer.is_cut:  # it was no error
            raise SqlError(CONNECTION_FAILURE, "the store interrupted COPY", hint="try again")

    async def rows(self, sql: str, chunk_rows: int) -> AsyncGenerator[Sequence[Row]]:
        """The rows of a query, in binary, as they come. Who does not take all has to close it, which ends the batch."""
        relay = Relay(chunk_rows)
        commands = [UsersCommand(sql, result_format=BINARY, relay=relay)]
        relay.begin(asyncio.get_running_loop().create_task(self._connection.run(commands)))
        try:
            while (rows := await relay.next()) is not None:
                yield rows
            await relay.finish()
        except StoreError as error:
            raise SqlError(error.sqlstate, error.message) from error
        finally:
            _, cancel = await finished(relay.drop())
            if cancel is not None:
                raise cancel


@contextlib.asynccontextmanager
async def staging(pool: StorePool, user: str) -> AsyncIterator[Staging]:
    """A session for one COPY of a user's. Raises 53300 when none gets free in time."""
    connection = await pool.take(user)
    try:
        yield Staging(connection)
    finally:
        try:
            if not connection.is_lost:
                await connection.run([ROLLBACK])
        except StoreError:
            await connection.close()
        except BaseException:
            await connection.close()
            raise
        finally:
            pool.put_back(connection)


def _translated(error: psycopg.Error, offset_of: Callable[[int], int]) -> SqlError:
    given = error.diag
    if len(str(error)) > ANSWER_BYTES_MAX:
        return SqlError(PROGRAM_LIMIT, TOO_LONG)
    if given.sqlstate is None:
        return SqlError(CONNECTION_FAILURE, f"the session at the store was lost: {first_line(error)}")
    return SqlError(
        given.sqlstate,
        given.message_primary or first_line(error),
        offset_of(int(given.statement_position)) if given.statement_position else -1,
        detail=given.message_detail,
        hint=given.message_hint,
        table=given.table_name,
        column=given.column_name,
        constraint=given.constraint_name,
        where=given.context,
    )
