"""A JVM that hangs in a Spark worker that lives is noticed, and a run that waits for it is done by the next worker."""

import time

import psutil
import psycopg
import pytest

from schemalab.polling import wait_for
from tests.harness.cluster import RunningCluster

NOTICED_S_MAX = 120.0
"""The watch's 10 s, the supervisor's 30 s, and the start of the next session."""


def jvm_of(cluster: RunningCluster) -> psutil.Process | None:
    pid = cluster.processes()["spark"]["pid"]
    found = psutil.Process(int(str(pid))).children(recursive=True) if pid else []
    return next((one for one in found if one.name() == "java"), None)


@pytest.mark.soak
def test_a_worker_whose_jvm_hangs_is_started_again(cluster: RunningCluster) -> None:
    wait_for(lambda: jvm_of(cluster) is not None, what="the JVM", seconds_max=NOTICED_S_MAX)
    time.sleep(10)  # until the session is warm: its JVM answers
    hung, worker = jvm_of(cluster), cluster.processes()["spark"]["pid"]
    assert hung is not None
    hung.suspend()
    seen = lambda: cluster.processes()["spark"]["pid"] not in (None, worker)  # noqa: E731
    wait_for(seen, what="another Spark worker", seconds_max=NOTICED_S_MAX)
    assert not hung.is_running() or hung.status() == psutil.STATUS_ZOMBIE  # its new parent may be slow to collect it
    with psycopg.connect(cluster.nodes["n1"].dsn, autocommit=True) as node:
        node.execute("CREATE TABLE hung_jvm (id bigint PRIMARY KEY, name text)")
        node.execute("INSERT INTO hung_jvm VALUES (1, 'a')")
        node.execute("CREATE INDEX hung_jvm_name ON hung_jvm (name)")
        node.execute("DROP TABLE hung_jvm")
