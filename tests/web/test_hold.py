"""Hold it for me: a session keeps a transaction open, ends by the button or its limit, and is in the story."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import psycopg
import pytest
from django.db import connection
from django.test import Client

from catalog.models import StoryEvent, Table
from leases.models import Node
from nodes.console import hold
from schemalab.operations import hold as page
from schemalab.polling import wait_for
from tests.web.layout import flat

ClientOf = Callable[[str], Client]
NAME = "hold in a test"


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
    assert sam.post("/hold/n3/").status_code == 409
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
        cursor.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s", [NAME])
    wait_for(lambda: hold.holds() == [], what="the end of the hold", seconds_max=5)
    wait_for(lambda: len(kinds()) == 2, what="its event", seconds_max=5)


def test_who_may_only_look_may_not_hold(as_ourselves: None, client_of: ClientOf, flights: Table) -> None:
    assert client_of("lea").get("/hold/n3/").status_code == 403
    assert client_of("olga").get("/hold/n3/").status_code == 200
    Table.objects.filter(pk=flights.pk).update(name="trips")
    assert client_of("sam").get("/hold/n3/").status_code == 403, "without the demo it is for operators"
    assert client_of("olga").get("/hold/n3/").status_code == 200
    assert sessions() == []
