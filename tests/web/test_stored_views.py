"""Views on the pages: in the list of tables, in the console's, and on a page of their own."""

from __future__ import annotations

import html
import re
from collections.abc import Callable

import pytest
from django.test import Client

from catalog import selectors
from catalog.elements import ColumnId, TableId
from catalog.models import Table, View
from catalog.view_definition import TableUse, ViewColumn, ViewDefinition, ViewUse
from leases.models import Node

ClientOf = Callable[[str], Client]
QUERY = "SELECT dest, count(*) AS n FROM trips GROUP BY dest"
"""Written while the table was called trips."""


@pytest.fixture
def to_boston(flights: Table) -> View:
    """A view of flights, and one that reads it."""
    use = TableUse("trips", TableId(flights.pk), {"dest": ColumnId(2)})
    columns = (ViewColumn("dest", 25), ViewColumn("n", 20))
    made = View.objects.create(name="by_dest_n", body=ViewDefinition(0, "", 1, QUERY, columns, (use,)).to_json())
    reader = ViewDefinition(0, "", 1, "SELECT n FROM by_dest_n", columns[1:], views=(ViewUse("by_dest_n", made.pk, 2),))
    View.objects.create(name="only_n", body=reader.to_json())
    return made


def words_of(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200, path
    words = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", answer.content.decode())).split())
    return re.sub(r" ([,)])", r"\1", words)


def test_a_view_stands_among_the_tables_with_what_it_reads(client_of: ClientOf, to_boston: View) -> None:
    assert "Views View Columns Reads by_dest_n dest, n flights only_n n by_dest_n" in words_of(
        client_of("lea"), "/tables/"
    )


def test_the_page_of_a_view_has_its_query_by_the_names_of_now(client_of: ClientOf, to_boston: View) -> None:
    words = words_of(client_of("lea"), f"/views/{to_boston.pk}/")
    assert "FROM flights trips GROUP BY dest;" in words
    assert "Tables flights Views none Is read by only_n Replaced 0 times" in words
    assert "Name Type dest text n bigint" in words


def test_the_console_lists_views_beside_tables(client_of: ClientOf, to_boston: View) -> None:
    Node.objects.create(name="n1", incarnation=1, host="127.0.0.1", port=6001, pid=1)
    assert "by_dest_n (view) dest, n only_n (view) n" in words_of(client_of("sam"), "/console/")


def test_a_view_is_no_table_to_change(client_of: ClientOf, to_boston: View) -> None:
    assert "by_dest_n" not in words_of(client_of("sam"), "/changes/new/")


def test_there_is_no_page_of_a_view_that_is_not_there(client_of: ClientOf, flights: Table) -> None:
    assert client_of("lea").get("/views/4711/").status_code == 404


def test_the_list_is_short_however_many_there_are(
    client_of: ClientOf, to_boston: View, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(selectors, "VIEWS_LISTED_MAX", 1)
    words = words_of(client_of("lea"), "/tables/")
    assert "The first 1 views by name." in words
    assert "only_n" not in words
