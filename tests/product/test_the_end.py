"""However `manage.py up` ends, nothing of it is left. These are the last of the product's tests (tests/groups.py)."""

import signal
import time

import psutil
import psycopg
import pytest

from schemalab.polling import wait_for
from tests.harness.cluster import RunningCluster, running_cluster

END_S_MAX = 30.0


KILLED_S_MAX = 15.0


def test_nothing_is_left_when_it_is_killed(cluster: RunningCluster) -> None:
    """With a change under way: its worker went on for over 20 s, beside the one of the next start."""
    other = psycopg.connect(cluster.nodes["n1"].dsn, autocommit=True)
    other.execute("CREATE TABLE at_the_end (id int PRIMARY KEY, v int)")
    other.execute("INSERT INTO at_the_end VALUES (1, 1)")
    other.execute("BEGIN")
    other.execute("SELECT v FROM at_the_end")
    submitted = cluster.manage("change", "submit", "CREATE INDEX ON at_the_end (v)")
    assert submitted.returncode == 0, submitted.stderr
    wait_for(lambda: is_waiting(cluster), what="a change that waits", seconds_max=END_S_MAX)
    began = time.monotonic()
    assert nothing_is_left_after(signal.SIGKILL, cluster) == -signal.SIGKILL
    seconds = time.monotonic() - began
    print(f"ended after {seconds:.1f} s")
    assert seconds < KILLED_S_MAX
    other.close()


def is_waiting(cluster: RunningCluster) -> bool:
    with psycopg.connect(cluster.database_url) as store:
        rows = store.execute(
            "SELECT status FROM changes_change WHERE table_name = 'at_the_end' ORDER BY id DESC LIMIT 1"
        )
        return rows.fetchone() == ("waiting",)


@pytest.mark.soak
def test_nothing_is_left_when_it_is_interrupted() -> None:
    with running_cluster(nodes=1) as cluster:
        assert nothing_is_left_after(signal.SIGINT, cluster) == 0


def nothing_is_left_after(end: signal.Signals, cluster: RunningCluster) -> int:
    """Its exit code."""
    everything = psutil.Process(cluster.up.pid).children(recursive=True)
    assert len(everything) >= 7
    cluster.up.send_signal(end)
    _gone, alive = psutil.wait_procs(everything, timeout=END_S_MAX)
    assert alive == []
    return cluster.up.wait(END_S_MAX)
