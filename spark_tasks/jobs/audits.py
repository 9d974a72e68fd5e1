"""Audits as jobs: asked for by a page, done by one worker at a time, kept for both to read.

    waiting --claim--> running --report--> done
                         |  heartbeat stale: another attempt, the older one's report counts no more
                         +--anything unexpected, or the last attempt fell silent--> failed, and why

A second click, or a message that comes twice, finds the audit under way and does nothing.
"""

import logging

from django.conf import settings
from django.db import connection
from django.db.models.functions import Now

from catalog.text.mistakes import in_words
from spark_tasks.checks.audit import NothingToAudit, Report, audit_table
from spark_tasks.chunks.dsn import database_dsn
from spark_tasks.jobs.heartbeat import Connection, Heart
from spark_tasks.jobs.lifecycle import STALE_S
from spark_tasks.models import AuditJob, RunState

log = logging.getLogger(__name__)

ATTEMPTS_MAX = 3
SILENT = "(state = 'running' AND heartbeat_at < clock_timestamp() - make_interval(secs => %(stale)s))"

CLAIM = f"""UPDATE spark_tasks_auditjob
SET state = 'running', attempt = attempt + 1, heartbeat_at = clock_timestamp()
WHERE id = %(job)s AND attempt < %(attempts)s AND (state = 'waiting' OR {SILENT}) RETURNING attempt"""

GIVE_UP = f"""UPDATE spark_tasks_auditjob SET state = 'failed', ended_at = clock_timestamp(),
error = 'the workers of ' || attempt || ' attempts fell silent' WHERE id = %(job)s AND {SILENT}"""

BEAT = "UPDATE spark_tasks_auditjob SET heartbeat_at = clock_timestamp() WHERE id = %s AND attempt = %s"

DEAD = f"""SELECT id FROM spark_tasks_auditjob
WHERE {SILENT} OR state = 'waiting' AND created_at < clock_timestamp() - make_interval(secs => %(stale)s)"""


def run_audit(job_id: int) -> None:
    """Audit the job's table, unless somebody is at it or it has ended."""
    attempt = claim_audit(job_id)
    if attempt is None:
        return
    job = AuditJob.objects.get(id=job_id)

    def beat(opened: Connection) -> None:
        opened.execute(BEAT, (job_id, attempt))

    try:
        with Heart(str(job), beat):
            report = audit_table(
                database_dsn(), job.table_id, storages=settings.STORAGE_COUNT, buckets=settings.BUCKET_COUNT
            )
    except NothingToAudit as nothing:
        _end(job_id, attempt, state=RunState.FAILED, error=str(nothing))
    except Exception as error:
        log.exception("%s failed in attempt %s", job, attempt)
        _end(job_id, attempt, state=RunState.FAILED, error=in_words(error))
    else:
        _report(job_id, attempt, report)


def claim_audit(job_id: int) -> int | None:
    """Become the attempt that does the job: its number. None while another one is alive, and when it has ended."""
    params = {"job": job_id, "stale": STALE_S, "attempts": ATTEMPTS_MAX}
    with connection.cursor() as cursor:
        cursor.execute(CLAIM, params)
        claimed = cursor.fetchone()
        if claimed is None:
            cursor.execute(GIVE_UP, params)
    return None if claimed is None else int(claimed[0])


def dead_audits() -> list[int]:
    """Audits that should be worked on, and nobody does."""
    with connection.cursor() as cursor:
        cursor.execute(DEAD, {"stale": STALE_S})
        return [job_id for (job_id,) in cursor.fetchall()]


def _report(job_id: int, attempt: int, report: Report) -> None:
    _end(
        job_id,
        attempt,
        state=RunState.DONE,
        versions=report.versions,
        rows=report.rows,
        pairs=report.pairs,
        violations=report.violations,
        violations_total=report.violations_total,
        snapshot_s=report.snapshot_s,
    )


def _end(job_id: int, attempt: int, **told: object) -> None:
    """Compare-and-set: only the newest attempt may end the job."""
    AuditJob.objects.filter(id=job_id, attempt=attempt, state=RunState.RUNNING).update(**told, ended_at=Now())
