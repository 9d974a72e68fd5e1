"""However `manage.py up` ends, nothing of it is left.

These are the last of the product's tests (tests/groups.py): nobody needs the cluster after them.
"""

import signal

import psutil
import pytest

from tests.harness.cluster import RunningCluster, running_cluster

END_S_MAX = 30.0


def test_nothing_is_left_when_it_is_killed(cluster: RunningCluster) -> None:
    assert nothing_is_left_after(signal.SIGKILL, cluster) == -signal.SIGKILL


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
