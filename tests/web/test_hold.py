"""Hold it for me: a session keeps a transaction open, ends by the button or its limit, and is in the story."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.db import DatabaseError, connection
from django.test import Client
from django.utils.timezone import now

from catalog.models import StoryEvent, Table
from leases.models import Lease, Node
from nodes.console import hold
from schemalab.operations import hold_pages as page
from schemalab.polling import wait_for
from tests.web.layout import flat

ClientOf = Callable[[str], Client]
NAME = "hold in a test"
TERMINATE = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = %s"


def sessions() -> list[str]:
    """The states of the sessions that hold, as PostgreSQL sees them."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT state FROM pg_stat_activity WHERE application_name = %s", [NAME])
        return [state for (state,) in cursor.fetchall()]


@pytest.fixture
def as_ourselves(monkeypatch: pytest.MonkeyPatch, db: None) -> Iterator[None]:
    """The node is the test database, which has a table of that name."""
    chosen = connection.settings_dict
    where = {"host": chosen["HOST"], "port": chosen["PORT"] or None, "user": chosen["USER"], "dbname": chosen["NAME"]}

    def connect(_node: Node, _user: str) -> psycopg.Connection:
        session = psycopg.connect(**where, autocommit=True, application_name=NAME)
        session.execute("CREATE TEMP TABLE flights (id int)")
        return session

    monkeypatch.setattr(page, "_connect", connect)
    Node.objects.create(name="n3", incarnation=1, host="127.0.0.1", port=1, pid=1)
    yield
    for one in hold.holds():
        hold._end(one)
    with connection.cursor() as cursor:  # a session that sleeps has not seen the end of its connection
        cursor.execute(TERMINATE, [NAME])


class Frozen(psycopg.Connection[Any]):
    """Of its statements the node does not answer the one named `unanswered` in time."""

    unanswered = "SELECT 1"

    def execute(self, query: Any, *args: Any, **options: Any) -> Any:
        is_unanswered = self.unanswered in (query if isinstance(query, str) else query.as_string())
        return super().execute("SELECT pg_sleep(10)" if is_unanswered else query, *args, **options)


def kinds() -> list[tuple[str, str]]:
    events = StoryEvent.objects.filter(stream="cluster", kind__contains="transaction").order_by("seq")
    return [(event.kind, event.payload["who"]) for event in events]


@pytest.mark.django_db(transaction=True)
def test_a_held_transaction_is_open_until_it_is_ended_by_the_button(
    as_ourselves: None, client_of: ClientOf, flights: Table
) -> None:
    sam = client_of("sam")
    asked = flat(sam.get("/hold/n3/").content.decode())
    assert "A session opens a transaction on n3 and reads flights." in asked
    assert sessions() == [], "nothing is done before it is asked for"
    assert sam.post("/hold/n3/").status_code == 302
    assert sessions() == ["idle in transaction"]
    again = sam.post("/hold/n3/")
    assert again.status_code == 409
    assert "sam already holds a transaction open on n3." in flat(again.content.decode())
    assert page.part(0)["holds"][0]["who"] == "sam"
    assert sam.post("/hold/n3/end/").status_code == 302
    wait_for(lambda: sessions() == [], what="the end of the session", seconds_max=5)
    assert kinds() == [("transaction held", "sam"), ("held transaction ended", "sam")]
    trail = flat(client_of("olga").get("/audit-trail/").content.decode())
    assert "sam holds a transaction open on n3" in trail
    assert "sam ended the transaction that was held open on n3" in trail


@pytest.mark.django_db(transaction=True)
def test_it_ends_at_its_limit_without_anybody(
    as_ourselves: None, client_of: ClientOf, flights: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hold, "HOLD_S_MAX", 0.0)
    monkeypatch.setattr(hold, "LOOK_S", 0.05)
    client_of("sam").post("/hold/n3/")
    wait_for(lambda: len(kinds()) == 2, what="the end at the limit", seconds_max=5)
    assert kinds() == [("transaction held", "sam"), ("held transaction over", "sam")]
    wait_for(lambda: sessions() == [], what="the end of the session", seconds_max=5)


@pytest.mark.django_db(transaction=True)
def test_it_ends_with_the_transaction_that_its_node_has_ended(
    as_ourselves: None, client_of: ClientOf, flights: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with a lease that has expired."""
    monkeypatch.setattr(hold, "LOOK_S", 0.05)
    client_of("sam").post("/hold/n3/")
    with connection.cursor() as cursor:
        cursor.execute(TERMINATE, [NAME])
    wait_for(lambda: hold.holds() == [], what="the end of the hold", seconds_max=5)
    wait_for(lambda: len(kinds()) == 2, what="its event", seconds_max=5)


@pytest.mark.django_db(transaction=True)
def test_a_hold_on_a_frozen_node_ends_at_its_limit(
    as_ourselves: None, client_of: ClientOf, flights: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hold, "HOLD_S_MAX", 1.5)
    monkeypatch.setattr(hold, "LOOK_S", 0.05)
    monkeypatch.setattr(psycopg, "connect", Frozen.connect)
    client_of("sam").post("/hold/n3/")
    assert [one.who for one in hold.holds()] == ["sam"]
    wait_for(lambda: len(kinds()) == 2, what="the end at the limit", seconds_max=5)
    assert hold.holds() == []


@pytest.mark.django_db(transaction=True)
def test_a_node_that_does_not_answer_the_first_read_is_refused(
    as_ourselves: None, client_of: ClientOf, flights: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hold, "READ_S_MAX", 0.3)
    monkeypatch.setattr(Frozen, "unanswered", "LIMIT 1")
    monkeypatch.setattr(psycopg, "connect", Frozen.connect)
    answer = client_of("sam").post("/hold/n3/")
    assert answer.status_code == 409
    assert "cannot open a transaction on n3" in flat(answer.content.decode())
    assert (hold.holds(), hold._holds, kinds()) == ([], {}, [])


def test_it_is_shown_to_end_with_its_lease_once_a_newer_version_is_out(
    flights: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The node renews no lease on an older version, so five minutes would be a promise that it breaks."""
    began = now()
    limit = began + timedelta(minutes=5)
    held = hold.Hold("n3", "sam", flights.pk, "flights", limit, began=began)
    monkeypatch.setattr(hold, "holds", lambda: [held])
    expires = began + timedelta(seconds=30)
    lease = {"table_id": flights.pk, "node": "n3", "incarnation": 1, "expires_at": expires}
    older = Lease.objects.create(version=1, acquired_at=began - timedelta(seconds=9), **lease)
    Lease.objects.create(version=2, acquired_at=began + timedelta(seconds=9), **lease)
    assert page.part(0)["holds"][0]["until"] == expires.isoformat(), "v2 was published while it lasted"
    Lease.objects.filter(pk=older.pk).update(expires_at=limit + timedelta(minutes=1))
    assert page.part(0)["holds"][0]["until"] == limit.isoformat(), "its own limit comes first"
    Lease.objects.filter(version=2).update(acquired_at=began - timedelta(seconds=1))
    assert page.part(0)["holds"][0]["until"] == limit.isoformat(), "it reads with the newest version"


def test_the_holds_can_be_read_while_a_node_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, may_answer = threading.Event(), threading.Event()

    def connect() -> psycopg.Connection:
        asked.set()
        may_answer.wait(10)
        raise psycopg.OperationalError("no answer")

    def begin() -> None:
        with pytest.raises(hold.HoldRefused, match="cannot open a transaction on n3: no answer"):
            hold.begin("n3", who="sam", table_id=1, table="flights", connect=connect)

    beginning = threading.Thread(target=begin)
    beginning.start()
    assert asked.wait(5)
    found: list[object] = []
    reading = threading.Thread(target=lambda: found.append(hold.holds()))
    reading.start()
    reading.join(2)
    with pytest.raises(hold.HoldRefused, match="sam already holds a transaction open on n3"):
        hold.begin("n3", who="olga", table_id=1, table="flights", connect=connect)
    may_answer.set()
    beginning.join(5)
    reading.join(5)
    assert found == [[]], "a hold that is not open yet is not shown"
    assert hold._holds == {}, "its place is free again"


@pytest.mark.django_db(transaction=True)
def test_without_its_event_there_is_no_hold(
    as_ourselves: None, client_of: ClientOf, flights: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise DatabaseError("no story")

    monkeypatch.setattr(hold, "append_event", fail)
    with pytest.raises(DatabaseError, match="no story"):
        client_of("sam").post("/hold/n3/")
    assert hold.holds() == []
    wait_for(lambda: sessions() == [], what="the end of the session", seconds_max=5)


def test_who_may_only_look_may_not_hold(as_ourselves: None, client_of: ClientOf, flights: Table) -> None:
    assert client_of("lea").get("/hold/n3/").status_code == 403
    assert client_of("olga").get("/hold/n3/").status_code == 200
    Table.objects.filter(pk=flights.pk).update(name="trips")
    assert client_of("sam").get("/hold/n3/").status_code == 403, "without the demo it is for operators"
    assert client_of("olga").get("/hold/n3/").status_code == 200
    assert sessions() == []
