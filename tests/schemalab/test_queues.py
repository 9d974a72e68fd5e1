"""Every task has a process that does it, and no number of blocked changes stands between the clock and its work."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from kombu.exceptions import OperationalError as BrokerDown
from redis import Redis
from redis.exceptions import OutOfMemoryError

from changes.models import Change
from changes.notices import send_driver
from schemalab.celery import app
from schemalab.launch.procfile import read_procfile
from spark_tasks.services import send_audit, send_load, send_run

ROOT = Path(__file__).parents[2]


def queue_of(task: str) -> str:
    return app.amqp.router.route({}, task)["queue"].name


def consumers() -> dict[str, str]:
    """queue -> the process of the Procfile that consumes it; each but one."""
    commands = read_procfile((ROOT / "Procfile").read_text())
    words = {name: command.split() for name, command in commands.items() if "--queues" in command}
    return {word[word.index("--queues") + 1]: name for name, word in words.items()}


def test_every_task_is_done_by_some_process() -> None:
    app.loader.import_default_modules()
    ours = [name for name in app.tasks if not name.startswith("celery.")]
    assert "changes.tasks.drive" in ours
    assert {queue_of(task) for task in ours} == set(consumers())


def test_the_clock_s_work_never_waits_behind_drivers() -> None:
    """A driver holds its thread for the whole life of a change."""
    app.finalize()
    regular = {entry["task"] for entry in app.conf.beat_schedule.values()}
    assert {"leases.tasks.expire_leases", "leases.tasks.watch_nodes", "changes.tasks.find_stuck"} <= regular
    assert queue_of("changes.tasks.drive") not in {queue_of(task) for task in regular}


def test_what_the_clock_asks_for_again_and_again_does_not_pile_up() -> None:
    app.finalize()
    assert all(entry["options"]["expires"] <= entry["schedule"] for entry in app.conf.beat_schedule.values())


def test_a_driver_that_was_asked_for_long_ago_is_asked_for_again_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[dict[str, object]] = []
    monkeypatch.setattr("schemalab.celery.app.send_task", lambda *_, **options: sent.append(options))
    send_driver(Change(pk=7).pk)
    assert sent[0]["expires"] == 10


@pytest.mark.parametrize("send", [send_driver, send_run, send_load, send_audit])
@pytest.mark.parametrize("error", [BrokerDown("no broker"), OutOfMemoryError("no room"), ConnectionRefusedError()])
def test_a_broker_that_is_away_fails_nobody_and_is_asked_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, send: Callable[[int], None], error: Exception
) -> None:
    asked: list[dict[str, object]] = []

    def away(*_: object, **options: object) -> None:
        asked.append(options)
        raise error

    monkeypatch.setattr("schemalab.celery.app.send_task", away)
    monkeypatch.setattr("celery.canvas.Signature.apply_async", away)
    send(7)
    assert [options["retry"] for options in asked] == [False]
    assert "7 not sent to a worker, the timetable will" in caplog.text


@pytest.mark.parametrize("send", [send_run, send_load, send_audit])
def test_what_the_timetable_sends_again_does_not_pile_up(redis_url: str, send: Callable[[int], None]) -> None:
    send(7)
    with Redis.from_url(redis_url) as broker:
        [message] = broker.lrange("celery:spark", 0, -1)
    expires_at = json.loads(message)["headers"]["expires"]
    assert expires_at is not None
    assert datetime.fromisoformat(expires_at) - datetime.now(UTC) <= timedelta(seconds=10)
