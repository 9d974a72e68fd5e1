"""A fill against a raw sorted COPY of the same entries into the pair tables of a twin, and what writers feel of it. The
fill is CREATE INDEX through a node on an unused table: the run's own time, verification apart."""

import statistics
import threading
import time
from dataclasses import dataclass

import psycopg
import pyarrow as pa

from catalog.descriptor import Descriptor
from catalog.elements import IndexId
from storage.arrow.encoding import Pairs
from storage.pairs import after, prefix
from storage.postgres import kv, session_options
from storage.statements import WITHIN, bounds, key_sql
from tests.harness.cluster import RunningCluster
from tools.bench.report import Figure
from tools.bench.rows import STORAGES, copy, make_table
from tools.bench.writers import Latencies, write_beside

ROWS = 1_000_000
ROUNDS = 3
WRITERS = 4
WRITE_S = 60.0
WITH_INDEX_S = 20.0
WRITER_ROUNDS = 3
FILL_S_MAX = 300.0
WARM_S_MAX = 600.0


def measure(cluster: RunningCluster) -> list[Figure]:
    wait_until_warm(cluster)
    filled, twin = (make_table(cluster, name, ROWS) for name in ("bench_fill", "bench_twin"))
    rounds = [one_round(cluster, filled, twin, IndexId(number)) for number in range(1, ROUNDS + 1)]
    return [fill_figure(rounds), verify_figure(rounds), writers_figure(cluster)]


@dataclass(frozen=True, slots=True)
class Round:
    fill_s: float
    verify_s: float
    copy_s: float

    @property
    def ratio(self) -> float:
        return self.copy_s / self.fill_s


def wait_until_warm(cluster: RunningCluster) -> None:
    with psycopg.connect(cluster.database_url, autocommit=True) as database:
        deadline = time.monotonic() + WARM_S_MAX
        while not database.execute("SELECT 1 FROM catalog_storyevent WHERE kind = 'spark warm'").fetchall():
            assert time.monotonic() < deadline, f"Spark was not warm in {WARM_S_MAX:.0f} s"
            time.sleep(0.2)


def one_round(cluster: RunningCluster, filled: Descriptor, twin: Descriptor, index: IndexId) -> Round:
    with (
        psycopg.connect(cluster.nodes["n1"].dsn, autocommit=True) as node,
        psycopg.connect(cluster.database_url, autocommit=True, **session_options("bench")) as database,
    ):
        database.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
        database.execute("CHECKPOINT")
        node.execute("CREATE INDEX bench_name ON bench_fill (name)")
        seconds = seconds_of(database, filled.table_id)
        entries = [entries_of(database, filled, twin, index, storage) for storage in range(1, STORAGES + 1)]
        database.execute("CHECKPOINT")
        began = time.perf_counter()
        for storage, pairs in enumerate(entries, 1):
            copy(database, kv(storage, twin.table_id), pairs)
        copy_s = time.perf_counter() - began
        node.execute("DROP INDEX bench_name")
        sweep(database, filled, twin, index)
    return Round(seconds["fill"], seconds["verify"], copy_s)


def seconds_of(database: psycopg.Connection, table_id: int) -> dict[str, float]:
    rows = database.execute(
        "SELECT kind, extract(epoch FROM ended_at - started_at)::float8 FROM spark_tasks_reorgrun"
        " WHERE table_id = %s AND state = 'done' ORDER BY id",
        (table_id,),
    )
    return dict(rows.fetchall())


def entries_of(
    database: psycopg.Connection, filled: Descriptor, twin: Descriptor, index: IndexId, storage: int
) -> Pairs:
    """The entries of an index on one storage, under the twin's table id."""
    low = prefix(filled, filled.placement.id, index)
    sql = f"SELECT {key_sql(filled.table_id)} FROM {kv(storage, filled.table_id)} WHERE {WITHIN} ORDER BY k, c"
    found = database.cursor(binary=True).execute(sql, bounds(low, after(low))).fetchall()
    start = prefix(twin, twin.placement.id, index)
    keys = pa.array([start + key[len(start) :] for (key,) in found], pa.binary())
    return Pairs(keys, pa.repeat(pa.scalar(b"", pa.binary()), len(keys)))


def sweep(database: psycopg.Connection, filled: Descriptor, twin: Descriptor, index: IndexId) -> None:
    low = prefix(twin, twin.placement.id, index)
    for storage in range(1, STORAGES + 1):
        database.execute(f"DELETE FROM {kv(storage, twin.table_id)} WHERE {WITHIN}", bounds(low, after(low)))
        for table in (filled, twin):
            database.execute(f"VACUUM {kv(storage, table.table_id)}")


def fill_figure(rounds: list[Round]) -> Figure:
    each = ", ".join(f"{one.ratio:.2f} ({one.fill_s:.1f} s against {one.copy_s:.1f} s)" for one in rounds)
    return Figure(
        f"filling an index of {ROWS:,} rows, five columns",
        "at least 0.8 of a raw sorted COPY",
        each,
        f"{ROUNDS} rounds, warm session, nobody else uses the tables, verification timed apart;"
        " see `tools/bench/fill.py`.",
    )


def verify_figure(rounds: list[Round]) -> Figure:
    each = ", ".join(f"{one.copy_s / one.verify_s:.2f} ({one.verify_s:.1f} s)" for one in rounds)
    method = "The verification of the same rounds, by content, against the same COPY."
    return Figure(f"verifying it, {ROWS:,} entries both ways", "at least 0.8 of the COPY", each, method)


# --- writers beside a fill


def writers_figure(cluster: RunningCluster) -> Figure:
    """Clients that update an indexed column: alone, beside fills, with the finished index; every run is shown."""
    runs = [beside_fills(cluster) for _ in range(WRITER_ROUNDS)]
    return Figure(
        f"{WRITERS} writers beside fills, worst stall and throughput",
        "at most 20 ms above idle, at least 0.85 of idle, no error, at least 50,000 rows/s",
        "; ".join(words_of(*run) for run in runs),
        f"{WRITER_ROUNDS} runs of {WRITE_S:.0f} s each side; only statements that ran while a fill did are counted"
        " beside it. An index costs writers something for as long as it is there, also while it is filled: so"
        f" {WITH_INDEX_S:.0f} s with the finished one are shown, too; by those a fill is paced."
        " Clients, nodes, Spark and PostgreSQL share the machine's cores.",
    )


def beside_fills(cluster: RunningCluster) -> tuple[Latencies, Latencies, Latencies, list[float]]:
    """Latencies of writers alone, beside fills and with the finished index, and the fills' seconds."""
    addresses = [node.dsn for node in cluster.nodes.values()]
    alone = write_beside(addresses, WRITERS, WRITE_S, ROWS)
    stop = threading.Event()
    fills = threading.Thread(target=fill_until, args=(cluster, stop), daemon=True)
    began = time.time()
    fills.start()
    wait_until_filling(cluster)
    beside = write_beside(addresses, WRITERS, WRITE_S, ROWS)
    stop.set()
    fills.join(timeout=FILL_S_MAX)
    windows = [(begin, end) for begin, end in fill_windows(cluster) if begin > began]
    with psycopg.connect(addresses[0], autocommit=True) as node:
        node.execute("CREATE INDEX bench_busy ON bench_fill (name)")
        indexed = write_beside(addresses, WRITERS, WITH_INDEX_S, ROWS)
        node.execute("DROP INDEX bench_busy")
    return alone, beside.within(windows), indexed, [end - begin for begin, end in windows]


def words_of(alone: Latencies, during: Latencies, indexed: Latencies, fills: list[float]) -> str:
    left, kept = (during.per_s / max(other.per_s, 1e-9) for other in (alone, indexed))
    return (
        f"worst {during.worst_ms:.0f} ms against {alone.worst_ms:.0f} ms, p99 {during.p99_ms:.0f} against"
        f" {alone.p99_ms:.0f} ms, {left:.2f} of {alone.per_s:.0f} statements/s without the index, {kept:.2f} of"
        f" {indexed.per_s:.0f} with it, {during.retries} retries against {alone.retries},"
        f" {during.errors} errors against {alone.errors}; a fill took"
        f" {statistics.median(fills):.0f} s beside them"
    )


def fill_until(cluster: RunningCluster, stop: threading.Event) -> None:
    with psycopg.connect(cluster.nodes["n1"].dsn, autocommit=True) as node:
        while not stop.is_set():
            node.execute("CREATE INDEX bench_busy ON bench_fill (name)")
            node.execute("DROP INDEX bench_busy")


def wait_until_filling(cluster: RunningCluster) -> None:
    with psycopg.connect(cluster.database_url, autocommit=True) as database:
        deadline = time.monotonic() + WARM_S_MAX
        sql = "SELECT 1 FROM spark_tasks_reorgrun WHERE kind = 'fill' AND state = 'running'"
        while not database.execute(sql).fetchall():
            assert time.monotonic() < deadline, f"no fill began in {WARM_S_MAX:.0f} s"
            time.sleep(0.01)


def fill_windows(cluster: RunningCluster) -> list[tuple[float, float]]:
    with psycopg.connect(cluster.database_url, autocommit=True) as database:
        return database.execute(
            "SELECT extract(epoch FROM started_at)::float8, extract(epoch FROM ended_at)::float8"
            " FROM spark_tasks_reorgrun WHERE kind = 'fill' AND ended_at IS NOT NULL ORDER BY id"
        ).fetchall()
