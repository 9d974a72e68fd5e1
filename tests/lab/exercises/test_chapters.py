"""Our own chapters: each one is without fault, and each screen says something in both languages."""

import re

import pytest

from lab.exercises.chapter import Chapter, Form, Predict
from lab.exercises.checking import faults_of
from lab.exercises.shelf import Book, books
from lab.exercises.texts import LANGUAGES
from lab.management.commands.exercises import known

OURS = books()
CHAPTERS = [book.chapter for book in OURS if book.chapter is not None]
WORDS_MAX = 260
"""A screen is short: this is its text before the first action, in English words."""


@pytest.mark.parametrize("book", OURS, ids=lambda book: book.folder)
def test_a_chapter_is_without_fault(book: Book) -> None:
    assert [str(fault) for fault in faults_of(book, known())] == []


def test_chapters_are_numbered_and_in_order() -> None:
    numbers = [chapter.number for chapter in CHAPTERS]
    assert numbers == sorted(set(numbers))
    assert [chapter.act for chapter in CHAPTERS] == sorted(chapter.act for chapter in CHAPTERS)


@pytest.mark.parametrize("book", OURS, ids=lambda book: book.folder)
def test_a_screen_has_one_idea(book: Book) -> None:
    assert book.chapter is not None
    for screen in book.chapter.screens:
        assert len(book.text("en", screen.id).split()) <= WORDS_MAX, screen.id


@pytest.mark.parametrize("chapter", [one for one in CHAPTERS if not one.waits_for], ids=lambda chapter: chapter.id)
def test_the_learner_acts_on_the_first_screen(chapter: Chapter) -> None:
    first = chapter.screens[0]
    assert first.do or first.task is not None


@pytest.mark.parametrize("book", OURS, ids=lambda book: book.folder)
def test_both_languages_say_the_same_things(book: Book) -> None:
    """The same keys, and the same steps, clauses, versions and nodes within each of them."""
    english, chinese = (book.texts[language].by_key for language in LANGUAGES)
    named = re.compile(r"`[^`]+`|\b[nv]\d\b|\bC\d\b|\b[a-z0-9]+→r\d")
    for key in english.keys() & chinese.keys():
        if key.endswith((".title",)):
            continue
        assert set(named.findall(english[key])) == set(named.findall(chinese[key])), key


@pytest.mark.parametrize("book", OURS, ids=lambda book: book.folder)
def test_a_wrong_choice_has_a_word_of_its_own(book: Book) -> None:
    """Who chooses wrong learns why this was wrong, not only that."""
    assert book.chapter is not None
    for screen in book.chapter.tasks:
        if isinstance(screen.task, Predict) and screen.task.form is Form.CHOICE:
            wrong = set(screen.task.values) - {screen.task.answer}
            lacking = [one for one in wrong if not book.text("en", f"{screen.id}.answer {one}")]
            assert lacking == [], screen.id
