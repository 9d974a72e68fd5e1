"""The page of requests: what each node has counted, what each storage accepts, and one request step by step."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from redis import Redis

from catalog.models import Table
from leases.models import Node
from leases.totals import Totals
from nodes import selectors
from nodes.console import pictures
from storage import postgres as store
from tests.nodes.console.test_pictures import TRACE

ClientOf = Callable[[str], Client]
COUNTS = {"requests": 40, "mismatches": 3, "reloads": 2, "joined": 1, "retries": 3, "conflicts": 0, "map_reduces": 5}


def words(answer: Any) -> str:
    return " ".join(html.unescape(answer.content.decode()).split())


@pytest.fixture
def counted(db: None, redis_url: str) -> None:
    """Two nodes have reported what they counted."""
    reported = Redis.from_url(settings.REDIS_URL)
    for name, more in (("n1", {"reload_s": 0.05, "snapshot_age_s": 12.3}), ("n2", {"reload_s": 0.0, "reloads": 0})):
        Node.objects.create(name=name, host="127.0.0.1", port=7100, pid=1)
        totals = Totals(requests={"customers": {**COUNTS, **more}})
        reported.set(f"schemalab:totals:{name}", totals.to_text(1), ex=60)


def test_the_counts_of_each_node_and_table_and_their_sums(client_of: ClientOf, counted: None):
    found = selectors.requests_now()
    assert [(row["node"], row["table"], row["reload_ms"], row["age_s"]) for row in found["rows"]] == [
        ("n1", "customers", 25.0, 12.3), ("n2", "customers", None, None),
    ]  # fmt: skip
    assert (found["sums"]["requests"], found["sums"]["reloads"]) == (80, 2)
    page = words(client_of("lea").get("/requests/"))
    assert "25.0 ms" in page
    assert "12 s ago" in page


@pytest.fixture
def rolled(flights: Table) -> Table:
    """Storage 1 knows version 2 of a table, and accepts it alone; storage 2 knows version 1."""
    with connection.cursor() as cursor:
        for number, versions in ((1, (1, 2)), (2, (1,))):
            cursor.execute(f"CREATE SEQUENCE IF NOT EXISTS storage_{number}.fence_{flights.pk}")
            for version in versions:
                hashes = {"schema_hash": f"{version}" * 16, "sharding_hash": "c" * 16}
                store.insert_version_copies(cursor, [number], flights.pk, version, **hashes)
        cursor.execute(f"SELECT setval('storage_1.fence_{flights.pk}', 2), setval('storage_2.fence_{flights.pk}', 1)")
    Table.objects.filter(pk=flights.pk).update(version=2)
    return flights


def test_storages_that_know_different_versions_are_told_apart(client_of: ClientOf, rolled: Table):
    (found,) = [one for one in selectors.storages_now()["tables"] if one["id"] == rolled.pk]
    first, second = found["storages"]
    assert not found["agree"]
    assert [(v["number"], v["is_accepted"], v["schema"]) for v in first["versions"]] == [
        (1, False, "111111"), (2, True, "222222"),
    ]  # fmt: skip
    assert (second["fence"], [v["number"] for v in second["versions"]]) == (1, [1])
    for page in ("/", "/requests/"):
        shown = words(client_of("lea").get(page))
        assert "222222" in shown
        assert "storage 2: buckets 1501–3000" in shown


def test_a_request_is_shown_from_its_address_to_who_has_signed_in(client_of: ClientOf, people: Any):
    hostile = TRACE | {"sql": "<script>alert(1)</script>"}
    address = f"/requests/trace/?t={quote(pictures.address(hostile, 'n1'))}"
    assert Client().get(address)["Location"].startswith("/sign-in/")
    answer = client_of("lea").get(address)
    assert answer.status_code == 200
    assert b"<script>alert" not in answer.content
    assert "Refused before anything was written" in words(answer)
    assert client_of("lea").get(address[:-3]).status_code == 404
    assert client_of("lea").get("/requests/trace/").status_code == 404
