"""Data jobs and scans: rows per second, and seconds of processors per million rows; four rows refer to one parent.
`python -m tools.bench.jobs [ROWS]` prints the lines as they come."""

import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import psycopg
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as parquet

from tests.harness.cluster import RunningCluster, running_cluster
from tools.bench.end_to_end import processor_s
from tools.bench.fill import wait_until_warm
from tools.bench.report import Figure
from tools.bench.rows import values

ROWS = 1_000_000
PARENTS_EACH = 4
JOB_S_MAX = 1800.0
MB = 2**20
TABLE, PARENTS = "bench_jobs", "bench_parents"
COLUMNS = "id bigint PRIMARY KEY, name text, age integer, score double precision, born date"
LOADED = f"CREATE TABLE {TABLE} ({COLUMNS}, parent bigint)"
SCAN = f"SELECT count(*), avg(score) FROM {TABLE}"
CHANGES = (
    ("a required column filled and verified", f"ALTER TABLE {TABLE} ADD COLUMN stops integer NOT NULL DEFAULT 0"),
    ("a required column's values deleted", f"ALTER TABLE {TABLE} DROP COLUMN stops"),
    (
        "a twin of another type filled, verified, the old one deleted",
        f"ALTER TABLE {TABLE} ALTER COLUMN age TYPE bigint",
    ),
    (
        "a foreign key verified, one parent for every four rows",
        f"ALTER TABLE {TABLE} ADD CONSTRAINT bench_parent FOREIGN KEY (parent) REFERENCES {PARENTS}",
    ),
    ("a CHECK verified", f"ALTER TABLE {TABLE} ADD CONSTRAINT bench_age CHECK (age >= 0)"),
)


@dataclass(frozen=True, slots=True)
class Took:
    """Seconds from command to end, and seconds of processors of the whole cluster."""

    what: str
    goal: str
    rows: int
    seconds: float
    processor_s: float
    more: str = ""

    def figure(self) -> Figure:
        rate = f"{self.rows / self.seconds / 1000:,.0f} k rows/s"
        cost = f"{self.processor_s / self.rows * 10**6:.1f} s of processors for a million rows"
        return Figure(f"{self.what}, {self.rows:,} rows", self.goal, f"{rate}; {cost}{self.more}", METHOD)


METHOD = (
    "One round, warm session, nobody else uses the table; from the command, or the statement through a node, to its"
    " end, the command's own start included. Processors: those of all processes of the cluster."
)


def measure(cluster: RunningCluster, rows: int = ROWS) -> list[Figure]:
    wait_until_warm(cluster)
    return [took.figure() for took in jobs(cluster, rows)]


def jobs(cluster: RunningCluster, rows: int) -> Iterator[Took]:
    with (
        tempfile.TemporaryDirectory(prefix="schemalab-bench-") as folder,
        psycopg.connect(cluster.nodes["n1"].dsn, autocommit=True) as node,
    ):
        parents, csv, typed = write_files(Path(folder), rows)
        node.execute(f"CREATE TABLE {PARENTS} (id bigint PRIMARY KEY)")
        load(cluster, parents, PARENTS)
        for kind, file in (("CSV", csv), ("Parquet", typed)):
            node.execute(f"DROP TABLE IF EXISTS {TABLE}")
            node.execute(LOADED)
            goal = "at least 100 k rows/s of five columns"
            yield timed(cluster, f"load of {kind}", goal, rows, lambda file=file: load(cluster, file, TABLE))
        for nth in ("first", "second"):
            took = timed(cluster, f"{SCAN}, {nth} time", "at most 1 s", rows, lambda: node.execute(SCAN).fetchall())
            seen = f"; {took.seconds:.2f} s, the node has {node_mb(cluster):.0f} MB after it"
            yield Took(took.what, took.goal, rows, took.seconds, took.processor_s, seen)
        for what, statement in CHANGES:
            yield timed(cluster, what, "none", rows, lambda statement=statement: node.execute(statement))
        yield timed(cluster, "audit of all clauses", "none", rows, lambda: audit(cluster))
        yield timed(cluster, "the rows of a dropped table", "none", rows, lambda: node.execute(f"DROP TABLE {TABLE}"))


def write_files(folder: Path, rows: int) -> tuple[Path, Path, Path]:
    columns = values(range(rows), random.Random(3))
    kept = [column for number, column in columns.items() if number != 5]
    count = max(1, rows // PARENTS_EACH)
    parent = pa.array([number * 7919 % count for number in range(rows)], pa.int64())
    table = pa.table([*kept, parent], names=["id", "name", "age", "score", "born", "parent"])
    paths = folder / "parents.parquet", folder / "rows.csv", folder / "rows.parquet"
    parquet.write_table(pa.table({"id": range(count)}), paths[0])
    arrow_csv.write_csv(table, paths[1])
    parquet.write_table(table, paths[2])
    return paths


def timed(cluster: RunningCluster, what: str, goal: str, rows: int, work: Callable[[], object]) -> Took:
    processors, began = processor_s(cluster), time.perf_counter()
    work()
    return Took(what, goal, rows, time.perf_counter() - began, processor_s(cluster) - processors)


def load(cluster: RunningCluster, file: Path, table: str) -> None:
    done = cluster.manage("load", str(file), "--table", table, seconds_max=JOB_S_MAX)
    assert done.returncode == 0, done.stderr


def audit(cluster: RunningCluster) -> None:
    done = cluster.manage("audit", TABLE, seconds_max=JOB_S_MAX)
    assert done.returncode == 0, done.stdout + done.stderr


def node_mb(cluster: RunningCluster) -> float:
    pid = cluster.processes()["n1"]["pid"]
    return float(psutil.Process(int(str(pid))).memory_full_info().pss / MB)


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    with running_cluster(LEASE_S="30") as cluster:
        wait_until_warm(cluster)
        for took in jobs(cluster, rows):
            figure = took.figure()
            print(f"{figure.what}: {figure.seen}", flush=True)


if __name__ == "__main__":
    main()
