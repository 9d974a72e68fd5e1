"""Sessions of a node at the store: libpq in pipeline mode, one batch of messages per round trip.

Everything up to a Sync is one transaction for PostgreSQL unless BEGIN says otherwise, and after an error the rest of
the batch is skipped, so a batch may end in COMMIT without looking back. psycopg connects and owns the C library; its
cursors cost more than the statements do. Results and parameters are binary.
"""

import asyncio
import contextlib
import fcntl
import logging
import select
import struct
import sys
import termios
import time
from collections import Counter, deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import psycopg
from psycopg import pq

from expressions.errors import CONNECTION_FAILURE, PROGRAM_LIMIT, QUERY_CANCELED, TOO_MANY_CONNECTIONS, SqlError
from expressions.limits import TOO_LONG
from nodes.store.relay import ROW_BYTES_MAX, Relay
from storage.commit_outcomes import LIFE

log = logging.getLogger(__name__)

TEXT, BINARY = 0, 1
PREPARED_MAX = 500
POOL_MAX = 24
POOL_WAIT_S = 10.0
STOP_S_MAX = 10.0
CONNECT_S_MAX = 10
READ_COMMITTED = "BEGIN ISOLATION LEVEL READ COMMITTED"
ANSWER_BYTES_MAX = 2**21
"""Of what the store says to one message outside of a pipeline: twice a value."""
SLICE_S = 0.002
"""Others get their turn after reading an answer for so long: its rows may be short and many."""
LONG_ROW = f"rows of the result have more than {ROW_BYTES_MAX} bytes"
WRITE_BYTES = 2**16
"""Of data for COPY, before it is seen whether PostgreSQL still takes them."""
CUT = b"the data are cut off"
BYTEA, INT2 = 17, 21
REFUSED = (pq.ExecStatus.FATAL_ERROR, pq.ExecStatus.PIPELINE_ABORTED)
SYNC, CHUNK = pq.ExecStatus.PIPELINE_SYNC, pq.ExecStatus.TUPLES_CHUNK

_ARRAY_HEAD = struct.Struct("!iiiii")
_INT4 = struct.Struct("!i")

Param = bytes | None
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Command:
    """One statement of a batch: SQL with psycopg's %b, and parameters in PostgreSQL's binary or text form."""

    sql: str
    params: tuple[Param, ...] = ()
    is_text: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UsersCommand(Command):
    """A text with a user's words in it, which runs as the reader role; its placeholders are $1, $2, .. `oids` and
    `formats` are of its parameters. `is_kept`: it is prepared, since it will come again. `style`: the settings under
    which it is read. `offset_of` gives the byte of the user's text that a character is of."""

    oids: tuple[int, ...] = ()
    formats: tuple[int, ...] = ()
    result_format: int = TEXT
    is_kept: bool = False
    relay: Relay | None = None
    style: tuple[str, ...] = ()
    offset_of: Callable[[int], int] | None = None

    @property
    def key(self) -> Hashable:
        """Its name among prepared ones: constants in a text mean what the settings said when it was read."""
        return self.sql, self.oids, self.style


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyCommand(UsersCommand):
    """A COPY TO, whose data go to its relay as they are. It takes no parameters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyInCommand(CopyCommand):
    """A COPY FROM STDIN. `data` gives what it reads, once PostgreSQL has said whether that is binary."""

    data: Callable[[bool], AsyncGenerator[bytes]]
    notice: Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeCommand(UsersCommand):
    """A text whose parameters and columns are asked for; its result has them, and nothing is done."""


@dataclass(eq=False)
class StoreError(Exception):
    """The store refused the statement `position` of a batch. `hint` is the store's; `at` the character that it names,
    from 1, or 0."""

    sqlstate: str
    message: str
    detail: str = ""
    position: int = 0
    hint: str = ""
    at: int = 0
    table: str = ""
    column: str = ""
    constraint: str = ""
    where: str = ""

    def __str__(self) -> str:
        return self.message


@dataclass(eq=False)
class StoreConnectionLost(StoreError):
    """The session at the store is gone; `message` is what it last said, `results` what came back of the batch."""

    results: "Sequence[pq.abc.PGresult]" = ()


class CancelledAtCommit(Exception):
    """`cancel` came when COMMIT had been sent. The batch is over all the same, and this came of it."""

    def __init__(
        self, cancel: asyncio.CancelledError, results: "list[pq.abc.PGresult]", error: StoreError | None
    ) -> None:
        super().__init__()
        self.cancel, self.results, self.error = cancel, results, error


async def finished(work: Coroutine[Any, Any, T]) -> tuple[T, asyncio.CancelledError | None]:
    """The outcome of work that is not broken off, and the cancel that came meanwhile: the caller has to heed it."""
    task = asyncio.ensure_future(work)
    cancel = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancel = error
    return task.result(), cancel


@dataclass(slots=True)
class _Batch:
    """The commands on their way; `done` is cancelled with who waits for it, `is_over` says when the store is done."""

    done: asyncio.Future[None]
    relays: dict[int, Relay]
    """By the places of their commands."""
    later: Sequence[Command]
    """A COPY, which no pipeline takes, and what comes behind it: not sent yet."""
    prepares: deque[tuple[Hashable, bytes] | None] = field(default_factory=deque)
    apart: CopyCommand | None = None
    """The COPY that is under way."""
    has_data: bool = False
    """Its data come."""
    feed: "_Feed | None" = None
    """Its data are waited for."""
    results: list[pq.abc.PGresult] = field(default_factory=list)
    error: StoreError | None = None
    seen: int = 0
    is_over: bool = False

    @property
    def relay(self) -> Relay | None:
        """That of the command whose answer comes next; after an error none comes."""
        is_next = self.error is None and bool(self.prepares) and self.prepares[0] is None
        return self.relays.get(self.seen) if is_next else None

    def end(self) -> None:
        self.is_over = True
        if not self.done.done():
            self.done.set_result(None)


@dataclass(slots=True)
class _Feed:
    """The messages of PostgreSQL while data are sent to it.

    libpq hands over a notice at once, and an error when the data end. So bytes that give no notice are an error,
    unless the rest of a notice comes while more is sent.
    """

    is_binary: bool
    has_notice: bool = False
    is_read: bool = False
    is_unclear: bool = False
    is_cut: bool = False
    """The rest of the data is not sent."""

    def is_refused(self) -> bool:
        """True if an error has come before the data that were sent last."""
        was_unclear, self.is_unclear = self.is_unclear, not self.has_notice and (self.is_read or self.is_unclear)
        is_refused = was_unclear and not self.has_notice
        self.has_notice = self.is_read = False
        return is_refused


def arrived(socket: int) -> int:
    """The bytes that have arrived at a socket and are not read yet."""
    return int.from_bytes(fcntl.ioctl(socket, termios.FIONREAD, bytes(4)), sys.byteorder)


def first_line(error: Exception) -> str:
    """The first line of libpq's message, without its advice to people who call it themselves."""
    return str(error).strip().partition("\n")[0]


def numbered(sql: str) -> str:
    first, *others = sql.replace("%s", "%b").split("%b")
    return first + "".join(f"${number}{text}" for number, text in enumerate(others, start=1))


def int4(value: int) -> bytes:
    return _INT4.pack(value)


def int8(value: int) -> bytes:
    return struct.pack("!q", value)


def int2_array(values: Sequence[int]) -> bytes:
    elements = b"".join([b"\x00\x00\x00\x02" + value.to_bytes(2) for value in values])
    return _ARRAY_HEAD.pack(1, 0, INT2, len(values), 1) + elements


def bytea_array(values: Sequence[bytes]) -> bytes:
    parts = [_ARRAY_HEAD.pack(1, 0, BYTEA, len(values), 1)] if values else [struct.pack("!iii", 0, 0, BYTEA)]
    for value in values:
        parts.append(_INT4.pack(len(value)))
        parts.append(value)
    return b"".join(parts)


def binary(*params: bytes | int | list[bytes] | list[int]) -> tuple[bytes, ...]:
    """Parameters of `storage.statements`: numbers are bigint, those in arrays int2."""
    return tuple(_binary(param) for param in params)


def _binary(param: bytes | int | list[bytes] | list[int]) -> bytes:
    if isinstance(param, bytes):
        return param
    if isinstance(param, int):
        return int8(param)
    return int2_array(param) if param and isinstance(param[0], int) else bytea_array(param)  # type: ignore[arg-type]


class StoreConnection:
    """One session at the store. One batch at a time; `is_ready` when none is under way and the last did not fail."""

    def __init__(self, connection: psycopg.AsyncConnection[Any]) -> None:
        self._owner = connection
        self._pgconn = connection.pgconn
        self._loop = asyncio.get_running_loop()
        self._names: dict[Hashable, bytes] = {}
        self._named = 0
        self._batch: _Batch | None = None
        self._last_words = ""
        self._pgconn.nonblocking = 1
        self._pgconn.notice_handler = self._hear_last_words
        self._pgconn.enter_pipeline_mode()
        self._fd = self._pgconn.socket
        self._arrivals = select.poll()
        self._arrivals.register(self._fd, select.POLLIN)
        self._loop.add_reader(self._fd, self._on_readable)
        self.is_lost = False
        self.is_ready = True
        self._is_paused = False
        self._next_read: asyncio.Handle | None = None
        """Reads on what had to wait for the turns of others."""
        self._written: asyncio.Future[None] | None = None
        """Done once the socket has taken what libpq holds."""
        self._unread = 0
        """Bytes read amid a COPY that no notice has explained."""
        self.life: str | None = None

    @classmethod
    async def connect(cls, dsn: str, application_name: str, options: str, *, lives: bool = True) -> "StoreConnection":
        """A new session; of one that never commits nobody asks for the sign of the server's life (`lives`)."""
        owner = await psycopg.AsyncConnection.connect(
            dsn, autocommit=True, application_name=application_name, options=options, connect_timeout=CONNECT_S_MAX
        )
        connection = cls(owner)
        try:
            connection.life = await connection._read_life() if lives else None
        except BaseException:
            await connection.close()
            raise
        return connection

    async def _read_life(self) -> str | None:
        """The sign of the server's life, which is this session's too (`storage.commit_outcomes`); None: unreadable."""
        try:
            async with asyncio.timeout(CONNECT_S_MAX):
                results = await self.run([Command(READ_COMMITTED), Command(LIFE), Command("COMMIT")])
        except StoreConnectionLost:
            raise
        except (StoreError, TimeoutError) as error:
            log.warning("no COMMIT of this session can be proved, should it be lost: %s", error or "no answer in time")
            if self.is_lost:
                raise self._lost() from error
            await self.run([Command("ROLLBACK")])
            return None
        sign = results[1].get_value(0, 0)
        return None if sign is None else sign.decode()

    @property
    def backend_pid(self) -> int:
        return self._pgconn.backend_pid

    def is_silent(self) -> bool:
        """True for an idle session that the server has not ended: such a one says nothing unasked."""
        return not self.is_lost and not self._arrivals.poll(0)

    async def run(self, commands: Sequence[Command], *, commit: bool = False) -> list[pq.abc.PGresult]:
        """The results of the commands. Raises `StoreError` for the first failure. Cancelled, it stops the batch and
        waits until the session is free again, or lost. With `commit` (the last command is COMMIT) it then raises
        `CancelledAtCommit`."""
        assert self._batch is None, "a session of the store does one batch at a time"
        if self.is_lost:
            raise self._lost()
        try:
            relays = {n: c.relay for n, c in enumerate(commands) if isinstance(c, UsersCommand) and c.relay is not None}
            place = next((n for n, c in enumerate(commands) if isinstance(c, CopyCommand)), len(commands))
            batch = _Batch(self._loop.create_future(), relays, commands[place:])
            batch.prepares = self._send(commands[:place])
            if batch.relay is not None:
                self._pgconn.set_chunked_rows_mode(batch.relay.chunk_rows)
        except psycopg.OperationalError as error:
            self._lose(first_line(error))
            raise self._lost() from error
        self._batch, self.is_ready = batch, False
        for relay in relays.values():
            relay.resume = self._resume
        self._push()
        try:
            await batch.done
            if batch.feed is not None:
                await self._send_data(batch, batch.feed)
        except asyncio.CancelledError as cancel:
            await finished(self._stop(batch))
            if commit:
                raise CancelledAtCommit(cancel, batch.results, batch.error) from None
            raise
        if batch.error is not None:
            raise batch.error
        self.is_ready = True
        return batch.results

    @property
    def last_words(self) -> str:
        return self._last_words or "the session at the store is closed"

    async def discard_all(self) -> None:
        await self.run([UsersCommand("DISCARD ALL")])
        self._names.clear()

    async def close(self, why: str = "the node closed the session at the store") -> None:
        self.discard(why)
        await self._owner.close()

    def discard(self, why: str = "the node closed the session at the store") -> None:
        self._lose(why)
        self._pgconn.finish()

    def _send(self, commands: Sequence[Command]) -> deque[tuple[Hashable, bytes] | None]:
        """Hand the commands to libpq; returns, for each result to come, what it prepares (a key and name) or None."""
        expected: deque[tuple[Hashable, bytes] | None] = deque()
        if len(self._names) > PREPARED_MAX:
            self._pgconn.send_query_params(b"DEALLOCATE ALL", None)
            self._names.clear()
            expected.append(("", b""))
        pending: dict[Hashable, bytes] = {}
        for command in commands:
            if isinstance(command, UsersCommand):
                self._send_users(command, pending, expected)
                continue
            name = self._names.get(command.sql) or pending.get(command.sql)
            if name is None:
                self._named += 1
                name = pending[command.sql] = b"s%d" % self._named
                self._pgconn.send_prepare(name, numbered(command.sql).encode())
                expected.append((command.sql, name))
            formats = [TEXT if command.is_text else BINARY] * len(command.params)
            self._pgconn.send_query_prepared(name, command.params, formats, BINARY)
            expected.append(None)
        self._pgconn.pipeline_sync()
        return expected

    def _send_users(
        self, command: UsersCommand, pending: dict[Hashable, bytes], expected: deque[tuple[Hashable, bytes] | None]
    ) -> None:
        """Send a text: one that comes once is parsed and done in one message, and forgotten with the next one."""
        values, formats = command.params or None, list(command.formats) or None
        oids = list(command.oids) or None
        if isinstance(command, DescribeCommand):
            self._pgconn.send_prepare(b"", command.sql.encode(), oids)
            expected.append(("", b""))
            self._pgconn.send_describe_prepared(b"")
        elif not command.is_kept:
            self._pgconn.send_query_params(command.sql.encode(), values, oids, formats, command.result_format)
        else:
            name = self._names.get(command.key) or pending.get(command.key)
            if name is None:
                self._named += 1
                name = pending[command.key] = b"s%d" % self._named
                self._pgconn.send_prepare(name, command.sql.encode(), oids)
                expected.append((command.key, name))
            self._pgconn.send_query_prepared(name, values, formats, command.result_format)
        expected.append(None)

    def _push(self) -> None:
        try:
            if self._pgconn.flush():
                self._written = self._loop.create_future()
                self._loop.add_writer(self._fd, self._on_writable)
        except psycopg.OperationalError as error:
            self._lose(first_line(error))

    def _on_writable(self) -> None:
        try:
            if not self._pgconn.flush():
                self._stop_writing()
        except psycopg.OperationalError as error:
            self._lose(first_line(error))

    def _stop_writing(self) -> None:
        self._loop.remove_writer(self._fd)
        if self._written is not None and not self._written.done():
            self._written.set_result(None)

    def _on_readable(self) -> None:
        """Reads until nothing more comes, or others are to have their turn. libpq reads a piece at a time, and uvloop
        watches a socket no longer after its first error: this call may be the last, and the end of the stream has to
        be read."""
        if self._next_read is not None:  # what it has not read yet is read then
            return
        until = time.monotonic() + SLICE_S
        while self._read(until):
            if self.is_lost or self._is_paused or not (arrived := self._arrivals.poll(0)):
                return
            if not arrived[0][1] & select.POLLIN:
                self._lose("the connection to the store broke")
                return
            if time.monotonic() > until:  # amid a long row, of which libpq hands over nothing yet
                break
        self._next_read = self._loop.call_soon(self._read_on)

    def _read_on(self) -> None:
        if self._next_read is not None:
            self._next_read.cancel()
            self._next_read = None
        if not self.is_lost and not self._is_paused:
            self._on_readable()

    def _resume(self) -> None:
        if self._is_paused:
            self._is_paused = False
            if not self.is_lost:
                self._loop.add_reader(self._fd, self._on_readable)
                self._next_read = self._next_read or self._loop.call_soon(self._read_on)

    def _end_long(self, message: str) -> None:
        assert self._batch is not None
        self._batch.error = self._batch.error or StoreError(PROGRAM_LIMIT, message, position=self._batch.seen)
        self._lose(message)

    def _read(self, until: float) -> bool:
        """Takes what has arrived; False if some of it has to wait for the turns of others (`until`, monotonic)."""
        try:
            relay = None if self._batch is None else self._batch.relay
            if relay is not None:
                relay.bytes_without_row += arrived(self._fd)
                if relay.bytes_without_row > ROW_BYTES_MAX:
                    self._end_long(LONG_ROW)
            elif self._batch is not None and self._batch.apart is not None:
                size = arrived(self._fd)
                self._unread += size
                if self._batch.feed is not None and size:
                    self._batch.feed.is_read = True
                if self._unread > ANSWER_BYTES_MAX:
                    self._end_long(TOO_LONG)
            if self.is_lost:
                return True
            self._pgconn.consume_input()
            while self._batch is not None and (self._batch.has_data or not self._pgconn.is_busy()):
                if time.monotonic() > until:
                    return False
                if self._batch.has_data:
                    if not self._take_data(self._batch):
                        break
                    continue
                if self._batch.feed is not None:
                    break
                result = self._pgconn.get_result()
                if result is not None:
                    self._take(self._batch, result)
                elif self._batch.apart is not None:
                    self._end_apart(self._batch)
                elif (relay := self._batch.relay) is not None:  # the answer before it is complete
                    self._pgconn.set_chunked_rows_mode(relay.chunk_rows)
                if relay is not None and relay.is_full:
                    self._pause()
                    return True
            if self._batch is None:
                self._pgconn.is_busy()  # lets libpq read what came unasked: a farewell
        except psycopg.OperationalError as error:
            self._lose(first_line(error))
            return True
        if self._pgconn.status == pq.ConnStatus.BAD:
            self._lose("the store closed the session")
        return True

    def _pause(self) -> None:
        self._is_paused = True
        self._loop.remove_reader(self._fd)

    async def _send_data(self, batch: _Batch, feed: _Feed) -> None:
        """Send the data of a COPY, and wait for what comes of the batch. Raises what its source raises."""
        assert isinstance(batch.apart, CopyInCommand)
        size = 0
        try:
            async with contextlib.aclosing(batch.apart.data(feed.is_binary)) as pieces:
                async for piece in pieces:
                    if self._arrivals.poll(0):  # libpq reads it unheard if the socket is full
                        self._read_on()
                    if batch.is_over:
                        break
                    self._pgconn.put_copy_data(piece)
                    size += len(piece)
                    if size >= WRITE_BYTES:
                        size = 0
                        await self._flushed()
                        if batch.is_over or feed.is_refused():
                            feed.is_cut = True
                            break
        except psycopg.OperationalError as error:
            self._lose(first_line(error))
        except asyncio.CancelledError:
            raise  # the batch is stopped for it
        except Exception:
            feed.is_cut = True
            await self._done_after_data(batch)
            raise
        await self._done_after_data(batch)

    async def _done_after_data(self, batch: _Batch) -> None:
        batch.done = self._loop.create_future()
        self._end_data(batch)
        await batch.done

    def _end_data(self, batch: _Batch) -> None:
        """Say that the data are complete, or else that PostgreSQL is not to take those that came for all of them."""
        feed, batch.feed = batch.feed, None
        if batch.is_over:
            batch.end()
        elif feed is not None:
            try:
                self._pgconn.put_copy_end(CUT if feed.is_cut else None)
                self._push()
            except psycopg.OperationalError as error:
                self._lose(first_line(error))

    async def _flushed(self) -> None:
        """Let others go first, and wait until the socket has taken all."""
        self._push()
        await asyncio.sleep(0)
        if self._written is not None and not self._written.done():
            await self._written

    def _take_data(self, batch: _Batch) -> bool:
        """Take the next message of a COPY, or its end; False if the rest has to wait."""
        size, data = self._pgconn.get_copy_data(1)
        batch.has_data = size >= 0
        relay = batch.relays[batch.seen]
        if size > 0:
            relay.add_copied(data)
        if relay.is_full:
            self._pause()
        return bool(size) and not self._is_paused

    def _end_apart(self, batch: _Batch) -> None:
        """The COPY of a batch is over: what comes behind it is sent, unless it has failed."""
        self._pgconn.enter_pipeline_mode()
        batch.apart = None
        commands, batch.later = batch.later, ()
        if commands and batch.error is None:
            batch.prepares = self._send(commands)
            if batch.relay is not None:
                self._pgconn.set_chunked_rows_mode(batch.relay.chunk_rows)
            self._push()
        else:
            self._end(batch)

    def _end(self, batch: _Batch) -> None:
        self._batch = None
        batch.end()

    def _take(self, batch: _Batch, result: "pq.abc.PGresult") -> None:
        status = result.status
        if status == SYNC and batch.later and batch.error is None:
            batch.apart, *batch.later = batch.later
            assert isinstance(batch.apart, CopyCommand)
            self._pgconn.exit_pipeline_mode()
            self._pgconn.send_query_params(batch.apart.sql.encode(), None)
            self._unread = 0
            batch.prepares.append(None)
            self._push()
            return
        if status == SYNC:
            self._end(batch)
            return
        if status == pq.ExecStatus.COPY_IN:
            batch.feed = _Feed(bool(result.binary_tuples), is_cut=batch.error is not None)
            if batch.error is not None:  # nobody wants it any more
                self._end_data(batch)
            elif not batch.done.done():
                batch.done.set_result(None)
            return
        if status == pq.ExecStatus.COPY_OUT:
            batch.has_data = True
            batch.relays[batch.seen].begin_copy(result)
            return
        if status == CHUNK and batch.relay is not None:
            if not batch.relay.add(result):
                self._end_long(LONG_ROW)
            return
        failed = status in REFUSED
        if failed:
            self._hear_last_words(result)
            batch.error = batch.error or _error_of(result, batch.seen)
        if not batch.prepares:
            return
        if not failed and batch.relay is not None:
            batch.relay.end(result)
        prepared = batch.prepares.popleft()
        if prepared is None:
            batch.seen += 1
            batch.results.append(result)
        elif not failed and prepared[0]:
            self._names[prepared[0]] = prepared[1]

    def _hear_last_words(self, result: "pq.abc.PGresult") -> None:
        """A session goes on after an ordinary error: what that said is no reason for its end."""
        batch = self._batch
        if batch is not None and isinstance(batch.apart, CopyInCommand) and result.status not in REFUSED:
            self._unread = 0
            if batch.feed is not None:
                batch.feed.has_notice = True
            batch.apart.notice((result.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) or b"").decode())
        severity = result.error_field(pq.DiagnosticField.SEVERITY_NONLOCALIZED)
        if severity in (b"FATAL", b"PANIC"):
            self._last_words = (result.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) or b"").decode()

    def _lose(self, why: str) -> None:
        self._last_words = self._last_words or why.strip()
        if not self.is_lost:
            self.is_lost, self.is_ready = True, False
            self._loop.remove_reader(self._fd)
            self._stop_writing()
        batch, self._batch = self._batch, None
        if batch is not None:
            state = batch.error.sqlstate if batch.error else CONNECTION_FAILURE
            batch.error = StoreConnectionLost(state, self._last_words, position=batch.seen, results=batch.results)
            batch.end()

    def _lost(self) -> StoreConnectionLost:
        return StoreConnectionLost(CONNECTION_FAILURE, self.last_words)

    async def _stop(self, batch: _Batch) -> None:
        """Stop the batch at the store and wait until the session is free again; one that does not answer is closed."""
        if batch.is_over:
            return
        for relay in batch.relays.values():
            relay.let_go()
        if batch.later or batch.apart is not None:
            batch.later = ()
            batch.error = batch.error or StoreError(QUERY_CANCELED, "what was asked for is not wanted any more")
        batch.done = self._loop.create_future()
        try:
            async with asyncio.timeout(STOP_S_MAX):
                if batch.feed is not None:
                    batch.feed.is_cut = True
                    self._end_data(batch)
                else:
                    await asyncio.to_thread(self._pgconn.get_cancel().cancel)
                await asyncio.shield(batch.done)
        except (TimeoutError, psycopg.OperationalError) as error:
            await self.close(f"the store did not stop a statement: {error or f'no answer in {STOP_S_MAX:g} s'}")


def _error_of(result: "pq.abc.PGresult", position: int) -> StoreError:
    def text(code: pq.DiagnosticField) -> str:
        return (result.error_field(code) or b"").decode(errors="replace")

    return StoreError(
        text(pq.DiagnosticField.SQLSTATE) or CONNECTION_FAILURE,
        text(pq.DiagnosticField.MESSAGE_PRIMARY) or result.error_message.decode(errors="replace").strip(),
        text(pq.DiagnosticField.MESSAGE_DETAIL),
        position,
        text(pq.DiagnosticField.MESSAGE_HINT),
        int(text(pq.DiagnosticField.STATEMENT_POSITION) or 0),
        text(pq.DiagnosticField.TABLE_NAME),
        text(pq.DiagnosticField.COLUMN_NAME),
        text(pq.DiagnosticField.CONSTRAINT_NAME),
        text(pq.DiagnosticField.CONTEXT),
    )


Holder = tuple[str, bool]
"""A user ("" is the node itself), and whether it is for a block, which keeps its session between statements."""


@dataclass(slots=True)
class StorePool:
    """The node's sessions at the store, made when needed, at most `size_max`. One user gets at most a third, so that
    open transactions of one user never close the node for others. Blocks leave a sixth to statements that are their own
    transaction. Waiters are served in order; one whose user has a full share delays no other."""

    dsn: str
    application_name: str
    options: str
    size_max: int = POOL_MAX
    use: str = ""
    hint: str = "end open transactions, or use another node"
    """What they are for, and what to do without one, in words for who gets none."""
    wait_s: float = field(default_factory=lambda: POOL_WAIT_S)
    _idle: list[StoreConnection] = field(default_factory=list)
    _holders: dict[StoreConnection, Holder] = field(default_factory=dict)
    _pinned: dict[StoreConnection, str] = field(default_factory=dict)
    """Sessions that are kept between transactions, too, with their users."""
    _taken: Counter[Holder] = field(default_factory=Counter)
    _waiting: "dict[asyncio.Future[None], Holder]" = field(default_factory=dict)
    is_closed: bool = False

    @property
    def share(self) -> int:
        return max(1, self.size_max // 3)

    @property
    def free(self) -> int:
        return self.size_max - self._taken.total()

    async def take(self, user: str = "", *, is_block: bool = False) -> StoreConnection:
        """A session for one transaction. Raises 53300 when none gets free in time, 08006 when the store does not
        answer."""
        try:
            return await self._session_for(user, is_block=is_block)
        except StoreConnectionLost as lost:
            raise SqlError(CONNECTION_FAILURE, lost.message) from lost

    async def _session_for(self, user: str, *, is_block: bool = False) -> StoreConnection:
        holder, granted = (user, is_block), asyncio.get_running_loop().create_future()
        self._waiting[granted] = holder
        self._grant()
        try:
            if not granted.done():
                async with asyncio.timeout(self.wait_s):
                    await granted
            connection = self._idle_one() or await StoreConnection.connect(
                self.dsn, self.application_name, self.options
            )
        except TimeoutError:
            message = self._hindrance(user)
            self._leave(holder, granted)
            raise SqlError(TOO_MANY_CONNECTIONS, message, hint=self.hint) from None
        except psycopg.OperationalError as error:
            self._leave(holder, granted)
            raise StoreConnectionLost(CONNECTION_FAILURE, f"the store does not answer: {first_line(error)}") from error
        except BaseException:
            self._leave(holder, granted)
            raise
        self._holders[connection] = holder
        return connection

    def _hindrance(self, user: str) -> str:
        if self._has_share(user):
            what = f"sessions at the store{self.use}, its share"
            return f'user "{user}" has {self.share} of this node\'s {self.size_max} {what}'
        what = f"sessions of this node at the store{self.use}"
        if self.free:
            return f"all {self.size_max - self.free} {what} for open transactions have been busy for {self.wait_s:g} s"
        return f"all {self.size_max} {what} have been busy for {self.wait_s:g} s"

    def _has_share(self, user: str) -> bool:
        return bool(user) and self._taken[user, False] + self._taken[user, True] >= self.share

    def pin(self, connection: StoreConnection) -> None:
        """Lets a session be kept after its transaction. It counts in its user's share, of which half may be kept, as of
        the pool (53300)."""
        (user, _), most = self._holders[connection], max(1, self.share // 2)
        hint = "close cursors WITH HOLD, or use another node"
        if len(self._pinned) >= self.size_max // 2:
            message = f"half of this node's {self.size_max} sessions at the store keep what is their clients' own"
            raise SqlError(TOO_MANY_CONNECTIONS, message, hint=hint)
        if sum(one == user for one in self._pinned.values()) >= most:
            message = f'{most} sessions at the store keep what is of user "{user}", half of its share'
            raise SqlError(TOO_MANY_CONNECTIONS, message, hint=hint)
        self._pinned[connection] = user

    def _grant(self) -> None:
        for granted, (user, is_block) in list(self._waiting.items()):
            blocks = sum(count for (_, of_block), count in self._taken.items() if of_block)
            is_full = is_block and blocks >= self.size_max - self.size_max // 6
            if granted.done() or self.free <= 0 or is_full or self._has_share(user):  # a cancelled one leaves by itself
                continue
            del self._waiting[granted]
            self._taken[user, is_block] += 1
            granted.set_result(None)

    def _leave(self, holder: Holder, granted: "asyncio.Future[None] | None" = None) -> None:
        """Gives a place back; one that was not `granted` yet is not waited for any more."""
        if granted is None or self._waiting.pop(granted, None) is None:
            self._taken[holder] -= 1
            if not self._taken[holder]:
                del self._taken[holder]
        self._grant()

    def put_back(self, connection: StoreConnection) -> None:
        if connection.is_lost or self.is_closed:
            connection.discard()
        else:
            self._idle.append(connection)
        self._pinned.pop(connection, None)
        self._leave(self._holders.pop(connection))

    def _idle_one(self) -> StoreConnection | None:
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_lost:
                return connection
            connection.discard()
        return None

    @contextlib.asynccontextmanager
    async def session(self, user: str = "") -> AsyncIterator[StoreConnection]:
        """As `take`, for who may try again: raises `StoreConnectionLost` when the store does not answer."""
        connection = await self._session_for(user)
        try:
            yield connection
        finally:
            self.put_back(connection)

    async def close(self) -> None:
        self.is_closed = True
        for connection in self._idle:
            await connection.close()
        self._idle.clear()
