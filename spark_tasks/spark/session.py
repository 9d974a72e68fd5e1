"""One warm SparkSession for the process: threads share it, FAIR scheduling divides it among changes. Spark distributes
key ranges to Python workers, which exchange pairs with PostgreSQL directly. Small jobs run in this process: an empty
Spark job costs more."""

import json
import logging
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings

from spark_tasks.runs.ranges import KeyRange, shares_of
from spark_tasks.spark import cluster
from spark_tasks.spark.java import find_java
from spark_tasks.spark.priority import lowered

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger(__name__)

JAVA_OPTIONS = (
    "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xss512k -Xms32m -XX:MaxNewSize=32m -XX:MinHeapFreeRatio=10"
    " -XX:MaxHeapFreeRatio=30"
)
"""The heap follows what is used, some 50 MB: by itself it would begin with a 64th of the machine's memory."""
ROWS_IN_PROCESS_MAX = 10_000
PARTS_PER_CORE = 2
Work = Callable[[Iterable[KeyRange]], Iterator[Any]]

_lock = threading.Lock()
_session: "SparkSession | None" = None
_starts_since: float | None = None


def spark() -> "SparkSession":
    """The process's session, started on demand, and again after its JVM has died."""
    global _session, _starts_since
    with _lock:
        if _session is None or not _is_alive(_session):
            _starts_since = time.monotonic()
            try:
                _session = _start()
            finally:
                _starts_since = None
        return _session


def _start() -> "SparkSession":
    os.environ["JAVA_HOME"] = str(find_java().home)
    root = Path(__file__).resolve().parents[2]
    scratch = Path(settings.HOME) / "spark"
    scratch.mkdir(parents=True, exist_ok=True)
    on_cluster = cluster.is_cluster(settings.SPARK_MASTER)
    if on_cluster:
        cluster.require_master(settings.SPARK_MASTER)
        os.environ["PYSPARK_SUBMIT_ARGS"] = cluster.submit_arguments(scratch, settings.SPARK_SECRET)
    else:
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(root), os.environ.get("PYTHONPATH", "")]))
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    from py4j.protocol import Py4JError
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(settings.SPARK_MASTER).appName("schemalab")
    for name, value in _configuration(scratch).items():
        builder = builder.config(name, value)
    logging.getLogger("py4j").setLevel(logging.WARNING)
    try:
        session = builder.getOrCreate()
    except Py4JError as error:
        if on_cluster:
            raise cluster.refused(settings.SPARK_MASTER) from error
        raise
    session.sparkContext.setLogLevel("ERROR")
    if on_cluster:
        session.sparkContext.addPyFile(str(cluster.code_archive(root, scratch)))
    log.info("spark session started on %s", settings.SPARK_MASTER)
    return session


def _configuration(scratch: Path) -> dict[str, str]:
    """Small and quick to start, since the JVM only distributes work."""
    return {
        "spark.scheduler.mode": "FAIR",
        "spark.driver.memory": "600m",
        "spark.driver.extraJavaOptions": f"{JAVA_OPTIONS} -Djava.io.tmpdir={scratch}",
        **_place(),
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "4",
        "spark.task.maxFailures": "1",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "5000",
        "spark.python.worker.faulthandler.enabled": "false",
    }


def _place() -> dict[str, str]:
    """Its address and secret: nobody else may give it work."""
    if not cluster.is_cluster(settings.SPARK_MASTER):
        here = cluster.LOCAL_ADDRESS
        return {"spark.driver.host": here, "spark.driver.bindAddress": here, "spark.authenticate": "true"}
    return cluster.configuration(
        address=cluster.own_address(settings.SPARK_MASTER),
        python=settings.SPARK_PYTHON or sys.executable,
        executor_mb=settings.SPARK_EXECUTOR_MB,
        secret=settings.SPARK_SECRET,
    )


def _is_alive(session: "SparkSession | None") -> bool:
    from py4j.protocol import Py4JError

    if session is None:
        return False
    try:
        return not session.sparkContext._jsc.sc().isStopped()
    except (Py4JError, OSError) as error:
        log.warning("spark session lost: %s", error)
        _forget_dead(type(session.sparkContext))
        return False


def ask_jvm() -> None:
    """Returns once the JVM has answered, or at once without one."""
    from py4j.protocol import Py4JError

    asked = _session
    if asked is not None:
        with suppress(Py4JError, OSError, AttributeError):  # it has died, or is being stopped
            asked.sparkContext._jsc.sc().isStopped()


def starts_for_s() -> float:
    since = _starts_since
    return 0.0 if since is None else time.monotonic() - since


def _forget_dead(context: Any) -> None:
    """Forgets a context whose JVM is dead, which PySpark would still ask."""
    from pyspark.sql import SparkSession

    gateway = context._gateway
    context._active_spark_context = context._gateway = context._jvm = None
    SparkSession._instantiatedSession = None
    SparkSession._activeSession = None
    if gateway is not None:
        gateway.close()


def stop() -> None:
    global _session
    with _lock:
        if _session is not None and _is_alive(_session):
            _session.stop()
        _session = None


def warm_up() -> None:
    """Starts the session and one Python worker, so that the first change need not wait."""
    session, parts = spark(), parallelism()
    session.sparkContext.parallelize(range(parts), parts).mapPartitions(_nothing).collect()


def _nothing(numbers: Iterable[int]) -> Iterator[int]:
    import_module("spark_tasks.reorganise.backfill")  # loaded once, it is there for the next job
    yield from numbers


def workers_expected() -> int:
    """Concurrent tasks, known without a session: local[N] says so; for a cluster a guess."""
    local = re.fullmatch(r"local\[(\d+)\]", settings.SPARK_MASTER)
    return int(local[1]) if local else os.cpu_count() or 1


def parallelism() -> int:
    return int(spark().sparkContext.defaultParallelism)


def spread(work: Work, key_ranges: Sequence[KeyRange], *, pool: str) -> list[Any]:
    """Results of `work` (picklable, returns JSON) for all ranges, unordered. Workers of a closed run just stop."""
    from spark_tasks.chunks.chunk import until_closed  # Arrow, for those who do the work

    if sum(key_range.rows for key_range in key_ranges) < ROWS_IN_PROCESS_MAX:
        return list(until_closed(work, key_ranges))
    session = spark()
    session.sparkContext.setLocalProperty("spark.scheduler.pool", pool)
    shares = shares_of(len(key_ranges), PARTS_PER_CORE * parallelism())
    mine = [[key_ranges[number] for number in share] for share in shares]

    def work_on_shares(numbers: Iterable[int]) -> Iterator[str]:
        def results() -> Iterator[str]:
            for number in numbers:
                yield from (json.dumps(result) for result in until_closed(work, mine[number]))

        return lowered(results)

    jobs = session.sparkContext.parallelize(range(len(mine)), len(mine))
    return [json.loads(result) for result in jobs.mapPartitions(work_on_shares).collect()]
