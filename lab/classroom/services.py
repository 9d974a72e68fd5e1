"""Courses are made, joined, left and deleted, with all that was done in them. A browser works in one course at a time:
its session has the membership's id. With an account a member of a course with names finds their work in any browser."""

import logging
import secrets
from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils.timezone import now

from lab.classroom import selectors
from lab.classroom.pace import Pace
from lab.exercises.texts import LANGUAGES
from lab.learning.learner import MEMBER, Learner
from lab.models import Course, Membership, Question

log = logging.getLogger(__name__)

COURSES_MAX = 100
"""Of one teacher."""

MEMBERS_MAX = 500
TOKEN_BYTES = 16
NAME_CHARACTERS_MAX, LEARNER_CHARACTERS_MAX = 100, 60


class BadCourse(ValueError):
    """A course that cannot be made, or cannot be joined so."""


class Closed(Exception):
    """Nobody joins this course now: it is closed, or full."""


def make_course(
    by: User, *, name: str, chapters: Sequence[str], language: str, is_anonymous: bool, known: Sequence[str]
) -> Course:
    """A new course, open, with a link of its own. `known` are the chapters that there are. Raises `BadCourse`."""
    chosen = [one for one in known if one in chapters]
    if not plain(name) or len(plain(name)) > NAME_CHARACTERS_MAX:
        raise BadCourse("name")
    if not chosen or len(chosen) < len(set(chapters)):
        raise BadCourse("chapters")
    if language not in LANGUAGES:
        raise BadCourse("language")
    with transaction.atomic():
        User.objects.select_for_update().get(pk=by.pk)
        if Course.objects.filter(made_by=by).count() >= COURSES_MAX:
            raise BadCourse("courses")
        return Course.objects.create(
            name=plain(name),
            chapters=chosen,
            language=language,
            is_anonymous=is_anonymous,
            token=secrets.token_urlsafe(TOKEN_BYTES),
            made_by=by,
            made_at=now(),
        )


def join(course: Course, session: Any, user: User | None, name: str = "") -> Membership:
    """Join, or come back as the member one was. Raises `Closed`, or `BadCourse` when a name is needed."""
    with transaction.atomic():
        course = Course.objects.select_for_update().get(pk=course.pk)
        member = selectors.membership_in(course, session, user) or _new_member(course, user, name)
    session[MEMBER] = member.pk
    return member


def _new_member(course: Course, user: User | None, name: str) -> Membership:
    if not course.is_open or course.members.count() >= MEMBERS_MAX:
        raise Closed
    is_known = user is not None and not course.is_anonymous
    shown = "" if course.is_anonymous or is_known else plain(name)
    if not (course.is_anonymous or is_known) and not 0 < len(shown) <= LEARNER_CHARACTERS_MAX:
        raise BadCourse("learner")
    course.joined += 1
    course.save(update_fields=["joined"])
    return Membership.objects.create(
        course=course, number=course.joined, user=user if is_known else None, name=shown, joined_at=now()
    )


def step_out(session: Any) -> None:
    session.pop(MEMBER, None)


def leave(session: Any) -> None:
    _delete(Membership.objects.filter(pk=session.pop(MEMBER, None)))


def remove_member(course: Course, number: int) -> None:
    _delete(Membership.objects.filter(course=course, number=number))


def _delete(members: QuerySet[Membership]) -> None:
    with transaction.atomic():
        owners = [Learner(member_id=pk).owner for pk in members.values_list("pk", flat=True)]
        Question.objects.filter(owner__in=owners).delete()
        members.delete()


def change(course: Course, *, is_open: bool | None = None, is_shared: bool | None = None) -> None:
    found = {"is_open": is_open, "is_shared": is_shared}
    Course.objects.filter(pk=course.pk).update(**{key: value for key, value in found.items() if value is not None})


def pace_of(course: Course) -> Pace | None:
    return Pace(course.paced_chapter, course.paced_screen) if course.paced_chapter else None


def set_pace(course: Course, pace: Pace | None) -> None:
    chapter, screen = ("", "") if pace is None else (pace.chapter, pace.screen)
    Course.objects.filter(pk=course.pk).update(paced_chapter=chapter, paced_screen=screen)


def delete_course(course: Course) -> None:
    pk, members = course.pk, course.members.count()
    with transaction.atomic():
        _delete(Membership.objects.filter(course=course))
        course.delete()
    log.info("course %s deleted, with %s members", pk, members)


def plain(text: str) -> str:
    """A text on one line, without characters that cannot be seen."""
    return " ".join("".join(one if one.isprintable() else " " for one in text).split())
