"""`manage.py up` as its user meets it: ready, health, second start, crashes, kills from the console, the end."""

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import psycopg
import pytest

from schemalab.polling import wait_for
from tests.harness.cluster import ROOT, RunningCluster, environment_of

AGAIN_S_MAX = 30.0


def pid_of(cluster: RunningCluster, name: str) -> int | None:
    pid = cluster.processes()[name]["pid"]
    assert pid is None or isinstance(pid, int)
    return pid


def node_rows(cluster: RunningCluster) -> dict[str, tuple[str, int]]:
    with psycopg.connect(cluster.database_url) as connection:
        rows = connection.execute("SELECT name, state, pid FROM leases_node").fetchall()
    return {name: (state, pid) for name, state, pid in rows}


def is_up_as(cluster: RunningCluster, name: str, *, other_than: int) -> bool:
    """Has the node registered with a new process?"""
    state, pid = node_rows(cluster)[name]
    return state == "up" and pid != other_than and pid == pid_of(cluster, name)


def has_told_of(cluster: RunningCluster, process: str) -> bool:
    """Does the cluster's story say that the process crashed and runs again?"""
    query = (
        "SELECT kind FROM catalog_storyevent WHERE stream = 'cluster' AND subject = %s AND kind LIKE 'process%%'"
        " ORDER BY seq"
    )
    try:
        with psycopg.connect(cluster.database_url) as connection:
            kinds = [kind for (kind,) in connection.execute(query, [process])]
    except psycopg.OperationalError:  # the database is what crashed
        return False
    return kinds[-2:] == ["process crashed", "process started"]  # others may have killed it, too


def test_the_page_and_the_nodes_answer(cluster: RunningCluster) -> None:
    with urllib.request.urlopen(f"{cluster.address}/healthz") as response:
        assert response.status == 200
    for node in cluster.nodes.values():
        with psycopg.connect(node.dsn, autocommit=True) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)


def test_every_process_of_the_procfile_runs(cluster: RunningCluster) -> None:
    states = {name: process["state"] for name, process in cluster.processes().items() if name != "migrate"}
    names = ["postgres", "redis", "web", "n1", "n2", "n3", "worker", "maintenance", "beat", "spark", "lab"]
    assert states == dict.fromkeys(names, "up")


def test_commands_beside_it_find_it(cluster: RunningCluster) -> None:
    assert cluster.new_sign_in_link().startswith(f"{cluster.address}/sign-in/")


@pytest.mark.soak
def test_a_second_up_in_the_same_home_is_refused_in_one_line(cluster: RunningCluster) -> None:
    done = cluster.manage("up", "--no-demo")
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert f"is already running (process {cluster.up.pid}): ./manage.py signin-link prints a link to it" in line


@pytest.mark.soak
def test_a_taken_port_is_refused_in_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "manage.py", "up", "--port", str(port)],
            cwd=ROOT,
            env=environment_of(tmp_path / "home"),
            capture_output=True,
            text=True,
            check=False,
            timeout=30,
        )
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert f"port {port} on 127.0.0.1 is taken" in line


def test_a_bad_setting_is_refused_in_one_line(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "up"],
        cwd=ROOT,
        env=environment_of(tmp_path / "home", NODES="many"),
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert (done.returncode, done.stderr) == (
        2,
        "NODES='many' is not allowed: it must be a whole number from 1 to 100\n",
    )


@pytest.mark.parametrize("name", ["n2", "worker", "redis", "postgres"])
def test_a_crashed_process_is_started_again(cluster: RunningCluster, name: str) -> None:
    crashed = pid_of(cluster, name)
    assert crashed is not None
    os.kill(crashed, signal.SIGKILL)
    wait_for(lambda: pid_of(cluster, name) not in (None, crashed), what=name, seconds_max=AGAIN_S_MAX)
    assert any(f"{name} was ended by SIGKILL; starting it again" in line for line in cluster.output)
    wait_for(lambda: has_told_of(cluster, name), what=f"the story of {name}", seconds_max=AGAIN_S_MAX)
    if name in cluster.nodes:
        wait_for(lambda: is_up_as(cluster, name, other_than=crashed), what=name, seconds_max=AGAIN_S_MAX)


def test_a_node_whose_parser_took_too_long_is_started_again_and_the_others_serve_meanwhile(
    cluster: RunningCluster,
) -> None:
    """The kernel sends SIGVTALRM after ten seconds in the parser (`expressions.grammar`). No text that takes so long is
    known, so the test sends it.
    """
    crashed = pid_of(cluster, "n2")
    assert crashed is not None
    with psycopg.connect(cluster.nodes["n1"].dsn, autocommit=True) as other:
        os.kill(crashed, signal.SIGVTALRM)
        waits = []
        deadline = time.monotonic() + AGAIN_S_MAX
        while not is_up_as(cluster, "n2", other_than=crashed):
            assert time.monotonic() < deadline
            began = time.monotonic()
            assert other.execute("SELECT 1").fetchone() == (1,)
            with urllib.request.urlopen(f"{cluster.address}/alive") as response:
                assert response.status == 204
            waits.append(time.monotonic() - began)
            time.sleep(0.05)
    assert len(waits) > 5
    assert sorted(waits)[len(waits) * 9 // 10] < 1
    why = "n2 ended itself because a text took too long to parse; starting it again"
    assert any(why in line for line in cluster.output)
    wait_for(lambda: has_told_of(cluster, "n2"), what="the story of n2", seconds_max=AGAIN_S_MAX)


def test_a_killed_node_stays_down_until_it_is_started(cluster: RunningCluster) -> None:
    killed = pid_of(cluster, "n3")
    assert killed is not None
    done = cluster.manage("node-control", "kill", "n3")
    assert done.stdout == "n3 was killed; it stays down until it is started\n"
    wait_for(lambda: cluster.processes()["n3"]["state"] == "down", what="n3's end", seconds_max=AGAIN_S_MAX)
    assert cluster.control("start", "n3") == "n3 is starting"
    wait_for(lambda: is_up_as(cluster, "n3", other_than=killed), what="n3", seconds_max=AGAIN_S_MAX)
