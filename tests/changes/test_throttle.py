"""A throttle is set, changed and ended while a reorganisation runs, and everybody sees by whom and why (R11)."""

import io
import json
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.test.utils import CaptureQueriesContext

from catalog.selectors import events_since
from catalog.story import change_stream
from changes import selectors, services
from changes.driver import driver
from changes.models import Change, Status
from spark_tasks.chunks import chunk
from spark_tasks.models import ReorgPulse, ReorgRun
from spark_tasks.reorganise import backfill
from spark_tasks.runs.pacing import Pace
from spark_tasks.services import close_run, start_run
from tests.changes.driver.test_reorganisations import people

__all__ = ["people"]
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.filterwarnings("ignore::celery.exceptions.AlwaysEagerIgnored"),
]
INDEX = {"kind": "index", "id": 1, "name": "by_age"}


def told(change: Change) -> list[str]:
    events = events_since(change_stream(change.pk), 0, 100)
    return [event["sentence"] for event in events if event["kind"].endswith("throttled")]


def test_a_fill_is_slowed_down_and_let_go_while_it_runs(people: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A writer hears of it as it commits a chunk: the one after that is sized and timed so."""
    change = services.submit("CREATE INDEX by_age ON users (age)", who="ann")
    wait_s, chunks, shown = chunk.wait_s, [], []

    def wait(*, rows: int, seconds: float, rows_per_s_max: float | None) -> float:
        if rows:
            chunks.append((rows, wait_s(rows=rows, seconds=0.0, rows_per_s_max=rows_per_s_max)))
        if len(chunks) == 1 and not told(change):
            services.throttle(change.pk, 10, who="bob", why="the shop is open")
        elif len(chunks) == 3 and len(told(change)) == 1:
            pulse = ReorgPulse.objects.get(run__change_id=change.pk)
            shown.append((pulse.rows_per_s_max, pulse.throttle_reason))
            services.throttle(change.pk, None, who="ann")
        return 0.0

    monkeypatch.setattr(chunk, "wait_s", wait)
    for limit in ("PAIRS_MIN", "PAIRS_MAX"):
        monkeypatch.setattr(f"spark_tasks.runs.pacing.{limit}", 10)
    monkeypatch.setattr(backfill, "Pace", lambda: Pace(10))
    assert driver.drive(change.pk, holder="w") == Status.DONE
    assert chunks[0] == (10, 0.0)
    assert (5, 0.5) in chunks[1:3], "five rows at ten rows a second"
    assert chunks[4][0] > 5
    assert {waited for _, waited in chunks[4:]} == {0.0}
    assert shown == [(10.0, "the shop is open")]
    assert told(change) == [
        f"bob limited change {change.pk} to 10 rows a second: the shop is open.",
        f"ann ended the limit of change {change.pk}.",
    ]


@pytest.fixture
def filling(people: Any, monkeypatch: pytest.MonkeyPatch) -> Change:
    """A change whose fill waits for its worker."""
    monkeypatch.setattr("spark_tasks.services.send_run", lambda run_id: None)
    change = Change.objects.latest("pk")
    Change.objects.filter(pk=change.pk).update(status=Status.RUNNING)
    start_run(change.pk, change.table_id, "fill", [INDEX], 1)
    return change


def command(*words: str) -> str:
    out = io.StringIO()
    call_command("change", "throttle", *words, stdout=out)
    return out.getvalue()


def refused(*words: str) -> tuple[int, str]:
    with pytest.raises(CommandError) as caught:
        command(*words)
    return caught.value.returncode, str(caught.value)


def test_a_command_sets_and_ends_it(filling: Change) -> None:
    pulse = ReorgPulse.objects.get(run__change_id=filling.pk)
    assert command(str(filling.pk), "500") == f"change {filling.pk} has a limit of 500 rows per second\n"
    pulse.refresh_from_db()
    assert (pulse.rows_per_s_max, pulse.throttle_reason) == (500.0, "")
    [run] = json.loads(command(str(filling.pk), "40", "--why", "a sale", "--json"))["runs"]
    assert (run["throttle"], run["throttle_reason"]) == (40.0, "a sale")
    assert command(str(filling.pk), "off") == f"change {filling.pk} has no limit\n"
    pulse.refresh_from_db()
    assert (pulse.rows_per_s_max, pulse.throttle_reason) == (None, "")
    assert [sentence.partition(" ")[2] for sentence in told(filling)] == [
        f"limited change {filling.pk} to 500 rows a second.",
        f"limited change {filling.pk} to 40 rows a second: a sale.",
        f"ended the limit of change {filling.pk}.",
    ]


def test_what_cannot_be_throttled_is_refused_with_the_reason(filling: Change) -> None:
    number = str(filling.pk)
    limits = "a throttle is 1 to 1,000,000,000 rows per second"
    assert refused(number, "0") == (1, f"{limits}: 0 is not")
    assert refused(number, "1000000001") == (1, f"{limits}: 1000000001 is not")
    for word in ("fast", "\u0663", "9" * 20):
        assert f"'{word}' is no whole number of rows per second, and not off" in refused(number, word)[1]
    close_run(ReorgRun.objects.get(change_id=filling.pk).pk)
    writes = f"change {number} can't be throttled now: none of its reorganisations writes"
    assert refused(number, "5") == (1, writes)
    start_run(filling.pk, filling.table_id, "verify", [INDEX], 1)
    assert refused(number, "5") == (1, writes), "a verification only reads"
    Change.objects.filter(pk=filling.pk).update(status=Status.DONE)
    assert refused(number, "5") == (1, f"change {number} has ended: done")
    assert refused("999", "5") == (2, "there is no change 999")
    assert told(filling) == []


def test_a_page_reads_the_reorganisations_once(filling: Change) -> None:
    with CaptureQueriesContext(connection) as asked:
        assert selectors.change_snapshot(filling.pk)["may_throttle"]
    assert len([one for one in asked if 'FROM "spark_tasks_reorgrun"' in one["sql"]]) == 1


def test_only_whose_it_is_and_operators_throttle_it_where_that_is_so(filling: Change) -> None:
    with pytest.raises(services.NotYours, match="only ann and operators may pause, resume, throttle or cancel it"):
        services.throttle(filling.pk, 5, who="sam", may_steer_all=False)
    services.throttle(filling.pk, 5, who="ann", may_steer_all=False)
    assert len(told(filling)) == 1


# --- the target


def target_of(change: Change) -> tuple[float, float]:
    pulse = ReorgPulse.objects.get(run__change_id=change.pk)
    return pulse.slower_ms_max, pulse.throughput_min


def test_a_target_is_moved_by_command_and_holds_for_what_is_left_of_the_change(filling: Change) -> None:
    out = io.StringIO()
    call_command("change", "target", str(filling.pk), "50", "60", stdout=out)
    assert out.getvalue() == f"change {filling.pk} lets others be at most 50 ms slower, at least 60 %\n"
    assert target_of(filling) == (50.0, 0.6)
    assert selectors.change_snapshot(filling.pk)["runs"][0]["target"] == {"slower_ms": 50.0, "throughput": 0.6}
    run = ReorgRun.objects.get(change_id=filling.pk)
    following = start_run(filling.pk, run.table_id, "verify", run.elements, run.version)
    pulse = ReorgPulse.objects.get(run_id=following)
    assert (pulse.slower_ms_max, pulse.throughput_min) == (50.0, 0.6)


@pytest.mark.parametrize(
    ("target", "why"),
    [
        pytest.param((-1, 50), "statements may take 0 to 60,000 milliseconds longer: -1 is not among them", id="ms"),
        pytest.param((20, 100), "0 to 99 % of the statements may be kept: 100 is not among them", id="percent"),
    ],
)
def test_a_target_that_is_none_is_refused(filling: Change, target: tuple[int, int], why: str) -> None:
    with pytest.raises(services.ChangeError, match=why):
        services.move_target(filling.pk, *target, who="ann")
    assert target_of(filling) == (20.0, 0.85)
