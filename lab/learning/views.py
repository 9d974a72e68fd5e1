"""A chapter, screen by screen. Nothing that a task hides leaves the server before its answer is stored or asked for."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from catalog.text.storable import is_storable
from lab import services as queue
from lab.classroom.pace import CLOSED, last_open
from lab.classroom.selectors import learner_of, member_here
from lab.classroom.services import pace_of
from lab.exercises import replies
from lab.exercises.chapter import HINTS, Chapter, Design, Explain, Form, Live, Outcome, Predict, Screen
from lab.exercises.designs import Malformed, needs_search
from lab.exercises.grading import BadAnswer, GameIsOpen, lines_of
from lab.exercises.observations import EXPLORER, session_of
from lab.exercises.reached import reached
from lab.exercises.shelf import Book
from lab.exercises.vocabulary import steps_needed
from lab.learning import selectors, services
from lab.learning.forms import answer_in, form_of, ghost_of, moves_in, own_steps
from lab.learning.learner import Learner
from lab.models import Course, Progress, Question
from lab.pages.answers import answer as stage_answer
from lab.pages.answers import setup_in_brief, without_foresight
from lab.pages.courses.chapters import chapter_after, described, every_chapter, text
from lab.pages.courses.endings import ending
from lab.pages.courses.task_runs import item_runs, played_runs
from lab.pages.courses.task_state import TaskState, refuse, task_state
from lab.pages.feats import live_part
from lab.pages.ladder_form import builder_of, clock_worded, order_builder
from lab.pages.words import say, stage_words
from lab.sessions import handbooks
from lab.sessions.session import BadSession
from lab.sessions.setups import setup_named

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Place:
    book: Book
    chapter: Chapter
    at: int
    learner: Learner
    course: Course | None
    rows: selectors.Tasks

    @property
    def screen(self) -> Screen:
        return self.chapter.screens[self.at]

    @property
    def progress(self) -> Progress | None:
        return self.rows.get(self.screen.id)

    @property
    def open_to(self) -> int:
        return min(selectors.first_closed(self.chapter, self.rows), self.paced_to)

    @property
    def paced_to(self) -> int:
        """The number of the last screen that the class has reached; `CLOSED` for none."""
        if self.course is None:
            return len(self.chapter.screens) - 1
        return last_open(pace_of(self.course), self.course.chapters, self.chapter)


def listed(request: HttpRequest) -> list[dict[str, Any]]:
    everything = selectors.progress_everywhere(learner_of(request))
    return [described(book, everything.get(book.folder, {})) for book in every_chapter()]


@never_cache
@require_GET
def chapter(request: HttpRequest, chapter_id: str) -> HttpResponse:
    """The first screen that still has something to do, or the first one."""
    place = _place(request, chapter_id)
    if not place.chapter.screens:
        waits = {"section": "lab", "chapter": described(place.book, place.rows)}
        return render(
            request, "lab/chapter_waits.html", waits | {"next_chapter": chapter_after(chapter_id, place.course)}
        )
    if place.paced_to == CLOSED and place.course is not None:
        return redirect("my-course")
    undone = (
        at
        for at, screen in enumerate(place.chapter.screens[: place.open_to + 1])
        if screen.task is not None and not isinstance(screen.task, Live) and not _is_passed(place, screen)
    )
    at = next(undone, 0) if place.rows else 0
    return redirect("chapter-screen", chapter_id, place.chapter.screens[at].id)


@never_cache
@require_GET
def screen(request: HttpRequest, chapter_id: str, screen_id: str) -> HttpResponse:
    place = _place(request, chapter_id, screen_id)
    if place.paced_to == CLOSED:
        return redirect("my-course")
    if place.at > place.open_to:
        return redirect("chapter-screen", chapter_id, place.chapter.screens[place.open_to].id)
    return _page(request, place)


@never_cache
@require_POST
def answer(request: HttpRequest, chapter_id: str, screen_id: str) -> HttpResponse:
    place = _open_place(request, chapter_id, screen_id)
    body = answer_in(place.screen, request.POST)
    if not is_storable(body):
        raise BadRequest("a zero byte, or half of a character, is no text")
    try:
        question = _search(place, body, request.POST.get("asked", ""))
        if question is not None and question.answer is None:
            return _to_screen(place, asked=str(question.pk))
        judgement = None if question is None else queue.judgement_of(question, place.screen.task, lines_of(body))
        services.answer(place.learner, place.chapter, place.screen, body, judgement)
    except GameIsOpen as still:
        refused = [still.game.refused] if still.game.refused else []
        return _to_screen(place, moves=json.dumps([*still.game.moves, *refused]))
    except (BadAnswer, Malformed) as problem:
        refuse(request, place.chapter, place.screen, body, problem.why)
    return _to_screen(place)


@never_cache
@require_POST
def reached_so_far(request: HttpRequest, chapter_id: str, screen_id: str) -> HttpResponse:
    """Says as JSON whether steps on the stage reach the goal. Nothing is stored."""
    place = _place(request, chapter_id, screen_id)
    if place.at > place.open_to:
        raise Http404("this screen is not open yet")
    found = reached(place.screen, [one for one in moves_in(request.POST.get("steps", "")) if isinstance(one, str)])
    return JsonResponse({"is_goal": found.is_goal, "made": say(found.made)})


def _search(place: Place, body: dict[str, Any], asked: str) -> Question | None:
    task = place.screen.task
    if not isinstance(task, Design) or not needs_search(task):
        return None
    lines, owner = lines_of(body), place.learner.owner
    found = queue.asked_design(owner, int(asked), task, lines) if re.fullmatch(r"[0-9]{1,18}", asked) else None
    if found is None or (found.is_stopped and found.answer is None):
        return queue.ask_design(owner, task, lines)
    return found


def _to_screen(place: Place, **query: str) -> HttpResponse:
    """To the task's screen, so that neither Back nor a reload sends an answer again."""
    where = reverse("chapter-screen", args=(place.chapter.id, place.screen.id))
    return redirect(f"{where}?{urlencode(query)}#task" if query else f"{where}#task")


@never_cache
@require_POST
def hint(request: HttpRequest, chapter_id: str, screen_id: str) -> HttpResponse:
    return _helped(request, chapter_id, screen_id, services.take_hint)


@never_cache
@require_POST
def solution(request: HttpRequest, chapter_id: str, screen_id: str) -> HttpResponse:
    return _helped(request, chapter_id, screen_id, services.show_solution)


def _helped(
    request: HttpRequest, chapter_id: str, screen_id: str, give: Callable[[Learner, Chapter, Screen], Progress]
) -> HttpResponse:
    place = _open_place(request, chapter_id, screen_id)
    if place.screen.task is None or isinstance(place.screen.task, Live):
        raise Http404("there is no task on this screen")
    give(place.learner, place.chapter, place.screen)
    return _to_screen(place)


# Where one is


def _place(request: HttpRequest, chapter_id: str, screen_id: str = "", *, named: bool = False) -> Place:
    book = next((one for one in every_chapter() if one.folder == chapter_id), None)
    if book is None or book.chapter is None:
        raise Http404(f"there is no chapter {chapter_id}")
    at = next((n for n, one in enumerate(book.chapter.screens) if one.id == screen_id), None)
    if screen_id and at is None:
        raise Http404(f"chapter {chapter_id} has no screen {screen_id}")
    learner = learner_of(request, named=named)
    member = member_here(request)
    course = None if member is None else member.course
    return Place(book, book.chapter, at or 0, learner, course, selectors.progress_in(learner, book.chapter))


def _open_place(request: HttpRequest, chapter_id: str, screen_id: str) -> Place:
    place = _place(request, chapter_id, screen_id, named=True)
    if place.at > place.open_to:
        raise Http404("this screen is not open yet")
    return place


def _is_passed(place: Place, screen: Screen) -> bool:
    return screen.id in place.rows and place.rows[screen.id].is_done


# The page


def _page(request: HttpRequest, place: Place) -> HttpResponse:
    found = task_state(request, place.chapter, place.screen, place.learner, place.progress)
    live = live_part(request, place.screen)
    if live.get("is_done") and not _is_passed(place, place.screen):
        services.pass_live(place.learner, place.chapter, place.screen)
        place = _place(request, place.chapter.id, place.screen.id)
    context = {
        "section": "lab",
        "chapter": described(place.book, place.rows),
        "screen": _screen(place),
        "task": _task(place, found),
        "live": live,
        "screens": (screens := _screens(place)),
        "undone": [one for one in screens if one["is_undone"]] if place.at + 1 == len(screens) else [],
        "ending": ending(place.book, place.rows) if place.at + 1 == len(place.chapter.screens) else None,
    }
    if found.stage is not None:
        context |= {"stage": _stage(place, found), "words": stage_words(kind=setup_named(found.stage.setup).kind)}
        context["setups"] = setup_in_brief(found.stage.setup)
    return render(request, "lab/chapter.html", context)


def _stage(place: Place, found: TaskState) -> dict[str, Any]:
    """The session on the stage; the screen's own if that of a stored answer can no longer be opened."""
    assert found.stage is not None, place.screen.id
    try:
        answer = stage_answer(session_of(found.stage), found.at, found.stage.single_steps)
        return answer if selectors.may_be_shown(place.screen, place.rows) else without_foresight(answer)
    except BadSession as problem:
        if place.screen.start is None:
            raise
        log.warning("an answer at %s/%s cannot be shown: %s", place.chapter.id, place.screen.id, problem)
        return stage_answer(session_of(place.screen.start), None, place.screen.start.single_steps)


def _is_about_people(chapter: Chapter) -> bool:
    """Chapter 0 has people with handbooks: words of the glossary mean something else there."""
    return any(screen.start is not None and screen.start.setup == handbooks.SETUP.name for screen in chapter.screens)


def _screen(place: Place) -> dict[str, Any]:
    screens, key = place.chapter.screens, place.screen.id
    last = place.at + 1 == len(screens)
    return {
        "id": key,
        "number": place.at + 1,
        "title": text(place.book, f"{key}.title"),
        "text": text(place.book, key),
        "is_explained": not _is_about_people(place.chapter),
        "do": json.dumps(place.screen.do),
        "has_do": bool(place.screen.do),
        "begins": json.dumps([] if place.screen.start is None else place.screen.start.steps),
        "needs": json.dumps(needed) if (needed := steps_needed(place.chapter)) else "",
        "sources": place.screen.sources,
        "previous": screens[place.at - 1].id if place.at else "",
        "next": "" if last else screens[place.at + 1].id,
        "is_next_open": not last and place.at + 1 <= place.open_to,
        "is_last": last,
        "waits_for_teacher": place.at == place.paced_to
        and place.course is not None
        and bool(place.course.paced_chapter),
        "follows": place.course is not None,
        "next_chapter": chapter_after(place.chapter.id, place.course) if last else "",
    }


def _screens(place: Place) -> list[dict[str, Any]]:
    begun = max((at for at, one in enumerate(place.chapter.screens) if one.id in place.rows), default=0)
    return [
        {
            "id": one.id,
            "number": at + 1,
            "title": text(place.book, f"{one.id}.title") if at <= place.open_to else "",
            "is_open": at <= place.open_to,
            "is_here": at == place.at,
            "is_task": one.task is not None,
            "is_passed": _is_passed(place, one) or (one.task is None and at < begun),
            "is_undone": one.id in place.rows and not _is_passed(place, one),
        }
        for at, one in enumerate(place.chapter.screens)
    ]


def _task(place: Place, found: TaskState) -> dict[str, Any] | None:
    screen, progress = place.screen, place.progress
    if screen.task is None:
        return None
    key = screen.id
    hints = progress.hints if progress is not None else 0
    is_passed = progress is not None and progress.is_done
    was_shown = progress is not None and progress.shown_at is not None
    is_over = is_passed or was_shown
    is_over = is_over or (isinstance(screen.task, Predict) and progress is not None and progress.is_open)
    ladder = None
    if isinstance(screen.task, Design):
        ladder = builder_of(screen.task, found.answered.get("lines", ()), found.played, is_passed=is_passed)
    if isinstance(screen.task, Predict) and screen.task.form is Form.ORDER:
        order = found.answered.get("order", ())
        ladder = order_builder(screen.task.options, lambda one: text(place.book, f"{key}.choice {one}"), order)
    return {
        "is_live": isinstance(screen.task, Live),
        "is_prediction": isinstance(screen.task, Predict),
        "form": form_of(place.book, screen, found.answered, found.game),
        "outcome": found.outcome,
        "replies": (
            replies.texts_for(
                place.screen.task, found.answered, lambda key: text(place.book, f"{place.screen.id}.{key}")
            )
            if found.outcome
            else []
        ),
        "remarks": [say(one) for one in found.remarks],
        "problem": found.problem and _("That is no answer yet: {what}.").format(what=say(found.problem)),
        "question": found.question,
        "hints": [text(place.book, f"{key}.{hint}") for hint in HINTS[:hints]],
        "hints_left": len(HINTS) - hints,
        "is_passed": is_passed,
        "was_helped": progress is not None and progress.was_helped,
        "was_shown": was_shown,
        "is_over": is_over,
        "ladder": ladder,
        "runs": played_runs(place.book, screen, found),
        "clock": clock_worded(screen.task, found.predicted) if found.outcome else None,
        "items": item_runs(place.book, screen, found),
        "ghost": ghost_of(place.book, screen, found.predicted) if found.outcome and found.at is not None else "",
        "is_mended": isinstance(screen.task, Explain) and found.stage == screen.task.mended,
        "plays": found.at is not None
        and not (isinstance(screen.task, Predict) and EXPLORER.fullmatch(screen.task.asks)),
        "own_steps": own_steps(screen, found.answered) if found.outcome == Outcome.RIGHT.value else [],
        "solution": text(place.book, f"{key}.solution") if is_over else "",
        "why": text(place.book, f"{key}.why") if is_over else "",
    }
