"""The Cluster page's picture as a browser draws it: a reader takes it at its word, so that each mark has to be true."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import Page

from catalog.models import Table
from tests.product.browser.people import SETTLED, violations
from tests.web.drawn import Opened, arrive, scene


@pytest.fixture
def html(client_of: Callable[[str], Client], flights: Table) -> str:
    """The page of an operator."""
    return client_of("olga").get("/").content.decode()


def texts(page: Page, selector: str) -> list[str]:
    found: list[Any] = page.eval_on_selector_all(
        selector,
        "all => all.filter((one) => getComputedStyle(one).visibility === 'visible').map((one) => one.textContent)",
    )
    return found


def test_a_killed_node_is_drawn_as_one(opened: Opened, html: str) -> None:
    with opened(html) as page:
        arrive(page, kind="killed")
        headline = page.locator("[data-part=headline]").inner_text()
        left = page.locator("[data-part=headline] [data-left]").inner_text().removeprefix("in ")
        assert left.endswith(" s")
        assert 90 < int(left.removesuffix(" s")) <= 101, "seconds, below three minutes"
        assert texts(page, "[data-scene] .node.dead .foot") == [f"lease of v7 ends in {left}"], "one clock"
        assert "n2: it is silent, but its lease on v7 is valid" in headline
        assert page.locator("[data-part=remedy] a:visible").inner_text() == "Start n2"
        assert "Starting n2 ends its lease at once." in page.locator(".remedy").inner_text()
        assert "when the lease of n2 ends, at the latest" in headline
        wires = page.eval_on_selector_all(
            "[data-scene] .out", "all => all.map((one) => getComputedStyle(one).visibility)"
        )
        assert wires == ["visible", "hidden", "visible"]
        assert page.locator("[data-steps] .label").first.inner_text() == "v7 no index"
        assert page.locator("[data-pause]").inner_text() == "Pause the picture"
        widths = page.eval_on_selector_all(
            "[data-lanes] svg > .chip:not([data-what])",
            "all => all.map((one) => one.querySelector('rect').getBBox().width"
            " - one.querySelector('text').getBBox().width)",
        )
        assert widths, "versions have badges"
        assert min(widths) > 4, "a badge is wider than its number"
        at_end = page.eval_on_selector("[data-at]", "(one) => Number(one.max) - Number(one.value)")
        assert at_end < 0.2, "live: the knob is at the end"
        assert violations(page) == []


def test_a_holder_is_named_wherever_its_node_stands_in_the_older_version(opened: Opened, html: str) -> None:
    with opened(html) as page:
        arrive(page, held=True)
        assert texts(page, "[data-scene] .flies .token text") == ["n1", "n2", "n3", "n2"], "in the order of the nodes"
        assert "report-17" in texts(page, "[data-scene] .flies > text")
        remedy = page.locator(".remedy").inner_text()
        assert "When the lease expires, n2 ends the transaction, and report-17 gets an error." in remedy
        assert page.locator("[data-part=remedy] a:visible").inner_text() == "Revoke the lease of n2"
        said = " ".join(texts(page, "[data-scene] [data-what=change] text.quiet"))
        assert said == "In v8 the index is delete-only: a deleted row loses its entry, a new row gets none yet."
        beam = page.locator("[data-scene] .beam").bounding_box()
        caption = page.locator("[data-scene] [data-what=change] text.quiet").last.bounding_box()
        assert beam is not None
        assert caption is not None
        assert caption["x"] + caption["width"] < beam["x"], "the beam crosses no words"
        assert violations(page) == []


def test_a_phone_shows_what_is_changed_on_its_first_screen(opened: Opened, html: str) -> None:
    with opened(html, width=390, height=844) as page:
        arrive(page, kind="frozen")
        statement = page.locator("[data-part=headline] code")
        assert statement.inner_text() == "CREATE INDEX by_dest ON flights (dest)"
        box = statement.bounding_box()
        assert box is not None
        assert box["y"] + box["height"] < 844
        assert "2 of at most 2 versions in use: the next waits" in texts(page, "[data-what=rack] text")
        assert page.locator("[data-part=remedy] a:visible").inner_text() == "Thaw n2"
        assert "If n2 wakes after its lease, the store refuses what it writes." in page.locator(".remedy").inner_text()
        assert any(text.startswith("lease: ") for text in texts(page, "[data-scene] .node.dead .foot"))
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.set_viewport_size({"width": 1440, "height": 900})
        page.evaluate(SETTLED)
        assert violations(page) == []


def test_a_moment_of_the_past_shows_what_was_true_then(opened: Opened, html: str) -> None:
    with opened(html) as page:
        arrive(page, held=True)
        assert "16 statements/s" in texts(page, "[data-scene] .node text")
        assert page.locator("[data-part=hold]").is_visible()
        page.locator("[data-back]").click()
        change = "[data-scene] [data-what=change] text"
        assert "Change 41" in texts(page, change), "its first version was out then"
        assert not any("/s" in text for text in texts(page, "[data-scene] .node text")), "the rate of then is not known"
        for _ in range(4):
            page.locator("[data-back]").click()
        assert not [text for text in texts(page, change) if text], "it had not begun"
        assert page.locator("[data-steps] li:visible").count() == 0
        shown = {one for one in texts(page, "[data-scene] .flies > .chip > text") if one.startswith("v")}
        assert shown <= {"v7"}, "v8 was not published, and no publisher held it"
        assert page.locator("[data-scene] .statements i").count() == 0
        assert not page.locator("[data-part=hold]").is_visible(), "it would be a hold of today"
        page.locator("button[data-live]").click()
        assert "16 statements/s" in texts(page, "[data-scene] .node text")


def test_the_sentence_and_the_picture_change_together(opened: Opened, html: str) -> None:
    """Beside a headline of the next step the old picture was wrong for up to half a second."""
    with opened(html) as page:
        arrive(page, held=True)
        parts = scene(page.evaluate("window.serverClock.now()") / 1000, held=True)
        change = parts["now"]["change"] | {"id": 42}
        told = json.dumps(parts["now"] | {"change": change})
        page.evaluate(
            "(now) => { for (let n = 0; n < 2; n += 1)"
            " document.dispatchEvent(new CustomEvent('schemalab:parts', { detail: { now } })); }",
            told,
        )
        assert "Change 42" in texts(page, "[data-scene] [data-what=change] text")


def test_a_version_that_no_node_uses_is_not_counted_as_none(opened: Opened, html: str) -> None:
    with opened(html) as page:
        now = page.evaluate("window.serverClock.now()") / 1000
        parts = scene(now)
        parts["facts"] |= {"uses": [], "works": []}
        parts["now"] |= {"leases": [], "change": None}
        told = {name: json.dumps(part) for name, part in parts.items()}
        page.evaluate("(detail) => document.dispatchEvent(new CustomEvent('schemalab:parts', { detail }))", told)
        assert "no version in use: the next statement uses v8" in texts(page, "[data-what=rack] text")


def test_the_lanes_of_what_is_done_come_with_the_first_drawing(opened: Opened, html: str) -> None:
    """Without a wait and a fill they are drawn every two seconds, and what lies below them must not jump later."""
    with opened(html) as page:
        parts = scene(page.evaluate("window.serverClock.now()") / 1000)
        parts["now"]["change"] |= {"status": "done", "next": []}
        parts["facts"]["uses"] = [use for use in parts["facts"]["uses"] if use["version"] == 8]
        parts["now"]["leases"] = [lease for lease in parts["now"]["leases"] if lease["version"] == 8]
        page.evaluate(
            "(detail) => document.dispatchEvent(new CustomEvent('schemalab:parts', { detail }))",
            {name: json.dumps(part) for name, part in parts.items()},
        )
        page.wait_for_selector("[data-picture][data-drawn]")
        assert page.locator("[data-lanes] svg").count() == 1


@pytest.mark.parametrize(
    ("theme", "width"),
    [
        pytest.param("dark", 390, id="dark-phone"),
        pytest.param("light", 390, id="light-phone", marks=pytest.mark.soak),
        pytest.param("dark", 1440, id="dark-wide", marks=pytest.mark.soak),
    ],
)
@pytest.mark.parametrize(
    "of", [{"held": True}, {"kind": "killed"}, {"kind": "frozen"}], ids=["held", "killed", "frozen"]
)
def test_a_wait_is_accessible(opened: Opened, html: str, of: dict[str, Any], theme: str, width: int) -> None:
    """In light and wide the tests above look at it."""
    with opened(html, width=width, theme=theme) as page:
        arrive(page, **of)
        assert violations(page) == []
