"""The handout of a chapter: one sheet of A4 with its misconception, its picture, and the sentence to take home. It
shows what the chapter's tasks come to, so a learner gets it when they are done; instructors get it at once."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.safestring import SafeString
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from lab.classroom.selectors import MAY_TEACH, learner_of
from lab.diagrams.handout import picture_of_session
from lab.exercises.chapter import Chapter, Sources
from lab.exercises.pictures import decisive_session
from lab.exercises.shelf import Book
from lab.exercises.texts import LEDE, PICTURE, TAKE_HOME, TITLE
from lab.learning import selectors
from lab.pages.courses.chapters import every_chapter, text
from lab.pages.words import named_clause, say
from lab.sessions.fold import folded
from lab.sessions.replay import show
from lab.sessions.shown import SessionView


@never_cache
@require_GET
def handout(request: HttpRequest, chapter_id: str) -> HttpResponse:
    """The sheet; before the tasks are done the title, the misconception, and what is missing."""
    book = next((one for one in every_chapter() if one.folder == chapter_id), None)
    if book is None or book.chapter is None:
        raise Http404(f"there is no chapter {chapter_id}")
    rows = selectors.progress_in(learner_of(request), book.chapter)
    missing = missing_tasks(book, book.chapter, rows)
    context = {
        "section": "lab",
        "chapter": book.chapter,
        "title": text(book, TITLE),
        "lede": text(book, LEDE),
        "missing": missing,
        "is_full": not missing or request.user.has_perm(MAY_TEACH),
    }
    if context["is_full"]:
        context |= _sheet(book, book.chapter)
    return render(request, "lab/handout.html", context)


def missing_tasks(book: Book, chapter: Chapter, rows: selectors.Tasks) -> list[dict[str, Any]]:
    """The tasks that still hide something: not passed, not shown, and no prediction that is answered, right or wrong.
    Of those that are not open yet not even the title."""
    closed = selectors.first_closed(chapter, rows)
    return [
        {"id": screen.id, "title": text(book, f"{screen.id}.title") if at <= closed else ""}
        for at, screen in enumerate(chapter.screens)
        if selectors.hides_something(screen, rows)
    ]


def _sheet(book: Book, chapter: Chapter) -> dict[str, Any]:
    sheet: dict[str, Any] = {
        "paragraph": text(book, PICTURE),
        "take_home": text(book, TAKE_HOME),
        "sources": sources_of(chapter),
    }
    shown = _decisive(chapter)
    if shown is not None:
        sheet["picture"] = picture_of(book, chapter)
        sheet["steps"] = [f"{line.actor}: {say(line.text)}" for line in shown.trace]
        sheet["verdicts"] = [f"{named_clause(one.clause)}, v{one.version}: {say(one.why)}" for one in shown.verdicts]
    return sheet


def _decisive(chapter: Chapter) -> SessionView | None:
    session = decisive_session(chapter)
    return None if session is None else folded(show(session), single_steps=False)


def picture_of(book: Book, chapter: Chapter) -> str:
    """The chapter's picture, wide and narrow (the page shows the one that fits); "" where it has none."""
    shown, title = _decisive(chapter), text(book, TITLE)
    if shown is None:
        return ""
    drawn = (picture_of_session(shown, title, say, is_narrow=is_narrow) for is_narrow in (False, True))
    return SafeString("".join(drawn))  # every word in it is escaped by the drawing


def sources_of(chapter: Chapter) -> Sources:
    every = (chapter.sources, *(screen.sources for screen in chapter.screens))
    return Sources(
        rules=tuple(dict.fromkeys(one for of in every for one in of.rules)),
        sections=tuple(dict.fromkeys(one for of in every for one in of.sections)),
        reading=tuple(dict.fromkeys(one for of in every for one in of.reading)),
        code=tuple(dict.fromkeys(one for of in every for one in of.code)),
    )
