"""The folder of `make anywhere` in a real browser, behind `python -m http.server`: online, then with the server ended.

Skipped where npm or chromium is missing, except in continuous integration.
"""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Frame, Page, expect

from lab.exercises.shelf import books
from tests.product.browser.conftest import browser, complaint
from tests.product.browser.learner import Learner

__all__ = ["browser"]

ROOT = Path(__file__).parents[2]
BOOT_MS_MAX, ANSWER_MS_MAX = 300_000, 60_000
BOOKS = {book.folder: book for book in books()}
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


class Served:
    """The folder below /course/ on a free port, until `end`."""

    def __init__(self, folder: Path) -> None:
        handler = functools.partial(Quiet, directory=str(folder))
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self._server.server_port}/course"

    def end(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class Quiet(SimpleHTTPRequestHandler):
    """The handler of `python -m http.server`, without its log."""

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `make anywhere` writes, in a sub-folder of a host."""
    if shutil.which("npm") is None and os.environ.get("CI") != "true":
        pytest.skip("npm is missing: make anywhere fetches Pyodide by it")
    host = tmp_path_factory.mktemp("host")
    command = [sys.executable, "-m", "schemalab.anywhere.pack", "--into", str(host / "course")]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
    return host


@pytest.fixture(scope="module")
def served(folder: Path) -> Iterator[Served]:
    running = Served(folder)
    yield running
    running.end()


@pytest.fixture(scope="module")
def complaints() -> list[str]:
    return []


@pytest.fixture(scope="module")
def context(browser: Browser) -> Iterator[BrowserContext]:
    made = browser.new_context(**PHONE)
    made.set_default_timeout(BOOT_MS_MAX)
    yield made
    made.close()


def opened(context: BrowserContext, address: str, complaints: list[str]) -> Page:
    """The shell page, once the site is in its frame."""
    page = context.new_page()
    page.on("console", lambda message: complaints.extend(complaints_of(message)))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(address)
    expect(page.locator("#status")).to_be_hidden(timeout=BOOT_MS_MAX)
    return page


def complaints_of(message: ConsoleMessage) -> list[str]:
    """A page that needs a cluster answers 501, and without a server no newer version is found."""
    expected = ("501", "Not Implemented", "ERR_CONNECTION_REFUSED")
    return [] if any(one in message.text for one in expected) else complaint(message, "")


def site_of(page: Page) -> Frame:
    frame = page.frame("site")
    assert frame is not None
    return frame


LONG = "foreign-key"
"""The set-up whose search takes longest."""

ASK = """async ([address, setup]) => {
  const body = JSON.stringify({ session: { setup, parameters: {}, left_out: [], steps: [] }, at: 0 });
  const answer = await fetch(address, { method: "POST", headers: { "Content-Type": "application/json" }, body });
  return await answer.json();
}"""


ASK_AND_STOP = """async ([address, setup, page]) => {
  const body = JSON.stringify({ session: { setup, parameters: {}, left_out: [], steps: [] }, at: 0 });
  const json = async (...request) => (await fetch(...request)).json();
  const { id } = await json(address, { method: "POST", headers: { "Content-Type": "application/json" }, body });
  const { status } = await fetch(page);
  const { state } = await json(`${address}${id}/`);
  return [status, state, (await json(`${address}${id}/stop/`, { method: "POST" })).state];
}"""
"""Asks, opens a page while the search runs, and stops it: the statuses of page and question."""


def state_of(frame: Frame, served: Served, number: int) -> str:
    """The state of a question, as its page asks for it."""
    address = f"{served.address}/lab/questions/{number}/"
    return str(frame.evaluate("async (address) => (await (await fetch(address)).json()).state", address))


def test_a_search_runs_beside_the_pages_and_is_stopped(
    context: BrowserContext, served: Served, complaints: list[str]
) -> None:
    """In a second tab, which the first one answers for."""
    first = opened(context, f"{served.address}/", complaints)
    second = opened(context, f"{served.address}/#lab/stage/?setup=one-jump", complaints)
    frame, address = site_of(second), f"{served.address}/lab/questions/"
    expect(frame.locator("h1")).to_be_visible(timeout=ANSWER_MS_MAX)
    number = frame.evaluate(ASK, [address, "one-jump"])["id"]
    wait_for(second, lambda: state_of(frame, served, number) == "done")  # the searching worker has started

    assert frame.evaluate(ASK_AND_STOP, [address, LONG, f"{served.address}/lab/"]) == [200, "running", "stopped"]
    number = frame.evaluate(ASK, [address, "delete-only"])["id"]
    wait_for(second, lambda: state_of(frame, served, number) == "done")

    first.close()  # the second tab leads from now on, with the same progress
    again = frame.evaluate(ASK, [address, "one-jump"])
    assert (again["state"], again["id"] > number) == ("done", True)
    second.close()
    assert complaints == []


def wait_for(page: Page, holds: Callable[[], bool]) -> None:
    """Looks again every half second; a search in a browser takes seconds, its worker's start longer."""
    for _ in range(BOOT_MS_MAX // 500):
        if holds():
            return
        page.wait_for_timeout(500)
    raise AssertionError("it did not come")


def test_three_chapters_then_without_a_network(
    context: BrowserContext, served: Served, complaints: list[str], tmp_path: Path
) -> None:
    """Chapters 0, 3 and 6 by the page's own controls; then the server ends, and progress is still there."""
    page = opened(context, f"{served.address}/", complaints)
    learner = Learner(InFrame(page), served.address)  # type: ignore[arg-type]
    for folder in ("00-new-messenger", "03-why-write-only", "06-leases"):
        learner.does(BOOKS[folder])
        assert "done" in learner.done(BOOKS[folder])
    before = learner.done(BOOKS["03-why-write-only"])
    _asks_what_needs_a_cluster(page, served)
    with page.expect_download() as download:
        page.locator("#export").click()
    download.value.save_as(tmp_path / "progress.sqlite3")
    page.close()

    served.end()
    again = opened(context, f"{served.address}/#lab/chapters/00-new-messenger/", complaints)
    expect(site_of(again).locator("#screen-title")).to_be_visible(timeout=ANSWER_MS_MAX)
    learner = Learner(InFrame(again), served.address, "zh-hans")  # type: ignore[arg-type]
    assert learner.done(BOOKS["03-why-write-only"]) != ""
    site_of(again).goto(f"{served.address}/lab/stage/?setup=one-jump")
    expect(again).to_have_url(f"{served.address}/#lab/stage/?setup=one-jump")

    again.on("dialog", lambda dialog: dialog.accept())
    again.locator("#start-over").click()
    expect(again.locator("#export")).to_be_disabled()
    expect(again.locator("#export")).to_be_enabled(timeout=BOOT_MS_MAX)
    site_of(again).goto(f"{served.address}/lab/")
    card = site_of(again).locator("li.card", has_text="3. ")
    expect(card.first).to_be_visible(timeout=ANSWER_MS_MAX)
    expect(site_of(again).locator("li.card .small.muted span")).to_have_count(0)
    again.locator("#import").set_input_files(tmp_path / "progress.sqlite3")
    expect(again.locator("#export")).to_be_disabled()
    expect(again.locator("#export")).to_be_enabled(timeout=BOOT_MS_MAX)
    assert Learner(InFrame(again), served.address).done(BOOKS["03-why-write-only"]) == before  # type: ignore[arg-type]
    assert complaints == []


def _asks_what_needs_a_cluster(page: Page, served: Served) -> None:
    site_of(page).goto(f"{served.address}/lab/live/")
    expect(site_of(page).locator("h1")).to_have_text("Needs a cluster")
