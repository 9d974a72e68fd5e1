"""The worker with the warm Spark session, for commands: they give it their job, since a session takes ten seconds and
some hundred megabytes. Without a worker they do the job themselves."""

import time
from collections.abc import Callable
from typing import TypeVar

from kombu.exceptions import OperationalError

from catalog.hints import celery_app
from spark_tasks.models import AuditJob, LoadJob, RunState

ANSWER_S_MAX = 1.0
LOOK_AGAIN_S = 0.2
RESEND_S = 15.0
HOST = "spark@"
Job = TypeVar("Job", AuditJob, LoadJob)


class NoEnd(Exception):
    """The job was not done in time."""


def is_listening() -> bool:
    """True when a worker of the queue `spark` answers a ping."""
    try:
        answers = celery_app().control.ping(timeout=ANSWER_S_MAX)
    except (OSError, OperationalError):
        return False
    return any(name.startswith(HOST) for answer in answers or [] for name in answer)


def wait_until_ended(job: Job, *, resend: Callable[[], object], seen: Callable[[Job], None], seconds_max: float) -> Job:
    """Waits for the job's end; sends it again now and then, which is harmless. Raises `NoEnd`."""
    deadline, send_at = time.monotonic() + seconds_max, time.monotonic() + RESEND_S
    while time.monotonic() < deadline:
        job.refresh_from_db()
        seen(job)
        if job.state in (RunState.DONE, RunState.FAILED):
            return job
        if time.monotonic() > send_at:
            resend()
            send_at += RESEND_S
        time.sleep(LOOK_AGAIN_S)
    raise NoEnd(f"{job} has not ended within {seconds_max:g} s; it goes on in the worker")
