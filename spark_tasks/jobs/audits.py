"""Audits as jobs, one at a time for a table. An error ends it, since a person waits and can ask again."""

from typing import Any

from django.conf import settings

from catalog.database import database_dsn
from spark_tasks.checks.audit import NothingToAudit, Report, audit_table
from spark_tasks.jobs.heartbeat import Heartbeat
from spark_tasks.jobs.lifecycle import Lifecycle, Values, append_event_of
from spark_tasks.models import AuditJob, RunState

BEAT = "UPDATE spark_tasks_auditjob SET heartbeat_at = clock_timestamp() WHERE id = %s AND attempt = %s"


def _heartbeat(job: AuditJob) -> Heartbeat:
    return Heartbeat(str(job), lambda opened: opened.execute(BEAT, (job.pk, job.attempt)), dsn=database_dsn())


def _audit(job: AuditJob) -> Values:
    return values_of(
        audit_table(database_dsn(), job.table_id, storages=settings.STORAGE_COUNT, buckets=settings.BUCKET_COUNT)
    )


def values_of(report: Report) -> Values:
    names = ("versions", "rows", "pairs", "violations", "violations_total", "snapshot_s")
    return {name: getattr(report, name) for name in names}


def _begin(job: AuditJob) -> None:
    """One line of the story for an audit, not for each attempt."""
    if job.state == RunState.WAITING:
        _append_event("audit started", job)


def _announce_end(job: AuditJob) -> None:
    ended = AuditJob.objects.get(pk=job.pk)
    if ended.state == RunState.FAILED:
        _append_event("audit failed", job, error=ended.error)
    elif ended.violations_total:
        _append_event("audit found violations", job, rows=ended.rows, violations=ended.violations_total)
    else:
        _append_event("audit finished", job, rows=ended.rows, seconds=ended.seconds)


def _append_event(kind: str, job: AuditJob, **about: Any) -> None:
    append_event_of(job, kind, {"audit": job.pk} | about)


AUDITS = Lifecycle(
    model=AuditJob,
    work=_audit,
    heartbeat=_heartbeat,
    refusals=(NothingToAudit,),
    errors_max=1,
    silence="the workers of {failures} attempts fell silent",
    begin=_begin,
    announce=_announce_end,
)
