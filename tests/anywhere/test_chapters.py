"""All chapters in a browser, from the folder, in both languages: wrong answers, then right ones by the page's controls.
In the soak; the suite does two chapters (`test_browser`)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from lab.exercises.chapter import Live, Survive
from lab.exercises.shelf import Book, books
from schemalab.anywhere.walk import FORM, fields, wrong_fields
from tests.anywhere.host import Served
from tests.anywhere.shell import ANSWER_MS_MAX, BOOT_MS_MAX, PHONE, InFrame, opened, site_of
from tests.product.browser.learner import Learner

CHAPTERS = [book for book in books() if book.chapter is not None]

SEND = """([action, fields]) => {
  const form = Object.assign(document.createElement("form"), { method: "post", action });
  const input = (name, value) => Object.assign(document.createElement("input"), { type: "hidden", name, value });
  form.append(...fields.map((field) => input(...field)));
  document.body.append(form);
  form.submit();
}"""


@pytest.fixture(scope="module")
def page(browser: Browser, served: Served, complaints: list[str]) -> Iterator[Page]:
    """The folder, opened once for all chapters."""
    context = browser.new_context(**PHONE)
    context.set_default_timeout(ANSWER_MS_MAX)
    shell = opened(context, f"{served.address}/", complaints)
    shell.on("dialog", lambda dialog: dialog.accept())
    yield shell
    context.close()


@pytest.mark.soak
@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize("book", CHAPTERS, ids=lambda book: book.folder)
def test_a_chapter(page: Page, served: Served, language: str, book: Book, complaints: list[str]) -> None:
    """Answers sent wrong, then right; then from the beginning by somebody who does the chapter."""
    assert book.chapter is not None
    for screen in book.chapter.screens:
        if screen.task is not None and not isinstance(screen.task, Live):
            address = f"{served.address}/lab/chapters/{book.folder}/{screen.id}/"
            if not isinstance(screen.task, Survive):
                assert not is_right(page, address, wrong_fields(screen))
            assert is_right(page, address, fields(screen))
    with page.expect_navigation():
        page.locator("#start-over").click()
    page.locator("#export:enabled").wait_for(timeout=BOOT_MS_MAX)
    learner = Learner(InFrame(page), served.address, language)  # type: ignore[arg-type]
    learner.does(book)
    assert learner.english == set()
    assert complaints == []


def is_right(page: Page, address: str, given: FORM) -> bool:
    """The outcome that the page shows of an answer."""
    sent = [(name, one) for name, value in given.items() for one in (value if isinstance(value, list) else [value])]
    site_of(page).goto(address)
    with site_of(page).expect_navigation():
        site_of(page).evaluate(SEND, [f"{address}answer/", sent])
    outcome = site_of(page).locator("#outcome:is(.ok, .warn, .danger)")
    expect(outcome).to_be_visible(timeout=BOOT_MS_MAX)
    return "ok" in (outcome.get_attribute("class") or "").split()
