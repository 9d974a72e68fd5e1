"""The memory of the engine, which all queries of a node share: what others left too little of is tried again.

    refused beside others    waits in turn until one of them has ended, and begins anew
    refused alone            needs more than a node gives
    twice almost alone       the same: others had little (`TooLarge`)

A query is tried again only before it has answered anything. Nobody waits for those that do. The line moves, or they are
refused after `WAIT_S_MAX`: a result that its client does not read holds its memory for as long as the client likes. Who
waits keeps the place in the line, and is refused after `LINE_WAITS_MAX` times as long even if it moves.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from expressions.errors import OUT_OF_MEMORY, SqlError

WAIT_S_MAX = 30.0
LINE_WAITS_MAX = 4
LITTLE_BYTES = 2**25
"""What others may have of it and not be to blame."""
Begun = TypeVar("Begun")


class SharedMemory:
    """The queries of one node that have begun and not ended."""

    def __init__(self) -> None:
        self._begins = self._ends = 0
        self._moved_at = 0.0  # when one of those that waited began
        self._queue = asyncio.Lock()
        self._has_ended = asyncio.Event()

    async def begun(self, begin: Callable[[], Awaitable[Begun]]) -> Begun:
        """Begin a query, which counts as running until `ended`. Raises 53200, and what `begin` raises."""
        try:
            return await self._tried(begin)
        except RefusedBesideOthers as refused:
            last = refused
        clock = asyncio.get_running_loop().time
        came = clock()

        def until() -> float:
            return min(max(came, self._moved_at), came + (LINE_WAITS_MAX - 1) * WAIT_S_MAX) + WAIT_S_MAX

        if not await self._is_at_head(until):
            raise last.error
        try:
            while clock() < until() and await _is_done(self._end_after(last.ends), until()):
                try:
                    begun = await self._tried(begin)
                    self._moved_at = clock()
                    return begun
                except RefusedBesideOthers as refused:
                    if isinstance(last.error, TooLarge) and isinstance(refused.error, TooLarge):
                        raise refused.error from refused
                    last = refused
            raise last.error
        finally:
            self._queue.release()

    def ended(self) -> None:
        """A query that had begun has given its memory back."""
        self._ends += 1
        self._has_ended.set()

    def keeps(self) -> None:
        """A query that was given up keeps its memory for a while, until `ended`."""
        self._begins += 1

    async def _is_at_head(self, until: Callable[[], float]) -> bool:
        """Wait in one place of the line for its head, which is to be released; False when it is too late for that."""
        clock, head = asyncio.get_running_loop().time, asyncio.ensure_future(self._queue.acquire())
        is_mine = False
        try:
            while not head.done() and (left := until() - clock()) > 0:
                await asyncio.wait([head], timeout=left)
            is_mine = head.done()
            return is_mine
        finally:
            if not is_mine and not head.cancel():
                self._queue.release()

    async def _tried(self, begin: Callable[[], Awaitable[Begun]]) -> Begun:
        self._begins += 1
        begins, ends = self._begins, self._ends
        try:
            return await begin()
        except BaseException as error:
            is_alone = begins == ends + 1 and begins == self._begins
            self.ended()
            if is_alone or not (isinstance(error, SqlError) and error.sqlstate == OUT_OF_MEMORY):
                raise
            raise RefusedBesideOthers(error, ends + 1) from error

    async def _end_after(self, ends: int) -> None:
        while self._ends <= ends:
            self._has_ended.clear()
            await self._has_ended.wait()


class TooLarge(SqlError):
    """A query was refused while all others had less than `LITTLE_BYTES`."""


class LacksMemory(Exception):
    """The engine refused a query in its thread by an error of its own, when all others had `others_bytes`."""

    def __init__(self, error: Exception, others_bytes: int) -> None:
        super().__init__(str(error))
        self.error, self.others_bytes = error, others_bytes


class RefusedBesideOthers(Exception):
    """Too little memory beside others; `ends` is how many queries had ended before it began, and itself."""

    def __init__(self, error: SqlError, ends: int) -> None:
        super().__init__(str(error))
        self.error, self.ends = error, ends


async def _is_done(wait: Coroutine[Any, Any, Any], until: float) -> bool:
    try:
        async with asyncio.timeout_at(until):
            await wait
    except TimeoutError:
        return False
    return True
