"""The page *Design a rollout* in a browser: a naive rename breaks, and its trace can be stepped through."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.harness.cluster import RunningCluster
from tests.product.browser.people import overflow, violations

NewPage = Callable[..., Page]
ANSWER_MS = 60_000


@pytest.mark.parametrize(("theme", "width"), [("light", 1440), ("dark", 390)])
def test_a_rollout_is_explored_and_played(cluster: RunningCluster, new_page: NewPage, theme: str, width: int) -> None:
    page = new_page(theme=theme, width=width)
    page.goto(f"{cluster.address}/lab/rollouts/?template=rename&form=naive")
    page.get_by_role("button", name="Explore it").click()
    expect(page.locator('[data-rollout="broken"]')).to_be_visible(timeout=ANSWER_MS)
    expect(page.locator('[data-gate="red"]').first).to_be_visible()
    frames = page.locator("[data-player]").first.locator("[data-frame]")
    expect(frames.nth(0)).to_be_visible()
    page.locator('[data-move="1"]').first.click()
    expect(frames.nth(0)).to_be_hidden()
    expect(frames.nth(1)).to_be_visible()
    assert violations(page) == []
    assert overflow(page) == 0
