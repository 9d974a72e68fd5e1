"""Bulk load: Spark reads the file, workers put its rows into the table in marked chunks, any time again.

A part of the file is cut into chunks of equal size, always the same ones, so a load that died goes on with the
chunks that have no mark. Each chunk is under a lease of its own, hence the table's schema may change meanwhile.
"""

import json
import logging
import threading
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
from django.conf import settings
from django.db import connection
from django.db.models.functions import Now

from spark_tasks import session
from spark_tasks.database import database_dsn
from spark_tasks.file_rows import CannotLoad
from spark_tasks.load_chunk import Load, Said, load_batches, loader_of
from spark_tasks.models import LoadJob, RunState
from spark_tasks.pseudo_node import NotLeasable

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

log = logging.getLogger(__name__)

STALE_S = 5.0
BEAT_S = 0.25
PART_BYTES_MAX = 4 << 20
PARTS_MIN = 4


def run_load(job_id: int) -> None:
    """Do what is left of a load, unless another attempt is alive."""
    if not _claim(job_id):
        return
    job = LoadJob.objects.get(id=job_id)
    try:
        with Progress(job_id):
            said = _spread(job)
    except (CannotLoad, NotLeasable) as refusal:
        said = [Said(error=str(refusal))]
    failures = [one for one in said if one.error]
    state = RunState.FAILED if failures else RunState.DONE
    LoadJob.objects.filter(id=job_id).update(
        state=state,
        ended_at=Now(),
        error=failures[0].error if failures else "",
        duplicates=[words for one in failures for words in one.duplicates],
    )
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify('schemalab_load', %s)", [str(job_id)])


def _claim(job_id: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE spark_tasks_loadjob SET state = 'running', attempt = attempt + 1, heartbeat_at = clock_timestamp(),"
            " started_at = coalesce(started_at, clock_timestamp()) WHERE id = %s AND (state = 'waiting' OR"
            " state = 'running' AND heartbeat_at < clock_timestamp() - make_interval(secs => %s))",
            [job_id, STALE_S],
        )
        return bool(cursor.rowcount)


def _spread(job: LoadJob) -> list[Said]:
    frame = read_file(Path(job.path))
    counts = {"storages": settings.STORAGE_COUNT, "buckets": settings.BUCKET_COUNT}
    load = Load(database_dsn(), job.id, job.table_id, **counts, lease_s=settings.LEASE_S)

    def load_part(batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        import pyarrow as pa
        from pyspark import TaskContext

        part = TaskContext.get().partitionId()
        with loader_of(load, part) as loader:
            said = json.dumps(asdict(load_batches(loader, part, batches)))
        yield pa.record_batch([pa.array([said], pa.string())], names=["said"])

    return [Said(**json.loads(row.said)) for row in frame.mapInArrow(load_part, "said string").collect()]


def read_file(path: Path) -> "DataFrame":
    """The file as Spark sees it: CSV as text, an empty field is NULL; Parquet as it is typed."""
    if not path.exists():
        raise CannotLoad(f"there is no file {path}")
    reader = session.spark().read
    session.spark().conf.set("spark.sql.files.maxPartitionBytes", str(PART_BYTES_MAX))
    session.spark().conf.set("spark.sql.files.minPartitionNum", str(PARTS_MIN))
    if path.suffix == ".parquet":
        return reader.parquet(str(path))
    if path.suffix != ".csv":
        raise CannotLoad(f"{path.name} is neither .csv nor .parquet")
    return reader.csv(str(path), header=True, inferSchema=False, multiLine=True, escape='"', enforceSchema=False)


class Progress:
    """Counts the marks four times a second while the block lasts, and once at its end."""

    def __init__(self, job_id: int) -> None:
        self._job_id = job_id
        self._dsn = database_dsn()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beat, name=f"progress of load {job_id}", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(timeout=STALE_S)

    def _beat(self) -> None:
        sql = (
            "UPDATE spark_tasks_loadjob job SET heartbeat_at = clock_timestamp(), rows_done = greatest(job.rows_done,"
            " marks.rows), rows_per_s = marks.rows / greatest(extract(epoch FROM clock_timestamp() - started_at), 0.25)"
            " FROM (SELECT coalesce(sum(rows), 0) AS rows FROM spark_tasks_loadmark WHERE job_id = %(job)s) marks"
            " WHERE job.id = %(job)s"
        )
        with psycopg.connect(self._dsn, autocommit=True, application_name="schemalab progress") as beats:
            is_last = False
            while not is_last:
                is_last = self._stop.wait(BEAT_S)
                beats.execute(sql, {"job": self._job_id})


def job_json(job: LoadJob) -> dict[str, Any]:
    """A job for people and scripts."""
    names = ("id", "state", "rows_done", "rows_per_s", "error", "duplicates", "attempt")
    return {name: getattr(job, name) for name in names}
