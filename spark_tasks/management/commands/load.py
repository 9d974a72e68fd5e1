"""`manage.py load FILE --table T`: CSV or Parquet. Exit 0: all rows are in; 1: refused, and why; 2: bad usage."""

import json
import sys
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, OutputWrapper

from catalog.selectors import live_tables, table_named
from catalog.text.numbers import counted
from spark_tasks.jobs import worker_state
from spark_tasks.jobs.loads import LOADS, job_json
from spark_tasks.models import LoadJob
from spark_tasks.services import send_load
from spark_tasks.spark import session

LOAD_S_MAX = 24 * 3600.0


class Command(BaseCommand):
    help = "Load the rows of a CSV or Parquet file into a table, through Spark. A load that was cut off goes on."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="a file of CSV, its first line names the columns, or of Parquet")
        parser.add_argument("--table", required=True, metavar="T", help="the table that the rows go into")
        parser.add_argument("--json", action="store_true", help="print the result as JSON")

    def handle(self, *args: Any, file: Path, table: str, json: bool, **options: Any) -> None:
        found = table_named(table)
        if found is None:
            known = ", ".join(t.name for t in live_tables()) or "none"
            raise CommandError(f"there is no table {table}; there are: {known}", returncode=2)
        if not file.exists():
            raise CommandError(f"there is no file {file}", returncode=2)
        path = str(file.resolve())
        unfinished = LoadJob.objects.filter(table_id=found.id, path=path, state__in=("waiting", "running")).first()
        job = unfinished or LoadJob.objects.create(table_id=found.id, path=path)
        self._run(job, quiet=json)
        self.stdout.write(_words(job, table, as_json=json))
        if job.state != "done":
            sys.exit(1)

    def _run(self, job: LoadJob, *, quiet: bool) -> None:
        """On the cluster's warm session when there is one, else here."""
        if not worker_state.is_listening():
            LOADS.run(job.id)
            session.stop()
            job.refresh_from_db()
            return
        progress = Progress(self.stderr, quiet=quiet)
        send_load(job.id)
        try:
            worker_state.wait_until_ended(
                job, resend=lambda: send_load(job.id), seen=progress.show, seconds_max=LOAD_S_MAX
            )
        except KeyboardInterrupt:
            message = (
                "not waited for any longer; the load goes on in the cluster, and the same command follows it again"
            )
            raise CommandError(message, returncode=130) from None


class Progress:
    def __init__(self, out: OutputWrapper, *, quiet: bool) -> None:
        self._out, self._quiet, self._shown_at = out, quiet, time.monotonic()

    def show(self, job: LoadJob) -> None:
        if job.rows_done and not self._quiet and time.monotonic() - self._shown_at >= 1.0:
            self._shown_at = time.monotonic()
            self._out.write(f"{job.rows_done:,} rows, {job.rows_per_s:,.0f} rows/s")


def _words(job: LoadJob, table: str, *, as_json: bool) -> str:
    if as_json:
        return json.dumps(job_json(job))
    if job.state == "done":
        rate = f", {job.rows_per_s:,.0f} rows/s" if job.rows_per_s >= 1 else ""
        return f"{counted(job.rows_done, 'row')} of {Path(job.path).name} loaded into {table}{rate}"
    return f"{Path(job.path).name} is not loaded into {table} ({counted(job.rows_done, 'row')} written): {job.error}"
