"""Handouts through their URL: in both languages, whole for instructors and for whoever has done the tasks."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils.timezone import now

from lab.exercises.chapter import Live, Screen
from lab.exercises.shelf import Book, books
from lab.exercises.texts import LANGUAGES
from lab.models import Progress
from lab.templatetags.chapter_text import markdown
from schemalab.people.roles import give_roles

BOOKS = [book for book in books() if book.chapter is not None]
named = pytest.mark.parametrize("book", BOOKS, ids=[book.folder for book in BOOKS])
in_both = pytest.mark.parametrize("language", LANGUAGES)


def tasks_of(book: Book) -> list[Screen]:
    assert book.chapter is not None
    return [screen for screen in book.chapter.tasks if not isinstance(screen.task, Live)]


def passed(user: User, book: Book, screens: list[Screen]) -> None:
    """These tasks were answered rightly."""
    rows = {"user": user, "exercise": book.folder, "begun_at": now(), "answered_at": now(), "passed_at": now()}
    Progress.objects.bulk_create(Progress(**rows, task=screen.id) for screen in screens)


def page_of(client: Client, book: Book, language: str = "en") -> str:
    client.cookies[settings.LANGUAGE_COOKIE_NAME] = language
    answer = client.get(reverse("chapter-handout", args=(book.folder,)))
    assert answer.status_code == 200
    return answer.content.decode()


def hidden_in(book: Book, language: str) -> list[str]:
    """The parts that give answers away."""
    texts = [book.text(language, key) for key in ("picture", "take-home")]
    return [*(markdown(text) for text in texts if text), *(["<svg xmlns"] if tasks_of(book) else [])]


@pytest.fixture
def learner(client_of: Callable[[str], Client]) -> Client:
    return client_of("lea")


@pytest.fixture
def instructor(people: dict[str, User], client_of: Callable[[str], Client]) -> Client:
    give_roles(people["sam"], ("instructor",))
    return client_of("sam")


@pytest.fixture
def jump() -> Book:
    return next(book for book in BOOKS if book.folder == "01-one-jump")


@named
@in_both
def test_an_instructor_sees_all_of_it_in_both_languages(instructor: Client, book: Book, language: str) -> None:
    page = page_of(instructor, book, language)
    for part in [markdown(book.text(language, "lede")), *hidden_in(book, language)]:
        assert part in page
    assert book.text(language, "title") in page
    assert book.text(language, "take-home"), "a chapter of ours has a sentence to take home"


@named
@in_both
def test_before_the_tasks_are_done_it_gives_nothing_away(learner: Client, book: Book, language: str) -> None:
    page = page_of(learner, book, language)
    assert markdown(book.text(language, "lede")) in page
    if tasks_of(book):
        assert [part for part in hidden_in(book, language) if part in page] == []


def test_it_says_what_is_missing_and_nothing_of_what_is_not_open(
    learner: Client, people: dict[str, User], jump: Book
) -> None:
    first, second, *others = tasks_of(jump)
    page = page_of(learner, jump)
    assert jump.text("en", f"{first.id}.title") in page
    assert f"{len(others) + 1} tasks that are not open yet" in page
    assert jump.text("en", f"{second.id}.title") not in page
    passed(people["lea"], jump, [first])
    page = page_of(learner, jump)
    assert reverse("chapter-screen", args=(jump.folder, second.id)) in page
    assert jump.text("en", f"{first.id}.title") not in page


@pytest.mark.parametrize("answered_at", [None, now()], ids=["begun", "answered, but wrongly"])
def test_a_task_that_is_not_passed_keeps_it_closed(
    learner: Client, people: dict[str, User], jump: Book, answered_at: Any
) -> None:
    *done, last = tasks_of(jump)
    passed(people["lea"], jump, done)
    Progress.objects.create(
        user=people["lea"], exercise=jump.folder, task=last.id, begun_at=now(), answered_at=answered_at
    )
    assert [part for part in hidden_in(jump, "en") if part in page_of(learner, jump)] == []


def test_it_is_whole_when_the_tasks_are_done(learner: Client, people: dict[str, User], jump: Book) -> None:
    passed(people["lea"], jump, tasks_of(jump))
    page = page_of(learner, jump)
    assert [part for part in hidden_in(jump, "en") if part not in page] == []
    assert re.findall(r'href="/docs/reference/protocol.md#section-2">(C\d)</a', page) == ["C3", "C5", "C4"]
    assert re.search(
        r'<a\s+data-cluster href="/source/storage/mutations\.py"><code>storage/mutations\.py</code></a>', page
    )


def test_a_visitor_is_a_learner_who_has_done_nothing(db: None, jump: Book) -> None:
    assert [part for part in hidden_in(jump, "en") if part in page_of(Client(), jump)] == []


def test_the_picture_speaks_the_readers_language(instructor: Client, jump: Book) -> None:
    svg = re.search(r"<svg xmlns.*?</svg>", page_of(instructor, jump, "zh-hans"), re.DOTALL)
    assert svg is not None
    said = re.sub(r"<[^>]*>", " ", svg[0])
    for words in ("by_a: 公开", "by_a: 不存在", "发布者", "第 1 行：不存在", "损害"):
        assert words in said


def test_a_clause_without_a_letter_is_in_the_readers_language(instructor: Client) -> None:
    page = instructor.get("/lab/chapters/00-new-messenger/handout/", headers={"accept-language": "zh-hans"})
    said = re.sub(r"<[^>]*>", " ", page.content.decode())
    assert "丢失消息：" in said
    assert "下的" not in said, "editions have no version"
    assert "lost message" not in said


def test_nothing_in_it_is_styled_inline(instructor: Client, jump: Book) -> None:
    page = page_of(instructor, jump)
    assert re.findall(r"\sstyle=|<style|\son\w+=", page) == []


def test_what_is_not_there_is_not_found(learner: Client) -> None:
    assert learner.get("/lab/chapters/99-nothing/handout/").status_code == 404
    assert learner.get("/lab/chapters/nothing/handout/").status_code == 404


def test_it_is_read_only(learner: Client, jump: Book) -> None:
    assert learner.post(reverse("chapter-handout", args=(jump.folder,))).status_code == 405


def test_words_of_a_teachers_own_chapter_are_escaped(instructor: Client, tmp_path: Path, settings: Any) -> None:
    folder = tmp_path / "21-mine"
    folder.mkdir()
    (folder / "exercise.toml").write_text('act = 1\nminutes = 5\n[[screens]]\nid = "first"\nstage = false\n')
    for name in LANGUAGES.values():
        (folder / name).write_text("# <b>T</b>\n\nL\n\n## picture\n\n<i>P</i>\n\n## first: F\n\nText.\n")
    settings.EXERCISES_DIR = tmp_path
    page = instructor.get("/lab/chapters/21-mine/handout/").content.decode()
    assert "&lt;b&gt;T" in page
    assert "&lt;i&gt;P" in page
    assert "<b>T" not in page


def test_the_last_screen_and_the_list_of_chapters_lead_to_it(
    learner: Client, people: dict[str, User], jump: Book
) -> None:
    address = reverse("chapter-handout", args=(jump.folder,))
    passed(people["lea"], jump, tasks_of(jump))
    assert jump.chapter is not None
    first, *_, last = jump.chapter.screens
    assert address in learner.get(reverse("chapter-screen", args=(jump.folder, last.id))).content.decode()
    assert address not in learner.get(reverse("chapter-screen", args=(jump.folder, first.id))).content.decode()
    assert address in learner.get(reverse("lab")).content.decode()
