"""R7: whoever holds a run's row, frozen at whatever statement, keeps nobody from closing the run for long."""

import time

import psycopg
import pytest
from django.db import connection

from catalog.database import database_dsn
from spark_tasks.jobs import phases
from spark_tasks.jobs.lifecycle import WasClosed
from spark_tasks.jobs.phases import prepare_fill
from spark_tasks.models import Kind, ReorgRun
from spark_tasks.services import close_run
from tests.spark_tasks.runs import Runs, claim_run, entry_of, to_filling, tombstones
from tests.storage.stage import Stage, user


def test_a_worker_frozen_while_it_stores_ranges_is_ended(stage: Stage, runs: Runs) -> None:
    to_filling(stage)
    run_id = runs.start("fill")
    with psycopg.connect(database_dsn(), application_name="a worker that stores ranges") as frozen:
        frozen.execute("SELECT 1 FROM spark_tasks_reorgrun WHERE id = %s FOR UPDATE", (run_id,))
        began = time.monotonic()
        close_run(run_id)
        assert time.monotonic() - began < 5
        with pytest.raises(psycopg.OperationalError):
            frozen.execute("SELECT 1")
    assert ReorgRun.objects.get(id=run_id).is_closed


def test_sessions_that_do_not_hold_the_row_are_left_alone(stage: Stage, runs: Runs) -> None:
    to_filling(stage)
    run_id, other_id = runs.start("fill"), runs.start("purge")
    with psycopg.connect(database_dsn()) as bystander, psycopg.connect(database_dsn()) as holder:
        bystander.execute("SELECT 1 FROM spark_tasks_reorgrun WHERE id = %s FOR UPDATE", (other_id,))
        holder.execute("SELECT 1 FROM spark_tasks_reorgrun WHERE id = %s FOR SHARE", (run_id,))
        close_run(run_id)
        assert bystander.execute("SELECT 1").fetchone() == (1,)
        with pytest.raises(psycopg.OperationalError):
            holder.execute("SELECT 1")


def test_storing_ranges_has_an_end_of_its_own(stage: Stage, runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    to_filling(stage)
    seen: list[str] = []

    def look(cursor: object, *_: object) -> int:
        with connection.cursor() as asking:
            asking.execute("SHOW transaction_timeout")
            seen.append(asking.fetchone()[0])
        return 0

    monkeypatch.setattr(phases, "clear_tombstones", look)
    prepare_fill(ReorgRun.objects.get(id=runs.start("fill")))
    assert seen == ["1min"]


def test_a_closed_run_clears_nothing_and_stores_no_ranges(stage: Stage, runs: Runs) -> None:
    row = user(stage.now, 1, "ann")
    stage.insert([row])
    to_filling(stage)
    stage.delete([row])
    fill = claim_run(runs.start("fill"))
    assert fill is not None
    close_run(fill.run.id)
    with pytest.raises(WasClosed, match="was closed before its ranges were stored"):
        phases.WORK[Kind.FILL](fill)
    assert tombstones(stage) == {entry_of(stage, row)}
