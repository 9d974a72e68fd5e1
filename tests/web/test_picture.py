"""The facts from which the Cluster page draws: once the time until now, then what differs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.template.loader import render_to_string
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.timezone import now
from redis import Redis

from catalog.elements import State
from catalog.live import snapshot
from catalog.models import Table
from catalog.selectors import newest_descriptor
from changes.pages.change_page import following
from changes.pages.picture import Sessions
from leases.holders import Holder, to_text
from leases.models import Node
from nodes import entries
from nodes.models import TrafficRun
from spark_tasks.models import Kind, ReorgRange, ReorgRun, RunState
from storage.pairs import prefix
from storage.selectors import about_rows
from storage.statements import kv
from tests.storage import pairs_sql
from tests.web.test_live import Open, browse  # noqa: F401  a fixture

STREAM = "cluster"
STATIC = Path(settings.BASE_DIR) / "static"


def state(*names: str) -> dict[str, Any]:
    return {name: dict(part) for name, part in snapshot.read_state(STREAM, names=names).items()}


@pytest.fixture
def nodes(flights: Table) -> None:
    """n1 leases the newest version of flights, n2 the one before."""
    for name, version in (("n1", 2), ("n2", 1)):
        Node.objects.create(name=name, incarnation=1, host="127.0.0.1", port=1, pid=1, heartbeat_at=now())
        lease(flights, name, version)


def lease(table: Table, node: str, version: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO leases_lease (table_id, version, node, incarnation, acquired_at, expires_at)"
            " VALUES (%s, %s, %s, 1, clock_timestamp(), clock_timestamp() + interval '1 minute')",
            [table.pk, version, node],
        )


def test_the_picture_names_versions_by_their_state_and_leases_by_their_time(flights: Table, nodes: None) -> None:
    found = state("now", "facts")
    assert found["now"]["table"] == {
        "id": flights.pk, "name": "flights", "newest": 2, "in_use": [1, 2], "has_leases": True
    }  # fmt: skip
    assert [(one["version"], one["phase"], one["of"]) for one in found["now"]["versions"]] == [
        (2, "delete-only", "index by_dest"), (1, "absent", ""),
    ]  # fmt: skip
    assert [(one["node"], one["version"]) for one in found["now"]["leases"]] == [("n1", 2), ("n2", 1)]
    assert all(one["began"] < one["until"] for one in found["now"]["leases"])
    uses = found["facts"]["uses"]
    assert {(use["node"], use["version"], use["ended"]) for use in uses} == {("n1", 2, None), ("n2", 1, None)}
    assert found["facts"]["lease_s"] > 0


def test_a_session_that_holds_a_lease_is_named_and_a_statement_that_passes_is_not(
    flights: Table, nodes: None, redis_url: str
) -> None:
    held = [
        Holder(flights.pk, 1, number, "sam", name, "SELECT 1", is_running=False, for_s=seconds)
        for number, name, seconds in ((7, "report-17", 9.0), (8, "traffic", 0.1))
    ]
    with Redis.from_url(redis_url) as client:
        client.set("schemalab:holders:n2", to_text(1, held))
    holders = {one["node"]: one["holders"] for one in state("now")["now"]["leases"]}
    assert holders == {"n1": [], "n2": [{"who": "report-17", "user": "sam", "session": 7}]}


def test_who_held_a_lease_is_known_to_a_page_that_is_opened_later(
    flights: Table, nodes: None, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By what was seen while it lasted, also after the session has ended."""
    monkeypatch.setattr("changes.streams._sessions", Sessions())
    held = Holder(flights.pk, 1, 7, "sam", "report-17", "SELECT 1", is_running=False, for_s=9.0)
    with Redis.from_url(redis_url) as client:
        client.set("schemalab:holders:n2", to_text(1, [held]))
        state("now")
        client.set("schemalab:holders:n2", to_text(1, []))
    holds = {use["node"]: use["holds"] for use in state("facts")["facts"]["uses"]}
    assert holds["n1"] == []
    assert [(one["who"], one["session"], one["to"]) for one in holds["n2"]] == [("report-17", 7, None)]
    state("now")
    ended = {use["node"]: use["holds"] for use in state("facts")["facts"]["uses"]}["n2"]
    assert [one["who"] for one in ended] == ["report-17"]
    assert ended[0]["to"] - ended[0]["from"] > 9.0


def test_a_loader_is_not_counted_among_the_nodes_that_answer(flights: Table, nodes: None) -> None:
    Node.objects.create(name="load-4-0", incarnation=1, host="127.0.0.1", port=0, pid=1, heartbeat_at=now())
    lease(flights, "load-4-0", 2)
    shown = state("headline")["headline"]
    assert (shown["nodes"], shown["nodes_all"]) == (2, 2)


def test_a_paused_change_waits_for_whoever_resumes_it() -> None:
    """A node still uses the older version, but its end publishes nothing."""
    until = now()
    holder = {"node": "n2", "shown": "v7", "until": until.isoformat(), "is_down": False, "sessions": []}
    first = {"id": 41, "tables": "flights", "element": "", "statement": "CREATE INDEX ..", "status": "paused"}
    first |= {"wait": {"holders": [holder]}, "next": [{"kind": "publish", "version": 9, "state": "write-only"}]}
    shown = render_to_string("parts/headline.html", {"part": {"first": first, "down": [], "open": 1}})
    assert "Change 41 is paused." in shown
    assert "resume it to let it go on" in shown
    assert "Next:" not in shown


@pytest.mark.parametrize("kind", ["publish", "fill", "verify", "delete", "done"])
def test_the_next_step_is_a_sentence(kind: str) -> None:
    steps = [{"kind": kind, "version": 9, "state": "public"}, {"kind": "publish", "version": 10, "state": "public"}]
    holder = {"node": "n2", "shown": "v7", "until": now().isoformat(), "is_down": False, "sessions": []}
    first = {"id": 41, "tables": "flights", "element": "", "statement": "CREATE INDEX ..", "status": "waiting"}
    for holders in ([holder], []):
        told = first | {"wait": {"holders": holders}, "next": steps}
        shown = render_to_string("parts/headline.html", {"part": {"first": told, "down": [], "open": 2}})
        shown = re.sub(r" <[^>]+ data-left[^>]*></[^>]+>", "", shown)  # the browser writes how long that is
        words = " ".join(re.sub(r"<[^>]+>", "", shown.partition('class="next">')[2].partition("</p>")[0]).split())
        assert re.search(r" [.,]", words) is None, words
        assert re.match(r"Next: [^.]+\.( Clients do not wait\.)? 2 changes in all\.", words), words


def test_without_a_table_there_is_nothing_to_draw(db: None) -> None:
    assert state("now", "facts") == {"now": {}, "facts": {}}


@pytest.mark.django_db(transaction=True)
def test_facts_are_sent_once_and_then_what_differs(
    browse: Open,  # noqa: F811
    flights: Table,
) -> None:
    """Though the facts differ by then, whoever follows already makes them newer from what holds now."""
    wanted = ["facts", "now"]
    with browse() as browser:
        browser.follow(STREAM, parts=wanted)
        assert set(browser.next("snapshot")["state"]) == {"facts", "now"}
        browser.next("state")
        Node.objects.create(name="n1", incarnation=1, host="127.0.0.1", port=1, pid=1, heartbeat_at=now())
        lease(flights, "n1", 2)
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_notify('schemalab_lease', %s)", [str(flights.pk)])
        seen = browser.next("state")["state"]
        while not seen.get("now", {}).get("leases"):
            assert "facts" not in seen
            seen = browser.next("state")["state"]
        assert "facts" not in seen
        with browse() as late:
            late.follow(STREAM, parts=wanted)
            assert [use["version"] for use in late.next("snapshot")["state"]["facts"]["uses"]] == [2]


def test_parts_of_one_moment_read_what_they_share_once(flights: Table, nodes: None) -> None:
    with snapshot.one_snapshot(), CaptureQueriesContext(connection) as captured:
        shown = snapshot.read_state(STREAM)
    assert [node["name"] for node in shown["now"]["nodes"]] == [node["name"] for node in shown["nodes"]["nodes"]]
    asked = [query["sql"] for query in captured.captured_queries]
    assert sum("SELECT t.id, t.name, t.state, d.version" in sql for sql in asked) == 1, (
        "tables and their newest versions"
    )
    assert sum('FROM "nodes_trafficrun"' in sql for sql in asked) == 2, "the runs that last, and those that have ended"


def test_the_next_moment_is_read_anew_and_without_one_each_time(db: None) -> None:
    answers = iter(range(9))
    read = snapshot.once(lambda _key: next(answers))
    assert [read("a"), read("a")] == [0, 1]
    with snapshot.one_snapshot():
        assert [read("a"), read("b"), read("a")] == [2, 3, 2]
    with snapshot.one_snapshot():
        assert [read("a"), read("b"), read("a")] == [4, 5, 4]


def test_a_part_as_json_closes_no_element() -> None:
    part = {"sql": "</script><b>&amp;"}
    shown = render_to_string("parts/json.html", {"part": part}).strip()
    assert "<" not in shown
    assert json.loads(shown) == part


def test_no_hold_is_offered_on_the_node_that_a_change_waits_for(nodes: None, monkeypatch: pytest.MonkeyPatch) -> None:
    assert state("hold")["hold"]["node"] == "n2"
    waits = {"node": "n2", "table_id": 1, "version": 1, "until": None, "is_down": True, "sessions": []}
    monkeypatch.setattr("changes.streams.summaries", lambda **_: [{"wait": {"holders": [waits]}}])
    assert state("hold")["hold"]["node"] == "n1"
    monkeypatch.setattr(
        "schemalab.streams.processes_for_a_page",
        lambda: [{"name": "n2", "state": "frozen"}, {"name": "n1", "state": "up"}],
    )
    shown = state("remedy")["remedy"]
    assert (shown["node"], shown["is_down"], shown["commands"]) == ("n2", True, ["thaw"])
    monkeypatch.setattr("changes.streams.summaries", lambda **_: [{"wait": None}])
    assert state("remedy")["remedy"] == {"node": None}


STEPS = [
    {"number": 0, "kind": "publish", "version": 3, "transitions": [{"after": "delete-only"}]},
    {"number": 1, "kind": "drain", "version": 3, "transitions": []},
    {"number": 2, "kind": "publish", "version": 4, "transitions": [{"after": "write-only"}]},
    {"number": 3, "kind": "fill", "version": 4, "transitions": []},
    {"number": 4, "kind": "verify", "version": 4, "transitions": []},
    {"number": 5, "kind": "publish", "version": 5, "transitions": [{"after": "public"}]},
]


@pytest.mark.parametrize(
    ("position", "status", "first"),
    [
        pytest.param(0, "queued", ("publish", 3, "delete-only"), id="queued: its first version"),
        pytest.param(1, "waiting", ("publish", 4, "write-only"), id="a wait: the version that waits"),
        pytest.param(2, "waiting", ("publish", 4, "write-only"), id="a publish that waits is what comes next"),
        pytest.param(3, "running", ("verify", 4, None), id="a fill: what follows it"),
        pytest.param(6, "running", ("done", None, None), id="after the last version"),
        pytest.param(0, "done", ("done", None, None), id="an ended change"),
    ],
)
def test_a_change_says_what_comes_next(position: int, status: str, first: tuple[Any, ...]) -> None:
    found = following({"roads": {"forward": STEPS}, "road": "forward", "status": status, "position": position})
    assert tuple(found[0].values()) == first
    assert found[-1]["kind"] == "done"


def test_entries_are_counted_on_each_storage(flights: Table) -> None:
    entries._counts.clear()
    descriptor = newest_descriptor(flights.pk)
    assert descriptor is not None
    key = prefix(descriptor, descriptor.placement.id, descriptor.indexes[0].id)
    with connection.cursor() as cursor:
        for last, value in ((b"a", b""), (b"b", b""), (b"c", None)):
            cursor.execute(*pairs_sql.insert(1, flights.pk, key + last, value))
    first, second = entries.entries_of(descriptor)
    assert [one["elements"][0]["entries"] for one in (first, second)] == [2, 0]
    assert first["elements"][0]["state"] == "delete-only"
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {kv(1, flights.pk)}")
    assert entries.entries_of(descriptor)[0]["elements"][0]["entries"] == 2, "the next count comes later"


def test_rows_are_as_many_as_a_whole_index_has_entries(flights: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL's estimate is a tenth off after a fill: beside it the index looked as if entries were missing."""
    entries._counts.clear()
    entries._rows_counted.clear()
    descriptor = newest_descriptor(flights.pk)
    assert descriptor is not None
    index = descriptor.indexes[0]
    monkeypatch.setattr(entries, "about_rows", lambda *_, **__: 110)
    monkeypatch.setattr(entries, "count_entries", lambda *_, **__: 100)
    shown = replace(descriptor, indexes=(replace(index, state=State.WRITE_ONLY),))
    assert entries.entries_of(shown)[0]["rows"] == 110, "its fill has not begun: it may be empty"
    ReorgRun.objects.create(
        change_id=1, table_id=flights.pk, kind=Kind.FILL, version=2, state=RunState.DONE,
        elements=[{"kind": "index", "id": index.id, "name": index.name}],
    )  # fmt: skip
    assert entries.entries_of(shown)[0]["rows"] == 100
    assert entries.entries_of(descriptor)[0]["rows"] == 100, "the last count is nearer than the estimate"
    monkeypatch.setattr(entries, "about_rows", lambda *_, **__: 200)
    assert entries.entries_of(descriptor)[0]["rows"] == 200, "rows were loaded since"


def test_pairs_of_an_index_on_its_way_are_not_taken_for_rows(flights: Table) -> None:
    descriptor = newest_descriptor(flights.pk)
    assert descriptor is not None
    with connection.cursor() as cursor:
        cursor.execute("UPDATE pg_class SET reltuples = 400 WHERE oid = to_regclass(%s)", [kv(1, flights.pk)])
    each = 1 + len(descriptor.stored_columns)
    assert about_rows(descriptor, storage=1) == round(400 / each)
    assert about_rows(descriptor, storage=1, entries=100) == round(300 / each)


def test_one_thread_counts_and_others_use_the_last_count(flights: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    entries._counts.clear()
    descriptor = newest_descriptor(flights.pk)
    assert descriptor is not None
    index = descriptor.indexes[0]
    entries._counts[flights.pk, index.id, 1] = entries._Count(7, 0.0)
    seen: list[int | None] = []

    def count(*_: object, **__: object) -> int:
        if len(seen) < 3:
            seen.append(None)
            seen.append(entries._counted(descriptor, index, 1))
        return 8

    monkeypatch.setattr(entries, "count_entries", count)
    assert entries._counted(descriptor, index, 1) == 8
    assert seen == [None, 7], "while one counts"
    assert entries._counted(descriptor, index, 1) == 8


def test_while_a_fill_works_its_ranges_tell_the_entries(flights: Table) -> None:
    entries._counts.clear()
    descriptor = newest_descriptor(flights.pk)
    assert descriptor is not None
    index = descriptor.indexes[0]
    run = ReorgRun.objects.create(
        change_id=1, table_id=flights.pk, kind=Kind.FILL, version=2, state=RunState.RUNNING,
        elements=[{"kind": "index", "id": index.id, "name": index.name}],
    )  # fmt: skip
    for number, (storage, done) in enumerate([(1, 30), (1, 5), (2, 10)]):
        ReorgRange.objects.create(
            run=run, number=number, storage=storage, low=b"a", high=b"b", rows_total=50, rows_done=done
        )
    shown = [(one["rows"], one["elements"][0]["entries"]) for one in entries.entries_of(descriptor)]
    assert shown == [(100, 35), (50, 10)]


def test_traffic_that_has_ended_stays_in_the_picture_with_its_end(flights: Table, redis_url: str) -> None:
    run = TrafficRun.objects.create(
        table_id=flights.pk, table_name="flights", clients=1, writes_percent=50, who="sam",
        ends_at=now() + timedelta(minutes=1), figures={"wrong": 0, "statements": 8744},
    )  # fmt: skip
    shown = state("pulse")["pulse"]["traffic"]
    assert (shown["is_running"], shown["checked"], shown["ended_at"]) == (True, 8744, None)
    assert shown["ends_at"] is not None
    TrafficRun.objects.filter(pk=run.pk).update(ended_at=now())
    shown = state("pulse")["pulse"]["traffic"]
    assert (shown["is_running"], shown["checked"], shown["ends_at"]) == (False, 8744, None)
    assert shown["ended_at"] is not None


def test_no_rule_of_the_page_looks_into_main(client_of: Callable[[str], Client], flights: Table) -> None:
    """Each change of the picture would compute the styles of all elements anew, several times a second."""
    page = client_of("sam").get("/").content.decode()
    sheets = re.findall(r'href="/static/([^"?]+\.css)', page)
    assert "picture.css" in [re.sub(r"\.[0-9a-f]{12}\.", ".", sheet) for sheet in sheets]
    css = "".join((STATIC / re.sub(r"\.[0-9a-f]{12}\.", ".", sheet)).read_text() for sheet in sheets)
    assert re.findall(r"(?:html|body|main|\.picture)[^\s{},>]*:has\(", css) == []
