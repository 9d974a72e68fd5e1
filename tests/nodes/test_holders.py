"""A transaction that holds a version has a name, in the command and its JSON."""

import json
import subprocess
import sys
import time
from typing import Any

from tests.nodes.conftest import ROOT, START_S_MAX, Cluster


def leases(cluster: Cluster, *arguments: str) -> str:
    command = [sys.executable, "manage.py", "leases", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env=cluster.environ(), capture_output=True, text=True, check=True, timeout=60
    ).stdout


def test_who_holds_a_lease_is_named(cluster: Cluster) -> None:
    table = cluster.table("id bigint PRIMARY KEY, word text")
    with cluster.connect("n1", application_name="month's report") as client:
        client.execute("BEGIN")
        client.execute(f"SELECT count(*) FROM {table} WHERE word = 'x'")
        deadline = time.monotonic() + START_S_MAX
        held: list[dict[str, Any]] = []
        while not held or held[0]["is_running"]:  # it may have been said while the statement ran
            assert time.monotonic() < deadline, "n1 tells once a second who holds its leases"
            held = [h for one in json.loads(leases(cluster, table, "--json")) for h in one["holders"]]
        assert [(one["user"], one["application"], one["is_running"]) for one in held] == [
            ("tester", "month's report", False)
        ]
        assert held[0]["statement"] == f"SELECT count(*) FROM {table} WHERE word = 'x'"
        assert "of tester (month's report) is idle after SELECT count(*)" in leases(cluster, table)
