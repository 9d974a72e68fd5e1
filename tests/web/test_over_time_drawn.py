"""Lanes over time as a browser draws them: a wait is as wide as it is long, and says who and why."""

from __future__ import annotations

from dataclasses import replace

import pytest
from playwright.sync_api import Page

from leases.staircase.facts import Facts, Mark, Use, Version, Walk, Work
from tests.product.browser.people import violations
from tests.web.drawn import Opened, over_time

NOON = 1_796_040_000.0
MOVES = ({"element": "index", "name": "by_dest", "state": "delete-only", "filling": False},)


def version(number: int, at: float, phase: str = "public") -> Version:
    return Version(number, NOON + at, phase, MOVES if phase == "delete-only" else ())


def use(node: str, number: int, began: float, ended: float | None) -> Use:
    return Use(node, number, NOON + began, None if ended is None else NOON + ended, NOON + 90)


def window(*, marks: tuple[Mark, ...] = (), late: float = 0.0) -> Facts:
    """v8 at noon; n2 leaves v7 eleven seconds later; v9 is public then, and `late` seconds after it v10."""
    versions = [version(7, -300, "absent"), version(8, 0, "delete-only"), version(9, 11.2)]
    uses = [use(node, 7, -200, 11.0 if node == "n2" else 0.2) for node in ("n1", "n2", "n3")]
    uses += [use(node, 8, 0.1, 11.4) for node in ("n1", "n2", "n3")]
    uses += [use(node, 9, 11.3, 11.4 + late if late else None) for node in ("n1", "n3")]
    works = [Work(41, NOON - 0.1, NOON + 12, "done")]
    if late:
        versions.append(version(10, 11.2 + late))
        works.append(Work(42, NOON + 11 + late, NOON + 12 + late, "done"))
    walk = Walk(1, "flights", tuple(versions), tuple(uses))
    return Facts(NOON - 10, works[-1].ended + 10, False, (walk,), marks, (), tuple(works))  # type: ignore[operator]


def widths(page: Page, selector: str) -> list[float]:
    return [float(one) for one in page.eval_on_selector_all(selector, "all => all.map((one) => one.getBBox().width)")]


def words(page: Page) -> str:
    return " ".join(page.locator("[data-lanes] text").all_text_contents())


def test_a_wait_is_as_wide_as_it_is_long_and_says_who_and_why(opened: Opened) -> None:
    with opened(over_time(window(), holder="report-17")) as page:
        [bracket] = page.locator("[data-lanes] .wait").all()
        assert bracket.get_attribute("aria-label") == "waited 11 s for n2: open transaction of report-17"
        [held], [whole] = widths(page, ".hold"), widths(page, "[data-what='use n1 8'] .base")
        assert held / whole == pytest.approx(11.0 / 11.3, abs=0.01), "true time"
        assert "report-17" in page.locator("[data-what='use n2 7']").text_content()
        assert "v8: index delete-only" in words(page)
        assert "v7: no index" in words(page)
        assert "grid lines every 2 s" in words(page), "the scale is labelled"
        assert page.locator("#over-time .key").count() == 1, "one legend"
        assert page.locator("[data-plot] svg").count() == 2
        assert violations(page) == []


def test_the_longer_of_two_waits_beside_each_other_is_named(opened: Opened) -> None:
    versions = (
        version(7, -300, "absent"),
        version(8, 0, "delete-only"),
        version(9, 1.7, "write-only"),
        version(10, 32),
    )
    uses = [use(node, 7, -200, 1.5 if node == "n2" else 0.2) for node in ("n1", "n2", "n3")]
    uses += [use(node, 8, 0.1, 31.8 if node == "n3" else 1.9) for node in ("n1", "n2", "n3")]
    uses += [use(node, 9, 1.8, 32.2) for node in ("n1", "n2", "n3")]
    walk = Walk(1, "flights", versions, tuple(uses))
    works = (Work(41, NOON - 0.1, NOON + 33, "done"),)
    with opened(over_time(Facts(NOON - 10, NOON + 43, False, (walk,), (), (), works))) as page:
        labels = [one.get_attribute("aria-label") for one in page.locator("[data-lanes] .wait").all()]
        assert labels == ["waited 1 s for n2", "waited 30 s for n3"]
        assert "waited 30 s for n3" in words(page)
        assert "waited 1 s for n2" not in words(page)


def test_a_click_on_a_bracket_zooms_to_its_wait_and_escape_returns(opened: Opened) -> None:
    with opened(over_time(window(late=400.0))) as page:
        [before] = widths(page, ".hold")
        page.locator("[data-lanes] .wait").focus()
        page.keyboard.press("Enter")
        [zoomed] = widths(page, ".hold")
        assert zoomed > 1.2 * before
        assert page.locator("[data-whole]").is_visible()
        page.keyboard.press("Escape")
        assert widths(page, ".hold") == [before]


def test_only_what_is_idle_is_folded_and_a_wait_is_not(opened: Opened) -> None:
    with opened(over_time(window(late=400.0))) as page:
        assert page.locator("[data-lanes] .fold").count() == 1
        assert "6 min left out" in words(page)
    with opened(over_time(replace(window(late=400.0), marks=(Mark(NOON + 20, "frozen", "n3"),)))) as page:
        assert page.locator("[data-lanes] .fold").count() == 0, "n3 did not answer all the while"


def test_a_killed_node_and_a_revoked_lease_are_marked(opened: Opened) -> None:
    marks = (Mark(NOON - 3, "killed", "n2"), Mark(NOON + 13, "joined", "n2"), Mark(NOON + 5, "revoked", "n3", 1))
    with opened(over_time(window(marks=marks))) as page:
        assert "waited 11 s for n2: killed, its lease still counts" in words(page)
        [gap], [held] = widths(page, ".gap"), widths(page, ".hold")
        assert gap / held == pytest.approx(16 / 11, abs=0.02)
        page.locator("[data-what='mark revoked'] .hit").hover()
        assert page.locator("[data-tip]").inner_text() == "lease revoked"


def test_looking_back_draws_what_was_known_then(opened: Opened) -> None:
    with opened(over_time(window())) as page:
        assert page.locator("[data-what='use n1 9']").count() == 1
        page.get_by_label("Look back").focus()
        page.keyboard.press("Home")
        assert page.locator("[data-what='use n1 8']").count() == 0
        assert page.locator("[data-lanes] .now-line").count() == 1
        assert "Change 41 begins." in page.locator("[data-stop]").inner_text()


def test_on_a_phone_the_lanes_fit_and_the_wait_is_named(opened: Opened) -> None:
    with opened(over_time(window(), holder="report-17"), width=390, height=844, theme="dark") as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        assert "waited 11 s for n2" in words(page)
        assert violations(page) == []


def test_on_a_projector_the_charts_fill_the_screen(opened: Opened) -> None:
    with opened(over_time(window()), width=1920, height=1080) as page:
        [before] = page.eval_on_selector_all("[data-lanes] svg", "all => all.map((one) => one.clientHeight)")
        page.keyboard.press("p")
        [after] = page.eval_on_selector_all("[data-lanes] svg", "all => all.map((one) => one.clientHeight)")
        assert after > 1.3 * before
        assert page.get_by_label("Look back").is_visible()
        low = page.eval_on_selector_all(
            "#over-time > *", "all => Math.max(...all.map((one) => one.getBoundingClientRect().bottom))"
        )
        assert low <= 1080
        page.keyboard.press("p")
        assert page.eval_on_selector_all("[data-lanes] svg", "all => all.map((one) => one.clientHeight)") == [before]
