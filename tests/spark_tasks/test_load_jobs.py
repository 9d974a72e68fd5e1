"""A load that was interrupted goes on by itself, and one that cannot be done ends and says why."""

import re
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models.functions import Now
from django.utils.timezone import now

from catalog.live.snapshot import read_state
from catalog.models import Table
from catalog.selectors import events_since
from catalog.story import table_stream
from lab.management.commands import demo
from schemalab.polling import wait_for
from spark_tasks import tasks
from spark_tasks.jobs import loads
from spark_tasks.jobs.loads import LOADS, start_anew
from spark_tasks.load.chunk import PartResult
from spark_tasks.load.file_rows import CannotLoad
from spark_tasks.models import LoadJob, LoadMark, RunState
from tests.storage.stage import Stage


@pytest.fixture
def asked(stage: Stage) -> Iterator[LoadJob]:
    """A load that somebody has asked for."""
    job = LoadJob.objects.create(table_id=stage.table_id, path="people.csv")
    yield job
    LoadMark.objects.filter(job_id=job.pk).delete()
    LoadJob.objects.filter(table_id=stage.table_id).delete()


@pytest.fixture
def reading(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """What reading the file does instead."""

    def read(load: Callable[[], object]) -> None:
        monkeypatch.setattr(loads, "load_file", lambda job: load() or [PartResult(rows=1)])

    return read


def fail() -> None:
    raise ConnectionError("the gateway is gone")


def seen(job: LoadJob) -> LoadJob:
    job.refresh_from_db()
    return job


def pass_time(stage: Stage, job: LoadJob) -> None:
    earlier = "clock_timestamp() - interval '1 minute'"
    stage.sql(
        f"UPDATE spark_tasks_loadjob SET created_at = {earlier}, heartbeat_at = CASE WHEN heartbeat_at IS NOT NULL"
        f" THEN {earlier} END WHERE id = %s",
        [job.id],
    )


def test_an_interrupted_load_is_sent_again_and_goes_on(
    stage: Stage, asked: LoadJob, reading: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[int] = []
    monkeypatch.setattr(tasks, "send_load", sent.append)
    lost = LOADS.claim(asked.id)
    assert lost is not None
    assert LOADS.claim(asked.id) is None, "the first attempt is alive"
    assert asked.id not in LOADS.dead()
    pass_time(stage, asked)
    tasks.resend_dead_runs()
    assert asked.id in sent
    reading(lambda: None)
    LOADS.run(asked.id)
    assert (seen(asked).state, asked.attempt, asked.error) == ("done", 2, "")
    LOADS.end(lost, RunState.FAILED, error="too late")
    assert (seen(asked).state, asked.error) == ("done", "")
    assert asked.id not in LOADS.dead()


def name_in_story(stage: Stage) -> str:
    return Table.objects.get(pk=stage.table_id).name


def told(stage: Stage) -> list[str]:
    """The story of the table about loads, in sentences, oldest first; how long they took is left out."""
    events = events_since(table_stream(stage.table_id), 0)
    words = [event["sentence"] for event in events if event["kind"].startswith("load ")]
    return [re.sub(r"in [\d.]+ s \([\d,.]+ rows/s\)", "in so long", one) for one in words]


def test_a_load_tells_its_beginning_and_its_end_once(
    stage: Stage, asked: LoadJob, reading: Callable[..., None]
) -> None:
    """Not each attempt: the second one goes on with the same load."""
    started = f"The load of people.csv into {name_in_story(stage)} started."
    reading(fail)
    LOADS.run(asked.id)
    assert told(stage) == [started]
    reading(lambda: LoadMark.objects.create(job=asked, first=0, rows=3) and None)
    LOADS.run(asked.id)
    assert told(stage) == [started, f"3 rows of people.csv were loaded into {name_in_story(stage)} in so long."]
    assert any(event["payload"].get("load") == asked.pk for event in events_since("cluster", 0))


def test_a_slow_load_has_a_rate_that_is_not_zero(stage: Stage, asked: LoadJob, reading: Callable[..., None]) -> None:
    hour_ago = now() - timedelta(hours=1)
    LoadJob.objects.filter(pk=asked.pk).update(started_at=hour_ago)
    reading(lambda: LoadMark.objects.create(job=asked, first=0, rows=500) and None)
    LOADS.run(asked.id)
    [ended] = [
        one["payload"] for one in events_since(table_stream(stage.table_id), 0) if one["kind"] == "load finished"
    ]
    assert ended["per_s"] == 0.1


def test_a_load_that_failed_tells_how_far_it_came_and_why(
    stage: Stage, asked: LoadJob, reading: Callable[..., None]
) -> None:
    def refuse() -> None:
        raise CannotLoad(why)

    why = "line 2 has one field too many"
    started = f"The load of people.csv into {name_in_story(stage)} started."
    reading(refuse)
    LOADS.run(asked.id)
    failed = f"The load of people.csv into {name_in_story(stage)} failed, and no row of it is there: {why}"
    assert told(stage) == [started, failed]
    start_anew(asked)
    LoadMark.objects.create(job=asked, first=0, rows=1)
    LOADS.run(asked.id)
    again = f"The load of people.csv into {name_in_story(stage)} failed after 1 row: {why}"
    assert told(stage) == [started, failed, started, again]


def test_a_load_says_its_file_its_rows_and_its_table_on_the_page(
    stage: Stage, asked: LoadJob, reading: Callable[..., None]
) -> None:
    def shown() -> list[Any]:
        return [one for one in read_state("cluster")["load"]["loads"] if one["table_id"] == stage.table_id]

    assert [(one["file"], one["state"], one["done"]) for one in shown()] == [("people.csv", "waiting", 0)]
    LoadJob.objects.filter(pk=asked.pk).update(state=RunState.FAILED, ended_at=Now(), error="too late")
    assert [one["error"] for one in shown()] == ["too late"]
    LoadJob.objects.create(table_id=stage.table_id, path="people.csv")
    assert [one["state"] for one in shown()] == ["waiting"], "the failed one was started again"


def test_a_message_that_was_lost_is_sent_again(stage: Stage, asked: LoadJob) -> None:
    assert asked.id not in LOADS.dead()
    pass_time(stage, asked)
    assert asked.id in LOADS.dead()


def test_an_error_is_kept_and_the_load_is_tried_again_up_to_a_limit(
    stage: Stage, asked: LoadJob, reading: Callable[..., None]
) -> None:
    reading(fail)
    for attempt in (1, 2):
        LOADS.run(asked.id)
        assert (seen(asked).state, asked.attempt) == ("waiting", attempt)
        assert asked.error == "the gateway is gone"
    assert asked.id not in LOADS.dead(), "not at once"
    pass_time(stage, asked)
    assert asked.id in LOADS.dead()
    LOADS.run(asked.id)
    words = "given up after 3 attempts in a row that loaded nothing: the gateway is gone"
    assert (seen(asked).state, asked.error) == ("failed", words)
    assert asked.ended_at is not None
    assert asked.id not in LOADS.dead()


def test_failures_are_counted_anew_when_rows_came_in(asked: LoadJob, reading: Callable[..., None]) -> None:
    reading(fail)
    for _ in range(2):
        LOADS.run(asked.id)
    LoadMark.objects.create(job=asked, first=0, rows=5)
    for _ in range(2):
        LOADS.run(asked.id)
    assert (seen(asked).state, asked.rows_done, asked.failures) == ("waiting", 5, 2)


def test_a_load_whose_last_heartbeat_is_lost_has_all_its_rows(
    stage: Stage, asked: LoadJob, reading: Callable[..., None]
) -> None:
    def load_and_lose_the_connection() -> None:
        claimed_at = seen(asked).heartbeat_at
        wait_for(lambda: seen(asked).heartbeat_at > claimed_at, what="the first heartbeat", seconds_max=10)
        LoadMark.objects.create(job=asked, first=0, rows=5)
        stage.sql(
            "SELECT pg_terminate_backend(pid, 1000) FROM pg_stat_activity"
            " WHERE datname = current_database() AND application_name = 'schemalab heartbeat'"
        )

    reading(load_and_lose_the_connection)
    LOADS.run(asked.id)
    assert (seen(asked).state, asked.rows_done) == ("done", 5)


def test_a_file_that_kills_its_workers_ends(stage: Stage, asked: LoadJob) -> None:
    for _ in range(3):
        assert LOADS.claim(asked.id) is not None
        pass_time(stage, asked)
    assert LOADS.claim(asked.id) is None
    assert (seen(asked).state, asked.attempt) == ("failed", 3)
    assert "the worker fell silent" in asked.error


def test_a_refusal_is_final(asked: LoadJob, reading: Callable[..., None]) -> None:
    def refuse() -> None:
        raise CannotLoad("people.csv is neither .csv nor .parquet")

    reading(refuse)
    LOADS.run(asked.id)
    assert (seen(asked).state, asked.attempt, asked.failures) == ("failed", 1, 0)


@pytest.mark.parametrize(
    ("file", "table", "message"),
    [("nowhere.csv", None, "there is no file nowhere.csv"), (__file__, "nothing", "there is no table nothing")],
)
def test_a_load_of_what_is_not_there_is_bad_usage(stage: Stage, file: str, table: str | None, message: str) -> None:
    with pytest.raises(CommandError, match=message) as refused:
        call_command("load", file, table=table or f"users_{stage.table_id}")
    assert refused.value.returncode == 2
    assert not LoadJob.objects.filter(table_id=stage.table_id).exists()


# --- the demo's


def test_the_demo_starts_a_failed_load_anew(asked: LoadJob, reading: Callable[..., None]) -> None:
    reading(fail)
    for _ in range(3):
        LOADS.run(asked.id)
    assert seen(asked).state == "failed"
    found = demo.Command()._job(asked.table_id, asked.path)
    assert (found.id, found.state, found.error) == (asked.id, "waiting", "")
    assert (found.failures, found.silences) == (0, 0)
    reading(lambda: None)
    LOADS.run(asked.id)
    start_anew(asked)
    assert seen(asked).state == "done", "what is done is left alone"
    assert demo.Command()._job(asked.table_id, asked.path).id == asked.id


@pytest.mark.parametrize("end", [RunState.DONE, RunState.FAILED, None], ids=["done", "failed", "out of time"])
def test_the_demo_listens_no_longer_than_it_waits(
    asked: LoadJob, monkeypatch: pytest.MonkeyPatch, end: RunState | None
) -> None:
    def send(job_id: int) -> None:
        if end is not None:
            LoadJob.objects.filter(pk=job_id).update(state=end)

    monkeypatch.setattr(demo, "send_load", send)
    monkeypatch.setattr(demo, "WAIT_S_MAX", 0.0 if end is None else 5.0)
    with nullcontext() if end is RunState.DONE else pytest.raises(CommandError):
        demo.Command()._wait_for(asked)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_listening_channels()")
        assert cursor.fetchall() == []


def test_the_demo_sends_its_load_again(stage: Stage, asked: LoadJob, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[int] = []

    def send(job_id: int) -> None:
        sent.append(job_id)
        if len(sent) == 2:
            LoadJob.objects.filter(id=job_id).update(state="done")

    monkeypatch.setattr(demo, "send_load", send)
    monkeypatch.setattr(demo, "LOOK_AGAIN_S", 0.01)
    monkeypatch.setattr(demo, "WAIT_S_MAX", 5.0)
    pass_time(stage, asked)
    demo.Command()._wait_for(asked)
    assert sent == [asked.id] * 2
