"""What the Cluster page knows of a Spark worker that starts."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.template.loader import render_to_string

from catalog.models import StoryEvent
from spark_tasks import tasks
from spark_tasks.spark import java, session, warm_up_state
from spark_tasks.spark.warm_up_state import WorkerReport, read
from spark_tasks.streams import _spark

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def worker(redis_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[WorkerReport]:
    """A worker of its own, whose session starts at once."""
    report = WorkerReport()
    monkeypatch.setattr(tasks, "report", report)
    monkeypatch.setattr(session, "spark", lambda: None)
    monkeypatch.setattr(session, "warm_up", lambda: None)
    yield report
    report.end()


def shown() -> str:
    return render_to_string("parts/spark.html", {"part": _spark(0)}).strip()


def test_nothing_is_known_before_the_worker_says_it(redis_url: str) -> None:
    assert read() is None
    assert "has not reported yet" in shown()


def test_it_starts_its_session_then_python_then_it_is_warm(
    worker: WorkerReport, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    monkeypatch.setattr(session, "spark", lambda: seen.append(shown()))
    monkeypatch.setattr(session, "warm_up", lambda: seen.append(shown()))
    worker.begin()
    tasks.warm_up()
    assert "Starting the session" in seen[0]
    assert '<progress value="2" max="3">' in seen[1]
    assert shown() == ""
    assert StoryEvent.objects.get(stream="cluster").kind == "spark warm"


def test_a_session_that_cannot_start_says_why(worker: WorkerReport, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> None:
        raise java.NoJava("there is no Java; install one")

    monkeypatch.setattr(session, "spark", fails)
    worker.begin()
    with pytest.raises(java.NoJava):
        tasks.warm_up()
    assert "there is no Java; install one" in shown()


def test_a_redis_that_was_emptied_is_reported_again(
    worker: WorkerReport, redis_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(warm_up_state, "REPORT_S", 0.05)
    worker.begin()
    warm_up_state._redis(redis_url).flushall()
    deadline = time.monotonic() + 5
    while read() is None:
        assert time.monotonic() < deadline, "the state was not reported again within 5 s"
        time.sleep(0.01)


def test_without_redis_the_worker_starts_all_the_same(worker: WorkerReport, settings: Any) -> None:
    settings.REDIS_URL = "unix:///nowhere/redis.sock"
    worker.begin()
    tasks.warm_up()
    assert read() is None


def test_only_a_worker_for_spark_warms_up(worker: WorkerReport, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    monkeypatch.setattr(tasks.warm_up, "delay", lambda: sent.append("warm up"))
    for name in ("worker@host", "spark@host"):
        tasks.warm_up_when_ready(type("Worker", (), {"hostname": name}))
    assert sent == ["warm up"]
