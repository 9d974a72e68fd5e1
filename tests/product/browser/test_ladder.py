"""The ladder builder in a browser: by mouse, by finger and by keys, on a phone, without motion, in both themes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.harness.cluster import RunningCluster
from tests.product.browser.people import COLOURS, SETTLED, overflow, violations

NewPage = Callable[..., Page]
RUN_MS_MAX = 90_000
NO_VERDICT = {
    "state": "done", "kept": False, "verdict": "unknown", "states": 0, "arrives": False, "bounds": "",
    "title": "No verdict: the search failed", "lines": [], "marks": [], "played": None, "others": [], "tried": [],
    "happened": [],
}  # fmt: skip
"""The answer of the server to a search that failed (`tests/web/test_ladder.py`)."""


@pytest.fixture
def explorer(new_page: NewPage, cluster: RunningCluster) -> Callable[..., Page]:
    """The explorer's page, opened by a visitor."""

    def opened(query: str = "", **options: object) -> Page:
        page = new_page(**options)
        page.goto(f"{cluster.address}/lab/explorer/{query}")
        expect(page.locator(".builder")).to_be_visible()
        return page

    return opened


def line(page: Page) -> list[str]:
    return [tile.get_attribute("data-value") or "" for tile in page.locator(".ladder button.tile").all()]


def tap(page: Page, *tiles: str) -> None:
    for tile in tiles:
        page.locator(f'.tray .tile[data-value="{tile}"]').click()


def run(page: Page, predicted: str) -> None:
    page.locator(f"input[name=predicted][value={predicted}]").check()
    page.locator(".runbar button.first").click()


def test_a_broken_order_runs_and_may_be_changed(explorer: Callable[..., Page]) -> None:
    page = explorer()
    tap(page, "write-only", "fill", "public")
    expect(page.locator('.link[data-mark="bad"]')).to_have_count(1)
    expect(page.locator(".ladder-verdict")).to_contain_text("cannot be in use together")
    page.locator(".runbar button.first").click()
    expect(page.locator(".ladder-verdict")).to_have_text("Choose what you expect first.")
    run(page, "none")
    expect(page.locator(".ending")).to_contain_text("orphan entry", timeout=RUN_MS_MAX)
    expect(page.locator(".ending")).to_be_focused()
    expect(page.locator(".ghost")).to_have_text("You predicted: nothing breaks")
    expect(page.locator(".ladder-stage .cell.bad")).to_contain_text("orphan entry")
    expect(page.locator(".tile.broke")).to_have_count(1)
    page.get_by_role("button", name="Change the order").click()
    expect(page.locator(".ladder-player")).to_have_count(0)
    expect(page.locator(".orders button")).to_have_count(1)
    page.get_by_role("button", name="Clear").click()
    assert line(page) == []
    page.locator(".orders button").click()
    assert line(page) == ["write-only", "fill", "public"]


def test_by_keys_alone(explorer: Callable[..., Page]) -> None:
    page = explorer()
    page.locator('.tray .tile[data-value="public"]').focus()
    page.keyboard.press("Enter")
    expect(page.locator("#ladder-now")).to_contain_text("public picked up")
    page.keyboard.press("Enter")
    page.locator('.tray .tile[data-value="delete-only"]').focus()
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#ladder-now")).to_contain_text("delete-only is tile 1 of 2, after absent. compatible.")
    page.keyboard.press("Enter")
    assert line(page) == ["delete-only", "public"]
    page.keyboard.press("Enter")
    page.keyboard.press("End")
    page.keyboard.press("Escape")
    assert line(page) == ["delete-only", "public"]
    page.keyboard.press("Delete")
    assert line(page) == ["public"]
    expect(page.locator('.tray .tile[data-value="delete-only"]')).to_be_focused()


def test_by_mouse_a_tile_is_dragged_to_its_place_and_out_again(explorer: Callable[..., Page]) -> None:
    page = explorer()
    tap(page, "public")
    page.wait_for_timeout(300)
    _drag(page, '.tray .tile[data-value="write-only"]', '.ladder .tile[data-value="public"]', -60)
    assert line(page) == ["write-only", "public"]
    page.wait_for_timeout(300)
    _drag(page, '.ladder .tile[data-value="write-only"]', "h1", 0)
    assert line(page) == ["public"]


def _drag(page: Page, tile: str, to: str, right: int) -> None:
    start, end = page.locator(tile).bounding_box(), page.locator(to).bounding_box()
    assert start is not None
    assert end is not None
    page.mouse.move(start["x"] + 30, start["y"] + 20)
    page.mouse.down()
    page.mouse.move(end["x"] + end["width"] / 2 + right, end["y"] + end["height"] / 2, steps=8)
    page.mouse.up()
    expect(page.locator(".tile.drag")).to_have_count(0)


def test_by_finger_on_a_narrow_phone(explorer: Callable[..., Page]) -> None:
    page = explorer(width=320, height=800, has_touch=True)
    for tile in ("public", "write-only"):
        page.locator(f'.tray .tile[data-value="{tile}"]').tap()
    page.locator('.ladder .tile[data-value="write-only"]').tap()
    page.locator("button.here").first.tap()
    assert line(page) == ["write-only", "public"]
    assert overflow(page) == 0


def test_without_motion_each_step_is_a_click(explorer: Callable[..., Page]) -> None:
    page = explorer(reduced_motion="reduce")
    tap(page, "public")
    run(page, "missing")
    following = page.get_by_role("button", name="Next step")
    expect(following).to_be_visible(timeout=RUN_MS_MAX)
    expect(page.locator(".player-keys .num")).to_have_text("step 0 of 3")
    for _ in range(3):
        following.click()
    expect(page.locator(".ending")).to_contain_text("missing entry")


def answered(page: Page, **answer: object) -> None:
    """Each run on this page ends with this answer."""
    page.route("**/lab/ladder/", lambda route: route.fulfill(json=NO_VERDICT | answer))


def test_without_a_verdict_the_order_may_be_run_again(explorer: Callable[..., Page]) -> None:
    page = explorer()
    answered(page)
    tap(page, "public")
    for _ in range(2):
        run(page, "none")
        expect(page.locator(".ending")).to_have_count(1)
        expect(page.locator(".ending")).to_contain_text("No verdict: the search failed")
        expect(page.locator(".ladder button.tile")).to_have_attribute("aria-disabled", "false")
        expect(page.locator(".runbar")).to_be_visible()
    tap(page, "delete-only")
    assert line(page) == ["public", "delete-only"]


@pytest.mark.parametrize(("levels", "shapes"), [([[1, 0], [20, 30]], 51), ([[1, 0], [50_000, 250_000], [0, 70]], 3)])
def test_many_states_are_drawn_as_a_shape_a_block(
    explorer: Callable[..., Page], levels: list[list[int]], shapes: int
) -> None:
    page = explorer()
    answered(page, tried=levels, states=sum(map(sum, levels)))
    tap(page, "public")
    run(page, "none")
    page.locator(".ending summary").first.click()
    page.get_by_text("What was tried").click()
    expect(page.locator(".ending .tried")).to_have_count(1)
    expect(page.locator(".tried rect")).to_have_count(shapes)


def test_nothing_that_axe_minds(explorer: Callable[..., Page]) -> None:
    """In both themes, before a run and at its end: the same run, as it is seen without motion."""
    page = explorer(reduced_motion="reduce")
    tap(page, "delete-only", "public")
    assert in_both_themes(page) == []
    run(page, "none")
    following, ending = page.get_by_role("button", name="Next step"), page.locator(".ending")
    expect(following).to_be_visible(timeout=RUN_MS_MAX)
    while not ending.is_visible():
        following.click()
    assert in_both_themes(page) == []
    assert overflow(page) == 0


def in_both_themes(page: Page) -> list[str]:
    found = []
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        page.evaluate(SETTLED)
        found += [f"{theme}: {one}" for one in violations(page, COLOURS)]
    return found
