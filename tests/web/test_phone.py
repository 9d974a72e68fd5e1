"""The lab on a phone: what a finger reaches, what a page says, and what it leaves out in a browser without a cluster."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client
from playwright.sync_api import Page, expect

from tests.chromium import CHROMIUM, MISSING
from tests.web.drawn import opened

CHAPTER = "/lab/chapters/00-new-messenger"
ANSWERS = {"agreed-hour": {"choice": "yes"}, "next-edition": {"time": "13:00"}}
drawn = pytest.mark.skipif(not CHROMIUM.exists(), reason=MISSING)


@pytest.fixture
def one_tile(client: Client, db: None) -> str:
    """The task that asks for one handbook."""
    for screen, answer in ANSWERS.items():
        assert client.post(f"{CHAPTER}/{screen}/answer/", answer).status_code == 302
    return client.get(f"{CHAPTER}/one-in-between/").content.decode()


def line(page: Page) -> list[str]:
    return [tile.get_attribute("data-value") or "" for tile in page.locator(".ladder button.tile").all()]


@drawn
def test_a_tile_is_taken_off_by_a_tap(one_tile: str) -> None:
    with opened(one_tile, width=390, height=844) as page:
        page.locator(".tray .tile").first.click()
        [placed] = line(page)
        page.locator(".ladder button.tile").click()
        off = page.get_by_role("button", name="Take it off")
        box = off.bounding_box()
        assert box is not None
        assert box["height"] >= 40
        assert box["x"] + box["width"] <= 390
        off.click()
        assert line(page) == []
        expect(off).to_have_count(0)
        expect(page.locator(f'.tray .tile[data-value="{placed}"]')).to_be_focused()


@drawn
def test_where_one_tile_is_asked_for_another_takes_its_place(one_tile: str) -> None:
    with opened(one_tile, width=390, height=844) as page:
        page.locator(".tray .tile").first.click()
        [first] = line(page)
        page.locator(".tray .tile").first.click()
        [second] = line(page)
        assert second != first
        expect(page.locator(f'.tray .tile[data-value="{first}"]')).to_be_visible()


def test_too_many_tiles_are_refused_with_what_to_do(client: Client, db: None, one_tile: str) -> None:
    client.post(f"{CHAPTER}/one-in-between/answer/", {"lines": "both/both\nboth/mail"})
    page = client.get(f"{CHAPTER}/one-in-between/").content.decode()
    assert "this task asks for one line, and yours has 2. Take the others off." in page
