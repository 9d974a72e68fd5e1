"""A story in scenes for `tests.pictures.looks`: states of a running product that last until they have been drawn.

    traffic · a transaction is left open on n3 · a change awaits approval · waits for n3 · paused · another is queued ·
    n2 is killed, n1 frozen · thawed, started, done · a fill, throttled · a unique index that fails

It needs a cluster that asks for approval, and on which nothing ends by itself meanwhile:
`CHANGES_NEED_APPROVAL=yes LEASE_S=900 make run`. What it made it takes away again, but for what has ended in the story.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from playwright.sync_api import BrowserContext, Page
from playwright.sync_api import Error as BrowserError

from tests.pictures.screenshots import ROOT, NoPicture, sign_in_link

TABLE = "flights"
SUBMITTER = "looks"
HELD, KILLED, FROZEN = "n3", "n2", "n1"
WAIT_S_MAX = 600.0
ROWS_PER_S = "50"
INDEXES = ("looks_dest", "looks_origin", "looks_tail")
SLOW_CHANGE = f"CREATE INDEX {INDEXES[0]} ON {TABLE} (dest)"
QUEUED_CHANGE = f"CREATE INDEX {INDEXES[1]} ON {TABLE} (origin)"
FILLED_CHANGE = f"CREATE INDEX {INDEXES[2]} ON {TABLE} (tailnum)"
IMPOSSIBLE_CHANGE = f"CREATE UNIQUE INDEX looks_carrier ON {TABLE} (carrier)"
OPEN = f"BEGIN; SELECT id, dest FROM {TABLE} WHERE id = 1;"
WRITTEN = f"UPDATE {TABLE} SET dest = 'BOS' WHERE id = 1 RETURNING id, dest;"
ENDED = ("done", "failed", "cancelled")


def as_it_is(_page: Page) -> None:
    """Nothing is done to a page before its picture."""


class Shot(NamedTuple):
    """A picture: of the page at `path` after `before` was done to it."""

    name: str
    path: str
    before: Callable[[Page], None] = as_it_is


class Actors:
    """Two people: an operator who approves, and somebody who submits."""

    def __init__(self, operator: BrowserContext, submitter: BrowserContext, address: str) -> None:
        self.operator, self.submitter, self.address = operator.new_page(), submitter.new_page(), address

    def submit(self, statement: str) -> str:
        """The path of the change, which awaits approval."""
        page = self.submitter
        page.goto(f"{self.address}/changes/new/?statement={quote(statement)}")
        page.get_by_role("button", name="Submit").click()
        page.wait_for_url(re.compile(r"/changes/\d+/"))
        return urlsplit(page.url).path

    def act(self, path: str, **filled: str) -> None:
        """Answer the page that asks with yes."""
        page = self.operator
        page.goto(f"{self.address}{path}")
        for name, text in filled.items():
            page.fill(f"main form [name={name}]", text)
        page.locator("main form button:is(.first, .danger)").first.click()
        page.wait_for_load_state("networkidle")

    def control(self, command: str, node: str) -> None:
        self.act(f"/processes/{node}/{command}/")

    def run(self, sql: str) -> None:
        """In the console, on the node that holds a change back."""
        self.operator.goto(f"{self.address}/console/?node={HELD}&sql={quote(sql)}")
        run_it(self.operator)

    def status(self, change: str) -> str:
        self.operator.goto(f"{self.address}{change}")
        return self.operator.locator(".outcome").first.get_attribute("data-outcome") or ""

    def until(self, change: str, *wanted: str) -> None:
        self.await_that(f"{change} is {' or '.join(wanted)}", lambda: self.status(change) in wanted)

    def await_that(self, what: str, is_so: Callable[[], bool]) -> None:
        """Raises `NoPicture`."""
        deadline = time.monotonic() + WAIT_S_MAX
        while not is_so():
            if time.monotonic() > deadline:
                raise NoPicture(f"after {WAIT_S_MAX:.0f} s still not so: {what}")
            self.operator.wait_for_timeout(300)

    def stop_of_traffic(self) -> str:
        """The path at which the traffic that runs now is stopped; "" while none does."""
        self.operator.goto(f"{self.address}/traffic/")
        links = self.operator.locator("a[href^='/traffic/'][href$='/stop/']")
        return (links.first.get_attribute("href") or "") if links.count() else ""

    def throttle(self, change: str) -> None:
        """As soon as its fill begins, which may be over in a second: without drawing a page. Raises `NoPicture`."""
        address, ask = f"{self.address}{change}throttle/", self.operator.context.request
        deadline = time.monotonic() + WAIT_S_MAX
        while time.monotonic() < deadline:
            form = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"[^!]*?name="rows"', ask.get(address).text())
            if form is not None:
                given = {"csrfmiddlewaretoken": form[1], "rows": ROWS_PER_S, "why": "it is looked at"}
                if ask.post(address, form=given, headers={"Referer": address}).ok:
                    return
        raise NoPicture(f"{change} was never to be throttled")

    def is_up(self, node: str) -> bool:
        self.operator.goto(f"{self.address}/")
        return f"{node} does not answer" not in self.operator.locator("main .head").first.inner_text()

    def drop_indexes(self) -> None:
        """Those of the story, as one that broke off may have left them."""
        for name in INDEXES:
            self.operator.goto(f"{self.address}/tables/named/?name={TABLE}")
            if name in self.operator.locator("[data-part=schema] table").first.inner_text():
                dropped = self.submit(f"DROP INDEX {name}")
                self.act(f"{dropped}approve/")
                self.until(dropped, *ENDED)

    def has_ended(self, change: str, without: str) -> bool:
        """True when it has; otherwise a lease is revoked with which the node holds something back."""
        if self.status(change) in ENDED:
            return True
        page = self.operator
        page.goto(f"{self.address}/leases/")
        held = page.locator("article.held").filter(has_text=f"{without} uses {TABLE}")
        revoke = held.get_by_role("link", name=re.compile("Revoke"))
        if revoke.count():
            try:
                self.act(revoke.first.get_attribute("href") or "", typed=without)
            except BrowserError as gone:  # the lease was given back meanwhile: its page has no field any more
                print(f"not revoked: {gone.message.partition(chr(10))[0]}")
        return False


def run_it(page: Page) -> None:
    with page.expect_response("**/console/1/run/"):
        page.locator("[data-pane='1'] button.first").click()
    page.wait_for_timeout(300)


def scenes(actors: Actors) -> Iterator[tuple[Shot, ...]]:
    """The shots of each state, which lasts until the next one is asked for. Raises `NoPicture`."""
    actors.run("ROLLBACK")
    actors.drop_indexes()
    if not actors.stop_of_traffic():
        actors.operator.fill("main form [name=minutes]", "60")
        actors.operator.locator("form[action$='/traffic/start/'] button").click()
        actors.operator.wait_for_timeout(6000)
    yield Shot("run-traffic", "/traffic/"), Shot("run-cluster-traffic", "/"), Shot("run-processes", "/processes/")
    actors.run(OPEN)
    yield (
        Shot("run-console-open", "/console/?panes=2"),
        Shot("run-console-pairs", f"/console/?node={HELD}&sql={quote(WRITTEN)}", run_it),
        Shot("run-leases-open", "/leases/"),
    )
    change = actors.submit(SLOW_CHANGE)
    yield Shot("run-change-awaiting", change), Shot("run-changes-awaiting", "/changes/")
    actors.act(f"{change}approve/")
    actors.until(change, "waiting")
    queued = actors.submit(QUEUED_CHANGE)
    actors.act(f"{queued}approve/")
    actors.until(queued, "queued")
    yield (
        Shot("run-change-waiting", change),
        Shot("run-cluster-waiting", "/"),
        Shot("run-leases-waiting", "/leases/"),
        Shot("run-console-waited-for", "/console/"),
        Shot("run-change-queued", queued),
        Shot("run-changes-open", "/changes/"),
    )
    actors.act(f"{change}pause/")
    actors.until(change, "paused")
    yield Shot("run-change-paused", change), Shot("run-cluster-paused", "/")
    actors.act(f"{change}resume/")
    actors.until(change, "waiting")
    actors.control("kill", KILLED)
    actors.control("freeze", FROZEN)
    actors.await_that("two nodes are seen to be down", lambda: not actors.is_up(KILLED) and not actors.is_up(FROZEN))
    yield (
        Shot("run-cluster-fallen", "/"),
        Shot("run-cluster-fallen-presented", "/?present=1"),
        Shot("run-processes-fallen", "/processes/"),
        Shot("run-change-fallen", change),
        Shot("run-leases-fallen", "/leases/"),
    )
    actors.control("thaw", FROZEN)
    actors.run("ROLLBACK")
    actors.control("start", KILLED)
    actors.await_that("both nodes are back", lambda: actors.is_up(KILLED) and actors.is_up(FROZEN))
    actors.await_that(f"{change} has ended", lambda: actors.has_ended(change, KILLED))
    yield Shot("run-change-done", change), Shot("run-cluster-next", "/")
    actors.until(queued, *ENDED)
    filled = actors.submit(FILLED_CHANGE)
    actors.act(f"{filled}approve/")
    actors.throttle(filled)
    actors.until(filled, "running")
    yield (
        Shot("run-change-reorganising", filled),
        Shot("run-cluster-reorganising", "/"),
        Shot("run-throttle", f"{filled}throttle/"),
        Shot("run-lanes-reorganising", "/?present=1"),
    )
    actors.operator.goto(f"{actors.address}{filled}throttle/")
    actors.operator.locator("button[name=off]").click()
    actors.until(filled, *ENDED)
    failed = actors.submit(IMPOSSIBLE_CHANGE)
    actors.act(f"{failed}approve/")
    actors.until(failed, *ENDED)
    yield Shot("run-change-failed", failed), Shot("run-cluster-failed", "/"), Shot("run-story", "/story/")
    actors.drop_indexes()
    actors.act(actors.stop_of_traffic())


def actors_of(operator: BrowserContext, submitter: BrowserContext, address: str) -> Actors:
    """The operator, who has signed in, and a submitter, who is added to the cluster where there is none."""
    manage = (sys.executable, "manage.py")
    subprocess.run([*manage, "users", "add", SUBMITTER, "submitter"], cwd=ROOT, capture_output=True, check=False)
    page = submitter.new_page()
    page.goto(sign_in_link(SUBMITTER))
    page.close()
    return Actors(operator, submitter, address)
