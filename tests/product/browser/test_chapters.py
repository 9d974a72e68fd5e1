"""Every chapter, done once as a learner does it: read, answered, played and checked by the page's own controls.

One chapter of each kind in the suite, in Chinese on a phone; the others in the soak, and all of them in both languages.
Whoever does them has no account.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from lab.exercises.chapter import Live
from lab.exercises.shelf import Book, books
from tests.harness.cluster import RunningCluster
from tests.product.browser.conftest import PAGE_S_MAX, complaint
from tests.product.browser.learner import Learner

CHAPTERS = [book for book in books() if book.chapter is not None and not book.chapter.waits_for]
IN_THE_SUITE = {
    "en": ("03-why-write-only",),
    "zh-hans": ("07-news",),
}
"""A model, the lab's cluster; in Chinese a chapter on the cluster and on a model, with choices, a number, steps on the
stage and an explanation."""


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
        marks=[] if book.folder in IN_THE_SUITE[language] else [pytest.mark.soak],
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
