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


def line(page: Page) -> list[str]:
    return [
        tile.get_attribute("data-value") or "" for tile in page.locator(".rollout-builder .ladder button.tile").all()
    ]


def opened(new_page: NewPage, cluster: RunningCluster, **options: object) -> Page:
    page = new_page(**options)
    page.goto(f"{cluster.address}/lab/rollouts/?template=rename&form=safe")
    expect(page.locator(".rollout-builder .ladder")).to_be_visible()
    assert line(page) == ["1", "2", "3", "4", "5", "6", "7"]
    return page


def test_a_deploy_is_moved_by_keys_and_the_verdict_follows(cluster: RunningCluster, new_page: NewPage) -> None:
    """Without motion: the run that breaks is gone through by clicks. The ladder's tests watch one that plays."""
    page = opened(new_page, cluster, reduced_motion="reduce")
    tile = page.locator('.rollout-builder .tile[data-value="3"]')
    tile.focus()
    for key in ("Enter", "ArrowLeft", "Enter"):
        page.keyboard.press(key)
    assert line(page) == ["1", "3", "2", "4", "5", "6", "7"]
    assert page.locator("#text").input_value().index("backfill") < page.locator("#text").input_value().index(
        "writes both"
    )
    expect(page.locator(".rollout-builder .ladder-verdict")).to_contain_text("broken", timeout=ANSWER_MS)
    expect(page.locator('.rollout-builder .link[data-mark="bad"]').first).to_be_visible()
    builder = page.locator(".rollout-builder")
    following, broken = builder.get_by_role("button", name="Next step"), builder.locator(".cell.bad")
    expect(following).to_be_visible()
    while following.is_enabled() and not broken.count():
        following.click()
    expect(broken).to_contain_text("lost")
    tile.focus()
    for key in ("Enter", "ArrowRight", "Enter"):
        page.keyboard.press(key)
    expect(page.locator(".rollout-builder .ladder-verdict")).to_contain_text("proved", timeout=ANSWER_MS)
    expect(page.locator('.rollout-builder .link[data-mark="bad"]')).to_have_count(0)
    assert violations(page) == []


def test_a_deploy_is_dragged_and_left_out_by_finger(cluster: RunningCluster, new_page: NewPage) -> None:
    page = opened(new_page, cluster, width=390, height=900, has_touch=True, theme="dark")
    page.locator('.rollout-builder .tile[data-value="7"]').tap()
    page.locator("button.here").first.tap()
    assert line(page)[0] == "7"
    expect(page.locator(".rollout-builder .ladder-verdict")).to_contain_text("broken", timeout=ANSWER_MS)
    assert overflow(page) == 0
    assert violations(page) == []


def test_a_file_that_is_edited_becomes_tiles(cluster: RunningCluster, new_page: NewPage) -> None:
    page = opened(new_page, cluster, reduced_motion="reduce")
    text = page.locator("#text").input_value()
    page.locator("#text").fill(text[: text.rindex("[[deploy]]")])
    expect(page.locator('.rollout-builder .tile[data-value="7"]')).to_have_count(0)
    assert line(page) == ["1", "2", "3", "4", "5", "6"]
    page.locator("#text").fill("tables = ")
    expect(page.locator(".rollout-builder .ladder-verdict")).to_contain_text("once the file can be read")
