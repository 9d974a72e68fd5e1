"""Who works on a run: at most one attempt at a time; a newer one shuts out the older.

waiting --claim--> running --all ranges done--> done
   ^                  |  heartbeat stale            failed: what, and which rows
   |                  +--claim by another attempt   (token moves: the old attempt writes no more)
   +--paused----------+
   +--an error--------+  the third in a row: failed

A pause and a worker's death are attempts that did not fail. Errors are in a row as long as no range got further in
between: a run that moves is tried again, since each attempt has less to do than the one before.
"""

import logging
from dataclasses import dataclass

from django.db import connection, transaction
from django.db.models.functions import Now

from catalog.descriptor import Descriptor
from catalog.selectors import descriptor_at
from spark_tasks.models import ReorgPulse, ReorgRun, RunState
from spark_tasks.runs.run_elements import Elements, elements_of

log = logging.getLogger(__name__)

STALE_S = 5.0
FAILURES_MAX = 3


class RunFailed(Exception):
    """The reorganisation cannot be done; the message says why, for people."""


class WasClosed(Exception):
    """The run was closed or taken over while this attempt worked on it."""


class WasPaused(Exception):
    """The run is to wait; starting it again goes on with the ranges that are left."""


@dataclass(frozen=True, slots=True)
class Claim:
    """This attempt's right to work on a run."""

    run: ReorgRun
    token: int

    @property
    def elements(self) -> Elements:
        return elements_of(self.run.elements)

    @property
    def pool(self) -> str:
        """The run's share of the Spark session (FAIR scheduling)."""
        return f"run-{self.run.id}"

    def descriptor(self) -> Descriptor:
        return descriptor_at(self.run.table_id, self.run.version)


CLAIM = """
UPDATE spark_tasks_reorgrun run
SET state = 'running', attempt = attempt + 1, token = token + 1, started_at = coalesce(started_at, clock_timestamp())
FROM spark_tasks_reorgpulse pulse
WHERE run.id = %s AND pulse.run_id = run.id AND NOT run.is_closed AND pulse.wanted = 'run'
  AND (run.state = 'waiting' OR run.state = 'running'
       AND coalesce(pulse.heartbeat_at, '-infinity') < clock_timestamp() - make_interval(secs => %s))
RETURNING run.token
"""


def claim_run(run_id: int) -> Claim | None:
    """Become the attempt that works on the run; None while another one is alive, and when it has ended."""
    with connection.cursor() as cursor:
        cursor.execute(CLAIM, [run_id, STALE_S])
        claimed = cursor.fetchone()
    if claimed is None:
        return None
    ReorgPulse.objects.filter(run_id=run_id).update(heartbeat_at=Now())
    return Claim(ReorgRun.objects.get(id=run_id), claimed[0])


MARKS = """WITH marks AS (
    SELECT coalesce(sum(rows_done), 0) AS done, sum(rows_total) AS total
    FROM spark_tasks_reorgrange WHERE run_id = %(run)s
)"""
TO_MARKS = """rows_done = greatest(pulse.rows_done, marks.done), rows_total = coalesce(marks.total, pulse.rows_total),
    share = greatest(pulse.share, least(1, marks.done::float8 / nullif(marks.total, 0)))"""
"""What is shown of a run comes to where its marks are, and never goes back (R11)."""
CATCH_UP = f"{MARKS} UPDATE spark_tasks_reorgpulse pulse SET {TO_MARKS} FROM marks WHERE pulse.run_id = %(run)s"


def end_run(claim: Claim, state: RunState, *, error: str = "") -> None:
    """Compare-and-set: only the attempt that still holds the run's token may end it. Its numbers are exact then."""
    with transaction.atomic(), connection.cursor() as cursor:
        ended = ReorgRun.objects.filter(id=claim.run.id, token=claim.token, state=RunState.RUNNING).update(
            state=state, error=error, violations=claim.run.violations, ended_at=Now()
        )
        if ended:
            cursor.execute(CATCH_UP, {"run": claim.run.id})
            cursor.execute("SELECT pg_notify('schemalab_reorg', %s)", [str(claim.run.id)])


def let_another_try(claim: Claim) -> None:
    ReorgRun.objects.filter(id=claim.run.id, token=claim.token).update(state=RunState.WAITING)


FAILURE = """
WITH marks AS (SELECT coalesce(sum(rows_done), 0) AS done FROM spark_tasks_reorgrange WHERE run_id = %(run)s)
UPDATE spark_tasks_reorgrun run
SET failures = CASE WHEN run.kind <> 'verify' AND marks.done > run.rows_done_at_failure THEN 1
    ELSE run.failures + 1 END,
    rows_done_at_failure = marks.done
FROM marks WHERE run.id = %(run)s AND run.token = %(token)s RETURNING run.failures
"""


def count_failure(claim: Claim) -> int:
    """How many attempts in a row have failed now. 0: this one was shut out, its failure is nobody's.

    An attempt that came further than the one before begins the count anew; a verification keeps nothing of it.
    """
    with connection.cursor() as cursor:
        cursor.execute(FAILURE, {"run": claim.run.id, "token": claim.token})
        counted = cursor.fetchone()
    return 0 if counted is None else int(counted[0])


def require_open(claim: Claim) -> None:
    """A run that others have closed, or taken over, makes no further one. Raises `WasClosed`."""
    if not ReorgRun.objects.select_for_update().filter(id=claim.run.id, token=claim.token):
        raise WasClosed(f"{claim.run} was closed or taken over in attempt {claim.run.attempt}")
