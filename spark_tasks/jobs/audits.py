"""Audits as jobs: asked for by a page, done by one worker at a time, kept for both to read.

A second click, or a message that comes twice, finds the audit under way and does nothing. An error ends it at once:
somebody waits for it and can ask again.
"""

from django.conf import settings

from catalog.database import database_dsn
from spark_tasks.checks.audit import NothingToAudit, Report, audit_table
from spark_tasks.jobs.heartbeat import Heartbeat
from spark_tasks.jobs.lifecycle import Lifecycle, Values
from spark_tasks.models import AuditJob

BEAT = "UPDATE spark_tasks_auditjob SET heartbeat_at = clock_timestamp() WHERE id = %s AND attempt = %s"


def _heartbeat(job: AuditJob) -> Heartbeat:
    return Heartbeat(str(job), lambda opened: opened.execute(BEAT, (job.pk, job.attempt)), dsn=database_dsn())


def _audit(job: AuditJob) -> Values:
    return values_of(
        audit_table(database_dsn(), job.table_id, storages=settings.STORAGE_COUNT, buckets=settings.BUCKET_COUNT)
    )


def values_of(report: Report) -> Values:
    """The columns that keep a report."""
    names = ("versions", "rows", "pairs", "violations", "violations_total", "snapshot_s")
    return {name: getattr(report, name) for name in names}


AUDITS = Lifecycle(
    model=AuditJob,
    work=_audit,
    heartbeat=_heartbeat,
    refusals=(NothingToAudit,),
    errors_max=1,
    silence="the workers of {failures} attempts fell silent",
)
