"""An index is built beside traffic while one process is killed, frozen or restarted in the middle of the (slowed) fill:
the change ends, nothing is lost, the story reports it."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from nodes.traffic.book import FIRST_KEY
from schemalab.polling import wait_for
from tests.harness.cluster import ROOT, Node, RunningCluster

ROWS = 12_000
ROWS_PER_INSERT = 2_000
DESTINATIONS = ("LAX", "SFO", "BOS")
FILL_ROWS_PER_S = 4_000
FILL_S_MAX = 60.0
CHANGE_S_MAX = 90.0
TRAFFIC_S = 9


@pytest.fixture(scope="module")
def busy(cluster: RunningCluster) -> Iterator[RunningCluster]:
    """The cluster with a table of some size, whose fills are slow."""
    wait_for(lambda: all_up(cluster), what="all processes", seconds_max=60)
    with psycopg.connect(cluster.nodes["n1"].dsn, autocommit=True) as node:
        node.execute("CREATE TABLE trips (id bigint PRIMARY KEY, dest text, delay integer)")
        for first in range(1, ROWS + 1, ROWS_PER_INSERT):
            rows = (f"({n}, '{DESTINATIONS[n % 3]}', {n % 50})" for n in range(first, first + ROWS_PER_INSERT))
            node.execute(f"INSERT INTO trips VALUES {', '.join(rows)}")
    yield cluster
    with psycopg.connect(cluster.database_url, autocommit=True) as connection:
        connection.execute("DROP FUNCTION IF EXISTS slow_fill CASCADE")
    with psycopg.connect(cluster.nodes["n1"].dsn, autocommit=True) as node:
        node.execute("DROP TABLE trips")


@dataclass
class Traffic:
    """`manage.py traffic` beside the test."""

    process: "subprocess.Popen[str]"

    def summary(self) -> dict[str, Any]:
        out, err = self.process.communicate(timeout=TRAFFIC_S + 60)
        assert out.startswith("{"), err
        return dict(json.loads(out))


@pytest.fixture
def traffic(busy: RunningCluster) -> Iterator[Traffic]:
    command = [sys.executable, "manage.py", "traffic", "--table", "trips", "--seconds", str(TRAFFIC_S), "--json"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, env=busy.env, stdout=pipe, stderr=pipe, text=True) as process:
        wait_for(lambda: traffic_rows(busy), what="the traffic's first row", seconds_max=30)
        yield Traffic(process)
        process.terminate()


def traffic_rows(cluster: RunningCluster) -> int:
    with psycopg.connect(cluster.nodes["n1"].dsn, autocommit=True) as node:
        found = node.execute("SELECT count(*) FROM trips WHERE id >= %s", (FIRST_KEY,)).fetchone()
    return found[0] if found else 0


def one(cluster: RunningCluster, query: str, *params: Any) -> Any:
    """The first column of the first row; None when there is no row or the database is just away."""
    try:
        with psycopg.connect(cluster.database_url, autocommit=True) as connection:
            row = connection.execute(query, params).fetchone()
    except psycopg.OperationalError:
        return None
    return None if row is None else row[0]


def submit(cluster: RunningCluster, statement: str) -> int:
    done = cluster.manage("change", "submit", statement, "--json")
    assert done.returncode == 0, done.stderr
    return int(json.loads(done.stdout)["id"])


SLOW_FILL = """
CREATE OR REPLACE FUNCTION slow_fill() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM spark_tasks_reorgrun WHERE id = NEW.run_id AND kind = 'fill') THEN
        NEW.rows_per_s_max := {rows_per_s};
    END IF;
    RETURN NEW;
END $$;
CREATE OR REPLACE TRIGGER slow_fill BEFORE INSERT ON spark_tasks_reorgpulse
    FOR EACH ROW EXECUTE FUNCTION slow_fill()
"""


def submit_slow_fill(cluster: RunningCluster, statement: str, rows_per_s: int = FILL_ROWS_PER_S) -> int:
    """Submit, and wait until the fill, throttled from its first row on, has put some rows and has some to go."""
    with psycopg.connect(cluster.database_url, autocommit=True) as connection:
        connection.execute(SLOW_FILL.format(rows_per_s=rows_per_s))
    change = submit(cluster, statement)
    wait_for(lambda: rows_filled(cluster, change), what="the fill's first chunk", seconds_max=FILL_S_MAX)
    return change


def rows_filled(cluster: RunningCluster, change: int) -> int:
    query = """
        SELECT p.rows_done FROM spark_tasks_reorgpulse p JOIN spark_tasks_reorgrun r ON r.id = p.run_id
        WHERE r.change_id = %s AND r.kind = 'fill'
        """
    return one(cluster, query, change) or 0


def status(cluster: RunningCluster, change: int) -> str:
    return str(one(cluster, "SELECT status FROM changes_change WHERE id = %s", change))


def wait_until_done(cluster: RunningCluster, change: int) -> None:
    ended = ("done", "failed", "cancelled")
    wait_for(lambda: status(cluster, change) in ended, what=f"change {change}", seconds_max=CHANGE_S_MAX)
    assert status(cluster, change) == "done", cluster.manage("change", "show", str(change)).stdout


def assert_consistent(cluster: RunningCluster) -> None:
    audit = cluster.manage("audit", "trips", "--json")
    assert audit.returncode == 0, audit.stdout + audit.stderr


def assert_index_is_used_everywhere(cluster: RunningCluster, index: str) -> None:
    for node in cluster.nodes.values():
        with psycopg.connect(node.dsn, autocommit=True) as connection:
            plan = connection.execute("EXPLAIN SELECT id FROM trips WHERE dest = 'LAX'").fetchall()
            assert index in " ".join(row[0] for row in plan), node.name


def story(cluster: RunningCluster) -> list[str]:
    with psycopg.connect(cluster.database_url) as connection:
        rows = connection.execute(
            "SELECT kind FROM catalog_storyevent WHERE stream = 'cluster' ORDER BY seq"
        ).fetchall()
    return [row[0] for row in rows]


def all_up(cluster: RunningCluster) -> bool:
    """Every process runs, and every node answers: one that has just been started does not yet."""
    is_up = all(process["state"] == "up" for name, process in cluster.processes().items() if name != "migrate")
    return is_up and all(answers(node) for node in cluster.nodes.values())


def answers(node: Node) -> bool:
    try:
        with psycopg.connect(node.dsn, autocommit=True, connect_timeout=2) as connection:
            return connection.execute("SELECT 1").fetchone() is not None
    except psycopg.OperationalError:
        return False


@pytest.fixture
def index(busy: RunningCluster) -> Iterator[str]:
    """A name for the index; it is dropped afterwards, which must work as well."""
    yield "trips_by_dest"
    wait_for(lambda: all_up(busy), what="all processes", seconds_max=60)
    wait_until_done(busy, submit(busy, "DROP INDEX trips_by_dest"))
    assert_consistent(busy)


@pytest.mark.soak
def test_nothing_happens(busy: RunningCluster, traffic: Traffic, index: str) -> None:
    """The same without trouble, so that a failure below means what it says."""
    change = submit(busy, f"CREATE INDEX {index} ON trips (dest)")
    wait_until_done(busy, change)
    assert_index_is_used_everywhere(busy, index)
    summary = traffic.summary()
    assert (summary["errors"], summary["shown"]) == (0, [])
    assert summary["statements"] > 100
    assert_consistent(busy)


@pytest.mark.soak
@pytest.mark.parametrize("names", [("n2", "worker", "redis"), ("spark",), ("postgres",)], ids=", ".join)
def test_processes_are_killed_in_mid_fill(
    busy: RunningCluster, traffic: Traffic, index: str, names: tuple[str, ...]
) -> None:
    change = submit_slow_fill(busy, f"CREATE INDEX {index} ON trips (dest)")
    for name in names:
        kill(busy, name)
    wait_until_done(busy, change)
    wait_for(lambda: all_up(busy), what="all processes", seconds_max=60)
    assert_index_is_used_everywhere(busy, index)
    summary = traffic.summary()
    assert (summary["errors"], summary["shown"]) == (0, [])
    assert_consistent(busy)
    assert "process crashed" in story(busy)


def kill(cluster: RunningCluster, name: str) -> None:
    pid = cluster.processes()[name]["pid"]
    assert isinstance(pid, int)
    os.kill(pid, signal.SIGKILL)


@pytest.mark.soak
def test_a_node_frozen_beyond_its_lease_cannot_commit(busy: RunningCluster, traffic: Traffic, index: str) -> None:
    """The transaction was written under a version that is two behind when its node wakes up."""
    with psycopg.connect(busy.nodes["n3"].dsn) as connection:
        connection.execute("UPDATE trips SET dest = 'XXX' WHERE id = 1")
        busy.control("freeze", "n3")
        try:
            change = submit(busy, f"CREATE INDEX {index} ON trips (dest)")
            wait_until_done(busy, change)
        finally:
            busy.control("thaw", "n3")
        with pytest.raises(psycopg.OperationalError):
            connection.commit()
    with psycopg.connect(busy.nodes["n1"].dsn, autocommit=True) as other:
        assert other.execute("SELECT dest FROM trips WHERE id = 1").fetchone() == ("SFO",)
    summary = traffic.summary()
    assert (summary["errors"], summary["shown"]) == (0, [])
    assert_consistent(busy)


@pytest.mark.soak
def test_a_cancelled_fill_leaves_nothing(busy: RunningCluster, traffic: Traffic) -> None:
    change = submit_slow_fill(busy, "CREATE INDEX trips_by_delay ON trips (delay)", rows_per_s=300)
    assert busy.manage("change", "cancel", str(change)).returncode == 0
    ended: Callable[[], bool] = lambda: status(busy, change) == "cancelled"  # noqa: E731
    wait_for(ended, what="the rollback", seconds_max=CHANGE_S_MAX)
    body = one(busy, "SELECT body -> 'indexes' FROM catalog_descriptor ORDER BY id DESC LIMIT 1")
    assert body == []
    assert traffic.summary()["errors"] == 0
    assert_consistent(busy)
