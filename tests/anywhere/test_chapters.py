"""All chapters in a browser, from the folder, in both languages: wrong answers, then right ones by the page's controls.

In the soak. The suite does three chapters (`test_browser`), and compares answers with a cluster's (`test_alike`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from lab.exercises.chapter import Live, Screen, Survive
from lab.exercises.shelf import Book, books
from schemalab.anywhere.walk import wrong_fields
from tests.anywhere.host import Served
from tests.anywhere.shell import ANSWER_MS_MAX, BOOT_MS_MAX, PHONE, InFrame, opened, site_of
from tests.product.browser.conftest import browser
from tests.product.browser.learner import Learner

__all__ = ["browser"]

CHAPTERS = [book for book in books() if book.chapter is not None]
LANGUAGES = ("en", "zh-hans")

SEND = """([action, fields]) => {
  const form = Object.assign(document.createElement("form"), { method: "post", action });
  const input = (name, value) => Object.assign(document.createElement("input"), { type: "hidden", name, value });
  form.append(...fields.map((field) => input(...field)));
  document.body.append(form);
  form.submit();
}"""


@pytest.fixture(scope="module")
def complaints() -> list[str]:
    return []


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[Served]:
    running = Served(folder)
    yield running
    running.end()


@pytest.fixture(scope="module", params=LANGUAGES)
def learner(request: Any, browser: Browser, served: Served, complaints: list[str]) -> Iterator[Learner]:
    """A visitor of the folder, who does one chapter after the other."""
    context = browser.new_context(**PHONE)
    context.set_default_timeout(ANSWER_MS_MAX)
    page = opened(context, f"{served.address}/", complaints)
    yield Learner(InFrame(page), served.address, request.param)  # type: ignore[arg-type]
    context.close()


@pytest.mark.soak
@pytest.mark.parametrize("book", CHAPTERS, ids=lambda book: book.folder)
def test_a_chapter(learner: Learner, served: Served, book: Book, complaints: list[str]) -> None:
    assert book.chapter is not None
    page: Page = learner.page.page  # type: ignore[attr-defined]
    for screen in book.chapter.screens:
        if screen.task is not None and not isinstance(screen.task, Live | Survive):
            answer_wrong(page, f"{served.address}/lab/chapters/{book.folder}/{screen.id}/", screen)
    learner.does(book)
    assert learner.english == set()
    assert complaints == []


def answer_wrong(page: Page, address: str, screen: Screen) -> None:
    """Sends a wrong answer; the page says so, and plays what follows."""
    values = wrong_fields(screen).items()
    fields = [(name, one) for name, given in values for one in (given if isinstance(given, list) else [given])]
    site_of(page).goto(address)
    site_of(page).evaluate(SEND, [f"{address}answer/", fields])
    expect(site_of(page).locator("#outcome")).to_be_visible(timeout=BOOT_MS_MAX)
    expect(site_of(page).locator("#outcome.ok")).to_have_count(0, timeout=ANSWER_MS_MAX)
