"""A course as its pages draw it: the grid of learners and tasks, first answers as bars, in the reader's language."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.timezone import now
from django.utils.translation import get_language, gettext_lazy, ngettext
from django.utils.translation import gettext as _

from lab.classroom import selectors
from lab.classroom.selectors import Cell, Counted
from lab.classroom.status import Status
from lab.exercises.chapter import Form, Screen
from lab.exercises.shelf import Book, books
from lab.models import Course, Membership

STATUS: Mapping[Status, tuple[str, str | Promise]] = {
    Status.NOT_STARTED: ("circle-dashed", gettext_lazy("not started")),
    Status.WORKING: ("activity", gettext_lazy("working")),
    Status.STUCK: ("triangle-alert", gettext_lazy("stuck")),
    Status.DONE: ("check", gettext_lazy("done")),
    Status.DONE_WITH_HINTS: ("circle-help", gettext_lazy("done with hints")),
}
"""The glyph and the word of each."""


def grid(mine: Course, asked_for: QueryDict) -> dict[str, Any]:
    """One chapter's grid and counted answers. `right` shows which answers are right: a class sees this page, too."""
    of_course = chapters_of(mine)
    if not of_course:
        return {"rows": (), "chapters": (), "counted": ()}
    asked = asked_for.get("chapter")
    book = next((one for one in of_course if one.folder == asked), of_course[0])
    assert book.chapter is not None
    rows = selectors.grid(mine, book.chapter, now())
    shows_right = asked_for.get("right") == "1"
    return {
        "chapters": [
            {"id": one.folder, "title": chapter_title(one), "is_here": one.folder == book.folder} for one in of_course
        ],
        "here": book.folder,
        "shows_right": shows_right,
        "tasks": [
            {"id": one.id, "title": task_title(book, one), "done": sum(_is_done(row.cells[at]) for row in rows)}
            for at, one in enumerate(selectors.tasks_of(book.chapter))
        ],
        "rows": [
            {"number": row.member.number, "who": who(row.member), "cells": [_cell(book, cell) for cell in row.cells]}
            for row in rows
        ],
        "stuck": [
            {"who": who(row.member), "number": row.member.number, **_cell(book, cell)}
            for row in rows
            for cell in row.cells
            if cell.status is Status.STUCK
        ],
        "members": ngettext("{n} learner", "{n} learners", len(rows)).format(n=len(rows)),
        "counted": [counted(book, one, shows_right=shows_right) for one in selectors.counted(mine, book.chapter)],
        "key": [{"status": one.value, "glyph": glyph, "word": word} for one, (glyph, word) in STATUS.items()],
    }


def _is_done(cell: Cell) -> bool:
    return cell.status in (Status.DONE, Status.DONE_WITH_HINTS)


def _cell(book: Book, cell: Cell) -> dict[str, Any]:
    glyph, word = STATUS[cell.status]
    return {
        "id": cell.screen.id,
        "title": task_title(book, cell.screen),
        "status": cell.status.value,
        "glyph": glyph,
        "word": word,
        "answers": cell.answers,
        "hints": cell.hints,
    }


def counted(book: Book, one: Counted, *, shows_right: bool) -> dict[str, Any]:
    """The first answers to a prediction as bars. Those that are right are marked only where that is asked for."""
    language = get_language() or "en"
    task, key = one.screen.task, one.screen.id
    has_words = getattr(task, "form", None) in (Form.CHOICE, Form.MATCH)
    return {
        "id": key,
        "title": task_title(book, one.screen),
        "answers": one.answers,
        "questions": [
            {
                "item": book.text(language, f"{key}.item {tally.item}") if tally.item else "",
                "more": tally.more,
                "bars": [
                    {
                        "answer": book.text(language, f"{key}.choice {bar.answer}") if has_words else bar.answer,
                        "count": bar.count,
                        "is_right": shows_right and bar.is_right,
                    }
                    for bar in tally.bars
                ],
            }
            for tally in one.tallies
        ],
    }


def who(member: Membership) -> str:
    """A learner's name, or their number where there is none."""
    return selectors.name_of(member) or _("Learner {number}").format(number=member.number)


def chapters_of(mine: Course) -> list[Book]:
    """The chapters of a course that there are still, in its order."""
    found = {book.folder: book for book in books(settings.EXERCISES_DIR) if book.chapter is not None}
    return [found[folder] for folder in mine.chapters if folder in found]


def chapter_title(book: Book) -> str:
    return book.text(get_language() or "en", "title")


def task_title(book: Book, screen: Screen) -> str:
    return book.text(get_language() or "en", f"{screen.id}.title")
