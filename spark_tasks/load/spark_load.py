"""Bulk load: Spark reads the file, workers put its rows into the table in marked chunks, any time again.

A part of the file is cut into chunks of equal size, always the same ones, so a load that died goes on with the
chunks that have no mark. Each chunk is under a lease of its own, hence the table's schema may change meanwhile.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings

from catalog.database import database_dsn
from spark_tasks.load.chunk import Load, PartResult, load_batches, loader_of
from spark_tasks.load.file_rows import CannotLoad
from spark_tasks.models import LoadJob
from spark_tasks.spark import session

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

PART_BYTES_MAX = 4 << 20
PARTS_MIN = 4


def load_file(job: LoadJob) -> list[PartResult]:
    """The workers' results for its parts. Raises `CannotLoad` when the file cannot be read."""
    frame = read_file(Path(job.path))
    counts = {"storages": settings.STORAGE_COUNT, "buckets": settings.BUCKET_COUNT}
    load = Load(database_dsn(), job.id, job.table_id, **counts, lease_s=settings.LEASE_S)

    def load_part(batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        import pyarrow as pa
        from pyspark import TaskContext

        part = TaskContext.get().partitionId()
        with loader_of(load, part) as loader:
            result = json.dumps(asdict(load_batches(loader, part, batches)))
        yield pa.record_batch([pa.array([result], pa.string())], names=["result"])

    return [PartResult(**json.loads(row.result)) for row in frame.mapInArrow(load_part, "result string").collect()]


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
