"""A walk through all chapters with right and wrong answers: finds the modules that a browser needs. The same walk
compares a browser's site with a cluster's (`tests/anywhere`)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from lab.exercises.chapter import Design, Explain, Live, Predict, Reach, Screen, Survive
from lab.exercises.grading import right_answer
from lab.exercises.shelf import Book, books
from lab.pages.own import EXAMPLES
from lab.replays.recorded import SESSIONS
from rollouts.templates import BY_NAME

PAGES = (
    "lab/",
    "lab/stage/",
    "lab/stage/?setup=one-jump",
    "lab/explorer/",
    "lab/own/",
    "lab/why/waits/",
    "lab/why/lease/",
    "lab/rollouts/",
    "lab/rollouts/?template=rename&form=safe",
    "glossary/",
    "docs/",
    "docs/reference/protocol.md",
    *(f"lab/live/recorded/{name}/" for name in SESSIONS),
)
FORM = Mapping[str, Any]
QUESTIONS: Mapping[str, FORM] = {
    "lab/own/ask/": {"statement": EXAMPLES[0], "case": "0"},
    "lab/rollouts/ask/": {"text": BY_NAME["rename"].naive},
}
"""Questions to the explorer outside chapters; each leads to a page for its answer."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request below the prefix; with `form`, a POST."""

    address: str
    form: FORM | None = None


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    location: str
    """Below the prefix; "" where nothing is redirected."""

    body: str


Visit = Callable[[Request], Response]


def walk(
    visit: Visit, search: Callable[[], object], screens: Collection[str] = ()
) -> Iterator[tuple[Request, Response]]:
    """Every request of the walk with its response. `search` answers the question that waits. `screens` are those to
    walk through, as "00-new-messenger/agreed-hour", after right answers alone to those before them; empty: all."""
    for address in (*PAGES, *(f"lab/own/?{urlencode({'statement': one})}" for one in EXAMPLES)):
        yield from _visited(visit, Request(address))
    for address, form in QUESTIONS.items():
        asked = visit(Request(address, form))
        search()
        yield Request(address, form), asked
        yield Request(asked.location), visit(Request(asked.location))
    for book in books():
        if book.chapter is None:
            continue
        chosen = [one for one in book.chapter.screens if not screens or f"{book.folder}/{one.id}" in screens]
        if not chosen:
            continue
        for screen in book.chapter.screens[: book.chapter.screens.index(chosen[-1]) + 1]:
            if screen in chosen:
                yield from _screen(visit, search, book, screen)
            elif screen.task is not None and not isinstance(
                screen.task, Live
            ):  # what comes after it is closed until then
                yield from _answered(visit, search, f"lab/chapters/{book.folder}/{screen.id}/", fields(screen))
        yield from _visited(visit, Request(f"lab/chapters/{book.folder}/handout/"))


def _visited(visit: Visit, request: Request) -> Iterator[tuple[Request, Response]]:
    response = visit(request)
    yield request, response
    if response.location:
        at = Request(response.location.partition("#")[0])
        yield at, visit(at)


def _screen(
    visit: Visit, search: Callable[[], object], book: Book, screen: Screen
) -> Iterator[tuple[Request, Response]]:
    here = f"lab/chapters/{book.folder}/{screen.id}/"
    yield from _visited(visit, Request(here))
    if screen.task is None or isinstance(screen.task, Live):
        return
    if isinstance(screen.task, Reach):
        yield from _visited(visit, Request(f"{here}reached/", fields(screen)))
    yield from _visited(visit, Request(f"{here}hint/", {}))
    for form in ({}, wrong_fields(screen), fields(screen)):
        yield from _answered(visit, search, here, form)
    yield from _visited(visit, Request(f"{here}solution/", {}))


def _answered(visit: Visit, search: Callable[[], object], here: str, form: FORM) -> Iterator[tuple[Request, Response]]:
    request = Request(f"{here}answer/", form)
    response = visit(request)
    asked = re.search(r"[?]asked=(\d+)", response.location)
    if asked is not None:
        search()
        request = Request(f"{here}answer/", {**form, "asked": asked[1]})
        response = visit(request)
    yield request, response
    if response.location:
        yield from _visited(visit, Request(response.location.partition("#")[0]))


def fields(screen: Screen) -> FORM:
    match screen.task:
        case Predict() as task:
            return _predicted(task, right_answer(task, screen.start))
        case Reach() as task:
            before = screen.start.steps if screen.start is not None else ()
            return {"steps": json.dumps([*before, *task.solution])}
        case Explain() as task:
            return {"clause": task.clause, "step": str(task.step), "rule": task.missing}
        case Design() as task:
            return {"lines": "\n".join(task.solution)}
        case Survive() as task:
            return {"moves": json.dumps(task.solution[:-1]), "move": task.solution[-1]}
    raise AssertionError(screen.id)


def wrong_fields(screen: Screen) -> FORM:
    """An answer that is none of the right ones; of a game, its first move alone."""
    match screen.task:
        case Predict() as task:
            return _predicted(task, _wrong(task, right_answer(task, screen.start)))
        case Reach():
            return {"steps": json.dumps(screen.start.steps if screen.start is not None else ())}
        case Explain() as task:
            others = (rule for rule in task.rules if rule != task.missing)
            return {"clause": task.clause, "step": str(task.step), "rule": next(others)}
        case Design() as task:
            return {"lines": "\n".join(task.wrong)}
        case Survive() as task:
            return {"moves": "[]", "move": task.solution[0]}
    raise AssertionError(screen.id)


def _wrong(task: Predict, right: Any) -> Any:
    match task.form.value:
        case "choice":
            return next(choice for choice in task.values if choice != right)
        case "number":
            return right + 1
        case "time":
            return "0:00" if right != "0:00" else "1:00"
        case "pairs":
            return set(task.options) - right
        case "order":
            return right[::-1]
    first = next(iter(right))
    return right | {first: next(choice for choice in task.values if choice != right[first])}


def _predicted(task: Predict, answer: Any) -> FORM:
    match task.form.value:
        case "order":
            return {"lines": "\n".join(answer)}
        case "match":
            return {f"match-{item}": choice for item, choice in answer.items()}
        case "pairs":
            return {"pairs": sorted(answer)}
    return {task.form.value: str(answer)}
