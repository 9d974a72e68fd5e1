"""A learner's pages of a course: the invite link, the course that this browser works in, and the ways out of it."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import translation
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from lab.classroom import selectors, services
from lab.exercises.shelf import Book
from lab.learning.learner import Learner
from lab.learning.selectors import Tasks, progress_everywhere
from lab.models import Course
from lab.pages.courses.chapters import chapters_of, course_of, described
from lab.pages.courses.classroom import PROBLEMS
from lab.pages.courses.course_grid import counted, who
from lab.pages.courses.pacing import address_of


@never_cache
@require_http_methods(["GET", "POST"])
def join(request: HttpRequest, token: str) -> HttpResponse:
    """The invite link, in the language of its course. A member comes to the course at once."""
    course = get_object_or_404(Course, token=token)
    with translation.override(course.language):
        if request.method == "POST":
            return _joined(request, course)
        if selectors.membership_in(course, request.session, _user(request)) is not None:
            return _joined(request, course)
        return _join_page(request, course, status=200 if course.is_open else 403)


def _joined(request: HttpRequest, course: Course) -> HttpResponse:
    try:
        services.join(course, request.session, _user(request), request.POST.get("name", ""))
    except services.BadCourse as error:
        return _join_page(request, course, problem=str(PROBLEMS[str(error)]), status=422)
    except services.Closed:
        return _join_page(request, course, is_closed=True, status=403)
    response = redirect(address_of(course) or "my-course")
    response.set_cookie(settings.LANGUAGE_COOKIE_NAME, course.language, samesite="Lax")
    return response


def _join_page(
    request: HttpRequest, course: Course, *, problem: str = "", is_closed: bool = False, status: int
) -> HttpResponse:
    context = {
        "section": "lab",
        "course": course,
        "is_closed": is_closed or not course.is_open,
        "needs_name": not course.is_anonymous and _user(request) is None,
        "name": request.POST.get("name", ""),
        "problem": problem,
    }
    return render(request, "lab/classroom_join.html", context, status=status)


@never_cache
@require_GET
def my_course(request: HttpRequest) -> HttpResponse:
    member = selectors.member_here(request)
    if member is None:
        return redirect("lab")
    course = member.course
    every, books = progress_everywhere(Learner(member_id=member.pk)), chapters_of(course)
    first = (
        selectors.first_predictions(course, [book.chapter for book in books if book.chapter])
        if course.is_shared
        else {}
    )
    chapters = [_chapter(book, every.get(book.folder, {}), first) for book in books]
    context = {
        "section": "lab",
        "course": course,
        "who": who(member),
        "is_back_by_link": member.user is not None,
        "chapters": chapters,
        "way": course_of(chapters),
        "paced": address_of(course),
    }
    return render(request, "lab/classroom_mine.html", context)


def _chapter(book: Book, rows: Tasks, first: selectors.FirstAnswers) -> dict[str, Any]:
    """A chapter, how far one is in it, and, if the teacher says so, how everybody answered what one has answered."""
    assert book.chapter is not None, book.folder
    answered = [task for task, row in rows.items() if row.is_open]
    shown = selectors.counted(book.chapter, first, answered) if first else ()
    return described(book, rows) | {"counted": [counted(book, one, shows_right=True) for one in shown]}


@require_POST
def step_out(request: HttpRequest) -> HttpResponse:
    services.step_out(request.session)
    return redirect("lab")


@require_POST
def leave(request: HttpRequest) -> HttpResponse:
    services.leave(request.session)
    messages.success(request, _("You have left the course, and what you did in it is deleted."))
    return redirect("lab")


def _user(request: HttpRequest) -> User | None:
    return request.user if isinstance(request.user, User) else None
