"""A session at the shadow: one text at a time, and an answer that is bounded while it comes.

The bytes of an answer are counted as they arrive: many rows end the session before they are here. libpq reads a large
value at once, so its length counts when it is here; how long one may be is a matter of the server's memory.
"""

import asyncio
import select
from collections.abc import Sequence

import psycopg
from psycopg import pq

from expressions.errors import PROGRAM_LIMIT, SqlError
from nodes.store.pipeline import arrived

ANSWER_BYTES_MAX = 32 * 2**20
CONNECT_S_MAX = 10
OPTIONS = "-c client_connection_check_interval=500 -c max_parallel_workers_per_gather=0 -c synchronize_seqscans=off"
"""The same query gives its rows in the same order twice."""
FAILED = pq.ExecStatus.FATAL_ERROR


def refuse_large(size: int) -> None:
    """Raises 54000 for an answer of so many bytes."""
    if size > ANSWER_BYTES_MAX:
        message = f"an answer of the catalog has more than {ANSWER_BYTES_MAX} bytes"
        raise SqlError(PROGRAM_LIMIT, message, hint="ask for fewer columns or rows")


class ShadowLost(Exception):
    """The session ended before its answer was here."""


class Session:
    """One session."""

    def __init__(self, owner: "psycopg.AsyncConnection[tuple[object, ...]]") -> None:
        self._owner, self._pgconn, self._fd = owner, owner.pgconn, owner.pgconn.socket
        self._pgconn.nonblocking = 1
        self._arrivals = select.poll()
        self._arrivals.register(self._fd, select.POLLIN)
        self.is_lost = False

    @classmethod
    async def connect(cls, dsn: str, application_name: str) -> "Session":
        try:
            owner = await psycopg.AsyncConnection.connect(
                dsn,
                autocommit=True,
                application_name=application_name,
                options=OPTIONS,
                connect_timeout=CONNECT_S_MAX,
            )
        except psycopg.OperationalError as error:
            raise ShadowLost(str(error).strip().partition("\n")[0]) from error
        return cls(owner)

    async def script(self, text: str) -> "list[pq.abc.PGresult]":
        """The results of several statements without parameters."""
        self._pgconn.send_query(text.encode())
        return await self._results()

    async def prepare(self, text: bytes, oids: Sequence[int]) -> "pq.abc.PGresult":
        """Parse the unnamed statement; its description."""
        self._pgconn.send_prepare(b"", text, oids or None)
        (parsed,) = await self._results()
        if parsed.status == FAILED:
            return parsed
        self._pgconn.send_describe_prepared(b"")
        (described,) = await self._results()
        return described

    async def execute(
        self, values: Sequence[bytes | None], formats: Sequence[int], result_format: int
    ) -> "pq.abc.PGresult":
        """Execute the unnamed statement."""
        self._pgconn.send_query_prepared(b"", values, formats, result_format)
        (result,) = await self._results()
        return result

    def is_silent(self) -> bool:
        """True for an idle session that the server has not ended: such a one says nothing unasked."""
        return not self._arrivals.poll(0)

    async def close(self) -> None:
        self.is_lost = True
        await self._owner.close()

    async def _results(self) -> "list[pq.abc.PGresult]":
        try:
            return await self._received()
        except psycopg.OperationalError as error:
            await self.close()
            raise ShadowLost(str(error).strip().partition("\n")[0]) from error
        except BaseException:
            await self.close()  # the server notices it, and ends what it does
            raise

    async def _received(self) -> "list[pq.abc.PGresult]":
        while self._pgconn.flush():
            await self._ready(writing=True)
        found, seen = [], 0
        while True:
            while self._pgconn.is_busy():
                await self._ready()
                seen += arrived(self._fd)
                refuse_large(seen)
                self._pgconn.consume_input()
            result = self._pgconn.get_result()
            if result is None:
                return found
            found.append(result)

    async def _ready(self, *, writing: bool = False) -> None:
        loop = asyncio.get_running_loop()
        ready: asyncio.Future[None] = loop.create_future()
        add, remove = (loop.add_writer, loop.remove_writer) if writing else (loop.add_reader, loop.remove_reader)
        add(self._fd, lambda: ready.done() or ready.set_result(None))
        try:
            await ready
        finally:
            remove(self._fd)
