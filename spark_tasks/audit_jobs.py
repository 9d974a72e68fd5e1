"""Audits as jobs: asked for by a page, done by a worker, kept for both to read."""

from django.conf import settings
from django.db.models.functions import Now

from spark_tasks.audit import NothingToAudit, audit_table
from spark_tasks.database import database_dsn
from spark_tasks.models import AuditJob, RunState


def run_audit(job_id: int) -> None:
    """Audit the job's table; a job that has ended is left alone. Doing it twice finds the same."""
    job = AuditJob.objects.get(id=job_id)
    if job.state in (RunState.DONE, RunState.FAILED):
        return
    AuditJob.objects.filter(id=job_id).update(state=RunState.RUNNING)
    counts = {"storages": settings.STORAGE_COUNT, "buckets": settings.BUCKET_COUNT}
    try:
        report = audit_table(database_dsn(), job.table_id, **counts)
    except NothingToAudit as nothing:
        AuditJob.objects.filter(id=job_id).update(state=RunState.FAILED, error=str(nothing), ended_at=Now())
        return
    AuditJob.objects.filter(id=job_id).update(
        state=RunState.DONE,
        versions=report.versions,
        rows=report.rows,
        pairs=report.pairs,
        violations=report.violations,
        snapshot_s=report.snapshot_s,
        ended_at=Now(),
    )
