"""A change of an index as its submitter feels it, from submit to public and away again, and where the time goes.
`python -m tools.bench.end_to_end` prints the lines as they come. Seconds of processors are those of all processes of
the cluster: what the work costs, whatever else runs on the machine."""

import multiprocessing
import random
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import Manager

import psutil
import psycopg

from tests.harness.cluster import RunningCluster, running_cluster
from tools.bench.fill import wait_until_warm
from tools.bench.report import Figure
from tools.bench.rows import make_table
from tools.bench.writers import write_paced

ROWS = 1_000_000
ROUNDS = 3
PACED_PER_S = 130.0
PACED_ALONE_S = 10.0
TABLE, LOADED = "bench_whole", "bench_loaded"
LOADED_COLUMNS = "id bigint PRIMARY KEY, name text, age integer, score double precision, note text"
LOADED_AT_ONCE = 20_000
ONE_COLUMN = "CREATE INDEX bench_index ON bench_whole (name)"
ON_LOADED = "CREATE INDEX bench_index ON bench_loaded (name)"
INDEXES = (
    ("one column", ONE_COLUMN),
    ("two columns", "CREATE INDEX bench_index ON bench_whole (name, age DESC)"),
    ("three columns", "CREATE INDEX bench_index ON bench_whole (born, age, name)"),
    ("unique", "CREATE UNIQUE INDEX bench_index ON bench_whole (note)"),
)
DROP = "DROP INDEX bench_index"

RUNS = """SELECT kind, extract(epoch FROM started_at - created_at)::float8,
    extract(epoch FROM ended_at - started_at)::float8
FROM spark_tasks_reorgrun WHERE change_id = (SELECT max(id) FROM changes_change) ORDER BY id"""


@dataclass(frozen=True, slots=True)
class Phase:
    kind: str
    waited_s: float
    took_s: float


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds until it returned, seconds of processors, and its runs."""

    seconds: float
    processor_s: float
    phases: tuple[Phase, ...]

    @property
    def rest_s(self) -> float:
        return self.seconds - sum(one.waited_s + one.took_s for one in self.phases)

    def __str__(self) -> str:
        runs = ", ".join(f"{one.kind} {one.took_s:.2f} after {one.waited_s:.2f}" for one in self.phases)
        return f"{self.seconds:.2f} s ({runs}, rest {self.rest_s:.2f}; processors {self.processor_s:.1f})"


def measure(cluster: RunningCluster) -> list[Figure]:
    """Every kind of index, warm; of one column also on a table that a client loaded, and beside a writer."""
    wait_until_warm(cluster)
    make_table(cluster, TABLE, ROWS)
    warm = [figure(what, [round_of(cluster, create) for _ in range(ROUNDS)]) for what, create in INDEXES]
    load(cluster)
    loaded = figure(
        "one column, of a table that a client loaded,", [round_of(cluster, ON_LOADED) for _ in range(ROUNDS)]
    )
    return [*warm, loaded, paced_figure(cluster)]


def measure_cold() -> list[Figure]:
    with running_cluster(LEASE_S="30") as cluster:
        make_table(cluster, TABLE, ROWS)
        there, back = round_of(cluster, ONE_COLUMN)
    goal = "none: Spark starts first"
    method = "One round through a node, sent when the nodes answer and the table is there; Spark is not waited for."
    what = f"the same of one column, the first change after {ROWS:,} rows were made in a new cluster"
    return [Figure(what, goal, f"{there}; dropped in {back.seconds:.2f} s", method)]


def load(cluster: RunningCluster) -> None:
    chance = random.Random(7)
    ids = list(range(ROWS))
    chance.shuffle(ids)
    with psycopg.connect(cluster.nodes["n1"].dsn, autocommit=True) as node:
        node.execute(f"CREATE TABLE {LOADED} ({LOADED_COLUMNS})")
        for first in range(0, ROWS, LOADED_AT_ONCE):
            with node.cursor().copy(f"COPY {LOADED} FROM STDIN") as rows:
                for number in ids[first : first + LOADED_AT_ONCE]:
                    name, age, score = f"name {chance.randrange(10**6)}", chance.randrange(100), chance.random()
                    rows.write_row((number, name, age, score, f"a note of some length {number}"))


def paced_figure(cluster: RunningCluster) -> Figure:
    """One client that updates the indexed column, alone and beside the change."""
    rounds = [beside_paced(cluster) for _ in range(ROUNDS)]
    return Figure(
        f"index of one column on {ROWS:,} rows beside one writer of {PACED_PER_S:.0f} statements/s",
        "at most 6.0 s, worst stall at most 20 ms above idle",
        "; ".join(rounds),
        f"{ROUNDS} rounds; the writer is timed for {PACED_ALONE_S:.0f} s alone before each.",
    )


def beside_paced(cluster: RunningCluster) -> str:
    address, rows = cluster.nodes["n2"].dsn, ROWS
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as beside, Manager() as manager:
        stop = manager.Event()
        writing = beside.submit(write_paced, address, TABLE, rows, PACED_PER_S, stop)
        time.sleep(PACED_ALONE_S)
        began = time.time()
        there = run(cluster, ONE_COLUMN)
        ended = time.time()
        stop.set()
        seen = writing.result()
    run(cluster, DROP)
    alone = seen.within([(began - PACED_ALONE_S + 1, began)])
    during = seen.within([(began, ended)])
    return (
        f"{there}, worst {during.worst_ms:.0f} ms against {alone.worst_ms:.0f} ms, p99 {during.p99_ms:.0f} against"
        f" {alone.p99_ms:.0f} ms, {during.per_s:.0f} of {alone.per_s:.0f} statements/s"
    )


def figure(what: str, rounds: list[tuple[Timing, Timing]]) -> Figure:
    created = "; ".join(str(there) for there, _ in rounds)
    dropped = ", ".join(f"{back.seconds:.2f} s" for _, back in rounds)
    return Figure(
        f"index of {what} on {ROWS:,} rows, submit to public",
        "at most 4.5 s for one column, every entry verified",
        f"{created}; dropped in {dropped}",
        f"{ROUNDS} rounds through a node, six columns, warm session, nobody else uses the table. In brackets each run"
        " with what it waited for its worker, the rest (versions and drains), and seconds of processors of all"
        " processes.",
    )


def round_of(cluster: RunningCluster, create: str) -> tuple[Timing, Timing]:
    with psycopg.connect(cluster.database_url, autocommit=True) as database:
        database.execute("CHECKPOINT")
    return run(cluster, create), run(cluster, DROP)


def run(cluster: RunningCluster, statement: str) -> Timing:
    with psycopg.connect(cluster.nodes["n1"].dsn, autocommit=True) as node:
        processors, began = processor_s(cluster), time.perf_counter()
        node.execute(statement)
        seconds = time.perf_counter() - began
    with psycopg.connect(cluster.database_url, autocommit=True) as database:
        phases = tuple(Phase(*row) for row in database.execute(RUNS).fetchall())
    return Timing(seconds, processor_s(cluster) - processors, phases)


def processor_s(cluster: RunningCluster) -> float:
    """Of all processes of the cluster, ended ones included."""
    return sum(sum(times[:4]) for times in map(_times, processes_of(cluster)))


def processes_of(cluster: RunningCluster) -> Iterator[psutil.Process]:
    """Those under `up`, and the server of the database, which outlives it."""
    home = str(cluster.locations.home)
    top = psutil.Process(cluster.up.pid)
    mine = {top.pid: top, **{one.pid: one for one in top.children(recursive=True)}}
    for one in psutil.process_iter(["cmdline"]):
        if one.pid not in mine and any(home in word for word in one.info["cmdline"] or ()):
            mine |= {one.pid: one, **{child.pid: child for child in one.children(recursive=True)}}
    yield from mine.values()


def _times(process: psutil.Process) -> tuple[float, ...]:
    try:
        return tuple(process.cpu_times())
    except psutil.NoSuchProcess:
        return ()


def main() -> None:
    with running_cluster(LEASE_S="30") as cluster:
        make_table(cluster, TABLE, ROWS)
        _, create = INDEXES[0]
        there, back = round_of(cluster, create)
        print(f"first of all: {there}\n  dropped: {back}", flush=True)
        wait_until_warm(cluster)
        for what, create in INDEXES:
            for _ in range(ROUNDS):
                there, back = round_of(cluster, create)
                print(f"{what}: {there}\n  dropped: {back}", flush=True)


if __name__ == "__main__":
    main()
