"""The shell page in a real browser, and the site in its frame."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import BrowserContext, ConsoleMessage, Frame, Page, expect

from tests.product.browser.conftest import complaint

BOOT_MS_MAX, ANSWER_MS_MAX = 300_000, 60_000
PHONE = {"viewport": {"width": 390, "height": 844}}


class InFrame:
    """The site's frame, as the learner of the product's tests uses a page."""

    def __init__(self, page: Page) -> None:
        frame = page.frame("site")
        assert frame is not None
        self.page, self.frame = page, frame

    def add_init_script(self, script: str) -> None:
        self.page.add_init_script(script)

    def goto(self, address: str) -> None:
        self.frame.goto(address)

    def locator(self, selector: str, **more: Any) -> Any:
        return self.frame.locator(selector, **more)

    def evaluate(self, script: str) -> Any:
        return self.frame.evaluate(script)


def opened(context: BrowserContext, address: str, complaints: list[str]) -> Page:
    """The shell page, once the site is in its frame."""
    page = context.new_page()
    page.on("console", lambda message: complaints.extend(complaints_of(message)))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(address)
    expect(page.locator("#status")).to_be_hidden(timeout=BOOT_MS_MAX)
    return page


def complaints_of(message: ConsoleMessage) -> list[str]:
    """A page that needs a cluster answers 501, refused SQL 422. Without a server no newer version is found."""
    expected = ("501", "Not Implemented", "422", "ERR_CONNECTION_REFUSED")
    return [] if any(one in message.text for one in expected) else complaint(message, "")


def site_of(page: Page) -> Frame:
    frame = page.frame("site")
    assert frame is not None
    return frame
