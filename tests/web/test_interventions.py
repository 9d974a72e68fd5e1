"""Pause, resume and cancel on the page and by command, wherever a change stands: an answer, never a mistake of ours."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection, transaction
from django.test import Client

from catalog.models import Table
from changes import services
from changes.executor.state import Execution, Mode
from changes.models import Change
from changes.plan.model import Plan
from spark_tasks.models import ReorgPulse, ReorgRun
from spark_tasks.services import start_run
from tests.changes.executor.test_interventions import PLANS, places
from tests.web.layout import flat

ClientOf = Callable[[str], Client]
INTERVENTIONS = ("cancel", "pause", "resume")


@pytest.fixture(autouse=True)
def no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Changes stay where they are: driving them is tested elsewhere."""
    monkeypatch.setattr(services, "send_driver", lambda _change_id: None)


def stored(plan: Plan, status: str, state: Execution | None) -> Change:
    """A change of this plan, standing there."""
    change = Change.objects.create(
        table_id=plan.table_id,
        table_ids=list(plan.table_ids),
        table_name=plan.table,
        statement="..",
        plan=plan.to_json(),
        status=status,
        who="sam",
    )
    if state is not None and state.mode is not Mode.QUEUED:
        body = replace(state, change=change.pk).to_json()
        del body["plan"]
        Change.objects.filter(pk=change.pk).update(executor_state=body, direction=state.direction.value)
    return change


def past_return(plan: Plan) -> Execution:
    """As soon as the change can only go on."""
    return next(one.state for one in places(plan) if one.state.is_past_return)


@pytest.mark.parametrize("plan", list(PLANS.values())[::3], ids=list(PLANS)[::3])
def test_past_the_point_of_no_return_a_page_for_each_intervention_and_a_cancel_is_refused(
    client_of: ClientOf, plan: Plan
) -> None:
    """A page that would show the steps back, where there are none, was a 500. Of every third kind of change:
    `tests.changes.executor.test_interventions` has them all."""
    change, sam = stored(plan, "running", past_return(plan)), client_of("sam")
    url = f"/changes/{change.pk}"
    assert {intervention: sam.get(f"{url}/{intervention}/").status_code for intervention in INTERVENTIONS} == {
        "cancel": 409,
        "pause": 200,
        "resume": 409,
    }
    refused = sam.post(f"{url}/cancel/")
    assert refused.status_code == 409
    assert "be cancelled any more" in refused.content.decode()
    assert sam.post(f"{url}/pause/").status_code == 302


@pytest.mark.django_db(transaction=True)
def test_every_intervention_at_every_step_is_done_or_refused_with_a_reason(client_of: ClientOf) -> None:
    """By page and by command alike, from the queue to the end, on the way there and back."""
    sam, seen = client_of("sam"), set()
    for standing in places(PLANS["drop a table"]):
        if standing.state.mode not in (Mode.WAITING, Mode.LEASE_LOST):
            for intervention in INTERVENTIONS:
                change = stored(standing.state.plan, standing.status, standing.state)
                shown = sam.get(f"/changes/{change.pk}/{intervention}/")
                code, said = commanded(intervention, change)
                Change.objects.filter(pk=change.pk).delete()
                seen.add((intervention, standing.status, shown.status_code, code))
                assert code == 0 or f"change {change.pk}" in said
    assert {(status, code) for _, _, status, code in seen} == {(200, 0), (409, 1)}
    assert {standing for _, standing, *_ in seen} == {
        "queued", "running", "paused", "rolling_back", "done", "failed", "cancelled",
    }  # fmt: skip


def commanded(intervention: str, change: Change) -> tuple[int, str]:
    try:
        call_command("change", intervention, str(change.pk))
    except CommandError as error:
        return error.returncode, str(error)
    return 0, ""


@pytest.mark.parametrize(
    ("status", "mode", "asks"),
    [
        ("awaiting", Mode.QUEUED, {"approve", "reject", "cancel"}),
        ("running", Mode.ASKING, {"pause", "cancel"}),
        ("paused", Mode.PAUSED, {"resume", "cancel"}),
        ("failed", Mode.ENDED, {"retry"}),
    ],
)
def test_what_asks_first_does_so_over_the_page_of_the_change(
    client_of: ClientOf, status: str, mode: Mode, asks: set[str]
) -> None:
    """Its form names where it is sent to: over that page it has no address of its own."""
    plan = PLANS["add an index"]
    change = stored(plan, status, Execution(1, plan, mode, asked=mode is Mode.ASKING))
    olga = client_of("olga")
    shown = flat(olga.get(f"/changes/{change.pk}/").content.decode())
    links = re.findall(rf'href="(/changes/{change.pk}/(\w+)/)" data-ask>', shown)
    assert {name for _, name in links} == asks
    for link, _ in links:
        asked = olga.get(link).content.decode()
        assert "data-ask-body" in asked
        assert f'action="{link}"' in asked
        assert f'href="/changes/{change.pk}/" data-ask-close' in asked


def asks_again(asked: Any) -> bool:
    """True when the page in question stays true while somebody reads it."""
    return "data-ask-body data-again>" in asked.content.decode()


def test_a_finished_change_is_refused_with_409_and_the_reason(client_of: ClientOf) -> None:
    change = stored(PLANS["drop a table"], "done", Execution(1, PLANS["drop a table"], Mode.ENDED, position=5))
    for intervention in INTERVENTIONS:
        sam, url = client_of("sam"), f"/changes/{change.pk}/{intervention}/"
        for answer in (sam.get(url), sam.post(url)):
            assert answer.status_code == 409
            assert f"change {change.pk} has ended: done" in answer.content.decode()


@pytest.mark.parametrize(
    ("status", "intervention", "words"),
    [
        ("paused", "pause", "变更 {} 已经暂停"),
        ("running", "resume", "变更 {} 没有暂停：进行中"),
        ("done", "cancel", "变更 {} 已结束：完成"),
    ],
)
def test_a_refusal_is_in_the_language_of_the_page(
    client_of: ClientOf, status: str, intervention: str, words: str
) -> None:
    change = stored(PLANS["add an index"], status, Execution(1, PLANS["add an index"], Mode.ASKING, asked=True))
    sam, url = client_of("sam"), f"/changes/{change.pk}/{intervention}/"
    sam.cookies["django_language"] = "zh-hans"
    for answer in (sam.get(url), sam.post(url)):
        assert answer.status_code == 409
        assert words.format(change.pk) in answer.content.decode()


def test_a_double_click_asks_once(client_of: ClientOf) -> None:
    change = stored(PLANS["add an index"], "running", Execution(1, PLANS["add an index"], Mode.ASKING, asked=True))
    answers = [client_of("sam").post(f"/changes/{change.pk}/cancel/").status_code for _ in range(2)]
    assert answers == [302, 409]
    change.refresh_from_db()
    assert [request["wish"] for request in change.wishes] == ["cancel"]


@pytest.mark.django_db(transaction=True)
def test_of_two_cancels_at_once_one_is_asked_for_and_one_refused() -> None:
    change = stored(PLANS["add an index"], "running", Execution(1, PLANS["add an index"], Mode.ASKING, asked=True))
    answers: list[str] = []

    def cancel(who: str) -> None:
        try:
            services.cancel(change.pk, who=who)
            answers.append("asked for")
        except services.ChangeError as refusal:
            answers.append(str(refusal))
        finally:
            connection.close()

    both = [threading.Thread(target=cancel, args=(who,)) for who in ("ann", "bob")]
    for one in both:
        one.start()
    for one in both:
        one.join(20)
    refused = [answer for answer in answers if answer != "asked for"]
    assert len(answers) == 2
    assert [f"change {change.pk} is being cancelled: " in answer for answer in refused] == [True]


@pytest.mark.django_db(transaction=True)
def test_a_row_that_stays_locked_is_no_mistake_of_who_asked(dsn: str) -> None:
    """The transaction's deadline ends it, nothing is stored, and the answer says to try again."""
    import psycopg

    change = stored(PLANS["add an index"], "running", Execution(1, PLANS["add an index"], Mode.ASKING, asked=True))
    with psycopg.connect(dsn) as holder:
        holder.execute("SELECT 1 FROM changes_change WHERE id = %s FOR UPDATE", (change.pk,))
        with pytest.raises(services.TryAgain, match="try again"):
            services.cancel(change.pk, who="ann")
    services.cancel(change.pk, who="ann")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("by_command", [False, pytest.param(True, marks=pytest.mark.soak)])
def test_a_statement_that_is_taken_too_slowly_stores_nothing(
    client_of: ClientOf, flights: Table, dsn: str, by_command: bool
) -> None:
    """Others' submissions are on their way for longer than a control transaction may take."""
    import psycopg

    statement, url = "CREATE INDEX slow ON flights (dest)", "/changes/new/submit/"
    with psycopg.connect(dsn) as holder:
        holder.execute("SELECT pg_advisory_xact_lock(%s, %s)", services.SUBMISSIONS)
        if by_command:
            with pytest.raises(CommandError, match="nothing was stored: the database took too long to answer"):
                call_command("change", "submit", statement)
        else:
            answer = client_of("sam").post(url, {"statement": statement})
            assert answer.status_code == 422
            assert "nothing was stored: the database took too long to answer; try again" in answer.content.decode()
    assert not Change.objects.filter(statement=statement).exists()


def test_whose_changes_a_submitter_may_touch_is_a_setting_stated_on_the_page(
    client_of: ClientOf, settings: Any
) -> None:
    change = stored(PLANS["add an index"], "running", Execution(1, PLANS["add an index"], Mode.ASKING, asked=True))
    Change.objects.filter(pk=change.pk).update(who="ann")
    url, sam = f"/changes/{change.pk}", client_of("sam")
    assert "Everybody who may submit changes may pause" in sam.get(f"{url}/").content.decode()
    assert sam.get(f"{url}/pause/").status_code == 200
    settings.SUBMITTERS_STEER = "own"
    assert "Only ann, who submitted it, and operators may pause" in sam.get(f"{url}/").content.decode()
    for answer in (sam.get(f"{url}/pause/"), sam.post(f"{url}/pause/")):
        assert answer.status_code == 409
        assert "only ann and operators" in answer.content.decode()
    assert client_of("olga").post(f"{url}/pause/").status_code == 302


# --- retry


def failed(statement: str) -> Change:
    """A change of flights that failed."""
    with transaction.atomic():
        change = services.submit(statement, who="ann")
    error = {"message": "13 violations of index one_dest", "sqlstate": "23505"}
    Change.objects.filter(pk=change.pk).update(status="failed", error=error)
    change.refresh_from_db()
    return change


ONE_DEST = "CREATE UNIQUE INDEX one_dest ON flights (dest)"


def test_a_failed_change_is_submitted_again_as_a_change_of_who_asks(client_of: ClientOf, flights: Table) -> None:
    change, sam = failed(ONE_DEST), client_of("sam")
    url = f"/changes/{change.pk}/retry/"
    assert ONE_DEST in sam.get(url).content.decode()
    assert Change.objects.count() == 1, "a look stores nothing"
    assert asks_again(sam.get(url))
    again = Change.objects.get(pk=sam.post(url)["Location"].split("/")[2])
    assert (again.statement, again.who, again.status) == (ONE_DEST, "sam", "queued")
    change.refresh_from_db()
    assert (change.status, change.who) == ("failed", "ann")
    assert f'href="/changes/{again.pk}/"' in sam.get(f"/changes/{change.pk}/").content.decode()


def test_a_retry_that_makes_no_sense_is_refused_with_409_and_the_reason(client_of: ClientOf, flights: Table) -> None:
    change, sam = failed(ONE_DEST), client_of("sam")
    url, again = f"/changes/{change.pk}/retry/", failed(ONE_DEST)
    for status, reason in (
        ("running", f"change {again.pk} tries the same already: it is running"),
        ("rolling_back", "it is rolling back"),
    ):
        Change.objects.filter(pk=again.pk).update(status=status)
        for answer in (sam.get(url), sam.post(url)):
            assert (answer.status_code, reason in answer.content.decode(), asks_again(answer)) == (409, True, False)
        assert f'href="{url}"' not in sam.get(f"/changes/{change.pk}/").content.decode()
    Change.objects.filter(pk=again.pk).update(status="failed")
    for status, reason in (("waiting", "has not ended: it is waiting"), ("done", "there is nothing to try again")):
        Change.objects.filter(pk=change.pk).update(status=status)
        answer = sam.post(url)
        assert (answer.status_code, reason in answer.content.decode()) == (409, True)
    assert Change.objects.count() == 2
    assert client_of("lea").post(url).status_code == 403
    assert sam.get("/changes/999/retry/").status_code == 404


def test_a_retry_of_what_is_impossible_now_says_why(client_of: ClientOf, flights: Table) -> None:
    change = failed(ONE_DEST)
    Table.objects.filter(pk=flights.pk).update(state=Table.State.DROPPED)
    answer = client_of("sam").post(f"/changes/{change.pk}/retry/")
    assert answer.status_code == 409
    assert "flights&quot; does not exist" in answer.content.decode()


def test_a_retry_by_command(flights: Table, capsys: pytest.CaptureFixture[str]) -> None:
    change = failed(ONE_DEST)
    call_command("change", "retry", str(change.pk))
    assert capsys.readouterr().out == f"change {Change.objects.latest('pk').pk} submitted\n"
    with pytest.raises(CommandError, match="tries the same already"):
        call_command("change", "retry", str(change.pk))
    with pytest.raises(CommandError, match="there is no change 999") as absent:
        call_command("change", "retry", "999")
    assert absent.value.returncode == 2


def test_a_retry_whose_names_mean_other_elements_says_so_and_asks(client_of: ClientOf, flights: Table) -> None:
    change, sam = failed(ONE_DEST), client_of("sam")
    url, plan = f"/changes/{change.pk}/retry/", change.plan
    Change.objects.filter(pk=change.pk).update(table_id=flights.pk + 90, plan=plan | {"table_id": flights.pk + 90})
    said = f"table flights is no longer the one that change {change.pk} named."
    for answer, status in ((sam.get(url), 200), (sam.post(url), 409)):
        body = flat(answer.content.decode())
        assert (answer.status_code, said in body) == (status, True)
        assert 'name="names" value="now"' in body
    with pytest.raises(
        CommandError, match=rf"flights.* are no longer what change .* named; .*retry {change.pk} --names-n"
    ):
        call_command("change", "retry", str(change.pk))
    assert Change.objects.count() == 1
    assert sam.post(url, {"names": "now"}).status_code == 302
    Change.objects.latest("pk").delete()
    call_command("change", "retry", str(change.pk), "--names-now")
    assert Change.objects.latest("pk").table_id == flights.pk


# --- throttle


@pytest.fixture
def filling(db: None, monkeypatch: pytest.MonkeyPatch) -> Change:
    """A change whose fill waits for its worker."""
    monkeypatch.setattr("spark_tasks.services.send_run", lambda run_id: None)
    plan = PLANS["add an index"]
    change = stored(plan, "running", Execution(1, plan, Mode.ASKING))
    start_run(change.pk, change.table_id, "fill", [{"kind": "index", "id": 1, "name": "by_age"}], 1)
    return change


def throttle_of(change: Change) -> tuple[float | None, str]:
    pulse = ReorgPulse.objects.get(run__change_id=change.pk)
    return pulse.rows_per_s_max, pulse.throttle_reason


def test_a_page_sets_a_throttle_and_ends_it(client_of: ClientOf, filling: Change) -> None:
    sam, url = client_of("sam"), f"/changes/{filling.pk}/throttle/"
    assert f'href="{url}"' in sam.get(f"/changes/{filling.pk}/").content.decode()
    form = flat(sam.get(url).content.decode())
    assert 'name="off"' not in form, "there is none to end"
    slider, field = re.findall(r'aria-valuetext="([\d,]+)"', form), re.findall(r'name="rows"[^>]* value="(\d+)"', form)
    assert (slider, field) == (["1,000,000"], ["1000000"]), "the slider and its field agree"
    assert "<span>rows/s</span>" in form
    assert "No limit is in force" in form
    assert sam.post(url, {"rows": "500", "why": "the shop is open"})["Location"] == f"/changes/{filling.pk}/"
    assert throttle_of(filling) == (500.0, "the shop is open")
    assert "sam limited change" in sam.get(f"/changes/{filling.pk}/").content.decode()
    form = sam.get(url).content.decode()
    assert "Now: 500 rows per second (the shop is open)." in form
    assert "This is the limit in force." in form
    assert 'value="500"' in form
    assert 'value="5" aria-valuetext="500"' in form, "the slider stands there, too"
    assert 'value="the shop is open"' in form
    assert sam.post(url, {"rows": "", "off": "1"}).status_code == 302
    assert throttle_of(filling) == (None, "")


@pytest.mark.parametrize(
    ("typed", "reason"),
    [
        ("0", "0 is not"),
        ("1000000001", "1000000001 is not"),
        ("", "&#x27;&#x27; is no whole number of rows per second"),
        ("-5", "&#x27;-5&#x27; is no whole number of rows per second"),
        ("9" * 5000, f"&#x27;{'9' * 20}&#x27; is no whole number of rows per second"),
    ],
)
def test_a_throttle_that_is_none_is_refused_with_409_and_the_reason(
    client_of: ClientOf, filling: Change, typed: str, reason: str
) -> None:
    answer = client_of("sam").post(f"/changes/{filling.pk}/throttle/", {"rows": typed})
    assert (answer.status_code, throttle_of(filling)) == (409, (None, ""))
    assert reason in answer.content.decode()


def test_a_page_moves_the_target(client_of: ClientOf, filling: Change) -> None:
    sam, url = client_of("sam"), f"/changes/{filling.pk}/throttle/"
    form = {"target": "1", "slower_ms": "60", "kept_percent": "70"}
    assert 'value="20"' in sam.get(url).content.decode()
    assert sam.post(url, form)["Location"] == f"/changes/{filling.pk}/"
    pulse = ReorgPulse.objects.get(run__change_id=filling.pk)
    assert (pulse.slower_ms_max, pulse.throughput_min, pulse.rows_per_s_max) == (60.0, 0.7, None)
    assert "sam moved the target of change" in sam.get(f"/changes/{filling.pk}/").content.decode()
    for wrong, reason in (("", "&#x27;&#x27; is no whole number of percents"), ("100", "100 is not among them")):
        answer = sam.post(url, form | {"kept_percent": wrong})
        assert (answer.status_code, reason in answer.content.decode()) == (409, True)


def test_what_does_not_write_or_is_not_theirs_has_no_throttle(
    client_of: ClientOf, filling: Change, settings: Any
) -> None:
    url = f"/changes/{filling.pk}/throttle/"
    assert client_of("lea").get(url).status_code == 403
    settings.SUBMITTERS_STEER = "own"
    Change.objects.filter(pk=filling.pk).update(who="ann")
    for answer in (client_of("sam").get(url), client_of("sam").post(url, {"rows": "5"})):
        assert answer.status_code == 409
        assert "only ann and operators may" in answer.content.decode()
    assert client_of("olga").get(url).status_code == 200
    ReorgRun.objects.filter(change_id=filling.pk).update(state="done")
    olga = client_of("olga")
    assert f'href="{url}"' not in olga.get(f"/changes/{filling.pk}/").content.decode()
    for answer in (olga.get(url), olga.post(url, {"rows": "5"})):
        assert answer.status_code == 409
        assert "none of its reorganisations writes" in answer.content.decode()
    assert olga.get("/changes/999/throttle/").status_code == 404


def test_a_throttle_is_asked_for_with_what_holds_by_then(client_of: ClientOf, filling: Change) -> None:
    sam, url = client_of("sam"), f"/changes/{filling.pk}/throttle/"
    asked = sam.get(url)
    assert asks_again(asked)
    assert re.findall(r'data-now="(\w+)"', asked.content.decode()) == ["limit", "off"]
    assert not asks_again(sam.post(url, {"rows": "0"})), "what was refused is read in peace"
    ReorgRun.objects.filter(change_id=filling.pk).update(state="done")
    assert not asks_again(sam.get(url))
