"""Endings: what a chapter's last screen says, and the page of everything that was done."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from lab.exercises.chapter import Explain, Live, Predict, Reach
from lab.exercises.shelf import Book
from tests.web.layout import flat
from tests.web.test_chapters import BOOKS, answered, browser, fields, no_worker, open_all_before, url

__all__ = ["browser", "no_worker"]


def book_of(number: int) -> Book:
    return next(book for book in BOOKS if book.chapter is not None and book.chapter.number == number)


def last_page(browser: Client, book: Book) -> str:
    assert book.chapter is not None
    return flat(browser.get(url("chapter-screen", book, book.chapter.screens[-1])).content.decode())


def pass_all(browser: Client, book: Book) -> None:
    assert book.chapter is not None
    for screen in book.chapter.screens:
        if screen.task is not None and not isinstance(screen.task, Live):
            answered(browser, book, screen, fields(screen))


def test_the_picture_comes_when_the_tasks_are_done(browser: Client) -> None:
    book = book_of(1)
    assert book.chapter is not None
    open_all_before(browser, book, book.chapter.screens[-1])
    before = last_page(browser, book)
    assert "ending-picture" not in before
    undone = [one for one in book.chapter.screens if isinstance(one.task, Reach | Explain)]
    assert len(undone) == 4
    for one in undone:
        assert (
            f'<li><a href="{url("chapter-screen", book, one)}#task">{book.text("en", f"{one.id}.title")}</a></li>'
            in before
        )
    pass_all(browser, book)
    after = last_page(browser, book)
    assert "ending-picture" in after
    assert "<strong>Receive before you send:</strong>" in after


def test_who_predicts_wrong_and_reads_why_gets_the_picture(browser: Client) -> None:
    book = book_of(1)
    assert book.chapter is not None
    for screen in book.chapter.screens:
        if screen.task is not None and not isinstance(screen.task, Live):
            is_prediction = isinstance(screen.task, Predict)
            answered(browser, book, screen, {"choice": "nothing"} if is_prediction else fields(screen))
    assert "ending-picture" in last_page(browser, book)
    assert "Continue with chapter 2" in browser.get("/lab/").content.decode()


def test_a_tick_is_for_a_chapter_whose_tasks_are_all_done(browser: Client) -> None:
    book = book_of(1)
    assert book.chapter is not None
    answered(browser, book, book.chapter.screens[1], {"choice": "entry"})
    tick = "#check"
    some = flat(browser.get("/lab/").content.decode())
    assert "1 of 5 tasks done" in some
    assert tick not in some
    pass_all(browser, book)
    assert tick in flat(browser.get("/lab/").content.decode())


def test_a_screen_without_a_task_is_done_once_a_later_one_is_answered(browser: Client) -> None:
    book = book_of(1)
    assert book.chapter is not None
    first = f'title="{book.text("en", f"{book.chapter.screens[0].id}.title")}"'
    assert "passed" not in last_page(browser, book)
    answered(browser, book, book.chapter.screens[1], {"choice": "entry"})
    _, _, after = last_page(browser, book).partition(first)
    assert re.match(r'[^>]*class="passed"', after)


def test_first_predictions_stay_as_they_were(browser: Client) -> None:
    book = book_of(1)
    assert book.chapter is not None
    screen = book.chapter.screens[1]
    answered(browser, book, screen, {"choice": "nothing"})
    answered(browser, book, screen, fields(screen))
    shown = last_page(browser, book)
    assert "What you predicted first" in shown
    assert "Nothing: row and entry are deleted." in shown
    assert "The entry only." not in shown


def test_a_prediction_after_the_solution_is_none(browser: Client) -> None:
    book = book_of(1)
    assert book.chapter is not None
    screen = book.chapter.screens[1]
    browser.post(url("chapter-solution", book, screen))
    answered(browser, book, screen, fields(screen))
    assert "What you predicted first" not in last_page(browser, book)


@pytest.mark.parametrize(("language", "words"), [("en", "You broke"), ("zh-hans", "你弄坏了")])
def test_the_course_lists_what_was_broken_built_and_predicted(browser: Client, language: str, words: str) -> None:
    for number in (0, 1, 3):
        pass_all(browser, book_of(number))
    browser.cookies["django_language"] = language
    page = flat(browser.get("/lab/done/").content.decode())
    assert words in page
    assert "absent \u2192 delete-only \u2192 write-only \u2192 fill \u2192 public" in page
    assert ("orphan entry (C5)" in page) == (language == "en")
    assert ("<code>reads e-mail and messenger, sends e-mail and messenger</code>" in page) == (language == "en")
    assert "both/" not in page


def test_nobody_sees_what_somebody_else_has_done(browser: Client, people: dict[str, User]) -> None:
    pass_all(browser, book_of(1))
    assert "Nothing yet." in Client().get("/lab/done/").content.decode()


def test_the_front_page_goes_on_where_the_learner_is(browser: Client) -> None:
    front = flat(browser.get("/lab/").content.decode())
    assert front.count('class="button first"') == 1
    assert "Begin</a>" in front
    assert "progress-line" not in front
    answered(browser, book_of(1), book_of(1).chapter.screens[1], fields(book_of(1).chapter.screens[1]))  # type: ignore[union-attr]
    front = flat(browser.get("/lab/").content.decode())
    assert "Continue with chapter 1" in front
    assert "1 of" in front[front.index("progress-line") :][:300]
    assert front.count("Wrong belief") == len(BOOKS)
