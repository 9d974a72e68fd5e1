"""The lab on a phone: tiles by touch, and what a page says is done."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from playwright.sync_api import Page, expect

from lab.sessions.session import Session, encode
from tests.web.drawn import Opened

CHAPTER = "/lab/chapters/00-new-messenger"
ANSWERS = {"agreed-hour": {"choice": "yes"}, "next-edition": {"time": "13:00"}}
EDITIONS = ["mail/mail", "both/both", "messenger/messenger"]


@pytest.fixture
def one_tile(client: Client, db: None) -> str:
    """The task that asks for one handbook."""
    for screen, answer in ANSWERS.items():
        assert client.post(f"{CHAPTER}/{screen}/answer/", answer).status_code == 302
    return client.get(f"{CHAPTER}/one-in-between/").content.decode()


def line(page: Page) -> list[str]:
    return [tile.get_attribute("data-value") or "" for tile in page.locator(".ladder button.tile").all()]


def test_a_tile_is_taken_off_by_a_tap(opened: Opened, one_tile: str) -> None:
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


def test_where_one_tile_is_asked_for_another_takes_its_place(opened: Opened, one_tile: str) -> None:
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


def answered(client: Client, *choices: str) -> str:
    for choice in choices:
        client.post(f"{CHAPTER}/agreed-hour/answer/", {"choice": choice})
    return client.get(f"{CHAPTER}/agreed-hour/").content.decode()


def test_a_wrong_prediction_says_what_counts_as_done(client: Client, db: None) -> None:
    words = "Your first prediction is kept. This task is done once you answer it again and right."
    assert words in answered(client, "no")
    assert words not in answered(client, "yes")


def test_the_first_prediction_stays_as_it_was(client: Client, db: None) -> None:
    ghost = re.compile(r'<p class="ghost">.*?</p>', re.DOTALL)
    [first] = ghost.findall(answered(client, "no"))
    assert ghost.findall(answered(client, "yes")) == [first]


def test_the_end_of_a_chapter_names_what_is_not_done(client: Client, db: None) -> None:
    answered(client, "no")
    for screen, answer in list(ANSWERS.items())[1:]:
        client.post(f"{CHAPTER}/{screen}/answer/", answer)
    end = f"{CHAPTER}/people-and-servers/"
    found = re.search(r"data-undone>.*?</div>", client.get(end).content.decode(), re.DOTALL)
    assert found is not None
    assert re.findall(r"/00-new-messenger/([\w-]+)/#task", found[0]) == ["agreed-hour"]
    answered(client, "yes")
    assert "data-undone" not in client.get(end).content.decode()


def test_one_edition_in_use_is_no_alarm(opened: Opened, client: Client, db: None) -> None:
    """Two were posted over one that both use: that is told of the editions, not of their count."""
    steps = ["post.2", "post.3"]
    session = Session("handbooks", {"editions": EDITIONS}, frozenset({"two-editions"}), tuple(steps))
    html = client.get(f"/lab/stage/?s={encode(session, at=2)}").content.decode()
    with opened(html, width=390, height=844) as page:
        count = page.locator(".versions .strip").first
        expect(count).to_have_text(re.compile("editions in use: 1, at most 2"))
        expect(count).not_to_have_class(re.compile("alarm"))
