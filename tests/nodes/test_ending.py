"""After SIGTERM a node is gone, whatever hangs, and its log says what it did not wait for."""

import asyncio
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from types import SimpleNamespace

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from nodes import ending
from nodes.ending import left_over
from schemalab.supervisor.tree import Cluster as Tree
from tests.leases.stalled_proxy import Proxy
from tests.nodes.conftest import ROOT, Cluster

GONE_S_MAX = 50.0
"""Long enough for a machine that is busy; what hangs, hangs for ever."""


@contextmanager
def door(dsn: str) -> Iterator[Proxy]:
    """A door to the store, served by a thread."""
    loop, shut, found = asyncio.new_event_loop(), asyncio.Event(), list[Proxy]()
    is_open = threading.Event()

    async def serve() -> None:
        async with Proxy(dsn) as proxy:
            found.append(proxy)
            is_open.set()
            await shut.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(serve()))
    thread.start()
    try:
        assert is_open.wait(30)
        yield found[0]
    finally:
        loop.call_soon_threadsafe(shut.set)
        thread.join()
        loop.close()


@contextmanager
def node(cluster: Cluster, name: str, code: str = "") -> Iterator["tuple[subprocess.Popen[str], str]"]:
    """A node, and the address of its port. `code` is run in its process first."""
    program = f"import os, sys; os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'schemalab.settings')\n{code}\n"
    program += "from django.core.management import execute_from_command_line as run\nrun(sys.argv)"
    process = subprocess.Popen(
        [sys.executable, "-c", program, "node", name],
        cwd=ROOT, env=cluster.environ(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        cluster.ports[name] = int(process.stdout.readline().rsplit(":", 1)[1])
        cluster.wait_until_it_answers(name)
        yield process, cluster.address(name)
    finally:
        process.kill()
        process.communicate()


def end(process: "subprocess.Popen[str]") -> tuple[int, str]:
    """The exit code of a node that is told to go, and its log."""
    process.send_signal(signal.SIGTERM)
    _, log = process.communicate(timeout=GONE_S_MAX)
    return process.returncode, log


@pytest.mark.soak
def test_a_store_that_does_not_answer_holds_nobody_up(cluster: Cluster) -> None:
    with door(cluster.dsn) as proxy:
        parts = conninfo_to_dict(proxy.dsn)
        url = f"postgresql://{parts['user']}@127.0.0.1:{parts['port']}/{parts['dbname']}?sslmode=disable"
        through = Cluster(url, cluster.redis_url, cluster.home, cluster.binaries)
        with (
            node(through, "e1", "from nodes import ending\nending.END_S_MAX = 60.0") as (process, address),
            closing(psycopg.connect(address)) as client,
        ):
            client.execute("SELECT 1")
            proxy.stall()
            code, log = end(process)
            assert code == 0
            assert "node e1 says that it leaves: not done within" in log
            assert "node e1 did not end within" not in log, "each of its steps has a limit"


HANGING_THREAD = """
import asyncio, threading
from django.db import InterfaceError
from nodes import ending, server
ending.END_S_MAX = 60.0
drain = server.Server._drain
def gone(name, incarnation):
    raise InterfaceError("connection already closed")
async def hold(self, keeper):
    from nodes.management.commands import node
    node.leave_node = gone
    asyncio.get_running_loop().run_in_executor(None, threading.Event().wait)
    await drain(self, keeper)
    {mistake}
server.Server._drain = hold
"""


@pytest.mark.parametrize(("mistake", "code", "words"), [
    pytest.param(
        "", 0, "node e2 could not say that it leaves", id="and whose farewell fails", marks=pytest.mark.soak
    ),
    pytest.param("raise RuntimeError('of ours')", 1, "RuntimeError: of ours", id="and whose end has a mistake"),
])  # fmt: skip
def test_a_node_with_a_thread_that_never_ends(cluster: Cluster, mistake: str, code: int, words: str) -> None:
    """As one that follows a change."""
    with node(cluster, "e2", HANGING_THREAD.format(mistake=mistake)) as (process, _):
        exit_code, log = end(process)
    assert exit_code == code
    assert words in log
    assert "node e2 ends without waiting for: " in log
    assert re.search(r"thread uvloop_\d+ in ", log)
    assert "node e2 did not end within" not in log


@pytest.mark.soak
def test_a_step_that_never_ends_is_ended(cluster: Cluster) -> None:
    code = """
import asyncio
from nodes import ending, server
ending.END_S_MAX = 2.0
async def hang(self, keeper):
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            pass
server.Server._drain = hang
"""
    with node(cluster, "e3", code) as (process, _):
        began = time.monotonic()
        exit_code, log = end(process)
        assert time.monotonic() - began >= 2.0
    assert exit_code == 0
    assert "node e3 did not end within 2 s" in log
    assert "(serve)" in log
    assert "thread MainThread in " in log


def test_the_supervisor_waits_until_a_node_has_had_its_time() -> None:
    limits: list[float] = []

    class Stopped:
        kind = "node"

        async def stop(self, *, seconds_max: float) -> None:
            limits.append(seconds_max)

    tree = Tree.__new__(Tree)
    tree._processes, tree._terminal = {"n1": Stopped()}, SimpleNamespace(say=print)  # type: ignore[dict-item,assignment]
    asyncio.run(tree._stop_all())
    assert ending.STEPS_S < ending.END_S_MAX
    assert limits == [ending.KILL_S_MAX]
    assert limits[0] > ending.END_S_MAX + ending.KERNEL_S


def test_what_is_left_over_is_named() -> None:
    async def see() -> list[str]:
        waiting = asyncio.create_task(asyncio.sleep(3600), name="waiting for nothing")
        await asyncio.to_thread(lambda: None)
        found = left_over(asyncio.get_running_loop())
        waiting.cancel()
        return found

    found = asyncio.run(see())
    assert "task waiting for nothing (sleep)" in found
    assert not [one for one in found if one.startswith("thread asyncio")], "it waits for work"
