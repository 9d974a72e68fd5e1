"""Traffic on a table while a test changes it: it has begun before, and is judged after."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from schemalab.polling import wait_for
from tests.harness.cluster import ROOT, RunningCluster


@contextmanager
def traffic_beside(cluster: RunningCluster, table: str, rows: int, *options: str) -> Iterator[None]:
    """`manage.py traffic` on a table of so many rows, which it makes more. No error, and no wrong answer."""
    command = [sys.executable, "manage.py", "traffic", "--table", table, *options]
    command += ["--rate", "60", "--seconds", "600", "--json"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, env=cluster.env, stdout=pipe, stderr=pipe, text=True) as traffic:
        try:
            with psycopg.connect(cluster.nodes["n2"].dsn, autocommit=True) as node:
                more = f"SELECT count(*) FROM {table}"
                wait_for(lambda: node.execute(more).fetchone() > (rows,), what="the traffic", seconds_max=60)
            yield
        finally:
            traffic.send_signal(2)
        out, err = traffic.communicate(timeout=120)
    summary = json.loads(out)
    assert (summary["errors"], summary["wrong"]) == (0, 0), (summary, err)
    assert summary["statements"] > 0
