"""A learner's status at a task, as a teacher sees it: *stuck* after two failed checks and 5 minutes without another;
*done* once passed, as on the learner's own page (`Progress.is_done`). A wrong prediction counts apart from help,
because it is what a class talks about."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

STUCK_AFTER_CHECKS = 2
STUCK_AFTER = timedelta(minutes=5)


class Status(Enum):
    """In the order of a learner's progress, but for stuck."""

    NOT_STARTED = "not started"
    WORKING = "working"
    STUCK = "stuck"
    PREDICTED_WRONG = "predicted wrong"
    DONE = "done"
    DONE_WITH_HINTS = "done with hints"
    DONE_AFTER_WRONG = "done after a wrong prediction"


@dataclass(frozen=True, slots=True)
class Work:
    """The stored facts of a learner at a task. `second_failed_at`: when the second of its checks failed, if it has."""

    second_failed_at: datetime | None = None
    is_done: bool = False
    was_helped: bool = False
    is_shown: bool = False
    """The answer is known now: the solution was asked for, or a prediction made."""

    is_wrong: bool = False
    """A prediction whose first answer was wrong, and was given without help."""


def status_of(work: Work | None, now: datetime) -> Status:
    """The status at a time; `work` is None where nothing is stored."""
    if work is None:
        return Status.NOT_STARTED
    if work.is_wrong:
        return Status.DONE_AFTER_WRONG if work.is_done else Status.PREDICTED_WRONG
    if work.is_done:
        return Status.DONE_WITH_HINTS if work.was_helped else Status.DONE
    # A third failed check is no progress: time counts from the second.
    is_late = work.second_failed_at is not None and now - work.second_failed_at >= STUCK_AFTER
    return Status.STUCK if is_late and not work.is_shown else Status.WORKING
