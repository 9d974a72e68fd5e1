"""Faults by click on the real cluster: traffic is started, a node is killed and started again, nothing is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import psycopg
import pytest
from playwright.sync_api import Page, expect

from schemalab.polling import wait_for
from tests.harness.cluster import RunningCluster
from tests.product.browser.people import sign_in, violations

NewPage = Callable[..., Page]
LIMIT_MS = 60_000


@pytest.fixture(scope="module")
def busy(cluster: RunningCluster) -> Iterator[None]:
    """A table that traffic can run on; n2 is there afterwards."""
    with psycopg.connect(cluster.nodes["n1"].dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE busy (id bigint PRIMARY KEY, a text)")
    yield
    if cluster.processes()["n2"]["state"] == "down":
        cluster.control("start", "n2")


def rows_left(cluster: RunningCluster) -> int:
    with psycopg.connect(cluster.nodes["n1"].dsn, autocommit=True) as connection:
        found = connection.execute("SELECT count(*) FROM busy").fetchone()
    assert found is not None
    return int(found[0])


@pytest.mark.soak
def test_a_node_is_killed_under_traffic_and_its_client_returns_to_it(
    new_page: NewPage, cluster: RunningCluster, busy: None
) -> None:
    page = new_page()
    sign_in(page, cluster)
    page.goto(f"{cluster.address}/traffic/?table=busy")
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_role("region", name="Running now")).to_be_visible(timeout=LIMIT_MS)

    page.goto(cluster.address)
    page.locator(".tabs > details").evaluate_all("every => every.forEach(one => { one.open = true; })")
    traffic = page.get_by_role("region", name="Traffic", exact=True)
    expect(traffic.get_by_text("0 / 3")).to_be_visible(timeout=LIMIT_MS)
    page.get_by_role("region", name="Nodes").get_by_role("link", name="Kill… n2").click()
    dialog = page.get_by_role("dialog", name="Kill n2?")
    expect(dialog).to_contain_text("Its lease on busy v")
    assert violations(page) == []
    dialog.get_by_role("link", name="Leave it as it is").click()
    expect(dialog).not_to_be_visible()
    page.get_by_role("region", name="Nodes").get_by_role("link", name="Kill… n2").click()
    dialog.get_by_role("button", name="Kill n2").click()
    expect(page.get_by_role("row", name="n2 killed")).to_be_visible(timeout=LIMIT_MS)
    expect(page.locator("[data-story]")).to_contain_text("killed process n2; it stays down until it is started.")
    expect(traffic.get_by_text("1 / 3")).to_be_visible(timeout=LIMIT_MS)
    expect(traffic).to_contain_text("08006")

    page.get_by_role("region", name="Nodes").get_by_role("link", name="Start… n2").click()
    page.get_by_role("dialog").get_by_role("button", name="Start n2").click()
    expect(page.get_by_role("row", name="n2 up")).to_be_visible(timeout=LIMIT_MS)
    expect(traffic.get_by_text("0 / 3")).to_be_visible(timeout=LIMIT_MS)
    expect(traffic).to_contain_text("Wrong answers 0")

    traffic.get_by_role("link", name="Stop… busy").click()
    page.get_by_role("dialog").get_by_role("button", name="Stop it").click()
    expect(page.locator("[data-story]")).to_contain_text("Traffic on busy ended,", timeout=LIMIT_MS)
    wait_for(lambda: cluster.processes()["traffic-1"]["state"] == "ended", what="its process's end", seconds_max=30.0)
    assert rows_left(cluster) == 0, "it removes what it wrote"
