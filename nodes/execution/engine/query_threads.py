"""The threads that queries run in, handed out as the line says (`thread_line`), and taken back.

cancelled    interrupted; who asked for it waits until it has stopped, but no longer than `STOP_S_MAX` for what the
             engine does with one block of rows. Then it is given up: its thread reads nothing more, ends by itself,
             and counts as stopping until then. A page that is being read is waited for: what it is read with can
             neither be closed meanwhile nor roll back
put back     interrupted; who asked for it asks again (`PutBack`)
"""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from nodes.execution.engine.stopping import Stoppable
from nodes.execution.engine.thread_line import THREADS_MAX, Call, Decisions, Line
from nodes.store.pipeline import finished

log = logging.getLogger(__name__)

INTERRUPT_S = 0.05
"""Until the engine is interrupted again: it forgets what came before a statement of its began."""
STOP_S_MAX = 1.0
WAITS_MAX = 30
"""A call that waits so many times as long as it may compute has had its thread for as long."""


class PutBack(Exception):
    """A query has answered nothing and is to begin anew."""


class Running(Protocol):
    """A query that a thread is busy with."""

    @property
    def is_reading(self) -> bool:
        """True while it waits for rows from the event loop."""

    @property
    def is_given_up(self) -> bool: ...

    def interrupt(self) -> None: ...

    def give_up(self) -> None:
        """Let it read nothing more: nobody waits for it."""

    def ended_late(self) -> None:
        """Give back what it had: its thread has come to an end after it was given up."""


class QueryThreads:
    """The threads of one engine."""

    def __init__(self, enter: Callable[[], None] | None) -> None:
        self.pool = ThreadPoolExecutor(THREADS_MAX, "query", enter)
        self.line = Line(self._used)
        self._waiting: dict[Call, asyncio.Future[None]] = {}
        self._running: dict[Call, tuple[Stoppable, Running, asyncio.Future[Any]]] = {}
        self._beside: set[asyncio.Task[None]] = set()
        self._given_up: set[Call] = set()
        self._has_warned = False
        self._look: asyncio.TimerHandle | None = None

    async def run(self, call: Call, work: Callable[[], Any], at: Running) -> Any:
        """Run in a thread, once the call may begin. Raises what the work raises, and `PutBack`."""
        now = asyncio.get_running_loop().time
        if not self.line.begins_at_once(call, now()):
            await self._wait(call)
        try:
            if call.is_put_back:
                raise PutBack
            stoppable = Stoppable(work)
            future = asyncio.wrap_future(self.pool.submit(stoppable))
            self._running[call] = stoppable, at, future
            try:
                found = await asyncio.shield(future)
            except asyncio.CancelledError:
                stoppable.stop()
                self._carry_out(self.line.stop(call, now()))
                has_stopped, _ = await finished(_stopped(at, future))  # whatever comes: the thread has what is closed
                if not has_stopped:
                    at.give_up()
                    self._note_given_up(call)
                    self._do_beside(self._await_late(call, at, future))
                raise
            if call.is_put_back:
                raise PutBack
            return found
        finally:
            if not at.is_given_up:
                self._end(call)

    def _used(self, call: Call, now: float) -> float:
        """Processor time, or a part of the time that passed: a machine may be busy, and a query may wait for rows."""
        if call not in self._running:
            return 0.0
        return max(self._running[call][0].spent_s(), (now - call.began) / WAITS_MAX)

    def _end(self, call: Call) -> None:
        self._running.pop(call, None)
        self._carry_out(self.line.end(call, asyncio.get_running_loop().time()))

    async def _wait(self, call: Call) -> None:
        """Wait until the call may begin; who is cancelled meanwhile leaves the line."""
        loop = asyncio.get_running_loop()
        begins = self._waiting[call] = loop.create_future()
        self._carry_out(self.line.ask(call, loop.time()))
        try:
            await begins
        except asyncio.CancelledError:
            self._end(call)
            raise
        finally:
            del self._waiting[call]

    def _carry_out(self, decided: Decisions) -> None:
        for call in decided.begin:
            if not (begins := self._waiting[call]).done():  # else it is cancelled, and about to leave
                begins.set_result(None)
        for call in decided.put_back:
            if call in self._running:  # else its turn has only come
                stoppable, at, future = self._running[call]
                stoppable.stop()
                self._do_beside(_interrupted(at, future))
        if decided.look_at is not None:
            loop = asyncio.get_running_loop()
            if self._look is None or self._look.when() <= loop.time():
                self._look = loop.call_at(decided.look_at, self._look_again)

    def _look_again(self) -> None:
        self._look = None
        self._carry_out(self.line.look(asyncio.get_running_loop().time()))

    def _note_given_up(self, call: Call) -> None:
        """Log once, until all of them have ended, that no thread is left."""
        self._given_up.add(call)
        if len(self._given_up) == THREADS_MAX and not self._has_warned:
            self._has_warned = True
            log.warning("all %d threads compute for queries that were given up: others wait for one", THREADS_MAX)

    async def _await_late(self, call: Call, at: Running, future: "asyncio.Future[Any]") -> None:
        await _interrupted(at, future)
        try:
            at.ended_late()
        finally:
            self._given_up.discard(call)
            self._has_warned = self._has_warned and bool(self._given_up)
            self._end(call)

    def _do_beside(self, work: Coroutine[Any, Any, None]) -> None:
        """Do what nobody waits for; what it raises is logged."""
        task = asyncio.ensure_future(work)
        self._beside.add(task)
        task.add_done_callback(self._done_beside)

    def _done_beside(self, task: "asyncio.Task[None]") -> None:
        self._beside.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            log.error("a thread's query has not ended as it should", exc_info=error)


async def _interrupted(at: Running, future: "asyncio.Future[Any]") -> None:
    """Interrupt what a thread does until it has ended."""
    while not future.done():
        at.interrupt()
        await asyncio.wait([future], timeout=INTERRUPT_S)
    future.exception()


async def _stopped(at: Running, future: "asyncio.Future[Any]") -> bool:
    """Interrupt it until it has ended; False when it does something else for too long than to wait for rows."""
    clock = asyncio.get_running_loop().time
    until = clock() + STOP_S_MAX
    while not future.done():
        if clock() >= until and not at.is_reading:
            return False
        at.interrupt()
        await asyncio.wait([future], timeout=INTERRUPT_S)
    future.exception()
    return True
