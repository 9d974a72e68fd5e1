"""One mistake in one part of one stream costs nobody else a live page, and the pill never lies."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.test import Client
from uvicorn.protocols.utils import ClientDisconnected
from websockets.exceptions import ConnectionClosed, InvalidMessage
from websockets.sync.client import connect as connect_to

from catalog.live import consumers, snapshot
from catalog.live import relay as relays
from catalog.live.frames import FramedProtocol
from catalog.models import Table
from schemalab.polling import wait_for
from tests.web.conftest import Site
from tests.web.test_live import ANSWER_S, Open, browse, happen, listeners

__all__ = ["browse"]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(relays, "AGAIN_S", 0.05)


def break_part(monkeypatch: pytest.MonkeyPatch, prefix: str, name: str) -> Callable[[], None]:
    """The part raises from now on, until what is returned is called."""
    whole = snapshot._parts[prefix, name]

    def broken(_id: int) -> dict[str, Any]:
        raise KeyError("a mistake of ours")

    monkeypatch.setitem(snapshot._parts, (prefix, name), replace(whole, read=broken))
    return lambda: monkeypatch.setitem(snapshot._parts, (prefix, name), whole)


def shows_lanes(browser: Any) -> None:
    """What is sampled may be sent before. Raises when no state comes any more."""
    while "lanes" not in browser.next("state")["state"]:
        pass


def test_a_part_that_raises_stops_neither_other_streams_nor_its_own_for_good(
    browse: Open, flights: Table, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    table = f"table:{flights.pk}"
    with browse() as browser, browse() as other:
        browser.follow("cluster")
        browser.next("snapshot")
        other.follow(table)
        other.next("snapshot")
        mended = break_part(monkeypatch, "cluster", "lanes")
        with caplog.at_level(logging.ERROR, logger="catalog.live.relay"):
            happen(1)
            browser.next("event")
            Table.objects.filter(pk=flights.pk).update(name="voyages")
            happen(1, table)
            other.next("event")
            assert other.next("state")["stream"] == table
            wait_for(
                lambda: "live state of cluster not rendered" in caplog.text, what="the mistake", seconds_max=ANSWER_S
            )
        mended()
        from leases.models import Node

        Node.objects.create(name="n1", incarnation=1, host="127.0.0.1", port=7101, pid=1, state="up")
        happen(2)
        shows_lanes(browser)


@pytest.mark.parametrize("work", ["_render", "_sample", "_beat", "_listen"])
def test_a_task_of_the_relay_that_dies_begins_again(
    browse: Open, flights: Table, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, work: str
) -> None:
    real, died = getattr(relays.Relay, work), []

    async def dies_once(self: relays.Relay) -> None:
        if not died:
            died.append(work)
            raise RuntimeError("a mistake of ours")
        await real(self)

    dies_once.__name__ = work
    monkeypatch.setattr(relays.Relay, work, dies_once)
    monkeypatch.setattr(snapshot, "HEARTBEAT_S", 0.2)
    with browse() as browser:
        browser.follow("cluster")
        browser.next("snapshot")
        browser.next("ping")
        from leases.models import Node

        Node.objects.create(name="n1", incarnation=1, host="127.0.0.1", port=7101, pid=1, state="up")
        happen(1)
        shows_lanes(browser)
    assert f"live relay: {work} failed, again in 0.05 s" in caplog.text


def test_a_browser_that_leaves_in_its_handshake_is_no_mistake(
    site: Site, client_of: Callable[[str], Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    """uvicorn leaves out the answer then, and does not expect the message after it. It logs a traceback of every end of
    an application but that by its own `ClientDisconnected`."""
    connect, call = consumers.LiveConsumer.connect, consumers.LiveConsumer.__call__
    transports, ends = list[asyncio.Transport](), list[str]()

    async def connect_as_it_closes(self: consumers.LiveConsumer) -> None:
        transports[0].close()
        await connect(self)

    async def call_seen(self: consumers.LiveConsumer, scope: Any, receive: Any, send: Any) -> None:
        transports.append(receive.__self__.transport)
        try:
            await call(self, scope, receive, send)
            ends.append("quietly")
        except (OSError, RuntimeError) as error:
            ends.append(repr(error))
            raise

    monkeypatch.setattr(consumers.LiveConsumer, "connect", connect_as_it_closes)
    monkeypatch.setattr(consumers.LiveConsumer, "__call__", call_seen)
    headers = {"Cookie": site.cookie(client_of("lea"))}
    with pytest.raises((InvalidMessage, ConnectionClosed, OSError)):
        connect_to(f"ws://{site.host}/live/", additional_headers=headers, origin=f"http://{site.host}")
    wait_for(lambda: bool(ends), what="the end of the socket", seconds_max=ANSWER_S)
    assert ends == [repr(ClientDisconnected())]
    assert not consumers.sockets


@pytest.mark.parametrize(("work", "words"), [
    pytest.param("_beat", "a page cannot be sent what is new", id="as it is sent"),
    pytest.param("put_state", "a page cannot take what is new", id="as it is queued"),
])  # fmt: skip
def test_a_page_that_cannot_be_notified_is_closed_so_that_the_browser_opens_another(
    browse: Open, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, work: str, words: str
) -> None:
    def broken(*_: object) -> None:
        raise KeyError("a mistake of ours")

    monkeypatch.setattr(snapshot, "HEARTBEAT_S", 0.2)
    with browse() as browser:
        browser.follow("cluster")
        browser.next("snapshot")
        monkeypatch.setattr(consumers.LiveConsumer, work, broken)
        from leases.models import Node

        Node.objects.create(name="n1", incarnation=1, host="127.0.0.1", port=7101, pid=1, state="up")
        happen(1)
        with pytest.raises(ConnectionClosed) as closed:
            browser.next("never")
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == consumers.BROKEN
    assert words in caplog.text


def followers() -> list[relays.Follower]:
    return [follower for relay in relays._relays.values() for follower in relay.followers]


def leaves_nothing() -> bool:
    return not followers() and not consumers.sockets and not listeners()


def test_who_leaves_while_the_snapshot_is_read_is_followed_up_no_more(
    browse: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sending fails then, and nobody reports that the socket has closed."""
    real, is_read, has_left = snapshot.snapshot_of, threading.Event(), threading.Event()

    def slow(stream: str, *, html: bool) -> snapshot.Message:
        is_read.set()
        assert has_left.wait(ANSWER_S)
        return real(stream, html=html)

    slow.__name__ = real.__name__
    monkeypatch.setattr(snapshot, "snapshot_of", slow)
    with browse() as browser:
        browser.follow("cluster")
        assert is_read.wait(ANSWER_S)
        assert len(followers()) == 1
    has_left.set()
    wait_for(leaves_nothing, what="the relay's end", seconds_max=ANSWER_S)


def test_a_page_whose_snapshot_cannot_be_read_is_closed_and_followed_up_no_more(
    browse: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    break_part(monkeypatch, "cluster", "lanes")
    with browse() as browser:
        browser.follow("cluster")
        with pytest.raises(ConnectionClosed):
            browser.next("snapshot")
        wait_for(leaves_nothing, what="the relay's end", seconds_max=ANSWER_S)


class Stalled:
    """Sockets that send nothing until `ends`: their messages wait."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_over = threading.Event()
        real = consumers.LiveConsumer._send_queued

        async def when_over(consumer: consumers.LiveConsumer) -> None:
            while not self.is_over.is_set():
                await asyncio.sleep(0.01)
            await real(consumer)

        monkeypatch.setattr(consumers.LiveConsumer, "_send_queued", when_over)


def waiting(stream: str) -> Any:
    """The message of the stream that waits for the one socket there is."""
    (follower,) = followers()
    return getattr(follower, "fresh", {}).get(stream)


def test_a_page_that_asks_for_another_form_while_messages_wait_gets_all_its_streams_in_that_form(
    browse: Open, flights: Table, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(FramedProtocol, "write", lambda self, frame: False)  # a slow browser: all wait in the queue
    stalled, table = Stalled(monkeypatch), f"table:{flights.pk}"
    with browse() as browser:
        browser.follow("cluster", since=0)
        browser.next("state")
        wait_for(lambda: waiting("cluster"), what="a message that waits", seconds_max=ANSWER_S)
        browser.follow(table, html=True, language="zh-hans")
        browser.next("snapshot")
        wait_for(lambda: "parts" in (waiting("cluster") or ()), what="the other form", seconds_max=ANSWER_S)
        stalled.is_over.set()
        while (state := browser.next("state"))["stream"] != "cluster":
            pass
    assert "state" not in state
    assert any("\u4e00" <= letter <= "\u9fff" for letter in str(state["parts"].values()))
    assert "live relay" not in caplog.text
