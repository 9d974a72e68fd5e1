"""Bulk load: workers of Spark read the file and put its rows into the table in marked chunks; of n workers each takes
every n-th. A dead load continues with unmarked chunks. Each chunk has its own lease, so the schema may change. A table
that refers to itself is loaded by one worker, in order."""

import json
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

from django.conf import settings

from catalog.database import database_dsn
from catalog.selectors import newest_descriptor
from spark_tasks.load.chunk import Load, PartResult, load_chunks, loader_of
from spark_tasks.load.file_batches import CHUNK_ROWS, batches_of, chunks_of, refuse_unclosed, refuse_unknown
from spark_tasks.load.file_identity import FileIdentity, identity_of, require_same, untouched
from spark_tasks.load.leased_versions import enforced_foreign_keys
from spark_tasks.models import LoadJob
from spark_tasks.spark import session


def load_file(job: LoadJob) -> list[PartResult]:
    """The workers' results. Raises `CannotLoad`."""
    path = Path(job.path)
    refuse_unknown(path)
    found = _identified(job, path)
    refuse_unclosed(path)
    with closing(batches_of(path)) as batches:
        beginning = next(batches, None)
    if beginning is None:
        return []
    counts = {"storages": settings.STORAGE_COUNT, "buckets": settings.BUCKET_COUNT}
    load = Load(database_dsn(), job.id, job.table_id, **counts, lease_s=settings.LEASE_S)
    is_small = beginning.num_rows < CHUNK_ROWS
    parts = 1 if is_small or _refers_to_itself(job.table_id) else session.parallelism()

    def load_parts(numbers: Iterable[int]) -> Iterator[str]:
        for part in numbers:
            with loader_of(load, part) as loader:
                yield json.dumps(asdict(load_chunks(loader, untouched(path, found, chunks_of(path, part, parts)))))

    context = session.spark().sparkContext
    context.setLocalProperty("spark.scheduler.pool", f"load-{job.id}")
    results = context.parallelize(range(parts), parts).mapPartitions(load_parts).collect()
    return [PartResult(**json.loads(result)) for result in results]


def _identified(job: LoadJob, path: Path) -> FileIdentity:
    """The file as this attempt finds it. Raises `CannotLoad` for another one than the first attempt's."""
    found = identity_of(path)
    if job.file:
        require_same(path, FileIdentity(**job.file), found)
    else:
        LoadJob.objects.filter(pk=job.pk, attempt=job.attempt).update(file=found.as_json())
    return found


def _refers_to_itself(table_id: int) -> bool:
    newest = newest_descriptor(table_id)
    return newest is not None and any(one.references == table_id for one in enforced_foreign_keys(newest))
