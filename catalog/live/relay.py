"""Fresh parts for the pages that are open, at most four times a second.

One relay in each web process serves all its WebSockets. While somebody follows a stream it
listens to PostgreSQL (leases, reorganisations, changes), renders what has changed once for each
language, and leaves it in the followers' mailboxes. It also looks at the streams' counters every
heartbeat: a push that Redis lost is noticed then, however long nothing else happens.

    story push ----------------------------------------------------\
    NOTIFY, story push --> dirty streams --(at most 4/s)--> render --> mailboxes --> sockets
    every second --------> sampled parts ------------------/

A mailbox keeps only the newest of each part and a limited number of events, so a slow socket delays nobody, itself
included.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

import psycopg
from channels.db import database_sync_to_async
from django.db import DatabaseError, connection

from catalog.live import snapshot
from catalog.live.listener import Ear

log = logging.getLogger(__name__)

CHANNELS = ("schemalab_lease", "schemalab_reorg", "schemalab_change")
COALESCE_S = 0.25
BUSY_S = 0.5
"""Progress is written without a notification: while a job runs, the pages that show it are rendered this often."""
SAMPLE_S = 1.0
LISTEN_AGAIN_S_MAX = 5.0
AGAIN_S = 1.0


class Follower(Protocol):
    """A socket: what it follows, how it wants it, and where to leave messages without waiting."""

    streams: dict[str, int]
    language: str
    html: bool

    def leave_event(self, event: dict[str, Any]) -> None: ...
    def leave_state(self, message: snapshot.Message) -> None: ...
    def leave_heartbeat(self, seqs: dict[str, int]) -> None: ...


class Relay:
    """See the module. Lives in one event loop; starts with its first follower and ends with its last."""

    def __init__(self) -> None:
        self.followers: set[Follower] = set()
        self.dirty: set[str] = set()
        self.wake = asyncio.Event()
        self.tasks: list[asyncio.Task[None]] = []
        self.sent: dict[tuple[str, str, bool], dict[str, Any]] = {}
        self.ear = Ear(self._heard)

    def join(self, follower: Follower) -> None:
        self.followers.add(follower)
        if not self.tasks:
            self.tasks = [asyncio.create_task(self._always(work)) for work in self._work()]

    def _work(self) -> tuple[Callable[[], Coroutine[Any, Any, None]], ...]:
        return self._listen, self._render, self._sample, self._beat

    async def _always(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """All tabs live by this: a mistake is logged, and the work goes on, until it is cancelled."""
        while True:
            try:
                await work()
            except Exception:
                log.exception("live relay: %s failed, again in %g s", work.__name__, AGAIN_S)
            await asyncio.sleep(AGAIN_S)
            self.touch()

    async def leave(self, follower: Follower) -> None:
        self.followers.discard(follower)
        if self.followers or not self.tasks:
            return
        tasks, self.tasks = self.tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.sent.clear()

    def _heard(self, event: dict[str, Any]) -> None:
        """A push: this event, and all before it, are committed."""
        stream = event["stream"]
        for follower in self.followers:
            if stream in follower.streams:
                follower.leave_event(event)
        self.touch(stream)

    def touch(self, *streams: str) -> None:
        """These streams may show something else now; without arguments all of them."""
        self.dirty.update(streams or self._followed())
        self.wake.set()

    def _followed(self) -> set[str]:
        return {stream for follower in self.followers for stream in follower.streams}

    async def _listen(self) -> None:
        """LISTEN until cancelled; after a lost connection everything may have changed."""
        pause_s = 0.1
        while True:
            try:
                async with await psycopg.AsyncConnection.connect(**await _conninfo(), autocommit=True) as listener:
                    for channel in CHANNELS:
                        await listener.execute(f"LISTEN {channel}")
                    pause_s = 0.1
                    self.touch()
                    async for _notice in listener.notifies():
                        self.touch()
            except psycopg.OperationalError as error:
                log.warning("live relay lost the database, again in %.1f s: %s", pause_s, error)
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, LISTEN_AGAIN_S_MAX)

    async def _render(self) -> None:
        while True:
            await self.wake.wait()
            self.wake.clear()
            dirty, self.dirty = self.dirty & self._followed(), set()
            for stream in sorted(dirty):
                await self._send_state(stream)
            await asyncio.sleep(COALESCE_S)

    async def _sample(self) -> None:
        """Every second what changes without anybody saying so."""
        while True:
            await asyncio.sleep(SAMPLE_S)
            for stream in sorted(self._followed()):
                if snapshot.parts_of(stream, sampled=True):
                    await self._send_state(stream, sampled=True)

    async def _send_state(self, stream: str, *, sampled: bool = False) -> None:
        """Render the stream once for each wish, and leave what differs from the last time."""
        followers = [follower for follower in self.followers if stream in follower.streams]
        for language, html in sorted({(follower.language, follower.html) for follower in followers}):
            message = await self._fresh(stream, language, html, sampled)
            if message is None:
                continue
            for follower in followers:
                if (follower.language, follower.html) == (language, html):
                    follower.leave_state(message)

    async def _fresh(self, stream: str, language: str, html: bool, sampled: bool) -> snapshot.Message | None:
        try:
            message = await _read(
                snapshot.in_language, language, lambda: snapshot.state_message(stream, html=html, sampled=sampled)
            )
        except DatabaseError as error:
            log.warning("live state of %s not read: %s", stream, error)
            return None
        except Exception:
            log.exception("live state of %s not rendered: the other streams go on", stream)
            return None
        if message["busy"]:
            asyncio.get_running_loop().call_later(BUSY_S, self.touch, stream)
        shown = "parts" if html else "state"
        before = self.sent.get((stream, language, html), {})
        now = {name: _digest(part) for name, part in message[shown].items()}
        self.sent[stream, language, html] = before | now
        message[shown] = {name: part for name, part in message[shown].items() if before.get(name) != now[name]}
        return message | {"texts": {}} if message[shown] else None

    async def _beat(self) -> None:
        """Every heartbeat: the counters for everybody, and a look at what only time has changed."""
        while True:
            await asyncio.sleep(snapshot.HEARTBEAT_S)
            seqs: dict[str, int] = {}
            try:
                seqs = await _read(snapshot.newest_seqs, sorted(self._followed()))
            except DatabaseError as error:
                log.warning("live counters not read: %s", error)
            for follower in list(self.followers):
                follower.leave_heartbeat({stream: seqs[stream] for stream in follower.streams if stream in seqs})
            self.touch()


_read = database_sync_to_async(lambda work, *arguments: work(*arguments))


def _digest(part: Any) -> str:
    return part if isinstance(part, str) else json.dumps(part, sort_keys=True, default=str)


async def _conninfo() -> dict[str, Any]:
    """Django's own connection parameters (the test database in tests), without what belongs to its cursors."""
    wanted = ("dbname", "user", "password", "host", "port")
    parameters = connection.get_connection_params()
    return {name: value for name, value in parameters.items() if name in wanted and value} | {
        "application_name": "schemalab live relay"
    }


_relays: dict[asyncio.AbstractEventLoop, Relay] = {}


def relay() -> Relay:
    """The relay of the running event loop (a web process has one; tests have several)."""
    loop = asyncio.get_running_loop()
    for gone in [known for known in _relays if known.is_closed()]:
        with contextlib.suppress(KeyError):
            del _relays[gone]
    return _relays.setdefault(loop, Relay())
