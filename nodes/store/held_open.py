"""Ends an open transaction beside which others cannot go on (protocol.md, T6).

PostgreSQL keeps what ended transactions have read and written while an older one that has written stays open. Once it
has no more room for that it refuses others' updates with 40001, however often they are tried, until the open one ends.
The open one is ended, and nobody else's statement refused, if all of this holds:

    a statement that is its own transaction was refused as often as it is tried, twice
    between the two the store has noted, or looked up, transactions whose details it gave up
    the oldest transaction that has written is a node's, and waits for its client

One that is under way (COPY, an UPDATE of all rows) is left to its end: what it did would be lost, and be done again.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, NamedTuple

from expressions.errors import SqlError
from nodes.store.pipeline import Command
from storage.postgres import END_HELD_OPEN, HELD_OPEN

if TYPE_CHECKING:
    from psycopg import pq

log = logging.getLogger(__name__)

PAUSE_S = 1.2
"""Longer than a session at the store keeps its figures for itself."""
Ask = Callable[[Command], "Awaitable[pq.abc.PGresult]"]


class HeldOpen(NamedTuple):
    """The oldest transaction that has written, at the store, and how often details were given up so far."""

    pid: bytes
    since: bytes
    node: str
    open_s: int
    given_up: int


class Beside:
    """One statement that was refused as often as it is tried, beside what is open."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._seen: HeldOpen | None = None
        self._is_done = False

    async def may_go_on(self) -> bool:
        """True if the statement is to be tried again as often: the first time to be sure, the second as it may pass."""
        if self._is_done:
            return False
        try:
            return await self._end(self._seen) if self._seen is not None else await self._see()
        except SqlError as error:
            log.warning("a transaction that others cannot go on beside was looked for in vain: %s", error.message)
            return False

    async def _see(self) -> bool:
        self._seen = await self._look()
        if self._seen is not None:
            await asyncio.sleep(PAUSE_S)
        return self._seen is not None

    async def _end(self, seen: HeldOpen) -> bool:
        self._is_done = True
        found = await self._look()
        if found is None or (found.pid, found.since) != (seen.pid, seen.since):
            return True  # it has ended
        if found.given_up == seen.given_up:
            return False
        await self._ask(Command(END_HELD_OPEN, (seen.pid, seen.since), is_text=True))
        log.warning("ended a transaction of %s, open for %s s: others were refused beside it", seen.node, found.open_s)
        return True

    async def _look(self) -> HeldOpen | None:
        answer = await self._ask(Command(HELD_OPEN))
        if not answer.ntuples:
            return None
        pid, since, node, open_s, given_up = (answer.get_value(0, column) or b"" for column in range(5))
        return HeldOpen(pid, since, node.decode(), int(open_s), int(given_up))
