"""Faults by click: who may do what to which process in which state, what is said before, and who is named after."""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.db import connection
from django.test import Client
from django.utils.timezone import now

from catalog.models import StoryEvent, Table
from catalog.services import OutOfTime
from catalog.story import sentence
from leases.holders import Holder
from leases.models import Node
from schemalab.operations import consequences, faults
from schemalab.supervisor.control import CommandRefused, NotRunning
from schemalab.supervisor.process_control import KnownProcesses
from schemalab.supervisor.refusals import FITS, why_not
from tests.web.layout import flat

ClientOf = Callable[[str], Client]
STATES = ("up", "frozen", "down", "starting")


@dataclass
class Supervisor:
    """A supervisor whose processes are in these states; `obeyed` are the commands that it was sent."""

    states: dict[str, str] = field(default_factory=lambda: {"web": "up", "postgres": "up", "redis": "up", "n2": "up"})
    obeyed: list[tuple[str, str, str]] = field(default_factory=list)
    runs: bool = True
    is_stopped: bool = False
    refuses: str = ""

    def send(self, _socket: object, command: str, name: str = "", *, who: str = "", **_: object) -> dict[str, Any]:
        if self.is_stopped:
            raise TimeoutError("timed out")
        if not self.runs:
            raise NotRunning("the cluster is not running: start it with `manage.py up`")
        if command == "status":
            return {"ok": True, "processes": [self._process(one) for one in self.states]}
        if self.refuses:
            raise CommandRefused(self.refuses)
        self.obeyed.append((command, name, who))
        return {"ok": True, "text": ""}

    def _process(self, name: str) -> dict[str, Any]:
        kind = "node" if name == "n2" else name
        return {"name": name, "kind": kind, "state": self.states[name], "pid": 1 if self.states[name] == "up" else None}


@pytest.fixture
def supervisor(monkeypatch: pytest.MonkeyPatch, redis_url: str) -> Supervisor:
    one = Supervisor()
    monkeypatch.setattr("schemalab.supervisor.process_control.send", one.send)
    monkeypatch.setattr("schemalab.supervisor.process_control.known", KnownProcesses())
    return one


@pytest.fixture
def n2(db: None) -> Node:
    return Node.objects.create(name="n2", incarnation=1, host="127.0.0.1", port=6002, pid=1, heartbeat_at=now())


@pytest.fixture
def lease(n2: Node, flights: Table) -> None:
    """n2 leases the newest version of flights for another minute."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO leases_lease (table_id, version, node, incarnation, expires_at) VALUES (%s, 2, 'n2', 1, %s)",
            [flights.pk, now() + timedelta(minutes=1)],
        )


def words(answer: Any) -> str:
    return " ".join(html.unescape(answer.content.decode()).split())


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("command", FITS)
def test_each_command_in_each_state_is_asked_first_then_done_or_refused_by_name(
    client_of: ClientOf, supervisor: Supervisor, n2: Node, command: str, state: str
) -> None:
    supervisor.states["n2"] = state
    olga, url = client_of("olga"), f"/processes/n2/{command}/"
    asked, done = olga.get(url, {"next": "/processes/"}), olga.post(url, {"next": "/processes/"})
    refusal = why_not(command, "n2", state)
    if refusal is None:
        assert (asked.status_code, done.status_code, done["Location"]) == (200, 302, "/processes/")
        assert "What it cannot break" in words(asked)
        assert "n2" in next(str(one) for one in get_messages(done.wsgi_request))
        assert supervisor.obeyed == [(command, "n2", "olga")]
    else:
        assert (asked.status_code, done.status_code) == (409, 409)
        assert refusal in words(asked)
        assert refusal in words(done)
        assert supervisor.obeyed == []


@pytest.mark.parametrize("command", [*FITS, "drain", "undrain"])
@pytest.mark.parametrize(
    ("who", "status"), [("lea", 403), ("sam", 403), ("ines", 403), ("olga", None), ("nobody", 302)]
)
def test_only_operators_may(
    client_of: ClientOf, supervisor: Supervisor, n2: Node, who: str, status: int | None, command: str
) -> None:
    client, url = Client() if who == "nobody" else client_of(who), f"/processes/n2/{command}/"
    answers = {client.get(url).status_code, client.post(url).status_code}
    if status is None:
        assert answers <= {200, 302, 409}
    else:
        assert answers == {status}
        assert supervisor.obeyed == []
        assert not StoryEvent.objects.exists()


def test_a_kill_says_until_when_it_can_hold_a_change_back(
    client_of: ClientOf, supervisor: Supervisor, lease: None
) -> None:
    shown = words(client_of("olga").get("/processes/n2/kill/"))
    assert "Its lease on flights v2 runs out at" in shown
    assert ": until then no version after v3 is published." in shown
    assert "No acknowledged write is lost" in shown
    assert "It leases nothing" not in shown


@pytest.fixture
def reports(lease: None, flights: Table, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Has n2 report these sessions as those whose transactions use its lease on flights."""

    def report(*holders: Holder) -> None:
        of_flights = tuple(replace(one, table_id=flights.pk) for one in holders)
        monkeypatch.setattr("leases.selectors.read_holders", lambda _nodes: {"n2": (1, of_flights)})

    return report


def _session(number: int, user: str, application: str = "psql") -> Holder:
    return Holder(1, 2, number, user, application, "UPDATE flights SET dest = 'BOS'", is_running=False, for_s=9.0)


def test_whoever_kills_a_strangers_transaction_types_the_nodes_name(
    client_of: ClientOf, supervisor: Supervisor, reports: Callable[..., None]
) -> None:
    reports(_session(7, "ann"), _session(8, "olga"))
    olga = client_of("olga")
    asked = words(olga.get("/processes/n2/kill/"))
    assert "This session's transaction ends. It loses all that it did since its BEGIN." in asked
    assert "session 7 of ann (psql)" in asked
    assert "session 8" not in asked, "her own she knows"
    assert "Type n2 to confirm" in asked
    for typed in ("", "n1"):
        refused = olga.post("/processes/n2/kill/", {"typed": typed})
        assert (refused.status_code, supervisor.obeyed) == (422, [])
        assert "Nothing was done" in words(refused)
    assert "Meanwhile somebody has opened a transaction there" in words(olga.post("/processes/n2/kill/"))
    assert olga.post("/processes/n2/kill/", {"typed": "n2"}).status_code == 302
    assert supervisor.obeyed == [("kill", "n2", "olga")]


@pytest.mark.parametrize(
    ("command", "holders"),
    [
        pytest.param("kill", [], id="nobody has a transaction open"),
        pytest.param("kill", [_session(7, "olga")], id="it is her own"),
        pytest.param("kill", [_session(7, "traffic", "traffic")], id="traffic is made for it"),
        pytest.param("freeze", [_session(7, "ann")], id="a thaw in time lets it go on"),
    ],
)
def test_what_costs_no_stranger_anything_takes_one_click(
    client_of: ClientOf, supervisor: Supervisor, reports: Callable[..., None], command: str, holders: list[Holder]
) -> None:
    reports(*holders)
    olga = client_of("olga")
    assert "to confirm" not in words(olga.get(f"/processes/n2/{command}/"))
    assert olga.post(f"/processes/n2/{command}/").status_code == 302
    assert supervisor.obeyed == [(command, "n2", "olga")]


def test_a_transaction_on_a_table_without_leases_is_a_strangers_too(
    client_of: ClientOf, supervisor: Supervisor, n2: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = {"n2": (n2.incarnation, (_session(7, "ann"),))}
    monkeypatch.setattr("leases.selectors.read_holders", lambda _nodes: told)
    olga = client_of("olga")
    assert "session 7 of ann (psql)" in words(olga.get("/processes/n2/kill/"))
    assert olga.post("/processes/n2/kill/").status_code == 422
    told["n2"] = (n2.incarnation - 1, (_session(7, "ann"),))  # of its life before: that is over
    assert olga.post("/processes/n2/kill/").status_code == 302


@pytest.mark.parametrize(("tables", "folded"), [(5, ""), (6, "and 1 more table"), (17, "and 12 more tables")])
def test_of_many_leased_tables_five_are_told_and_the_others_folded(
    client_of: ClientOf, supervisor: Supervisor, n2: Node, monkeypatch: pytest.MonkeyPatch, tables: int, folded: str
) -> None:
    until = now() + timedelta(seconds=30)
    held = [consequences.NodeLease(f"t{number}", 2, 3, until) for number in range(tables)]
    monkeypatch.setattr(faults, "_follows", lambda command, target: consequences.of_node(command, "n2", tuple(held)))
    body = flat(client_of("olga").get("/processes/n2/kill/").content.decode())
    shown, _, below = body.partition("<details>")
    assert shown.count("Its lease on t") == min(tables, 5)
    assert body.count("Its lease on t") == tables
    assert (f"<summary>{folded}</summary>" in below) if folded else not below


def test_a_node_without_leases_holds_nothing_back(client_of: ClientOf, supervisor: Supervisor, n2: Node) -> None:
    assert "It leases nothing now: no change waits for it." in words(client_of("olga").get("/processes/n2/freeze/"))


@pytest.mark.parametrize("command", ["freeze", "kill"])
@pytest.mark.parametrize("name", ["web", "postgres"])
def test_nobody_takes_away_from_the_page_what_it_needs_to_give_it_back(
    client_of: ClientOf, supervisor: Supervisor, command: str, name: str
) -> None:
    olga = client_of("olga")
    for answer in (olga.get(f"/processes/{name}/{command}/"), olga.post(f"/processes/{name}/{command}/")):
        assert answer.status_code == 409
        assert f"without {name} this page could not" in words(answer)
        assert f"manage.py processes {command} {name}" in words(answer)
    assert supervisor.obeyed == []
    assert f"/processes/{name}/{command}/" not in olga.get("/processes/").content.decode()


@pytest.mark.parametrize("kind", ["redis", "worker", "maintenance", "beat", "spark", "lab", "demo"])
@pytest.mark.parametrize("command", FITS)
def test_each_kind_of_process_says_what_waits_and_why_nothing_breaks(
    client_of: ClientOf, supervisor: Supervisor, kind: str, command: str
) -> None:
    supervisor.states[kind] = FITS[command][0]
    assert client_of("olga").get(f"/processes/{kind}/{command}/").status_code == 200


def test_what_the_supervisor_refuses_after_all_is_shown(client_of: ClientOf, supervisor: Supervisor, n2: Node) -> None:
    supervisor.refuses = "n2 is down already: it stays down until it is started"
    answer = client_of("olga").post("/processes/n2/kill/")
    assert answer.status_code == 409
    assert supervisor.refuses in words(answer)


def test_draining_is_asked_of_the_node_and_named_in_the_story(
    client_of: ClientOf, supervisor: Supervisor, n2: Node
) -> None:
    olga = client_of("olga")
    assert "No transaction is cut off." in words(olga.get("/processes/n2/drain/"))
    assert olga.post("/processes/n2/drain/").status_code == 302
    again = olga.post("/processes/n2/drain/")
    assert again.status_code == 409
    assert "n2 is draining already" in words(again)
    assert olga.post("/processes/n2/undrain/").status_code == 302
    assert "n2 is not draining" in words(olga.get("/processes/n2/undrain/"))
    told = [sentence(one.kind, one.payload) for one in StoryEvent.objects.filter(stream="processes").order_by("seq")]
    assert told == ["olga drained node n2: it takes no new leases.", "olga undrained node n2: it takes leases again."]
    assert told[0] in words(olga.get("/processes/")), "the page of processes is operators' audit trail"


def test_a_database_that_takes_too_long_is_an_answer_not_a_mistake(
    client_of: ClientOf, supervisor: Supervisor, n2: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_long() -> Any:
        raise OutOfTime("a control transaction was not over within 2 s: nothing of it was kept")

    monkeypatch.setattr("leases.services.control_transaction", too_long)
    answer = client_of("olga").post("/processes/n2/drain/")
    assert answer.status_code == 409
    assert "was not over within 2 s: nothing of it was kept" in words(answer)


def test_without_a_supervisor_nodes_are_drained_and_nothing_else(
    client_of: ClientOf, supervisor: Supervisor, n2: Node
) -> None:
    supervisor.runs = False
    olga = client_of("olga")
    refused = olga.post("/processes/n2/kill/")
    assert refused.status_code == 409
    assert "no `manage.py up` that this page can reach runs it" in words(refused)
    olga.post("/first-visit/")
    shown = olga.get("/").content.decode()
    assert "/processes/n2/drain/" in shown
    assert "/processes/n2/kill/" not in shown
    assert "No manage.py up that this page can reach" in words(olga.get("/processes/"))


def test_a_supervisor_that_is_stopped_is_shown_as_such(client_of: ClientOf, supervisor: Supervisor, n2: Node) -> None:
    supervisor.is_stopped = True
    olga = client_of("olga")
    for page in ("/", "/processes/"):
        assert "The supervisor does not answer" in words(olga.get(page))
    for name in ("n2", "redis"):
        refused = olga.get(f"/processes/{name}/kill/")
        assert (refused.status_code, "is stopped, or very busy" in words(refused)) == (409, True)
    assert olga.get("/processes/n2/drain/").status_code == 200, "that needs the database alone"


@pytest.mark.parametrize(
    ("state", "commands"),
    [("up", {"kill", "freeze", "drain"}), ("frozen", {"kill", "thaw"}), ("down", {"start"}), ("starting", {"drain"})],
)
def test_each_row_offers_what_fits(
    client_of: ClientOf, supervisor: Supervisor, n2: Node, state: str, commands: set[str]
) -> None:
    supervisor.states["n2"] = state
    olga = client_of("olga")
    olga.post("/first-visit/")  # the card has a button of its own
    for page in ("/", "/processes/"):
        shown = olga.get(page).content.decode()
        assert {one for one in (*FITS, "drain", "undrain") if f"/processes/n2/{one}/" in shown} == commands
    assert "data-may-control" in shown
    assert "data-may-control" not in client_of("lea").get("/").content.decode(), "rows show no buttons to others"


@pytest.mark.parametrize("url", ["/processes/n9/kill/", "/processes/n2/dance/", "/processes/redis/drain/"])
def test_what_there_is_not_is_no_page(client_of: ClientOf, supervisor: Supervisor, n2: Node, url: str) -> None:
    assert client_of("olga").get(url).status_code == client_of("olga").post(url).status_code == 404


def test_nobody_is_sent_to_a_foreign_page(client_of: ClientOf, supervisor: Supervisor, n2: Node) -> None:
    url, foreign = "/processes/n2/freeze/", {"next": "https://elsewhere.example/"}
    assert 'href="https://elsewhere' not in words(client_of("olga").get(url, foreign))
    assert client_of("olga").post(url, foreign)["Location"] == "/"


def test_a_form_of_another_site_does_nothing(people: dict[str, Any], supervisor: Supervisor, n2: Node) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(people["olga"])
    answer = strict.post("/processes/n2/kill/")
    assert (answer.status_code, supervisor.obeyed) == (403, [])
    assert "signed in or out in this browser since the page was loaded" in words(answer)
    assert b"<main" in answer.content
    within = strict.post("/console/1/run/", {"sql": "SELECT 1"}, headers={"HX-Request": "true"})
    assert within.status_code == 403
    assert b"Nothing was done" in within.content
    assert b"<main" not in within.content, "it is shown inside a page"
