"""An audit reads every pair of a table: it is done once, by one worker, however often somebody asks."""

import re
from collections.abc import Callable, Iterator
from io import StringIO

import pytest
from django.core.management import call_command

from catalog.models import Table
from catalog.selectors import events_since
from catalog.story import table_stream
from spark_tasks.checks.audit import Report
from spark_tasks.jobs import audits as audit_jobs
from spark_tasks.jobs import worker_state
from spark_tasks.jobs.audits import AUDITS, values_of
from spark_tasks.jobs.lifecycle import FAILURES_MAX
from spark_tasks.management.commands import audit as audit_command
from spark_tasks.models import AuditJob, RunState
from spark_tasks.services import request_audit
from tests.storage.stage import Stage, user


@pytest.fixture
def asked(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Iterator[AuditJob]:
    """An audit of a table of three rows that somebody has asked for."""
    monkeypatch.setattr("spark_tasks.services.send_audit", lambda job_id: None)
    stage.insert(user(stage.now, n, f"name {n}") for n in range(3))
    yield AuditJob.objects.get(id=request_audit(stage.table_id))
    AuditJob.objects.filter(table_id=stage.table_id).delete()


def seen(job: AuditJob) -> AuditJob:
    job.refresh_from_db()
    return job


def fall_silent(stage: Stage, job: AuditJob) -> None:
    stage.sql(
        "UPDATE spark_tasks_auditjob SET heartbeat_at = clock_timestamp() - interval '1 minute' WHERE id = %s", [job.id]
    )


def test_a_job_keeps_its_report(asked: AuditJob) -> None:
    AUDITS.run(asked.id)
    job = seen(asked)
    assert (job.state, job.attempt, job.rows, job.pairs, job.violations) == ("done", 1, 3, 9, [])
    assert job.heartbeat_at is not None
    assert job.ended_at is not None


def told(stage: Stage) -> list[str]:
    """The story of the table about audits, in sentences, oldest first; how long they took is left out."""
    events = [one for one in events_since(table_stream(stage.table_id), 0) if one["kind"].startswith("audit ")]
    name = Table.objects.get(pk=stage.table_id).name
    return [re.sub(r"in [\d.]+ s", "in so long", one["sentence"].replace(name, "users")) for one in events]


def test_the_story_tells_its_beginning_and_what_was_found(
    stage: Stage, asked: AuditJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, whichever attempt it is."""
    AUDITS.claim(asked.id)
    fall_silent(stage, asked)
    AUDITS.run(asked.id)
    started = "An audit of users started."
    told_first = [started, "The audit of users found that all seven clauses hold: 3 rows in so long."]
    assert told(stage) == told_first
    torn = Report("users", [1], 3, 9, 0.1, violations_total=1200)
    monkeypatch.setattr(audit_jobs, "audit_table", lambda *_, **__: torn)
    AUDITS.run(request_audit(stage.table_id))
    told_next = [*told_first, started, "The audit of users found violations in 3 rows: 1,200."]
    assert told(stage) == told_next

    def broken(*_: object, **__: object) -> Report:
        raise ValueError("a page is torn")

    monkeypatch.setattr(audit_jobs, "audit_table", broken)
    AUDITS.run(request_audit(stage.table_id))
    assert told(stage) == [*told_next, started, "The audit of users could not be finished: a page is torn"]
    assert [one["kind"] for one in events_since("cluster", 0) if one["payload"].get("audit") == asked.pk] == [
        "audit started",
        "audit finished",
    ]


def test_a_second_click_or_message_starts_no_second_audit(asked: AuditJob, monkeypatch: pytest.MonkeyPatch) -> None:
    audits: list[int] = []

    def audit_once(_dsn: str, table_id: int, **_: object) -> Report:
        audits.append(table_id)
        assert request_audit(table_id) == asked.id, "a click while it runs finds it"
        AUDITS.run(asked.id)
        return Report("users", [1], 3, 9, 0.1)

    monkeypatch.setattr(audit_jobs, "audit_table", audit_once)
    AUDITS.run(asked.id)
    AUDITS.run(asked.id)
    assert (audits, seen(asked).state, seen(asked).attempt) == ([asked.table_id], "done", 1)
    assert request_audit(asked.table_id) != asked.id, "what has ended is not found again"


def test_a_silent_attempt_is_replaced_and_its_report_counts_no_more(stage: Stage, asked: AuditJob) -> None:
    lost = AUDITS.claim(asked.id)
    assert lost is not None
    assert lost.attempt == 1
    assert AUDITS.claim(asked.id) is None
    assert asked.id not in AUDITS.dead()
    fall_silent(stage, asked)
    assert asked.id in AUDITS.dead()
    next_one = AUDITS.claim(asked.id)
    assert next_one is not None
    assert next_one.attempt == 2
    AUDITS.end(lost, RunState.DONE, **values_of(Report("users", [1], 99, 99, 0.1)))
    assert (seen(asked).state, seen(asked).rows) == ("running", 0)
    AUDITS.end(next_one, RunState.DONE, **values_of(Report("users", [1], 3, 9, 0.1)))
    assert (seen(asked).state, seen(asked).rows) == ("done", 3)


def test_a_message_that_was_lost_is_sent_again(stage: Stage, asked: AuditJob) -> None:
    assert asked.id not in AUDITS.dead()
    stage.sql("UPDATE spark_tasks_auditjob SET created_at = created_at - interval '1 minute' WHERE id = %s", [asked.id])
    assert asked.id in AUDITS.dead()


def test_an_unexpected_error_is_kept_with_the_job(asked: AuditJob, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> Report:
        raise ValueError("a page is torn\nat byte 7")

    monkeypatch.setattr(audit_jobs, "audit_table", broken)
    AUDITS.run(asked.id)
    job = seen(asked)
    assert (job.state, job.error) == ("failed", "a page is torn")
    assert job.ended_at is not None


def test_an_audit_that_kills_its_workers_ends(stage: Stage, asked: AuditJob) -> None:
    for attempt in range(1, FAILURES_MAX + 1):
        claimed = AUDITS.claim(asked.id)
        assert claimed is not None
        assert claimed.attempt == attempt
        fall_silent(stage, asked)
    AUDITS.run(asked.id)
    assert (seen(asked).state, seen(asked).error) == ("failed", "the workers of 3 attempts fell silent")
    assert asked.id not in AUDITS.dead()


def test_a_table_without_a_version_says_so(asked: AuditJob) -> None:
    nowhere = AuditJob.objects.create(table_id=0)
    AUDITS.run(nowhere.id)
    assert (seen(nowhere).state, nowhere.error) == ("failed", "table 0 has no published version")
    nowhere.delete()


def test_a_command_sends_the_audit_it_waits_for_and_asks_for_no_other(
    asked: AuditJob, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends just before it would be sent again: whoever asked for one then would begin another."""
    sent: list[int] = []

    def ends_meanwhile(job: AuditJob, *, resend: Callable[[], object], **_: object) -> None:
        AUDITS.run(job.id)
        resend()
        job.refresh_from_db()

    monkeypatch.setattr(worker_state, "is_listening", lambda: True)
    monkeypatch.setattr(worker_state, "wait_until_ended", ends_meanwhile)
    monkeypatch.setattr(audit_command, "send_audit", sent.append)
    call_command("audit", f"users_{asked.table_id}", stdout=StringIO())
    assert sent == [asked.id]
    assert AuditJob.objects.filter(table_id=asked.table_id).count() == 1
