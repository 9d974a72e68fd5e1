"""At most one attempt works on a job, whoever closes it or claims it at the same moment."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from django.db import connection

from catalog import services
from catalog.services import OutOfTime, control_transaction
from schemalab.polling import wait_for
from spark_tasks.jobs.claim import Claim, require_open
from spark_tasks.jobs.lifecycle import WasClosed
from spark_tasks.jobs.phases import WORK
from spark_tasks.jobs.reorganisations import RUNS, SILENCES_MAX
from spark_tasks.models import Kind, ReorgRange, ReorgRun, RunState
from spark_tasks.reorganise import verify
from spark_tasks.services import close_run, pause_run
from tests.spark_tasks.runs import Runs, to_filling
from tests.storage.stage import Stage

LIMIT_S = 10.0
WAITING = """SELECT pid FROM pg_stat_activity
WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%spark_tasks_reorgrun%'"""


class Beside(threading.Thread):
    """Does something in a session of its own; `found` is what it returned."""

    found: Any = "nothing as yet"

    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__(daemon=True, name="beside")
        self.work = work

    def run(self) -> None:
        try:
            self.found = self.work()
        finally:
            connection.close()

    def begin_and_wait_for_the_row(self, stage: Stage) -> None:
        self.start()
        wait_for(lambda: bool(stage.sql(WAITING)), what="a session that waits for the run's row", seconds_max=LIMIT_S)

    def finish(self) -> None:
        self.join(LIMIT_S)
        assert not self.is_alive()


@contextmanager
def at_once(stage: Stage, beside: Beside) -> Iterator[None]:
    """`beside` begins while this session has locked the run's row, and is over before it asks outside of it."""

    def watch(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        if beside.ident is not None and not connection.in_atomic_block:
            beside.finish()
        answer = execute(sql, *rest)
        if beside.ident is None and sql.startswith('UPDATE "spark_tasks_reorgrun"'):
            beside.begin_and_wait_for_the_row(stage)
        return answer

    with connection.execute_wrapper(watch):
        yield
    beside.finish()


def test_a_close_that_waits_for_the_claim_shuts_it_out(stage: Stage, runs: Runs) -> None:
    to_filling(stage)
    run_id = runs.start("fill")
    with at_once(stage, Beside(lambda: close_run(run_id))):
        run = RUNS.claim(run_id)
    assert run is not None
    closed = runs.of(Kind.FILL)
    assert (closed.is_closed, closed.token) == (True, run.token + 1)
    assert closed.ended_at is not None, "nobody works on it any more"


def test_a_pause_that_meets_the_claim_shuts_it_out(stage: Stage, runs: Runs) -> None:
    """Near the start of a run one more chunk committed after the change was shown as paused (R11)."""
    to_filling(stage)
    run_id = runs.start("fill")
    with at_once(stage, Beside(lambda: pause_run(run_id))):
        run = RUNS.claim(run_id)
    assert run is not None
    paused = runs.of(Kind.FILL)
    assert (paused.state, paused.token) == (RunState.WAITING, run.token + 1)
    assert RUNS.claim(run_id) is None


def test_a_closed_run_is_open_to_nobody_whatever_their_token(stage: Stage, runs: Runs) -> None:
    to_filling(stage)
    close_run(runs.start("fill"))
    run = runs.of(Kind.FILL)
    with control_transaction(), pytest.raises(WasClosed):
        require_open(Claim(run, run.token))


def fall_silent(stage: Stage, run_id: int) -> None:
    earlier = "clock_timestamp() - interval '1 minute'"
    stage.sql(f"UPDATE spark_tasks_reorgpulse SET heartbeat_at = {earlier} WHERE run_id = %s", [run_id])


@pytest.mark.parametrize(
    "is_silent",
    [
        pytest.param(False, id="two messages of a run that waits"),
        pytest.param(True, id="two messages of a run whose worker has died"),
    ],
)
def test_two_workers_that_claim_a_run_at_once_become_one_attempt(stage: Stage, runs: Runs, is_silent: bool) -> None:
    to_filling(stage)
    run_id = runs.start("fill")
    if is_silent:
        assert RUNS.claim(run_id) is not None
        fall_silent(stage, run_id)
    other = Beside(lambda: RUNS.claim(run_id))
    with at_once(stage, other):
        run = RUNS.claim(run_id)
    assert run is not None
    assert other.found is None
    assert (runs.of(Kind.FILL).token, runs.of(Kind.FILL).state) == (run.token, RunState.RUNNING)


def test_a_verification_that_was_replaced_takes_no_range_from_its_successor(stage: Stage, runs: Runs) -> None:
    to_filling(stage)
    run_id = runs.start("verify")
    lost = RUNS.claim(run_id)
    assert lost is not None
    fall_silent(stage, run_id)
    successor = RUNS.claim(run_id)
    assert successor is not None
    assert verify.begin_anew(Claim(successor, successor.token)) != []
    ReorgRange.objects.filter(run_id=run_id).update(is_done=True, rows_done=1)
    with pytest.raises(WasClosed):
        verify.begin_anew(Claim(lost, lost.token))
    assert not ReorgRange.objects.filter(run_id=run_id, is_done=False).exists()


# --- a worker that is frozen while it holds the run's row


TIME_S = 0.3


@pytest.fixture
def short_of_time(monkeypatch: pytest.MonkeyPatch) -> None:
    limit = services.limit_transaction
    monkeypatch.setattr(services, "limit_transaction", lambda cursor, seconds=0.0: limit(cursor, TIME_S))


def frozen_once_it_has_the_row(work: Callable[[], object], has_row: threading.Event, thaw: threading.Event) -> bool:
    """True when the work is told that nothing of it was kept."""

    def freeze(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        answer = execute(sql, *rest)
        if not has_row.is_set() and ("FOR UPDATE" in sql or sql.startswith("UPDATE")):
            has_row.set()
            assert thaw.wait(LIMIT_S)
        return answer

    with connection.execute_wrapper(freeze), pytest.raises(OutOfTime):
        work()
    return True


STEPS: list[Any] = [
    pytest.param(None, id="while it claims"),
    pytest.param(lambda run: RUNS.end(run, RunState.DONE), id="while it ends the run"),
    pytest.param(lambda run: RUNS._fail(run, "an error"), id="while it notes a failure"),
]


@pytest.mark.parametrize("step", STEPS)
def test_a_worker_that_is_frozen_does_not_keep_the_runs_row(
    stage: Stage, runs: Runs, short_of_time: None, step: Callable[[ReorgRun], object] | None
) -> None:
    to_filling(stage)
    run_id = runs.start("fill")
    run = None if step is None else RUNS.claim(run_id)
    work = (lambda: RUNS.claim(run_id)) if step is None else (lambda: step(run))
    has_row, thaw = threading.Event(), threading.Event()
    frozen = Beside(lambda: frozen_once_it_has_the_row(work, has_row, thaw))
    frozen.start()
    try:
        assert has_row.wait(LIMIT_S)
        with psycopg.connect(stage.dsn) as other:
            other.execute("SET lock_timeout = '3s'")
            other.execute("SELECT 1 FROM spark_tasks_reorgrun WHERE id = %s FOR UPDATE", [run_id])
    finally:
        thaw.set()
    frozen.finish()
    assert frozen.found is True
    assert runs.of(Kind.FILL).state == ("waiting" if step is None else "running")


def test_a_run_whose_row_is_held_too_long_is_claimed_later(
    stage: Stage, runs: Runs, short_of_time: None, caplog: pytest.LogCaptureFixture
) -> None:
    to_filling(stage)
    run_id = runs.start("fill")
    with psycopg.connect(stage.dsn) as other, caplog.at_level(logging.WARNING):
        other.execute("SELECT 1 FROM spark_tasks_reorgrun WHERE id = %s FOR UPDATE", [run_id])
        worker = Beside(lambda: RUNS.run(run_id))
        worker.start()
        worker.finish()
    assert f"reorgrun {run_id}: a control transaction was not over within" in caplog.text
    assert runs.of(Kind.FILL).state == "waiting"
    RUNS.run(run_id)
    assert runs.of(Kind.FILL).state == "done"


def end_worker_of(stage: Stage, run_id: int) -> bool:
    """False when nobody takes the run any more."""
    claimed = RUNS.claim(run_id)
    fall_silent(stage, run_id)
    return claimed is not None


@pytest.mark.parametrize("kind", ["fill", "verify"])
def test_a_run_that_ends_its_workers_each_time_ends(stage: Stage, runs: Runs, kind: str) -> None:
    to_filling(stage)
    run_id = runs.start(kind)
    attempts = 0
    while end_worker_of(stage, run_id):
        attempts += 1
        assert attempts <= SILENCES_MAX
    run = ReorgRun.objects.get(id=run_id)
    assert (run.state, run.attempt) == ("failed", SILENCES_MAX)
    assert run.error == f"the workers of {SILENCES_MAX} attempts in a row fell silent, and none came further"
    assert run_id not in RUNS.dead()


def test_a_run_that_comes_further_may_lose_any_number_of_workers(stage: Stage, runs: Runs) -> None:
    to_filling(stage)
    runs.begin_fill()
    run_id = runs.start("fill")
    for attempt in range(2 * SILENCES_MAX):
        assert end_worker_of(stage, run_id), attempt
        ReorgRange.objects.filter(run_id=run_id).update(rows_done=attempt + 1)


def test_an_error_after_many_silences_is_the_first_error(
    stage: Stage, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    to_filling(stage)
    run_id = runs.start("verify")
    for _ in range(SILENCES_MAX - 1):
        assert end_worker_of(stage, run_id)
    monkeypatch.setitem(WORK, Kind.VERIFY, lambda _claim: 1 / 0)
    ReorgRun.objects.filter(id=run_id).update(state=RunState.WAITING)
    RUNS.run(run_id)
    run = ReorgRun.objects.get(id=run_id)
    assert (run.state, run.failures, run.silences) == ("waiting", 1, SILENCES_MAX - 2)
