"""Every page in every look, from a running product: `make run`, and `python -m tests.pictures.looks FOLDER` beside it.

A look is a width, a theme and a language. The pages are found along the links, one address of each route or several
(`--each`), besides those of `MORE`, which are states that no link leads to. What a page asks before it acts is opened,
too, each kind once: dialogs over it (`DIALOGS` are those of the stage), and the administration's actions. Of each: a
picture, of a page in its whole length, and what is wrong with it:

    FOLDER/390-dark-zh-hans/table-version.png
    390-dark-zh-hans /tables/7/versions/3/: 12 pixels lie beyond the right edge
    FOLDER/390-dark-zh-hans/ask-process-control-kill.png

`--running` draws, in place of the pages, what a running story shows: `tests.pictures.scenes` says which, and on which
cluster.

`--only` takes pages whose name or address contains a word; `--looks` takes looks that contain one of some, as in
`--looks 1920-dark-en 390-light-zh`. Exit status 1: something is wrong.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import deque
from collections.abc import Iterator
from html import unescape
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urljoin, urlsplit

from django.urls import Resolver404, resolve
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright
from playwright.sync_api import Error as BrowserError

from tests.pictures.scenes import Shot, actors_of, scenes
from tests.pictures.screenshots import CHROMIUM, ROOT, sign_in_link

WIDTHS, THEMES, LANGUAGES = (390, 1920), ("light", "dark"), ("en", "zh-hans")
HEIGHTS = {390: 844, 1920: 1080}
LENGTH_MAX = 6000
"""A longer page is cut in its picture."""
SETTLE_MS = 400
AXE = ROOT / "tests" / "product" / "browser" / "vendor" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
RUN_AXE = """tags => axe.run(document, {runOnly: tags, preload: false}).then(found => found.violations.map(
  v => `${v.id}: ${v.nodes.map(n => n.target.join(' ')).slice(0, 3).join(' | ')}`))"""
SETTLED = "Promise.all(document.getAnimations().filter(one => one instanceof CSSTransition).map(one => one.finished))"
BEYOND = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
MORE = (
    "/nothing/",
    "/changes/new/?statement=CREATE%20INDEX%20looks%20ON%20flights%20(nope)",
    "/changes/new/?statement=CREATE%20UNIQUE%20INDEX%20looks%20ON%20flights%20(dest)",
    "/story/?kind=nodes",
    "/story/?text=nothing-of-this-name",
    "/changes/?text=nothing-of-this-name",
    "/audit-trail/?text=nothing-of-this-name",
    "/console/?panes=2",
    "/?present=1",
    "/lab/stage/?setup=fill",
    "/lab/stage/?present=1",
)
DIALOGS = {
    "stage-set-up": ("/lab/stage/?setup=full-ladder", ".tools button:has(use[href$='#settings-2'])"),
    "stage-keyboard": ("/lab/stage/?setup=full-ladder", ".tools button:has(use[href$='#keyboard'])"),
}
"""Behind a button, by its address and selector."""
ASKING_ACTS = ("/admin/changes/change/", "/admin/leases/lease/", "/admin/leases/node/")
"""Lists whose actions ask first."""
REFUSED = "409 (Conflict)"
"""The status of what cannot be done now, on the page that says why."""
NO_PAGES = re.compile(r"^/(static|sign-out|theme|jsi18n|language|healthz|metrics|admin/logout)|\.(csv|json|css)\b")


class Found(NamedTuple):
    """A page by the name of its route, with a number where it is not the first, and its address."""

    name: str
    path: str


def main() -> int:
    asked = _arguments()
    problems: list[str] = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        visitor = browser.new_context()
        page = visitor.new_page()
        page.goto(sign_in_link())
        address = "{0.scheme}://{0.netloc}".format(urlsplit(page.url))
        if asked.running:
            problems = list(_running(browser, visitor, address, asked))
            browser.close()
            print(f"{len(problems)} problems")
            return 1 if problems else 0
        pages = [one for one in _pages(visitor, address, asked.each) if asked.only in f"{one.name} {one.path}"]
        dialogs = {name: found for name, found in DIALOGS.items() if asked.only in f"{name} {found[0]}"}
        print(f"{len(pages)} pages", flush=True)
        for width, theme, language in product(WIDTHS, THEMES, LANGUAGES):
            look = f"{width}-{theme}-{language}"
            if _is_wanted(look, asked):
                context = _dressed(browser, visitor, address, width, theme, language)
                for wrong in _look(context, address, pages, dialogs, asked.folder / look):
                    problems.append(wrong)
                    print(f"{look} {wrong}", flush=True)
                context.close()
        browser.close()
    print(f"{len(problems)} problems")
    return 1 if problems else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.pictures.looks", description=(__doc__ or "").split("\n\n")[0]
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--running", action="store_true")
    parser.add_argument("--each", type=int, default=1, metavar="N")
    parser.add_argument("--only", default="", metavar="WORD")
    parser.add_argument("--looks", nargs="+", default=[""], metavar="WORD")
    return parser.parse_args()


def _is_wanted(look: str, asked: argparse.Namespace) -> bool:
    return any(word in look for word in asked.looks)


def _pages(visitor: BrowserContext, address: str, each: int) -> list[Found]:
    """The pages that links lead to from the front page, at most `each` of a route, then those of `MORE`."""
    waiting, seen, by_route = deque(["/"]), {"/"}, dict[str, list[str]]()
    while waiting:
        path = waiting.popleft()
        taken = by_route.setdefault(_route(path), [])
        if len(taken) == each:
            continue
        answer = visitor.request.get(f"{address}{path}", max_redirects=5)
        if not answer.ok or "text/html" not in answer.headers.get("content-type", ""):
            continue
        taken.append(path)
        for link in re.findall(r'<a\b[^>]*?\bhref="([^"]+)"', answer.text()):
            to = urlsplit(urljoin(f"{address}{path}", unescape(link)))
            other = f"{to.path}?{to.query}" if to.query else to.path
            if f"{to.scheme}://{to.netloc}" == address and other not in seen and _route(other):
                seen.add(other)
                waiting.append(other)
    found = [(name, path) for name, paths in by_route.items() for path in paths]
    return list(_named([*found, *((_route(path) or "nothing", path) for path in MORE)]))


def _route(path: str) -> str:
    """The name of a page's route; none of what is no page."""
    if NO_PAGES.search(path):
        return ""
    try:
        match = resolve(urlsplit(path).path)
    except Resolver404:
        return ""
    return re.sub("[:/]", "-", str(match.view_name or match.route))


def _named(pages: list[tuple[str, str]]) -> Iterator[Found]:
    counts: dict[str, int] = {}
    for name, path in pages:
        counts[name] = counts.get(name, 0) + 1
        yield Found(name if counts[name] == 1 else f"{name}-{counts[name]}", path)


def _dressed(
    browser: Browser, visitor: BrowserContext, address: str, width: int, theme: str, language: str
) -> BrowserContext:
    """A browser with this look, in which the same person has signed in."""
    look: dict[str, Any] = {"viewport": {"width": width, "height": HEIGHTS[width]}, "color_scheme": theme}
    context = browser.new_context(**look, reduced_motion="reduce")
    kept: list[Any] = [*visitor.cookies(), {"name": "django_language", "value": language, "url": address}]
    context.add_cookies(kept)
    return context


def _running(browser: Browser, visitor: BrowserContext, address: str, asked: argparse.Namespace) -> Iterator[str]:
    """Take a picture of each scene in each look while it lasts; what is wrong with them."""
    looks = {
        look: _dressed(browser, visitor, address, width, theme, language).new_page()
        for width, theme, language in product(WIDTHS, THEMES, LANGUAGES)
        if _is_wanted(look := f"{width}-{theme}-{language}", asked)
    }
    complaints: list[str] = []
    seen: dict[str, set[str]] = {look: set() for look in looks}
    for look, page in looks.items():
        (asked.folder / look).mkdir(parents=True, exist_ok=True)
        _listen(page, complaints)
    for shots in scenes(actors_of(visitor, browser.new_context(locale="en"), address)):
        print(", ".join(shot.name for shot in shots), flush=True)
        for look, page in looks.items():
            for shot in (shot for shot in shots if asked.only in f"{shot.name} {shot.path}"):
                for wrong in _drawn(page, f"{address}{shot.path}", shot, seen[look], asked.folder / look):
                    yield _reported(f"{look} {shot.name}: {wrong}")
                for one in complaints:
                    if not _is_meant(one, shot.path):
                        yield _reported(f"{look} {shot.name}: {one}")
                complaints.clear()


def _drawn(page: Page, address: str, shot: Shot, asked: set[str], folder: Path) -> Iterator[str]:
    try:
        page.goto(address, wait_until="load")
        shot.before(page)
        yield from _photographed(page, folder / f"{shot.name}.png")
        yield from _dialogs(page, asked, folder)
    except BrowserError as error:
        yield error.message.partition("\n")[0]


def _reported(wrong: str) -> str:
    print(wrong, flush=True)
    return wrong


def _listen(page: Page, complaints: list[str]) -> None:
    page.on("console", lambda one: complaints.append(one.text) if one.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))


def _look(
    context: BrowserContext, address: str, pages: list[Found], dialogs: dict[str, tuple[str, str]], folder: Path
) -> Iterator[str]:
    """Take a picture of each page, and of what it asks; what is wrong with them."""
    folder.mkdir(parents=True, exist_ok=True)
    page = context.new_page()
    complaints: list[str] = []
    asked = set[str]()
    _listen(page, complaints)
    for name, path in pages:
        try:
            page.goto(f"{address}{path}", wait_until="load")
            yield from (f"{path}: {wrong}" for wrong in _photographed(page, folder / f"{name}.png"))
            yield from (f"{path}: {wrong}" for wrong in _dialogs(page, asked, folder))
            yield from (f"{path}: {wrong}" for wrong in _acts(page, f"{address}{path}", folder))
        except BrowserError as error:
            yield f"{path}: {error.message.partition(chr(10))[0]}"
        yield from (f"{path}: {one}" for one in complaints if not _is_meant(one, path))
        complaints.clear()
    for name, (path, button) in dialogs.items():
        page.goto(f"{address}{path}", wait_until="load")
        page.click(button)
        page.wait_for_selector("dialog[open]")
        yield from (f"{name}: {wrong}" for wrong in _photographed(page, folder / f"{name}.png", whole=False))


def _is_meant(complaint: str, path: str) -> bool:
    """A page that is not there is asked for; what is refused now says so by its status."""
    return ("404 (Not Found)" in complaint and path == "/nothing/") or REFUSED in complaint


def _dialogs(page: Page, asked: set[str], folder: Path) -> Iterator[str]:
    """Open what the page asks over itself, each kind that was not `asked` yet."""
    links: list[str] = page.evaluate(
        "[...document.querySelectorAll('a[data-ask]')].filter(one => one.checkVisibility()).map(one => one.pathname)"
    )
    for link in links:
        match = resolve(link)
        kind = "-".join(
            ["ask", str(match.view_name), *([match.kwargs["command"]] if "command" in match.kwargs else [])]
        )
        if kind not in asked:
            asked.add(kind)
            page.locator(f"a[data-ask][href^='{link}']:visible").first.click()
            page.wait_for_selector("#ask[open]")
            yield from (f"{kind}: {wrong}" for wrong in _photographed(page, folder / f"{kind}.png", whole=False))
            page.keyboard.press("Escape")


def _acts(page: Page, address: str, folder: Path) -> Iterator[str]:
    """The pages on which the administration asks, of the first object in a list; none for an empty list."""
    path = urlsplit(address).path
    if path not in ASKING_ACTS or not page.locator("input.action-select").count():
        return
    acts: list[str] = page.evaluate(
        "[...document.querySelectorAll('select[name=action] option')].map(one => one.value)"
    )
    for act in acts:
        if act and act != "delete_selected":
            page.goto(address, wait_until="load")
            page.locator("input.action-select").first.check()
            page.select_option("select[name=action]", act)
            page.click("button[name=index]")
            page.wait_for_selector(".answers")
            name = f"admin-{path.strip('/').split('/')[-1]}-{act}"
            yield from (f"{act}: {wrong}" for wrong in _photographed(page, folder / f"{name}.png"))


def _photographed(page: Page, file: Path, *, whole: bool = True) -> list[str]:
    """Take a picture of what is shown, of the `whole` page or of the window; what is wrong."""
    page.wait_for_selector("h1", state="attached")
    page.wait_for_timeout(SETTLE_MS)
    page.evaluate(SETTLED)
    length = min(int(page.evaluate("document.documentElement.scrollHeight")), LENGTH_MAX)
    size = page.viewport_size
    assert size is not None
    clip: Any = {"x": 0, "y": 0, "width": size["width"], "height": length if whole else size["height"]}
    page.screenshot(path=file, full_page=whole, caret="initial", clip=clip)
    session = page.context.new_cdp_session(page)
    session.send("Runtime.evaluate", {"expression": AXE.read_text()})
    session.detach()
    wrong: list[str] = page.evaluate(RUN_AXE, RULES)
    beyond = int(page.evaluate(BEYOND))
    return [*wrong, *([f"{beyond} pixels lie beyond the right edge"] if beyond else [])]


if __name__ == "__main__":
    import os

    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "schemalab.settings")
    django.setup()
    sys.exit(main())
