"""A page that is open stays true: a change watched from submission to public, and a connection that dies."""

from __future__ import annotations

from collections.abc import Callable

import psycopg
import pytest
from django.template.loader import render_to_string
from playwright.sync_api import Page, Route, WebSocketRoute, expect

from tests.harness.cluster import RunningCluster
from tests.product.browser.people import happen, overflow, sign_in
from tests.rounds import rounds

NewPage = Callable[..., Page]
CHANGE_MS_MAX = 60_000
FREE_SHARE = """(innerHeight - Math.max(...[...document.querySelector("#over-time").children]
  .map(one => one.getBoundingClientRect().bottom))) / innerHeight"""
SCALE = "(svg => svg.clientWidth / svg.viewBox.baseVal.width)(document.querySelector('#over-time [data-lanes] svg'))"
SCALE_MOST = 1.7
"""At this scale words of charts are as close to each other as they may be, on a projector of 1920 pixels."""
CURSOR_X = "document.querySelector('#over-time .now-line').getBoundingClientRect().x"
STORY = "[...document.querySelectorAll('[data-story] li')].map(line => Number(line.dataset.seq))"


@pytest.fixture(scope="module")
def birds(cluster: RunningCluster) -> None:
    """A table with rows to index."""
    with psycopg.connect(cluster.nodes["n1"].dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE birds (id bigint PRIMARY KEY, name text)")
        connection.execute("INSERT INTO birds VALUES (1, 'swift'), (2, 'heron'), (3, 'swift')")


def test_an_index_change_is_submitted_and_watched_until_public(
    new_page: NewPage, cluster: RunningCluster, birds: None
) -> None:
    page = new_page()
    sign_in(page, cluster)
    page.goto(f"{cluster.address}/changes/new/")
    page.locator(".cm-content").click()
    page.keyboard.type("CREATE INDEX by_name ON birds (name)")
    expect(page.locator("#plan")).to_contain_text("Publish birds@")
    page.get_by_role("button", name="Submit").click()
    expect(page.locator("h1")).to_have_text("birds: add index by_name")
    expect(page.locator(".outcome").first).to_contain_text("done", timeout=CHANGE_MS_MAX)
    expect(page).to_have_title("Done · birds: add index by_name · Schema Lab")
    expect(page.locator("[data-story]")).to_contain_text("is done")
    expect(page.locator("[data-story]")).to_contain_text("write-only → public")
    seqs = page.evaluate(STORY)
    assert seqs == list(range(len(seqs), 0, -1))
    expect(page.get_by_text('DROP INDEX "by_name"')).to_be_visible()
    compared = page.get_by_role("heading", name="Statements before and during the change")
    expect(compared).to_be_visible()
    page.set_viewport_size({"width": 1920, "height": 1080})
    page.keyboard.press("p")
    expect(compared).to_be_hidden()
    free = page.evaluate(FREE_SHARE)
    assert 0 <= free < 0.05 or (free > 0 and page.evaluate(SCALE) > SCALE_MOST), "the charts fill the projector"
    expect(page.get_by_label("Look back")).to_be_in_viewport()
    page.keyboard.press("p")
    page.set_viewport_size({"width": 390, "height": 844})
    assert overflow(page) == 0
    page.goto(f"{cluster.address}/tables/named/?name=birds")
    assert overflow(page) == 0
    page.get_by_label("Look back").focus()
    for key in ("Home", "ArrowRight"):
        page.keyboard.press(key)
        assert 0 < page.evaluate(CURSOR_X) < 390, "what is looked at is in view"


@pytest.mark.soak
def test_one_looks_back_over_a_change_and_shows_it_on_a_projector(
    new_page: NewPage, cluster: RunningCluster, birds: None
) -> None:
    with psycopg.connect(cluster.nodes["n1"].dsn, autocommit=True) as connection:
        connection.execute("CREATE INDEX by_both ON birds (name, id)")
    page = new_page(width=1920, height=1080)
    sign_in(page, cluster)
    page.goto(f"{cluster.address}/tables/named/?name=birds")
    lanes = page.get_by_role("region", name="Lanes over time")
    expect(lanes.locator("figcaption").first).to_contain_text("At most 2 versions were in use at once.")
    expect(lanes.locator("[data-what^=use]").first).to_be_attached()
    slider = page.get_by_label("Look back")
    slider.focus()
    page.keyboard.press("Home")
    expect(lanes.locator(".now-line").first).to_be_attached()
    first = lanes.locator("[data-stop]").inner_text()
    page.keyboard.press("ArrowRight")
    expect(lanes.locator("[data-stop]")).not_to_have_text(first)
    page.keyboard.press("p")
    expect(page.get_by_role("heading", name="Elements")).to_be_hidden()
    assert lanes.locator("[data-lanes] svg").bounding_box()["width"] > 1800
    assert overflow(page) == 0
    page.keyboard.press("Escape")
    expect(page.get_by_role("heading", name="Elements")).to_be_visible()


def test_the_card_for_a_first_visit_goes_on_by_itself_once_the_demo_is_loaded(
    new_page: NewPage, cluster: RunningCluster
) -> None:
    """A newcomer signs in as soon as the link is printed, and the demo's tables come later."""
    with psycopg.connect(cluster.database_url, autocommit=True) as connection:
        connection.execute("UPDATE changes_change SET who = 'another'")  # after a change of one's own there is no card
    page = new_page()
    sign_in(page, cluster)
    card = page.get_by_role("region", name="Is this your first visit?")
    expect(card).to_contain_text("First: a table")
    ready = "<section id='first-visit' aria-labelledby='first-head'><h2 id='first-head'>Loaded</h2></section>"
    page.route(f"{cluster.address}/", lambda route: route.fulfill(body=ready, content_type="text/html"))
    page.evaluate("document.dispatchEvent(new CustomEvent('schemalab:parts'))")
    expect(card).to_contain_text("First: a table")
    page.evaluate("""() => {
        document.querySelector("[data-part=load]").innerHTML = "<a href='/tables/1/'>flights</a>";
        document.dispatchEvent(new CustomEvent("schemalab:parts"));
    }""")
    expect(page.get_by_role("heading", name="Loaded")).to_be_visible()
    expect(card).to_have_count(0)


@rounds(few=3.0, many=10.0)
def test_a_connection_dead_for_seconds_misses_nothing_and_shows_nothing_twice(
    new_page: NewPage, cluster: RunningCluster, rounds: float
) -> None:
    """Three seconds in the suite, ten in the soak."""
    page = new_page()
    is_cut = False
    through: list[WebSocketRoute] = []

    def relay(socket: WebSocketRoute) -> None:
        if is_cut:
            socket.close(code=1001, reason="cut")
        else:
            socket.connect_to_server()
            through.append(socket)

    page.route_web_socket("**/live/", relay)
    sign_in(page, cluster)
    pill = page.locator(".pill")
    expect(pill).to_have_attribute("data-live", "live")
    first = int(page.evaluate("schemalab.seq"))
    happen(cluster, 1)
    is_cut = True
    through[-1].close(code=1001, reason="cut")
    for number in range(2, 6):
        happen(cluster, number)
    expect(pill).not_to_have_attribute("data-live", "live")
    page.wait_for_timeout(rounds * 1000)  # the length of the cut is what is tested
    is_cut = False
    happen(cluster, 6)
    expect(pill).to_have_attribute("data-live", "live", timeout=30_000)
    expect(page.locator("[data-story]")).to_contain_text("Process test 6 is running.")
    seqs = [seq for seq in page.evaluate(STORY) if seq > first]
    assert seqs == list(range(max(seqs), first, -1))
    told = page.locator("[data-story]").text_content() or ""
    assert [told.count(f"Process test {number} is running.") for number in range(1, 7)] == [1] * 6


def test_what_is_typed_survives_live_updates(new_page: NewPage, cluster: RunningCluster) -> None:
    page = new_page()
    sign_in(page, cluster)
    page.locator("#language").focus()
    happen(cluster, 20)
    expect(page.locator("[data-story]")).to_contain_text("Process test 20 is running.", timeout=20_000)
    assert page.evaluate("document.activeElement.id") == "language"


@pytest.mark.parametrize("path", ["/console/", "/"])
def test_the_clock_at_the_foot_goes_on_whether_the_page_is_live_or_not(
    new_page: NewPage, cluster: RunningCluster, path: str
) -> None:
    page = new_page()
    sign_in(page, cluster)
    page.clock.install()
    page.goto(f"{cluster.address}{path}")
    clock = page.locator("[data-clock]")
    before = clock.inner_text()
    page.clock.run_for(60_000)
    expect(clock).not_to_have_text(before)  # a page that is live hears the server's time again meanwhile


def test_the_page_is_read_to_those_who_do_not_see_it(new_page: NewPage, cluster: RunningCluster) -> None:
    """Transitions are announced; ticking seconds are not."""
    page = new_page()
    sign_in(page, cluster)
    happen(cluster, 30)
    expect(page.locator("#say")).to_have_text("Process test 30 is running.", timeout=20_000)
    assert page.locator("[aria-live] [data-left], [role=status] [data-ago]").count() == 0


THROTTLED = {
    "change": {"id": 999, "tables": "birds", "element": "add index by_name", "now": "fill index by_name"},
    "p": {"target": {"kept_percent": 80}},
    "steps": (50, 500, 5000),
    "at": 1,
    "at_rows": 500,
    "limits": (1, 5000),
    "target_limits": {"slower_ms": (1, 1000), "kept_percent": (1, 99)},
    "reason_chars_max": 200,
}
"""What the page of a throttle shows, but for the limit in force."""


def test_a_throttle_says_what_holds_now_and_keeps_what_is_typed(new_page: NewPage, cluster: RunningCluster) -> None:
    """Somebody else sets a limit meanwhile. Both of its forms, the second one behind other words, stay as they are."""
    page = new_page()
    in_force = {"rows_per_s_max": None, "slower_ms_max": 20.0}

    def throttle(route: Route) -> None:
        body = render_to_string("change_throttle.html", THROTTLED | {"in_force": in_force})
        route.fulfill(body=body, content_type="text/html")

    page.route("**/changes/999/throttle/", throttle)
    sign_in(page, cluster)
    page.goto(f"{cluster.address}/changes/999/throttle/")
    expect(page.get_by_text("No limit is in force")).to_be_visible()
    expect(page.get_by_role("button", name="No limit")).to_have_count(0)
    rows, kept = page.get_by_label("Rows per second", exact=True), page.get_by_label("Share of statements per second")
    kept.fill("70")
    rows.fill("123")
    in_force |= {"rows_per_s_max": 50.0}
    expect(page.get_by_text("Now: 50 rows per second.")).to_be_visible()
    expect(page.get_by_text("This is the limit in force.")).to_be_visible()
    expect(page.get_by_role("button", name="No limit")).to_be_visible()
    expect(page.get_by_role("heading", name="What others may notice of it")).to_have_count(1)
    expect(rows).to_have_value("123")
    expect(rows).to_be_focused()
    expect(kept).to_have_value("70")
    in_force |= {"rows_per_s_max": None}
    expect(page.get_by_role("button", name="No limit")).to_have_count(0)
    assert page.locator("[data-ask-body] form").count() == 2
