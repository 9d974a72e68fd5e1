"""The lists: of changes with their queue, of the story with its files, and of who did what."""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from asgiref.sync import async_to_sync
from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db import transaction
from django.http import QueryDict
from django.test import Client
from django.utils import translation
from django.utils.html import strip_tags
from django.utils.timezone import now

from catalog.descriptor import from_json
from catalog.models import Descriptor, StoryEvent, Table
from catalog.services import append_event
from catalog.story_list import export, reading
from catalog.story_list import wanted as story
from catalog.templatetags import look
from changes import change_list, streams
from changes.ddl.statements import parse
from changes.models import Change
from changes.planning.planner import make_plan
from leases.models import Lease
from schemalab.operations import audit_trail
from tests.web.layout import flat

ClientOf = Callable[[str], Client]
MakeChange = Callable[..., Change]


def words(answer: Any) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", answer.content.decode())).split())


def listed(answer: Any) -> list[int]:
    """The numbers of the changes in the list, in its order."""
    return [int(number) for number in re.findall(r'<tr id="change-(\d+)">', answer.content.decode())]


def link(answer: Any, rel: str) -> str | None:
    found = re.search(rf'<a rel="{rel}" href="([^"]*)"', answer.content.decode())
    return None if found is None else html.unescape(found[1])


@pytest.fixture
def make(flights: Table) -> MakeChange:
    """A change of flights, queued unless it is made otherwise."""
    base = from_json(Descriptor.objects.get(table=flights, version=2).body)

    def made(column: str = "id", **fields: Any) -> Change:
        statement = f"CREATE INDEX by_{column}_{Change.objects.count()} ON flights ({column})"
        plan = make_plan(parse(statement).action, base).to_json()
        own = {"table_id": flights.pk, "table_ids": [flights.pk], "table_name": "flights", "who": "sam"}
        return Change.objects.create(**{"statement": statement, "plan": plan} | own | fields)

    return made


def happened(kind: str, *streams: str, **payload: Any) -> StoryEvent:
    with transaction.atomic():
        append_event(kind, "flights", payload, streams or ["cluster"])
    return StoryEvent.objects.filter(stream=(*streams, "cluster")[0]).latest("seq")


# --- changes


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", "edcba"),
        ("status=failed", "b"),
        ("status=open", "ed"),
        ("status=ended", "cba"),
        ("who=ann", "d"),
        ("text=BY_DEST", "c"),
        ("text=broken", "b"),
        ("table=flights", "edcba"),
        ("table=renamed", "a"),
        ("table=nothing", ""),
        ("status=ended&who=sam&text=by_id", "ba"),
    ],
)
def test_changes_are_filtered_by_the_address(client_of: ClientOf, make: MakeChange, query: str, found: str) -> None:
    made = {
        "a": make(status="done", table_name="renamed"),
        "b": make(status="failed", error={"message": "it is broken"}),
        "c": make("dest", status="done"),
        "d": make(who="ann"),
        "e": make(status="queued"),
    }
    answer = client_of("lea").get(f"/changes/?{query}")
    assert listed(answer) == [made[name].pk for name in found]
    assert ("No change matches the filter." in words(answer)) == (not found)


def test_a_status_that_is_none_is_named(client_of: ClientOf, make: MakeChange) -> None:
    make()
    answer = client_of("lea").get("/changes/", {"status": "<b>", "before": "x"})
    assert len(listed(answer)) == 1
    assert "There is no status “<b>”: all are shown." in words(answer)


def test_pages_of_changes_stay_what_they_are_while_changes_come(
    client_of: ClientOf, make: MakeChange, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_list.page, "__defaults__", (2,))
    numbers = [make(status="done").pk for _ in range(5)]
    lea = client_of("lea")
    first = lea.get("/changes/?status=done")
    assert (listed(first), link(first, "prev")) == (numbers[:2:-1], None)
    make(status="done")
    second = lea.get(f"/changes/{link(first, 'next')}")
    assert listed(second) == numbers[2:0:-1]
    last = lea.get(f"/changes/{link(second, 'next')}")
    assert (listed(last), link(last, "next")) == (numbers[:1], None)
    assert listed(lea.get(f"/changes/{link(last, 'prev')}")) == numbers[2:0:-1]
    assert parse_qs(urlsplit(str(link(last, "prev"))).query)["status"] == ["done"]


def test_the_queue_names_who_waits_behind_whom(client_of: ClientOf, make: MakeChange) -> None:
    first, second, third = make(status="paused"), make(), make()
    page = client_of("lea").get("/changes/").content.decode()
    rows = dict(re.findall(r'<tr id="queue-(\d+)">(.*?)</tr>', page, re.DOTALL))
    linked = {number: re.findall(r'href="#queue-(\d+)"', row) for number, row in rows.items()}
    a, b, c = (str(one.pk) for one in (first, second, third))
    assert linked == {a: [b], b: [a, c], c: [b]}


def test_the_queue_shows_a_bounded_part_in_the_order_of_places(
    client_of: ClientOf, make: MakeChange, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_list, "QUEUE_SHOWN", 3)
    made = [make(status="awaiting"), make(place=90), make(place=20), make(status="running"), make(place=30)]
    page = client_of("lea").get("/changes/")
    numbers = [int(one) for one in re.findall(r'<tr id="queue-(\d+)">', page.content.decode())]
    assert numbers == [made[3].pk, made[2].pk, made[4].pk]
    assert "1 change is under way, 3 wait for their turn, 1 awaits approval." in words(page)
    assert "2 more" in words(page)


def test_an_open_page_asks_for_the_list_alone_and_knows_when(client_of: ClientOf, make: MakeChange) -> None:
    made, lea = make(), client_of("lea")
    fragment = lea.get("/changes/", {"part": "list"})
    assert listed(fragment) == [made.pk]
    assert b"<html" not in fragment.content
    marks = {change_list.queue()["mark"]}
    Change.objects.filter(pk=made.pk).update(status="running")
    marks.add(change_list.queue()["mark"])
    Change.objects.filter(pk=made.pk).update(status="done", ended_at=now())
    marks.add(change_list.queue()["mark"])
    make()
    assert len(marks | {change_list.queue()["mark"]}) == 4


def test_a_cluster_with_many_open_changes_draws_the_first(make: MakeChange, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "OPEN_SHOWN", 2)
    for _ in range(4):
        make(status="awaiting")
    moving = make(status="paused")
    part = streams._in_flight(0)
    assert part["open"][0]["id"] == moving.pk
    assert (len(part["open"]), part["more"]) == (2, 3)


# --- the story


def test_a_search_that_takes_too_long_says_so(client_of: ClientOf, monkeypatch: pytest.MonkeyPatch) -> None:
    happened("node joined", node="n2", who="olga")

    def slow(_wanted: object) -> Any:
        return StoryEvent.objects.extra(where=["pg_sleep(30) IS NULL"])

    monkeypatch.setattr(reading, "SEARCH_S_MAX", 0.05)
    monkeypatch.setattr(reading, "page", partial(reading.page, seconds=0.05))
    monkeypatch.setattr(reading, "events", slow)
    for page in (client_of("lea").get("/story/"), client_of("olga").get("/audit-trail/")):
        assert page.status_code == 503
        assert "was ended. A text is looked for in every event" in words(page)


def test_a_search_in_changes_that_takes_too_long_says_so(
    client_of: ClientOf, make: MakeChange, monkeypatch: pytest.MonkeyPatch
) -> None:
    make()
    monkeypatch.setattr(reading, "SEARCH_S_MAX", 0.05)
    slow = Change.objects.extra(where=["pg_sleep(30) IS NULL"])
    monkeypatch.setattr(change_list, "matching", lambda _wanted: slow)
    for address in ("/changes/?text=x", "/changes/?text=x&part=list"):
        page = client_of("lea").get(address)
        assert page.status_code == 503
        assert "was ended. A text is looked for in every statement" in words(page)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", "dcba"),
        ("kind=leases", "b"),
        ("kind=leases&kind=node+joined", "ba"),
        ("kind=nonsense", ""),
        ("text=n2", "b"),
        ("of=change:3", "c"),
        ("text=100%25", ""),
        ("kind=changes&text=INDEX", "c"),
    ],
)
def test_the_story_is_filtered_by_the_address(
    client_of: ClientOf, people: Any, make: MakeChange, query: str, found: str
) -> None:
    change = make(id=3)
    happened("node joined", node="n1", incarnation=1)
    happened("lease revoked", "cluster", "leases", who="olga", node="n2", table="flights", version=2)
    happened("change submitted", "cluster", "change:3", who="sam", change=3, statement=change.statement)
    happened("change done", change=4)
    sentences = {
        "a": "Node n1 joined (incarnation 1).",
        "b": "olga revoked the lease of n2 on flights v2; its sessions there were ended.",
        "c": f"sam submitted change 3: {change.statement}",
        "d": "Change 4 is done.",
    }
    page = client_of("lea").get(f"/story/?{query}").content.decode()
    lines = re.findall(r'<li data-seq="\d+">.*?<span>(.*?) <a', page, re.DOTALL)
    assert [html.unescape(line) for line in lines] == [sentences[name] for name in found]


def test_kinds_of_the_story_are_in_the_readers_language(client_of: ClientOf, people: Any) -> None:
    """Those of its lines, and those that an address chose; the address itself has them as they are."""
    happened("node joined", node="n1", incarnation=1)
    lea = client_of("lea")
    lea.cookies["django_language"] = "zh-hans"
    page = lea.get("/story/?kind=node+joined&kind=%3Cb%3E").content.decode()
    assert re.search(r'href="\?kind=node%20joined"[^>]*>节点加入</a>', page)
    assert 'value="node joined" checked> 节点加入</label>' in page
    assert 'value="&lt;b&gt;" checked> &lt;b&gt;</label>' in page


def test_pages_of_the_story_and_what_came_since(
    client_of: ClientOf, monkeypatch: pytest.MonkeyPatch, people: Any
) -> None:
    monkeypatch.setattr("catalog.story_list.reading.page.__defaults__", (2,))
    for number in range(5):
        happened("change done", change=number)
    lea = client_of("lea")
    first = lea.get("/story/")
    older = lea.get(f"/story/{link(first, 'next')}")
    assert re.findall(r'<li data-seq="(\d+)"', first.content.decode()) == ["5", "4"]
    assert re.findall(r'<li data-seq="(\d+)"', older.content.decode()) == ["3", "2"]
    assert 'data-older="1"' in older.content.decode()
    assert re.findall(r'<li data-seq="(\d+)"', lea.get("/story/?after=4").content.decode()) == ["5"]
    assert 'data-newest="5"' in lea.get("/story/?kind=leases").content.decode()


def test_a_window_of_time(client_of: ClientOf, people: Any) -> None:
    one = happened("change done", change=1)
    StoryEvent.objects.filter(pk=one.pk).update(at=now() - timedelta(hours=2))
    happened("change done", change=2)
    hour_ago = story.written(now() - timedelta(hours=1))
    lea = client_of("lea")
    assert "Change 2 is done." in (shown := words(lea.get("/story/", {"from": hour_ago})))
    assert "Change 1 is done." not in shown
    assert "Change 1 is done." in words(lea.get("/story/", {"until": hour_ago}))


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("2026-05-04T12:00:00Z", "2026-05-04T12:00:00Z"),
        ("2026-05-04T12:00", "2026-05-04T12:00:00Z"),
        ("2026-05-04T14:00:00+02:00", "2026-05-04T12:00:00Z"),
        ("2026-13-04T12:00", None),
        ("yesterday", None),
    ],
)
def test_moments(typed: str, read: str | None) -> None:
    found = story.moment(typed)
    assert (None if found is None else story.written(found)) == read


def test_an_address_says_what_it_was_read_from() -> None:
    query = QueryDict("of=table%3A7&kind=nodes&kind=change+done&text=a%26b&from=2026-05-04T12%3A00%3A00Z&before=12")
    read = story.wanted(query)
    assert story.wanted(QueryDict(read.address(before=12))) == read


@pytest.mark.parametrize(("who", "status"), [("lea", 404), ("olga", 200)])
@pytest.mark.parametrize("address", ["/story/", "/story/events.json", "/story/events.csv"])
def test_a_story_is_for_whom_its_stream_is(client_of: ClientOf, who: str, status: int, address: str) -> None:
    assert client_of(who).get(address, {"of": "leases"}).status_code == status


def read_all(written: Any) -> str:
    async def read() -> str:
        return "".join([part async for part in written])

    return async_to_sync(read)()


def test_the_story_as_json_is_one_object_and_bounded(people: Any) -> None:
    for number in range(5):
        happened("change done", change=number)
    whole = json.loads(read_all(export.as_json(story.StoryFilter())))
    assert [event["payload"]["change"] for event in whole["events"]] == [4, 3, 2, 1, 0]
    assert (whole["stream"], whole["more"]) == ("cluster", False)
    some = json.loads(read_all(export.as_json(story.StoryFilter(), most=2)))
    assert ([event["seq"] for event in some["events"]], some["more"]) == ([5, 4], True)
    assert json.loads(read_all(export.as_json(story.StoryFilter(text="nothing"))))["events"] == []


def test_it_is_read_in_batches(people: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "BATCH", 2)
    for number in range(5):
        happened("change done", change=number)
    whole = json.loads(read_all(export.as_json(story.StoryFilter())))
    assert [event["seq"] for event in whole["events"]] == [5, 4, 3, 2, 1]


def test_the_story_as_csv_has_no_formulas_and_says_what_is_left_out(people: Any) -> None:
    happened("change failed", change=1, error="no")
    happened("lease revoked", who="=cmd()", node="n2", table="flights", version=2)
    rows = list(csv.reader(io.StringIO(read_all(export.as_csv(story.StoryFilter())).removeprefix("\ufeff"))))
    assert rows[0] == list(export.HEAD)
    assert rows[1][4] == "'=cmd()"
    assert rows[1][5].startswith("'=cmd() revoked the lease of n2")
    assert json.loads(rows[1][6])["who"] == "=cmd()"
    short = read_all(export.as_csv(story.StoryFilter(), most=1))
    assert "older events were left out: at most 1 are written" in short


def test_a_file_is_named_after_its_stream(client_of: ClientOf, make: MakeChange) -> None:
    make(id=3)
    answer = client_of("lea").get("/story/events.csv?of=change:3")
    assert re.fullmatch(r'attachment; filename="story-change-3-\d{4}-\d\d-\d\d\.csv"', answer["Content-Disposition"])


# --- who did what


@pytest.fixture
def acts(people: dict[str, User], make: MakeChange) -> None:
    """olga revoked a lease, sam submitted a change, a process crashed by itself; two entries of the administration."""
    happened("lease revoked", who="olga", node="n2", table="flights", version=2)
    happened("process crashed", process="n1", why="killed by a signal")
    happened("change submitted", who="sam", change=make().pk, statement="CREATE ..")
    for model, what in ((Lease, "n2 on flights@2"), (User, "lea")):
        LogEntry.objects.create(
            user=people["olga"],
            content_type=ContentType.objects.get_for_model(model),
            object_id="1",
            object_repr=what,
            action_flag=CHANGE,
            change_message="Revoked",
        )


def done(answer: Any) -> list[str]:
    return [strip_tags(one) for one in re.findall(r'<td class="roomy">(.*?)</td>', flat(answer.content.decode()))]


def test_the_trail_is_of_people_from_both_sources(client_of: ClientOf, acts: None) -> None:
    assert done(client_of("olga").get("/audit-trail/")) == [
        "lease n2 on flights@2: Revoked",
        f"sam submitted change {Change.objects.get().pk}: CREATE ..",
        "olga revoked the lease of n2 on flights v2; its sessions there were ended.",
    ]


@pytest.mark.parametrize(
    ("text", "language", "shown"),
    [
        ("sam paused change 17.", "en", 'sam paused <a class="nowrap" href="/changes/17/">change 17</a>.'),
        ("sam 暂停了变更 17。", "zh-hans", 'sam 暂停了<a class="nowrap" href="/changes/17/">变更 17</a>。'),
        ("Change 171 <b>", "en", 'Change 171 &lt;b&gt; <a class="nowrap" href="/changes/17/">change 17</a>'),
    ],
)
def test_a_line_of_the_trail_names_its_change_once(text: str, language: str, shown: str) -> None:
    with translation.override(language):
        assert look.with_its_change(text, 17) == shown


@pytest.mark.parametrize(
    ("query", "count"),
    [("who=sam", 1), ("who=olga", 2), ("kind=leases", 1), ("kind=administration", 1), ("text=n2", 2), ("text=zz", 0)],
)
def test_the_trail_is_filtered(client_of: ClientOf, acts: None, query: str, count: int) -> None:
    assert len(done(client_of("olga").get(f"/audit-trail/?{query}"))) == count


def test_pages_of_the_trail_lose_and_repeat_nothing_of_one_moment(
    client_of: ClientOf, acts: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    moment = now()
    StoryEvent.objects.update(at=moment)
    LogEntry.objects.update(action_time=moment)
    olga = client_of("olga")
    whole = done(olga.get("/audit-trail/"))
    monkeypatch.setattr(audit_trail, "PAGE", 1)
    read, at = [], ""
    while at is not None:
        page = olga.get(f"/audit-trail/{at}")
        read += done(page)
        at = link(page, "next")
    assert read == whole
    assert len(whole) == 3


def test_entries_are_for_those_who_may_see_what_they_are_about(client: Client, acts: None) -> None:
    root = User.objects.create_superuser("root")
    client.force_login(root)
    assert "user lea: Revoked" in done(client.get("/audit-trail/"))


@pytest.mark.parametrize(("who", "status"), [("lea", 403), ("sam", 403), ("ines", 403), ("nobody", 302), ("olga", 200)])
def test_the_trail_is_for_staff(client_of: ClientOf, who: str, status: int) -> None:
    client = Client() if who == "nobody" else client_of(who)
    assert {client.get(at).status_code for at in ("/audit-trail/", "/audit-trail/?form=csv")} == {status}


def test_the_trail_as_a_file(client_of: ClientOf, acts: None) -> None:
    answer = client_of("olga").get("/audit-trail/?form=csv&who=olga")
    rows = list(csv.reader(io.StringIO(answer.content.decode().removeprefix("\ufeff"))))
    assert [row[1] for row in rows] == ["who", "olga", "olga"]
