"""Chapters as lists and heads show them, in the reader's language; those that can be done, and which comes next."""

import re
from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.utils.translation import get_language

from lab.exercises.shelf import Book, books
from lab.exercises.texts import LEDE, TITLE
from lab.learning.selectors import Tasks, done_of, hides_something
from lab.models import Course

BELIEF = re.compile(r"\*([^*]+)\*\s*(.*)", re.DOTALL)
"""The opening of a chapter: a belief that it proves wrong, then its first sentence."""


def text(book: Book, key: str) -> str:
    return book.text((get_language() or "en").lower(), key)


def described(book: Book, rows: Tasks) -> dict[str, Any]:
    assert book.chapter is not None, book.folder
    done, tasks = done_of(book.chapter, rows)
    lede = text(book, LEDE)
    belief = BELIEF.fullmatch(lede.strip())
    return {
        "id": book.folder,
        "number": book.chapter.number,
        "act": book.chapter.act,
        "minutes": book.chapter.minutes,
        "title": text(book, TITLE),
        "belief": belief[1] if belief else "",
        "lede": belief[2] if belief else lede,
        "waits_for": book.chapter.waits_for,
        "done": done,
        "tasks": tasks,
        "is_over": not any(hides_something(screen, rows) for screen in book.chapter.screens),
    }


def course_of(chapters: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The progress over all chapters, as `described` gives them: tasks done, chapters done, and the one to go on with:
    the last one begun while it still hides something, else the next. A learner who skips a chapter, or predicts wrong
    in one, is not sent back to it before the end."""
    open_ones = [one for one in chapters if not one["waits_for"]]
    undone = [one for one in open_ones if one["done"] < one["tasks"]]
    begun = max((at for at, one in enumerate(open_ones) if one["done"]), default=-1)
    onward = [one for one in open_ones[max(begun, 0) :] if not one["is_over"]]
    return {
        "done": sum(one["done"] for one in open_ones),
        "tasks": sum(one["tasks"] for one in open_ones),
        "chapters_done": len(open_ones) - len(undone),
        "chapters": len(open_ones),
        "has_begun": begun >= 0,
        "onward": next(iter([*onward, *undone]), None),
    }


def every_chapter() -> list[Book]:
    """All chapters in their order, also those that this version cannot run."""
    return [book for book in books(settings.EXERCISES_DIR) if book.chapter is not None]


def teachable() -> list[Book]:
    return [book for book in every_chapter() if book.chapter is not None and not book.chapter.waits_for]


def chapters_of(course: Course) -> list[Book]:
    """The chapters of a course that there are still, in its order."""
    found = {book.folder: book for book in every_chapter()}
    return [found[folder] for folder in course.chapters if folder in found]


def chapter_after(chapter_id: str, course: Course | None) -> str:
    """The next chapter that can be done, in the course where one works; "" after the last."""
    if course is None:
        return next((book.folder for book in teachable() if book.folder > chapter_id), "")
    folders = [book.folder for book in chapters_of(course)]
    behind = folders[folders.index(chapter_id) + 1 :] if chapter_id in folders else []
    return behind[0] if behind else ""
