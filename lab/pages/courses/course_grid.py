"""A course as its pages draw it: the grid of learners and tasks, first answers as bars, in the reader's language."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.timezone import now
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from catalog.text.message import clauses
from lab.classroom import selectors
from lab.classroom.selectors import Cell, Counted
from lab.classroom.status import Status
from lab.classroom.tally import BETWEEN_PAIRS
from lab.exercises.chapter import Form, Predict, Screen
from lab.exercises.pair_texts import pair_text
from lab.exercises.shelf import Book
from lab.exercises.texts import TITLE
from lab.learning.forms import number_words
from lab.models import Course, Membership
from lab.pages.courses.chapters import chapters_of, text
from lab.pages.words import say

STATUS: Mapping[Status, tuple[str, str | Promise]] = {
    Status.NOT_STARTED: ("circle-dashed", gettext_lazy("not started")),
    Status.WORKING: ("activity", gettext_lazy("working")),
    Status.STUCK: ("triangle-alert", gettext_lazy("stuck")),
    Status.PREDICTED_WRONG: ("x", gettext_lazy("predicted wrong")),
    Status.DONE: ("check", gettext_lazy("done")),
    Status.DONE_WITH_HINTS: ("circle-help", gettext_lazy("done with hints")),
    Status.DONE_AFTER_WRONG: ("rotate-ccw", gettext_lazy("done after a wrong prediction")),
}


def grid(mine: Course, asked_for: QueryDict) -> dict[str, Any]:
    """One chapter's grid and counted answers. `right` shows which answers are right: a class sees this page, too."""
    of_course = chapters_of(mine)
    if not of_course:
        return {"rows": (), "chapters": (), "counted": ()}
    asked = asked_for.get("chapter")
    book = next((one for one in of_course if one.folder == asked), of_course[0])
    assert book.chapter is not None
    shows_right = asked_for.get("right") == "1"
    columns = [{"id": one.id, "title": task_title(book, one)} for one in selectors.tasks_of(book.chapter)]
    rows = [
        {"number": row.member.number, "who": who(row.member), "cells": cells(columns, row.cells)}
        for row in selectors.grid(mine, book.chapter, now())
    ]
    first = selectors.first_predictions(mine, [book.chapter])
    return {
        "chapters": [
            {"id": one.folder, "title": text(one, TITLE), "is_here": one.folder == book.folder} for one in of_course
        ],
        "here": book.folder,
        "here_title": text(book, TITLE),
        "shows_right": shows_right,
        "tasks": [
            column | {"done": sum(row["cells"][at]["is_done"] for row in rows)} for at, column in enumerate(columns)
        ],
        "rows": rows,
        "stuck": [
            {"who": row["who"], "number": row["number"], **cell}
            for row in rows
            for cell in row["cells"]
            if cell["status"] == Status.STUCK.value
        ],
        "members": ngettext("{n} learner", "{n} learners", len(rows)).format(n=len(rows)),
        "counted": [counted(book, one, shows_right=shows_right) for one in selectors.counted(book.chapter, first)],
        "key": [{"status": one.value, "glyph": glyph, "word": word} for one, (glyph, word) in STATUS.items()],
    }


def cells(columns: Sequence[Mapping[str, str]], cells: Sequence[Cell]) -> list[dict[str, Any]]:
    found = []
    for column, cell in zip(columns, cells, strict=True):
        glyph, word = STATUS[cell.status]
        shown = {"status": cell.status.value, "is_done": cell.is_done, "answers": cell.answers}
        shown |= {"glyph": glyph, "word": word}
        found.append({**column, **shown})
    return found


def counted(book: Book, one: Counted, *, shows_right: bool) -> dict[str, Any]:
    """The first answers to a prediction as bars. Those that are right are marked only where that is asked for."""
    key = one.screen.id
    return {
        "id": key,
        "title": task_title(book, one.screen),
        "answers": one.answers,
        "questions": [
            {
                "item": text(book, f"{key}.item {tally.item}") if tally.item else "",
                "more": tally.more,
                "bars": [
                    {
                        "answer": _answer_words(book, one.screen, bar.answer),
                        "count": bar.count,
                        "is_right": shows_right and bar.is_right,
                    }
                    for bar in tally.bars
                ],
            }
            for tally in one.tallies
        ],
    }


def _answer_words(book: Book, screen: Screen, answer: str) -> str:
    match screen.task:
        case Predict(form=Form.CHOICE | Form.MATCH):
            return text(book, f"{screen.id}.choice {answer}")
        case Predict(form=Form.NUMBER) as task:
            return number_words(task, answer)
        case Predict(form=Form.PAIRS):
            return say(clauses([pair_text(pair) for pair in answer.split(BETWEEN_PAIRS)]))
    return answer


def who(member: Membership) -> str:
    return selectors.name_of(member) or _("Learner {number}").format(number=member.number)


def task_title(book: Book, screen: Screen) -> str:
    return text(book, f"{screen.id}.title")
