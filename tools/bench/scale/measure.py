"""One size: an index there and back on a cluster of its own, with all that it costs."""

import os
import platform
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from statistics import median

import psutil
import psycopg

from tests.harness.cluster import RunningCluster, running_cluster
from tools.bench.end_to_end import Timing, processes_of, run
from tools.bench.fill import wait_until_warm
from tools.bench.rows import make_table
from tools.bench.scale.points import Point

TABLE = "bench_scale"
CREATE, DROP = f"CREATE INDEX bench_scaled ON {TABLE} (name)", "DROP INDEX bench_scaled"
LOOK_S = 0.25
MB = 2**20


def measure(rows: int, rounds: int) -> Point:
    with running_cluster(LEASE_S="30") as cluster:
        wait_until_warm(cluster)
        make_table(cluster, TABLE, rows)
        found = [one_round(cluster) for _ in range(rounds)]
    return Point(
        rows=rows,
        rounds=rounds,
        seconds=round(median(one.there.seconds for one in found), 3),
        dropped_s=round(median(one.back.seconds for one in found), 3),
        processor_s=round(median(one.there.processor_s for one in found), 2),
        spark_mb=round(max(one.spark_mb for one in found), 1),
        all_mb=round(max(one.all_mb for one in found), 1),
        wal_mb=round(median(one.wal_mb for one in found), 2),
        machine=f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}",
    )


@dataclass(frozen=True, slots=True)
class Round:
    there: Timing
    back: Timing
    spark_mb: float
    all_mb: float
    wal_mb: float


def one_round(cluster: RunningCluster) -> Round:
    with psycopg.connect(cluster.database_url, autocommit=True) as database, watched(cluster) as memory:
        database.execute("CHECKPOINT")
        began = wal_of(database)
        there = run(cluster, CREATE)
        wal_mb = (wal_of(database) - began) / MB
    return Round(there, run(cluster, DROP), memory.spark_mb, memory.all_mb, wal_mb)


def wal_of(database: psycopg.Connection) -> int:
    """The bytes of WAL since the server was made."""
    row = database.execute("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint").fetchone()
    assert row is not None
    return int(row[0])


# --- memory


@dataclass
class Memory:
    """The maximum: each page counts once, however many processes share it."""

    spark_mb: float = 0.0
    all_mb: float = 0.0
    over: threading.Event = field(default_factory=threading.Event)

    def look(self, cluster: RunningCluster, spark: psutil.Process) -> None:
        with suppress(psutil.NoSuchProcess):
            own = {spark.pid, *(one.pid for one in spark.children(recursive=True))}
            sizes = {one.pid: pss_of(one) for one in processes_of(cluster)}
            self.spark_mb = max(self.spark_mb, sum(size for pid, size in sizes.items() if pid in own) / MB)
            self.all_mb = max(self.all_mb, sum(sizes.values()) / MB)


@contextmanager
def watched(cluster: RunningCluster) -> Iterator[Memory]:
    memory, spark = Memory(), psutil.Process(int(str(cluster.processes()["spark"]["pid"])))

    def look_on() -> None:
        while not memory.over.wait(LOOK_S):
            memory.look(cluster, spark)

    memory.look(cluster, spark)
    looking = threading.Thread(target=look_on, daemon=True)
    looking.start()
    try:
        yield memory
    finally:
        memory.over.set()
        looking.join()


def pss_of(process: psutil.Process) -> int:
    with suppress(psutil.NoSuchProcess):
        return int(process.memory_full_info().pss)
    return 0
