"""Chapters as lists and heads show them, in the reader's language; those that can be done, and which comes next."""

from typing import Any

from django.conf import settings
from django.utils.translation import get_language

from lab.exercises.shelf import Book, books
from lab.exercises.texts import LEDE, TITLE
from lab.learning.selectors import Tasks, done_of
from lab.models import Course


def text(book: Book, key: str) -> str:
    """A text of a chapter in the reader's language."""
    return book.text((get_language() or "en").lower(), key)


def described(book: Book, rows: Tasks) -> dict[str, Any]:
    """A chapter with what a learner, whose `rows` of it these are, has done."""
    assert book.chapter is not None, book.folder
    done, tasks = done_of(book.chapter, rows)
    return {
        "id": book.folder,
        "number": book.chapter.number,
        "act": book.chapter.act,
        "minutes": book.chapter.minutes,
        "title": text(book, TITLE),
        "lede": text(book, LEDE),
        "waits_for": book.chapter.waits_for,
        "done": done,
        "tasks": tasks,
    }


def every_chapter() -> list[Book]:
    """All chapters in their order, those too that wait for what this version lacks."""
    return [book for book in books(settings.EXERCISES_DIR) if book.chapter is not None]


def teachable() -> list[Book]:
    """The chapters that can be done."""
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
