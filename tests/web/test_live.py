"""The live protocol over real sockets: every event once and in order, whatever is lost on the way."""

from __future__ import annotations

import asyncio
import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import OperationalError, connection, transaction
from django.test import Client
from django.utils import timezone
from redis import Redis
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from catalog.live import consumers
from catalog.live import relay as relays
from catalog.live import snapshot as live
from catalog.live.frames import FramedProtocol
from catalog.models import Table
from catalog.services import APPEND_EVENT, append_event, end_sockets
from schemalab.people.roles import take_roles
from schemalab.polling import wait_for
from tests.web.conftest import Site

ANSWER_S = 5.0


class Browser:
    """A WebSocket client that keeps every message."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.heard: list[dict[str, Any]] = []

    def next(self, kind: str, timeout_s: float = ANSWER_S) -> dict[str, Any]:
        """The next message of this kind; pings are answered, others are kept."""
        deadline = time.monotonic() + timeout_s
        while True:
            message = json.loads(self.socket.recv(timeout=max(0.01, deadline - time.monotonic())))
            self.heard.append(message)
            if message["type"] == "ping":
                self.say(type="pong")
            if message["type"] == kind:
                return message

    def say(self, **message: Any) -> None:
        self.socket.send(json.dumps(message))

    def follow(self, stream: str, **wish: Any) -> None:
        self.say(type="subscribe", stream=stream, **wish)

    def seqs(self) -> list[int]:
        return [message["seq"] for message in self.heard if message["type"] == "event"]


Open = Callable[..., Any]


@pytest.fixture
def browse(site: Site, client_of: Callable[[str], Client]) -> Open:
    """Open a socket as somebody; "" is nobody."""

    @contextmanager
    def opened(name: str = "lea", origin: str | None = None) -> Iterator[Browser]:
        headers = {"Cookie": site.cookie(client_of(name))} if name else {}
        with connect(
            f"ws://{site.host}/live/", additional_headers=headers, origin=origin or f"http://{site.host}"
        ) as socket:
            yield Browser(socket)

    return opened


def happen(number: int, stream: str = "cluster") -> None:
    """An event that is committed, and notified."""
    with transaction.atomic():
        append_event("node joined", f"n{number}", {"node": f"n{number}", "incarnation": number}, [stream])


def happen_unheard(number: int, stream: str = "cluster") -> None:
    """An event that is committed while its notification gets lost."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")  # triggers rest
        cursor.execute(APPEND_EVENT, [[stream], "node joined", f"n{number}", json.dumps({"node": f"n{number}"})])


def listeners() -> list[int]:
    """The sessions through which this process's pages listen."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pid FROM pg_stat_activity WHERE application_name = 'schemalab live relay'")
        return [pid for (pid,) in cursor.fetchall()]


def cut(*pids: int) -> None:
    """End these of the relay's sessions, or all that there are."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pid) FROM unnest(%s::int[]) AS pid", [list(pids or listeners())])


def test_a_page_gets_a_snapshot_then_each_event_once(browse: Open) -> None:
    happen(1)
    with browse() as browser:
        hello = browser.next("hello")
        assert hello["heartbeat_s"] == live.HEARTBEAT_S
        browser.follow("cluster")
        snapshot = browser.next("snapshot")
        assert (snapshot["seq"], [e["seq"] for e in snapshot["events"]]) == (1, [1])
        assert snapshot["state"]["lanes"]["nodes"] == []
        happen(2)
        event = browser.next("event")
        assert (event["stream"], event["seq"], event["kind"]) == ("cluster", 2, "node joined")
        assert event["sentence"] == "Node n2 joined (incarnation 2)."


def test_a_lost_notification_is_noticed_at_the_next_event(browse: Open) -> None:
    with browse() as browser:
        browser.follow("cluster", since=0)
        browser.next("state")
        happen_unheard(1)
        happen_unheard(2)
        happen(3)
        for _ in range(3):
            browser.next("event")
        assert browser.seqs() == [1, 2, 3]


def test_a_lost_notification_is_noticed_at_the_next_heartbeat(browse: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "HEARTBEAT_S", 0.3)
    with browse() as browser:
        browser.follow("cluster", since=0)
        browser.next("state")
        happen_unheard(1)
        assert browser.next("event")["seq"] == 1
        assert browser.next("ping")["seqs"] == {"cluster": 1}


def test_a_crowd_has_one_listener_and_each_gets_each_event_once(browse: Open) -> None:
    """However many sockets follow a stream, the process listens and reads once, and stops with the last of them."""
    with ExitStack() as open_pages:
        crowd = [open_pages.enter_context(browse()) for _ in range(12)]
        for browser in crowd:
            browser.follow("cluster")
            browser.next("snapshot")
        assert len(listeners()) == 2
        for number in range(5):
            happen(number)
        for browser in crowd[1:]:
            while len(browser.seqs()) < 5:
                browser.next("event")
            assert browser.seqs() == sorted(set(browser.seqs()))
        crowd[0].say(type="unsubscribe", stream="cluster")
        happen(5)
        assert crowd[1].next("event")["payload"]["node"] == "n5"
    deadline = time.monotonic() + ANSWER_S
    while listeners():
        assert time.monotonic() < deadline, "nobody follows, and the process still listens"
        time.sleep(0.02)


@pytest.mark.parametrize(
    "written", [(True, False), (False, True, True), (False,)], ids=["every other", "two of three", "none"]
)
def test_events_come_in_order_whether_they_are_written_at_once_or_queued(
    browse: Open, monkeypatch: pytest.MonkeyPatch, written: tuple[bool, ...]
) -> None:
    """One that is queued is not overtaken by the next, for which the socket is free again."""
    write, turns, told = FramedProtocol.write, cycle(written), list[bool]()

    def write_some(self: FramedProtocol, frame: bytes) -> bool:
        told.append(next(turns) and write(self, frame))
        return told[-1]

    monkeypatch.setattr(FramedProtocol, "write", write_some)
    with browse() as browser:
        browser.follow("cluster")
        browser.next("snapshot")
        for number in range(6):
            happen(2 * number)
            with transaction.atomic():
                for late in (1, 2):
                    append_event("node joined", f"n{late}", {"node": f"n{late}", "incarnation": number}, ["cluster"])
        while len(browser.seqs()) < 18:
            browser.next("event")
        assert browser.seqs() == list(range(1, 19))
        assert set(told) == set(written)


def test_an_event_that_is_written_at_once_is_the_one_that_is_sent(
    browse: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the page's language, word for word."""

    def event_after(since: int) -> dict[str, Any]:
        with browse() as browser:
            browser.follow("cluster", since=since, language="zh-hans")
            browser.next("state")
            happen(1)
            return browser.next("event")

    at_once = event_after(0)
    monkeypatch.setattr(FramedProtocol, "write", lambda self, frame: False)
    assert event_after(1) | {"seq": 1, "at": at_once["at"]} == at_once


def test_what_a_full_queue_loses_is_read_again(browse: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumers, "EVENTS_MAX", 2)
    monkeypatch.setattr(FramedProtocol, "write", lambda self, frame: False)  # a slow browser: all wait in the queue
    with browse() as browser:
        browser.follow("cluster")
        first = browser.next("snapshot")["seq"]
        with transaction.atomic():
            for number in range(20):
                append_event("node joined", f"n{number}", {"node": f"n{number}", "incarnation": number}, ["cluster"])
        while len(browser.seqs()) < 20:
            browser.next("event")
        assert browser.seqs() == list(range(first + 1, first + 21))


def test_a_stream_that_is_left_while_its_missed_events_are_read_stays_left(
    browse: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "HEARTBEAT_S", 0.3)
    read, is_read, is_left = consumers.LiveConsumer._in_language, threading.Event(), threading.Event()

    async def slow(self: consumers.LiveConsumer, work: Any, *arguments: Any) -> Any:
        answer = await read(self, work, *arguments)
        is_read.set()
        assert await asyncio.to_thread(is_left.wait, ANSWER_S)
        return answer

    with browse() as browser:
        browser.follow("cluster")
        browser.next("snapshot")
        monkeypatch.setattr(consumers.LiveConsumer, "_in_language", slow)
        happen_unheard(1)
        happen(2)
        assert is_read.wait(ANSWER_S)
        browser.say(type="unsubscribe", stream="cluster")
        browser.say(type="a word that is refused, once what came before is done")
        browser.next("error")
        is_left.set()
        happen(3)
        assert browser.next("ping")["seqs"] == {}
        assert browser.next("ping")["seqs"] == {}
        assert browser.seqs() == []


def test_who_comes_back_gets_what_was_missed_and_nothing_twice(browse: Open) -> None:
    happen(1)
    happen(2)
    with browse() as browser:
        browser.follow("cluster", since=1)
        assert browser.next("event")["seq"] == 2
        happen(3)
        assert browser.next("event")["seq"] == 3
        browser.follow("cluster", since=3)
        browser.next("state")
        assert browser.seqs() == [2, 3]


def test_who_was_away_too_long_gets_a_snapshot(browse: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "EVENTS_RESENT_MAX", 2)
    for number in range(1, 5):
        happen(number)
    with browse() as browser:
        browser.follow("cluster", since=1)
        assert browser.next("resync")["seq"] == 4
        assert browser.next("snapshot")["seq"] == 4


def test_who_is_ahead_of_the_server_gets_a_snapshot(browse: Open) -> None:
    with browse() as browser:
        browser.follow("cluster", since=99)
        assert browser.next("snapshot")["seq"] == 0


def test_state_arrives_as_html_in_the_pages_language(browse: Open, flights: Table) -> None:
    with browse() as browser:
        browser.follow(f"table:{flights.pk}", html=True, parts=["schema"], language="en")
        parts = browser.next("snapshot")["parts"]
        assert list(parts) == ["schema"]
        assert "delete-only" in parts["schema"]


def test_a_change_of_leases_is_pushed_without_an_event(browse: Open, flights: Table) -> None:
    from leases.models import Node

    Node.objects.create(name="n1", incarnation=1, host="127.0.0.1", port=1, pid=1)
    with browse() as browser:
        browser.follow("cluster", parts=["lanes"])
        assert browser.next("snapshot")["state"]["lanes"]["moving"][0]["in_use"] == []
        with connection.cursor() as cursor:
            cursor.execute("SELECT * FROM lease_acquire(%s, 'n1', 1, 60)", [flights.pk])
            cursor.execute("SELECT pg_notify('schemalab_lease', %s)", [str(flights.pk)])
        browser.next("state")
        while browser.heard[-1]["state"]["lanes"]["moving"][0]["in_use"] != [2]:
            browser.next("state")


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The state of the cluster's lanes, which nobody is notified of."""
    now = ["as it was"]
    lanes = replace(live._parts["cluster", "lanes"], read=lambda _id: {"shown": now[0]})
    monkeypatch.setitem(live._parts, ("cluster", "lanes"), lanes)
    return now


def test_a_page_that_opens_in_between_gets_the_state_to_which_all_returned(
    browse: Open, shown: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The state that was sent last is what the new page has not seen."""
    read = live.snapshot_of

    def read_in_between(stream: str, *, html: bool) -> live.Message:
        shown[0] = "for a moment"
        snapshot = read(stream, html=html)
        shown[0] = "as it was"
        return snapshot

    read_in_between.__name__ = read.__name__
    with browse() as first, browse() as second:
        first.follow("cluster", parts=["lanes"])
        assert first.next("snapshot")["state"]["lanes"] == {"shown": "as it was"}
        assert first.next("state")["state"]["lanes"] == {"shown": "as it was"}
        monkeypatch.setattr(live, "snapshot_of", read_in_between)
        second.follow("cluster", parts=["lanes"])
        assert second.next("snapshot")["state"]["lanes"] == {"shown": "for a moment"}
        assert second.next("state")["state"]["lanes"] == {"shown": "as it was"}
        shown[0] = "new"
        happen(1)
        for browser in (first, second):
            assert browser.next("state")["state"]["lanes"] == {"shown": "new"}
        assert [message["type"] for message in first.heard].count("state") == 2, "who has it is not sent it again"


def test_what_was_sent_of_a_stream_that_nobody_follows_is_forgotten(
    browse: Open, flights: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "HEARTBEAT_S", 0.2)

    def remembered() -> set[str]:
        return {stream for relay in relays._relays.values() for stream, _, _ in relay.sent}

    with browse() as browser:
        for stream in ("cluster", f"table:{flights.pk}"):
            browser.follow(stream)
            browser.next("snapshot")
        wait_for(lambda: len(remembered()) == 2, what="both streams", seconds_max=ANSWER_S)
        browser.say(type="unsubscribe", stream=f"table:{flights.pk}")
        wait_for(lambda: remembered() == {"cluster"}, what="the one that is left", seconds_max=ANSWER_S)


def test_figures_of_nodes_come_every_second_and_nothing_else_does(browse: Open, redis_url: str) -> None:
    from leases.models import Node
    from leases.samples import Sample

    def told(at: int) -> None:
        with Redis.from_url(redis_url) as client:
            client.lpush("schemalab:samples:n1", Sample(at, 10.0 * at, 0.5, 2.0).to_text())

    Node.objects.create(name="n1", incarnation=1, host="127.0.0.1", port=1, pid=1)
    told(1)
    with browse() as browser:
        browser.follow("cluster")
        assert browser.next("snapshot")["state"]["throughput"]["nodes"][0]["now"]["statements_per_s"] == 10
        browser.next("state")
        told(2)
        parts = browser.next("state")["state"]
        assert parts["throughput"]["peak"] == 20
        assert set(parts) == {"throughput", "pulse"}


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        pytest.param({"stream": "weather"}, "there is no stream 'weather'", id="an unknown stream"),
        pytest.param({"stream": "table:999"}, "there is no table 999", id="a table that does not exist"),
        pytest.param({"stream": "leases"}, "you may not follow 'leases'", id="the stream of a page for staff"),
        pytest.param({"stream": "leases:0", "html": True}, "you may not follow 'leases:0'", id="by its number"),
        pytest.param({"stream": "table:-1"}, "there is no stream 'table:-1'", id="a number that is none"),
        pytest.param({"stream": "cluster", "since": "x"}, "since must be the number", id="since that is no number"),
    ],
)
def test_what_cannot_be_followed_is_refused(browse: Open, wish: dict[str, Any], message: str) -> None:
    with browse() as browser:
        browser.say(type="subscribe", **wish)
        assert message in browser.next("error")["message"]


def test_nobody_follows_without_signing_in(browse: Open) -> None:
    with browse("") as browser, pytest.raises(ConnectionClosed) as closed:
        browser.next("hello")
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 4401


def test_signing_out_ends_the_open_pages_of_that_session_only(site: Site, client_of: Callable[[str], Client]) -> None:
    here, elsewhere = client_of("lea"), client_of("lea")

    def opened(client: Client) -> ClientConnection:
        headers = {"Cookie": site.cookie(client)}
        return connect(f"ws://{site.host}/live/", additional_headers=headers, origin=f"http://{site.host}")

    with opened(here) as one, opened(here) as two, opened(elsewhere) as other:
        for socket in (one, two, other):
            Browser(socket).next("hello")
        here.post("/sign-out/")
        for socket in (one, two):
            with pytest.raises(ConnectionClosed) as closed:
                socket.recv(timeout=ANSWER_S)
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 4401
        Browser(other).follow("cluster")
        assert Browser(other).next("snapshot")["stream"] == "cluster"


def test_a_session_is_over_before_its_pages_are_told_to_open_anew(dsn: str, client_of: Callable[[str], Client]) -> None:
    """A page that opened anew while the session was still there would be signed in, and stay."""
    browser = client_of("lea")
    told: list[bool] = []
    with psycopg.connect(dsn, autocommit=True) as relay:
        relay.execute("LISTEN schemalab_sign_out")

        def slow_delete(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
            if sql.startswith('DELETE FROM "django_session"'):
                told.append(any(relay.notifies(timeout=0.3, stop_after=1)))
            return execute(sql, *rest)

        with connection.execute_wrapper(slow_delete):
            browser.post("/sign-out/")
        assert told[0] is False
        assert any(relay.notifies(timeout=ANSWER_S, stop_after=1))


def test_a_new_password_leaves_the_other_pages_of_its_browser_open(
    site: Site, client_of: Callable[[str], Client]
) -> None:
    """They would open anew before the browser has the key of its new session, and lose that."""
    browser = client_of("lea")
    headers = {"Cookie": site.cookie(browser)}
    with connect(f"ws://{site.host}/live/", additional_headers=headers, origin=f"http://{site.host}") as socket:
        other_page = Browser(socket)
        other_page.follow("cluster", since=0)
        other_page.next("state")
        for number in (1, 2):  # the relay listens by then
            happen(number)
            other_page.next("event")
        password = {"page-new_password1": "a long walk to the sea", "page-new_password2": "a long walk to the sea"}
        assert browser.post("/account/password/", password).status_code == 302
        assert site.cookie(browser) != headers["Cookie"]
        for number in (3, 4):
            happen(number)
            assert other_page.next("event")["seq"] == number


def test_a_sign_out_that_reaches_no_page_costs_nobody_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> None:
        raise OperationalError("no connection")

    monkeypatch.setattr(connection, "cursor", fails)
    end_sockets("a session")


def test_who_signs_out_while_nobody_listens_is_signed_out_afterwards(
    browse: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    with browse() as browser:
        browser.follow("cluster")
        browser.next("snapshot")
        Session.objects.all().delete()
        cut()
        with pytest.raises(ConnectionClosed) as closed:
            browser.next("never")
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 4401


def close_account(user: User) -> None:
    User.objects.filter(pk=user.pk).update(is_active=False)


def delete_account(user: User) -> None:
    user.delete()


def end_session(user: User) -> None:
    Session.objects.all().delete()


def expire_session(user: User) -> None:
    Session.objects.update(expire_date=timezone.now())


def make_password_elsewhere(user: User) -> None:
    user.set_password("a long walk to the sea")
    user.save(update_fields=["password"])


@pytest.mark.parametrize(
    "end", [close_account, delete_account, end_session, expire_session, make_password_elsewhere, take_roles]
)
def test_a_page_whose_reader_may_not_read_it_any_more_is_closed_at_a_heartbeat(
    browse: Open, people: dict[str, User], monkeypatch: pytest.MonkeyPatch, end: Callable[[User], None]
) -> None:
    """Nothing tells the relay of these: it looks. Others are served on."""
    monkeypatch.setattr(live, "HEARTBEAT_S", 0.2)
    with browse("olga") as browser, browse("sam") as other:
        for page, stream in ((browser, "leases"), (other, "cluster")):
            page.follow(stream)
            page.next("snapshot")
        mine = other.socket.request.headers["Cookie"].removeprefix("sessionid=")
        kept = Session.objects.get(pk=mine)
        end(people["olga"])
        kept.save()
        with pytest.raises(ConnectionClosed) as closed:
            browser.next("never")
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 4401
        for _ in range(3):
            other.next("ping")


def test_a_role_that_is_taken_closes_no_page_that_needs_none(
    browse: Open, people: dict[str, User], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "HEARTBEAT_S", 0.2)
    with browse("olga") as browser:
        browser.follow("cluster")
        browser.next("snapshot")
        take_roles(people["olga"])
        for _ in range(3):
            browser.next("ping")
        browser.follow("leases")
        assert "you may not follow 'leases'" in browser.next("error")["message"]


@pytest.mark.parametrize(
    ("victim", "append"),
    [
        pytest.param(0, happen_unheard, id="the session that listens, so that nothing is heard meanwhile"),
        pytest.param(1, happen, id="the session that reads"),
    ],
)
def test_what_happens_while_a_session_of_the_relay_is_away_is_read_when_it_is_back(
    browse: Open, victim: int, append: Callable[[int], None]
) -> None:
    with browse() as browser:
        browser.follow("cluster", since=0)
        browser.next("state")
        happen(1)
        assert browser.next("event")["seq"] == 1
        cut(sorted(listeners())[victim])
        append(2)
        append(3)
        while len(browser.seqs()) < 3:
            browser.next("event", timeout_s=live.HEARTBEAT_S - 1)
        happen(4)
        browser.next("event")
        assert browser.seqs() == [1, 2, 3, 4]


def test_another_sites_page_cannot_listen(browse: Open) -> None:
    with pytest.raises(InvalidStatus) as refused, browse(origin="http://elsewhere.example"):
        pass
    assert refused.value.response.status_code == 403


@pytest.mark.soak
def test_a_socket_idle_for_8_s_still_hears(browse: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "HEARTBEAT_S", 60)
    with browse() as browser:
        browser.follow("cluster", since=0)
        browser.next("state")
        with pytest.raises(TimeoutError):
            browser.next("event", timeout_s=8)
        happen(1)
        assert browser.next("event", timeout_s=1)["seq"] == 1


class OwnRedis:
    """A Redis of this test's own, to be killed."""

    def __init__(self, folder: Path) -> None:
        from schemalab.embedded.redis import binary

        self.socket = folder / "r.sock"
        self.command = [str(binary()), "--port", "0", "--unixsocket", str(self.socket), "--save", ""]
        self.url = f"unix://{self.socket}"
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 5
        while not self.socket.exists():
            assert time.monotonic() < deadline, "Redis did not start within 5 s"
            time.sleep(0.01)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(5)
        self.socket.unlink(missing_ok=True)


@pytest.fixture
def own_redis(tmp_path: Path, settings: Any) -> Iterator[OwnRedis]:
    redis = OwnRedis(tmp_path)
    settings.REDIS_URL = redis.url
    yield redis
    redis.kill()


def test_redis_killed_and_restarted_empty_loses_nothing(
    own_redis: OwnRedis, browse: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "HEARTBEAT_S", 0.3)
    with browse() as browser:
        browser.follow("cluster", since=0)
        browser.next("state")
        happen(1)
        browser.next("event")
        own_redis.kill()
        happen(2)
        browser.next("event")
        own_redis.start()
        happen(3)
        browser.next("event")
        happen(4)
        browser.next("event")
        assert browser.seqs() == [1, 2, 3, 4]
