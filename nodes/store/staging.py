"""A session at the store in which PostgreSQL reads the data of one COPY FROM, apart from the transaction that writes.

    BEGIN, the client's settings, reader role, CREATE TABLE pg_temp.t · COPY pg_temp.t · SELECT, ROLLBACK

It takes as long as its client sends, and no lease has to last so long: it has no version's lock and no deadline, and
nothing of it stays. The transaction that writes begins when the data is complete.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence

from expressions.errors import CONNECTION_FAILURE, PROGRAM_LIMIT, SqlError
from expressions.limits import TOO_LONG
from nodes.store.pipeline import (
    ANSWER_BYTES_MAX,
    BINARY,
    CUT,
    READ_COMMITTED,
    Command,
    CopyInCommand,
    StoreConnection,
    StoreConnectionLost,
    StoreError,
    StorePool,
    UsersCommand,
    finished,
)
from nodes.store.refusals import UsersError
from nodes.store.relay import Relay, Row

BYTES_MAX = 2**31
"""Of the data of one COPY."""
LINE_BYTES_MAX = 2**23
"""Of data in text and CSV. PostgreSQL quotes a wrong value whole, and a node holds what it says."""
WIDE_BYTES = 2**15
"""Rows of longer lines, on an average, come one by one from the store."""
ROLLBACK = Command("ROLLBACK")
COPY = 3
"""Its place in the batch."""


async def bounded(pieces: AsyncIterator[bytes], rows: Relay, *, has_lines: bool) -> AsyncGenerator[bytes]:
    """The data, whose `rows` come back. Raises 54000 for too much of it, in text and CSV also for a line too long."""
    total = line = ends = 0
    async for piece in pieces:
        total += len(piece)
        if total > BYTES_MAX:
            hint = "copy in parts, or use `manage.py load`, which loads in bounded transactions"
            raise SqlError(PROGRAM_LIMIT, f"one COPY may have at most {BYTES_MAX} bytes", hint=hint)
        end = max(piece.rfind(b"\n"), piece.rfind(b"\r"))
        line = len(piece) - 1 - end if end >= 0 else line + len(piece)
        if has_lines and line > LINE_BYTES_MAX:
            message = f"a line of COPY's data may have at most {LINE_BYTES_MAX} bytes"
            raise SqlError(PROGRAM_LIMIT, message, hint="look for a line end that is missing")
        ends += piece.count(b"\n")
        yield piece
    if total > WIDE_BYTES * (ends + 1):
        rows.chunk_rows = 1


async def staged(
    pool: StorePool, user: str, before: Command, create_sql: str, copy: CopyInCommand, read_sql: str, rows: Relay
) -> AsyncGenerator[Sequence[Row]]:
    """The rows of the staging table, in binary, as they come. Who does not take all has to close it.

    `before`: the settings of the client, and its role. Raises what PostgreSQL says, and 53300 for want of a session.
    """
    connection = await pool.take(user)
    read = UsersCommand(read_sql, result_format=BINARY, relay=rows)
    commands = [Command(READ_COMMITTED), before, UsersCommand(create_sql), copy, read, ROLLBACK]
    assert commands[COPY] is copy
    rows.begin(asyncio.get_running_loop().create_task(connection.run(commands)))
    try:
        while (some := await rows.next()) is not None:
            yield some
        await rows.finish()
    except StoreError as error:
        raise _translated(error, copy if error.position == COPY else read) from error
    finally:
        _, cancel = await finished(_end(pool, connection, rows))
        if cancel is not None:
            raise cancel


async def _end(pool: StorePool, connection: StoreConnection, rows: Relay) -> None:
    await rows.drop()
    try:
        if not connection.is_ready and not connection.is_lost:
            await connection.run([ROLLBACK])
    except StoreError as error:
        await connection.close(error.message)
    finally:
        pool.put_back(connection)


def _translated(error: StoreError, command: UsersCommand) -> SqlError:
    if len(error.message) + len(error.detail) + len(error.where) > ANSWER_BYTES_MAX:
        return SqlError(PROGRAM_LIMIT, TOO_LONG)
    if error.message.endswith(CUT.decode()):  # it was no error
        return SqlError(CONNECTION_FAILURE, "the store interrupted COPY", hint="try again")
    if isinstance(error, StoreConnectionLost) and error.sqlstate == CONNECTION_FAILURE:
        return SqlError(CONNECTION_FAILURE, f"the session at the store was lost: {error.message}")
    return UsersError(error, command)
