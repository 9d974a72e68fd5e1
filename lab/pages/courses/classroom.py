"""A teacher's pages: courses, the live grid of learners and tasks, a learner's trace, the first answers, a CSV file. A
course is found among those that its reader teaches, so that no other reader sees that it exists."""

import re
from collections.abc import Mapping
from typing import Any

import segno
from django.conf import settings
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.timezone import now
from django.utils.translation import get_language, gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from lab.classroom import selectors, services
from lab.classroom.sheet import sheet
from lab.classroom.traces import trace_of
from lab.exercises.chapter import Chapter, Design, Screen
from lab.exercises.shelf import Book
from lab.exercises.texts import TITLE
from lab.models import Course
from lab.pages.addresses import address_of
from lab.pages.courses import course_grid
from lab.pages.courses.chapters import chapters_of, teachable, text

LOOPBACK = ("127.", "localhost", "[::1]")
QR_MODULE_PX = 5
COURSES_SHOWN = 200
"""Of all teachers, to the owner of the cluster: the newest."""

PROBLEMS: Mapping[str, str | Promise] = {
    "name": gettext_lazy("A course has a name of at most 100 characters."),
    "chapters": gettext_lazy("Choose the chapters of the course."),
    "language": gettext_lazy("Choose the language of the course."),
    "courses": gettext_lazy("You have as many courses as one teacher may have. Delete one first."),
    "learner": gettext_lazy("Say who you are, in at most 60 characters."),
}


@never_cache
@require_http_methods(["GET", "POST"])
def courses(request: HttpRequest) -> HttpResponse:
    problem, asked = "", _asked(request)
    if request.method == "POST":
        try:
            return redirect("course", services.make_course(request.user, **asked, known=_folders()).pk)  # type: ignore[arg-type]
        except services.BadCourse as error:
            problem = str(PROBLEMS[str(error)])
    context = {
        "section": "lab",
        "courses": selectors.courses_of(request.user).annotate(learners=Count("members"))[:COURSES_SHOWN],  # type: ignore[arg-type]
        "chapters": [
            {"id": book.folder, "title": text(book, TITLE), "is_chosen": book.folder in asked["chapters"]}
            for book in teachable()
        ],
        "languages": settings.LANGUAGES,
        "asked": asked,
        "problem": problem,
    }
    return render(request, "lab/classroom_courses.html", context, status=422 if problem else 200)


def _asked(request: HttpRequest) -> dict[str, Any]:
    """The fields of a new course; before anything is sent, all chapters in the reader's language."""
    if request.method != "POST":
        return {"name": "", "chapters": _folders(), "language": get_language() or "en", "is_anonymous": False}
    return {
        "name": request.POST.get("name", ""),
        "chapters": request.POST.getlist("chapters"),
        "language": request.POST.get("language", ""),
        "is_anonymous": request.POST.get("members") == "anonymous",
    }


@never_cache
@require_GET
def course(request: HttpRequest, pk: int) -> HttpResponse:
    mine = _course(request, pk)
    link = public_link(request, reverse("join", args=[mine.token]))
    context = {
        "section": "lab",
        "course": mine,
        "link": link,
        "is_only_here": is_only_here(link),
        "qr": qr_code(link),
        "paced": paced_title(mine),
        "language": dict(settings.LANGUAGES).get(mine.language, mine.language),
        **course_grid.grid(mine, request.GET),
    }
    return render(request, "lab/classroom_course.html", context)


def paced_title(mine: Course) -> str:
    """The screen on which a class is, in words; "" without a pace."""
    book = next((one for one in chapters_of(mine) if one.folder == mine.paced_chapter), None)
    return "" if book is None else f"{text(book, TITLE)}: {text(book, f'{mine.paced_screen}.title')}"


@never_cache
@require_GET
def grid(request: HttpRequest, pk: int) -> HttpResponse:
    """The grid alone, polled by the page, which is loaded again when its course does not exist any more."""
    mine = _course(request, pk)
    return render(request, "lab/classroom_grid.html", {"course": mine, **course_grid.grid(mine, request.GET)})


@never_cache
@require_GET
def trace(request: HttpRequest, pk: int, number: int, chapter_id: str, screen_id: str) -> HttpResponse:
    """A learner's last session at a task, on the stage; all their answers in words where there is none."""
    mine = _course(request, pk)
    member = get_object_or_404(selectors.members_of(mine), number=number)
    book, chapter, screen = _screen(mine, chapter_id, screen_id)
    attempts = selectors.attempts_at(member, chapter, screen)
    opened = attempts.filter(pk=_number(request.GET.get("attempt"))) if "attempt" in request.GET else attempts
    newest = opened.first()
    session = None if newest is None or "all" in request.GET else trace_of(screen, newest.answer)
    address = "" if session is None else address_of("stage", session)
    if address:
        return redirect(address)
    context = {
        "section": "lab",
        "course": mine,
        "who": course_grid.who(member),
        "chapter": {"id": chapter.id, "title": text(book, TITLE)},
        "task": course_grid.task_title(book, screen),
        "attempts": [{"attempt": one, "answer": selectors.written(one.answer)} for one in attempts],
        "has_session": not isinstance(screen.task, Design) or screen.task.grammar == "handbooks",
    }
    return render(request, "lab/classroom_trace.html", context)


@never_cache
@require_GET
def answers_csv(request: HttpRequest, pk: int) -> HttpResponse:
    mine = _course(request, pk)
    chapters = [book.chapter for book in chapters_of(mine) if book.chapter]
    found = sheet(selectors.lines(mine, chapters, now()))
    name = f"course-{mine.pk}-{now():%Y-%m-%d}.csv"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(found, content_type="text/csv; charset=utf-8", headers=headers)


@require_POST
def change(request: HttpRequest, pk: int) -> HttpResponse:
    mine = _course(request, pk)
    match request.POST.get("do"):
        case "open" | "close" as what:
            services.change(mine, is_open=what == "open")
        case "share" | "unshare" as what:
            services.change(mine, is_shared=what == "share")
        case "remove":
            services.remove_member(mine, _number(request.POST.get("number")))
        case _:
            raise Http404("there is no such change of a course")
    return redirect("course", pk)


@require_POST
def delete(request: HttpRequest, pk: int) -> HttpResponse:
    services.delete_course(_course(request, pk))
    return redirect("courses")


def public_link(request: HttpRequest, path: str) -> str:
    return f"{settings.PUBLIC_URL}{path}" if settings.PUBLIC_URL else request.build_absolute_uri(path)


def is_only_here(link: str) -> bool:
    """True if only this computer can open an address."""
    return any(f"//{host}" in link for host in LOOPBACK)


def qr_code(text: str) -> str:
    """A QR code as an SVG element: two paths with colours as attributes, dark on light in any theme."""
    code = segno.make(text, error="m", micro=False)
    return code.svg_inline(scale=QR_MODULE_PX, dark="#000", light="#fff", border=4, omitsize=True, svgclass="qr")


# What is asked for


def _course(request: HttpRequest, pk: int) -> Course:
    return get_object_or_404(selectors.courses_of(request.user), pk=pk)  # type: ignore[arg-type]


def _number(text: str | None) -> int:
    return int(text) if text and re.fullmatch(r"[0-9]{1,9}", text) else 0


def _screen(mine: Course, chapter_id: str, screen_id: str) -> tuple[Book, Chapter, Screen]:
    for book in chapters_of(mine):
        if book.folder == chapter_id and book.chapter is not None:
            screen = book.chapter.screen(screen_id)
            if screen is not None and screen.task is not None:
                return book, book.chapter, screen
    raise Http404("this course has no such task")


def _folders() -> list[str]:
    return [book.folder for book in teachable()]
