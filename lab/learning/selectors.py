"""Reads how far a learner is."""

from collections.abc import Mapping

from lab.exercises.chapter import Chapter, Live, Predict, Screen
from lab.learning.learner import Learner
from lab.models import Attempt, Progress

Tasks = Mapping[str, Progress]


def progress_in(learner: Learner, chapter: Chapter) -> Tasks:
    if learner.is_nobody:
        return {}
    return {row.task: row for row in Progress.objects.filter(**learner.rows(), exercise=chapter.id)}


def progress_everywhere(learner: Learner) -> Mapping[str, Tasks]:
    found: dict[str, dict[str, Progress]] = {}
    if not learner.is_nobody:
        for row in Progress.objects.filter(**learner.rows()):
            found.setdefault(row.exercise, {})[row.task] = row
    return found


def last_attempt(progress: Progress | None) -> Attempt | None:
    if progress is None:
        return None
    return Attempt.objects.filter(progress=progress).order_by("-pk").first()


def first_attempt(progress: Progress) -> Attempt:
    return Attempt.objects.filter(progress=progress).earliest("pk")


def may_be_shown(screen: Screen, rows: Tasks) -> bool:
    """True if a prediction's solution may be shown: an answer is stored, or the learner asked for it."""
    row = rows.get(screen.id)
    return not isinstance(screen.task, Predict) or (row is not None and row.is_open)


def hides_something(screen: Screen, rows: Tasks) -> bool:
    if screen.task is None or isinstance(screen.task, Live):
        return False
    row = rows.get(screen.id)
    if row is None:
        return True
    is_answered = isinstance(screen.task, Predict) and row.is_open
    return not row.is_done and row.shown_at is None and not is_answered


def first_closed(chapter: Chapter, rows: Tasks) -> int:
    """The number of the first screen that still hides something; the later ones are not shown either."""
    return next((at for at, one in enumerate(chapter.screens) if not may_be_shown(one, rows)), len(chapter.screens))


def done_of(chapter: Chapter, rows: Tasks) -> tuple[int, int]:
    """The passed tasks of a chapter, and all. One on the real cluster counts once it is passed: it needs
    permissions."""
    passed = {task for task, row in rows.items() if row.is_done}
    tasks = [screen.id for screen in chapter.tasks if not isinstance(screen.task, Live) or screen.id in passed]
    return len(passed.intersection(tasks)), len(tasks)
