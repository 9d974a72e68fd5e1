"""The life of a job (run, load or audit): waiting, running, done or failed; one attempt at a time.

An attempt with a stale heartbeat is replaced, and its later writes count no more. Failures in a row, without progress
in between, end the job; errors and silences count apart: stopping workers often does not make an error final, but a job
that ends its workers is not tried for ever. Each step is a control transaction: a frozen worker does not keep the job's
row (L7).
"""

import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Generic, TypeVar

from django.db.models import F, Q
from django.db.models.functions import Coalesce, Now

from catalog.models import Table
from catalog.services import OutOfTime, append_event, control_transaction
from catalog.story import CLUSTER, table_stream
from catalog.text.mistakes import in_words
from spark_tasks.models import Job, RunState

log = logging.getLogger(__name__)

STALE_S = 5.0
FAILURES_MAX = 3


class Refused(Exception):
    """The job cannot be done, and a retry would not help."""

    def __init__(self, why: str, **values: Any) -> None:
        super().__init__(why)
        self.values = values


class WasClosed(Exception):
    """The job was closed or taken over while this attempt worked on it."""


class WasPaused(Exception):
    """The job is to wait; starting it again continues."""


def append_event_of(job: Any, kind: str, about: dict[str, Any]) -> None:
    """One event of a job about a table."""
    table = Table.objects.filter(pk=job.table_id).values_list("name", flat=True).first() or str(job.table_id)
    append_event(kind, table, {"table": table} | about, [CLUSTER, table_stream(job.table_id)])


J = TypeVar("J", bound=Job)
Values = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Lifecycle(Generic[J]):
    """Claims, keeps alive, counts and ends the jobs of one table. `work` does what is left and returns columns for the
    end; `Refused` and `refusals` are final. `token` is the column that each claim moves; `wanted` limits claims;
    `heartbeat_at` is in the row `beats_of` a job; `rows_done` is its progress. `begin` and `announce` append claim and
    end to the story, in their transactions."""

    model: type[J]
    work: Callable[[J], Values]
    heartbeat: Callable[[J], AbstractContextManager[object]]
    refusals: tuple[type[Exception], ...] = ()
    errors_max: int = FAILURES_MAX
    silences_max: int = FAILURES_MAX
    silence: str = "the worker fell silent"
    given_up: str = "{error}"
    token: str = "attempt"  # noqa: S105
    wanted: Q = field(default_factory=Q)
    heartbeat_at: str = "heartbeat_at"
    beats_of: Callable[[J], Any] = lambda job: type(job).objects.filter(pk=job.pk)
    rows_done: Callable[[J], int] = lambda _job: 0
    begin: Callable[[J], object] = lambda _job: None
    announce: Callable[[J], object] = lambda _job: None

    def run(self, job_id: int) -> None:
        """Does what is left of a job, unless another attempt is alive. May be called twice."""
        try:
            job = self.claim(job_id)
            if job is not None:
                self._attempt(job)
        except OutOfTime as late:  # of a step of its life: that stands still, and the timetable sends the job again
            log.warning("%s %s: %s", self.model._meta.model_name, job_id, late)

    def _attempt(self, job: J) -> None:
        try:
            with self.heartbeat(job):
                values = self.work(job)
        except WasClosed as closed:
            log.info("%s", closed)
        except WasPaused as paused:
            log.info("%s", paused)
            self._mine(job).update(state=RunState.WAITING)
        except (Refused, *self.refusals) as refusal:
            self.end(job, RunState.FAILED, error=str(refusal), **getattr(refusal, "values", {}))
        except Exception as error:
            log.exception("%s failed in attempt %s", job, job.attempt)
            self._fail(job, in_words(error))
        else:
            self.end(job, RunState.DONE, **{"error": "", **values})

    def claim(self, job_id: int) -> J | None:
        """Becomes the job's attempt; None while another one is alive, and when it has ended. Checks again under the
        row's lock, since after a wait PostgreSQL re-reads that row only."""
        stale = Q(**{f"{self.heartbeat_at}__lt": Now() - timedelta(seconds=STALE_S)})
        claimable = self.model.objects.filter(
            Q(state=RunState.WAITING)
            | (Q(state=RunState.RUNNING) & (stale | Q(**{f"{self.heartbeat_at}__isnull": True}))),
            self.wanted,
            pk=job_id,
        )
        with control_transaction():
            is_locked = claimable.select_for_update(of=("self",)).first() is not None
            job = claimable.first() if is_locked else None
            if job is None:
                return None
            if job.state == RunState.RUNNING:
                silences = self._count(job, "silences")
                if silences >= self.silences_max:
                    self._give_up(job, self.silence.format(failures=silences), silences)
                    return None
            moved = {name: F(name) + 1 for name in {"attempt", self.token}}
            started = Coalesce("started_at", Now())
            self.model.objects.filter(pk=job_id).update(state=RunState.RUNNING, started_at=started, **moved)
            self.beats_of(job).update(heartbeat_at=Now())
            self.begin(job)
            return self.model.objects.get(pk=job_id)  # with our token: once the row is free, another may move it

    def dead(self) -> list[int]:
        heard_at = Coalesce(self.heartbeat_at, "created_at")
        undone = self.model.objects.filter(self.wanted, state__in=(RunState.WAITING, RunState.RUNNING))
        silent = undone.alias(heard_at=heard_at).filter(heard_at__lt=Now() - timedelta(seconds=STALE_S))
        return list(silent.values_list("pk", flat=True))

    def end(self, job: J, state: RunState, **values: Any) -> None:
        """Compare-and-set: only the current attempt ends the job."""
        with control_transaction():
            if self._mine(job).update(state=state, ended_at=Now(), **values):
                self.announce(job)

    def _fail(self, job: J, error: str) -> None:
        with control_transaction():
            locked = self._mine(job).select_for_update().first()
            if locked is None:
                return
            failures = self._count(locked, "failures")
            if failures >= self.errors_max:
                self._give_up(locked, error, failures)
            else:
                self._mine(job).update(state=RunState.WAITING, error=error)

    def _count(self, job: J, kind: str) -> int:
        """Failed attempts in a row, in this way; progress resets both counts."""
        done = self.rows_done(job)
        before = {"failures": 0, "silences": 0} if done > job.rows_done_at_failure else {kind: getattr(job, kind)}
        counts = before | {kind: before[kind] + 1}
        self.model.objects.filter(pk=job.pk).update(rows_done_at_failure=done, **counts)
        return counts[kind]

    def _give_up(self, job: J, error: str, failures: int) -> None:
        self.end(job, RunState.FAILED, error=self.given_up.format(failures=failures, error=error))

    def _mine(self, job: J) -> Any:
        return self.model.objects.filter(pk=job.pk, state=RunState.RUNNING, **{self.token: getattr(job, self.token)})
