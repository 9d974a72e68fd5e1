"""Loads as jobs. Silence counts as a failure: a file that kills its workers is not tried for ever."""

import time
from pathlib import Path
from typing import Any

from django.db import connection
from django.db.models import Sum
from django.db.models.functions import Greatest

from catalog.database import database_dsn
from spark_tasks.jobs.heartbeat import Connection, Heartbeat
from spark_tasks.jobs.lifecycle import Lifecycle, Refused, Values, append_event_of
from spark_tasks.load.file_rows import CannotLoad
from spark_tasks.load.loader_node import NotLeasable
from spark_tasks.load.spark_load import load_file
from spark_tasks.models import LoadJob, RunState
from spark_tasks.runs.throughput import Rate

MARKS = "SELECT coalesce(sum(rows), 0)::bigint FROM spark_tasks_loadmark WHERE job_id = %s"
BEAT = """
UPDATE spark_tasks_loadjob SET heartbeat_at = clock_timestamp(), rows_done = greatest(rows_done, %s), rows_per_s = %s
WHERE id = %s AND attempt = %s
"""


def start_anew(job: LoadJob) -> None:
    """Retries a failed load; its rows stay."""
    forgotten = {"error": "", "duplicates": [], "failures": 0, "silences": 0, "heartbeat_at": None, "ended_at": None}
    LoadJob.objects.filter(id=job.pk, state=RunState.FAILED).update(state=RunState.WAITING, **forgotten)


def _load(job: LoadJob) -> Values:
    refused = [part for part in load_file(job) if part.error]
    if refused:
        raise Refused(refused[0].error, duplicates=[words for part in refused for words in part.duplicates])
    return {"duplicates": []}


def _heartbeat(job: LoadJob) -> Heartbeat:
    rate = Rate()

    def beat(opened: Connection) -> None:
        row = opened.execute(MARKS, [job.pk]).fetchone()
        assert row is not None
        rate.hear(row[0], time.monotonic())
        opened.execute(BEAT, [row[0], rate.rows_per_s, job.pk, job.attempt])

    return Heartbeat(str(job), beat, dsn=database_dsn())


def _rows_done(job: LoadJob) -> int:
    return job.marks.aggregate(rows=Sum("rows"))["rows"] or 0


def _begin(job: LoadJob) -> None:
    """One line of the story for a load, not for each attempt."""
    if job.state == RunState.WAITING and not job.error:
        _append_event("load started", job)


def _announce_end(job: LoadJob) -> None:
    LoadJob.objects.filter(pk=job.pk).update(rows_done=Greatest("rows_done", _rows_done(job)))
    ended = LoadJob.objects.get(pk=job.pk)
    if ended.state == RunState.DONE:
        rate = ended.rows_done / ended.seconds if ended.seconds else 0
        shown = round(rate) if rate >= 10 else round(rate, 1)
        _append_event("load finished", job, rows=ended.rows_done, seconds=ended.seconds, per_s=shown)
    else:
        _append_event("load failed", job, rows=ended.rows_done, error=ended.error)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify('schemalab_load', %s)", [str(job.pk)])


def _append_event(kind: str, job: LoadJob, **about: Any) -> None:
    append_event_of(job, kind, {"file": Path(job.path).name, "load": job.pk} | about)


LOADS = Lifecycle(
    model=LoadJob,
    work=_load,
    heartbeat=_heartbeat,
    refusals=(CannotLoad, NotLeasable),
    given_up="given up after {failures} attempts in a row that loaded nothing: {error}",
    rows_done=_rows_done,
    begin=_begin,
    announce=_announce_end,
)


def job_json(job: LoadJob) -> dict[str, Any]:
    names = ("id", "state", "rows_done", "rows_per_s", "error", "duplicates", "attempt")
    return {name: getattr(job, name) for name in names}
