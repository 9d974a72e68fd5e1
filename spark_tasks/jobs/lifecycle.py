"""The life of a job, be it a run, a load or an audit: at most one attempt at a time; a newer one shuts out the older.

    waiting --claim--> running --all is done--> done
       ^                  |  heartbeat stale: another attempt is claimed, and what the older one writes counts no more
       +--paused----------+
       +--an error--------+  a refusal, or too many failures in a row--> failed, and why

Failures are in a row as long as nothing got further in between: a job that moves is tried again, since each attempt has
less to do than the one before. Errors and silences are counted each by itself: whoever stops workers often does not
make an error final, but a job that ends its workers is not tried for ever. The message to the worker is only a hint:
the timetable sends a lost one again.
Each step is a control transaction: a worker that is frozen within one does not keep the job's row (L7).
"""

import logging
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Generic, TypeVar

from django.db.models import F, Q
from django.db.models.functions import Coalesce, Now

from catalog.services import OutOfTime, control_transaction
from catalog.text.mistakes import in_words
from spark_tasks.models import Job, RunState

log = logging.getLogger(__name__)

STALE_S = 5.0
FAILURES_MAX = 3


class Refused(Exception):
    """The job cannot be done, and trying again would not help: why, for people, and what else is stored of it."""

    def __init__(self, why: str, **values: Any) -> None:
        super().__init__(why)
        self.values = values


class WasClosed(Exception):
    """The job was closed or taken over while this attempt worked on it."""


class WasPaused(Exception):
    """The job is to wait; starting it again goes on with what is left."""


J = TypeVar("J", bound=Job)
Values = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Lifecycle(Generic[J]):
    """The way in which the jobs of one table are claimed, kept alive, counted and ended.

    `work` does what is left of a job and returns what else is stored of its end; `Refused` and `refusals` are final.
    `token` is the column that each claim moves and that an older attempt no longer has; `wanted` limits what may be
    claimed; `heartbeat_at` is where the heartbeat is kept, in the row `beats_of` a job; `rows_done` says how far it is.
    `begin` and `announce` tell of a claim, given the job as it was before, and of its end, in the transactions that
    make them true.
    """

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
        """Do what is left of a job, unless another attempt is alive. May be called twice, at once or later."""
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
        """Become the attempt that works on the job; None while another one is alive, and when it has ended.

        Asked again once the row is locked: after a wait for it PostgreSQL looks at that row anew, at no other (a
        run's pulse).
        """
        claimable = self.model.objects.filter(Q(state=RunState.WAITING) | self._is_silent(), self.wanted, pk=job_id)
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
        """The jobs that should be worked on, and nobody does."""
        heard_at = Coalesce(self.heartbeat_at, "created_at")
        undone = self.model.objects.filter(self.wanted, state__in=(RunState.WAITING, RunState.RUNNING))
        silent = undone.alias(heard_at=heard_at).filter(heard_at__lt=Now() - timedelta(seconds=STALE_S))
        return list(silent.values_list("pk", flat=True))

    def end(self, job: J, state: RunState, **values: Any) -> None:
        """Compare-and-set: only the attempt that nobody has replaced may end the job."""
        with control_transaction():
            if self._mine(job).update(state=state, ended_at=Now(), **values):
                self.announce(job)

    def _fail(self, job: J, error: str) -> None:
        """Another attempt after a failure, or the end after too many in a row. A replaced attempt's is nobody's."""
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
        """The attempts in a row that have failed now, in this way; a job that came further begins both counts anew."""
        done = self.rows_done(job)
        before = {"failures": 0, "silences": 0} if done > job.rows_done_at_failure else {kind: getattr(job, kind)}
        counts = before | {kind: before[kind] + 1}
        self.model.objects.filter(pk=job.pk).update(rows_done_at_failure=done, **counts)
        return counts[kind]

    def _give_up(self, job: J, error: str, failures: int) -> None:
        self.end(job, RunState.FAILED, error=self.given_up.format(failures=failures, error=error))

    def _mine(self, job: J) -> Any:
        """The job's row while this attempt works on it."""
        return self.model.objects.filter(pk=job.pk, state=RunState.RUNNING, **{self.token: getattr(job, self.token)})

    def _is_silent(self) -> Q:
        stale = Q(**{f"{self.heartbeat_at}__lt": Now() - timedelta(seconds=STALE_S)})
        return Q(state=RunState.RUNNING) & (stale | Q(**{f"{self.heartbeat_at}__isnull": True}))
