"""A walk through all chapters with right answers: finds the modules and the parses that a browser needs.

The same walk compares a browser's site with a cluster's (`tests/anywhere`).
"""

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

PAGES = (
    "lab/", "lab/stage/", "lab/stage/?setup=one-jump", "lab/explorer/", "lab/own/", "lab/why/waits/", "lab/why/lease/"
)  # fmt: skip
FORM = Mapping[str, Any]


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
    visit: Visit, search: Callable[[], object], folders: Collection[str] = ()
) -> Iterator[tuple[Request, Response]]:
    """Every request of the walk with its response. `search` answers the question that waits.

    `folders` are the chapters to walk through; all without.
    """
    for address in (*PAGES, *(f"lab/own/?{urlencode({'statement': one})}" for one in EXAMPLES)):
        yield from _visited(visit, Request(address))
    for book in books():
        if book.chapter is not None and (not folders or book.folder in folders):
            for screen in book.chapter.screens:
                yield from _screen(visit, search, book, screen)
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
    form = fields(screen)
    request = Request(f"{here}answer/", form)
    response = visit(request)
    asked = re.search(r"[?]asked=(\d+)", response.location)
    if asked is not None:
        search()
        request = Request(f"{here}answer/", {**form, "asked": asked[1]})
        response = visit(request)
    yield request, response
    yield from _visited(visit, Request(response.location.partition("#")[0] or here))


def fields(screen: Screen) -> FORM:
    """The right answer, as the screen's form sends it."""
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


def _predicted(task: Predict, answer: Any) -> FORM:
    match task.form.value:
        case "order":
            return {"lines": "\n".join(answer)}
        case "match":
            return {f"match-{item}": choice for item, choice in answer.items()}
        case "pairs":
            return {"pairs": sorted(answer)}
    return {task.form.value: str(answer)}
