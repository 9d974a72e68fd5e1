"""Starts, observes, throttles, pauses and closes the reorganisations of a change. Starting is idempotent: a new
executor just asks again. The timetable sends lost messages again (`tasks.resend_dead_runs`)."""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import OperationalError, connection, transaction
from django.db.models import Count, Q

from catalog.hints import celery_app, send_hint
from catalog.services import control_transaction
from spark_tasks.jobs.claim import CATCH_UP
from spark_tasks.models import AuditJob, Kind, ReorgPulse, ReorgRun, RunRequest, RunState
from spark_tasks.runs.run_elements import elements_of
from spark_tasks.runs.throughput import eta_s

log = logging.getLogger(__name__)

CLOSE_LOCK_TIMEOUT = "1s"
CLOSE_TRIES_MAX = 10
HOLDER_LOOKS_MAX, HOLDER_LOOK_S = 10, 0.02
ASKING_FOR_AUDITS = 0x5C4F
"""The advisory lock (ASKING_FOR_AUDITS, table) under which an audit is asked for: one at a time for a table."""

Check = Callable[[Any], None]
"""Given the cursor of a transaction, raises when that must do nothing."""


class CannotClose(Exception):
    """Sessions that hold the run's row do not end."""


@dataclass(frozen=True, slots=True)
class RunStatus:
    """The state of a run. `rows_total` is an estimate until `is_exact`."""

    state: str
    kind: str
    rows_done: int
    rows_total: int
    is_exact: bool
    share: float
    rows_per_s: float
    is_stalled: bool
    eta_s: float | None
    seconds: float
    error: str
    violations: list[dict[str, Any]]
    attempt: int
    rows_per_s_max: float | None
    throttle_reason: str
    ranges_done: int
    ranges_total: int

    @property
    def has_ended(self) -> bool:
        return self.state in (RunState.DONE, RunState.FAILED)


def start_run(change_id: int, table_id: int, kind: str, elements: Sequence[Mapping[str, Any]], version: int) -> int:
    """The run of this step of a change, started now or before; `elements`: {"kind", "id", "name"}. Raises
    `NotReorganised`."""
    elements_of(elements)
    with control_transaction():
        run, _ = ReorgRun.objects.get_or_create(
            change_id=change_id,
            kind=kind,
            version=version,
            defaults={"table_id": table_id, "elements": [dict(element) for element in elements]},
        )
        names = ("slower_ms_max", "throughput_min")
        last = ReorgPulse.objects.filter(run__change_id=change_id).order_by("-run_id").values(*names).first()
        ReorgPulse.objects.get_or_create(run=run, defaults=dict(last or {}))
        if run.state == RunState.WAITING:
            transaction.on_commit(lambda: send_run(run.id), robust=True)
    return int(run.id)


def send_run(run_id: int) -> None:
    send_hint(celery_app().signature("spark_tasks.tasks.reorganise").apply_async, run_id, "run")


@dataclass(frozen=True, slots=True)
class RangeCounts:
    total: int
    done: int
    unread: int


def range_counts(run: ReorgRun) -> RangeCounts:
    """Counts ranges; a verification reports rows before it has read all of a range."""
    is_read = {} if run.kind == Kind.VERIFY else {"rows_done": 0}
    unread = Count("pk", filter=Q(is_done=False, **is_read))
    found = run.ranges.aggregate(total=Count("pk"), done=Count("pk", filter=Q(is_done=True)), unread=unread)
    return RangeCounts(**found)


def run_status(run_id: int) -> RunStatus:
    return status_of(ReorgRun.objects.select_related("pulse").get(id=run_id))


def status_of(run: ReorgRun) -> RunStatus:
    pulse, ranges = run.pulse, range_counts(run)
    left = max(pulse.rows_total - pulse.rows_done, 0)
    is_running, is_done = run.state == RunState.RUNNING, run.state == RunState.DONE
    return RunStatus(
        state=run.state,
        kind=run.kind,
        rows_done=pulse.rows_done,
        rows_total=max(pulse.rows_total, pulse.rows_done),
        is_exact=is_done or (bool(ranges.total) and not ranges.unread),
        share=1.0 if is_done else pulse.share,
        rows_per_s=pulse.rows_per_s,
        is_stalled=is_running and pulse.is_stalled,
        eta_s=eta_s(left=left, rows_per_s=pulse.rows_per_s) if is_running else None,
        seconds=run.seconds,
        error=run.error,
        violations=run.violations,
        attempt=run.attempt,
        rows_per_s_max=pulse.rows_per_s_max,
        throttle_reason=pulse.throttle_reason,
        ranges_done=ranges.done,
        ranges_total=ranges.total,
    )


def throttle_run(run_id: int, rows_per_s_max: float | None, *, reason: str = "") -> None:
    """Limits the rows per second from the next chunk on; None: no limit (R11)."""
    ReorgPulse.objects.filter(run_id=run_id).update(rows_per_s_max=rows_per_s_max, throttle_reason=reason)


def aim_run(run_id: int, *, slower_ms_max: float, throughput_min: float) -> None:
    """Sets the target: how much slower statements may be, and the share of them that is left."""
    ReorgPulse.objects.filter(run_id=run_id).update(slower_ms_max=slower_ms_max, throughput_min=throughput_min)


def pause_run(run_id: int, *, check: Check = lambda _cursor: None) -> None:
    """After its return no chunk of the run commits until it is wanted and claimed again. Steps and `check` as
    `close_run`."""
    with control_transaction() as cursor:
        check(cursor)
        ReorgPulse.objects.filter(run_id=run_id, wanted=RunRequest.RUN).update(wanted=RunRequest.PAUSE)
    _shut_out(run_id, PAUSED, check)


def close_run(run_id: int, *, check: Check = lambda _cursor: None) -> None:
    """After its return nothing of the run is written (R7). Closing twice is nothing. First no chunk begins, then the
    token moves, which waits for chunks that hold the run's row; a session that holds it longer than a second is ended.
    Each transaction begins with `check`, which raises when the caller may not close any more (X2)."""
    with control_transaction() as cursor:
        check(cursor)
        ReorgPulse.objects.filter(run_id=run_id).update(wanted=RunRequest.CLOSE)
    _shut_out(run_id, CLOSED, check)


PAUSED = """UPDATE spark_tasks_reorgrun SET token = token + 1, state = 'waiting'
WHERE id = %s AND NOT is_closed AND state IN ('waiting', 'running')"""
"""A waiting run too: a claim may just have locked it, and an UPDATE waits only for rows that it finds as they were."""
CLOSED = """UPDATE spark_tasks_reorgrun SET token = token + 1, is_closed = true,
state = CASE WHEN state IN ('waiting', 'running') THEN 'failed' ELSE state END,
ended_at = CASE WHEN state IN ('waiting', 'running') THEN statement_timestamp() ELSE ended_at END,
error = CASE WHEN state IN ('waiting', 'running') THEN 'closed before it ended' ELSE error END
WHERE id = %s AND NOT is_closed"""


def _shut_out(run_id: int, update: str, check: Check) -> None:
    for _ in range(CLOSE_TRIES_MAX):
        if _move_token(run_id, update, check):
            return
        # ends the sessions that hold the run's row in a transaction of more than a second
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_terminate_backend(pid, 1000), pid FROM pg_stat_activity WHERE datname = current_database()"
                " AND pid = ANY(%s) AND xact_start < clock_timestamp() - interval '1 s'",
                [_holders(run_id)],
            )
            for ended, pid in cursor.fetchall():
                log.warning("run %s: session %s held its row while it was closed; ended: %s", run_id, pid, ended)
    raise CannotClose(f"run {run_id} cannot be closed: its row is locked and its holders would not end")


def _move_token(run_id: int, update: str, check: Check) -> bool:
    try:
        with control_transaction() as cursor:
            check(cursor)
            cursor.execute(f"SET LOCAL lock_timeout = '{CLOSE_LOCK_TIMEOUT}'")
            cursor.execute(update, [run_id])
            cursor.execute(CATCH_UP, {"run": run_id})
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", None) != "55P03":
            raise
        return False
    return True


def _holders(run_id: int) -> list[int]:
    """The sessions that hold the run's row. Row locks are not listed: the server knows whom a waiting session waits
    for."""
    asker = connection.copy()
    try:
        asker.connect()
        asked = asker.connection
        question = f"SELECT 1 FROM spark_tasks_reorgrun WHERE id = {int(run_id)} FOR UPDATE"
        asked.pgconn.send_query(f"SET lock_timeout = '{CLOSE_LOCK_TIMEOUT}'; {question}".encode())
        with connection.cursor() as cursor:
            for _ in range(HOLDER_LOOKS_MAX):
                cursor.execute("SELECT pg_blocking_pids(%s)", [asked.info.backend_pid])
                holders = cursor.fetchone()[0]
                if holders:
                    return list(holders)
                time.sleep(HOLDER_LOOK_S)
    finally:
        asker.close()
    return []


def request_audit(table_id: int) -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", (ASKING_FOR_AUDITS, table_id))
        found = AuditJob.objects.filter(table_id=table_id, ended_at__isnull=True).order_by("-id").first()
        job = found or AuditJob.objects.create(table_id=table_id)
        transaction.on_commit(lambda: send_audit(job.id), robust=True)
    return int(job.id)


def send_audit(job_id: int) -> None:
    """Sent again for a job under way, too, whose first message may be lost."""
    send_hint(celery_app().signature("spark_tasks.tasks.audit").apply_async, job_id, "audit")


def send_load(job_id: int) -> None:
    send_hint(celery_app().signature("spark_tasks.tasks.load").apply_async, job_id, "load")
