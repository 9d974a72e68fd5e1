"""Every page in both themes: nothing that axe-core minds, nothing beyond the edge, no complaint in the console."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from urllib.parse import urlsplit

import psycopg
import pytest
from playwright.sync_api import Page, expect

from tests.harness.cluster import RunningCluster
from tests.product.browser.people import COLOURS, SETTLED, overflow, sign_in, violations
from tests.rounds import every

NewPage = Callable[..., Page]
PAGES = [
    "/",
    "/processes/",
    "/processes/n2/kill/",
    "/traffic/",
    "/tables/",
    "/tables/named/?name=axe_table",
    "/tables/named/?name=axe_parent",
    "/changes/",
    "/changes/new/?statement=CREATE%20INDEX%20soon%20ON%20axe_table%20(b)",
    "/changes/new/?statement=CREATE%20INDEX%20soon%20ON%20axe_table%20(nope)",
    "/changes/new/?statement=ALTER%20TABLE%20axe_table%20ADD%20FOREIGN%20KEY%20(b)%20REFERENCES%20axe_parent",
    "/changes/1/",
    "/story/?kind=changes",
    "/incident/?change=1",
    "/audit-trail/",
    "/notifications/",
    "/console/?panes=2",
    "/lab/",
    "/lab/explorer/",
    "/lab/own/?tables=cluster&statement=CREATE%20INDEX%20soon%20ON%20axe_table%20(b);DROP%20INDEX%20soon",
    "/lab/own/?statement=CREATE%20INDEX%20soon%20ON%20nothing%20(b)",
    "/lab/stage/",
    "/lab/stage/?setup=fill",
    "/lab/stage/?present=1",
    "/lab/chapters/01-one-jump/",
    "/lab/chapters/01-one-jump/handout/",
    "/lab/done/",
    "/lab/live/recorded/orphan/",
    "/lab/rollouts/",
    "/lab/courses/",
    "/lab/polls/",
    "/lab/live/",
    "/account/",
    "/help/",
    "/glossary/",
    "/about/",
]
PREDICTION = "/lab/chapters/01-one-jump/what-is-left/"

REFER = "ALTER TABLE axe_table ADD FOREIGN KEY (b) REFERENCES axe_parent"


@pytest.fixture(scope="module")
def a_table(cluster: RunningCluster) -> None:
    """A table with an index, a row, and a foreign key, made through a node."""
    with psycopg.connect(cluster.nodes["n1"].dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE axe_table (a bigint PRIMARY KEY, b text)")
        connection.execute("CREATE INDEX axe_index ON axe_table (b)")
        connection.execute("INSERT INTO axe_table VALUES (1, 'one')")
        connection.execute("CREATE TABLE axe_parent (b text PRIMARY KEY)")
        connection.execute("INSERT INTO axe_parent VALUES ('one')")
        connection.execute(REFER)


NARROW, WIDE = 320, 1280


@every(5)
def test_every_page_is_accessible(new_page: NewPage, cluster: RunningCluster, a_table: None, every: int) -> None:
    """No page has anything beyond the edge of a phone; every fifth one in the suite, each in the soak, is accessible in
    light, in dark (the same elements in other colours), and on a phone, in the soak by its colours there as well. Runs
    stand at their end: what fades in has less contrast until it is there."""
    page = new_page(theme="light", width=WIDE, reduced_motion="reduce")
    found = {}
    for path in ("/sign-in/", "/"):
        page.goto(f"{cluster.address}{path}")
        found |= {(look, f"visitor {path}"): problems for look, problems in looks(page, [])}
    sign_in(page, cluster)
    for number, path in enumerate([*PAGES, *a_class(page, new_page(), cluster)]):
        page.goto(f"{cluster.address}{path}")
        page.wait_for_load_state("networkidle") if "named" in path else page.wait_for_selector("h1")
        seen = [("narrow", on_a_phone(page))] if number % every else looks(page, () if every == 1 else COLOURS)
        found |= {(look, path): problems for look, problems in seen}
    assert {where: problems for where, problems in found.items() if problems} == {}


def a_class(teacher: Page, learner: Page, cluster: RunningCluster) -> list[str]:
    """A course with a learner, who has predicted wrong and been stopped by the teacher's pace: its pages."""
    teacher.goto(f"{cluster.address}/lab/courses/")
    teacher.get_by_label("Name", exact=True).fill("Databases, spring")
    teacher.get_by_role("button", name="Make the course").click()
    course = urlsplit(teacher.url).path
    learner.goto(teacher.locator(".link-text").inner_text())
    learner.get_by_label("Your name").fill("Bo")
    learner.get_by_role("button", name="Join the course").click()
    learner.goto(f"{cluster.address}{PREDICTION}")
    learner.locator("input[name=choice][value=nothing]").check()
    learner.locator("form[data-answer] .task-send button").click()
    expect(learner.locator("#outcome")).to_be_visible()
    chapter = PREDICTION.split("/")[3]
    teacher.goto(f"{cluster.address}{course}?chapter={chapter}")
    teacher.get_by_role("button", name="Take everybody through").click()
    teacher.get_by_role("button", name="Move everybody on").click()
    return [
        *(f"{course}projector/", f"{course}projector/?right=1", f"{course}?chapter={chapter}&right=1"),
        *(f"{course}learners/1/", f"{course}1/{'/'.join(PREDICTION.split('/')[3:])}"),
    ]


def looks(page: Page, not_on_a_phone: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """What is wrong with the page in each of its looks."""
    yield "light", [*violations(page), *beyond_the_edge(page)]
    page.emulate_media(color_scheme="dark")
    page.evaluate(SETTLED)
    yield "dark", violations(page, COLOURS)
    page.emulate_media(color_scheme="light")
    yield "narrow", on_a_phone(page, lambda: violations(page, without=not_on_a_phone))


def on_a_phone(page: Page, found: Callable[[], list[str]] = list) -> list[str]:
    """What is wrong with the page on a phone, with what is `found` there."""
    page.set_viewport_size({"width": NARROW, "height": 900})
    page.evaluate(SETTLED)
    problems = [*found(), *beyond_the_edge(page)]
    page.set_viewport_size({"width": WIDE, "height": 900})
    return problems


def beyond_the_edge(page: Page) -> list[str]:
    pixels = overflow(page)
    return [f"{pixels} pixels lie beyond the right edge"] if pixels else []


def test_what_is_long_leaves_room_and_what_goes_on_fades_at_the_edge(
    new_page: NewPage, cluster: RunningCluster
) -> None:
    """A row with a long index key: its values are beside it at a desk; on a phone the edge fades. So do rows below."""
    with psycopg.connect(cluster.nodes["n1"].dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE long_keys (a bigint PRIMARY KEY, b text)")
        connection.execute("CREATE INDEX long_key ON long_keys (b)")
        connection.execute("INSERT INTO long_keys VALUES (1, repeat('deep/', 60))")
        connection.execute("INSERT INTO long_keys SELECT n, 'b' FROM generate_series(2, 60) AS n")
    page = new_page(theme="light", width=WIDE)
    sign_in(page, cluster)
    page.goto(f"{cluster.address}/tables/named/?name=long_keys")
    pairs = page.locator("[data-pairs] .scroll.tall")
    below = "region => getComputedStyle(region).getPropertyValue('--fade-below')"
    assert pairs.evaluate(below) == "32px"
    pairs.evaluate("region => { region.scrollTop = region.scrollHeight; }")
    page.wait_for_function(
        "region => getComputedStyle(region).getPropertyValue('--fade-below') === '0px'", arg=pairs.element_handle()
    )
    page.goto(f"{page.url}pairs/")
    first = page.locator("td a[href*='key=']")
    storage = page.locator("#pairs-storage option").all_inner_texts()
    if not first.count():
        page.goto(f"{page.url}?storage={storage[-1]}")
    first.first.click()
    region = page.get_by_role("group", name="Pairs and entries")
    more = "region => [region.scrollWidth > region.clientWidth, getComputedStyle(region).getPropertyValue('--fade')]"
    assert region.evaluate(more) == [False, "0px"]
    page.set_viewport_size({"width": 390, "height": 844})
    assert region.evaluate(more) == [True, "32px"]
    region.evaluate("region => { region.scrollLeft = region.scrollWidth; }")
    page.wait_for_function(
        "region => getComputedStyle(region).getPropertyValue('--fade') === '0px'", arg=region.element_handle()
    )


def test_a_wide_screen_is_used_and_its_lines_are_read_with_ease(new_page: NewPage, cluster: RunningCluster) -> None:
    """At 1920 pixels tables have room for what may be done to a node; help stands in two columns, not in long lines."""
    page = new_page(width=1920, height=1080)
    sign_in(page, cluster)
    page.goto(f"{cluster.address}/processes/")
    width = "one => one.getBoundingClientRect().width"
    assert page.locator("main").evaluate(width) > 1500
    acts = page.locator("tr:has(th:text-is('n1')) .acts .button")
    assert acts.count() >= 3
    assert len({one.bounding_box()["y"] for one in acts.all()}) == 1  # type: ignore[index]
    page.goto(f"{cluster.address}/help/")
    heads = [one.bounding_box()["x"] for one in page.locator(".prose h2").all()]  # type: ignore[index]
    assert len(set(heads)) == 2
    assert page.locator(".prose p").first.evaluate(width) < 800


VISIBLE_HEADS = """region => [...region.querySelectorAll("thead th")].filter(head =>
  head.getBoundingClientRect().right <= region.getBoundingClientRect().right + 1).map(head => head.innerText)"""


def test_on_a_phone_what_matters_of_a_table_is_in_view(
    new_page: NewPage, cluster: RunningCluster, a_table: None
) -> None:
    """Leases and what may be done to a node; what happened, in the administration; what readers find, in the lab."""
    page = new_page(width=390)
    sign_in(page, cluster)
    page.locator(".tabs > details").evaluate_all("every => every.forEach(one => { one.open = true; })")
    nodes = page.get_by_role("group", name="Nodes", exact=True).evaluate(VISIBLE_HEADS)
    assert nodes[:4] == ["Node", "State", "Leases", "What may be done"]
    page.goto(f"{cluster.address}/admin/catalog/storyevent/")
    results = page.locator("#changelist .results")
    seen = "list => list.getBoundingClientRect().right - list.querySelector('.field-text').getBoundingClientRect().left"
    assert results.evaluate(seen) > 120, "the first words of each"
    assert results.evaluate("list => getComputedStyle(list).getPropertyValue('--fade')") == "32px"
    page.goto(f"{cluster.address}/lab/stage/")
    page.get_by_role("tab", name="Cluster").click()
    by_table = page.locator(".probe .found > span", has_text="by table")
    assert by_table.first.evaluate("words => words.getClientRects().length") == 1, "it is not broken between words"
    assert overflow(page) == 0


def test_the_chosen_theme_is_there_from_the_first_byte(new_page: NewPage, cluster: RunningCluster) -> None:
    page = new_page(theme="light")
    sign_in(page, cluster)
    page.get_by_role("button", name="Dark").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(11, 18, 32)"
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_a_word_says_what_it_means(new_page: NewPage, cluster: RunningCluster) -> None:
    """When it is pointed at or clicked, and until Escape; when it is reached by Tab; when it is tapped, before it is a
    link."""
    page = new_page(width=NARROW, has_touch=True)
    page.goto(f"{cluster.address}/help/")
    word, meaning = page.locator("a.term", has_text="lease").first, page.get_by_role("tooltip")
    word.hover()
    expect(meaning).to_contain_text("The right of a node")
    expect(word).to_have_accessible_description(re.compile("The right of a node"))
    assert beyond_the_edge(page) == []
    page.keyboard.press("Escape")
    expect(meaning).to_have_count(0)
    word.focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    expect(meaning).to_contain_text("The right of a node")
    page.keyboard.press("Escape")
    word.click()
    expect(meaning).to_contain_text("The right of a node")
    assert page.url.endswith("/help/"), "a click by mouse does not leave the page"
    page.keyboard.press("Escape")
    word.tap()
    expect(meaning).to_contain_text("The right of a node")
    word.tap()
    page.wait_for_url("**/glossary/#lease")


def test_a_double_click_submits_once(new_page: NewPage, cluster: RunningCluster) -> None:
    """The page shows the change, and not that the second click was refused."""
    page = new_page()
    sign_in(page, cluster)
    page.goto(f"{cluster.address}/changes/new/?statement=CREATE%20TABLE%20clicked_twice%20(a%20int%20PRIMARY%20KEY)")
    page.locator(".cm-editor").wait_for()  # what is below moves when it takes the field's place
    box = page.get_by_role("button", name="Submit").bounding_box()
    assert box is not None
    for pause_ms in (80, 0):  # as far apart as two clicks of a hand: the first is on its way to the server
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.wait_for_timeout(pause_ms)
    page.wait_for_url(re.compile(r"/changes/\d+/"))


def test_a_page_works_without_javascript(new_page: NewPage, cluster: RunningCluster, a_table: None) -> None:
    page = new_page(java_script_enabled=False)
    sign_in(page, cluster)
    page.goto(f"{cluster.address}/changes/new/")
    page.fill("#statement", "CREATE INDEX soon ON axe_table (b)")
    page.get_by_role("button", name="Show the plan").click()
    assert page.get_by_text("Publish axe_table@").first.is_visible()


def test_a_table_of_ones_own_is_asked_about_in_place(new_page: NewPage, cluster: RunningCluster) -> None:
    page = new_page(width=NARROW)
    page.goto(f"{cluster.address}/lab/own/")
    page.fill("#statement", "CREATE TABLE pets (id bigint PRIMARY KEY, kind text); CREATE INDEX by_kind ON pets (kind)")
    page.get_by_role("button", name="Show the plan").click()
    page.get_by_label("by_kind is delete-only").check()
    page.get_by_role("button", name="See what happens").click()
    page.wait_for_selector("[data-own=violated]", timeout=60_000)
    assert page.get_by_label("by_kind is delete-only").is_checked()
    assert (violations(page, without=COLOURS), overflow(page)) == ([], 0)
    page.get_by_role("link", name="Open on the stage").click()
    assert page.get_by_text("by_kind has an entry for row 1").first.is_visible()


@pytest.mark.soak
def test_a_foreign_key_leads_from_one_table_to_the_other(
    new_page: NewPage, cluster: RunningCluster, a_table: None
) -> None:
    page = new_page(width=320)
    sign_in(page, cluster)
    page.goto(f"{cluster.address}/changes/")
    page.get_by_role("link", name=REFER).click()
    assert page.get_by_role("heading", level=1).inner_text() == "axe_table → axe_parent: foreign key axe_table_b_fkey"
    assert violations(page) == []
    assert overflow(page) == 0
    page.get_by_role("link", name="axe_parent", exact=True).first.click()
    page.get_by_role("region", name="Elements").get_by_role("link", name="axe_table").click()
    page.wait_for_url("**/tables/*/")
    assert page.get_by_role("heading", level=1).inner_text() == "axe_table"
