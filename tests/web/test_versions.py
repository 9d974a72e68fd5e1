"""The pages of a table's versions: elements, differences, who used each when, and what made it."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django.utils.timezone import now

from catalog.models import Descriptor, Table
from catalog.services import append_event
from catalog.story import table_stream
from changes.models import Change, Record
from leases.models import PastLease
from leases.staircase.facts import Facts, Use, Walk, to_json

ClientOf = Callable[[str], Client]


def words(answer: Any) -> str:
    """What a reader sees."""
    text = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", answer.content.decode())).split())
    return re.sub(r" ([.,:;])(?=\s|$)", r"\1", text)


@pytest.fixture
def page(client_of: ClientOf, flights: Table) -> Callable[[str], str]:
    """The words of an address below the table's versions, as lea reads them."""
    client = client_of("lea")
    return lambda below: words(client.get(f"/tables/{flights.pk}/versions/{below}"))


def past_lease(table: Table, version: int, node: str, *, began: datetime, lasted_s: float, left_s: float = 20) -> None:
    ended = began + timedelta(seconds=lasted_s)
    PastLease.objects.create(
        table_id=table.pk,
        version=version,
        node=node,
        incarnation=3,
        acquired_at=began,
        ended_at=ended,
        expires_at=ended + timedelta(seconds=left_s),
    )


def made_by_a_change(table: Table, version: int) -> Change:
    """A change of sam's that has published this version."""
    change = Change.objects.create(
        table_id=table.pk,
        table_ids=[table.pk],
        table_name=table.name,
        statement="CREATE INDEX by_dest ON flights (dest)",
        plan={},
        status="done",
        who="sam",
        started_at=now() - timedelta(days=3),
        ended_at=now() - timedelta(days=3),
    )
    what = "index by_dest absent -> delete-only"
    payload = {"change": change.pk, "table": table.name, "version": version, "what": what}
    with transaction.atomic():
        append_event("version published", table.name, payload, [table_stream(table.pk)])
    return change


def test_a_version_says_what_it_is_and_what_differs(page: Callable[[str], str]) -> None:
    shown = page("2/")
    assert "index by_dest delete-only (dest)" in shown
    assert "From v1 to v2 + index by_dest: delete-only" in shown
    assert "The newest version: nodes come to it" in shown
    first = page("1/")
    assert "Created with + column id: public" in first
    assert "by_dest" not in first
    assert "the newest is v2" in first


def test_versions_are_compared_from_the_older_to_the_newer_whichever_is_looked_at(page: Callable[[str], str]) -> None:
    assert "From v1 to v2 + index by_dest" in page("1/?with=2")
    assert "From v1 to v2 + index by_dest" in page("2/?with=1")


@pytest.mark.parametrize("odd", ["2", "7", "-1", "x", "²", "9" * 40])
def test_with_itself_or_nothing_there_is_the_one_before_to_compare(page: Callable[[str], str], odd: str) -> None:
    assert "From v1 to v2" in page(f"2/?with={odd}")


def test_versions_lead_to_each_other_and_the_history_leads_to_them(client_of: ClientOf, flights: Table) -> None:
    client, base = client_of("lea"), f"/tables/{flights.pk}/"
    assert f'rel="next" href="{base}versions/2/"' in client.get(f"{base}versions/1/").content.decode()
    assert f'rel="prev" href="{base}versions/1/"' in client.get(f"{base}versions/2/").content.decode()
    history = client.get(base).content.decode()
    assert all(f'<a href="{base}versions/{number}/">v{number}</a>' in history for number in (1, 2))


def test_who_used_it_from_when_until_when(page: Callable[[str], str], flights: Table) -> None:
    today = now().replace(hour=0, minute=0, second=0, microsecond=0)
    began = max(now() - timedelta(minutes=10), today)  # of another day the date is shown, too
    past_lease(flights, 1, "n1", began=began, lasted_s=30)
    past_lease(flights, 1, "n2", began=began + timedelta(seconds=5), lasted_s=50, left_s=0)
    past_lease(flights, 2, "n3", began=began, lasted_s=1)
    shown = page("1/")
    first, last = began, began + timedelta(seconds=55)
    assert f"2 nodes used it, from {first:%H:%M:%S} to {last:%H:%M:%S}." in shown
    assert "n1 incarnation 3" in shown
    assert "given back" in shown
    assert "ran out: its node did not renew it" in shown
    assert "n3" not in shown


def test_a_version_in_use_says_so(page: Callable[[str], str], flights: Table) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO leases_lease (table_id, version, node, incarnation, expires_at)"
            " VALUES (%s, 2, 'n1', 1, clock_timestamp() + interval '1 minute')",
            [flights.pk],
        )
    assert "1 node has used it since" in page("2/")
    assert "No lease on it is remembered" in page("1/")


def test_the_change_that_made_it(page: Callable[[str], str], flights: Table) -> None:
    change = made_by_a_change(flights, 2)
    shown = page("2/")
    assert f"change {change.pk}" in shown
    assert "CREATE INDEX by_dest ON flights (dest)" in shown
    assert "submitted by sam" in shown
    assert "That is not remembered." in page("1/")


def test_leases_that_are_forgotten_are_read_from_the_record_of_the_change(
    page: Callable[[str], str], flights: Table
) -> None:
    change = made_by_a_change(flights, 2)
    at = change.started_at.timestamp()
    uses = (Use("n4", 2, at, at + 9, at + 30), Use("n4", 1, at - 9, at, at + 30))
    facts = Facts(at - 10, at + 20, False, (Walk(flights.pk, "flights", (), uses),))
    Record.objects.create(change=change, facts=to_json(facts))
    assert "1 node used it" in page("2/")
    assert "n4" in page("2/")


def test_a_use_that_outlived_the_record_is_not_said_to_last(page: Callable[[str], str], flights: Table) -> None:
    change = made_by_a_change(flights, 2)
    at = change.started_at.timestamp()
    facts = Facts(at - 10, at + 20, False, (Walk(flights.pk, "flights", (), (Use("n4", 2, at, None, at + 30),)),))
    Record.objects.create(change=change, facts=to_json(facts))
    shown = page("2/")
    ended = change.started_at + timedelta(seconds=20)
    assert f"it was still in use when the record of its change ended, at {ended:%Y-%m-%d %H:%M:%S}." in shown
    assert "it is in use" not in shown
    assert "lasts" not in shown


def test_what_is_forgotten_is_said(page: Callable[[str], str], flights: Table) -> None:
    past_lease(flights, 1, "n1", began=now() - timedelta(minutes=10), lasted_s=30)
    assert "Who used it before is no longer known." not in page("1/")
    Descriptor.objects.filter(table_id=flights.pk).update(modified_at=now() - timedelta(days=3))
    assert "1 node used it" in page("1/")
    assert "Who used it before is no longer known." in page("1/")


def test_no_node_comes_to_a_table_that_was_dropped(page: Callable[[str], str], flights: Table) -> None:
    Table.objects.filter(pk=flights.pk).update(state=Table.State.DROPPED)
    assert "The last version: the table is not there" in page("2/")
    assert "nodes come to it" not in page("2/")


def test_a_table_made_in_a_transaction(page: Callable[[str], str], flights: Table) -> None:
    payload = {"table": "flights", "version": 1, "who": "sam"}
    with transaction.atomic():
        append_event("table created", "flights", payload, [table_stream(flights.pk)])
    assert "created in a transaction of sam" in page("1/")


@pytest.mark.parametrize("below", ["3/", "0/", "9999999999/"])
def test_there_is_no_such_version(client_of: ClientOf, flights: Table, below: str) -> None:
    assert client_of("lea").get(f"/tables/{flights.pk}/versions/{below}").status_code == 404


def test_who_has_not_signed_in_is_asked_to(flights: Table) -> None:
    assert Client().get(f"/tables/{flights.pk}/versions/1/").status_code == 302
