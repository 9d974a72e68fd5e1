"""Grades and stores answers, gives hints and solutions; at sign-in a visitor's progress becomes the person's. An
attempt is committed before the grade, and so the solution, may leave the server."""

import logging
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Case, Count, OuterRef, Q, QuerySet, Subquery, When
from django.utils.timezone import now

from lab.exercises.chapter import HINTS, Chapter, Predict, Screen
from lab.exercises.grading import Grade, Outcome, grade
from lab.exercises.judgement import Judgement
from lab.learning import findings
from lab.learning.learner import VISITOR, Learner
from lab.models import Attempt, Progress
from lab.sessions.as_json import stored

log = logging.getLogger(__name__)

ATTEMPTS_MAX = 100
"""Kept of one learner at one task: the first, because distributions count it, and the newest."""

VISITORS_ROWS_MAX, VISITOR_ROWS_MAX = 50_000, 200
"""Rows of all visitors together, and of one of them."""

LOOKED_AT_EVERY = 100
"""One in so many new rows of visitors looks whether there are too many."""


def answer(
    learner: Learner, chapter: Chapter, screen: Screen, body: dict[str, Any], judgement: Judgement | None = None
) -> tuple[Progress, Grade]:
    """Stores nothing if it raises `lab.exercises.grading.BadAnswer`. `judgement`: of an explored design."""
    graded = grade(screen, body, judgement=judgement)
    with transaction.atomic():
        progress = _locked(learner, chapter, screen)
        _keep_bounded(progress)
        Attempt.objects.create(
            progress=progress,
            answer=findings.given_in(screen.task, graded),
            outcome=graded.outcome.value,
            found=stored(findings.Finding(graded.remarks, graded.reveal, graded.played)),
            hints=progress.hints,
            was_shown=progress.shown_at is not None,
            at=now(),
        )
        has_seen = isinstance(screen.task, Predict) and progress.answered_at is not None
        progress.answered_at = now()
        if graded.outcome is Outcome.RIGHT and progress.passed_at is None:
            progress.passed_at = now()
            progress.was_helped = progress.hints > 0 or progress.shown_at is not None or has_seen
        progress.save()
    return progress, graded


def pass_live(learner: Learner, chapter: Chapter, screen: Screen) -> Progress:
    """A task on the real cluster is done. It stays passed when its events are deleted."""
    with transaction.atomic():
        progress = _locked(learner, chapter, screen)
        if progress.passed_at is None:
            progress.passed_at = progress.answered_at = now()
            progress.save()
    return progress


def take_hint(learner: Learner, chapter: Chapter, screen: Screen) -> Progress:
    """One more hint, of three. After success it costs nothing."""
    with transaction.atomic():
        progress = _locked(learner, chapter, screen)
        progress.hints = min(progress.hints + 1, len(HINTS))
        progress.save()
    return progress


def show_solution(learner: Learner, chapter: Chapter, screen: Screen) -> Progress:
    with transaction.atomic():
        progress = _locked(learner, chapter, screen)
        progress.shown_at = progress.shown_at or now()
        progress.save()
    return progress


def take_over(user_id: int, session: Any) -> int:
    """The number of tasks that a visitor who signed in took over."""
    visitor = str(session.pop(VISITOR, ""))
    if not visitor:
        return 0
    with transaction.atomic():
        mine = Progress.objects.select_for_update().filter(visitor=visitor).order_by("pk")
        taken = [_take_over(progress, user_id) for progress in mine]
    return len(taken)


def _take_over(progress: Progress, user_id: int) -> None:
    own = _own(user_id, progress)
    if own is None:
        try:
            with transaction.atomic():
                Progress.objects.filter(pk=progress.pk).update(user_id=user_id, visitor="")
            return
        except IntegrityError:  # another browser of theirs was first
            own = _own(user_id, progress)
            if own is None:
                raise
    Attempt.objects.filter(progress=progress).update(progress=own)
    own.hints = max(own.hints, progress.hints)
    own.shown_at = _earlier(own.shown_at, progress.shown_at)
    own.answered_at = max(filter(None, (own.answered_at, progress.answered_at)), default=None)
    if own.passed_at is None:
        own.was_helped = progress.was_helped
    own.passed_at = _earlier(own.passed_at, progress.passed_at)
    own.begun_at = min(own.begun_at, progress.begun_at)
    own.save()
    progress.delete()


def _own(user_id: int, progress: Progress) -> Progress | None:
    of_task = Progress.objects.filter(user_id=user_id, exercise=progress.exercise, task=progress.task)
    return of_task.select_for_update().first()


def _earlier(one: Any, other: Any) -> Any:
    return min(filter(None, (one, other)), default=None)


def _locked(learner: Learner, chapter: Chapter, screen: Screen) -> Progress:
    """The learner's row for a task, created if missing, locked until the transaction ends."""
    assert not learner.is_nobody, "a visitor is named before something is kept"
    of_task = learner.rows() | {"exercise": chapter.id, "task": screen.id}
    progress, is_new = Progress.objects.select_for_update().get_or_create(**of_task, defaults={"begun_at": now()})
    if is_new and learner.visitor:
        _forget_visitors(learner.visitor, progress.pk)
    return progress


def _keep_bounded(progress: Progress) -> None:
    pks = list(Attempt.objects.filter(progress=progress).order_by("pk").values_list("pk", flat=True))
    if len(pks) >= ATTEMPTS_MAX:
        Attempt.objects.filter(pk__in=pks[1 : len(pks) - ATTEMPTS_MAX + 2]).delete()


def _forget_visitors(visitor: str, row: int) -> None:
    """Bounds the rows of one visitor, the oldest first, and now and then those of all: rows of ended browser sessions
    first, then visitors with the fewest tasks, the newest but this one first, so that a flood of new visitors displaces
    itself."""
    mine = Progress.objects.filter(visitor=visitor).order_by("-pk").values("pk")
    Progress.objects.filter(pk__in=mine[VISITOR_ROWS_MAX:]).delete()
    if row % LOOKED_AT_EVERY:
        return
    of_visitors: QuerySet[Progress] = Progress.objects.exclude(visitor="")
    surplus = of_visitors.count() - VISITORS_ROWS_MAX
    if surplus > 0:
        is_over = Q(begun_at__lt=now() - timedelta(seconds=settings.SESSION_COOKIE_AGE), answered_at__isnull=True)
        is_over |= Q(answered_at__lt=now() - timedelta(seconds=settings.SESSION_COOKIE_AGE))
        done = (
            Progress.objects.filter(visitor=OuterRef("visitor")).values("visitor").annotate(n=Count("pk")).values("n")
        )
        ranked = of_visitors.exclude(pk=row).annotate(
            is_kept=Case(When(is_over, then=0), default=1), done=Subquery(done)
        )
        found = ranked.order_by("is_kept", "done", "-pk").values_list("pk", flat=True)[:surplus]
        Progress.objects.filter(pk__in=list(found)).delete()
        log.info("progress of visitors forgotten: %s rows", surplus)
