"""A learner at a task, as a teacher sees it: a function of what is stored, and of the time.

    no row                                               not started
    a hint, an answer                                    working
    two failed checks, and then nothing for 5 minutes    stuck
    passed                                               done
    passed after help; the answer was shown              done with hints
    a first prediction that was wrong, without help      predicted wrong

A prediction is over with its first answer: after a wrong one the right one is shown. It counts apart from help, because
a wrong prediction is what a class talks about. A task whose solution was asked for is over, too.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum

STUCK_AFTER_CHECKS = 2
STUCK_AFTER = timedelta(minutes=5)


class Status(Enum):
    """From the left to the right of a learner's way, but for stuck."""

    NOT_STARTED = "not started"
    WORKING = "working"
    STUCK = "stuck"
    DONE = "done"
    DONE_WITH_HINTS = "done with hints"
    PREDICTED_WRONG = "predicted wrong"


@dataclass(frozen=True, slots=True)
class Work:
    """The stored facts of a learner at a task. `second_failed_at`: when the second of its checks failed, if it has."""

    second_failed_at: datetime | None = None
    is_passed: bool = False
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
        return Status.PREDICTED_WRONG
    if work.is_passed:
        return Status.DONE_WITH_HINTS if work.was_helped else Status.DONE
    if work.is_shown:
        return Status.DONE_WITH_HINTS
    return Status.STUCK if _is_stuck(work, now) else Status.WORKING


def _is_stuck(work: Work, now: datetime) -> bool:
    """A third failed check is no progress: time counts from the second."""
    return work.second_failed_at is not None and now - work.second_failed_at >= STUCK_AFTER
