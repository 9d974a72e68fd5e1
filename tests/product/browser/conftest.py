"""A real browser on the real cluster: Debian's chromium, driven by Playwright.

Beside a running browser Django's ORM refuses to work (`tests.chromium`): ask the database through
`cluster.database_url` and psycopg instead.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator

import psycopg
import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page

from schemalab.polling import wait_for
from tests.chromium import running_browser
from tests.harness.cluster import ROOT, RunningCluster

PAGE_S_MAX = 15
NODE_S_MAX = 60.0
LONG_LEASE_S = "120"
"""With the cluster's leases of two seconds, a transaction that blocks a change would end by itself."""

NewPage = Callable[..., Page]


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with running_browser() as running:
        yield running


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
        page.on("pageerror", lambda error: complaints.append(f"{page.url}: {error.stack or error}"))
        return page

    yield make
    for context in contexts:
        context.close()
    assert complaints == []  # a violation of the content security policy is an error of the console too


def complaint(message: ConsoleMessage, expected: str) -> list[str]:
    if message.type not in ("error", "warning") or (expected and expected in message.text):
        return []
    return [f"{message.text} ({message.location.get('url')})"]


@pytest.fixture(scope="module")
def patient(cluster: RunningCluster) -> Iterator[str]:
    """The address of a further node of the cluster, whose leases last."""
    command = (sys.executable, "manage.py", "node", "patient", "--port", "0")
    process = subprocess.Popen(command, cwd=ROOT, env=cluster.env | {"LEASE_S": LONG_LEASE_S})
    try:
        with psycopg.connect(cluster.database_url, autocommit=True) as store:
            question = "SELECT host, port FROM leases_node WHERE name = 'patient' AND state = 'up' AND port > 0"
            wait_for(lambda: store.execute(question).fetchone() is not None, what="patient", seconds_max=NODE_S_MAX)
            host, port = store.execute(question).fetchone() or ("", 0)
            dsn = f"host={host} port={port} user=owner dbname=schemalab"
            wait_for(lambda: _answers(dsn), what="patient's answer", seconds_max=NODE_S_MAX)  # its row comes first
            yield dsn
            process.terminate()
            process.wait(NODE_S_MAX)
            store.execute("DELETE FROM leases_node WHERE name = 'patient'")
    finally:
        process.kill()


def _answers(dsn: str) -> bool:
    try:
        psycopg.connect(dsn).close()
    except psycopg.OperationalError:
        return False
    return True
