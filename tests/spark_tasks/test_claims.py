"""At most one attempt works on a job, whoever closes it or claims it at the same moment."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection

from catalog.services import control_transaction
from schemalab.polling import wait_for
from spark_tasks.jobs.claim import Claim, require_open
from spark_tasks.jobs.lifecycle import WasClosed
from spark_tasks.jobs.reorganisations import RUNS
from spark_tasks.models import Kind
from spark_tasks.services import close_run
from tests.spark_tasks.runs import Runs, to_filling
from tests.spark_tasks.test_backfill import runs
from tests.storage.stage import Stage

__all__ = ["runs"]
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


def test_a_closed_run_is_open_to_nobody_whatever_their_token(stage: Stage, runs: Runs) -> None:
    to_filling(stage)
    close_run(runs.start("fill"))
    run = runs.of(Kind.FILL)
    with control_transaction(), pytest.raises(WasClosed):
        require_open(Claim(run, run.token))
