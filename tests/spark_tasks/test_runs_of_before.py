"""Runs that were stored when clearing was a run of its own."""

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from spark_tasks.models import ReorgPulse, ReorgRange, ReorgRun

pytestmark = pytest.mark.django_db(transaction=True)
BEFORE = "0008_jobs_keep_their_attempts_alike"


def test_runs_that_cleared_or_were_only_prepared_are_removed_with_all_that_is_theirs() -> None:
    executor = MigrationExecutor(connection)
    then = executor.migrate([("spark_tasks", BEFORE)]).apps
    runs, pulses, ranges = (then.get_model("spark_tasks", name) for name in ("ReorgRun", "ReorgPulse", "ReorgRange"))
    try:
        for change, (kind, state) in enumerate([("clear", "done"), ("fill", "prepared"), ("fill", "done")], 1):
            run = runs.objects.create(change_id=change, table_id=1, kind=kind, state=state, elements=[], version=3)
            pulses.objects.create(run=run)
            ranges.objects.create(run=run, number=0, storage=1, low=b"", high=b"\xff", rows_total=1)
    finally:
        call_command("migrate", verbosity=0)
    assert list(ReorgRun.objects.values_list("kind", "state")) == [("fill", "done")]
    assert (ReorgPulse.objects.count(), ReorgRange.objects.count()) == (1, 1)
