"""The rate that is told is the one of now, and progress never goes backwards (R11)."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from changes.pages.change_page import progress
from changes.selectors import run_json, runs_of
from spark_tasks.jobs.claim import Claim
from spark_tasks.jobs.reorganisations import run_heartbeat
from spark_tasks.models import Kind, ReorgPulse, ReorgRange, ReorgRun
from spark_tasks.runs.throughput import Rate, eta_s
from spark_tasks.services import run_status
from tests.spark_tasks.runs import INDEX, claim_run
from tests.storage.stage import Stage


def heard(*told: tuple[float, int], rows_per_s_max: float | None = None) -> Rate:
    rate = Rate(rows_per_s_max=rows_per_s_max)
    for now, done in told:
        rate.hear(done, now)
    return rate


@pytest.mark.parametrize(
    ("told", "rows_per_s"),
    [
        pytest.param([(0, 0)], 0, id="nothing is known at first"),
        pytest.param([(0, 0), (5, 0)], 0, id="nor while nothing comes"),
        pytest.param([(0, 0), (2, 100)], 0, id="nor of the first rows: Spark began with them"),
        pytest.param([(0, 0), (9, 10), (10, 110)], 100, id="then without the start of Spark"),
        pytest.param([(0, 900_000), (1, 900_010), (2, 900_020)], 10, id="rows of earlier attempts are not ours"),
        pytest.param([(t, 1000 * min(t, 20) + 10 * max(0, t - 20)) for t in range(60)], 10, id="the rate of late"),
        pytest.param([(0, 0), (1, 10), (2, 20), (500, 20)], 10, id="frozen while nothing comes"),
        pytest.param([(0, 0), (1, 10), (1.25, 1000)], 0, id="two looks at once are no rate"),
        pytest.param([(0, 0), (1, 10), (1.25, 1000), (2, 1010)], 1000, id="chunks that end together are evened out"),
        pytest.param([(0, 0), (1, 500), (2, 0), (4, 20), (6, 40)], 10, id="a new pass begins"),
    ],
)
def test_the_rate_is_the_one_of_late(told: list[tuple[float, int]], rows_per_s: float) -> None:
    assert heard(*told).rows_per_s == pytest.approx(rows_per_s)


@pytest.mark.parametrize(
    ("rate", "now", "is_stalled"),
    [
        pytest.param(heard((0, 0)), 100, False, id="not before the first rows"),
        pytest.param(heard((0, 0), (1, 10), (2, 20)), 11, False, id="for ten seconds it is a pause"),
        pytest.param(heard((0, 0), (1, 10), (2, 20)), 12.5, True, id="then it is a stall"),
        pytest.param(heard((0, 0), (8, 10), (16, 20)), 30, False, id="rows that come seldom"),
        pytest.param(heard((0, 0), (1, 10), (2, 110), rows_per_s_max=1), 200, False, id="the throttle asks for it"),
    ],
)
def test_a_stall_is_distinguished_from_slow_rows(rate: Rate, now: float, is_stalled: bool) -> None:
    assert rate.is_stalled(now) is is_stalled


def test_time_left_is_known_as_soon_as_rows_come() -> None:
    assert eta_s(left=100, rows_per_s=0) is None
    assert eta_s(left=100, rows_per_s=heard((0, 0), (0.5, 10), (1, 20)).rows_per_s) == 5


# --- as it is kept


@pytest.fixture
def claim(stage: Stage) -> Iterator[Claim]:
    """The second attempt of a fill: 900 of about 1000 rows were done by the first, in three of four ranges."""
    run = ReorgRun.objects.create(
        change_id=stage.table_id, table_id=stage.table_id, kind=Kind.FILL, elements=[INDEX], version=1, attempt=1
    )
    ReorgPulse.objects.create(run=run, rows_done=900, rows_total=1000, share=0.9)
    for number, (done, total) in enumerate([(300, 300)] * 3 + [(0, 100)]):
        key = bytes([number])
        ReorgRange.objects.create(
            run=run,
            number=number,
            storage=1,
            low=key,
            high=key,
            rows_total=total,
            rows_done=done,
            is_done=done == total,
        )
    claimed = claim_run(run.pk)
    assert claimed is not None
    yield claimed
    run.delete()


def test_a_new_attempt_does_not_boast_of_the_rows_of_the_old_one(claim: Claim) -> None:
    with run_heartbeat(claim.run):
        pass
    status = run_status(claim.run.pk)
    assert (status.rows_done, status.rows_per_s, status.eta_s) == (900, 0, None)


def test_an_attempt_that_was_replaced_does_not_beat_for_its_successor(claim: Claim) -> None:
    before = ReorgPulse.objects.get(run=claim.run).heartbeat_at
    ReorgRun.objects.filter(pk=claim.run.pk).update(token=claim.token + 1)
    with run_heartbeat(claim.run):
        pass
    assert ReorgPulse.objects.get(run=claim.run).heartbeat_at == before


def test_a_heartbeat_goes_over_the_ranges_once(claim: Claim, monkeypatch: pytest.MonkeyPatch) -> None:
    """It comes four times a second, and a large table has thousands of them."""
    asked: list[str] = []
    execute = psycopg.Connection.execute

    def noted(connection: psycopg.Connection, query: str, *rest: Any, **more: Any) -> Any:
        asked.append(query)
        return execute(connection, query, *rest, **more)

    monkeypatch.setattr(psycopg.Connection, "execute", noted)
    with run_heartbeat(claim.run):
        pass
    beats = sum("SET heartbeat_at" in query for query in asked)
    assert beats >= 1
    assert sum(query.count("FROM spark_tasks_reorgrange") for query in asked) == beats


def test_progress_stands_while_more_rows_are_found(claim: Claim) -> None:
    assert run_status(claim.run.pk).is_exact is False, "the last range was not read yet"
    ReorgRange.objects.filter(run=claim.run, number=3).update(rows_total=900, rows_done=100)
    with run_heartbeat(claim.run):
        pass
    status = run_status(claim.run.pk)
    assert (status.rows_done, status.rows_total, status.is_exact, status.share) == (1000, 1800, True, 0.9)
    [shown] = [run_json(run) for run in runs_of(claim.run.change_id)]
    page = progress({"step": {"kind": "fill", "version": 1, "is_reorganisation": True}, "runs": [shown]})
    assert page is not None
    assert (page["done"], page["total"], page["percent"], page["permille"]) == (1000, 1800, 90, 900)


def test_a_run_whose_ranges_are_still_looked_for_has_done_nothing(claim: Claim) -> None:
    """In SQL the least of 1 and of what nobody knows is 1, and what is shown never goes back."""
    ReorgRange.objects.filter(run=claim.run).delete()
    ReorgPulse.objects.filter(run=claim.run).update(share=0)
    with run_heartbeat(claim.run):
        pass
    assert run_status(claim.run.pk).share == 0
