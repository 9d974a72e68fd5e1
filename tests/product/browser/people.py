"""Signing in, and what a browser test asks of every page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg
from playwright.sync_api import Page

from tests.harness.cluster import RunningCluster

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text()
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
COLOURS = ["color-contrast", "link-in-text-block"]
FRAMES = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
"""What observes its size was told of the last one, and has drawn itself again."""
SETTLED = (
    f"{FRAMES}.then(() => Promise.all("
    "document.getAnimations().filter(one => one instanceof CSSTransition).map(one => one.finished)))"
)
"""No colour is on its way to another one any more, and no layout to that of another width."""
RUN_AXE = """([tags, without]) => axe.run(document, {
  runOnly: tags, rules: Object.fromEntries(without.map(rule => [rule, {enabled: false}])),
}).then(found => found.violations.map(
  v => `${v.id}: ${v.nodes.map(n => n.target.join(' ')).slice(0, 3).join(' | ')}`))"""


_owner_cookies: dict[str, list[Any]] = {}


def sign_in(page: Page, cluster: RunningCluster) -> None:
    """As the owner of the cluster: by a link the first time, with that session's cookies from then on."""
    if cluster.address not in _owner_cookies:
        page.goto(cluster.new_sign_in_link())
        _owner_cookies[cluster.address] = page.context.cookies()
    page.context.add_cookies(_owner_cookies[cluster.address])
    page.goto(cluster.address)
    page.wait_for_selector("h1")


def violations(page: Page, tags: Sequence[str] = RULES, *, without: Sequence[str] = ()) -> list[str]:
    """What axe-core finds, by all rules of `tags` except those in `without`; it is put in past the content security
    policy, as a developer's tool is."""
    if not page.evaluate("'axe' in window"):
        session = page.context.new_cdp_session(page)
        session.send("Runtime.evaluate", {"expression": AXE})
        session.detach()
    found: list[str] = page.evaluate(RUN_AXE, [list(tags), list(without)])
    return found


def overflow(page: Page) -> int:
    """How many pixels of the page lie beyond its right edge, once it is drawn for the width it has."""
    beyond = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    return int(page.evaluate(f"{FRAMES}.then(() => {beyond})"))


def happen(cluster: RunningCluster, number: int) -> None:
    """Event `number` of this test in the cluster's story, committed but not pushed: the page has to notice."""
    with psycopg.connect(cluster.database_url, autocommit=True) as connection:
        payload = json.dumps({"process": f"test {number}"})
        connection.execute(
            "SELECT catalog_tell(ARRAY['cluster'], 'process started', %s, %s::jsonb)", (f"t{number}", payload)
        )
