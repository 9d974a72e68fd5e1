"""An incident: what is shown of a range of time, by its address alone."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import transaction
from django.http import QueryDict
from django.test import Client
from django.utils.timezone import now

from catalog.descriptor import from_json
from catalog.models import Descriptor, StoryEvent, Table
from catalog.services import append_event
from catalog.story_list.wanted import written
from changes.ddl.statements import parse
from changes.models import Change, Record
from changes.planning.planner import make_plan
from changes.records import incident
from leases.models import PastLease, RecordedSecond
from leases.staircase.facts import Facts, Mark, Second, Use, Version, Walk, Work, to_json

ClientOf = Callable[[str], Client]


def words(answer: Any) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", answer.content.decode())).split())


@pytest.fixture
def noon() -> datetime:
    """Half an hour ago."""
    return (now() - timedelta(minutes=30)).replace(microsecond=0)


@pytest.fixture
def change(flights: Table, noon: datetime) -> Change:
    """It published v2 at noon and was done 20 s later; n1 left v1 after 10 s, n2 joined meanwhile, n9 later."""
    Descriptor.objects.filter(table=flights, version=1).update(modified_at=noon - timedelta(hours=1))
    Descriptor.objects.filter(table=flights, version=2).update(modified_at=noon)
    times = {"started_at": noon - timedelta(seconds=1), "ended_at": noon + timedelta(seconds=20)}
    statement = "CREATE INDEX by_id_dest ON flights (id, dest)"
    plan = make_plan(parse(statement).action, from_json(Descriptor.objects.get(table=flights, version=2).body))
    common = {"table_id": flights.pk, "table_ids": [flights.pk], "table_name": "flights", "plan": plan.to_json()}
    made = Change.objects.create(statement=statement, status="done", who="sam", **common, **times)
    for version, began_s, ended_s in ((1, -600, 10), (2, 10, 400)):
        PastLease.objects.create(
            table_id=flights.pk,
            version=version,
            node="n1",
            incarnation=1,
            acquired_at=noon + timedelta(seconds=began_s),
            ended_at=noon + timedelta(seconds=ended_s),
            expires_at=noon + timedelta(seconds=ended_s + 20),
        )
    RecordedSecond.objects.create(at=int(noon.timestamp()) + 5, statements_per_s=40, p50_ms=1, p99_ms=2, nodes=1)
    for node, after_s in (("n2", 5), ("n9", 900)):
        with transaction.atomic():
            append_event("node joined", node, {"node": node, "incarnation": 1}, ["cluster"])
        StoryEvent.objects.filter(subject=node).update(at=noon + timedelta(seconds=after_s))
    return made


def test_it_shows_the_range_and_nothing_else(client_of: ClientOf, change: Change, noon: datetime) -> None:
    ends = {"from": written(noon - timedelta(seconds=5)), "until": written(noon + timedelta(seconds=30))}
    shown = words(client_of("lea").get("/incident/", {"change": change.pk} | ends))
    assert "1 node went from v1 to v2." in shown
    assert "Node n2 joined (incarnation 1)." in shown
    assert "n9" not in shown
    quiet = {"from": written(noon + timedelta(seconds=60)), "until": written(noon + timedelta(seconds=120))}
    shown = words(client_of("lea").get("/incident/", {"table": "flights"} | quiet))
    assert "1 node uses v2." in shown
    assert "Nothing happened in this time." in shown


def test_a_change_alone_is_its_own_time(client_of: ClientOf, change: Change, noon: datetime) -> None:
    found = incident.incident(QueryDict(f"change={change.pk}"))
    assert (found.since, found.until) == (noon - timedelta(seconds=11), noon + timedelta(seconds=30))
    page = client_of("lea").get(f"/incident/?change={change.pk}").content.decode()
    link = html.unescape(re.search(r'href="\?(change=[^"]*from=[^"]*)"', page)[1])
    again = incident.incident(QueryDict(link))
    assert (again.since, again.until, again.change) == (found.since, found.until, change)
    assert f'href="/incident/?change={change.pk}"' in client_of("lea").get(f"/changes/{change.pk}/").content.decode()


@pytest.mark.parametrize(
    ("query", "length"),
    [
        pytest.param("", timedelta(minutes=10), id="nothing: the last minutes"),
        pytest.param("from=2020-01-01T00:00:00Z", timedelta(hours=6), id="too much: its last hours"),
        pytest.param("until=2100-01-01T00:00:00Z", timedelta(minutes=10), id="the future: until now"),
        pytest.param("from=2100-01-01T00:00:00Z", timedelta(seconds=1), id="upside down"),
        pytest.param("from=x&until=y", timedelta(minutes=10), id="no moments"),
    ],
)
def test_ranges(client_of: ClientOf, change: Change, query: str, length: timedelta) -> None:
    found = incident.incident(QueryDict(query))
    assert found.until - found.since == length
    assert found.until <= now() + timedelta(seconds=2)
    answer = client_of("lea").get(f"/incident/?{query}")
    assert answer.status_code == 200
    assert ("At most 6 h are shown" in words(answer)) == found.is_shortened == (length > timedelta(hours=1))


def test_a_range_alone_is_drawn_for_the_table_that_was_changed_then(
    client_of: ClientOf, change: Change, noon: datetime
) -> None:
    """Another table that was changed since is none of that time's; one that was changed beside it is a link away."""
    for pk, name, began in ((901, "birds", noon - timedelta(seconds=8)), (902, "trees", noon + timedelta(minutes=9))):
        table = Table.objects.create(pk=pk, name=name, state=Table.State.LIVE)
        version = Descriptor.objects.get(table=change.table_id, version=1)
        version.pk, version.table = None, table
        version.save()
        times = {"started_at": began, "ended_at": began + timedelta(seconds=1), "status": "done", "who": "sam"}
        ids = {"table_id": table.pk, "table_ids": [table.pk], "table_name": table.name}
        Change.objects.create(statement="..", plan=change.plan, **ids, **times)
    ends = {"from": written(noon - timedelta(seconds=9)), "until": written(noon + timedelta(seconds=30))}
    found = incident.incident(QueryDict(urlencode(ends)))
    assert (found.tables, found.others) == (((change.table_id, "flights"),), ("birds",))
    page = client_of("lea").get("/incident/", ends).content.decode()
    assert "1 node went from v1 to v2." in page
    link = html.unescape(re.search(r'href="\?([^"]*table=birds)"', page)[1])
    assert incident.incident(QueryDict(link)).others == ("flights",)
    assert 'href="/incident/"' in client_of("lea").get("/").content.decode()


@pytest.mark.parametrize("query", ["change=999", "change=x", "table=nothing"])
def test_what_is_not_there(client_of: ClientOf, change: Change, query: str) -> None:
    assert client_of("lea").get(f"/incident/?{query}").status_code == 404


def test_without_a_table_there_is_only_the_story(client_of: ClientOf) -> None:
    answer = client_of("lea").get("/incident/")
    assert (answer.status_code, "Nothing happened in this time." in words(answer)) == (200, True)


def test_an_old_incident_is_drawn_from_what_was_kept(client_of: ClientOf, change: Change, flights: Table) -> None:
    long_ago = now() - timedelta(days=3)
    start = long_ago.timestamp()
    walk = Walk(flights.pk, "flights", (Version(7, start, "public"),), (Use("n4", 7, start, start + 50, start + 60),))
    Record.objects.create(change=change, facts=to_json(Facts(start, start + 60, is_live=False, walks=(walk,))))
    Change.objects.filter(pk=change.pk).update(started_at=long_ago, ended_at=long_ago + timedelta(seconds=50))
    ends = {"from": written(long_ago), "until": written(long_ago + timedelta(seconds=30))}
    assert "1 node uses v7." in words(client_of("lea").get("/incident/", {"change": change.pk} | ends))


def test_the_part_of_a_window_after_a_moment() -> None:
    versions = tuple(Version(number, 10.0 * number, "public") for number in (1, 2, 3))
    uses = (Use("n1", 1, 10, 15, 20), Use("n1", 2, 22, 35, 40), Use("n2", 1, 10, 34, 40), Use("n2", 3, 34, None, 60))
    seconds = tuple(Second(float(at), 1, 1, 1) for at in (20, 30, 40))
    works = (Work(1, 5, 12, "done"), Work(2, 14, 40, "done"))
    marks = (Mark(8, "killed", "n3"),)
    whole = Facts(5, 50, False, (Walk(7, "t", versions, uses),), marks, seconds, works)
    part = whole.since(32)
    [walk] = part.walks
    assert (part.start, part.end) == (32, 50)
    assert [version.version for version in walk.versions] == [1, 2, 3]
    assert [(use.node, use.version) for use in walk.uses] == [("n1", 2), ("n2", 1), ("n2", 3)]
    assert ([one.at for one in part.seconds], [one.change for one in part.works]) == ([40], [2])
    assert part.marks == whole.marks, "they say who was down then"
    assert [version.version for version in whole.since(36).walks[0].versions] == [3]
    assert whole.since(3) is whole


@pytest.mark.parametrize(("who", "status"), [("nobody", 302), ("lea", 200)])
def test_who_has_signed_in_sees_it(client_of: ClientOf, who: str, status: int) -> None:
    assert (Client() if who == "nobody" else client_of(who)).get("/incident/").status_code == status
