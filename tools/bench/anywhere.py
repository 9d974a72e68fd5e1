"""The lab in a browser, from a folder of `make anywhere`: first paint, starts, pages, steps, searches.

python -m tools.bench.anywhere             writes the folder first, which takes a minute
python -m tools.bench.anywhere --host DIR  takes DIR/course, if it is there
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, BrowserContext, Frame, Page, sync_playwright

from lab.exercises.shelf import books
from tests.anywhere.host import Served, write_folder
from tests.chromium import CHROMIUM
from tools.bench.report import percentile

BOOT_MS_MAX = 300_000
STAGES = ("delete-only", "write-only", "leases")
STEPS_EACH = 8
WARM, SMALL = "full-ladder", ("one-jump", "delete-only", "write-only")
"""The first search starts its worker; then these models, each asked once."""

PAGES = (
    "lab/",
    "lab/stage/?setup=one-jump",
    "lab/explorer/",
    "lab/own/",
    "lab/live/recorded/orphan/",
    "glossary/",
    "docs/",
)

NOTE_PAINT = """if (self !== top) new PerformanceObserver((list) => {
  const [paint] = list.getEntriesByName("first-contentful-paint");
  if (paint) top.painted ??= performance.timeOrigin + paint.startTime;
}).observe({ type: "paint", buffered: true });"""
"""In each frame: when the first of them has painted what it holds."""

PAGE = """async (address) => {
  const began = performance.now(), answer = await fetch(address);
  await answer.text();
  if (!answer.ok) throw new Error(`${address}: ${answer.status}`);
  return performance.now() - began;
}"""
"""From the request of a page to its last byte."""

STEPS = """async (steps) => {
  const taken = [], count = () => document.querySelector(".sentence-now .count")?.textContent;
  for (let n = 0; n < steps; n++) {
    const offer = document.querySelector(".step[data-offer]:not([disabled])");
    if (!offer) break;
    const before = count(), began = performance.now();
    const said = new Promise((resolve) => new MutationObserver((_, observer) => {
      if (count() === before) return;
      observer.disconnect();
      resolve();
    }).observe(document.getElementById("stage"), { subtree: true, childList: true, characterData: true }));
    offer.click();
    const isSaid = await Promise.race([said.then(() => true), new Promise((resolve) => setTimeout(resolve, 3000))]);
    if (!isSaid) break;
    taken.push(performance.now() - began);
  }
  return taken;
}"""
"""From the click on a step to the sentence that says what it did; a step that says nothing ends a session."""

PROVED = """async ([address, setup]) => {
  const body = JSON.stringify({ session: { setup, parameters: {}, left_out: [], steps: [] }, at: 0 });
  const json = async (...request) => (await fetch(...request)).json();
  const began = performance.now();
  let { id, state } = await json(address, { method: "POST", headers: { "Content-Type": "application/json" }, body });
  while (state !== "done") {
    await new Promise((resolve) => setTimeout(resolve, 50));
    ({ state } = await json(`${address}${id}/`));
  }
  return performance.now() - began;
}"""
"""From the question to its answer; a page asks for it every 50 ms, which counts."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.bench.anywhere", description=__doc__)
    parser.add_argument("--host", type=Path, help="a folder that has, or gets, the lab as course/")
    chosen = parser.parse_args().host
    print(f"load {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        host = chosen or Path(folder)
        if not (host / "course").exists():
            write_folder(host)
        served = Served(host)
        with sync_playwright() as playwright:
            arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
            browser = playwright.chromium.launch(executable_path=CHROMIUM, headless=True, args=arguments)
            for line in measured(browser, served.address):
                print(line, flush=True)
            browser.close()
        served.end()
    print(f"load {os.getloadavg()[0]:.2f} at the end")


def measured(browser: Browser, address: str) -> Iterator[str]:
    context = browser.new_context()
    context.set_default_timeout(BOOT_MS_MAX)
    context.add_init_script(NOTE_PAINT)
    page, paint, boot = started(context, address)
    yield f"first paint: {paint:.2f} s, limit 1 s"
    yield f"first start: {boot:.1f} s"
    page.close()
    page, paint, boot = started(context, address)
    yield f"second start: {boot:.1f} s, its first paint {paint:.2f} s"
    frame = site_of(page)
    chapters = [(book.folder, book.chapter) for book in books() if book.chapter is not None]
    screens = [f"lab/chapters/{folder}/{screen.id}/" for folder, chapter in chapters for screen in chapter.screens]
    pages = [f"{address}/{one}" for one in (*PAGES, *screens)]
    yield shown("a page", [frame.evaluate(PAGE, one) for one in pages], "p95 200 ms")
    steps: list[float] = []
    for setup in STAGES:
        frame.goto(f"{address}/lab/stage/?setup={setup}")
        frame.locator(".step[data-offer]:not([disabled])").first.wait_for()
        steps += frame.evaluate(STEPS, STEPS_EACH)
    yield shown("a step on the stage", steps, "50 ms")
    questions = f"{address}/lab/questions/"
    yield f"first search, its worker starts: {frame.evaluate(PROVED, [questions, WARM]) / 1000:.2f} s"
    yield shown("a small model proved", [frame.evaluate(PROVED, [questions, one]) for one in SMALL], "1500 ms")
    context.close()


def started(context: BrowserContext, address: str) -> tuple[Page, float, float]:
    """The shell page with the site in its frame, seconds to the first screen's paint, and seconds to the site."""
    page, began = context.new_page(), time.time()
    page.goto(f"{address}/")
    until(page, "self.painted > 0")
    paint = page.evaluate("self.painted") / 1000
    page.locator("#status").wait_for(state="hidden")
    site_of(page).locator("h1").wait_for()
    until(page, "frames[0].location.pathname.endsWith('/lab/')")
    return page, paint - began, time.time() - began


def until(page: Page, script: str) -> None:
    """Playwright's own waiting evaluates a string in the page, which its policy forbids."""
    while not page.evaluate(script):
        page.wait_for_timeout(20)


def site_of(page: Page) -> Frame:
    frame = page.frame("site")
    assert frame is not None
    return frame


def shown(what: str, millis: list[float], limit: str) -> str:
    p50, p95 = percentile(millis, 0.5), percentile(millis, 0.95)
    return f"{what}: p50 {p50:.0f} ms, p95 {p95:.0f} ms, worst {max(millis):.0f} ms of {len(millis)}, limit {limit}"


if __name__ == "__main__":
    main()
