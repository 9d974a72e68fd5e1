"""A node's session inside the test's process, under versions that the test chooses, with its batches counted. It enters
the store as any node does."""

import asyncio
import datetime as dt
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from catalog.descriptor import Descriptor
from catalog.hashing import schema_hash, sharding_hash
from expressions.errors import SqlError
from leases.rules import NotLeasable
from nodes.clients.portals import Portal
from nodes.context import Environment
from nodes.session.session import Session
from nodes.store.name_cache import Directory
from nodes.store.pipeline import Command, StoreConnection, StorePool
from storage.buckets import BUCKETS
from storage.postgres import session_options
from tests.nodes.conftest import STORAGES, Cluster

HOUR = dt.timedelta(hours=1)


@dataclass(eq=False)
class Pin:
    descriptor: Descriptor
    expires_at_now: dt.datetime = field(default_factory=lambda: dt.datetime.now(dt.UTC) + HOUR)
    ended_because: str | None = None
    is_leased: bool = True

    @property
    def table_id(self) -> int:
        return self.descriptor.table_id

    @property
    def version(self) -> int:
        return self.descriptor.version

    @property
    def schema_hash(self) -> str:
        return schema_hash(self.descriptor)

    @property
    def sharding_hash(self) -> str:
        return sharding_hash(self.descriptor)


@dataclass
class Keeper:
    """Leases anybody the versions it knows, else the newest. `gone` are refused once."""

    cluster: Cluster
    known: dict[int, Descriptor] = field(default_factory=dict)
    used: list[str] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)

    def pin_held(self, table_id: int) -> Pin:
        if table_id not in self.known:
            self.known[table_id] = self.cluster.descriptor(table_id)
        found = self.known[table_id]
        if found.name in self.gone:
            self.gone.discard(found.name)
            raise NotLeasable(f"{found.name} is dropped")
        self.used.append(found.name)
        return Pin(found)

    async def pin(self, table_id: int, fresh: bool, at_most: int | None = None) -> Pin:
        return self.pin_held(table_id)

    def leases_older(self, table_id: int) -> bool:
        return False

    def unpin(self, pin: Pin) -> None:
        pass


class Statements:
    def __init__(self) -> None:
        self.prepared: dict[str, Any] = {}
        self.cursors: dict[str, Any] = {}

    def close_portals(self, *, since: int = 0) -> None: ...

    async def hold_cursors(self) -> None: ...

    def end_cursors(self, *, committed: bool) -> None: ...


class Client:
    pid = 1
    is_busy = True
    statements = Statements()

    def notice(self, *_: Any) -> None: ...

    def cancel(self, *_: Any) -> None: ...


@dataclass
class Within:
    """A session, and the batches that this process sends meanwhile."""

    session: Session
    keeper: Keeper
    batches: list[Sequence[Command]]
    answers: list[int]
    """Bytes of the answers to those."""
    refused: str = ""
    """The last refusal, in words."""

    async def run(self, sql: str, *, alone: bool = True) -> str | None:
        """A statement; the code it is refused with."""
        (statement,) = await self.session.parse(sql)
        try:
            prepared = await self.session.prepare(sql, statement, [])
            self.batches.clear()
            await self.session.execute(Portal(prepared), alone=alone)
        except SqlError as error:
            self.refused = error.message
            await self.session.fail(error)
            return error.sqlstate
        return None

    async def count(self, sql: str, *, alone: bool = True) -> int:
        """A statement that nobody refuses; how many batches it took."""
        assert await self.run(sql, alone=alone) is None
        return len(self.batches)


@asynccontextmanager
async def session_within(cluster: Cluster, *versions: Descriptor) -> AsyncIterator[Within]:
    """A session that uses these versions, and the newest ones of other tables."""
    name, batches, answers = "schemalab node within 1", list[Sequence[Command]](), list[int]()
    options = session_options(name)["options"]
    pool, other = Pool(cluster.dsn, name, options), StorePool(cluster.dsn, name, options)
    pool.batches, pool.answers = batches, answers
    keeper = Keeper(cluster, {version.table_id: version for version in versions})
    env = Environment("within", 1, STORAGES, BUCKETS, pool, Directory(other), keeper)  # type: ignore[arg-type]
    env.judging_pool = StorePool(cluster.dsn, name, options)
    session = Session(env, Client(), "tester")
    try:
        yield Within(session, keeper, batches, answers)
    finally:
        await session.close()
        await env.close()


class Pool(StorePool):
    """A pool whose sessions note what they send."""

    batches: list[Sequence[Command]]
    answers: list[int]

    async def take(self, user: str = "", *, is_block: bool = False) -> StoreConnection:
        connection, batches, answers = await super().take(user, is_block=is_block), self.batches, self.answers
        sent = type(connection).run

        async def run(commands: Sequence[Command], *, commit: bool = False) -> Any:
            batches.append(commands)
            results = await sent(connection, commands, commit=commit)
            answers.append(sum(size_of(result) for result in results))
            return results

        connection.run = run  # type: ignore[method-assign]
        return connection


def size_of(result: Any) -> int:
    """Bytes of its values."""
    places = ((row, column) for row in range(result.ntuples) for column in range(result.nfields))
    return sum(len(result.get_value(*place) or b"") for place in places)


def within(cluster: Cluster, work: Any, *versions: Descriptor) -> Any:
    """Do some work with such a session, in an event loop of its own."""

    async def alone() -> Any:
        async with session_within(cluster, *versions) as node:
            return await work(node)

    return asyncio.run(alone())
