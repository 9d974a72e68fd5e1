"""The console's transaction: left open, seen, and ended by its two buttons."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import psycopg
import pytest
from playwright.sync_api import Page, expect

from tests.harness.cluster import RunningCluster
from tests.product.browser.people import overflow, sign_in, violations

NewPage = Callable[..., Page]


@pytest.fixture(scope="module")
def purses(cluster: RunningCluster) -> Iterator[psycopg.Connection[tuple[int]]]:
    """A table with one row, and a session on another node that looks at it."""
    with psycopg.connect(cluster.nodes["n2"].dsn, autocommit=True) as elsewhere:
        elsewhere.execute("CREATE TABLE purses (id bigint PRIMARY KEY, coins bigint)")
        elsewhere.execute("INSERT INTO purses VALUES (1, 10)")
        yield elsewhere


@pytest.mark.parametrize(("word", "coins"), [("ROLLBACK", 10), ("COMMIT", 11)])
def test_a_transaction_is_left_open_and_ended_by_a_button(
    new_page: NewPage, cluster: RunningCluster, purses: psycopg.Connection[tuple[int]], word: str, coins: int
) -> None:
    page = new_page(width=390)
    sign_in(page, cluster)
    page.goto(
        f"{cluster.address}/console/?node=n1&sql=BEGIN;%20UPDATE%20purses%20SET%20coins%20%3D%2011%20WHERE%20id%20%3D%201"
    )
    page.get_by_role("button", name="Run", exact=True).click()
    is_open = page.locator("#transaction-1")
    expect(is_open).to_contain_text("A transaction is open")
    expect(is_open).to_contain_text("It has written: ROLLBACK undoes that.")
    expect(is_open).to_contain_text("purses v")
    assert (violations(page), overflow(page)) == ([], 0)
    is_open.get_by_role("button", name=word, exact=True).click()
    expect(page.locator("#answer-1")).to_contain_text(word)
    expect(is_open).to_be_empty()
    found = purses.execute("SELECT coins FROM purses WHERE id = 1").fetchone()
    assert found == (coins,)


def test_typing_over_several_lines_puts_the_text_and_offends_no_policy(
    new_page: NewPage, cluster: RunningCluster
) -> None:
    """The browser would join the lines with inline styles: a report of the policy fails the test."""
    page = new_page()
    sign_in(page, cluster)
    page.goto(f"{cluster.address}/console/?node=n1&sql=SELECT%201;%0ASELECT%202;%0ASELECT%203")
    page.locator(".cm-content").first.click()
    page.keyboard.press("Control+a")
    page.keyboard.type("SELECT 4")
    expect(page.locator("textarea.sql").first).to_have_value("SELECT 4")
