"""The Cluster page draws a wait: who waits for whom and why, and how it ends; by click on the real cluster."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import psycopg
import pytest
from playwright.sync_api import Page, expect

from tests.harness.cluster import RunningCluster
from tests.product.browser.people import overflow, sign_in, violations

NewPage = Callable[..., Page]
LIMIT_MS = 60_000


@pytest.fixture
def pictured(cluster: RunningCluster, patient: str) -> Iterator[str]:
    """A table with one row: only a wait keeps its change open."""
    with psycopg.connect(patient, autocommit=True) as node:
        node.execute("CREATE TABLE pictured (id bigint PRIMARY KEY, note text)")
        node.execute("INSERT INTO pictured VALUES (1, 'one')")
        yield "pictured"
        node.execute("DROP TABLE pictured")


def test_a_hold_blocks_a_change_and_its_wait_is_drawn_until_it_ends(
    new_page: NewPage, cluster: RunningCluster, pictured: str
) -> None:
    page = new_page(width=1440)
    sign_in(page, cluster)
    page.get_by_role("link", name="Hold patient for me").click()
    page.get_by_role("dialog").get_by_role("button", name="Hold it").click()
    expect(page.get_by_role("link", name="End the hold on patient")).to_be_visible(timeout=LIMIT_MS)
    submitted = cluster.manage("change", "submit", "CREATE INDEX pictured_note ON pictured (note)")
    assert submitted.returncode == 0, submitted.stdout + submitted.stderr

    headline = page.locator("[data-part=headline]")
    expect(headline).to_contain_text(
        re.compile(r"The publisher waits for patient: owner's hold has a transaction open on v\d"), timeout=LIMIT_MS
    )
    bracket, pill = page.locator("[data-lanes] .wait text"), page.locator("[data-scene] .label-pill text")
    expect(bracket).to_have_text(re.compile(r"waits \d+ s for patient: open transaction of owner's hold"))
    expect(pill).to_have_text(re.compile(r"waits for patient: \d+ s"))
    expect(page.locator("[data-scene] .door")).to_have_class("door shut")
    expect(page.locator("[data-scene] .session:visible")).to_have_text("owner's hold")
    expect(page.locator("[data-steps] .now")).to_have_text(re.compile(r"\d+ s for patient"))
    page.locator(".tabs summary", has_text="Nodes").click()
    lanes = page.get_by_role("region", name="Version lanes")
    expect(lanes).to_contain_text("2 versions in use, 2 allowed")  # though the tab was closed when that came
    assert violations(page) == []
    assert overflow(page) == 0

    page.get_by_role("link", name="End the hold on patient").click()
    page.get_by_role("dialog").get_by_role("button", name="End it").click()
    expect(headline).to_contain_text("No change is running.", timeout=LIMIT_MS)
    expect(bracket).to_have_text(re.compile(r"waited \d+ s for patient: open transaction of owner's hold"))
    expect(pill).to_be_hidden()
    expect(page.locator("[data-scene] .door")).to_have_class("door")

    width = "document.querySelector('[data-lanes] .bracket').getBoundingClientRect().width"
    narrow = page.evaluate(width)
    page.locator("[data-lanes] .wait").focus()
    page.keyboard.press("Enter")
    page.wait_for_function(f"narrow => {width} > 2 * narrow", arg=narrow)
    page.keyboard.press("Escape")
    page.wait_for_function(f"narrow => {width} < 2 * narrow", arg=narrow)
