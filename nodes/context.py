"""The environment that all sessions of a node share."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from catalog.descriptor import Descriptor
from leases.holders import Holder
from leases.rules import LeaseError
from nodes.beside import run_beside
from nodes.catalog_queries.shadow import Shadow
from nodes.execution.held_rows import NodeRows
from nodes.execution.pages import Table
from nodes.metrics import Meter
from nodes.notifications.hub import Hub
from nodes.router.router import Router
from nodes.store.name_cache import Directory
from nodes.store.pipeline import StorePool
from nodes.store.reader import Reader
from nodes.store.refusals import Retry
from nodes.store.transaction import Owner, Transaction

TABLES_MAX = 256

if TYPE_CHECKING:
    from leases.asyncio.keeper import LeaseKeeper, Pin


@dataclass(frozen=True, slots=True)
class TableOutcome:
    """The end of the transaction that a table was made in, and its user."""

    user: str
    has_committed: bool


@dataclass(eq=False)
class Environment:
    node: str
    incarnation: int
    storages: int
    buckets: int
    pool: StorePool
    directory: Directory
    keeper: LeaseKeeper
    hub: Hub = field(default_factory=lambda: Hub("", ""))
    lock_pool: StorePool = field(default_factory=lambda: StorePool("", "", ""))
    """Sessions at the store for advisory locks."""
    staging_pool: StorePool = field(default_factory=lambda: StorePool("", "", ""))
    """Sessions at the store in which PostgreSQL reads the data of COPY."""
    judging_pool: StorePool = field(default_factory=lambda: StorePool("", "", ""))
    """Sessions at the store in which PostgreSQL judges statements that write (`nodes.execution.judging`)."""
    shadow: Shadow = field(default_factory=lambda: Shadow("", "", "", Directory(StorePool("", "", ""))))
    reader: Reader = field(default_factory=lambda: Reader(None))
    """The role that users' statements are read as at the store."""
    meter: Meter = field(default_factory=lambda: Meter(time.monotonic()))
    in_place: set[Transaction] = field(default_factory=set)
    _waiting: list[asyncio.Future[None]] = field(default_factory=list)
    """Queries that wait for a place in `in_place`, the transactions whose query may take any time."""
    rows: NodeRows = field(default_factory=NodeRows)
    running: dict[Owner, float] = field(default_factory=dict)
    """Sessions whose statement runs, and since when; what takes as long as it takes (DDL, TRUNCATE) is left out."""
    unannounced: dict[int, TableOutcome] = field(default_factory=dict)
    """New tables whose transaction is over, and of which the cluster does not know yet what became."""
    announcing: set[int] = field(default_factory=set)
    """New tables of `unannounced` that are being announced now."""
    is_announcing_later: bool = False
    router: Router = field(init=False)
    """The reloads of this node, and the counts of its requests."""
    _tables: dict[int, Table] = field(default_factory=dict)
    _holders: dict[int, tuple[Pin, Transaction]] = field(default_factory=dict)
    _beside: set[asyncio.Task[None]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.router = Router(self.directory, self.keeper)

    @property
    def open_transactions(self) -> int:
        """The number of transactions that use some version now: each may hold a change back."""
        return len({id(transaction) for _, transaction in self._holders.values()})

    def long_waits(self, lease_s: float) -> list[float]:
        """Seconds that statements or transactions have been under way, of those that last longer than a lease. Either
        holds up a schema change, or others who wait for the same rows."""
        now, since = time.monotonic(), dict(self.running)
        for _, transaction in self._holders.values():
            if transaction.by is not None:
                since[transaction.by] = min(transaction.began, since.get(transaction.by, now))
        return [now - began for began in since.values() if now - began > lease_s]

    def holders(self) -> list[Holder]:
        """Sessions that use a version now, for people who wait for it."""
        now = time.monotonic()
        return [
            Holder(pin.table_id, pin.version, *by.label(), for_s=now - transaction.began)
            for pin, transaction in self._holders.values()
            if (by := transaction.by) is not None
        ]

    def table(self, descriptor: Descriptor) -> Table:
        """The table at one version. Descriptors come from the keeper, so the object itself is the key."""
        known = self._tables.get(id(descriptor))
        if known is None:
            if len(self._tables) >= TABLES_MAX:
                self._tables.clear()
            known = self._tables[id(descriptor)] = Table(descriptor, self.storages, self.buckets)
        return known

    def begin(self, *, is_read_only: bool = False, by: Owner | None = None, is_block: bool = False) -> Transaction:
        return Transaction(
            self.pool, self.storages, self._settle, is_read_only, is_reading=is_read_only, by=by, is_block=is_block
        )

    async def pin(self, transaction: Transaction, table_id: int, *, fresh: bool = False) -> Pin:
        """The version a transaction uses of a table, from its first use to its end (T1)."""
        known = transaction.pins.get(table_id)
        if known is not None:
            return known  # type: ignore[return-value]
        at_most = None
        if not fresh and transaction.connection is not None and self.keeper.leases_older(table_id):
            at_most = await transaction.newest_visible(table_id)
        held = None if fresh or at_most is not None else self.keeper.pin_held(table_id)
        pin = held or await self.keeper.pin(table_id, fresh, at_most)
        self._hold(transaction, pin)
        if transaction.trace is not None:
            transaction.trace.leased(pin, was_held=held is not None, fresh=fresh)
        return pin

    def pin_held(self, transaction: Transaction, descriptor: Descriptor) -> bool:
        """Use just this version, if the node holds a lease on it and it is the newest that it knows."""
        pin = self.keeper.pin_held(descriptor.table_id)
        if pin is None:
            return False
        if pin.descriptor is not descriptor or not pin.is_leased:
            self.keeper.unpin(pin)
            return False
        self._hold(transaction, pin)
        return True

    def _hold(self, transaction: Transaction, pin: Pin) -> None:
        transaction.pins[pin.table_id] = pin
        self._holders[id(pin)] = (pin, transaction)

    def unpin(self, transaction: Transaction, table_id: int) -> None:
        """The transaction has not used the table after all."""
        pin = transaction.pins.pop(table_id, None)
        if pin is not None and self._holders.pop(id(pin), None) is not None:
            self.keeper.unpin(pin)  # type: ignore[arg-type]

    async def load_refused(self, retry: Retry) -> None:
        """Loads the newest version of a table that was refused, before the client tries again. News of it may be lost,
        and without a lease the old one does not end by itself."""
        if retry.pin is not None:
            with suppress(LeaseError):  # the next attempt says so, or another node is asked
                self.keeper.unpin(await self.keeper.pin(retry.pin.table_id, fresh=True))

    def end_holder(self, pin: Pin) -> None:
        """Nothing done under this pin may be acknowledged any more. A query in progress may finish, under its lock
        (T4): it ends in `Block.end_expired`, or with its transaction."""
        _, transaction = self._holders.get(id(pin), (None, None))
        if transaction is None:
            return
        if transaction.is_reading and transaction.by is not None and transaction.by.is_busy:
            transaction.reads_on = True
            return
        del self._holders[id(pin)]
        self.run_beside("ending a transaction", transaction.abandon(pin.ended_because or "its lease ended"))

    def run_beside(self, what: str, work: Coroutine[Any, Any, None]) -> None:
        task = run_beside(what, work)
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)

    async def wait_for_room(self, transaction: Transaction) -> None:
        """Waits until a query may take a session at the store for as long as it likes. Those of one user get three
        quarters of its share, so that its reads and writes by key find a session, too."""
        user = "" if transaction.by is None else transaction.by.user
        while (
            sum(other.by is not None and other.by.user == user for other in self.in_place)
            >= self.pool.share - self.pool.share // 4
        ):
            waiting = asyncio.get_running_loop().create_future()
            self._waiting.append(waiting)
            try:
                await waiting
            finally:
                self._waiting.remove(waiting)
        self.in_place.add(transaction)

    def _settle(self, transaction: Transaction) -> None:
        if transaction in self.in_place:
            self.in_place.discard(transaction)
            for waiting in self._waiting:
                if not waiting.done():
                    waiting.set_result(None)
        for table_id in list(transaction.pins):
            self.unpin(transaction, table_id)

    async def close(self) -> None:
        for task in list(self._beside):
            task.cancel()
        self.router.close()
        await self.hub.close()
        await self.lock_pool.close()
        await self.staging_pool.close()
        await self.judging_pool.close()
        await self.pool.close()
        await self.directory.pool.close()
        await self.shadow.close()
