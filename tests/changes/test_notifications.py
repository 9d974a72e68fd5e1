"""Notifications against a real HTTP and a real SMTP receiver: once for each event, signed, tried again, given up."""

from __future__ import annotations

import hashlib
import hmac
import json
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from email import message_from_bytes
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import psycopg
import pytest
from django.db import IntegrityError, connection, transaction
from django.utils.timezone import now

from catalog import services
from catalog.services import append_event
from changes.models import Change, Delivery, Destination, OutboxPlace, Step
from changes.notifications import email, messages, outbox, sending, webhook

pytestmark = pytest.mark.django_db
SECRET = "a secret between two"
ALL = ["waiting", "failed", "done", "cancelled", "approval"]


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test inside one transaction is not ended by the limit of a control transaction within it."""
    monkeypatch.setattr(services, "limit_transaction", lambda cursor, seconds=0.0: None)


class Receiver(ThreadingHTTPServer):
    """Takes requests of webhooks; answers with `status`, or hangs up when it is 0."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Request)
        self.taken: list[tuple[dict[str, str], bytes]] = []
        self.status = 204

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/hook?of=lab"


class Request(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.taken.append((dict(self.headers), body))
        if not self.server.status:
            self.connection.close()
            return
        self.send_response(self.server.status)
        if self.server.status == 302:
            self.send_header("Location", self.server.address)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


class PostOffice(socketserver.ThreadingTCPServer):
    """A server of SMTP that takes every message, or refuses all senders."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Letter)
        self.taken: list[tuple[list[str], Message]] = []
        self.refuses = False
        self.dawdles = threading.Event()


class Letter(socketserver.StreamRequestHandler):
    server: PostOffice

    def handle(self) -> None:
        while self.server.dawdles.is_set():
            try:
                self.wfile.write(b"220-wait\r\n")
            except OSError:
                return
            time.sleep(0.01)
        self.answer("220 here")
        to: list[str] = []
        while line := self.rfile.readline().decode().strip():
            word = line.partition(" ")[0].upper()
            if word == "RCPT":
                to.append(line.partition("<")[2].partition(">")[0])
            if word == "DATA":
                self.answer("354 go on")
                lines = iter(self.rfile.readline, b".\r\n")
                self.server.taken.append((to, message_from_bytes(b"".join(lines))))
            self.answer("550 not you" if word == "MAIL" and self.server.refuses else "250 fine")

    def answer(self, line: str) -> None:
        self.wfile.write(line.encode() + b"\r\n")


@contextmanager
def running(server: Any) -> Iterator[Any]:
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    with server:
        yield server
        server.shutdown()
    thread.join(5)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with running(Receiver()) as server:
        yield server


@pytest.fixture
def post_office(settings: Any) -> Iterator[PostOffice]:
    with running(PostOffice()) as server:
        settings.EMAIL_HOST, settings.EMAIL_PORT = server.server_address
        settings.EMAIL_USE_TLS = False
        settings.DEFAULT_FROM_EMAIL = "Lab <lab@example.org>"
        yield server


@pytest.fixture
def hook(receiver: Receiver) -> Destination:
    outbox.collect()  # the place in the story, as of now
    return destination(receiver.address)


def destination(address: str, **fields: Any) -> Destination:
    kind = "email" if "@" in address else "webhook"
    made = Destination.objects.create(
        **{"name": address, "kind": kind, "address": address, "occasions": ALL, "secret": SECRET} | fields
    )
    Destination.objects.update(created_at=now() - timedelta(hours=1))
    return made


def change(**fields: Any) -> Change:
    own = {"table_id": 7, "table_ids": [7], "table_name": "flights", "statement": "CREATE ..", "plan": {}, "who": "sam"}
    return Change.objects.create(**own | fields)


def happened(kind: str, of: Change, **payload: Any) -> None:
    with transaction.atomic():
        append_event(kind, of.table_name, {"change": of.pk} | payload, ["cluster", f"change:{of.pk}"])


def send_all() -> list[str | None]:
    """What became of each delivery that is due, in the order in which they were made."""
    due = Delivery.objects.filter(state="pending", due_at__lte=now()).order_by("created_at", "about")
    return [sending.deliver(one.pk) for one in due]


def come_due() -> None:
    Delivery.objects.filter(state="pending").update(due_at=now() - timedelta(seconds=1))


def test_a_webhook_gets_what_happened_signed(receiver: Receiver, hook: Destination) -> None:
    failed = change(status="failed")
    happened("change failed", failed, error="no")
    outbox.collect()
    assert send_all() == ["delivered"]
    [(headers, body)] = receiver.taken
    message = json.loads(body)
    assert message["occasion"] == message["change"]["status"] == "failed"
    assert message["text"] == f"Change {failed.pk} failed and was cleaned up: no"
    assert message["delivery"] == headers["X-Schemalab-Delivery"] == str(Delivery.objects.get().pk)
    signed = headers["X-Schemalab-Timestamp"].encode() + b"." + body
    expected = hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()
    assert headers["X-Schemalab-Signature"] == f"sha256={expected}"


def test_each_event_once_whoever_collects(receiver: Receiver, hook: Destination) -> None:
    for status in ("done", "failed"):
        happened(f"change {status}", change(status=status))
    assert outbox.collect() == 2
    assert outbox.collect() == 0
    OutboxPlace.objects.update(seq=0)  # as if a worker had died before the place was moved
    outbox.collect()
    assert send_all() == ["delivered"] * 2
    assert send_all() == []
    assert sorted(json.loads(body)["occasion"] for _, body in receiver.taken) == ["done", "failed"]


def test_a_worker_that_dies_while_it_sends_leaves_it_to_the_next(receiver: Receiver, hook: Destination) -> None:
    happened("change done", change(status="done"))
    outbox.collect()
    delivery = Delivery.objects.get()
    with connection.cursor() as cursor:
        cursor.execute(sending.CLAIMED, [sending.CLAIM, delivery.pk])  # and then it dies
    assert sending.deliver(delivery.pk) is None, "it is claimed"
    come_due()
    assert sending.deliver(delivery.pk) == "delivered"
    delivery.refresh_from_db()
    assert (delivery.tries, len(receiver.taken)) == (2, 1)


def test_a_worker_that_dies_after_it_was_taken_sends_it_again_with_the_same_id(
    receiver: Receiver, hook: Destination, monkeypatch: pytest.MonkeyPatch
) -> None:
    happened("change done", change(status="done"))
    outbox.collect()
    delivery = Delivery.objects.get()

    def dies(*_: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(sending, "_write", dies)
        with pytest.raises(SystemExit):
            sending.deliver(delivery.pk)
    come_due()
    assert sending.deliver(delivery.pk) == "delivered"
    assert {headers["X-Schemalab-Delivery"] for headers, _ in receiver.taken} == {str(delivery.pk)}
    assert len(receiver.taken) == 2


@pytest.mark.parametrize(("status", "answer"), [(500, "500 "), (302, "302 "), (0, "RemoteDisconnected")])
def test_what_is_not_taken_is_tried_again_later_each_time(
    receiver: Receiver, hook: Destination, status: int, answer: str
) -> None:
    receiver.status = status
    happened("change done", change(status="done"))
    outbox.collect()
    pauses = []
    for _ in range(3):
        assert send_all() == ["pending"]
        delivery = Delivery.objects.get()
        assert delivery.answer.startswith(answer)
        pauses.append((delivery.due_at - now()).total_seconds())
        assert send_all() == [], "not before it is due"
        come_due()
    assert [5 * 2**n - 3 < pause <= 5 * 2**n for n, pause in enumerate(pauses)] == [True] * 3
    receiver.status = 200
    assert send_all() == ["delivered"]
    assert len(receiver.taken) == 4, "no redirect was followed"


def test_it_is_given_up_in_the_end(hook: Destination, receiver: Receiver) -> None:
    receiver.status = 503
    happened("change done", change(status="done"))
    outbox.collect()
    ends = []
    for _ in range(sending.TRIES_MAX + 1):
        come_due()
        ends += send_all()
    assert ends == ["pending"] * (sending.TRIES_MAX - 1) + ["given_up"]
    assert len(receiver.taken) == sending.TRIES_MAX


def test_a_late_outcome_of_a_lost_claim_changes_nothing(hook: Destination, receiver: Receiver) -> None:
    happened("change done", change(status="done"))
    outbox.collect()
    assert send_all() == ["delivered"]
    delivery = Delivery.objects.get()
    sending._write(sending.ENDED, ["given_up", "late", delivery.pk, delivery.tries - 1])
    delivery.refresh_from_db()
    assert delivery.state == "delivered"


def test_a_side_that_answers_a_byte_at_a_time_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook, "SECONDS_MAX", 0.5)
    ended = threading.Event()

    class Slow(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(65536)
            for byte in b"HTTP/1.1 200 OK\r\n" + b"X-A: b\r\n" * 10000:
                if ended.wait(0.05):
                    return
                try:
                    self.request.sendall(bytes([byte]))
                except OSError:
                    return

    with running(socketserver.ThreadingTCPServer(("127.0.0.1", 0), Slow)) as server:
        host, port = server.server_address
        with pytest.raises(webhook.NotDelivered):
            webhook.post(f"http://{host}:{port}/", {}, delivery="1", secret=SECRET)
        ended.set()


def test_email_over_smtp(post_office: PostOffice) -> None:
    outbox.collect()
    destination("ann@example.org, bob@example.org")
    happened("change done", change(status="done", table_name="a\nBcc: eve@example.org"))
    outbox.collect()
    assert send_all() == ["delivered"]
    [(to, message)] = post_office.taken
    delivery = Delivery.objects.get()
    assert to == ["ann@example.org", "bob@example.org"]
    assert message["Message-ID"] == f"<{delivery.pk}@example.org>"
    assert message["Subject"].startswith("[Schema Lab] done: change ")
    assert message["Bcc"] is None
    assert "is done." in message.get_payload()


def test_email_that_is_refused_or_has_no_server(post_office: PostOffice, settings: Any) -> None:
    outbox.collect()
    destination("ann@example.org")
    happened("change done", change(status="done"))
    outbox.collect()
    post_office.refuses = True
    assert send_all() == ["pending"]
    assert "not you" in Delivery.objects.get().answer
    settings.EMAIL_HOST = ""
    come_due()
    assert send_all() == ["pending"]
    assert Delivery.objects.get().answer == "no SMTP server: set EMAIL_URL"


def test_a_server_that_never_comes_to_an_end_is_cut_off(
    post_office: PostOffice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(email, "SECONDS_MAX", 0.2)
    post_office.dawdles.set()
    with pytest.raises(webhook.NotDelivered):
        email.send("ann@example.org", messages.of_test("olga", "now"), delivery="1")


def test_a_step_that_waits_too_long_is_reported_once(receiver: Receiver, hook: Destination) -> None:
    slow = destination("http://127.0.0.1:9/patient", wait_s=3600)
    waiting = change(status="waiting", executor_state={"waited_since": now().timestamp() - 100})
    Step.objects.create(
        change=waiting, number=1, kind="drain", version=3, started_at=now() - timedelta(hours=9), waited_for=["n3"]
    )
    over = {"started_at": now() - timedelta(hours=3), "ended_at": now()}
    Step.objects.create(change=waiting, number=0, kind="publish", version=3, **over)
    for number, status in enumerate(("paused", "waiting"), 8):  # the second waits anew, after a pause
        other = change(status=status, table_id=number, table_ids=[number], executor_state={"waited_since": None})
        Step.objects.create(change=other, number=1, kind="drain", started_at=now() - timedelta(hours=3))
    outbox.collect()
    outbox.collect()
    assert send_all() == ["delivered"]
    [(_, body)] = receiver.taken
    message = json.loads(body)
    assert (message["occasion"], message["nodes"], message["change"]["id"]) == ("waiting", ["n3"], waiting.pk)
    assert not slow.deliveries.exists()


def test_a_destination_hears_of_its_occasions_and_of_nothing_older(receiver: Receiver) -> None:
    happened("change done", change(status="done"))
    outbox.collect()
    failures = destination(receiver.address, occasions=["failed"])
    off = destination("http://127.0.0.1:9/off", is_on=False)
    young = destination("http://127.0.0.1:9/young")
    Destination.objects.filter(pk=young.pk).update(created_at=now() + timedelta(minutes=1))
    happened("change done", change(status="done"))
    happened("change failed", change(status="failed"), error="no")
    outbox.collect()
    assert failures.deliveries.count() == 1
    assert not off.deliveries.exists()
    assert not young.deliveries.exists()


def test_a_test_message_goes_the_same_way(receiver: Receiver, hook: Destination) -> None:
    delivery = sending.ask_for_test(hook, who="olga")
    assert sending.deliver(delivery.pk) == "delivered"
    message = json.loads(receiver.taken[0][1])
    assert (message["occasion"], message["text"][:5]) == ("test", "olga ")


def test_what_is_due_is_asked_for_a_bounded_number_at_a_time(
    receiver: Receiver, hook: Destination, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr("schemalab.celery.app.send_task", lambda name, args, **_: asked.append(f"{name} {args[0]}"))
    deliveries = [sending.ask_for_test(hook, who="olga") for _ in range(sending.AT_ONCE + 3)]
    Delivery.objects.filter(pk=deliveries[0].pk).update(due_at=now() + timedelta(minutes=1))
    assert len(sending.find_due()) == len(asked) == sending.AT_ONCE
    assert f"changes.tasks.deliver {deliveries[0].pk}" not in asked
    assert len(sending.find_due()) == 2, "those whose messages may be on their way are not asked for again"


def test_a_mistake_of_ours_is_given_up_like_a_refusal(hook: Destination, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> str:
        raise ValueError("Invalid address")

    monkeypatch.setattr("changes.notifications.webhook.post", broken)
    made = sending.ask_for_test(hook, who="olga")
    for _ in range(sending.TRIES_MAX):
        Delivery.objects.update(due_at=now())
        sending.deliver(made.pk)
    made.refresh_from_db()
    assert (made.state, made.tries, made.answer) == ("given_up", 8, "ValueError: Invalid address")


def test_one_whose_worker_dies_each_time_is_given_up(hook: Destination) -> None:
    made = sending.ask_for_test(hook, who="olga")
    Delivery.objects.update(tries=sending.TRIES_MAX)
    assert sending.find_due() == []
    made.refresh_from_db()
    assert made.state == "given_up"


def test_few_are_sent_at_the_same_time(hook: Destination, dsn: str) -> None:
    made = sending.ask_for_test(hook, who="olga")
    with psycopg.connect(dsn, autocommit=True) as others:
        for slot in range(sending.AT_ONCE_SENT):
            others.execute("SELECT pg_advisory_lock(%s, %s)", [sending.SLOTS, slot])
        assert sending.deliver(made.pk) is None
    made.refresh_from_db()
    assert (made.state, made.tries) == ("pending", 0)


def test_deliveries_that_ended_long_ago_are_dropped(hook: Destination, receiver: Receiver) -> None:
    sending.deliver(sending.ask_for_test(hook, who="olga").pk)
    Delivery.objects.update(ended_at=now() - outbox.KEPT - timedelta(minutes=1))
    outbox.forget_old()
    assert not Delivery.objects.exists()


@pytest.mark.parametrize(
    "fields", [{"address": "ftp://x"}, {"kind": "email", "address": "nobody"}, {"secret": ""}, {"wait_s": 0}]
)
def test_the_database_refuses_a_destination_that_is_none(hook: Destination, fields: dict[str, Any]) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Destination.objects.filter(pk=hook.pk).update(**fields)


def test_a_delivery_that_has_ended_has_its_time(hook: Destination) -> None:
    delivery = sending.ask_for_test(hook, who="olga")
    with pytest.raises(IntegrityError), transaction.atomic():
        Delivery.objects.filter(pk=delivery.pk).update(state="delivered")
