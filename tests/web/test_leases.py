"""The lease console: who may see and do what, what it says first, and what becomes of a lease."""

from __future__ import annotations

import html
import io
import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest
from django.contrib.auth.models import Permission, User
from django.contrib.messages import get_messages
from django.core.management import call_command
from django.db import connection
from django.test import Client
from redis import Redis

from catalog.descriptor import from_json
from catalog.hashing import schema_hash, sharding_hash
from catalog.models import Descriptor, StoryEvent, Table
from catalog.selectors import events_since
from changes.ddl.statements import parse
from changes.executor.state import Execution, Mode
from changes.models import Change
from changes.planning.planner import make_plan
from lab.sessions.replay import show
from lab.sessions.session import decode
from lab.sessions.shown import SessionView
from lab.sessions.titles import chapter_of
from leases.holders import Holder, to_text
from leases.models import Lease, Node, PastLease
from schemalab.operations import lease_history, lease_list
from tests.web.terms import without_terms

ClientOf = Callable[[str], Client]
ACTS = ("release", "revoke")


def words(answer: Any) -> str:
    """What a reader sees."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", without_terms(answer))).split())


@pytest.fixture
def leased(flights: Table) -> dict[str, Lease]:
    """n1 uses flights v2 for 20 s more, n2 for 25 s, n3 v3, the newest."""
    older = from_json(Descriptor.objects.get(table=flights, version=2).body)
    newer = replace(older, version=3)
    Descriptor.objects.create(
        table=flights,
        version=3,
        body=newer.to_json(),
        schema_hash=schema_hash(newer),
        sharding_hash=sharding_hash(newer),
    )
    with connection.cursor() as cursor:
        for node, version, left_s in (("n1", 2, 20), ("n2", 2, 25), ("n3", 3, 30)):
            cursor.execute("SELECT node_register(%s, '127.0.0.1', 6001, 1)", [node])
            cursor.execute(
                "INSERT INTO leases_lease (table_id, version, node, incarnation, expires_at)"
                " VALUES (%s, %s, %s, 1, clock_timestamp() + make_interval(secs => %s))",
                [flights.pk, version, node, left_s],
            )
    return {lease.node: lease for lease in Lease.objects.all()}


@pytest.fixture
def waiting(leased: dict[str, Lease], flights: Table) -> Change:
    """A change has published v3 and waits until nobody uses v2 any more."""
    base = from_json(Descriptor.objects.get(table=flights, version=2).body)
    statement = "CREATE INDEX by_id_dest ON flights (id, dest)"
    plan = make_plan(parse(statement).action, base)
    made = Change.objects.create(
        table_id=flights.pk,
        table_ids=[flights.pk],
        table_name="flights",
        statement=statement,
        plan=plan.to_json(),
        status="waiting",
        who="sam",
    )
    state = Execution(made.pk, plan, Mode.WAITING, position=1, published=1, asked=True).to_json()
    del state["plan"]
    Change.objects.filter(pk=made.pk).update(executor_state=state)
    return made


@pytest.fixture
def held(leased: dict[str, Lease], flights: Table, redis_url: str) -> Iterator[None]:
    """ann's report is idle in a transaction under n1's lease."""
    ann = Holder(flights.pk, 2, 17, "ann", "report", "UPDATE flights SET dest = 'BOS'", is_running=False, for_s=47.0)
    with Redis.from_url(redis_url) as client:
        client.set("schemalab:holders:n1", to_text(1, [ann]), ex=60)
        yield
        client.delete("schemalab:holders:n1")


@contextmanager
def transaction_under(lease: Lease, dsn: str) -> Iterator[psycopg.Connection[Any]]:
    """A transaction of the node that uses the lease's version at the database (T2)."""
    name = f"schemalab node {lease.node} {lease.incarnation}"
    with psycopg.connect(dsn, application_name=name, autocommit=True) as session:
        session.execute("BEGIN")
        session.execute("SELECT pg_advisory_xact_lock_shared(%s, %s)", [lease.table_id, lease.version])
        yield session


def addresses(lease: Lease) -> list[str]:
    return [*(f"/leases/{lease.pk}/{act}/" for act in ACTS), "/leases/", "/leases/history/"]


@pytest.mark.parametrize(("who", "status"), [("lea", 403), ("sam", 403), ("ines", 403), ("nobody", 302), ("olga", 200)])
def test_staff_alone_have_it(client_of: ClientOf, leased: dict[str, Lease], who: str, status: int) -> None:
    client = Client() if who == "nobody" else client_of(who)
    assert {client.get(address).status_code for address in addresses(leased["n1"])} == {status}
    if status != 200:
        assert {client.post(address, {"typed": "n1"}).status_code for address in addresses(leased["n1"])[:2]} == {
            status
        }
        assert Lease.objects.count() == 3


@pytest.mark.parametrize(("who", "status"), [("lea", 404), ("sam", 404), ("ines", 404), ("nobody", 403), ("olga", 200)])
@pytest.mark.parametrize("stream", ["leases", "leases:0"])
def test_nobody_else_gets_it_by_polling(
    client_of: ClientOf, leased: dict[str, Lease], held: None, who: str, status: int, stream: str
) -> None:
    answer = (Client() if who == "nobody" else client_of(who)).get("/live/poll", {"stream": stream})
    assert answer.status_code == status
    assert ("UPDATE flights" in answer.content.decode()) == (status == 200)


def test_a_transaction_of_a_moment_is_shown_only_where_something_waits_for_it(
    client_of: ClientOf, leased: dict[str, Lease], flights: Table, redis_url: str
) -> None:
    """Traffic would make rows and buttons come and go under the hand."""
    Table.objects.filter(pk=flights.pk).update(version=2)
    brief = [Holder(flights.pk, 2, 17, "ann", "traffic", "SELECT 1", is_running=True, for_s=0.004)]
    with Redis.from_url(redis_url) as client:
        for node in ("n1", "n2"):
            client.set(f"schemalab:holders:{node}", to_text(1, brief), ex=60)
        shown = [one for one in lease_list.held()["leases"] if one["holders"]]
        counted = {one["holders"] for one in lease_list.every_lease()["leases"] if not one["is_in_the_way"]}
        client.delete("schemalab:holders:n1", "schemalab:holders:n2")
    assert all(one["is_in_the_way"] for one in shown)
    assert counted <= {0}


@pytest.mark.parametrize(("permission", "statuses"), [("release_lease", (200, 403)), ("revoke_lease", (403, 200))])
def test_each_act_asks_for_its_own_permission(
    leased: dict[str, Lease], client: Client, permission: str, statuses: tuple[int, int]
) -> None:
    tom = User.objects.create_user("tom", is_staff=True)
    tom.user_permissions.add(Permission.objects.get(codename=permission))
    client.force_login(tom)
    page = client.get("/leases/").content.decode()
    assert ("data-may-release" in page, "data-may-revoke" in page) == tuple(status == 200 for status in statuses)
    assert tuple(client.get(address).status_code for address in addresses(leased["n1"])[:2]) == statuses


def test_the_change_names_the_sessions_that_block_it(client_of: ClientOf, waiting: Change, held: None) -> None:
    """As the page of leases does, on its page, as JSON and on a terminal."""
    client = client_of("lea")
    said = "n1: session 17 of ann (report): idle after UPDATE flights SET dest = 'BOS'"
    assert said in words(client.get(f"/changes/{waiting.pk}/"))
    (state,) = [
        message["state"]
        for message in client.get("/live/poll", {"stream": f"change:{waiting.pk}"}).json()["messages"]
        if message["type"] == "snapshot"
    ]
    terminal = io.StringIO()
    call_command("change", "show", str(waiting.pk), "--json", stdout=terminal)
    for blockers in (state["change"]["wait"]["holders"], json.loads(terminal.getvalue())["blockers"]):
        sessions = {blocker["node"]: blocker["sessions"] for blocker in blockers}
        assert sessions == {
            "n2": [],
            "n1": [
                {"session": 17, "user": "ann", "application": "report", "is_running": False, "for_s": 47.0}
                | {"statement": "UPDATE flights SET dest = 'BOS'"}
            ],
        }
    plain = io.StringIO()
    call_command("change", "show", str(waiting.pk), stdout=plain)
    assert "  session 17 of ann (report): UPDATE flights SET dest = 'BOS'" in plain.getvalue().splitlines()


def test_sessions_that_an_earlier_incarnation_reported_are_not_named(
    client_of: ClientOf, waiting: Change, held: None
) -> None:
    Node.objects.filter(name="n1").update(incarnation=2)
    assert "session 17" not in words(client_of("lea").get(f"/changes/{waiting.pk}/"))


def test_what_decides_the_next_step_comes_first_with_the_change_that_waits_and_who_holds_it(
    client_of: ClientOf, waiting: Change, held: None
) -> None:
    shown = words(client_of("olga").get("/leases/"))
    assert "1 change waits for leases" in shown
    assert f"Change {waiting.pk}, flights: add index by_id_dest waits for 2 leases, until at most" in shown
    first, second, newest = (shown.index(f"{node} uses flights v2") for node in ("n2", "n1", "n2"))
    assert first == newest < shown.index("This one decides when the next step may go.") < second
    row = "17 ann report idle after UPDATE flights SET dest = 'BOS' 47 s"
    assert second < shown.index(row)
    assert "n3 uses" not in shown
    assert "flights v3 newest n3" in shown


def test_nothing_in_the_way_is_said(client_of: ClientOf, db: None) -> None:
    shown = words(client_of("olga").get("/leases/"))
    assert "No change waits for a lease Every lease is of the newest version of its table." in shown
    assert "No transaction has been open for longer than a second, and no lease is of an older version." in shown
    assert "Nobody leases anything" in shown
    assert "Nobody has released or revoked a lease, or drained a node." in shown


def test_an_older_version_is_said_though_no_change_waits(client_of: ClientOf, leased: dict[str, Lease]) -> None:
    shown = words(client_of("olga").get("/leases/"))
    assert "2 leases are of older versions: the next step of a change of their tables would wait for them." in shown
    assert "v3 is the newest. No change waits for it now; the next one of this table would." in shown


def test_a_node_that_does_not_answer_is_marked(client_of: ClientOf, leased: dict[str, Lease], held: None) -> None:
    Node.objects.filter(name="n1").update(state="down")
    shown = words(client_of("olga").get("/leases/"))
    assert "n1 does not answer. Its lease ends by itself, at the latest then." in shown
    assert "As it reported last." in shown


def test_releasing_says_what_it_does_and_is_reported(
    client_of: ClientOf, waiting: Change, leased: dict[str, Lease]
) -> None:
    olga, address = client_of("olga"), f"/leases/{leased['n1'].pk}/release/"
    shown = words(olga.get(address))
    assert "n1 gives back its lease on flights v2. No transaction uses it, so none ends" in shown
    assert f"Change {waiting.pk}, flights: add index by_id_dest still waits for 1 other lease then." in shown
    done = olga.post(address)
    assert (done.status_code, done["Location"]) == (302, "/leases/")
    assert not Lease.objects.filter(node="n1").exists()
    assert [event["sentence"] for event in events_since("leases", 0)] == [
        "olga released the lease of n1 on flights v2."
    ]
    assert "olga released the lease of n1 on flights v2." in words(olga.get("/leases/"))


@pytest.mark.parametrize("method", ["get", "post"])
def test_a_lease_in_use_is_not_released(
    client_of: ClientOf, leased: dict[str, Lease], held: None, dsn: str, method: str
) -> None:
    with transaction_under(leased["n1"], dsn):
        refused = getattr(client_of("olga"), method)(f"/leases/{leased['n1'].pk}/release/")
    assert refused.status_code == 409
    assert "it can be revoked, not released" in words(refused) or "revoke ends them" in words(refused)
    assert f"/leases/{leased['n1'].pk}/revoke/" in refused.content.decode()
    assert Lease.objects.filter(node="n1").exists()


def test_a_revocation_says_who_loses_what(
    client_of: ClientOf, waiting: Change, leased: dict[str, Lease], held: None
) -> None:
    shown = words(client_of("olga").get(f"/leases/{leased['n1'].pk}/revoke/"))
    assert "Revoke the lease of n1 on flights v2?" in shown
    assert "This session's transaction ends. It loses all that it did since its BEGIN" in shown
    assert "17 ann report idle after UPDATE flights SET dest = 'BOS' 47 s" in shown
    assert "n1 itself goes on, with v3." in shown
    assert f"Left alone, it ends by itself, at the latest at {leased['n1'].expires_at:%H:%M:%S}" in shown
    assert "No acknowledged write is lost" in shown
    assert "Type n1 to confirm" in shown


def test_the_last_lease_in_the_way_lets_the_change_go_on(
    client_of: ClientOf, waiting: Change, leased: dict[str, Lease]
) -> None:
    Lease.objects.filter(node="n2").delete()
    shown = words(client_of("olga").get(f"/leases/{leased['n1'].pk}/revoke/"))
    assert "goes on then: no other lease is in its way." in shown
    assert "No transaction uses it now: nobody loses anything." in shown


def test_transactions_that_the_node_has_not_reported_are_counted(
    client_of: ClientOf, leased: dict[str, Lease], dsn: str
) -> None:
    with transaction_under(leased["n2"], dsn):
        shown = words(client_of("olga").get(f"/leases/{leased['n2'].pk}/revoke/"))
    assert "1 more transaction uses it at the database, of which the node has not reported who it is" in shown


def test_of_the_newest_version_a_new_lease_is_foretold(client_of: ClientOf, leased: dict[str, Lease]) -> None:
    shown = words(client_of("olga").get(f"/leases/{leased['n3'].pk}/revoke/"))
    assert "It is the newest version: n3 takes a new lease on it with its next statement." in shown
    assert "Left alone" not in shown, "it would be renewed"


@pytest.mark.parametrize("typed", ["", "n2", "N1", "flights"])
def test_without_the_nodes_name_nothing_is_revoked(client_of: ClientOf, leased: dict[str, Lease], typed: str) -> None:
    refused = client_of("olga").post(f"/leases/{leased['n1'].pk}/revoke/", {"typed": typed})
    assert refused.status_code == 422
    assert "Nothing was revoked What was typed is not n1." in words(refused)
    assert Lease.objects.count() == 3
    assert not StoryEvent.objects.filter(kind="lease revoked").exists()


def test_with_it_the_sessions_end_and_the_lease_is_gone(
    client_of: ClientOf, leased: dict[str, Lease], dsn: str
) -> None:
    olga = client_of("olga")
    with transaction_under(leased["n1"], dsn) as session:
        done = olga.post(f"/leases/{leased['n1'].pk}/revoke/", {"typed": " n1 "})
        with pytest.raises(psycopg.errors.AdminShutdown):
            session.execute("COMMIT")
    assert (done.status_code, done["Location"]) == (302, "/leases/")
    assert [str(one) for one in get_messages(done.wsgi_request)] == ["Revoked: 1 session was ended."]
    assert sorted(Lease.objects.values_list("node", flat=True)) == ["n2", "n3"]
    said = "olga revoked the lease of n1 on flights v2; its sessions there were ended."
    assert [event["sentence"] for event in events_since("leases", 0)] == [said]


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("method", ["get", "post"])
def test_a_lease_that_is_gone_is_refused_with_the_reason(client_of: ClientOf, db: None, act: str, method: str) -> None:
    refused = getattr(client_of("olga"), method)(f"/leases/1/{act}/", {"typed": "n1"})
    assert refused.status_code == 409
    assert "was given back, or is over" in words(refused)


@pytest.mark.parametrize("act", ACTS)
def test_a_lease_whose_node_goes_meanwhile_is_refused(
    client_of: ClientOf, leased: dict[str, Lease], monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    monkeypatch.setattr("leases.selectors.nodes", list)
    refused = client_of("olga").get(f"/leases/{leased['n1'].pk}/{act}/")
    assert refused.status_code == 409
    assert "was given back, or is over" in words(refused)


def test_draining_is_asked_on_the_same_page_and_leads_back(client_of: ClientOf, leased: dict[str, Lease]) -> None:
    olga = client_of("olga")
    assert "/processes/n1/drain/?next=/leases/" in olga.get("/leases/").content.decode()
    done = olga.post("/processes/n1/drain/", {"next": "/leases/"})
    assert (done.status_code, done["Location"]) == (302, "/leases/")
    assert "olga drained node n1: it takes no new leases." in words(olga.get("/leases/"))


def test_a_reader_of_chinese_gets_chinese(
    client_of: ClientOf, waiting: Change, leased: dict[str, Lease], held: None
) -> None:
    olga = client_of("olga")
    for address in addresses(leased["n1"]):
        shown = words(olga.get(address, headers={"accept-language": "zh-hans"}))
        assert "租约" in shown
        assert not re.search(r"waits for|Open transactions|What this will do", shown)


def test_history_says_who_leased_what_and_how_it_ended(
    client_of: ClientOf, leased: dict[str, Lease], flights: Table
) -> None:
    """n1's lease is revoked, n2's runs out, n3 gives its own back and takes another one."""
    olga = client_of("olga")
    assert olga.post(f"/leases/{leased['n1'].pk}/revoke/", {"typed": "n1"}).status_code == 302
    with connection.cursor() as cursor:
        cursor.execute("UPDATE leases_lease SET expires_at = acquired_at + interval '1 ms' WHERE node = 'n2'")
        cursor.execute("SELECT pg_sleep(0.002), lease_release(%s, 3, 'n3', 1)", [flights.pk])
        cursor.execute("SELECT version FROM lease_acquire(%s, 'n3', 1, 30)", [flights.pk])
        cursor.execute("SELECT * FROM lease_sweep()")
    shown = words(olga.get("/leases/history/", {"table": flights.pk}))
    assert re.search(r"flights v2 n1 incarnation 1 \S+ \S+ [\d.]+ m?s revoked by olga", shown)
    assert re.search(r"flights v2 n2 incarnation 1 \S+ \S+ 1 ms ran out: its node did not renew it", shown)
    assert re.search(r"flights v3 n3 incarnation 1 \S+ \S+ [\d.]+ m?s given back", shown)
    assert re.search(r"flights v3 n3 incarnation 1 \S+ – lasts, at most until", shown)
    of_n3 = words(olga.get("/leases/history/", {"node": "n3"}))
    assert "given back" in of_n3
    assert "revoked" not in of_n3


def test_history_knows_who_took_a_lease_of_a_table_that_has_another_name_now(
    client_of: ClientOf, leased: dict[str, Lease], flights: Table
) -> None:
    olga = client_of("olga")
    olga.post(f"/leases/{leased['n1'].pk}/revoke/", {"typed": "n1"})
    Table.objects.filter(pk=flights.pk).update(name="departures")
    shown = words(olga.get("/leases/history/", {"table": flights.pk}))
    assert re.search(r"departures v2 n1 incarnation 1 \S+ \S+ [\d.]+ m?s revoked by olga", shown)


def test_a_lease_that_is_over_does_not_last_until_it_is_deleted(client_of: ClientOf, leased: dict[str, Lease]) -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE leases_lease SET expires_at = acquired_at + interval '1 ms' WHERE node = 'n2'")
        cursor.execute("SELECT pg_sleep(0.002)")
    of_n2 = words(client_of("olga").get("/leases/history/", {"node": "n2"}))
    assert "ran out: its node did not renew it" in of_n2
    assert "lasts, at most until" not in of_n2


def test_history_offers_no_table_that_is_gone_and_forgotten(db: None) -> None:
    for pk, name in ((901, "forgotten"), (902, "remembered")):
        Table.objects.create(pk=pk, name=name, state=Table.State.DROPPED)
    at = datetime(2026, 1, 1, tzinfo=UTC)
    PastLease.objects.create(
        table_id=902, version=1, node="n1", incarnation=1, acquired_at=at, ended_at=at, expires_at=at
    )
    assert lease_history.history(table_id=None, node=None)["tables"] == [(902, "remembered")]


@pytest.mark.parametrize("query", [{}, {"table": "0"}, {"table": "x"}, {"table": "9" * 40}, {"node": "no such"}])
def test_history_of_nothing_says_so(client_of: ClientOf, db: None, query: dict[str, str]) -> None:
    assert "Nothing of that was leased, as far as is remembered." in words(
        client_of("olga").get("/leases/history/", query)
    )


def behind_the_door(client: Client, change: Change, node: str = "") -> SessionView:
    """The stage to which a change's "why?" leads."""
    answer = client.get(f"/lab/why/changes/{change.pk}/", {"node": node} if node else {})
    assert answer.status_code == 302
    linked = decode(parse_qs(urlsplit(answer["Location"]).query)["s"][0])
    assert chapter_of(linked.session)
    return show(linked.session, linked.at, single_steps=True)


@pytest.mark.parametrize("node", ["n1", "n2"])
def test_the_door_of_a_wait_has_its_kind_its_versions_and_who_holds_it(
    client_of: ClientOf, waiting: Change, held: None, node: str
) -> None:
    """n1 has a transaction open under its lease on v2, n2 a lease alone: the change waits at its drain of v3."""
    shown = behind_the_door(client_of("olga"), waiting, node)
    assert shown.refused is None
    assert [one.number for one in shown.cluster.versions] == [2, 3]
    assert [(one.name, one.kind, one.state) for one in shown.cluster.versions[-1].elements] == [
        ("by_id_dest", "index", "delete-only")
    ]
    holder = next(one for one in shown.cluster.nodes if one.name == node)
    assert [lease.version for lease in holder.leases] == [2]
    assert bool(holder.transactions) is (node == "n1")
    (refused,) = (str(one.why_not) for one in shown.offers if one.id == "publish.3")
    assert refused.startswith(f"{node} still leases v2")


def test_without_a_name_it_is_about_the_last_to_release(client_of: ClientOf, waiting: Change, held: None) -> None:
    shown = behind_the_door(client_of("olga"), waiting)
    assert {one.name for one in shown.cluster.nodes if one.leases[0].version == 2} == {"n2"}


def test_a_change_that_has_gone_on_since_has_a_door_too(client_of: ClientOf, waiting: Change) -> None:
    Lease.objects.all().delete()
    assert behind_the_door(client_of("olga"), waiting).refused is None


def test_a_failure_opens_at_the_verification_of_its_own_kind(client_of: ClientOf, waiting: Change) -> None:
    base = from_json(Descriptor.objects.get(table_id=waiting.table_id, version=2).body)
    plan = make_plan(parse("CREATE UNIQUE INDEX one_dest ON flights (dest)").action, base).to_json()
    error = {"message": "rows repeat", "sqlstate": "23505"}
    Change.objects.filter(pk=waiting.pk).update(plan=plan, status="failed", error=error)
    shown = behind_the_door(client_of("olga"), waiting)
    assert str(shown.trace[-1].text) == "verification fails: the change rolls back"
    assert "one_dest" in {element.name for element in shown.cluster.versions[-1].elements}


def test_there_is_no_door_of_a_change_that_there_is_not(client_of: ClientOf, db: None) -> None:
    assert client_of("olga").get("/lab/why/changes/4711/").status_code == 404
