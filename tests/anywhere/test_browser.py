"""The folder of `make anywhere` in a real browser, behind `python -m http.server`: online, then with the server ended.
Skipped where npm or chromium is missing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Frame, Page, expect

from lab.exercises.chapter import Form
from lab.exercises.shelf import books
from rollouts.templates import BY_NAME
from schemalab.anywhere.walk import wrong_fields
from tests import rounds
from tests.anywhere.host import Served, memory_names
from tests.anywhere.shell import ANSWER_MS_MAX, BOOT_MS_MAX, PHONE, InFrame, opened, site_of
from tests.product.browser.learner import Learner, open_menu
from tests.product.browser.people import violations

BOOKS = {book.folder: book for book in books()}


@pytest.fixture(scope="module")
def context(browser: Browser) -> Iterator[BrowserContext]:
    made = browser.new_context(**PHONE)
    made.set_default_timeout(ANSWER_MS_MAX)
    yield made
    made.close()


@pytest.fixture(scope="module")
def tabs(context: BrowserContext, served: Served, complaints: list[str]) -> list[Page]:
    """The open tabs, the one that leads first: Python starts once for all tests."""
    return [opened(context, f"{served.address}/", complaints)]


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


def wait_for(page: Page, holds: Callable[[], bool]) -> None:
    """Looks again every half second; a search in a browser takes seconds, its worker's start longer."""
    for _ in range(BOOT_MS_MAX // 500):
        if holds():
            return
        page.wait_for_timeout(500)
    raise AssertionError("it did not come")


def test_chapters_in_two_languages(tabs: list[Page], served: Served, complaints: list[str]) -> None:
    """By the page's own controls, on a phone: one in each language, in the soak one more; then a wrong answer."""
    page = tabs[0]
    assert violations(page) == []
    learner = Learner(InFrame(page), served.address)  # type: ignore[arg-type]
    in_english = ["03-why-write-only", *(["00-new-messenger"] if rounds.in_soak else [])]
    for folder in in_english:
        learner.does(BOOKS[folder])
    reader = Learner(InFrame(page), served.address, "zh-hans")  # type: ignore[arg-type]
    reader.does(BOOKS["06-leases"])
    assert reader.english == set()
    expect(page.locator("#start-over")).to_have_text("删除进度")
    open_menu(site_of(page))
    site_of(page).locator("#language").select_option("en")
    expect(site_of(page).locator("html")).to_have_attribute("data-language", "en", timeout=ANSWER_MS_MAX)
    expect(page.locator("#start-over")).to_have_text("Delete progress")
    _colours_follow(page)
    for folder in (*in_english, "06-leases"):
        assert "done" in learner.done(BOOKS[folder])
    _answers_wrong(site_of(page), served, "01-one-jump")
    site_of(page).goto(f"{served.address}/lab/live/")
    expect(site_of(page).locator("h1")).to_have_text("Needs a cluster")
    assert complaints == []


def _colours_follow(page: Page) -> None:
    """The bar has the site's colours at once, and the system's again."""
    open_menu(site_of(page))
    site_of(page).locator("button[name=theme][value=dark]").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    open_menu(site_of(page))
    site_of(page).locator("button[name=theme][value=system]").click()
    expect(page.locator("html:not([data-theme])")).to_have_count(1)


def _answers_wrong(frame: Frame, served: Served, folder: str) -> None:
    screen = next(one for one in BOOKS[folder].chapter.screens if getattr(one.task, "form", None) is Form.CHOICE)  # type: ignore[union-attr]
    frame.goto(f"{served.address}/lab/chapters/{folder}/{screen.id}/")
    (given,) = wrong_fields(screen).items()
    frame.locator(f'input[name={given[0]}][value="{given[1]}"]').check()
    frame.locator("form[data-answer] .task-send button").click()
    expect(frame.locator("#outcome")).to_have_class(re.compile(r"\bwarn\b"), timeout=ANSWER_MS_MAX)


SEND_SQL = """async ([address, name, text]) => {
  const answer = await fetch(address, { method: "POST", body: new URLSearchParams({ [name]: text }) });
  return [answer.status, await answer.text(), answer.url];
}"""


@pytest.mark.parametrize(
    ("statement", "status", "words"),
    [
        pytest.param("CREATE INDEX parts_by_kind ON parts (kind, weight)", 200, "parts_by_kind", id="an index"),
        pytest.param("ALTER TABLE parts ADD CHECK (weight * 2 > 1)", 200, "weight * 2", id="a check"),
        pytest.param("CREATE INDEX ON parts (kind", 422, "syntax error", id="a syntax error"),
        pytest.param("ALTER TABLE parts ADD CHECK (weight IN (SELECT 1))", 422, "In a browser", id="a subquery"),
    ],
)
def test_sql_of_ones_own_is_read(tabs: list[Page], served: Served, statement: str, status: int, words: str) -> None:
    text = f"CREATE TABLE parts (id bigint PRIMARY KEY, kind text, weight int);\n{statement};"
    found = site_of(tabs[0]).evaluate(SEND_SQL, [f"{served.address}/lab/own/", "statement", text])
    assert (found[0], words in found[1]) == (status, True)


def test_a_rollout_is_explored(tabs: list[Page], served: Served) -> None:
    frame, address = site_of(tabs[0]), f"{served.address}/lab/rollouts/ask/"
    _, _, answer = frame.evaluate(SEND_SQL, [address, "text", BY_NAME["rename"].naive])
    fetched = "async (address) => (await (await fetch(address)).text())"
    wait_for(tabs[0], lambda: "broken: 3 ways" in frame.evaluate(fetched, answer))


def test_a_search_runs_beside_the_pages_and_is_stopped(
    tabs: list[Page], context: BrowserContext, served: Served, complaints: list[str]
) -> None:
    """In a second tab, which the first one answers for."""
    second = opened(context, f"{served.address}/#lab/stage/?setup=one-jump", complaints)
    frame, address = site_of(second), f"{served.address}/lab/questions/"
    expect(frame.locator("h1")).to_be_visible(timeout=ANSWER_MS_MAX)
    expect(second.locator("#other")).to_contain_text("open in another tab")
    number = frame.evaluate(ASK, [address, "one-jump"])["id"]
    wait_for(second, lambda: state_of(frame, served, number) == "done")  # the searching worker has started

    assert frame.evaluate(ASK_AND_STOP, [address, LONG, f"{served.address}/lab/"]) == [200, "running", "stopped"]
    number = frame.evaluate(ASK, [address, "delete-only"])["id"]
    wait_for(second, lambda: state_of(frame, served, number) == "done")
    tabs.append(second)
    assert complaints == []


def test_progress_without_a_network(
    tabs: list[Page], context: BrowserContext, served: Served, complaints: list[str], tmp_path: Path
) -> None:
    """The server ends, then the tab that leads: the next one leads, with the same progress, which is exported, deleted
    and imported again."""
    served.end()
    tabs.pop(0).close()
    page = tabs[0]
    card = 'li.card:has(h4 a[href$="/03-why-write-only/"]) .small.muted span'
    page.locator("#export:enabled").wait_for(timeout=BOOT_MS_MAX)
    site_of(page).goto(f"{served.address}/lab/")
    before = site_of(page).locator(card).first.inner_text()
    expect(page.locator("#other")).to_be_hidden()
    with page.expect_download() as download:
        page.locator("#export").click()
    expect(page.locator("#done")).to_contain_text("schema-lab-progress.sqlite3")
    download.value.save_as(tmp_path / "progress.sqlite3")

    link = opened(context, f"{served.address}/#lab/chapters/00-new-messenger/", complaints)
    expect(site_of(link).locator("#screen-title")).to_be_visible(timeout=ANSWER_MS_MAX)
    site_of(link).goto(f"{served.address}/lab/stage/?setup=one-jump")
    expect(link).to_have_url(f"{served.address}/#lab/stage/?setup=one-jump")
    link.close()

    page.on("dialog", lambda dialog: dialog.accept())
    with page.expect_navigation():
        page.locator("#start-over").click()
    page.locator("#export:enabled").wait_for(timeout=BOOT_MS_MAX)
    expect(page.locator("#done")).to_have_text("Your progress was deleted.")
    expect(page).to_have_url(f"{served.address}/#lab/")
    site_of(page).wait_for_url(f"{served.address}/lab/")
    expect(site_of(page).locator("li.card", has_text="3. ").first).to_be_visible(timeout=ANSWER_MS_MAX)
    expect(site_of(page).locator("li.card .small.muted span")).to_have_count(0)

    with page.expect_navigation():
        page.locator("#import").set_input_files(tmp_path / "progress.sqlite3")
    page.locator("#export:enabled").wait_for(timeout=BOOT_MS_MAX)
    expect(page.locator("#done")).to_have_text("Your progress was imported.")
    site_of(page).wait_for_url(f"{served.address}/lab/")
    expect(site_of(page).locator(card).first).to_have_text(before)
    assert complaints == []


SPOIL_MEMORY = """async (names) => {
  const here = new URL("./", location.href).href, cache = await caches.open(`schemalab-anywhere ${here} memory`);
  for (const name of names) await cache.put(here + name, new Response(new Uint8Array(65536)));
}"""


def test_a_window_without_service_workers(browser: Browser, folder: Path) -> None:
    """From a link, which the host's page for a missing file sends to the shell: a page, an answer, the stage. The
    window finds a copy of the memory that it cannot use, and makes its own."""
    served, complaints, warnings = Served(folder), list[str](), list[str]()
    context = browser.new_context(**PHONE, service_workers="block")
    context.set_default_timeout(ANSWER_MS_MAX)
    page = context.new_page()
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("console", lambda message: warnings.append(message.text.splitlines()[0]))
    page.goto(f"{served.address}/words.json")
    page.evaluate(SPOIL_MEMORY, memory_names(folder))
    screen = next(one for one in BOOKS["01-one-jump"].chapter.screens if one.id)  # type: ignore[union-attr]
    page.goto(f"{served.address}/lab/chapters/01-one-jump/{screen.id}/")
    expect(page).to_have_url(f"{served.address}/#lab/chapters/01-one-jump/{screen.id}/")
    site = page.frame_locator("#site")
    expect(site.locator("#screen-title")).to_be_visible(timeout=BOOT_MS_MAX)
    expect(page.locator("#line")).to_contain_text("no service worker")
    page.evaluate("location.hash = 'lab/stage/?setup=delete-only'")
    expect(site.locator("h1")).to_have_text("Delete-only in between", timeout=ANSWER_MS_MAX)
    site.locator(".step[data-offer]:not([disabled])").first.click()
    expect(site.get_by_text("3 / 3").first).to_be_visible(timeout=ANSWER_MS_MAX)  # two steps were its beginning
    open_menu(site)
    site.locator("#language").select_option("zh-hans")
    expect(site.locator("html")).to_have_attribute("data-language", "zh-hans", timeout=ANSWER_MS_MAX)
    assert complaints == []
    assert "Error: Snapshot has invalid magic number" in warnings
    context.close()
    served.end()
