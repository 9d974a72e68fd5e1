"""A class at its teacher's pace: the teacher's buttons, the page for the projector, and what learners' pages ask."""

import json
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.timezone import now
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from lab.classroom import selectors, services
from lab.classroom.pace import Pace, moved
from lab.exercises.chapter import Chapter, Predict, Screen
from lab.exercises.grading import reveal_of
from lab.exercises.observations import session_of
from lab.exercises.shelf import Book
from lab.exercises.texts import TITLE
from lab.exercises.vocabulary import steps_needed
from lab.learning.forms import form_of
from lab.learning.learner import Learner
from lab.learning.selectors import progress_everywhere
from lab.models import Course
from lab.pages.answers import answer as stage_answer
from lab.pages.answers import setup_in_brief, without_foresight
from lab.pages.courses import course_grid
from lab.pages.courses.chapters import chapters_of, text
from lab.pages.courses.endings import predictions
from lab.pages.words import stage_words
from lab.sessions.setups import setup_named


def address_of(course: Course) -> str:
    """The screen on which the class is; "" without a pace."""
    pace = services.pace_of(course)
    return "" if pace is None else reverse("chapter-screen", args=(pace.chapter, pace.screen))


@never_cache
@require_GET
def pace_here(request: HttpRequest) -> JsonResponse:
    """Where the class is; in a course that does not exist any more the page that says so."""
    if selectors.has_lost_course(request):
        return JsonResponse({"address": reverse("my-course")})
    member = selectors.member_here(request)
    return JsonResponse({"address": "" if member is None else address_of(member.course)})


@require_POST
def set_pace(request: HttpRequest, pk: int) -> HttpResponse:
    mine = _course(request, pk)
    chapters = [book.chapter for book in chapters_of(mine) if book.chapter is not None and book.chapter.screens]
    pace = services.pace_of(mine)
    match request.POST.get("do"):
        case "begin":
            chosen = next((one for one in chapters if one.id == request.POST.get("chapter")), None)
            if chosen is None:
                raise Http404("this course has no such chapter")
            services.set_pace(mine, Pace(chosen.id, chosen.screens[0].id))
        case "on" | "back" as way if pace is not None:
            services.set_pace(mine, moved(pace, chapters, 1 if way == "on" else -1))
        case "end":
            services.set_pace(mine, None)
        case _:
            raise Http404("there is no such pace")
    if request.POST.get("from") == "projector":
        return redirect("course-projector", pk)
    chapter = _course(request, pk).paced_chapter
    return redirect(f"{reverse('course', args=(pk,))}{f'?chapter={chapter}' if chapter else ''}")


@never_cache
@require_GET
def projector(request: HttpRequest, pk: int) -> HttpResponse:
    mine = _course(request, pk)
    place = _paced(mine)
    if place is None:
        return redirect("course", pk)
    book, chapter, screen = place
    context = {
        "section": "lab",
        "course": mine,
        "chapter": {"id": chapter.id, "title": text(book, TITLE)},
        "screen": {
            "id": screen.id,
            "number": chapter.screens.index(screen) + 1,
            "of": len(chapter.screens),
            "title": text(book, f"{screen.id}.title"),
            "text": text(book, screen.id),
            "needs": json.dumps(needed) if (needed := steps_needed(chapter)) else "",
        },
        "options": _options(book, screen),
        **_counts(request, mine, place),
    }
    start, is_hidden = screen.start, isinstance(screen.task, Predict) and not context["shows_right"]
    if start is not None and isinstance(screen.task, Predict) and not is_hidden:
        start = reveal_of(screen.task, start)
    if start is not None:
        at = len(screen.start.steps) if screen.start is not None and not is_hidden else None
        shown = stage_answer(session_of(start), at, start.single_steps)
        context["stage"] = without_foresight(shown) if is_hidden else shown
        context["words"] = stage_words(kind=setup_named(start.setup).kind)
        context["setups"] = setup_in_brief(start.setup)
    return render(request, "lab/projector.html", context)


@never_cache
@require_GET
def projector_counts(request: HttpRequest, pk: int) -> HttpResponse:
    mine = _course(request, pk)
    place = _paced(mine)
    if place is None:
        raise Http404("this course has no pace any more")
    return render(request, "lab/parts/projector_counts.html", {"course": mine, **_counts(request, mine, place)})


@never_cache
@require_GET
def learner(request: HttpRequest, pk: int, number: int) -> HttpResponse:
    mine = _course(request, pk)
    member = get_object_or_404(selectors.members_of(mine), number=number)
    every = progress_everywhere(Learner(member_id=member.pk))
    chapters = [
        {
            "id": book.folder,
            "title": text(book, TITLE),
            "predicted": list(predictions(book, every[book.folder])),
            "tasks": _tasks(mine, book, number),
        }
        for book in chapters_of(mine)
        if book.folder in every and book.chapter is not None
    ]
    context = {"section": "lab", "course": mine, "who": course_grid.who(member), "number": number, "chapters": chapters}
    return render(request, "lab/classroom_learner.html", context)


def _tasks(mine: Course, book: Book, number: int) -> list[dict[str, Any]]:
    assert book.chapter is not None, book.folder
    columns = [{"id": one.id, "title": course_grid.task_title(book, one)} for one in selectors.tasks_of(book.chapter)]
    row = next(one for one in selectors.grid(mine, book.chapter, now()) if one.member.number == number)
    return course_grid.cells(columns, row.cells)


def _counts(request: HttpRequest, mine: Course, place: tuple[Book, Chapter, Screen]) -> dict[str, Any]:
    book, chapter, screen = place
    shows_right = request.GET.get("right") == "1"
    first = selectors.first_predictions(mine, [chapter])
    found = selectors.counted(chapter, first, [screen.id])
    return {
        "shows_right": shows_right,
        "members": selectors.members_of(mine).count(),
        "counted": [course_grid.counted(book, one, shows_right=shows_right) for one in found],
    }


def _options(book: Book, screen: Screen) -> list[str]:
    if not isinstance(screen.task, Predict):
        return []
    form = form_of(book, screen, {})
    of_each = [f"{one.label} ({' / '.join(option.text for option in one.options)})" for one in form.get("fields", [])]
    return [one.text for one in form.get("options", [])] or of_each


def _paced(mine: Course) -> tuple[Book, Chapter, Screen] | None:
    pace = services.pace_of(mine)
    book = next((one for one in chapters_of(mine) if pace is not None and one.folder == pace.chapter), None)
    if pace is None or book is None or book.chapter is None:
        return None
    screen = book.chapter.screen(pace.screen)
    return None if screen is None else (book, book.chapter, screen)


def _course(request: HttpRequest, pk: int) -> Course:
    return get_object_or_404(selectors.courses_of(request.user), pk=pk)  # type: ignore[arg-type]
