"""Reads only: who works in which course, and how far its members are."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest

from lab.classroom import tally
from lab.classroom.sheet import Line
from lab.classroom.status import STUCK_AFTER_CHECKS, Status, Work, status_of
from lab.exercises.chapter import Chapter, Live, Predict, Screen
from lab.exercises.grading import Outcome
from lab.learning import learner
from lab.models import Attempt, Course, Membership, Progress
from lab.sessions.short_steps import in_short

MAY_TEACH = "lab.add_course"


# Who


def learner_of(request: HttpRequest, *, named: bool = False) -> learner.Learner:
    """The learner of a request: a member of the course that this browser works in, or else who they are anyway."""
    member = member_here(request)
    if member is not None:
        return learner.Learner(member_id=member.pk)
    user_id = request.user.pk if request.user.is_authenticated else None
    return learner.learner_of(user_id, request.session, named=named)


def member_here(request: HttpRequest) -> Membership | None:
    if not hasattr(request, "lab_member"):
        request.lab_member = member_of(request.session)
    return request.lab_member


def member_of(session: Mapping[str, Any]) -> Membership | None:
    if learner.MEMBER not in session:
        return None
    return Membership.objects.select_related("course", "user").filter(pk=session[learner.MEMBER]).first()


def has_lost_course(request: HttpRequest) -> bool:
    """True if this browser works in a course that was deleted, or that removed its learner."""
    return learner.MEMBER in request.session and member_here(request) is None


def membership_in(course: Course, session: Mapping[str, Any], user: User | None) -> Membership | None:
    here = member_of(session)
    if here is not None and here.course_id == course.pk:
        return here
    if user is None:
        return None
    return Membership.objects.filter(course=course, user=user).select_related("course", "user").first()


def courses_of(user: User) -> QuerySet[Course]:
    """The courses that somebody teaches: those they have made; of an owner of the cluster all."""
    every = Course.objects.order_by("-made_at", "-pk")
    return every if user.is_superuser else every.filter(made_by=user)


def members_of(course: Course) -> QuerySet[Membership]:
    return Membership.objects.filter(course=course).select_related("user").order_by("number")


def name_of(member: Membership) -> str:
    if member.user is not None:
        return str(member.user.get_full_name() or member.user.get_username())
    return member.name


# How far


@dataclass(frozen=True, slots=True)
class Stored:
    """A row of progress: how many answers there are, how many failed, and when so many had that one may be stuck."""

    row: Progress
    answers: int
    failed: int
    stuck_from: datetime | None
    first_outcome: str | None

    def work(self, screen: Screen) -> Work:
        is_prediction = isinstance(screen.task, Predict)
        return Work(
            second_failed_at=self.stuck_from,
            is_done=self.row.is_done,
            was_helped=self.row.was_helped,
            is_shown=self.row.shown_at is not None or (is_prediction and self.row.answered_at is not None),
            is_wrong=is_prediction and self.first_outcome == Outcome.WRONG.value and not self.row.hints,
        )


Place = tuple[int, str, str]


def stored_in(course: Course, chapters: Iterable[str]) -> Mapping[Place, Stored]:
    is_failed = Q(attempts__outcome=Outcome.WRONG.value)
    failures = Attempt.objects.filter(progress=OuterRef("pk"), outcome=Outcome.WRONG.value).order_by("pk").values("at")
    rows = Progress.objects.filter(member__course=course, exercise__in=tuple(chapters)).annotate(
        n_answers=Count("attempts"),
        n_failed=Count("attempts", filter=is_failed),
        stuck_from=Subquery(failures[STUCK_AFTER_CHECKS - 1 : STUCK_AFTER_CHECKS]),
        first_outcome=Subquery(
            Attempt.objects.filter(progress=OuterRef("pk"), was_shown=False).order_by("pk").values("outcome")[:1]
        ),
    )
    return {
        (row.member_id or 0, row.exercise, row.task): Stored(
            row, row.n_answers, row.n_failed, row.stuck_from, row.first_outcome
        )
        for row in rows
    }


@dataclass(frozen=True, slots=True)
class Cell:
    screen: Screen
    status: Status
    is_done: bool
    answers: int


@dataclass(frozen=True, slots=True)
class Row:
    member: Membership
    cells: tuple[Cell, ...]


def tasks_of(chapter: Chapter) -> tuple[Screen, ...]:
    """The tasks that are done in the lab; those on the real cluster are not graded here."""
    return tuple(screen for screen in chapter.tasks if not isinstance(screen.task, Live))


def grid(course: Course, chapter: Chapter, now: datetime) -> tuple[Row, ...]:
    stored = stored_in(course, [chapter.id])
    return tuple(
        Row(member, tuple(_cell(stored.get((member.pk, chapter.id, one.id)), one, now) for one in tasks_of(chapter)))
        for member in members_of(course)
    )


def _cell(stored: Stored | None, screen: Screen, now: datetime) -> Cell:
    if stored is None:
        return Cell(screen, status_of(None, now), is_done=False, answers=0)
    return Cell(screen, status_of(stored.work(screen), now), stored.row.is_done, stored.answers)


@dataclass(frozen=True, slots=True)
class Counted:
    screen: Screen
    answers: int
    tallies: tuple[tally.Tally, ...]


FirstAnswers = Mapping[tuple[str, str], Sequence[Mapping[str, Any]]]


def first_predictions(course: Course, chapters: Iterable[Chapter]) -> FirstAnswers:
    """The first answers of members to the predictions of chapters, of those who were not shown the solution before."""
    found: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    predictions = Q()
    for chapter in chapters:
        tasks = [screen.id for screen in tasks_of(chapter) if isinstance(screen.task, Predict)]
        predictions |= Q(progress__exercise=chapter.id, progress__task__in=tasks)
    for attempt in first_attempts(course).filter(predictions) if predictions else ():
        if not attempt.was_shown:
            found.setdefault((attempt.progress.exercise, attempt.progress.task), []).append(attempt.answer)
    return found


def counted(chapter: Chapter, first: FirstAnswers, tasks: Sequence[str] | None = None) -> tuple[Counted, ...]:
    found = []
    for screen in tasks_of(chapter):
        if isinstance(screen.task, Predict) and (tasks is None or screen.id in tasks):
            answers = first.get((chapter.id, screen.id), ())
            found.append(Counted(screen, len(answers), tally.tallies(screen.task, answers)))
    return tuple(found)


def first_attempts(course: Course) -> QuerySet[Attempt]:
    mine = Attempt.objects.filter(progress__member__course=course)
    return mine.select_related("progress").order_by("progress_id", "pk").distinct("progress_id")


def attempts_at(member: Membership, chapter: Chapter, screen: Screen) -> QuerySet[Attempt]:
    at_task = Attempt.objects.filter(progress__member=member, progress__exercise=chapter.id, progress__task=screen.id)
    return at_task.order_by("-pk")


def lines(course: Course, chapters: Sequence[Chapter], now: datetime) -> Iterator[Line]:
    folders = [chapter.id for chapter in chapters]
    stored = stored_in(course, folders)
    first = {one.progress_id: one for one in first_attempts(course).filter(progress__exercise__in=folders)}
    for member in members_of(course):
        for chapter in chapters:
            for screen in tasks_of(chapter):
                found = stored.get((member.pk, chapter.id, screen.id))
                yield _line(member, chapter, screen, found, first.get(found.row.pk) if found else None, now)


def _line(
    member: Membership, chapter: Chapter, screen: Screen, stored: Stored | None, first: Attempt | None, now: datetime
) -> Line:
    known = Line(
        learner=name_of(member),
        number=member.number,
        chapter=chapter.id,
        task=screen.id,
        kind=screen.kind,
        status=status_of(None if stored is None else stored.work(screen), now).value,
    )
    if stored is None:
        return known
    return replace(
        known,
        first_answer=written(first.answer) if first is not None else "",
        first_outcome=first.outcome if first is not None else "",
        answers=stored.answers,
        failed=stored.failed,
        hints=stored.row.hints,
        is_shown=stored.row.shown_at is not None,
        begun_at=stored.row.begun_at,
        passed_at=stored.row.passed_at,
    )


def written(answer: Mapping[str, Any]) -> str:
    """An answer in one line, as it was stored: "entry", "n1: v1, n2: v2", "publish.2 n2.acquire"."""
    return "; ".join(_written(list(in_short(value)) if part == "steps" else value) for part, value in answer.items())


def _written(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {one}" for name, one in value.items())
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
