"""The runs that answer a prediction which the stage does not play by itself, in the reader's words."""

from collections.abc import Mapping
from typing import Any

from lab.exercises.chapter import Predict, Screen
from lab.exercises.runs import runs_of
from lab.exercises.shelf import Book
from lab.pages.courses.chapters import text
from lab.pages.courses.task_state import TaskState
from lab.pages.ladder_form import runs_worded
from lab.templatetags.chapter_text import plain


def played_runs(book: Book, screen: Screen, found: TaskState) -> Mapping[str, Any] | None:
    """Runs of the model, one below the other: they come with the stored answer; None for none."""
    task, key = screen.task, screen.id
    if not isinstance(task, Predict) or not found.outcome:
        return None

    def named(item: str) -> str:
        return plain(text(book, f"{key}.item {item}") or text(book, f"{key}.choice {item}")) if item else ""

    def predicted(item: str) -> str:
        matched = found.predicted.get("match")
        given = matched.get(item) if matched else found.predicted.get("choice")
        return plain(text(book, f"{key}.choice {given}"))

    return runs_worded(runs_of(task, screen.start), named, predicted)


def item_runs(book: Book, screen: Screen, found: TaskState) -> list[dict[str, Any]]:
    """The sessions of a prediction about several, of which the stage plays one; each with what was predicted."""
    if not isinstance(screen.task, Predict) or not found.item:
        return []
    given, key = found.predicted.get("match", {}), screen.id
    return [
        {
            "id": item.id,
            "title": text(book, f"{key}.item {item.id}"),
            "predicted": text(book, f"{key}.choice {given.get(item.id)}"),
            "is_here": item.id == found.item,
        }
        for item in screen.task.items
    ]
