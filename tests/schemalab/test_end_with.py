"""A worker whose supervisor was killed ends at once, with its tasks under way; what must not be interrupted is finished
first, for a bounded time."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
from celery import Celery

from schemalab.celery import kombu_url
from schemalab.polling import wait_for
from schemalab.supervisor import heartbeat
from tests.harness.cluster import ROOT, environment_of
from tests.leases.own_redis import OwnRedis

START_S_MAX = 60.0
AT_ONCE_S = 5.0
"""On a machine that is busy; before, a worker went on until its task had ended."""
END_S_MAX = 15.0
FINISH_S_MAX = 3.0
"""Shorter than what is shipped (10 s), for a block that never ends."""
SUPERVISOR = """
import os, sys, time
from pathlib import Path
from schemalab.supervisor.children import Launch, start
child = start(Launch(argv=tuple(sys.argv[2:]), env=dict(os.environ), cwd=Path.cwd()), output=Path(sys.argv[1]))
print(child.pid, flush=True)
time.sleep(600)
"""


@dataclass
class Supervised:
    """A worker of a supervisor in a process of its own."""

    supervisor: "subprocess.Popen[str]"
    everything: list[psutil.Process]
    send: Callable[..., None]

    def seconds_to_end(self) -> float:
        """Kill the supervisor; the time after which nothing of the worker is left."""
        self.everything = psutil.Process(self.supervisor.pid).children(recursive=True)
        assert self.everything
        began = time.monotonic()
        self.supervisor.send_signal(signal.SIGKILL)
        _, alive = psutil.wait_procs(self.everything, timeout=3 * END_S_MAX)
        assert alive == []
        return time.monotonic() - began


@contextmanager
def supervised(folder: Path, redis: OwnRedis, *pool: str, **setting: str) -> Iterator[Supervised]:
    log = folder / "worker.log"
    words = (sys.executable, "-m", "celery", "--quiet", "-A", "tests.schemalab.waiting_worker", "worker", *pool)
    options = ("--queues", "default", "--without-gossip", "--without-mingle")
    pulse = {heartbeat.VARIABLE: str(folder / "pulse")}
    env = {**environment_of(folder, REDIS_URL=redis.url), **pulse, **setting, "PYTHONPATH": str(ROOT)}
    argv = [sys.executable, "-c", SUPERVISOR, str(log), *words, *options]
    client = Celery(broker=kombu_url(redis.url), set_as_current=False)
    client.conf.broker_transport_options = {"global_keyprefix": "celery:"}

    def send(task: str, *arguments: object) -> None:
        with client.connection() as connection:
            client.send_task(f"tests.{task}", [str(one) for one in arguments], queue="default", connection=connection)

    supervisor = subprocess.Popen(argv, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True)
    known = Supervised(supervisor, [], send)
    try:
        assert supervisor.stdout is not None
        assert int(supervisor.stdout.readline())
        known.everything = psutil.Process(supervisor.pid).children(recursive=True)
        yield known
    except BaseException:
        print(log.read_text() if log.exists() else "no log")
        raise
    finally:
        supervisor.kill()
        supervisor.wait()
        for process in known.everything:
            if process.is_running():
                os.kill(process.pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def own_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnRedis]:
    server = OwnRedis(tmp_path_factory.mktemp("redis"))
    server.start()
    yield server
    server.stop()


THREADS = ("--pool", "threads", "--concurrency", "4")
PREFORK = ("--pool", "prefork", "--concurrency", "1")


@pytest.mark.parametrize("pool", [THREADS, PREFORK], ids=["threads", "processes"])
def test_a_worker_ends_at_once_with_its_task_under_way(
    tmp_path: Path, own_redis: OwnRedis, pool: tuple[str, ...]
) -> None:
    with supervised(tmp_path, own_redis, *pool) as worker:
        worker.send("hold", tmp_path / "never")
        wait_for(lambda: "the task holds" in (tmp_path / "worker.log").read_text(), what="it", seconds_max=START_S_MAX)
        assert worker.seconds_to_end() < AT_ONCE_S


def test_what_must_not_be_interrupted_is_finished_first(tmp_path: Path, own_redis: OwnRedis) -> None:
    begun, until, done = (tmp_path / name for name in ("begun", "until", "done"))
    with supervised(tmp_path, own_redis, *THREADS) as worker:
        worker.send("finish", begun, until, done)
        wait_for(begun.exists, what="the task", seconds_max=START_S_MAX)
        later = subprocess.Popen([sys.executable, "-c", f"import time; time.sleep(2); open({str(until)!r}, 'w')"])
        seconds = worker.seconds_to_end()
        later.wait()
    assert done.exists()
    assert 1 < seconds < END_S_MAX


def test_what_does_not_finish_is_ended_all_the_same(tmp_path: Path, own_redis: OwnRedis) -> None:
    begun, never = tmp_path / "begun", tmp_path / "never"
    with supervised(tmp_path, own_redis, *THREADS, FINISH_S_MAX=str(FINISH_S_MAX)) as worker:
        worker.send("finish", begun, never, never)
        wait_for(begun.exists, what="the task", seconds_max=START_S_MAX)
        assert FINISH_S_MAX - 1 < worker.seconds_to_end() < END_S_MAX


def test_a_worker_whose_supervisor_has_ended_already_ends_at_once() -> None:
    """The supervisor may die after Celery has taken over SIGTERM and before the worker looks for it."""
    ended = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True)
    code = "import sys, time; from schemalab.supervisor.end_with import end_with; end_with(int(sys.argv[1]))"
    argv = [sys.executable, "-c", f"{code}; time.sleep(60)", ended.stdout.strip()]
    worker = subprocess.run(argv, cwd=ROOT, start_new_session=True, timeout=30, capture_output=True)
    assert worker.returncode == -signal.SIGKILL
