"""The shadow of a node: sessions at it, whether it is behind the store, and the oids by which results name columns. One
word of the store says what is published, one of the shadow what it shows. Where they differ the node brings the shadow
along (`storage.shadow.following`), whoever published."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from weakref import WeakValueDictionary

import psycopg
from psycopg import pq

from catalog.descriptor import Descriptor
from catalog.text.sql_names import literal
from expressions.errors import (
    CONNECTION_FAILURE,
    NOT_IN_PREREQUISITE_STATE,
    PROGRAM_LIMIT,
    TOO_MANY_CONNECTIONS,
    SqlError,
)
from nodes.catalog_queries.functions import NAMES_SQL, names_of
from nodes.sql.admission import FunctionNames
from nodes.store.name_cache import Directory
from nodes.store.pipeline import Command, StoreConnection, StoreConnectionLost, UsersCommand, first_line
from nodes.wire import oids
from storage.shadow.database import ShadowUnusable
from storage.shadow.following import catch_up
from storage.shadow.position import DIGEST_SQL, SHOWS_SQL

log = logging.getLogger(__name__)

SESSIONS_MAX, SESSIONS_OF_USER = 4, 2
WAIT_S_MAX = 10.0
STATEMENT_S = 5
ANSWER_BYTES_MAX = 32 * 2**20
OPTIONS = "-c client_connection_check_interval=500 -c max_parallel_workers_per_gather=0 -c synchronize_seqscans=off"
"""The same query gives its rows in the same order twice."""
LEARN_S_MAX = 1.0
AGAIN_S = 5.0
"""After a failure oids are not asked for so long: rows do not wait for the catalog."""
PLACES_SQL = """
SELECT c.relname, c.oid, a.attname, a.attnum FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relnamespace = 'public'::regnamespace AND c.relname = {name} AND a.attnum > 0 AND NOT a.attisdropped
"""


@dataclass(eq=False)
class Shadow:
    store: str
    address: str
    application_name: str
    directory: Directory
    _idle: list[StoreConnection] = field(default_factory=list)
    _all: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(SESSIONS_MAX))
    _shares: "WeakValueDictionary[str, asyncio.Semaphore]" = field(default_factory=WeakValueDictionary)
    _following: "asyncio.Task[None] | None" = None
    _functions: FunctionNames | None = None
    _life: str = ""
    _failed_at: float = -AGAIN_S

    @asynccontextmanager
    async def session(self, user: str) -> AsyncIterator[StoreConnection]:
        """A session for one statement, which begins and ends its transaction in it. Raises 53300."""
        share = self._shares.get(user) or asyncio.Semaphore(SESSIONS_OF_USER)
        self._shares[user] = share
        try:
            async with asyncio.timeout(WAIT_S_MAX):
                await share.acquire()
                try:
                    await self._all.acquire()
                except BaseException:
                    share.release()
                    raise
        except TimeoutError:
            message = f"all sessions of this node for the catalog have been busy for {WAIT_S_MAX:g} s"
            raise SqlError(TOO_MANY_CONNECTIONS, message, hint="ask again, or another node") from None
        try:
            session = await self._idle_one() or await self._connected()
            try:
                yield session
            except StoreConnectionLost as lost:
                raise unanswered(lost) from lost
            finally:
                if not session.is_lost:
                    self._idle.append(session)
        finally:
            self._all.release()
            share.release()

    async def _idle_one(self) -> StoreConnection | None:
        while self._idle:
            session = self._idle.pop()
            if session.is_silent():
                return session
            await session.close()
        return None

    async def _connected(self) -> StoreConnection:
        try:
            return await self._connect()
        except psycopg.OperationalError:
            await self.follow()  # it may not be there yet
        try:
            return await self._connect()
        except psycopg.OperationalError as error:
            raise SqlError(CONNECTION_FAILURE, f"the catalog does not answer: {first_line(error)}") from error

    async def _connect(self) -> StoreConnection:
        return await StoreConnection.connect(self.address, self.application_name, OPTIONS, lives=False)

    async def published(self) -> str:
        result = await self.directory.ask(Command(DIGEST_SQL))
        return (result.get_value(0, 0) or b"").decode()

    async def follow(self) -> None:
        """Bring the shadow to what is published; who asks meanwhile waits for the same. Raises 55000."""
        following = self._following
        if following is not None:
            await asyncio.wait([following])  # it may have read the store before we did
        if self._following is following or self._following is None:
            self._following = asyncio.create_task(asyncio.to_thread(catch_up, self.store, self.address))
        try:
            await asyncio.shield(self._following)
        except ShadowUnusable as error:
            raise SqlError(NOT_IN_PREREQUISITE_STATE, str(error)) from error
        except psycopg.Error as error:
            message = str(error).strip().partition("\n")[0]
            raise SqlError(CONNECTION_FAILURE, f"the catalog does not answer: {message}") from error

    def shows(self, result: "pq.abc.PGresult", digest: str) -> bool:
        """True if the shadow shows what has this digest; forgets all oids when it was made anew."""
        sign = (result.get_value(0, 0) or b"").decode()
        shown, _, life = sign.partition(" ")
        if life != self._life:
            oids.forget_places()
            self._life = life
        return shown == digest

    async def functions(self, session: StoreConnection) -> FunctionNames:
        if self._functions is None:
            (result,) = await session.run([UsersCommand(NAMES_SQL)])
            rows = ((_text(result, row, 0), _text(result, row, 1) == "t") for row in range(result.ntuples))
            self._functions = names_of(rows)
        return self._functions

    async def close(self) -> None:
        for session in self._idle:
            await session.close()
        self._idle.clear()

    # -- oids ------------------------------------------------------------------------------------------------------

    async def learn(self, tables: Iterable[Descriptor], views: Iterable[tuple[int, str, Sequence[str]]] = ()) -> None:
        """Learns by which oids and numbers clients know the columns of these tables and views (id, name, columns). What
        cannot be learned is described as no table's column: rows do not wait for the catalog."""
        if not self.address:
            return
        wanted = [(t.table_id, t.name, {c.name: int(c.number) for c in t.public_columns}) for t in tables]
        wanted += [(i, name, {c: n for n, c in enumerate(columns, start=1)}) for i, name, columns in views]
        wanted = [one for one in wanted if not oids.knows(one[0], one[2].values())]
        if not wanted or time.monotonic() - self._failed_at < AGAIN_S:
            return
        try:
            async with asyncio.timeout(LEARN_S_MAX):
                await self._learn(wanted)
        except (SqlError, TimeoutError) as error:
            self._failed_at = time.monotonic()
            log.warning("the oids of columns are not known: %s", error or f"no answer in {LEARN_S_MAX:g} s")

    async def _learn(self, wanted: "list[tuple[int, str, dict[str, int]]]") -> None:
        digest = await self.published()
        async with self.session("") as session:
            (sign,) = await session.run([UsersCommand(SHOWS_SQL)])
            if not self.shows(sign, digest):
                await self.follow()
            for number, name, columns in wanted:
                (found,) = await session.run([UsersCommand(PLACES_SQL.format(name=literal(name)))])
                rows = range(found.ntuples)
                places = {_text(found, row, 2): int(_text(found, row, 3)) for row in rows}
                if places:
                    oid = int(_text(found, 0, 1))
                    oids.know(number, oid, {of: places[named] for named, of in columns.items() if named in places})


def unanswered(lost: StoreConnectionLost) -> SqlError:
    if lost.sqlstate == PROGRAM_LIMIT:
        return too_large()
    return SqlError(CONNECTION_FAILURE, f"the catalog does not answer: {lost.message}")


def too_large() -> SqlError:
    message = f"an answer of the catalog has more than {ANSWER_BYTES_MAX} bytes"
    return SqlError(PROGRAM_LIMIT, message, hint="ask for fewer columns or rows")


def _text(result: "pq.abc.PGresult", row: int, column: int) -> str:
    return (result.get_value(row, column) or b"").decode()
