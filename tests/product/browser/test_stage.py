"""The stage in a browser: the orphan of chapter 1 by clicks and by keyboard, branches, links, a phone, a projector."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route, expect

from tests.harness.cluster import RunningCluster
from tests.product.browser.people import COLOURS, overflow, sign_in, violations

NewPage = Callable[..., Page]
PHONE = {"width": 390, "height": 844}
SETTLED = "Promise.all(document.getAnimations().map(one => one.finished))"
INSERT, DELETE = "n2.insert.1.1", "n1.delete.1.0"


@pytest.fixture
def stage(new_page: NewPage, cluster: RunningCluster) -> Callable[..., Page]:
    """The stage of chapter 1, opened by the owner."""

    def opened(query: str = "", **options: object) -> Page:
        page = new_page(**options)
        sign_in(page, cluster)
        page.goto(f"{cluster.address}/lab/stage/{query}")
        expect(page.locator(".app")).to_be_visible()
        return page

    return opened


def take(page: Page, offer: str) -> None:
    page.locator(f'.step[data-offer="{offer}"]').click()


def position(page: Page, words: str) -> None:
    expect(page.locator(".position")).to_have_text(words)


def is_orphaned(page: Page) -> None:
    expect(page.locator(".narration .verdict").first).to_contain_text("Damage: orphan entry (C5) under v2")
    expect(page.locator(".narration .verdict").nth(1)).to_contain_text("Danger: unknown entry (C3) under v1")
    expect(page.locator(".pair.dangles")).to_have_count(1)
    expect(page.locator(".hole")).to_have_text("no such row")


def test_the_orphan_by_clicks(stage: Callable[..., Page]) -> None:
    page = stage()
    position(page, "2 / 2")
    take(page, INSERT)
    position(page, "3 / 3")
    expect(page.locator(".narration")).to_contain_text("Danger: unknown entry (C3) under v1")
    take(page, DELETE)
    position(page, "4 / 4")
    is_orphaned(page)
    expect(page.locator(".invariants td.here[data-severity=damage]")).to_have_count(1)
    expect(page.locator(".found.differs")).to_contain_text("they differ")
    expect(page.locator("#say")).to_contain_text("Step 4 of 4")
    assert page.title().startswith("One jump 4/4")
    page.get_by_role("button", name="As a table").click()
    expect(page.locator(".trace tbody tr")).to_have_count(4)


def test_the_orphan_by_keyboard_alone(stage: Callable[..., Page]) -> None:
    page = stage()
    for offer in (INSERT, DELETE):
        page.keyboard.press("j")
        while page.evaluate("document.activeElement.dataset.offer") != offer:
            page.keyboard.press("j")
        steps = page.locator(".event").count()
        page.keyboard.press("Enter")
        expect(page.locator(".event")).to_have_count(steps + 1)
    is_orphaned(page)
    assert page.evaluate("document.activeElement.matches('.step')")
    page.keyboard.press("Home")
    position(page, "0 / 4")
    page.keyboard.press("ArrowRight")
    position(page, "1 / 4")
    page.keyboard.press("End")
    position(page, "4 / 4")
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    assert violations(page) == []
    dialog.get_by_label("Use these keys").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("Home")
    page.wait_for_timeout(300)
    position(page, "4 / 4")  # the keys are switched off


@pytest.mark.soak
def test_going_back_keeps_the_future_and_another_step_is_a_branch(stage: Callable[..., Page]) -> None:
    page = stage()
    take(page, INSERT)
    position(page, "3 / 3")
    take(page, DELETE)
    position(page, "4 / 4")
    page.get_by_role("button", name="Back", exact=True).click()
    position(page, "3 / 4")
    take(page, "n1.acquire")
    position(page, "4 / 4")
    expect(page.locator(".branch")).to_have_count(2)
    expect(page.locator(".narration")).to_contain_text("A new branch, B")
    page.get_by_role("button", name="Compare with branch A").click()
    expect(page.locator(".event.differs")).to_have_count(2)
    expect(page.locator(".event.differs").first).to_contain_text("here they differ")
    assert violations(page) == []
    page.get_by_role("button", name="Back to one branch").click()
    page.reload()
    expect(page.locator(".branch")).to_have_count(2)
    page.locator(".branch .name").first.click()
    is_orphaned(page)


@pytest.mark.soak
def test_a_branch_that_is_dropped_is_not_there_after_a_reload(stage: Callable[..., Page]) -> None:
    page = stage()
    take(page, INSERT)
    position(page, "3 / 3")
    page.get_by_role("button", name="Back", exact=True).click()
    position(page, "2 / 3")
    take(page, "n1.acquire")
    expect(page.locator(".branch")).to_have_count(2)
    page.get_by_role("button", name="Remove branch A").click()
    expect(page.locator(".branch")).to_have_count(1)
    page.reload()
    expect(page.locator(".branch")).to_have_count(1)


@pytest.mark.soak
def test_a_session_too_long_for_a_link_has_a_title_and_no_way_elsewhere(stage: Callable[..., Page]) -> None:
    def without_link(route: Route) -> None:
        shown = route.fetch() if route.request.method == "POST" else None
        route.continue_() if shown is None else route.fulfill(response=shown, json=shown.json() | {"link": ""})

    page = stage()
    ways = page.locator(".tools").get_by_text("Poll"), page.locator(".tools details.export")
    for way in ways:
        expect(way).to_be_visible()
    page.route("**/lab/stage/", without_link)
    take(page, INSERT)
    position(page, "3 / 3")
    for way in ways:
        expect(way).to_have_count(0)
    page.keyboard.press("Home")
    position(page, "0 / 3")
    expect(page).to_have_title("One jump 0/3 · Schema Lab")


@pytest.mark.soak
def test_a_comparison_that_fails_when_it_has_ended_is_no_problem(stage: Callable[..., Page]) -> None:
    page = stage(expected="ERR_FAILED")
    take(page, INSERT)
    position(page, "3 / 3")
    page.get_by_role("button", name="Back", exact=True).click()
    position(page, "2 / 3")
    take(page, "n1.acquire")
    expect(page.locator(".branch")).to_have_count(2)
    page.reload()
    held: list[Route] = []
    page.route("**/lab/stage/", lambda route: held.append(route))
    with page.expect_request("**/lab/stage/"):
        page.get_by_role("button", name="Compare with branch A").click()
    page.get_by_role("button", name="Back to one branch").click()
    with page.expect_event("requestfailed"):
        held[0].abort()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_be_visible()
    expect(page.locator("#stage [role=alert]")).to_have_count(0)


@pytest.mark.soak
def test_a_link_opens_elsewhere(stage: Callable[..., Page], new_page: NewPage, cluster: RunningCluster) -> None:
    page = stage()
    take(page, INSERT)
    position(page, "3 / 3")
    take(page, DELETE)
    position(page, "4 / 4")
    link = page.url
    other = new_page(width=1920, height=1080)
    sign_in(other, cluster)
    other.goto(f"{link}&present=1")
    is_orphaned(other)
    expect(other.locator("header.bar")).to_be_hidden()
    assert overflow(other) == 0
    assert other.evaluate("document.documentElement.scrollHeight <= innerHeight"), "the whole stage is on the projector"
    other.get_by_role("button", name="Leave presenter mode").click()
    expect(other.locator("header.bar")).to_be_visible()


@pytest.mark.soak
def test_it_runs_by_itself_until_something_breaks(stage: Callable[..., Page]) -> None:
    page = stage()
    page.get_by_label("Speed").select_option("4")
    page.get_by_label("Seed").fill("7")
    page.get_by_role("button", name="Let it run").click()
    expect(page.locator(".narration")).to_contain_text("It stopped", timeout=60_000)
    page.get_by_role("button", name="First", exact=True).click()
    page.get_by_role("button", name="Play", exact=True).click()
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible(timeout=60_000)
    assert page.locator(".position").inner_text().split(" / ")[0] != "0"


@pytest.mark.soak
def test_a_rule_left_out_is_shown_and_kept_in_the_link(stage: Callable[..., Page]) -> None:
    page = stage("?setup=full-ladder")
    page.get_by_role("button", name="Set-up").click()
    page.get_by_role("checkbox", name="skipped").check()
    assert violations(page) == []
    page.get_by_role("button", name="Apply to these steps").click()
    expect(page.locator(".left-out")).to_contain_text("left out: R1: existing rows get their entries")
    page.reload()
    expect(page.locator(".left-out")).to_contain_text("left out: R1: existing rows get their entries")
    page.get_by_role("button", name="Set-up").click()
    page.get_by_role("button", name="Start over").click()
    expect(page.get_by_role("dialog")).to_be_hidden()


@pytest.mark.soak
def test_every_look_is_accessible(stage: Callable[..., Page]) -> None:
    page = stage()
    take(page, INSERT)
    position(page, "3 / 3")
    take(page, DELETE)
    is_orphaned(page)
    page.evaluate(SETTLED)
    assert violations(page) == []
    assert overflow(page) == 0
    page.emulate_media(color_scheme="dark")
    page.evaluate(SETTLED)
    assert violations(page, COLOURS) == []
    page.set_viewport_size(PHONE)
    for tab in ("Possible steps", "Cluster", "Trace", "Clauses"):
        page.get_by_role("tab", name=tab).click()
        assert violations(page) == [], tab
        assert overflow(page) == 0, tab


@pytest.mark.parametrize("width", [390, 1920])
def test_nothing_lies_over_a_step(stage: Callable[..., Page], width: int) -> None:
    """However high the window is: what scrolls goes under nothing that is clicked."""
    page = stage("?setup=constraint")
    found = {}
    for height in range(700, 1081, 20):
        page.set_viewport_size({"width": width, "height": height})
        found[height] = violations(page, ["wcag22aa"])
    assert {height: problems for height, problems in found.items() if problems} == {}


@pytest.mark.parametrize("width", [1280, 1360])
def test_all_versions_of_a_change_are_seen_on_a_laptop(stage: Callable[..., Page], width: int) -> None:
    """Up to four of them: the longest state takes two lines there."""
    page = stage("?setup=fill")
    page.set_viewport_size({"width": width, "height": 768})
    expect(page.locator(".app")).to_have_attribute("data-layout", "wide")
    lanes = page.locator(".scroller:has(.lane-grid)")
    expect(lanes.locator("thead th").last).to_contain_text("write-only, filling")
    assert lanes.evaluate("one => one.scrollWidth - one.clientWidth") <= 0


def test_a_step_that_is_taken_keeps_its_place_in_a_list_that_scrolls(stage: Callable[..., Page]) -> None:
    page = stage("?setup=constraint")
    steps, step = page.locator(".steps"), page.locator(".step").nth(10)
    assert steps.evaluate("one => one.scrollHeight > one.clientHeight + 100")
    step.scroll_into_view_if_needed()
    offer, before = step.get_attribute("data-offer"), step.bounding_box()
    position_before = page.locator(".position").inner_text()
    step.click()
    expect(page.locator(".position")).not_to_have_text(position_before)
    after = page.locator(f'.steps [data-offer="{offer}"]').bounding_box()
    assert before is not None
    assert after is not None
    assert abs(after["y"] - before["y"]) <= 2


def test_a_long_strip_scrolls_and_widens_no_page(stage: Callable[..., Page], cluster: RunningCluster) -> None:
    page = stage()
    page.set_viewport_size(PHONE)
    page.goto(f"{cluster.address}/lab/models/fill-puts-blindly/")
    position(page, "12 / 12")
    page.get_by_role("tab", name="Clauses").click()
    strip = page.locator(".invariants")
    assert strip.evaluate("one => one.scrollWidth") > PHONE["width"]
    assert overflow(page) == 0  # what only a screen reader sees, in each cell, scrolls with the strip


def test_the_explorer_finds_a_way_and_what_saves(stage: Callable[..., Page]) -> None:
    page = stage("?setup=one-jump&ask=1")
    expect(page.locator(".verdict-card")).to_contain_text("There is a way", timeout=60_000)
    page.get_by_role("button", name="Open as a branch").click()
    expect(page.locator(".narration")).to_contain_text("Damage: missing entry (C4) under v2")
    page.locator(".branch .name").first.click()
    position(page, "2 / 2")
    take(page, INSERT)
    position(page, "3 / 3")
    take(page, DELETE)
    is_orphaned(page)
    page.get_by_role("button", name="What would have saved it?").click()
    expect(page.locator(".verdict-card").first).to_contain_text("Before step 4: n1: lease the newest version.")
    page.locator(".verdict-card").first.get_by_role("button", name="Open as a branch").click()
    expect(page.locator(".narration .verdict.holds")).to_be_visible()


@pytest.mark.soak
def test_a_chapter_has_the_stage_within_it(stage: Callable[..., Page], cluster: RunningCluster) -> None:
    page = stage()
    page.goto(f"{cluster.address}/lab/chapters/01-one-jump/two-servers/")
    position(page, "2 / 2")
    assert page.evaluate("scrollY") == 0
    take(page, INSERT)
    position(page, "3 / 3")
    expect(page.locator(".narration")).to_contain_text("Danger: unknown entry (C3) under v1")
    assert page.url.endswith("/two-servers/")
    assert violations(page) == []
    page.set_viewport_size(PHONE)
    assert overflow(page) == 0
    link = page.get_by_role("link", name="Open in free play").get_attribute("href")
    page.goto(str(link))
    position(page, "3 / 3")


ASKED = """<p id="asked" data-asked="/lab/questions/0/" role="status">
<span data-waiting="Waiting" data-running="Searching" data-stopped="Stopped.">Soon.</span></p>"""


@pytest.mark.soak
def test_a_search_that_is_gone_has_stopped(stage: Callable[..., Page], cluster: RunningCluster) -> None:
    """An answer cut off on its way is asked for again; a question that is not there any more is given up, in words."""
    page = stage(expected="400")
    looks: list[str] = []

    def a_screen_that_waits(route: Route) -> None:
        screen = route.fetch()
        route.fulfill(response=screen, body=screen.text().replace("</main>", f"{ASKED}</main>"))

    def look(route: Route) -> None:
        looks.append(route.request.url)
        status, body = (200, '{"state": ') if len(looks) == 1 else (400, "{}")
        route.fulfill(status=status, body=body, content_type="application/json")

    page.route("**/two-servers/", a_screen_that_waits)
    page.route("**/lab/questions/0/", look)
    page.goto(f"{cluster.address}/lab/chapters/01-one-jump/two-servers/")
    expect(page.locator("#asked")).to_have_text("Stopped.")
    assert len(looks) == 2


@pytest.mark.soak
def test_a_poll_that_is_deleted_elsewhere_is_asked_for_no_more(
    stage: Callable[..., Page], cluster: RunningCluster
) -> None:
    page = stage(expected="404")
    page.locator(".tools").get_by_text("Poll").click()
    page.get_by_label("Question").fill("What is left?")
    page.get_by_label("Answers").fill("nothing\nthe entry")
    page.get_by_role("button", name="Make the poll").click()
    expect(page.locator("#grid")).to_be_visible()
    other = page.context.new_page()
    other.goto(page.url)
    other.get_by_role("button", name="Delete the poll").click()
    other.wait_for_url("**/lab/polls/")
    page.bring_to_front()
    expect(page.locator("#grid")).to_have_count(0, timeout=60_000)


def test_a_publish_that_a_rule_forbids_stands_among_the_steps_with_its_reason(stage: Callable[..., Page]) -> None:
    page = stage()
    chapter = page.url.partition("/stage/")[0] + "/chapters/02-delete-only"
    for screen in ("who-finds-it", "ask-the-explorer"):
        page.goto(f"{chapter}/{screen}/")
        page.get_by_role("button", name="Show me").click()
        expect(page.locator("details.after")).to_have_attribute("open", "")
    page.goto(f"{chapter}/what-is-missing/")
    expect(page.locator(".steps .refused")).to_have_count(1)
    expect(page.locator(".steps .refused")).to_contain_text("publish v3")
    expect(page.locator(".steps .reasons")).to_contain_text("n1 still leases v1, n2 still leases v1")
    take(page, "n1.acquire")
    expect(page.locator(".steps .reasons")).to_contain_text("n2 still leases v1")
    take(page, "n2.acquire")
    expect(page.locator(".steps .refused")).to_have_count(0)
