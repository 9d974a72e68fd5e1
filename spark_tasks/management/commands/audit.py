"""`manage.py audit TABLE`: the seven clauses over all data. Exit 0: consistent; 1: not; 2: bad usage; 3: unknown."""

import json
import sys
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from catalog.database import database_dsn
from catalog.models import Table
from catalog.selectors import live_tables, table_named
from spark_tasks.checks.audit import NothingToAudit, Report, audit_table, first_words
from spark_tasks.jobs import worker_state
from spark_tasks.models import AuditJob, RunState
from spark_tasks.services import request_audit, send_audit
from spark_tasks.spark import session

AUDIT_S_MAX = 24 * 3600.0


class Command(BaseCommand):
    help = "Judge all pairs of a table by the seven clauses, in one snapshot, beside all traffic."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("table", help="the table to judge")
        parser.add_argument("--json", action="store_true", help="print the report as JSON")

    def handle(self, *args: Any, table: str, **options: Any) -> None:
        found = table_named(table)
        if found is None:
            known = ", ".join(t.name for t in live_tables()) or "none"
            raise CommandError(f"there is no table {table}; there are: {known}", returncode=2)
        try:
            report = _on_the_worker(found) if worker_state.is_listening() else _here(found)
        except NothingToAudit as nothing:
            raise CommandError(str(nothing), returncode=2) from nothing
        as_json = asdict(report) | {"is_consistent": report.is_consistent}
        self.stdout.write(json.dumps(as_json) if options["json"] else first_words(report))
        if not report.is_consistent:
            sys.exit(1)


def _here(table: Table) -> Report:
    counts = {"storages": settings.STORAGE_COUNT, "buckets": settings.BUCKET_COUNT}
    try:
        return audit_table(database_dsn(), table.id, **counts)
    finally:
        session.stop()


def _on_the_worker(table: Table) -> Report:
    """On the cluster's warm session; the answer is kept for the table's page."""
    job = AuditJob.objects.get(id=request_audit(table.id))
    try:
        worker_state.wait_until_ended(
            job, resend=lambda: send_audit(job.id), seen=lambda _: None, seconds_max=AUDIT_S_MAX
        )
    except KeyboardInterrupt:
        message = f"not waited for any longer; the audit goes on, and the page of {table.name} will show its answer"
        raise CommandError(message, returncode=130) from None
    if job.state == RunState.FAILED:
        raise CommandError(f"the audit could not be finished: {job.error}", returncode=3)
    total = job.violations_total if job.violations_total is not None else len(job.violations)
    return Report(table.name, job.versions, job.rows, job.pairs, job.snapshot_s, job.violations, total)
