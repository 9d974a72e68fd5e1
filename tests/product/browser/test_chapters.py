"""Every chapter, done once as a learner does it, without an account: read, answered, played and checked by the page's
own controls. The suite does one whole chapter in English, and one screen of each other form of task in Chinese on a
phone; the soak does all chapters in both languages."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from lab.exercises.chapter import Live, Screen
from lab.exercises.shelf import Book, books
from tests.harness.cluster import RunningCluster
from tests.product.browser.conftest import PAGE_S_MAX, complaint
from tests.product.browser.learner import Learner

CHAPTERS = [book for book in books() if book.chapter is not None and not book.chapter.waits_for]
IN_THE_SUITE = ("en", "03-why-write-only")


@pytest.fixture(scope="module")
def complaints() -> list[str]:
    """What browsers had to complain of; a violation of the content security policy is among it."""
    return []


LOOKS = {
    "en": {"viewport": {"width": 1440, "height": 900}, "color_scheme": "light"},
    "zh-hans": {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"},
}


@pytest.fixture(scope="module")
def learner(
    request: pytest.FixtureRequest, browser: Browser, cluster: RunningCluster, complaints: list[str]
) -> Iterator[Learner]:
    """A visitor at a page of their own, who does one chapter after the other."""
    context = browser.new_context(**LOOKS[request.param])
    context.set_default_timeout(PAGE_S_MAX * 1000)
    page = context.new_page()
    page.on("console", lambda message: complaints.extend(complaint(message)))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield Learner(page, cluster.address, request.param)
    context.close()


CASES = [
    pytest.param(
        language,
        book,
        id=f"{language}-{book.folder}",
        marks=[] if (language, book.folder) == IN_THE_SUITE else [pytest.mark.soak],
    )
    for language in LOOKS
    for book in CHAPTERS
]


@pytest.mark.parametrize(("learner", "book"), CASES, indirect=["learner"], scope="module")
def test_a_chapter_is_done(learner: Learner, book: Book, complaints: list[str]) -> None:
    assert book.chapter is not None
    learner.does(book)
    tasks = sum(1 for screen in book.chapter.tasks if not isinstance(screen.task, Live))
    said = learner.done(book)
    for one in learner.left:
        print(f"{book.folder} not done here: {one}")
    complained, english = list(complaints), set(learner.english)
    for kept in (learner.left, complaints, learner.english):
        kept.clear()  # the next chapter has its own
    assert re.findall(r"\d+", said) == [str(tasks)] * 2, said
    assert complained == []
    assert english == set()


def form_of(screen: Screen) -> tuple[str, str]:
    task = screen.task
    return type(task).__name__, str(getattr(task, "form", getattr(task, "grammar", "")))


SCREENS = [(book, screen) for book in reversed(CHAPTERS) for screen in reversed(book.chapter.tasks)]  # type: ignore[union-attr]
DONE_BY_THE_CHAPTER = {form_of(screen) for book, screen in SCREENS if book.folder == IN_THE_SUITE[1]}
FIRST_OF_EACH_FORM = {form_of(screen): (book, screen) for book, screen in SCREENS}
OTHER_FORMS = [found for form, found in FIRST_OF_EACH_FORM.items() if form not in DONE_BY_THE_CHAPTER]


@pytest.mark.parametrize("learner", ["zh-hans"], indirect=True, scope="module")
@pytest.mark.parametrize(
    ("book", "screen"), [pytest.param(*one, id=f"{one[0].folder}-{one[1].id}") for one in OTHER_FORMS]
)
def test_a_screen_of_each_form_is_done(learner: Learner, book: Book, screen: Screen, complaints: list[str]) -> None:
    learner.does_one(book, screen)
    complained, english = list(complaints), set(learner.english)
    complaints.clear()
    learner.english.clear()
    assert complained == []
    assert english == set()
