"""The first-visit card: three things to do, for those who may; put away for one person, and brought back from Help."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.timezone import now

from catalog.models import Table
from changes.models import Change
from leases.models import Node
from nodes.models import TrafficRun
from nodes.traffic import runs
from schemalab.operations.first_visit import MINUTES
from spark_tasks.models import LoadJob, RunState
from tests.web.layout import flat

ClientOf = Callable[[str], Client]
HEAD = "Is this your first visit?"

pytestmark = pytest.mark.usefixtures("redis_url")


def words(answer: Any) -> str:
    return " ".join(html.unescape(answer.content.decode()).split())


@pytest.fixture
def nodes(db: None) -> None:
    for number in (1, 2, 3):
        Node.objects.create(
            name=f"n{number}", incarnation=1, host="127.0.0.1", port=6000 + number, pid=1, heartbeat_at=now()
        )


def test_it_offers_three_things_and_says_what_one_will_see(client_of: ClientOf, flights: Table, nodes: None) -> None:
    shown = words(client_of("olga").get("/"))
    assert HEAD in shown
    assert 'action="/traffic/start/"' in shown
    assert "/changes/new/?statement=CREATE%20INDEX%20flights_by_dest%20ON%20flights%20%28dest%29" in shown
    assert 'href="/processes/n2/kill/?next=/"' in shown
    assert f'name="minutes" value="{MINUTES}"' in shown


def test_it_leaves_after_a_persons_first_change(client_of: ClientOf, flights: Table, nodes: None) -> None:
    """The change that made a table does not count, nor does one of somebody else."""
    change = {"table_id": flights.pk, "table_ids": [flights.pk], "table_name": "flights", "plan": {}}
    Change.objects.create(**change, statement="CREATE TABLE flights (id bigint)", who="olga", status="done")
    Change.objects.create(**change, statement="CREATE INDEX a ON flights (dest)", who="sam", status="done")
    assert HEAD in words(client_of("olga").get("/"))
    assert HEAD not in words(client_of("sam").get("/"))


@pytest.mark.parametrize(
    ("who", "writes", "kills"), [("lea", False, False), ("sam", True, False), ("olga", True, True)]
)
def test_buttons_are_for_those_who_may(
    client_of: ClientOf, flights: Table, nodes: None, who: str, writes: bool, kills: bool
) -> None:
    shown = words(client_of(who).get("/"))
    assert HEAD in shown
    assert ('action="/traffic/start/"' in shown) == writes
    assert ("Add this index" in shown) == writes
    assert ("Kill n2…" in shown) == kills


def test_without_the_demo_table_it_says_what_comes_first(client_of: ClientOf, nodes: None) -> None:
    shown = words(client_of("olga").get("/"))
    assert "manage.py demo load" in shown
    assert 'action="/traffic/start/"' not in shown
    assert "Kill n2…" in shown


def test_while_the_demo_is_being_loaded_it_waits_for_the_rows(
    client_of: ClientOf, nodes: None, request: pytest.FixtureRequest
) -> None:
    """First of a table before the demo's, then of the demo's own; a load of another table is in nobody's way."""
    before = LoadJob.objects.create(table_id=1, path="airlines.csv.gz")
    shown = words(client_of("olga").get("/"))
    assert "The demo's data are being loaded" in shown
    assert "manage.py demo load" not in shown
    LoadJob.objects.filter(pk=before.pk).update(state=RunState.DONE, ended_at=now())
    shown = words(client_of("olga").get("/"))
    assert "The demo's data are being loaded" in shown, "the next load begins in a moment"
    assert "manage.py demo load" not in shown
    LoadJob.objects.filter(pk=before.pk).update(ended_at=now() - timedelta(minutes=1))
    assert "manage.py demo load" in words(client_of("olga").get("/"))
    flights: Table = request.getfixturevalue("flights")
    own = LoadJob.objects.create(table_id=flights.pk, path="flights.csv.gz")
    shown = words(client_of("olga").get("/"))
    assert "The demo's data are being loaded" in shown
    assert 'action="/traffic/start/"' not in shown
    LoadJob.objects.filter(pk=own.pk).update(state=RunState.DONE)
    LoadJob.objects.create(table_id=flights.pk + 1, path="my_own.csv")
    shown = words(client_of("olga").get("/"))
    assert "The demo's data are being loaded" not in shown
    assert 'action="/traffic/start/"' in shown


def test_traffic_that_runs_is_not_started_again(client_of: ClientOf, flights: Table, nodes: None) -> None:
    runs.ask("flights", clients=1, writes_percent=67, minutes=10, who="sam")
    shown = words(client_of("olga").get("/"))
    assert shown.count("Traffic starts…") == 2, "on the card, and where its wrong answers will be counted"
    assert "Traffic is running" not in shown, "no statement has run"
    assert "No client runs." not in shown
    assert 'action="/traffic/start/"' not in shown
    TrafficRun.objects.update(figures={"statements": 3, "statements_per_s": 1, "wrong": 0})
    shown = words(client_of("olga").get("/"))
    assert "Traffic is running" in shown
    assert "Traffic starts…" not in shown
    TrafficRun.objects.update(reported_at=now() - timedelta(seconds=runs.STARTS_WITHIN_S + 1))
    assert "Traffic is running" not in words(client_of("olga").get("/")), "its process is gone"


def test_it_is_put_away_for_one_person_and_comes_back_from_help(client_of: ClientOf, flights: Table) -> None:
    olga = client_of("olga")
    assert olga.post("/first-visit/")["Location"] == "/"
    assert HEAD not in words(olga.get("/"))
    sam = client_of("sam")
    sam.cookies["first_visit"] = olga.cookies["first_visit"].value
    assert HEAD in words(sam.get("/")), "another person in the same browser"
    assert "Show that card again" in words(olga.get("/help/"))
    assert olga.post("/first-visit/", {"again": "1"})["Location"] == "/"
    assert HEAD in words(olga.get("/"))


def test_who_has_not_signed_in_is_told_what_this_is_and_where_to_begin(db: None) -> None:
    shown = words(Client().get("/"))
    assert "A database that changes its schema while it is used" in shown
    for door in ('href="/sign-in/?next=/"', 'href="/lab/chapters/01-one-jump/"', 'href="/lab/"'):
        assert door in shown
    assert "data-first-minute" in shown
    assert shown.count('class="button first"') == 1, "the way on from the ending; the picture makes its own"
    assert "data-stream" not in shown, "nothing of the cluster itself"


@pytest.mark.parametrize(
    ("language", "name", "meaning"),
    [
        ("en", "lease", "The right of a node to use one version"),
        ("zh-hans", "租约", "节点在有限的时间内使用表的某个版本的权利"),
    ],
)
def test_words_are_explained_in_the_language_of_the_page(db: None, language: str, name: str, meaning: str) -> None:
    client = Client(headers={"accept-language": language})
    link = f'<a class="term" href="/glossary/#lease" data-meaning="{meaning}'
    assert re.search(rf"{re.escape(link)}[^>]+>{name}", words(client.get("/help/")))
    glossary = flat(html.unescape(client.get("/glossary/").content.decode()))
    assert re.search(rf'<div id="lease"><dt>{name}.*?</dt><dd>{re.escape(meaning)}', glossary)


def test_the_page_about_the_cluster_draws_what_it_has(client_of: ClientOf, nodes: None) -> None:
    """Its nodes with their addresses, its workers by the Procfile, and a table with the same."""
    shown = words(client_of("lea").get(reverse("about")))
    drawn, table = shown.split("The same as a table", 1)
    for part in ("n2", "127.0.0.1:6002", "PostgreSQL 1", "Redis ", "maintenance", "Celery beat", "Spark local["):
        assert part in drawn
        assert part in table
    assert "postgresql://" not in shown


@pytest.mark.parametrize(("lease_s", "says"), [(30.0, ["Leases last 30 s instead of 5 min"]), (900.0, [])])
def test_leases_are_called_short_only_where_they_are(
    client_of: ClientOf, settings: Any, lease_s: float, says: list[str]
) -> None:
    settings.LEASE_S = lease_s
    assert re.findall("Leases last .*? instead of 5 min", words(client_of("lea").get(reverse("about")))) == says


def test_the_help_says_what_each_room_of_the_bar_is_for(client_of: ClientOf, flights: Table) -> None:
    shown = flat(client_of("olga").get("/help/").content.decode())
    bar, page = shown.split("<main", 1)
    rooms = re.findall(r'<a href="/(?:\w+/)?"[^>]*>(?:<[^>]+>)*(\w+)', bar[bar.index("<nav") :])
    assert {"Cluster", "Tables", "Changes", "Console", "Leases", "Lab"} <= set(rooms), rooms
    for room in rooms:
        assert f"<li>{room.replace('Changes', 'A change')}: " in page or room == "Help"


def test_visitors_have_none(db: None) -> None:
    assert "Show that card again" not in words(Client().get("/help/"))
    assert Client().post("/first-visit/")["Location"] == "/sign-in/"
