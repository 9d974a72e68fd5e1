"""Loads as jobs: asked for by a command, done by one worker at a time, kept for both to read.

    waiting --claim--> running --every chunk has its mark--> done
       ^                 |  heartbeat stale: another attempt, the older one's end counts no more
       |                 +--refused: which row, column or key, and why--> failed
       +--anything else--+  the third time in a row with no row loaded in between--> failed

Any attempt goes on after the marks of those before it. The message to the worker is only a hint: a lost one is sent
again by the timetable. A worker that fell silent has failed, too: a file that kills its workers ends some time.
"""

import logging
import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from celery import current_app
from django.db import connection, transaction
from django.db.models import Q, Sum
from django.db.models.functions import Coalesce, Now
from kombu.exceptions import OperationalError as BrokerError

from catalog.text.mistakes import in_words
from spark_tasks.jobs.heartbeat import Beat, Connection, Heart
from spark_tasks.jobs.lifecycle import FAILURES_MAX, STALE_S
from spark_tasks.load.chunk import Said
from spark_tasks.load.file_rows import CannotLoad
from spark_tasks.load.loader_node import NotLeasable
from spark_tasks.load.spark_load import load_file
from spark_tasks.models import LoadJob, RunState
from spark_tasks.runs.throughput import Rate

log = logging.getLogger(__name__)

MESSAGE_S = 10.0
"""A message that waited longer for a worker is worth nothing: the next one is on its way."""
SILENCE = "the worker fell silent"


def run_load(job_id: int) -> None:
    """Do what is left of a load, unless another attempt is alive."""
    job = claim_load(job_id)
    if job is None:
        return
    try:
        with Heart(str(job), _beat(job)):
            said = load_file(job)
    except (CannotLoad, NotLeasable) as refusal:
        _end(job, [Said(error=str(refusal))])
    except Exception as error:
        log.exception("%s failed in attempt %s", job, job.attempt)
        _let_another_try(job, in_words(error))
    else:
        _end(job, said)


def claim_load(job_id: int) -> LoadJob | None:
    """Become the attempt that does the job. None while another one is alive, and when it has ended."""
    with transaction.atomic():
        job = LoadJob.objects.select_for_update().filter(Q(state=RunState.WAITING) | _is_silent(), id=job_id).first()
        if job is None or (job.state == RunState.RUNNING and _has_failed_for_good(job, SILENCE)):
            return None
        job.state, job.attempt = RunState.RUNNING, job.attempt + 1
        job.heartbeat_at, job.started_at = Now(), job.started_at or Now()
        job.save()
    return LoadJob.objects.get(id=job_id)


def _is_silent() -> Q:
    return Q(state=RunState.RUNNING, heartbeat_at__lt=Now() - timedelta(seconds=STALE_S))


def dead_loads() -> list[int]:
    """Loads that should be worked on, and nobody does."""
    heard_at = Coalesce("heartbeat_at", "created_at")
    open_jobs = LoadJob.objects.filter(state__in=(RunState.WAITING, RunState.RUNNING)).alias(heard_at=heard_at)
    return list(open_jobs.filter(heard_at__lt=Now() - timedelta(seconds=STALE_S)).values_list("id", flat=True))


def send_load(job_id: int) -> None:
    """Sending again is harmless: a job that is alive, or has ended, is not claimed."""
    try:
        current_app.signature("spark_tasks.tasks.load").apply_async((job_id,), retry=False, expires=MESSAGE_S)
    except (BrokerError, OSError) as error:
        log.warning("load %s not sent, the timetable will: %s", job_id, error)


def start_anew(job: LoadJob) -> None:
    """A load that failed is tried again, with what its failure told forgotten; rows that are in stay there."""
    told = {"error": "", "duplicates": [], "failures": 0, "heartbeat_at": None, "ended_at": None}
    LoadJob.objects.filter(id=job.pk, state=RunState.FAILED).update(state=RunState.WAITING, **told)


MARKS = "SELECT coalesce(sum(rows), 0)::bigint FROM spark_tasks_loadmark WHERE job_id = %s"

BEAT = """
UPDATE spark_tasks_loadjob SET heartbeat_at = clock_timestamp(), rows_done = greatest(rows_done, %s), rows_per_s = %s
WHERE id = %s AND attempt = %s
"""


def _beat(job: LoadJob) -> Beat:
    rate = Rate()

    def beat(opened: Connection) -> None:
        row = opened.execute(MARKS, [job.pk]).fetchone()
        assert row is not None
        rate.hear(row[0], time.monotonic())
        opened.execute(BEAT, [row[0], rate.rows_per_s, job.pk, job.attempt])

    return beat


def _let_another_try(job: LoadJob, error: str) -> None:
    """The timetable sends it again after a while; the error is kept until then."""
    with transaction.atomic():
        mine = LoadJob.objects.select_for_update().filter(id=job.pk, attempt=job.attempt, state=RunState.RUNNING)
        locked = mine.first()
        if locked is not None and not _has_failed_for_good(locked, error):
            mine.update(state=RunState.WAITING, error=error)


def _has_failed_for_good(job: LoadJob, error: str) -> bool:
    """Count a failure of the job, whose row is locked."""
    done = job.marks.aggregate(rows=Sum("rows"))["rows"] or 0
    job.failures = 1 if done > job.rows_done_at_failure else job.failures + 1
    job.rows_done_at_failure, job.error = done, error
    job.save()
    if job.failures < FAILURES_MAX:
        return False
    words = f"given up after {job.failures} attempts in a row that loaded nothing: {error}"
    LoadJob.objects.filter(id=job.pk).update(state=RunState.FAILED, error=words, ended_at=Now())
    _tell(job.pk)
    return True


def _end(job: LoadJob, said: Sequence[Said]) -> None:
    """Compare-and-set: only the newest attempt may end the job."""
    refused = [one for one in said if one.error]
    with transaction.atomic():
        LoadJob.objects.filter(id=job.pk, attempt=job.attempt, state=RunState.RUNNING).update(
            state=RunState.FAILED if refused else RunState.DONE,
            ended_at=Now(),
            error=refused[0].error if refused else "",
            duplicates=[words for one in refused for words in one.duplicates],
        )
        _tell(job.pk)


def _tell(job_id: int) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify('schemalab_load', %s)", [str(job_id)])


def job_json(job: LoadJob) -> dict[str, Any]:
    """A job for people and scripts."""
    names = ("id", "state", "rows_done", "rows_per_s", "error", "duplicates", "attempt")
    return {name: getattr(job, name) for name in names}
