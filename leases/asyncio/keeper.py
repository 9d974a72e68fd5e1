"""The asyncio shell of a node's lease machine (docs/architecture/leases.md). It prevents a node from serving under a
lease that it does not have: each request has a time limit and an answer, and a failed renewal ends in `on_fatal` (L10).
Its times are the event loop's monotonic clock."""

import asyncio
import itertools
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, Self, assert_never

from catalog.elements import NodeId, TableId
from leases.asyncio.queries import DrainAsked, Leased, Queries, Superseded
from leases.asyncio.session import Unreachable
from leases.gossip import News, is_news
from leases.node import machine, vocabulary
from leases.node.holdings import NodeLeases, Phase
from leases.node.uses import Pin, Schema, Uses
from leases.redis.gossip import Missed, listen
from leases.rules import LeaseError, NotLeasable

log = logging.getLogger(__name__)

FATAL_EXIT_CODE = 75
"""A node that ends because it cannot renew exits with this: the supervisor starts it again (L10)."""

HEARTBEAT_S = 1.0
STOP_S_MAX = 5.0


class LeasesUnreachable(LeaseError):
    """The database could not be asked for a lease; a retry may succeed."""


class NodeDraining(LeaseError):
    """This node takes no new leases; another one may."""


class NodeStopped(LeaseError):
    """This node no longer serves."""


REFUSALS: dict[vocabulary.Why, type[LeaseError]] = {
    vocabulary.Why.GONE: NotLeasable,
    vocabulary.Why.UNREACHABLE: LeasesUnreachable,
    vocabulary.Why.DRAINING: NodeDraining,
    vocabulary.Why.STOPPED: NodeStopped,
}


class LeaseKeeper:
    """The leases of one incarnation of a node, as an async context after registration. `on_fatal(reason)` is called
    once, when the node must exit; `on_end(pin)` for each transaction that must end. Neither may block."""

    def __init__(
        self,
        *,
        node: str,
        incarnation: int,
        dsn: str,
        redis_url: str,
        lease_s: float,
        on_fatal: Callable[[str], None],
        on_end: Callable[[Pin], None] = lambda pin: None,
        stop_s_max: float = STOP_S_MAX,
    ) -> None:
        self._node, self._incarnation, self._redis_url = node, incarnation, redis_url
        self._on_fatal, self._on_end, self._stop_s_max = on_fatal, on_end, stop_s_max
        self._queries = Queries(dsn=dsn, node=node, incarnation=incarnation, lease_s=lease_s)
        self._state = NodeLeases(NodeId(node), incarnation)
        self._uses = Uses()
        self._schemas: dict[tuple[TableId, int], Schema] = {}
        self._requests = itertools.count(1)
        self._answers: dict[vocabulary.RequestId, asyncio.Future[Pin]] = {}
        self._inbox: deque[vocabulary.Event] = deque()
        self._is_stepping = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._alarm: asyncio.TimerHandle | None = None
        self._beat_now, self._drained = asyncio.Event(), asyncio.Event()
        self._is_leaving = False
        self._stopped_because: str | None = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: Any, trace: TracebackType | None) -> None:
        await self.stop()

    async def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._spawn(self._live())
        self._spawn(self._gossip())

    async def stop(self) -> None:
        """Ends all tasks; held leases expire, unless `drain` released them."""
        self._stop_serving(self._stopped_because or f"node {self._node} has stopped")
        if self._alarm is not None:
            self._alarm.cancel()
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        self._queries.abandon()
        if tasks:
            _, hanging = await asyncio.wait(tasks, timeout=self._stop_s_max)
            if hanging:
                log.error("keeper of %s: %s did not end within %g s", self._node, hanging, self._stop_s_max)
        await self._queries.close()

    # What callers use

    async def pin(self, table_id: int, fresh: bool = False, at_most: int | None = None) -> Pin:
        """Uses the newest leased version, or the freshest; pair with `unpin`. `at_most` is the newest version in a
        snapshot: an older one that is still leased serves it (T3). Raises `NotLeasable`, `LeasesUnreachable`,
        `NodeDraining` or `NodeStopped`."""
        pin = None if fresh or at_most is not None else self.pin_held(table_id)
        return pin or await self._pin_by_machine(TableId(table_id), fresh, at_most)

    def leases_older(self, table_id: int) -> bool:
        return len(self._state.table(TableId(table_id)).held) > 1

    def pin_held(self, table_id: int) -> Pin | None:
        """A pin on a version in use: a look-up without a step, I/O or await. None: `pin` has to ask."""
        if self._stopped_because is not None:
            raise NodeStopped(self._stopped_because)
        return self._uses.join(TableId(table_id), self._loop.time())

    def unpin(self, pin: Pin) -> None:
        """The transaction is over. Unpinning twice is harmless."""
        request = self._uses.leave(pin)
        if request is not None:
            self._feed(vocabulary.Unpin(request, pin.table_id))

    @property
    def is_draining(self) -> bool:
        return self._state.phase is Phase.DRAINING

    async def drain(self) -> None:
        """Takes no new leases and releases others once idle; returns when none is left."""
        self._is_leaving = True
        self._feed(vocabulary.Drain())
        await self._drained.wait()

    async def _pin_by_machine(self, table: TableId, fresh: bool, at_most: int | None) -> Pin:
        request = next(self._requests)
        answer = self._answers[request] = self._loop.create_future()
        self._feed(vocabulary.Pin(request, table, fresh, at_most))
        try:
            return await answer
        except asyncio.CancelledError:
            if answer.done() and not answer.cancelled() and answer.exception() is None:
                self.unpin(answer.result())
            else:
                self._feed(vocabulary.Unpin(request, table))
            raise
        finally:
            del self._answers[request]

    # The machine

    def _feed(self, event: vocabulary.Event) -> None:
        self._inbox.append(event)
        if self._is_stepping:
            return
        self._is_stepping = True
        try:
            while self._inbox:
                self._hear(self._inbox.popleft())
        finally:
            self._is_stepping = False

    def _hear(self, event: vocabulary.Event) -> None:
        """First gives back references without users."""
        if not isinstance(event, vocabulary.Pin | vocabulary.Unpin):
            for idle in self._uses.take_idle():
                self._step(vocabulary.Unpin(idle.request, idle.table))
        self._step(event)

    def _step(self, event: vocabulary.Event) -> None:
        if self._stopped_because is not None:
            return
        try:
            self._state, effects = machine.step(self._state, event, self._loop.time())
            for effect in effects:
                self._perform(effect)
            self._uses.learn(self._state)
        except Exception as mistake:  # what was left to do is lost, an exit perhaps: better no node than half of one
            self._die(f"its lease keeper made a mistake: {mistake}")
            raise

    def _perform(self, effect: vocabulary.Effect) -> None:
        match effect:
            case vocabulary.Grant():
                self._grant(effect)
            case vocabulary.Refuse():
                self._refuse(effect.request, REFUSALS[effect.why](effect.reason))
            case vocabulary.Acquire():
                self._spawn(self._acquire(effect.table))
            case vocabulary.Release():
                self._spawn(self._release(effect.table, effect.version))
            case vocabulary.Renew():
                self._spawn(self._renew(effect.tables))
            case vocabulary.EndTransactions():
                self._end(self._uses.end(sorted(effect.requests, key=str)), effect.reason)
            case vocabulary.WakeAt():
                self._wake_at(effect.at)
            case vocabulary.DrainDone():
                self._drained.set()
            case vocabulary.Exit():
                self._die(effect.reason)
            case _:
                assert_never(effect)

    def _grant(self, grant: vocabulary.Grant) -> None:
        """A use begins, or the caller joins one and its own reference goes back."""
        table, version = grant.table, grant.version
        held = self._state.table(table).version(version)
        assert held is not None, f"version {version} of table {table} was granted and is not held"
        use, now = self._uses.of_version(table, version), self._loop.time()
        if use is not None:
            use.learn(held)
            pin = use.pin(now)
            self._feed(vocabulary.Unpin(grant.request, table))
        else:
            pin = self._uses.begin(grant.request, table, held, self._schemas[table, version], now)
        answer = self._answers.get(grant.request)
        if answer is None or answer.done():
            self.unpin(pin)  # the caller has gone meanwhile
        else:
            answer.set_result(pin)

    def _refuse(self, request: vocabulary.RequestId, error: LeaseError) -> None:
        answer = self._answers.get(request)
        if answer is not None and not answer.done():
            answer.set_exception(error)

    def _end(self, pins: Sequence[Pin], reason: str) -> None:
        for pin in pins:
            pin.ended_because = reason
            self._on_end(pin)

    def _die(self, reason: str) -> None:
        if self._stopped_because is None:
            log.error("node %s incarnation %s stops serving: %s", self._node, self._incarnation, reason)
            self._stop_serving(reason)
            self._on_fatal(reason)

    def _stop_serving(self, reason: str) -> None:
        self._stopped_because = reason
        self._end(self._uses.end_all(), reason)
        self._drained.set()
        for request in tuple(self._answers):
            self._refuse(request, NodeStopped(reason))

    def _wake_at(self, at: float | None) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = None if at is None else self._loop.call_at(at, self._tick)

    def _tick(self) -> None:
        """Sets an early alarm again, since the machine does not repeat itself."""
        self._alarm = None
        self._feed(vocabulary.Tick())
        if self._alarm is None and self._state.wake_at is not None:
            self._wake_at(max(self._state.wake_at, self._loop.time() + 0.001))

    # What the machine asks of the database: every request is answered

    async def _acquire(self, table: TableId) -> None:
        try:
            answer = await self._queries.acquire(table)
        except Superseded as error:
            self._die(str(error))
        except DrainAsked:
            self._heed_drain(is_asked=True)
            self._feed(vocabulary.AcquireFailed(table, f"node {self._node} is draining"))
        except Unreachable as error:
            self._feed(vocabulary.AcquireFailed(table, f"no lease on table {table}: {error}"))
        else:
            self._acquired(table, answer)

    def _acquired(self, table: TableId, answer: Leased | vocabulary.AcquireFailed) -> None:
        if isinstance(answer, vocabulary.AcquireFailed):
            self._feed(answer)
            return
        self._schemas[table, answer.acquired.version] = answer.schema
        self._feed(answer.acquired)
        held = {lease.version for lease in self._state.table(table).held}
        for known in [key for key in self._schemas if key[0] == table and key[1] not in held]:
            del self._schemas[known]

    async def _release(self, table: TableId, version: int) -> None:
        try:
            await self._queries.release(table, version)
        except Superseded as error:
            self._die(str(error))
        except Unreachable as error:
            self._feed(vocabulary.ReleaseFailed(table, version, str(error)))
        else:
            self._feed(vocabulary.Released(table, version))

    async def _renew(self, tables: Sequence[TableId]) -> None:
        try:
            renewed = await self._queries.renew(tables)
        except Unreachable as error:
            log.warning("node %s could not renew: %s", self._node, error)
            self._feed(vocabulary.RenewFailed(str(error)))
        else:
            self._feed(renewed)

    # Heartbeats, operators, gossip

    async def _live(self) -> None:
        """A heartbeat each second, and at once after a call to this node."""
        while self._stopped_because is None:
            self._beat_now.clear()
            await self._beat()
            with suppress(TimeoutError):  # a second is over
                async with asyncio.timeout(HEARTBEAT_S):
                    await self._beat_now.wait()

    async def _beat(self) -> None:
        before = self._leased()
        try:
            pulse = await self._queries.heartbeat([table for table, _ in self._state.tables])
        except Superseded as error:
            self._die(str(error))
        except Unreachable as error:
            log.warning("node %s has no heartbeat: %s", self._node, error)
        else:
            self._heed_drain(is_asked=pulse.is_drain_asked)
            for news in pulse.news:  # of every table there is: a step of the machine for each would take seconds
                if is_news(self._state.table(news.table).heard, news.version):
                    self._feed(news)
            if (before & self._leased()) - pulse.leased:  # an operator took it away
                self._feed(vocabulary.Recheck())

    def _leased(self) -> set[tuple[TableId, int]]:
        return {(table, held.version) for table, leases in self._state.tables for held in leases.held if held.is_leased}

    def _heed_drain(self, *, is_asked: bool) -> None:
        if is_asked and not self.is_draining:
            self._feed(vocabulary.Drain())
        elif self.is_draining and not is_asked and not self._is_leaving:
            self._drained.clear()
            self._feed(vocabulary.Undrain())

    async def _gossip(self) -> None:
        """News makes the machine look; a gap or a call sends a heartbeat at once."""
        async for heard in listen(self._redis_url):
            if isinstance(heard, News):
                self._feed(heard)
            elif isinstance(heard, Missed) or heard.node == self._node:
                self._beat_now.set()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[None]) -> None:
        """A failed task is a bug: a keeper without it must not serve."""
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.error("lease keeper of %s", self._node, exc_info=task.exception())
            self._die(f"the lease keeper of node {self._node} failed; the node's log says more")
