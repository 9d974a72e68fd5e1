"""The WebSocket of a page: hello, snapshot, events in order, states, pings.

A browser gets every event once and in order, whatever gets lost. Messages of the relay are hints: the socket sends the
event that follows its last number, drops older ones, and reads missing ones from the database before a later one. A
browser that comes back names its last event (`since`) and gets those after it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections import Counter, deque
from contextlib import suppress
from typing import Any

from channels.generic.websocket import AsyncJsonWebsocketConsumer
from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY
from uvicorn.protocols.utils import ClientDisconnected

from catalog.live import snapshot
from catalog.live.database_reads import read
from catalog.live.frames import Text, note_opened, writer_of
from catalog.live.relay import Event, Heartbeat, relay
from catalog.live.single_flight import SharedReads
from catalog.pace import Bucket

log = logging.getLogger(__name__)

BROKEN = 1011
SIGNED_OUT = 4401
SILENT = 4408
TOO_FAST = 1008
SOCKETS_MAX_EACH = 50
"""Tabs of one person: further ones poll."""
MESSAGES_PER_S, MESSAGES_AT_ONCE = 5.0, 40.0
STREAM_CHARS_MAX = 200
PARTS_MAX = 100
SEQ_MAX = 2**63 - 1
STREAMS_MAX = 8
BEATS_UNANSWERED_MAX = 6
EVENTS_MAX = 100
"""Events that wait for one socket; what does not fit is read again."""


class LiveConsumer(AsyncJsonWebsocketConsumer):
    streams: dict[str, int]

    counted_for: int | None = None
    sender: asyncio.Task[None] | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serves the socket to its end, also when a send or our own mistake ends it without `disconnect`: its place is
        then free, and nothing is put into it."""

        async def send_if_there(message: dict[str, Any]) -> None:
            """Uvicorn drops the answer to a socket that ended in its handshake, and takes the next message for
            unexpected."""
            try:
                await send(message)
            except RuntimeError as error:
                if "ASGI message" not in str(error):
                    raise
                raise ClientDisconnected from error

        try:
            await super().__call__(scope, receive, send_if_there)
        finally:
            if self.counted_for is not None:
                sockets.subtract([self.counted_for])
                if not sockets[self.counted_for]:
                    del sockets[self.counted_for]
            if self.sender is not None:
                self.sender.cancel()
            await relay().leave(self)

    async def connect(self) -> None:
        self.streams, self.language, self.html = {}, settings.LANGUAGE_CODE, False
        self.wanted: dict[str, set[str]] = {}
        self.events: deque[Event] = deque(maxlen=EVENTS_MAX)
        self.fresh: dict[str, snapshot.Message] = {}
        self.heartbeat: Heartbeat | None = None
        self.end_code: int | None = None
        self.has_messages = asyncio.Event()
        self.sending = asyncio.Lock()
        self.unanswered = 0
        self.bucket, self.is_closing = Bucket(MESSAGES_PER_S, MESSAGES_AT_ONCE), False
        self.user = user = self.scope.get("user")
        if user is None or not user.is_authenticated:
            await self.accept()
            await self.close(SIGNED_OUT)
            return
        if sockets[user.pk] >= SOCKETS_MAX_EACH:
            log.warning("%r has %d pages open: another one is told to poll", user.get_username(), SOCKETS_MAX_EACH)
            await self.close()
            return
        self.write_frame = writer_of(self.scope)
        self.counted_for = user.pk
        sockets[user.pk] += 1
        await self.accept()
        note_opened(self.scope)
        self.session_key = self.scope["session"].session_key or ""
        self.session_hash = self.scope["session"].get(HASH_SESSION_KEY, "")
        await self.send_json(snapshot.hello())
        self.sender = asyncio.create_task(self._deliver())
        relay().join(self)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None, **_kwargs: Any) -> None:
        """A message of at most what uvicorn lets through (--ws-max-size), and not too many of them."""
        if self.is_closing:
            return
        if not self.bucket.take(time.monotonic()):
            self.is_closing = True
            await self.close(TOO_FAST)
            return
        try:
            content = json.loads(text_data or "")
        except (ValueError, RecursionError):
            await self._refuse(None, "a message is a JSON object, as text")
            return
        await self.receive_json(content)

    async def receive_json(self, content: Any, **_kwargs: Any) -> None:
        kind = content.get("type") if isinstance(content, dict) else None
        if kind == "subscribe":
            await self._subscribe(content)
        elif kind == "unsubscribe":
            self.wanted.pop(str(content.get("stream")), None)
            self.streams.pop(str(content.get("stream")), None)
        elif kind == "pong":
            self.unanswered = 0
        else:
            await self._refuse(None, f"unknown message type {str(kind)[:50]!r}: subscribe, unsubscribe or pong")

    def put_event(self, event: Event) -> None:
        """An event that a full queue drops is seen as a gap, and read from the database."""
        if not self._write_now(event):
            self.events.append(event)
            self.has_messages.set()

    def put_state(self, message: snapshot.Message) -> None:
        """A message that finds the queue empty stays the one all sockets share, with its texts; it is written at once
        if possible."""
        waiting = self.fresh.get(message["stream"])
        if waiting is None and self._is_free() and self._write_state(message):
            return
        if waiting is not None:
            shown = "parts" if self.html else "state"
            message = message | {shown: waiting[shown] | message[shown], "texts": {}}
        self.fresh[message["stream"]] = message
        self.has_messages.set()

    def put_heartbeat(self, beat: Heartbeat) -> None:
        self.heartbeat = beat
        self.has_messages.set()

    def put_sign_out(self) -> None:
        """This page may be served no longer: signed out in some tab, the account closed, or a role taken."""
        self.end_code = SIGNED_OUT
        self.has_messages.set()

    def put_broken(self) -> None:
        """A message of this socket could not be made: the browser is to open another."""
        self.end_code = self.end_code or BROKEN
        self.has_messages.set()

    async def _deliver(self) -> None:
        try:
            while self.end_code is None:
                await self.has_messages.wait()
                self.has_messages.clear()
                await self._send_queued()
            await self.close(self.end_code)
        except OSError:
            log.debug("a browser left while its messages were being sent")
        except Exception:
            log.exception("a page cannot be sent what is new: its socket is closed, the browser opens another")
            with suppress(Exception):
                await self.close(BROKEN)

    async def _send_queued(self) -> None:
        async with self.sending:
            events, self.events = self.events, deque(maxlen=EVENTS_MAX)
            fresh, self.fresh = self.fresh, {}
            beat, self.heartbeat = self.heartbeat, None
            for event in events:
                await self._send_event(event)
            for message in fresh.values():
                if message["stream"] in self.streams:
                    await self._send_wanted(message)
            if beat is not None:
                await self._beat(beat)

    async def _send_event(self, event: Event) -> None:
        """The next event is sent on, an older one dropped; before a later one comes what is missing."""
        stream, seq = event["stream"], event["seq"]
        sent = self.streams.get(stream)
        if sent is None or seq <= sent:
            return
        if seq > sent + 1:
            await self._catch_up(stream)
        else:
            self.streams[stream] = seq
            await self._send_text(event["texts"][self.language])

    def _write_now(self, event: Event) -> bool:
        """Write the next event without a turn of this socket's task, where no event waits before it."""
        stream, seq = event["stream"], event["seq"]
        if self.write_frame is None or not self._is_free() or self.streams.get(stream) != seq - 1:
            return False
        if not self.write_frame(event["texts"][self.language].frame):
            return False
        self.streams[stream] = seq
        return True

    def _is_free(self) -> bool:
        return not (self.events or self.sending.locked() or self.end_code is not None)

    def _write_state(self, message: snapshot.Message) -> bool:
        if self.write_frame is None or message["stream"] not in self.streams:
            return False
        text = self._text(message)
        return text is None or self.write_frame(text.frame)

    async def _beat(self, beat: Heartbeat) -> None:
        for stream in self.streams.keys() & beat.seqs.keys():
            if stream in self.streams and self.streams[stream] < beat.seqs[stream]:
                await self._catch_up(stream)
        self.unanswered += 1
        if self.unanswered > BEATS_UNANSWERED_MAX:
            await self.close(SILENT)
            return
        await self._send_text(beat.text(self.streams))

    async def _subscribe(self, request: dict[str, Any]) -> None:
        stream, since = str(request.get("stream"))[:STREAM_CHARS_MAX], request.get("since")
        if since is not None and (not isinstance(since, int) or not 0 <= since <= SEQ_MAX):
            await self._refuse(stream, "since must be the number of the last event seen, or be left out")
            return
        if len(self.streams) >= STREAMS_MAX and stream not in self.streams:
            await self._refuse(stream, f"a page follows at most {STREAMS_MAX} streams")
            return
        try:
            await read(snapshot.check_may_follow, self.user, stream)
        except snapshot.NoSuchStream as refusal:
            await self._refuse(stream, str(refusal))
            return
        self._show(_language(request.get("language"), self.language), html=bool(request.get("html")))
        if isinstance(request.get("parts"), list):
            self.wanted[stream] = {str(name) for name in request["parts"][:PARTS_MAX]}
        async with self.sending:
            # First followed, then read: what is committed between the two is then seen twice, never lost.
            self.fresh.pop(stream, None)
            self.streams[stream] = 0 if since is None else since
            relay().welcome(self, stream)
            await self._catch_up(stream, whole=since is None)
            if since is not None:
                await self._send_wanted(await self._in_language(snapshot.state_message, stream))
        relay().touch(stream)

    def _show(self, language: str, *, html: bool) -> None:
        """Drop what waits in another language or form: all that the socket follows is sent whole in this one."""
        if (language, html) == (self.language, self.html):
            return
        self.language, self.html = language, html
        self.fresh.clear()
        for stream in self.streams:
            relay().welcome(self, stream)
            relay().touch(stream)

    async def _catch_up(self, stream: str, *, whole: bool = False) -> None:
        if whole:
            messages = [await self._in_language(snapshot.snapshot_of, stream)]
        else:
            messages = await self._in_language(snapshot.missed, stream, self.streams[stream])
        for message in messages:
            if stream not in self.streams:
                return  # it was left meanwhile
            if message["type"] == "snapshot" and not whole:
                await self.send_json({"type": "resync", "stream": stream, "seq": message["seq"]})
            self.streams[stream] = message["seq"]
            await self._send_wanted(message)

    async def _send_wanted(self, message: snapshot.Message) -> None:
        if (text := self._text(message)) is not None:
            await self._send_text(text)

    def _text(self, message: snapshot.Message) -> Text | None:
        """A page that named the parts it shows gets no others. What is the same for many sockets is written once."""
        wanted = self.wanted.get(message["stream"])
        key = None if wanted is None else frozenset(wanted)
        texts: dict[frozenset[str] | None, Text | None] = message.get("texts", {})
        if key not in texts:
            texts[key] = _text_of(message, wanted)
        return texts[key]

    async def _send_text(self, text: Text) -> None:
        """Write the frame that all sockets share where that is possible now: the way through ASGI costs more."""
        if self.write_frame is None or not self.write_frame(text.frame):
            await self.send(text_data=text.text)

    async def _in_language(self, work: Any, *arguments: Any) -> Any:
        language, html = self.language, self.html
        return await shared_reads.ask(
            (asyncio.get_running_loop(), work.__name__, arguments, language, html),
            lambda: read(snapshot.in_language, language, lambda: work(*arguments, html=html)),
        )

    async def _refuse(self, stream: str | None, why: str) -> None:
        await self.send_json({"type": "error", "stream": stream, "message": why})


shared_reads = SharedReads()
sockets: Counter[int] = Counter()
"""How many each user has open in this process."""


def _text_of(message: snapshot.Message, wanted: set[str] | None) -> Text | None:
    """The message as it is sent, with the wanted parts only; None when it would say nothing."""
    sent = {name: value for name, value in message.items() if name != "texts"}
    for shown in {"parts", "state"} & sent.keys() if wanted is not None else ():
        sent[shown] = {name: part for name, part in sent[shown].items() if name in wanted}
    if sent["type"] == "state" and not sent.get("parts") and not sent.get("state"):
        return None
    return Text.of(sent)


def _language(wished: object, otherwise: str) -> str:
    return wished if isinstance(wished, str) and wished in dict(settings.LANGUAGES) else otherwise
