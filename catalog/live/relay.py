"""The relay: events and fresh parts for open pages, one in each web process for all its WebSockets.

It listens to PostgreSQL while any stream is followed, reads each event once, renders each changed part once for each
language (at most four times a second), and puts both into the followers' queues. Counters compared at every heartbeat
and after a lost connection show lost notifications. A queue keeps only the newest of each part and a limited number of
events, so a slow socket delays no other.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Protocol

import psycopg
from django.conf import settings
from django.db import DatabaseError

from catalog import selectors
from catalog.database import database_dsn
from catalog.live import snapshot
from catalog.live.database_reads import read
from catalog.live.frames import Text
from catalog.live.right_to_follow import Reader, Verdict, verdicts
from catalog.models import StoryEvent
from catalog.services import session_digest

log = logging.getLogger(__name__)

STORY, SIGN_OUT = "schemalab_story", "schemalab_sign_out"
CHANNELS = (STORY, SIGN_OUT, "schemalab_lease", "schemalab_reorg", "schemalab_change")
COALESCE_S = 0.25
BUSY_S = 0.5
"""Progress is written without a notification: while a job runs, the pages that show it are rendered this often."""
SAMPLE_S = 1.0
LISTEN_AGAIN_S_MAX = 5.0
AGAIN_S = 1.0
COUNTERS = "SELECT name, seq FROM catalog_stream WHERE name = ANY(%s)"
EVENT_COLUMNS = ("stream", "seq", "kind", "subject", "payload", "at")
EVENTS = f"SELECT {', '.join(EVENT_COLUMNS)} FROM catalog_storyevent WHERE stream = %s AND seq > %s ORDER BY seq"
Connection = psycopg.AsyncConnection[Any]
Event = dict[str, Any]
"""stream, seq, and by language the text that is sent of it: one for all sockets."""


class Heartbeat:
    """The last events of the followed streams at a moment, and their pings: one for all sockets that follow the same
    streams as far."""

    def __init__(self, seqs: Mapping[str, int]) -> None:
        self.seqs, self.server_time = seqs, snapshot.hello()["server_time"]
        self.texts: dict[frozenset[tuple[str, int]], Text] = {}

    def text(self, seqs: Mapping[str, int]) -> Text:
        """The ping of a socket that has been sent its streams' events up to these numbers."""
        key = frozenset(seqs.items())
        if key not in self.texts:
            self.texts[key] = Text.of({"type": "ping", "server_time": self.server_time, "seqs": dict(seqs)})
        return self.texts[key]


class Follower(Reader, Protocol):
    """A socket: whose it is, what it follows, how it wants it, and where to put messages without waiting."""

    language: str
    html: bool

    def put_event(self, event: Event) -> None: ...
    def put_state(self, message: snapshot.Message) -> None: ...
    def put_heartbeat(self, beat: Heartbeat) -> None: ...
    def put_sign_out(self) -> None: ...
    def put_broken(self) -> None: ...


class Relay:
    """Lives in one event loop; starts with its first follower and ends with its last."""

    def __init__(self) -> None:
        self.followers: set[Follower] = set()
        self.dirty: set[str] = set()
        self.wake = asyncio.Event()
        self.tasks: list[asyncio.Task[None]] = []
        self.sent: dict[tuple[str, str, bool], dict[str, Any]] = {}
        self.newcomers: set[tuple[Follower, str]] = set()
        """Who follows a stream and has not been sent its state: what they read themselves may be another one."""
        self.newest: dict[str, int] = {}
        """The last event of each followed stream that was handed to the followers."""
        self.without_session: set[Follower] = set()
        """Sockets whose session was gone at the last heartbeat."""

    def join(self, follower: Follower) -> None:
        self.followers.add(follower)
        if not self.tasks:
            self.tasks = [asyncio.create_task(self._always(work)) for work in self._work()]

    def _work(self) -> tuple[Callable[[], Coroutine[Any, Any, None]], ...]:
        return self._listen, self._render, self._sample, self._beat

    async def _always(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Logs a mistake and goes on until cancelled, since all tabs depend on this work."""
        while True:
            try:
                await work()
            except Exception:
                log.exception("live relay: %s failed, again in %g s", work.__name__, AGAIN_S)
            await asyncio.sleep(AGAIN_S)
            self.touch()

    async def leave(self, follower: Follower) -> None:
        self.followers.discard(follower)
        self.newcomers = {(other, stream) for other, stream in self.newcomers if other is not follower}
        if self.followers or not self.tasks:
            return
        tasks, self.tasks = self.tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.sent.clear()
        self.newest.clear()

    def touch(self, *streams: str) -> None:
        """These streams may show something else now; without arguments all of them."""
        self.dirty.update(streams or self._followed())
        self.wake.set()

    def welcome(self, newcomer: Follower, stream: str) -> None:
        """The next state of the stream is whole for somebody who follows it from now on."""
        self.newcomers.add((newcomer, stream))

    def _followed(self) -> set[str]:
        return {stream for follower in self.followers for stream in follower.streams}

    async def _listen(self) -> None:
        """LISTEN until cancelled; after a lost connection everything may have changed."""
        pause_s = 0.1
        while True:
            try:
                async with await _connected() as listener, await _connected() as reader:
                    for channel in CHANNELS:
                        await listener.execute(f"LISTEN {channel}")
                    pause_s = 0.1
                    await self._catch_up(reader)
                    async for notice in listener.notifies():
                        await self._notified(reader, notice.channel, notice.payload)
            except psycopg.OperationalError as error:
                log.warning("live relay lost the database, again in %.1f s: %s", pause_s, error)
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, LISTEN_AGAIN_S_MAX)

    async def _catch_up(self, reader: Connection) -> None:
        """Hands on commits, and signs out sockets, that no notification reported. A follower who joins while this reads
        was signed in a moment ago, and is checked with the others."""
        self.touch()
        for stream, seq in await (await reader.execute(COUNTERS, [sorted(self._followed())])).fetchall():
            await self._read_events(reader, stream, seq)
        await self._end_sockets(grace=False)

    async def _end_sockets(self, *, grace: bool) -> None:
        """Signs out each socket without session, account or right to follow its streams. With `grace` the session must
        be missing at two heartbeats: a new password gives it another key, and a page that opened before its browser has
        that key would be signed out."""
        found = await read(verdicts, list(self.followers))
        without_session = {one for one, verdict in found.items() if verdict is Verdict.WITHOUT_SESSION}
        for follower, verdict in found.items():
            if verdict is Verdict.REFUSED or (
                verdict is Verdict.WITHOUT_SESSION and (not grace or follower in self.without_session)
            ):
                follower.put_sign_out()
        self.without_session = without_session

    async def _notified(self, reader: Connection, channel: str, payload: str) -> None:
        if channel == STORY:
            stream, _, seq = payload.rpartition(" ")
            await self._read_events(reader, stream, int(seq))
        elif channel == SIGN_OUT:
            for follower in list(self.followers):
                if session_digest(follower.session_key) == payload:
                    follower.put_sign_out()
        else:
            self.touch()

    async def _read_events(self, reader: Connection, stream: str, seq: int) -> None:
        """Hand the stream's events up to number `seq`, and what else is committed by now, to those who follow it."""
        if not any(stream in follower.streams for follower in self.followers):
            self.newest.pop(stream, None)
            return
        before = max(self.newest.get(stream, seq - 1), seq - snapshot.EVENTS_RESENT_MAX)
        if seq <= before:
            return
        for row in await (await reader.execute(EVENTS, [stream, before])).fetchall():
            stored = StoryEvent(**dict(zip(EVENT_COLUMNS, row, strict=True)))
            event = {"stream": stream, "seq": stored.seq, "texts": _in_each_language(stored)}
            self.newest[stream] = stored.seq
            for follower in list(self.followers):
                if stream in follower.streams:
                    self._put(follower, follower.put_event, event)
        self.touch(stream)

    async def _render(self) -> None:
        while True:
            await self.wake.wait()
            self.wake.clear()
            dirty, self.dirty = self.dirty & self._followed(), set()
            for stream in sorted(dirty):
                await self._send_state(stream)
            await asyncio.sleep(COALESCE_S)

    async def _sample(self) -> None:
        while True:
            await asyncio.sleep(SAMPLE_S)
            for stream in sorted(self._followed()):
                if snapshot.parts_of(stream, sampled=True):
                    await self._send_state(stream, sampled=True)

    async def _send_state(self, stream: str, *, sampled: bool = False) -> None:
        """Renders the stream once for each way of showing it, and hands on what differs from the last time: all
        followers who see it the same way have the state that was sent last. Sampled parts are read once a second and
        for newcomers, not at every touch."""
        newcomers = set() if sampled else {newcomer for newcomer in self.newcomers if newcomer[1] == stream}
        ways = {(follower.language, follower.html) for follower in self.followers if stream in follower.streams}
        for language, html in sorted(ways):
            whole = await self._fresh(stream, language, html, None if newcomers else sampled)
            if whole is None:
                continue
            changed = self._changed(stream, language, html, whole)
            for follower in list(self.followers):
                if stream not in follower.streams or (follower.language, follower.html) != (language, html):
                    continue
                if (follower, stream) in newcomers:
                    self.newcomers.discard((follower, stream))
                    self._put(follower, follower.put_state, whole)
                elif changed is not None:
                    self._put(follower, follower.put_state, changed)

    def _put(self, follower: Follower, put: Callable[[Any], None], message: Any) -> None:
        try:
            put(message)
        except Exception:
            log.exception("a page cannot take what is new: its socket is closed, the browser opens another")
            self.followers.discard(follower)
            follower.put_broken()

    async def _fresh(self, stream: str, language: str, html: bool, sampled: bool | None) -> snapshot.Message | None:
        try:
            message = await read(
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
        return message | {"texts": {}}

    def _changed(self, stream: str, language: str, html: bool, whole: snapshot.Message) -> snapshot.Message | None:
        """The parts that are not as they were sent last, without those sent once; None when all are."""
        once = {part.name for part in snapshot.parts_of(stream) if part.is_once}
        shown = "parts" if html else "state"
        before = self.sent.get((stream, language, html), {})
        now = {name: _digest(part) for name, part in whole[shown].items()}
        self.sent[stream, language, html] = before | now
        fresh = {name for name in now.keys() - once if before.get(name) != now[name]}
        parts = {name: part for name, part in whole[shown].items() if name in fresh}
        return whole | {shown: parts, "texts": {}} if parts else None

    async def _beat(self) -> None:
        """Every heartbeat: the counters, the right to be served, and a look at what only time has changed."""
        while True:
            await asyncio.sleep(snapshot.HEARTBEAT_S)
            seqs: dict[str, int] = {}
            try:
                seqs = await read(snapshot.newest_seqs, sorted(self._followed()))
                await self._end_sockets(grace=True)
            except DatabaseError as error:
                log.warning("live counters not read: %s", error)
            beat = Heartbeat(seqs)
            for follower in list(self.followers):
                follower.put_heartbeat(beat)
            followed = {(stream, one.language, one.html) for one in self.followers for stream in one.streams}
            self.sent = {key: digests for key, digests in self.sent.items() if key in followed}
            self.newcomers = {(one, stream) for one, stream in self.newcomers if stream in one.streams}
            self.touch()


def _in_each_language(event: StoryEvent) -> dict[str, Text]:
    def text() -> Text:
        return Text.of(snapshot.event_message(selectors.event_json(event)))

    return {language: snapshot.in_language(language, text) for language, _ in settings.LANGUAGES}


def _digest(part: Any) -> str:
    return part if isinstance(part, str) else json.dumps(part, sort_keys=True, default=str)


async def _connected() -> Connection:
    name = "schemalab live relay"
    return await psycopg.AsyncConnection.connect(database_dsn(), autocommit=True, application_name=name)


_relays: dict[asyncio.AbstractEventLoop, Relay] = {}


def relay() -> Relay:
    """The relay of the running event loop (a web process has one; tests have several)."""
    loop = asyncio.get_running_loop()
    for ended in [known for known in _relays if known.is_closed()]:
        with contextlib.suppress(KeyError):
            del _relays[ended]
    return _relays.setdefault(loop, Relay())
