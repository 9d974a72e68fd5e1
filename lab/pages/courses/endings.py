"""The end of a chapter, and of the whole course: what a learner predicted, broke, built and proved."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from lab.classroom.selectors import learner_of
from lab.exercises.chapter import Design, Form, Outcome, Predict, Reach, Screen
from lab.exercises.goals import clauses_named
from lab.exercises.observations import EXPLORER
from lab.exercises.shelf import Book
from lab.exercises.texts import PICTURE, TAKE_HOME
from lab.learning import selectors
from lab.learning.forms import ghost_of
from lab.models import Attempt, Progress
from lab.pages.courses.chapters import course_of, described, teachable, text
from lab.pages.courses.handouts import missing_tasks, picture_of
from lab.pages.words import say
from lab.sessions.handbooks import handbook


def ending(book: Book, rows: selectors.Tasks) -> dict[str, Any]:
    """The ending on a chapter's last screen. Its picture shows what the tasks come to, so it waits for them."""
    assert book.chapter is not None, book.folder
    missing = missing_tasks(book, book.chapter, rows)
    return {
        "missing": missing,
        "picture": "" if missing else picture_of(book, book.chapter),
        "paragraph": "" if missing else text(book, PICTURE),
        "take_home": text(book, TAKE_HOME),
        "predicted": list(predictions(book, rows)),
    }


def predictions(book: Book, rows: selectors.Tasks) -> Iterator[dict[str, Any]]:
    assert book.chapter is not None, book.folder
    first = _first_attempts(rows.values())
    for screen in book.chapter.screens:
        row = rows.get(screen.id)
        attempt = None if row is None else first.get(row.pk)
        if attempt is not None and isinstance(screen.task, Predict):
            yield {
                "id": screen.id,
                "title": text(book, f"{screen.id}.title"),
                "answer": _worded(book, screen, screen.task, attempt.answer),
                "is_right": attempt.outcome == Outcome.RIGHT.value,
            }


def _first_attempts(rows: Iterable[Progress]) -> Mapping[int, Attempt]:
    found: dict[int, Attempt] = {}
    for attempt in Attempt.objects.filter(progress__in=[row.pk for row in rows]).order_by("pk"):
        found.setdefault(attempt.progress_id, attempt)
    return {pk: attempt for pk, attempt in found.items() if not attempt.was_shown}


def _worded(book: Book, screen: Screen, task: Predict, answer: Mapping[str, Any]) -> str:
    if task.form is not Form.MATCH:
        return ghost_of(book, screen, dict(answer))
    given = answer.get("match", {})
    words = lambda item: text(book, f"{screen.id}.choice {given.get(item)}")  # noqa: E731
    return "; ".join(f"{text(book, f'{screen.id}.item {item.id}')}: {words(item.id)}" for item in task.items)


@never_cache
@require_GET
def course_done(request: HttpRequest) -> HttpResponse:
    everything = selectors.progress_everywhere(learner_of(request))
    chapters = [_done(book, everything[book.folder]) for book in teachable() if book.folder in everything]
    listed = [described(book, everything.get(book.folder, {})) for book in teachable()]
    predicted = [one for chapter in chapters for one in chapter["predicted"]]
    context = {
        "section": "lab",
        "chapters": [one for one in chapters if one["done"]],
        "course": course_of(listed),
        "predicted": len(predicted),
        "predicted_right": sum(one["is_right"] for one in predicted),
        "broke": sum(len(one["broke"]) for one in chapters),
        "built": sum(len(one["built"]) for one in chapters),
    }
    return render(request, "lab/course_done.html", context)


def _done(book: Book, rows: selectors.Tasks) -> dict[str, Any]:
    assert book.chapter is not None, book.folder
    passed = [screen for screen in book.chapter.screens if screen.id in rows and rows[screen.id].is_done]
    return described(book, rows) | {
        "take_home": text(book, TAKE_HOME),
        "predicted": list(predictions(book, rows)),
        "broke": [say(clauses_named([one])) for one in _broken(passed)],
        "built": list(_built(passed, rows)),
        "proved": [text(book, f"{screen.id}.title") for screen in passed if _is_proof(screen)],
    }


def _broken(passed: Iterable[Screen]) -> list[str]:
    every = [one for screen in passed if isinstance(screen.task, Reach) for one in screen.task.until]
    return list(dict.fromkeys(one.partition("@")[0] for one in every if not one.startswith(("v", "public"))))


def _built(passed: Iterable[Screen], rows: selectors.Tasks) -> Iterator[str]:
    for screen in passed:
        if not isinstance(screen.task, Design):
            continue
        right = Attempt.objects.filter(progress=rows[screen.id], outcome=Outcome.RIGHT.value).order_by("-pk").first()
        if right is not None:
            lines, grammar = right.answer.get("lines", []), screen.task.grammar
            ground = [screen.task.ground] if grammar == "ladder" else []
            named = [say(handbook(one).text) for one in lines] if grammar == "handbooks" else lines
            yield " \u2192 ".join([*ground, *named])


def _is_proof(screen: Screen) -> bool:
    return isinstance(screen.task, Predict) and EXPLORER.fullmatch(screen.task.asks) is not None
