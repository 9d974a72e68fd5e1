"""Traffic from the page: who may start and stop it, what is refused, what is shown of it, and how it is found again."""

from __future__ import annotations

import dataclasses
import html
from collections.abc import Callable
from contextlib import nullcontext
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils.timezone import now

from catalog.models import StoryEvent, Table
from catalog.services import OutOfTime
from catalog.story import sentence
from leases.models import Node
from leases.samples import Sample
from nodes.management.commands.traffic import Command
from nodes.models import TrafficRun
from nodes.streams import MEANINGS
from nodes.tasks import end_lost_traffic
from nodes.traffic import runs
from nodes.traffic.meter import Meter
from nodes.traffic.running import END_AT_ONCE_S_MAX, END_S_MAX
from schemalab.operations.traffic import suitable_tables
from schemalab.supervisor.control import CommandRefused, NotRunning

ClientOf = Callable[[str], Client]
FIGURES = {
    "statements_per_s": 59.0, "p50_ms": 4.2, "p99_ms": 38.0, "statements": 1234, "wrong": 0, "away": 1, "all": 3,
    "refused": {"40001": 7, "23505": 2, "99999": 1}, "shown": ["23505 duplicate key (..)"],
}  # fmt: skip


@pytest.fixture(autouse=True)
def begun(monkeypatch: pytest.MonkeyPatch, redis_url: str) -> list[int]:
    """The runs for which the supervisor was asked to start a process."""
    asked: list[int] = []

    def send(_socket: object, command: str, *, run: int) -> dict[str, Any]:
        assert command == "traffic"
        asked.append(run)
        return {"ok": True, "text": "traffic-1 is starting"}

    monkeypatch.setattr("schemalab.operations.traffic.send", send)
    return asked


def words(answer: Any) -> str:
    return " ".join(html.unescape(answer.content.decode()).split())


def told() -> list[str]:
    events = StoryEvent.objects.filter(stream="cluster", kind__startswith="traffic").order_by("seq")
    return [sentence(one.kind, one.payload) for one in events]


@pytest.fixture
def run(flights: Table) -> TrafficRun:
    return runs.ask("flights", clients=2, writes_percent=50, minutes=10, who="sam")


def test_it_is_started_for_ten_minutes_and_says_who(client_of: ClientOf, flights: Table, begun: list[int]) -> None:
    assert 'value="10"' in client_of("sam").get("/traffic/").content.decode()
    answer = client_of("sam").post("/traffic/start/", {"table": "flights", "next": "/traffic/"})
    assert (answer.status_code, answer["Location"]) == (302, "/traffic/")
    run = TrafficRun.objects.get()
    assert begun == [run.pk]
    assert timedelta(minutes=9) < run.ends_at - now() < timedelta(minutes=11)
    assert (run.who, run.clients, run.writes_percent) == ("sam", 1, 67)
    assert told() == ["sam started traffic on flights: clients on each node: 1, writes: 67 %, minutes at most: 10."]


@pytest.mark.parametrize(("who", "status"), [("lea", 403), ("ines", 403), ("sam", 302), ("olga", 302)])
def test_who_may_write_may_start_and_stop_it(client_of: ClientOf, flights: Table, who: str, status: int) -> None:
    client = client_of(who)
    assert client.post("/traffic/start/", {"table": "flights"}).status_code == status
    if status == 403:
        runs.ask("flights", clients=1, writes_percent=67, minutes=10, who="sam")
    number = TrafficRun.objects.get().pk
    assert client.get(f"/traffic/{number}/stop/").status_code == (403 if status == 403 else 200)
    assert client.post(f"/traffic/{number}/stop/").status_code == status
    assert client.get("/traffic/").status_code == 200, "everybody may watch it"
    assert ('action="/traffic/start/"' in client.get("/traffic/").content.decode()) == (status == 302)


def test_one_must_be_signed_in(flights: Table, run: TrafficRun) -> None:
    visitor = Client()
    for answer in (
        visitor.get("/traffic/"),
        visitor.post("/traffic/start/"),
        visitor.get(f"/traffic/{run.pk}/stop/"),
        visitor.post(f"/traffic/{run.pk}/stop/"),
    ):
        assert answer["Location"].startswith("/sign-in/")


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ({"table": "nothing"}, "there is no table nothing"),
        ({"clients": "0"}, "clients for each node: 0 is not from 1 to 8"),
        ({"clients": "9"}, "clients for each node: 9 is not from 1 to 8"),
        ({"writes": "101"}, "the share of writes: 101 is not from 0 to 100"),
        ({"minutes": "61"}, "minutes: 61 is not from 1 to 60"),
        ({"minutes": "soon"}, "'soon' is no whole number"),
        ({"minutes": "9" * 5000}, "'999999' is no whole number"),
        ({"clients": "-1"}, "'-1' is no whole number"),
    ],
)
def test_what_cannot_be_is_refused_by_name_and_not_stored(
    client_of: ClientOf, flights: Table, begun: list[int], wanted: dict[str, str], why: str
) -> None:
    answer = client_of("sam").post("/traffic/start/", {"table": "flights"} | wanted)
    assert answer.status_code == 409
    assert why in words(answer)
    assert (TrafficRun.objects.count(), begun, told()) == (0, [], [])


def test_one_run_of_a_table_at_a_time_and_a_few_in_all(
    client_of: ClientOf, flights: Table, linked: tuple[Table, Table], run: TrafficRun, begun: list[int]
) -> None:
    olga = client_of("olga")
    again = olga.post("/traffic/start/", {"table": "flights"})
    assert again.status_code == 409
    assert "sam has traffic on flights already: stop that first" in words(again)
    for number in range(runs.RUNS_MAX - 1):
        TrafficRun.objects.create(table_id=900 + number, table_name="x", clients=1, writes_percent=1, ends_at=now())
    full = olga.post("/traffic/start/", {"table": linked[0].name})
    assert full.status_code == 409
    assert "3 runs of traffic go on, 3 are the limit: stop one first" in words(full)
    assert begun == []


@pytest.mark.parametrize("refusal", [NotRunning("the cluster is not running"), CommandRefused("is stopping")])
def test_without_a_supervisor_nothing_is_left_behind(
    client_of: ClientOf, flights: Table, monkeypatch: pytest.MonkeyPatch, refusal: Exception
) -> None:
    def send(*_: object, **__: object) -> None:
        raise refusal

    monkeypatch.setattr("schemalab.operations.traffic.send", send)
    answer = client_of("sam").post("/traffic/start/", {"table": "flights"})
    assert answer.status_code == 409
    assert f"{refusal}; or in a terminal: manage.py traffic --table flights" in words(answer)
    assert TrafficRun.objects.get().ended_at is not None


def test_its_figures_and_each_refusal_in_a_sentence_are_on_the_page(client_of: ClientOf, run: TrafficRun) -> None:
    assert runs.report(run, FIGURES) == ""
    for page in ("/", "/traffic/"):
        shown = words(client_of("lea").get(page))
        assert "started by sam; clients on each node: 2; writes: 50 %; ends by itself" in shown
        assert all(part in shown for part in ("4.2 ms", "38 ms", "1,234", "1 / 3", "23505 duplicate key (..)"))
        assert all(str(MEANINGS[code]) in shown for code in ("40001", "23505"))
        assert "Traffic does not expect this one" in shown


def test_stopping_asks_first_is_named_and_heard_by_the_process(client_of: ClientOf, run: TrafficRun) -> None:
    olga, url = client_of("olga"), f"/traffic/{run.pk}/stop/"
    asked = olga.get(url)
    assert "Stop the traffic on flights?" in words(asked)
    assert "data-again" in asked.content.decode(), "and it stays true while somebody reads it"
    assert runs.report(run, FIGURES) == ""
    assert olga.post(url).status_code == 302
    assert "olga stopped it; it ends in a moment." in words(olga.get("/"))
    for again in (olga.get(url), olga.post(url)):
        assert (again.status_code, "olga has stopped it already" in words(again)) == (409, True)
        assert "data-again" not in again.content.decode()
    olga.cookies["django_language"] = "zh-hans"
    assert "olga 已经停止了它" in words(olga.get(url))
    olga.cookies["django_language"] = "en"
    assert runs.report(run, FIGURES) == "olga stopped it"
    runs.finish(run, "olga stopped it")
    refused = olga.post(url)
    assert refused.status_code == 409
    assert "has ended: olga stopped it" in words(refused)
    assert told()[1:] == [
        "olga stopped the traffic on flights.",
        "Traffic on flights ended, olga stopped it: 1,234 statements, 0 wrong answers.",
    ]
    assert client_of("olga").get("/traffic/999/stop/").status_code == 404


def test_it_ends_by_itself(run: TrafficRun) -> None:
    TrafficRun.objects.update(ends_at=now() - timedelta(seconds=1))
    assert runs.report(run, FIGURES) == runs.TIME_OVER


def test_a_run_whose_process_is_gone_says_so_and_makes_room(
    client_of: ClientOf, run: TrafficRun, begun: list[int]
) -> None:
    TrafficRun.objects.update(reported_at=now() - timedelta(seconds=runs.STARTS_WITHIN_S + 1))
    sam = client_of("sam")
    assert "It does not report" in words(sam.get("/"))
    assert sam.post("/traffic/start/", {"table": "flights"}).status_code == 302
    assert TrafficRun.objects.get(pk=run.pk).why == runs.LOST
    assert len(begun) == 1
    assert runs.report(run, FIGURES) == "another run took its place", "a process that was thawed ends"


def test_a_process_that_takes_long_to_start_is_waited_for_and_one_that_fell_silent_is_not(run: TrafficRun) -> None:
    TrafficRun.objects.update(reported_at=now() - timedelta(seconds=runs.LOST_AFTER_S + 1))
    run.refresh_from_db()
    runs.end_lost()
    assert (list(runs.going_on()), runs.is_lost(run)) == ([run], False)
    assert runs.report(run, FIGURES) == ""
    TrafficRun.objects.update(reported_at=now() - timedelta(seconds=runs.LOST_AFTER_S + 1))
    run.refresh_from_db()
    assert (list(runs.going_on()), runs.is_lost(run)) == ([], True)
    runs.end_lost()
    run.refresh_from_db()
    assert run.why == runs.LOST


def test_stopping_a_run_whose_process_is_gone_ends_it(client_of: ClientOf, run: TrafficRun) -> None:
    TrafficRun.objects.update(reported_at=now() - timedelta(seconds=runs.STARTS_WITHIN_S + 1))
    assert client_of("sam").post(f"/traffic/{run.pk}/stop/").status_code == 302
    run.refresh_from_db()
    assert run.why == runs.LOST


def test_the_process_of_a_run_that_is_not_to_be_carried_out_says_why(run: TrafficRun) -> None:
    with pytest.raises(CommandError, match="there is no run 999 of traffic"):
        call_command("traffic", run=999)
    with pytest.raises(CommandError, match="no node has joined"):
        call_command("traffic", run=run.pk)
    run.refresh_from_db()
    assert run.why == "no node has joined"
    with pytest.raises(CommandError, match="has ended: no node has joined"):
        call_command("traffic", run=run.pk)


class Running:
    """Clients that are told to end."""

    def __init__(self, looks: list[BaseException]) -> None:
        self.stop, self.clients, self.ended, self.looks = self, (), [], looks  # type: ignore[var-annotated]

    def wait(self, _seconds: float) -> None: ...

    def look(self) -> Any:
        if self.looks:
            raise self.looks.pop()
        return Sample(*[0] * len(dataclasses.fields(Sample)))

    def meter(self) -> Meter:
        return Meter()

    def away(self) -> int:
        return 0

    def end(self, *, seconds_max: float, looked: Callable[[], object]) -> int:
        looked()
        self.ended.append(seconds_max)
        return 2


@pytest.mark.parametrize(
    ("error", "why", "seconds"),
    [
        (KeyboardInterrupt(), "the cluster stopped; rows of 2 clients remain", END_AT_ONCE_S_MAX),
        (None, "its time was over; rows of 2 clients remain", END_S_MAX),
        (ValueError("an odd figure"), "an odd figure", END_AT_ONCE_S_MAX),
    ],
)
def test_however_its_process_ends_the_run_has_ended_and_its_clients_too(
    run: TrafficRun, monkeypatch: pytest.MonkeyPatch, error: BaseException | None, why: str, seconds: float
) -> None:
    TrafficRun.objects.update(ends_at=now() - timedelta(seconds=1))
    running = Running([error] if error else [])
    monkeypatch.setattr(Command, "_start_run", lambda _self, _run: running)
    with pytest.raises(ValueError, match="an odd figure") if isinstance(error, ValueError) else nullcontext():
        call_command("traffic", run=run.pk)
    run.refresh_from_db()
    assert run.why == why
    assert running.ended == [seconds]


def test_a_process_that_is_told_to_end_while_it_starts_ends_its_run(
    run: TrafficRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Command, "_start_run", interrupted)
    call_command("traffic", run=run.pk)
    run.refresh_from_db()
    assert run.why == "the cluster stopped"


def test_a_lost_run_is_ended_by_the_timetable_and_counts_nowhere_before(
    run: TrafficRun, linked: tuple[Table, Table]
) -> None:
    other = runs.ask(linked[0].name, clients=1, writes_percent=1, minutes=10, who="sam")
    TrafficRun.objects.filter(pk=run.pk).update(reported_at=now() - timedelta(seconds=runs.STARTS_WITHIN_S + 1))
    assert [one.pk for one in runs.going_on()] == [other.pk]
    end_lost_traffic()
    run.refresh_from_db()
    other.refresh_from_db()
    assert (run.why, other.ended_at) == (runs.LOST, None)


def test_a_run_that_is_ended_while_it_reports_is_told_to_end(run: TrafficRun, monkeypatch: pytest.MonkeyPatch) -> None:
    def ended_meanwhile(_figures: object) -> dict[str, Any]:
        return {"ended_at": now()}

    monkeypatch.setattr(runs, "_news", ended_meanwhile)
    assert runs.report(run, FIGURES) == "another run took its place"


def test_the_suitable_tables_are_found_by_one_question(
    flights: Table, linked: tuple[Table, Table], django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(1):
        assert "flights" in suitable_tables()
    Table.objects.filter(pk=flights.pk).update(state=Table.State.DROPPED)
    assert "flights" not in suitable_tables()


def test_a_start_that_is_out_of_time_says_so(
    client_of: ClientOf, flights: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(*_: object, **__: object) -> None:
        raise OutOfTime("a control transaction was not over within 2 s: nothing of it was kept")

    monkeypatch.setattr(runs, "ask", late)
    answer = client_of("sam").post("/traffic/start/", {"table": "flights"})
    assert (answer.status_code, "nothing of it was kept" in words(answer)) == (409, True)


def test_a_bulk_load_is_no_node_that_takes_traffic(flights: Table) -> None:
    Node.objects.create(name="load-1", host="", port=0, pid=1, state="up")
    with pytest.raises(CommandError, match="no such node: none is up"):
        call_command("traffic")


@pytest.mark.parametrize(
    ("came_from", "back"),
    [
        ("http://testserver/traffic/", "/traffic/"),
        ("http://testserver/", "/"),
        ("http://elsewhere/traffic/", "/"),
        ("http://testserver/traffic/{}/stop/", "/"),
    ],
)
def test_stop_returns_to_the_page_that_asked(client_of: ClientOf, run: TrafficRun, came_from: str, back: str) -> None:
    answer = client_of("sam").get(f"/traffic/{run.pk}/stop/", headers={"referer": came_from.format(run.pk)})
    assert f'name="next" value="{back}"' in answer.content.decode()


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan")])
def test_the_command_runs_for_some_time(seconds: float) -> None:
    with pytest.raises(CommandError, match="--seconds must be more than 0"):
        call_command("traffic", seconds=seconds)
