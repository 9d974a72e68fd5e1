"""Redis dies under a worker that is busy: the worker stays, finishes what it does, and takes what is new."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from celery import Celery

from schemalab.celery import kombu_url
from schemalab.polling import wait_for
from schemalab.supervisor.children import Launch, start, stop
from tests.harness.cluster import ROOT, environment_of
from tests.leases.own_redis import OwnRedis

LIMIT_S = 30.0


@pytest.fixture
def own_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OwnRedis]:
    server = OwnRedis(tmp_path_factory.mktemp("redis"))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "worker.log"


@pytest.fixture
def worker(tmp_path: Path, own_redis: OwnRedis, log: Path) -> Iterator["subprocess.Popen[bytes]"]:
    words = ("-m", "celery", "--quiet", "-A", "tests.schemalab.waiting_worker", "worker", "--pool", "threads")
    options = ("--concurrency", "4", "--queues", "default", "--without-gossip", "--without-mingle")
    env = environment_of(tmp_path, REDIS_URL=own_redis.url)
    launch = Launch(argv=(sys.executable, *words, *options), env=env, cwd=ROOT)
    child = start(launch, output=log)
    yield child
    stop(child, launch)


def test_a_busy_worker_outlives_redis(
    tmp_path: Path, own_redis: OwnRedis, worker: "subprocess.Popen[bytes]", log: Path
) -> None:
    client = Celery(broker=kombu_url(own_redis.url), set_as_current=False)
    client.conf.broker_transport_options = {"global_keyprefix": "celery:"}

    def says(word: str) -> None:
        wait_for(lambda: f"the task {word}" in log.read_text(), what=word, seconds_max=LIMIT_S)

    with client.connection() as connection:
        client.send_task("tests.hold", [str(tmp_path / "enough")], queue="default", connection=connection)
    says("holds")
    for _ in range(2):
        own_redis.stop()
        own_redis.start()
    with client.connection() as connection:
        client.send_task("tests.greet", queue="default", connection=connection)
    says("greets")
    (tmp_path / "enough").touch()
    says("has ended")
    assert worker.poll() is None
