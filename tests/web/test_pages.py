"""Every page through its URL: who may see it, what its headers promise, what it says."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib import messages
from django.contrib.messages.storage.base import Message
from django.db import connection, transaction
from django.template import Context, Template
from django.template.loader import get_template, render_to_string
from django.test import Client
from django.utils import translation
from django.utils.html import strip_tags
from django.utils.timezone import now
from redis import Redis

from catalog.descriptor import from_json
from catalog.elements import ColumnId, PlacementId
from catalog.models import Descriptor, Table
from catalog.services import append_event
from catalog.story import sentence, shortened
from catalog.templatetags import look
from catalog.text.message import names_listed
from catalog.text.sentence import Sentence
from catalog.values.types import SqlType
from changes import proofs, selectors, services
from changes.ddl.statements import parse
from changes.models import Change, Proof, Status
from changes.pages import change_page as page
from changes.planning.custom_plan import rewritten
from changes.planning.planner import make_plan
from lab.pages.words import say
from lab.tasks import prove_plan
from lab.templatetags import chapter_text
from leases.models import Node
from leases.samples import Sample
from leases.staircase.phases import phase
from spark_tasks.models import AuditJob, ReorgPulse, ReorgRun, RunState
from storage import encoding, pairs
from tests.changes.tables import plans
from tests.storage import pairs_sql
from tests.web.layout import flat
from tests.web.terms import without_terms

ClientOf = Callable[[str], Client]
OPEN_PAGES = ["/", "/help/", "/glossary/", "/sign-in/"]
PAGES = ["/tables/", "/tables/{table}/", "/tables/{table}/pairs/", "/changes/", "/changes/{change}/", "/about/"]
SUBMITTERS_PAGES = ["/changes/new/", "/console/", "/changes/{change}/cancel/", "/changes/{change}/pause/"]


@pytest.fixture(autouse=True)
def no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes stay queued: driving them is tested elsewhere."""
    monkeypatch.setattr(services, "send_driver", lambda _change_id: None)


@pytest.fixture
def change(flights: Table) -> Change:
    statement = "CREATE INDEX by_id_dest ON flights (id, dest)"
    base = from_json(Descriptor.objects.get(table=flights, version=2).body)
    plan = make_plan(parse(statement).action, base)
    return Change.objects.create(
        table_id=flights.pk,
        table_ids=[flights.pk],
        table_name="flights",
        statement=statement,
        plan=plan.to_json(),
        who="sam",
    )


@pytest.fixture
def at(flights: Table, change: Change) -> Callable[[str], str]:
    """A page's address with the numbers of the fixtures in it."""
    return lambda page: page.format(table=flights.pk, change=change.pk)


@pytest.mark.parametrize("page", OPEN_PAGES)
def test_these_are_open_to_all(db: None, page: str) -> None:
    assert Client().get(page).status_code == 200


@pytest.mark.parametrize("page", PAGES + SUBMITTERS_PAGES)
def test_everything_else_asks_to_sign_in(at: Callable[[str], str], page: str) -> None:
    answer = Client().get(at(page))
    assert (answer.status_code, answer["Location"].split("?")[0]) == (302, "/sign-in/")


@pytest.mark.parametrize("page", PAGES)
def test_who_has_signed_in_sees_it(client_of: ClientOf, at: Callable[[str], str], page: str) -> None:
    assert client_of("lea").get(at(page)).status_code == 200


@pytest.mark.parametrize("page", SUBMITTERS_PAGES)
def test_learners_may_not_submit(client_of: ClientOf, at: Callable[[str], str], page: str) -> None:
    answer = client_of("lea").get(at(page))
    assert answer.status_code == 403
    assert "You may look at this cluster, but not do this." in answer.content.decode()


@pytest.mark.parametrize("page", SUBMITTERS_PAGES)
def test_submitters_may(client_of: ClientOf, at: Callable[[str], str], page: str) -> None:
    assert client_of("sam").get(at(page)).status_code == 200


@pytest.mark.parametrize("page", PAGES + SUBMITTERS_PAGES + OPEN_PAGES)
def test_no_page_has_anything_inline(client_of: ClientOf, at: Callable[[str], str], page: str) -> None:
    answer = client_of("olga").get(at(page), follow=True)
    body = answer.content.decode()
    assert "script-src 'self'" in answer["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in answer["Content-Security-Policy"]
    assert "unsafe-inline" not in answer["Content-Security-Policy"]
    assert not re.search(r"<script(?![^>]*\bsrc=)|\sstyle=|\son[a-z]+=|<style", body)


@pytest.mark.parametrize("page", ["/nothing/", "/tables/999/", "/changes/999/", "/tables/named/?name=nothing"])
def test_what_is_not_there_says_so(client_of: ClientOf, flights: Table, page: str) -> None:
    answer = client_of("lea").get(page)
    assert answer.status_code == 404
    assert "There is no such page, table or change." in answer.content.decode()


def test_the_cluster_shows_what_happens(client_of: ClientOf, flights: Table, change: Change) -> None:
    Node.objects.create(name="n1", incarnation=1, host="127.0.0.1", port=6001, pid=1)
    with transaction.atomic():
        append_event("node joined", "n1", {"node": "n1", "incarnation": 1}, ["cluster"])
    body = client_of("lea").get("/").content.decode()
    assert f"Change {change.pk} of flights is queued." in body
    assert "Node n1 joined (incarnation 1)." in body
    assert 'data-stream="cluster" data-seq="1"' in flat(body)


def test_an_empty_cluster_says_what_will_come(client_of: ClientOf) -> None:
    body = client_of("lea").get("/").content.decode()
    assert "No change is running" in body
    assert "No node has joined yet." in body


def test_a_third_version_in_use_is_an_alarm(client_of: ClientOf, flights: Table) -> None:
    Node.objects.create(name="n1", incarnation=1, host="127.0.0.1", port=6001, pid=1)
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO leases_lease (table_id, version, node, incarnation, expires_at)"
            " VALUES (%s, %s, 'n1', 1, clock_timestamp() + interval '1 minute')",
            [(flights.pk, version) for version in (0, 1, 2)],
        )
    body = client_of("lea").get("/").content.decode()
    assert "Three versions of a table are in use" in body
    assert "3 versions in use, 2 allowed" in flat(body)


def test_a_table_shows_its_elements_and_what_versions_differ_in(client_of: ClientOf, flights: Table) -> None:
    body = client_of("lea").get(f"/tables/{flights.pk}/").content.decode()
    assert 'data-state="delete-only"' in body
    assert "+ index by_dest: delete-only" in body


def put_row(flights: Table, number: int, dest: str) -> None:
    body = from_json(Descriptor.objects.get(table=flights, version=2).body)
    start, key = pairs.prefix(body, PlacementId(1)), encoding.encode(SqlType.BIGINT, number)
    row = {pairs.column_key(start, key): b"", pairs.column_key(start, key, ColumnId(2)): dest}
    with connection.cursor() as cursor:
        for key_bytes, value in row.items():
            stored = encoding.encode(SqlType.TEXT, value) if isinstance(value, str) else value
            cursor.execute(*pairs_sql.insert(1, flights.pk, key_bytes, stored))


def test_pairs_are_shown_decoded_and_raw_page_by_page(
    client_of: ClientOf, flights: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.selectors.pairs_page.__kwdefaults__", {"start": b"", "limit": 3})
    for number in (1, 2):
        put_row(flights, number, "BOS")
    first = client_of("lea").get(f"/tables/{flights.pk}/pairs/").content.decode()
    assert first.count("id=1") == 2
    assert first.count("id=2") == 1
    assert "01424f5300" in first
    onward = re.search(r'href="([^"]*start=[0-9a-f]+)"', first)
    assert onward
    second = client_of("lea").get(onward[1].replace("&amp;", "&")).content.decode()
    assert second.count("id=2") == 1


def test_a_table_whose_storage_just_went_has_no_pairs_to_show(client_of: ClientOf, flights: Table) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"ALTER TABLE storage_1.kv_{flights.pk} RENAME TO gone")
    try:
        page = client_of("lea").get(f"/tables/{flights.pk}/pairs/")
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"ALTER TABLE storage_1.gone RENAME TO kv_{flights.pk}")
    assert page.status_code == 200
    assert page.context["lines"] == []


@pytest.mark.parametrize(
    ("query", "why"),
    [
        pytest.param("storage=9", "storage must be from 1 to 2", id="a storage that does not exist"),
        pytest.param("index=7", "has no index 7", id="an index that does not exist"),
        pytest.param("placement=2", "has no placement 2", id="a placement that does not exist"),
        pytest.param("placement=x", "placement must be numbers", id="no placement at all"),
        pytest.param("start=ff", "start must be a key of this index", id="a key of another table"),
        pytest.param("start={end}", "start must be a key of this index", id="a column that no table can have"),
        pytest.param("start=xyz", "start a key in hexadecimal digits", id="a key that is none"),
    ],
)
def test_pairs_that_cannot_be_shown_are_refused(client_of: ClientOf, flights: Table, query: str, why: str) -> None:
    newest = from_json(Descriptor.objects.filter(table=flights).latest("version").body)
    end = pairs.prefix(newest, PlacementId(1)) + b"\xff\xff"
    answer = client_of("lea").get(f"/tables/{flights.pk}/pairs/?{query.format(end=end.hex())}")
    assert answer.status_code == 400
    assert why in answer.content.decode()


def test_the_plan_is_shown_before_anything_is_stored(client_of: ClientOf, flights: Table) -> None:
    answer = client_of("sam").post("/changes/new/plan/", {"statement": "CREATE INDEX soon ON flights (dest)"})
    body = without_terms(answer)
    assert "Publish flights@3: index soon absent\u00a0→\u00a0delete-only" in body
    assert "Cancel is possible until step 8; afterwards undo is a new change." in body
    assert "under load up to" in body
    assert "What writers will meet" not in body, "a plain index refuses nothing"
    assert not Change.objects.exists()


def test_a_plan_is_a_ladder_to_be_read(client_of: ClientOf, flights: Table) -> None:
    body = client_of("sam").post("/changes/new/plan/", {"statement": "CREATE INDEX soon ON flights (dest)"})
    ladder = words_of(re.search(r'<ol class="ladder plan.*?</ol>', body.content.decode(), re.DOTALL)[0])  # type: ignore[index]
    assert ladder == (
        "absent v2 compatible delete-only v3 compatible write-only v4 waits fill verify compatible public v5"
    )
    assert "<button" not in ladder


def test_an_open_change_has_its_nodes_on_its_ladder(change: Change) -> None:
    snapshot = selectors.change_snapshot(change.pk)
    leases = [{"node": "n1", "table_id": change.table_id, "version": 2}]
    for status, shows in (("running", "n1"), ("done", "")):
        shown = page.view(snapshot | {"status": status}, leases)
        ladder = words_of(render_to_string("parts/plan_ladder.html", shown))
        assert ladder.startswith(f"absent v2 {f'leased by {shows} ' if shows else ''}compatible delete-only v3")


def test_a_plan_names_what_writers_will_meet(client_of: ClientOf, linked: tuple[Table, Table]) -> None:
    statement = "CREATE UNIQUE INDEX one ON trips (code) WHERE code <> ''"
    body = words_of(client_of("sam").post("/changes/new/plan/", {"statement": statement}).content.decode())
    assert "a row with the same code as another one" in body
    assert "23505" in body
    assert "if the change fails later, until the rollback has withdrawn it" in body


def test_an_error_is_marked_at_its_place(client_of: ClientOf, flights: Table) -> None:
    answer = client_of("sam").post("/changes/new/plan/", {"statement": "CREATE INDEX x\n  ON flights (nope)"})
    body = answer.content.decode()
    assert '<mark class="at">nope</mark>' in body
    assert "line 2, column 15" in body


def test_the_cluster_shows_what_its_nodes_do(client_of: ClientOf, redis_url: str) -> None:
    Node.objects.create(name="n1", incarnation=1, host="127.0.0.1", port=1, pid=1)
    assert "No node reports figures" in client_of("lea").get("/").content.decode()
    with Redis.from_url(redis_url) as client:
        client.lpush("schemalab:samples:n1", Sample(5, 1234.0, 0.38, 1260, open_transactions=2).to_text())
    page = client_of("lea").get("/").content.decode()
    for figure in ("1,234", "0.38 ms", "1.3 s", '<polyline points="59,0.5 59,0.5">', "on average"):
        assert figure in page


def test_a_plan_of_several_elements_shows_their_states_and_the_rollback(client_of: ClientOf, flights: Table) -> None:
    statement = "ALTER TABLE flights ADD gate text DEFAULT 'A1', ADD CONSTRAINT known CHECK (gate <> '')"
    page = client_of("sam").post("/changes/new/plan/", {"statement": statement}).content.decode()
    assert '<th scope="col" class="mono">column gate</th><th scope="col" class="mono">constraint known</th>' in flat(
        page
    )
    assert "Fill column gate" in page
    assert "Verify column gate, constraint known" in page
    assert "What was added is withdrawn again: values of gate are deleted, and flights is as it was." in page
    assert "Every row of flights is written once: its gate becomes &#x27;A1&#x27;." in page


@pytest.mark.parametrize("page", ["/changes/new/plan/", "/changes/new/submit/"])
def test_nothing_to_do_is_no_error(client_of: ClientOf, page: str) -> None:
    answer = client_of("sam").post(page, {"statement": "DROP TABLE IF EXISTS nothing"})
    body = answer.content.decode()
    assert "There is nothing to do" in body
    assert "table &quot;nothing&quot; does not exist, skipping" in body


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The proofs that pages asked for; no worker has answered yet."""
    keys: list[str] = []
    monkeypatch.setattr("changes.proofs._send", keys.append)
    return keys


PLAN = {"statement": "CREATE INDEX soon ON flights (dest)"}


@pytest.mark.django_db(transaction=True)
def test_a_plan_is_shown_at_once_and_its_proof_when_it_is_there(
    client_of: ClientOf, flights: Table, asked: list[str]
) -> None:
    sam = client_of("sam")
    plan = sam.post("/changes/new/plan/", PLAN).content.decode()
    look = f"/changes/new/proof/{asked[0]}/?seen=proving"
    assert "Proving…" in plan
    assert f'hx-get="{look}" hx-trigger="every 400ms"' in plan
    assert sam.get(look).status_code == 204
    prove_plan(asked[0])
    verdict = sam.get(look).content.decode()
    assert "Proved safe" in verdict
    assert "for 3 nodes, 2 rows, 2 values, any number of operations" in verdict
    assert "hx-get" not in verdict
    assert "Proved safe" in sam.post("/changes/new/plan/", PLAN).content.decode()


@pytest.mark.django_db(transaction=True)
def test_of_a_rename_there_is_nothing_to_prove(client_of: ClientOf, flights: Table, asked: list[str]) -> None:
    statement = {"statement": "ALTER TABLE flights RENAME dest TO target"}
    page = client_of("sam").post("/changes/new/plan/", statement).content.decode()
    assert 'data-proof="nothing"' in page
    assert "Nothing to prove" in page
    assert "Not proved" not in page
    assert asked == []


@pytest.mark.django_db(transaction=True)
def test_a_proof_that_nobody_makes_is_unknown_after_a_minute(
    client_of: ClientOf, flights: Table, asked: list[str]
) -> None:
    sam = client_of("sam")
    sam.post("/changes/new/plan/", PLAN)
    look = f"/changes/new/proof/{asked[0]}/"
    Proof.objects.update(asked_at=now() - timedelta(seconds=50))
    assert sam.get(f"{look}?seen=proving").status_code == 204
    Proof.objects.update(asked_at=now() - timedelta(seconds=61))
    late = sam.get(f"{look}?seen=proving").content.decode()
    assert "no worker has taken it up: is the process lab running?" in late
    assert "hx-get" not in late
    assert sam.get("/changes/new/proof/unheard-of/").status_code == 404
    assert client_of("lea").get(look).status_code == 403


@pytest.mark.django_db(transaction=True)
def test_a_counterexample_is_shown_as_a_story(client_of: ClientOf, asked: list[str]) -> None:
    plan = rewritten(plans()["add an index"], ["publish public", "drain"])
    proof = proofs.ask(plan)
    prove_plan(proof.key)
    told = client_of("sam").get(f"/changes/new/proof/{proof.key}/").content.decode()
    assert "the explorer found a way to break it" in told
    assert "<b>C3</b>" in told or "<b>C4</b>" in told
    assert "<li>v2 is published: by_name is public</li>" in told


@pytest.mark.django_db(transaction=True)
def test_submitting_leads_to_the_change(client_of: ClientOf, flights: Table) -> None:
    answer = client_of("sam").post("/changes/new/submit/", {"statement": "CREATE INDEX soon ON flights (dest)"})
    change = Change.objects.get()
    assert answer["Location"] == f"/changes/{change.pk}/"
    assert change.who == "sam"


@pytest.mark.django_db(transaction=True)
def test_the_plan_of_a_table_shows_what_it_will_have(client_of: ClientOf) -> None:
    statement = "CREATE TABLE seats (id bigint PRIMARY KEY, seat text) WITH (sharding_key = 'seat', storages = 2)"
    shown = words_of(client_of("sam").get("/changes/new/", {"statement": statement}).content.decode())
    assert "strcrc32(seat) on 2 storages, coordination lease" in shown


@pytest.mark.django_db(transaction=True)
def test_a_statement_that_cannot_be_applied_stores_nothing(client_of: ClientOf, flights: Table) -> None:
    answer = client_of("sam").post("/changes/new/submit/", {"statement": "DROP TABLE nothing"})
    assert answer.status_code == 422
    assert not Change.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_nobody_submits_faster_than_they_can_mean(client_of: ClientOf, flights: Table) -> None:
    plan = {
        "statement": "CREATE TABLE t (id bigint PRIMARY KEY)",
        "table_id": 1,
        "table_ids": [1],
        "table_name": "t",
        "plan": {},
    }
    Change.objects.bulk_create(Change(**plan, who="sam", status=Status.CANCELLED) for _ in range(100))
    answer = client_of("sam").post("/changes/new/submit/", {"statement": "CREATE INDEX x ON flights (dest)"})
    assert answer.status_code == 429
    assert "you have submitted 100 changes within a minute" in answer.content.decode()


@pytest.mark.django_db(transaction=True)
def test_a_queued_change_is_cancelled_after_saying_what_that_does(client_of: ClientOf, change: Change) -> None:
    sam = client_of("sam")
    assert "Nothing has been published yet" in sam.get(f"/changes/{change.pk}/cancel/").content.decode()
    assert sam.post(f"/changes/{change.pk}/cancel/").status_code == 302
    page = sam.get(f"/changes/{change.pk}/").content.decode()
    assert "It ended before its first step" in page
    assert "(to come)" not in page
    change.refresh_from_db()
    assert change.status == Status.CANCELLED


@pytest.mark.django_db(transaction=True)
def test_what_is_refused_says_why(client_of: ClientOf, change: Change) -> None:
    answer = client_of("sam").post(f"/changes/{change.pk}/resume/", follow=True)
    assert f"change {change.pk} is not paused" in answer.content.decode()


def test_polling_says_what_a_socket_would(client_of: ClientOf, flights: Table) -> None:
    with transaction.atomic():
        append_event("node joined", "n1", {"node": "n1", "incarnation": 1}, ["cluster"])
    lea = client_of("lea")
    first = lea.get("/live/poll?stream=cluster").json()["messages"]
    assert [message["type"] for message in first] == ["hello", "snapshot"]
    later = lea.get("/live/poll?stream=cluster&since=0&html=1").json()["messages"]
    assert [message["type"] for message in later] == ["hello", "event", "state"]
    assert lea.get("/live/poll?stream=weather").status_code == 404
    assert Client().get("/live/poll?stream=cluster").status_code == 403


@pytest.mark.parametrize("back", ["https://elsewhere.example/", "//elsewhere.example/"])
def test_choosing_colours_never_leads_elsewhere(db: None, back: str) -> None:
    answer = Client().post("/theme/", {"theme": "dark", "next": back})
    assert answer["Location"] == "/"
    assert answer.cookies["theme"].value == "dark"


@pytest.mark.django_db(transaction=True)
def test_an_audit_shows_the_first_violations_and_how_many_there_are(client_of: ClientOf, flights: Table) -> None:
    named = [{"clause": "C4", "key": "00", "why": f"row {n}"} for n in range(30)]
    told = {"state": "done", "violations": named, "violations_total": 2_345, "ended_at": now()}
    AuditJob.objects.create(table_id=flights.pk, **told)
    page = client_of("sam").get(f"/tables/{flights.pk}/").content.decode()
    assert "2,345 violations" in page
    assert "20 shown of 2,345" in page


@pytest.mark.django_db(transaction=True)
def test_an_operator_asks_for_an_audit_once_at_a_time(
    client_of: ClientOf, flights: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[int] = []
    monkeypatch.setattr("spark_tasks.services.send_audit", sent.append)
    olga = client_of("olga")
    for _ in range(2):
        assert olga.post(f"/tables/{flights.pk}/audit/").status_code == 302
    assert len(set(sent)) == 1
    assert "An audit is under way" in olga.get(f"/tables/{flights.pk}/").content.decode()
    assert client_of("sam").post(f"/tables/{flights.pk}/audit/").status_code == 403


# --- two tables

REFER = "ALTER TABLE trips ADD COLUMN via text, ADD CONSTRAINT via_known FOREIGN KEY (via) REFERENCES airports (code)"


def words_of(page: str) -> str:
    """What a page says, without its markup."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())


def test_a_plan_of_two_tables_shows_the_versions_of_both(client_of: ClientOf, linked: tuple[Table, Table]) -> None:
    page = words_of(client_of("sam").post("/changes/new/plan/", {"statement": REFER}).content.decode())
    assert "trips → airports : column via is added, foreign key via_known is added" in page
    for versions in ("trips v2 · airports v2", "trips v3 · airports v2", "trips v4 · airports v3"):
        assert page.count(versions) == 2  # on the ladder, and beside the states
    assert "Publish trips@4 and airports@3" in page


def test_the_list_and_the_page_of_a_change_name_both_tables(client_of: ClientOf, linked: tuple[Table, Table]) -> None:
    with transaction.atomic():
        change = services.submit(REFER, who="sam")
        services.submit("CREATE INDEX by_name ON airports (name)", who="sam")
    sam = client_of("sam")
    page = flat(sam.get(f"/changes/{change.pk}/").content.decode())
    assert "trips → airports: add column via, foreign key via_known</h1>" in page
    for table in linked:
        assert f'<a href="/tables/{table.pk}/">{table.name}</a>' in page
        assert f'<a href="/tables/{table.pk}/">{table.name}</a>' in flat(sam.get("/changes/").content.decode())
        shown = sam.get(f"/tables/{table.pk}/").content.decode()
        assert "trips → airports: add column via, foreign key via_known" in shown
    told = sam.get("/").content.decode()
    assert f"waits behind change {change.pk}: both move airports." in told
    asked = words_of(sam.get(f"/changes/{change.pk}/pause/").content.decode())
    assert "the tables stay between two schemas" in asked


def test_both_tables_show_their_side_of_a_foreign_key(client_of: ClientOf, linked: tuple[Table, Table]) -> None:
    trips, airports = linked
    here = client_of("lea").get(f"/tables/{trips.pk}/").content.decode()
    there = client_of("lea").get(f"/tables/{airports.pk}/").content.decode()
    assert f'(code) → <a href="/tables/{airports.pk}/">airports</a> (code)' in here
    assert f'(code) ← <a href="/tables/{trips.pk}/">trips</a> (code)' in there
    assert "+ foreign key trips_code_fkey (code) → airports (code): write-only" in here
    assert "+ foreign key trips_code_fkey (code) ← trips (code): write-only" in there
    lanes = words_of(client_of("lea").get("/").content.decode())
    assert lanes.count("foreign key trips_code_fkey: write-only") == 2


def test_examples_are_of_tables_that_are_there(client_of: ClientOf, flights: Table) -> None:
    page = client_of("sam").get("/changes/new/").content.decode()
    assert "CREATE INDEX flights_by_dest ON flights (dest)</a>" in page
    assert "REFERENCES airlines" not in page


@pytest.mark.parametrize(
    ("kind", "works", "throttle", "says"),
    [
        pytest.param("fill", 0.12, None, "it works 12 % of its time", id="beside writers that never pause"),
        pytest.param("fill", 0.59, None, "it works 59 % of its time", id="beside some"),
        pytest.param("fill", 1.0, None, "", id="beside hardly any"),
        pytest.param("fill", 0.12, 100.0, "", id="a throttle is kept as it is set"),
        pytest.param("verify", 0.12, None, "it works 12 % of its time", id="a verification rests, too"),
    ],
)
def test_a_run_says_when_it_gives_way_to_traffic(
    change: Change, kind: str, works: float, throttle: float | None, says: str
) -> None:
    run = ReorgRun.objects.create(
        change_id=change.pk, table_id=change.table_id, kind=kind, version=4, elements=[], state=RunState.RUNNING
    )
    ReorgPulse.objects.create(run=run, works=works, rows_per_s=900, rows_per_s_max=throttle)
    [shown] = [selectors.run_json(run) for run in selectors.runs_of(change.pk)]
    step = {"is_reorganisation": True, "kind": kind, "version": 4}
    seen = render_to_string(
        "parts/progress.html", {"p": page.progress({"step": step, "runs": [shown]}), "small": False}
    )
    assert ("gives way to traffic" in seen) is bool(says)
    assert says in seen


@pytest.mark.parametrize(
    ("why", "says"),
    [
        pytest.param("fewer", "the slowest statements take 7 ms longer, throughput 83 % of before", id="what is seen"),
        pytest.param("fewer", "take over 20 ms longer, or throughput falls below 85 %", id="what is allowed"),
        pytest.param("looking", "rests for a moment, to see what others do without it", id="a look"),
    ],
)
def test_a_run_says_what_others_notice_of_it(change: Change, why: str, says: str) -> None:
    run = ReorgRun.objects.create(
        change_id=change.pk, table_id=change.table_id, kind="fill", version=4, elements=[], state=RunState.RUNNING
    )
    felt = {"why": why, "before": {"per_s": 1200.0, "slow_ms": 8.2}, "now": {"per_s": 996.0, "slow_ms": 15.4}}
    ReorgPulse.objects.create(run=run, works=0.3, felt=felt, heartbeat_at=now())
    [shown] = [selectors.run_json(run) for run in selectors.runs_of(change.pk)]
    step = {"is_reorganisation": True, "kind": "fill", "version": 4}
    seen = render_to_string(
        "parts/progress.html", {"p": page.progress({"step": step, "runs": [shown]}), "small": False}
    )
    assert says in " ".join(strip_tags(seen).split())


@pytest.mark.parametrize(
    ("rate", "says"),
    [
        pytest.param(0.0, "to 1.2 s; under load up to 11 s estimated, until rows come", id="before the first rows"),
        pytest.param(5_000.0, "Time left 5.0 s", id="from the first rows on, however few ranges there are"),
    ],
)
def test_time_left_is_known_from_the_first_seconds_on(change: Change, rate: float, says: str) -> None:
    run = ReorgRun.objects.create(
        change_id=change.pk, table_id=change.table_id, kind="fill", version=4, elements=[], state=RunState.RUNNING
    )
    ReorgPulse.objects.create(run=run, rows_per_s=rate, rows_total=26_000, rows_done=1_000)
    step = {"is_reorganisation": True, "kind": "fill", "version": 4}
    [shown] = [selectors.run_json(run) for run in selectors.runs_of(change.pk)]
    seen = page.progress({"step": step, "runs": [shown]})
    assert says in words_of(render_to_string("parts/progress.html", {"p": seen, "small": False}))


@pytest.mark.parametrize(
    ("status", "says"),
    [
        pytest.param("paused", "Time left paused", id="a person paused it"),
        pytest.param("running", "Time left waits for the Spark worker", id="nobody did"),
    ],
)
def test_a_paused_run_waits_for_nobody(change: Change, status: str, says: str) -> None:
    ReorgRun.objects.create(
        change_id=change.pk, table_id=change.table_id, kind="fill", version=4, elements=[], state=RunState.WAITING
    )
    step = {"is_reorganisation": True, "kind": "fill", "version": 4}
    [shown] = [selectors.run_json(run) for run in selectors.runs_of(change.pk)]
    seen = page.progress({"status": status, "step": step, "runs": [shown]})
    assert says in words_of(render_to_string("parts/progress.html", {"p": seen, "small": False}))


def test_a_failed_change_says_why_once_with_a_count_and_the_first_rows(
    client_of: ClientOf, linked: tuple[Table, Table]
) -> None:
    with transaction.atomic():
        change = services.submit(REFER, who="sam")
    rows = [f"row id = {number} with (via) = ('XXX')" for number in range(10)]
    shared = {"clause": "C6", "element": "constraint via_known", "why": "row ..", "total": 7602}
    offenders = [{"key": {"id": str(n)}, "other": None, "values": {"via": f"'X{n}'"}} for n in range(10)]
    found = [shared | {"offender": one} for one in offenders]
    ReorgRun.objects.create(
        change_id=change.pk, table_id=change.table_id, kind="verify", version=4, elements=[], violations=found
    )
    message = f"7602 rows break constraint via_known, the first 10: {', '.join(rows)}"
    Change.objects.filter(pk=change.pk).update(status=Status.FAILED, error={"message": message})
    seen = words_of(client_of("lea").get(f"/changes/{change.pk}/").content.decode())
    assert "7,602 rows of trips refer by via to what is not in airports (code)." in seen
    assert "The first 10 of 7,602" in seen
    assert [seen.count(f"'X{number}'") for number in range(10)] == [1] * 10
    assert "row id = " not in seen
    assert 'NOT EXISTS (SELECT 1 FROM "airports" AS referenced' in seen
    assert f'href="/changes/{change.pk}/retry/"' in client_of("sam").get(f"/changes/{change.pk}/").content.decode()


@pytest.mark.parametrize(
    ("there", "says"),
    [
        pytest.param(0, "No node on v21 yet; n3 holds v20 until at most", id="a node alone"),
        pytest.param(1, "1 of 2 nodes on v21; n3 holds v20 until at most", id="one of two"),
    ],
)
def test_a_wait_counts_no_nodes_that_are_not_there(there: int, says: str) -> None:
    holder = {"node": "n3", "shown": "v20", "until": "2026-01-01T12:00:00+00:00"}
    seen = render_to_string(
        "parts/wait.html", {"wait": {"there": there, "nodes": there + 1, "newest": "v21", "holders": [holder]}}
    )
    assert says in words_of(seen)


def test_lanes_name_what_moves_in_the_readers_language() -> None:
    moving = {"element": "index", "name": "by_dest", "state": "delete-only", "filling": False}
    table = {"id": 7, "name": "flights", "in_use": [3], "versions": [{"version": 3, "moving": [moving]}], "rows": []}
    with translation.override("zh-hans"):
        seen = words_of(render_to_string("parts/lanes.html", {"part": {"moving": [table], "nodes": 1}}))
    assert "索引 by_dest: 仅删除" in seen


def test_a_version_that_is_filled_has_the_look_of_its_state() -> None:
    """Reorganising is a phase of it, and work of the store: nodes use a version that is write-only."""
    filled = Template("{% load look %}{% state 'write-only' True %}").render(Context())
    assert words_of(filled) == "write-only, reorganising"
    assert 'data-state="write-only"' in filled
    assert phase([{"element": "index", "name": "a", "state": "write-only", "filling": True}], "public") == "write-only"


def test_a_long_text_is_cut_and_the_whole_is_one_click_away() -> None:
    assert "<details" not in render_to_string("parts/whole.html", {"text": "ab" * 48})
    seen = render_to_string("parts/whole.html", {"text": "ab" * 200})
    assert words_of(seen) == f"{'ab' * 32}… 400 characters {'ab' * 200}"


def test_the_clock_is_there_before_the_scripts_that_count_on_it(client_of: ClientOf) -> None:
    """Deferred scripts run in their order; page.js has the only clock."""
    page = client_of("olga").get("/").content.decode()
    assert 0 < page.index("/static/page.js") < page.index("/static/live.js")


@pytest.mark.parametrize(("level", "goes"), [(messages.SUCCESS, True), (messages.INFO, True), (messages.ERROR, False)])
def test_what_was_done_is_said_for_a_moment_and_what_went_wrong_until_it_is_put_away(level: int, goes: bool) -> None:
    said = [Message(level, "Something was done.")]
    page = flat(render_to_string("base.html", {"messages": said}))
    [toast] = re.findall(r'<div class="toasts">(.*?)</div></div>', page)
    assert ("data-goes" in toast, 'aria-label="Close"' in toast) == (goes, True)


@pytest.mark.parametrize(
    ("before", "now", "words"),
    [
        pytest.param((400.0, 4.0), (398.0, 3.0), "no statement became slower, throughput unchanged", id="nothing"),
        pytest.param(
            (400.0, 4.0),
            (164.0, 16.2),
            "the slowest statements take 12 ms longer, throughput 41 % of before (164 statements a second instead of",
            id="both",
        ),
        pytest.param((400.0, 4.0), (0.0, 0.0), "no statement ended in the last second", id="nobody is served"),
        pytest.param((2.0, 4.0), (0.5, 4.0), "no statement became slower Compared", id="too few to count"),
        pytest.param((8.0, 0.0), (8.0, 9.0), "throughput unchanged Compared", id="what they took before is not known"),
        pytest.param((1.0, 0.0), (1.0, 9.0), "too few statements to tell Compared", id="neither is"),
    ],
)
def test_what_others_notice_is_said_in_words_and_beside_what(
    before: tuple[float, float], now: tuple[float, float], words: str
) -> None:
    felt = {"works": 0.5, "why": "within"} | {
        when: {"per_s": per_s, "slow_ms": slow_ms} for when, (per_s, slow_ms) in (("before", before), ("now", now))
    }
    shown = {"others": page._others(felt), "target": {"slower_ms": 20, "kept_percent": 85}}
    text = " ".join(render_to_string("parts/progress_others.html", shown).split())
    assert words in " ".join(strip_tags(text).split())
    assert f"Compared with the last moment without it: {before[0]:.0f} statements a second" in text
    assert ("the slowest took" in text) is (before[1] > 0)
    assert "falls below 85 %" in text


@pytest.mark.parametrize(("language", "names"), [("en", "n1, n2"), ("zh-hans", "n1、n2")])
def test_names_are_listed_as_the_language_lists_them(language: str, names: str) -> None:
    with translation.override(language):
        assert look.listed(["n1", "n2"]) == names
        assert say(names_listed(["n1", "n2"])) == names


def test_the_story_lists_nodes_as_the_language_lists_them() -> None:
    waits = {"table": "flights", "version": 3, "whom": "n1, n2", "until": "12:00:00"}
    assert "waits for n1, n2, at most" in sentence("version waiting", waits)
    with translation.override("zh-hans"):
        assert "n1、n2" in sentence("version waiting", waits, translation.gettext)
        waited = Sentence("waited {seconds} s for {nodes}", seconds="< 0.1", nodes="n1, n2")
        drained = sentence("version drained", shortened(waits | {"waited": waited}), translation.gettext)
        assert "等待 n1、n2 < 0.1 秒" in drained
        two_tables = "n1, n2 on airports and trips; n3 on trips"
        waited = Sentence("waited {seconds} s for {nodes}", seconds="2.0", nodes=two_tables)
        drained = sentence("version drained", shortened(waits | {"waited": waited}), translation.gettext)
        assert "等待 n1、n2（airports、trips）；n3（trips） 2.0 秒" in drained


def test_the_steps_of_a_change_list_nodes_as_the_language_lists_them() -> None:
    two_tables, one_table = "n1, n2 on airports and trips; n3 on trips", "n1, n2"
    step = {"text": "", "tries": 1, "took_s": 1.0, "waited_s": 1.0, "started_at": "2026-11-26T12:00:00+00:00"}
    part = {"id": 1, "table_id": 1, "status": "done", "steps": [step | {"whom": two_tables}]}
    point = {"kind": "wait", "when": "done", "took_s": 1.0, "whom": one_table}
    for language, names in (
        ("en", (two_tables, one_table)),
        ("zh-hans", ("n1、n2（airports、trips）；n3（trips）", "n1、n2")),
    ):
        with translation.override(language):
            assert f"<td>{names[0]} <span" in flat(render_to_string("parts/change.html", {"part": part}))
            under_way = part | {"steps": [step | {"whom": two_tables, "took_s": None}]}
            assert f"<td>{names[0]}</td>" in flat(render_to_string("parts/change.html", {"part": under_way})), (
                "it counts on"
            )
            assert names[1] in render_to_string("parts/timeline.html", {"steps": [point]})


def test_no_page_lists_names_with_a_comma_of_its_own() -> None:
    """In Chinese it would be a foreign one. Columns of code are code."""
    places = Path(settings.BASE_DIR, "templates").rglob("*.html")
    own = re.compile(r"forloop\.last[^%]*%\}, |endblocktranslate %\}, \{%")
    assert [path.name for path in places if own.search(path.read_text())] == []


def test_between_two_sentences_stands_what_the_language_has_there() -> None:
    """In Chinese nothing: `sentence_space` knows it."""
    stop = r'(\.\s*\{% endblocktranslate %\}|translate "[^"]*\." %\})(\{% (endif|endwith|else)[^%]*%\})*'
    own = re.compile(stop + r" +(\{% (if|with)[^%]*%\})*(\{% (block)?translate|<(a|span|code|strong)\b)")
    places = Path(settings.BASE_DIR, "templates").rglob("*.html")
    assert [path.name for path in places if own.search(path.read_text())] == []
    for language, shown in (("en", " "), ("zh-hans", "")):
        with translation.override(language):
            assert look.sentence_space() == shown
            way = {"first": 6, "last": 7, "nodes": 3, "at_once": 2, "is_fallen": False}
            wait = {"seconds": 22.0, "node": "n2", "version": 6, "is_over": True}
            table = {"id": 1, "name": "flights", "has_leases": True, "summary": way | {"wait": wait}}
            drawn = render_to_string(
                "parts/over_time.html", {"part": {"picture": {"tables": [table], "drawn": {"tables": []}}}}
            )
            assert (re.search(r"[.。]([^.。]*)(?:The longest|最长)", drawn) or [""])[1] == shown
            used = {"what": "used", "table": "flights", "version": 7, "node": "n2"}
            stop = {"at": "2026-11-26T12:00:00+00:00", "happened": [used, used | {"node": "n3"}], "used": []}
            drawn = render_to_string(
                "parts/over_time.html", {"part": {"picture": {"stops": [stop], "drawn": {"tables": []}}}}
            )
            assert (re.search(r"v7[.。](\s*)n3", drawn) or [""])[1] == shown


def test_behind_what_a_chapter_emphasises_chinese_has_no_space() -> None:
    """Markdown wants one there."""
    assert chapter_text.markdown("*就安全了。* 来看看。 a") == "<p><em>就安全了。</em>来看看。 a</p>\n"
    assert chapter_text.markdown("*Safe.* Look.") == "<p><em>Safe.</em> Look.</p>\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("index a delete-only -> write-only", "index a delete-only\u00a0→\u00a0write-only"),
        ("reorganising → public", "reorganising\u00a0→\u00a0public"),
        ("a -> b, public -> private", "a -> b, public -> private"),
    ],
)
def test_no_line_ends_at_the_arrow_between_two_states(text: str, shown: str) -> None:
    assert look.arrows(text) == shown
    difference = {"sign": "~", "element": "index", "name": "a", "what": text}
    assert f": {shown}</li>" in html.unescape(flat(render_to_string("parts/differences.html", {"lines": [difference]})))


def test_every_template_knows_the_tags_that_it_uses() -> None:
    """A part that one page alone shows, in one state, is read by Django only there."""
    places = Path(settings.BASE_DIR, "templates")
    names = [str(path.relative_to(places)) for path in places.rglob("*.html")]
    assert [get_template(name).template.name for name in names] == names


def test_no_page_ends_a_sentence_by_itself() -> None:
    """Where a sentence is put together its end is the language's (`full_stop`); a blocktranslate has one of its own."""
    # the point after a number, as in "3. A title", ends nothing
    own = re.compile(r"(?:(?<!\.number )(?<!\.counter )\}\}|%\}|</code>|</strong>)\.(?: ?[<{]| $)", re.MULTILINE)
    inside = re.compile(r"\{% blocktranslate.*?endblocktranslate %\}", re.DOTALL)
    places = Path(settings.BASE_DIR, "templates").rglob("*.html")
    found = {path.name: own.findall(inside.sub("", path.read_text())) for path in places}
    assert {name: ends for name, ends in found.items() if ends} == {}
    with translation.override("zh-hans"):
        assert (look.full_stop(), look.clause_semicolon()) == ("。", "；")
    assert (look.full_stop(), look.clause_semicolon()) == (". ", "; ")
