"""The first minute in a browser: two clicks, by mouse and by keys, on a phone, without motion, in both themes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.harness.cluster import RunningCluster
from tests.product.browser.people import overflow, violations

NewPage = Callable[..., Page]
PLACES = ("/", "/lab/stage/?setup=one-jump")


@pytest.fixture
def minute(new_page: NewPage, cluster: RunningCluster) -> Callable[..., Page]:
    """A page with the first minute, opened by a visitor."""

    def opened(place: str = PLACES[0], **options: object) -> Page:
        page = new_page(**options)
        page.goto(f"{cluster.address}{place}")
        expect(page.locator(".bubble.now")).to_be_visible()
        return page

    return opened


@pytest.mark.parametrize(("place", "motion"), [(PLACES[0], "no-preference"), (PLACES[1], "reduce")])
def test_two_clicks_make_an_orphan_and_say_why(minute: Callable[..., Page], place: str, motion: str) -> None:
    page = minute(place, reduced_motion=motion)
    ending, blue = page.locator("[data-minute-ending]"), page.locator("main .first:visible")
    expect(ending).to_be_hidden()
    expect(blue).to_have_text("Insert row 1")
    page.get_by_role("button", name="Delete row 1").click()
    expect(page.locator(".minute .sentence")).to_have_text("There is no row yet. Let n2 insert it first.")
    page.get_by_role("button", name="Insert row 1").click()
    expect(blue).to_have_text("Delete row 1")
    page.get_by_role("button", name="Delete row 1").click()
    expect(ending).to_be_focused()
    expect(ending).to_contain_text("You have just made an orphan entry. Here is why.")
    expect(page.locator(".minute .cell.bad")).to_have_count(1)
    expect(blue).to_have_text("Continue with chapter 1")
    expect(page.locator("[data-minute-list] > .done")).to_have_count(3)
    page.get_by_role("button", name="Insert row 1").click()
    expect(page.locator(".minute .sentence")).to_have_text(
        "Both clicks are done, and the entry is left. Press Start over to play them again."
    )


def test_by_keys_and_again(minute: Callable[..., Page]) -> None:
    page = minute(reduced_motion="reduce")
    page.get_by_role("button", name="Insert row 1").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Delete row 1")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("[data-minute-ending]")).to_be_focused()
    page.get_by_role("button", name="Start over").click()
    expect(page.locator("[data-minute-ending]")).to_be_hidden()
    expect(page.get_by_role("button", name="Insert row 1")).to_be_focused()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_on_a_phone_without_motion(minute: Callable[..., Page], theme: str) -> None:
    page = minute(theme=theme, width=390, height=844, reduced_motion="reduce", has_touch=True)
    assert overflow(page) == 0
    assert violations(page) == []
    page.get_by_role("button", name="Insert row 1").tap()
    page.get_by_role("button", name="Delete row 1").tap()
    expect(page.locator("[data-minute-ending]")).to_be_visible()
    assert overflow(page) == 0
    assert violations(page) == []
