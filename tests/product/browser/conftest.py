"""A real browser on the real cluster: Debian's chromium, driven by Playwright.

While Playwright's synchronous interface is open, an event loop runs in the test's thread, in which Django's ORM refuses
to work: ask the database through `cluster.database_url` and psycopg instead.
"""

import os
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright

from tests.chromium import CHROMIUM, MISSING

ARGUMENTS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PAGE_S_MAX = 15

NewPage = Callable[..., Page]


@pytest.fixture(
    scope="module"
)  # the event loop ends with it: tests that come after these need their thread for themselves
def browser() -> Iterator[Browser]:
    if not CHROMIUM.exists():
        pytest.skip(MISSING)
    arguments = [*ARGUMENTS, *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=arguments)
        yield running
        running.close()


@pytest.fixture
def new_page(browser: Browser) -> Iterator[NewPage]:
    """`new_page(theme="dark", width=320, ..)`: a page with cookies of its own. Afterwards none may have complained,
    except of what is `expected`, a part of the complaint."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def make(
        *, theme: str = "light", width: int = 1280, height: int = 900, expected: str = "", **options: object
    ) -> Page:
        context = browser.new_context(color_scheme=theme, viewport={"width": width, "height": height}, **options)
        context.set_default_timeout(PAGE_S_MAX * 1000)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.extend(complaint(message, expected)))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        return page

    yield make
    for context in contexts:
        context.close()
    assert complaints == []  # a violation of the content security policy is an error of the console too


def complaint(message: ConsoleMessage, expected: str) -> list[str]:
    if message.type not in ("error", "warning") or (expected and expected in message.text):
        return []
    return [f"{message.text} ({message.location.get('url')})"]
