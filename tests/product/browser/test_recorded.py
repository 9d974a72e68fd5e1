"""A recorded replay in a browser: it plays once and then shows what came of it; without motion all of it is there."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.harness.cluster import RunningCluster
from tests.product.browser.people import overflow, violations

NewPage = Callable[..., Page]
PLAYED_MS_MAX = 20_000


@pytest.fixture
def recorded(new_page: NewPage, cluster: RunningCluster) -> Callable[..., Page]:
    """The page of a recording, opened by a visitor."""

    def opened(name: str, **options: object) -> Page:
        page = new_page(**options)
        page.goto(f"{cluster.address}/lab/live/recorded/{name}/")
        return page

    return opened


def test_it_plays_and_then_says_what_came_of_it(recorded: Callable[..., Page]) -> None:
    page = recorded("orphan")
    outcome, play = page.locator("[data-outcome-of]"), page.get_by_role("button", name="Play")
    expect(outcome).to_be_hidden()
    expect(play).to_be_disabled()
    expect(outcome).to_be_visible(timeout=PLAYED_MS_MAX)
    expect(page.locator(".cell.bad")).to_have_count(2)
    expect(page.locator("li[data-at].muted")).to_have_count(0)
    play.click()
    expect(outcome).to_be_hidden()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", ["orphan", "killed"])
def test_on_a_phone_without_motion(recorded: Callable[..., Page], name: str, theme: str) -> None:
    page = recorded(name, theme=theme, width=390, height=844, reduced_motion="reduce")
    expect(page.locator("[data-outcome-of]")).to_be_visible()
    expect(page.locator("li[data-at].muted")).to_have_count(0)
    assert overflow(page) == 0
    assert violations(page) == []
