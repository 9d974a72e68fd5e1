"""One listener for all sockets of a process: whoever follows gets every event, whoever else leaves at that moment."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from channels.db import database_sync_to_async
from django.contrib.auth.models import User
from django.db import connection

from catalog.live import database_reads
from catalog.live import relay as relay_module
from catalog.live.relay import Event, Relay
from schemalab.polling import wait_for
from tests.web.test_live import happen, listeners

pytestmark = pytest.mark.django_db(transaction=True)
STREAM = "cluster"
EVENT_S_MAX = 5.0


@pytest.fixture(autouse=True)
def leaves_no_session() -> Iterator[None]:
    """But for the threads that read: they keep theirs, and no more."""
    before = sessions()
    yield
    kept = len(database_reads.threads._threads)
    wait_for(lambda: len(sessions() - before) <= kept, what="the end of all sessions", seconds_max=EVENT_S_MAX)


def sessions() -> set[int]:
    with connection.cursor() as cursor:
        ours = "datname = current_database() AND backend_type = 'client backend'"
        cursor.execute(f"SELECT pid FROM pg_stat_activity WHERE {ours}")
        return {pid for (pid,) in cursor.fetchall()}


class Socket:
    """A follower that keeps what it gets."""

    user, session_key, session_hash, language, html = User(), "", "", "en", False

    def __init__(self) -> None:
        self.streams = {STREAM: 0}
        self.has_event = asyncio.Event()

    def put_event(self, event: Event) -> None:
        self.has_event.set()

    def put_state(self, message: Any) -> None: ...

    def put_heartbeat(self, seqs: dict[str, int]) -> None: ...

    def put_sign_out(self) -> None: ...

    def put_broken(self) -> None: ...


async def receives(socket: Socket) -> None:
    """Raises `TimeoutError` when an event does not reach the socket."""
    await database_sync_to_async(happen)(1)
    await asyncio.wait_for(socket.has_event.wait(), EVENT_S_MAX)


class SlowRelay(Relay):
    """Its work takes a moment to end: whatever may happen meanwhile does."""

    def _work(self) -> Any:
        return self._listen, self._rest

    async def _rest(self) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.05)


def test_a_follower_that_joins_while_the_last_one_leaves_gets_events() -> None:
    async def story() -> None:
        relay, last, next_one = SlowRelay(), Socket(), Socket()
        relay.join(last)
        await asyncio.sleep(0)
        leaving = asyncio.create_task(relay.leave(last))
        while relay.tasks:
            await asyncio.sleep(0)  # until the relay's work is being ended
        relay.join(next_one)
        await leaving
        await receives(next_one)
        await relay.leave(next_one)

    asyncio.run(story())


def test_a_follower_that_joins_at_the_same_moment_gets_them_and_no_listener_is_left() -> None:
    async def story() -> None:
        relay, sockets = SlowRelay(), [Socket() for _ in range(5)]
        relay.join(sockets[0])
        for before, after in pairwise(sockets):
            leaving = asyncio.create_task(relay.leave(before))
            relay.join(after)
            await leaving
            await receives(after)
        await relay.leave(sockets[-1])
        assert relay.tasks == []
        assert await database_sync_to_async(listeners)() == []

    asyncio.run(story())


class BrokenSocket(Socket):
    """A follower that can take no state."""

    def put_state(self, message: Any) -> None:
        raise KeyError("a mistake of ours")


class StatefulSocket(Socket):
    """A follower that notes its states."""

    def __init__(self) -> None:
        super().__init__()
        self.has_state = asyncio.Event()

    def put_state(self, message: Any) -> None:
        self.has_state.set()


def test_a_follower_that_cannot_take_a_state_costs_the_others_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        relay, broken, others = Relay(), BrokenSocket(), [StatefulSocket() for _ in range(5)]
        for socket in (broken, *others):
            relay.join(socket)
            relay.welcome(socket, STREAM)
        relay.touch(STREAM)
        for other in others:
            await asyncio.wait_for(other.has_state.wait(), EVENT_S_MAX)
        assert relay.followers == set(others), "the broken one is left out"
        for other in others:
            await relay.leave(other)

    asyncio.run(story())
    assert "a page cannot take what is new" in caplog.text
    assert "_render failed" not in caplog.text


class SignedOutSocket(Socket):
    """A follower that notes that it was signed out."""

    def __init__(self) -> None:
        super().__init__()
        self.is_signed_out = asyncio.Event()

    def put_sign_out(self) -> None:
        self.is_signed_out.set()


def test_a_follower_that_joins_while_sessions_are_read_is_not_signed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        relay, ended, late = Relay(), SignedOutSocket(), SignedOutSocket()
        read = relay_module.read

        async def read_meanwhile(*arguments: Any) -> Any:
            answer = await read(*arguments)
            relay.join(late)
            return answer

        monkeypatch.setattr(relay_module, "read", read_meanwhile)
        relay.join(ended)
        await asyncio.wait_for(ended.is_signed_out.wait(), EVENT_S_MAX)
        await receives(late)  # what comes after all sign-outs
        assert not late.is_signed_out.is_set()
        await relay.leave(ended)
        await relay.leave(late)

    asyncio.run(story())
