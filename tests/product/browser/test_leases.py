"""The lease console on the real cluster: who holds a change back is found and revoked; the administration's look."""

from __future__ import annotations

import re
from collections.abc import Callable

import psycopg
import pytest
from playwright.sync_api import Page, expect

from tests.harness.cluster import RunningCluster
from tests.product.browser.people import COLOURS, SETTLED, overflow, sign_in, violations

NewPage = Callable[..., Page]
CHANGE_MS_MAX = 60_000
ADMIN = (
    "/admin/",
    "/admin/leases/lease/",
    "/admin/leases/node/",
    "/admin/changes/change/",
    "/admin/catalog/storyevent/",
)


def test_who_holds_a_change_back_is_found_and_revoked(new_page: NewPage, cluster: RunningCluster, patient: str) -> None:
    """Its transaction ends with 40001 and is not there afterwards; what was acknowledged is; the change goes on."""
    page = new_page()
    sign_in(page, cluster)
    with psycopg.connect(patient, application_name="report", autocommit=True) as holder:
        holder.execute("CREATE TABLE held (id bigint PRIMARY KEY, note text)")
        holder.execute("INSERT INTO held VALUES (1, 'acknowledged')")
        holder.execute("BEGIN")
        holder.execute("INSERT INTO held VALUES (2, 'not committed')")
        assert cluster.manage("change", "submit", "CREATE INDEX held_note ON held (note)").returncode == 0
        page.goto(f"{cluster.address}/leases/")
        expect(page.locator("h1")).to_have_text("1 change waits for leases", timeout=CHANGE_MS_MAX)
        first = page.locator("article.held").first
        expect(first).to_contain_text("patient uses held v")
        expect(first).to_contain_text("This one decides when the next step may go.")
        row = first.locator("tbody tr")
        expect(row).to_contain_text("report")
        expect(row).to_contain_text("idle after INSERT INTO held VALUES (2, 'not committed')")
        looks_right(page)
        first.get_by_role("link", name="Revoke").click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("It loses all that it did since its BEGIN")
        expect(dialog).to_contain_text("goes on then: no other lease is in its way.")
        assert violations(page) == []
        dialog.get_by_label("Type patient to confirm").fill("patient")
        dialog.get_by_role("button", name="Revoke it").click()
        expect(page.locator(".toasts")).to_have_text("Revoked: 1 session was ended.")
        page.locator(".toasts").get_by_role("button", name="Close").click()
        expect(page.locator(".toasts > *")).to_have_count(0)
        expect(page.locator("[data-story]")).to_contain_text(re.compile("owner revoked the lease of patient on held v"))
        with pytest.raises(psycopg.errors.SerializationFailure, match="the transaction had to end"):
            holder.execute("COMMIT")
        holder.execute("ROLLBACK")
        expect(page.locator("h1")).to_have_text("No change waits for a lease", timeout=CHANGE_MS_MAX)
        assert holder.execute("SELECT note FROM held").fetchall() == [("acknowledged",)]
    page.goto(f"{cluster.address}/changes/")
    page.get_by_role("link", name="CREATE INDEX held_note").click()
    expect(page.locator(".outcome").first).to_contain_text("done", timeout=CHANGE_MS_MAX)
    page.goto(f"{cluster.address}/leases/")
    page.get_by_role("link", name="history", exact=True).click()
    expect(page.get_by_text("revoked by owner")).to_be_visible()
    looks_right(page)


def test_what_is_asked_stays_true_while_somebody_reads_it(
    new_page: NewPage, cluster: RunningCluster, patient: str
) -> None:
    """The hold ends meanwhile, also where the question is a page of its own; what was typed by then stays."""
    dialog_page, whole_page = new_page(expected="409"), new_page(expected="409")
    for page in (dialog_page, whole_page):
        sign_in(page, cluster)
    with psycopg.connect(patient, application_name="report", autocommit=True) as holder:
        holder.execute("CREATE TABLE read_while (id bigint PRIMARY KEY, note text)")
        holder.execute("BEGIN")
        holder.execute("INSERT INTO read_while VALUES (1, 'mine')")
        assert cluster.manage("change", "submit", "CREATE INDEX read_note ON read_while (note)").returncode == 0
        dialog_page.goto(f"{cluster.address}/leases/")
        revoke = dialog_page.locator("article.held").first.get_by_role("link", name="Revoke")
        address = revoke.get_attribute("href", timeout=CHANGE_MS_MAX)
        whole_page.goto(f"{cluster.address}{address}")
        dialog_page.set_viewport_size({"width": 390, "height": 500})
        revoke.click()
        expect(dialog_page.get_by_role("dialog").get_by_role("heading", level=1)).to_be_in_viewport()
        expect(dialog_page.get_by_role("heading", level=1).last).to_be_focused()
        assert dialog_page.get_by_role("dialog").evaluate(FADE_BELOW) == "32px", "that it goes on is seen"
        typed = dialog_page.get_by_label("Type patient to confirm")
        typed.press_sequentially("pati")
        for asked in (dialog_page.get_by_role("dialog"), whole_page.locator("main")):
            expect(asked).to_contain_text("idle after INSERT INTO read_while VALUES (1, 'mine')")
        holder.execute("INSERT INTO read_while VALUES (2, 'more')")
        for asked in (dialog_page.get_by_role("dialog"), whole_page.locator("main")):
            expect(asked).to_contain_text("idle after INSERT INTO read_while VALUES (2, 'more')")
        expect(typed).to_have_value("pati")
        expect(typed).to_be_focused()
        holder.execute("COMMIT")
        for page in (dialog_page, whole_page):
            expect(page.get_by_role("alert").filter(has_text="There is no such lease any more")).to_be_visible()
            expect(page.get_by_role("button", name="Revoke it")).to_have_count(0)
        assert violations(dialog_page) == []


FADE_BELOW = "dialog => getComputedStyle(dialog, '::after').height"


def looks_right(page: Page) -> None:
    """In both themes and on a phone."""
    assert violations(page) == []
    page.emulate_media(color_scheme="dark")
    page.evaluate(SETTLED)
    assert violations(page, COLOURS) == []
    page.emulate_media(color_scheme="light")
    page.evaluate(SETTLED)
    page.set_viewport_size({"width": 390, "height": 844})
    assert overflow(page) == 0
    page.set_viewport_size({"width": 1280, "height": 900})


@pytest.mark.soak
def test_the_administration_is_accessible_and_asks_first(new_page: NewPage, cluster: RunningCluster) -> None:
    page = new_page()
    sign_in(page, cluster)
    for path in ADMIN:
        page.goto(f"{cluster.address}{path}")
        looks_right(page)
    page.goto(f"{cluster.address}/admin/leases/node/")
    page.get_by_role("row").filter(has_text="n1").get_by_role("checkbox").check()
    page.get_by_label("Action:").select_option("drain")
    page.get_by_role("button", name="Run").or_(page.get_by_role("button", name="Go")).click()
    expect(page.locator(".chosen")).to_contain_text("No transaction is cut off.")
    looks_right(page)
    page.get_by_role("link", name="Leave it as it is").click()
    expect(page.locator("#result_list")).to_contain_text("up")
