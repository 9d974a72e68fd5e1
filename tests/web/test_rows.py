"""The row page: one row with all its pairs and entries, found by the values of its key or from the pair browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection
from django.test import Client

from catalog.descriptor import from_json
from catalog.elements import ColumnId, Placement, PlacementId, State
from catalog.live.snapshot import one_snapshot
from catalog.models import Descriptor, Table
from catalog.values.types import SqlType
from storage import encoding, pairs, selectors
from storage.browser.lines import READ_BYTES_MAX, PairLine, describe, short
from tests.storage import pairs_sql
from tests.web.layout import flat
from tests.web.test_pages import put_row
from tests.web.test_versions import words

ClientOf = Callable[[str], Client]


def test_a_row_with_all_that_is_stored_of_it(client_of: ClientOf, flights: Table) -> None:
    put_row(flights, 1, "BOS")
    answer = client_of("lea").get(f"/tables/{flights.pk}/row/?value=1")
    said = words(answer)
    assert answer.status_code == 200
    assert "A row of flights: id = 1" in said
    assert "strcrc32(id) 1 477 of 3000 1 of 2" in said
    assert "row flights public exists" in said
    assert "column dest public BOS" in said
    assert "index by_dest delete-only none invisible no pair: in this state it is only ever removed" in said
    assert 'data-seg="key" title="id = 1"' in answer.content.decode()


def test_reading_within_a_snapshot_leaves_its_settings(flights: Table) -> None:
    table = from_json(Descriptor.objects.filter(table=flights).latest("version").body)
    settings = "SELECT name, setting FROM pg_settings WHERE name IN ('statement_timeout', 'enable_seqscan') ORDER BY 1"
    with one_snapshot(), connection.cursor() as cursor:
        cursor.execute(settings)
        before = cursor.fetchall()
        assert selectors.count_entries(table, storage=1, index=table.indexes[0].id) == 0
        cursor.execute(settings)
        assert cursor.fetchall() == before


@pytest.mark.parametrize(("dest", "why"), [("BOS", "missing"), ("A", "no entry")])
def test_postgres_says_which_rows_an_index_leaves_out(client_of: ClientOf, flights: Table, dest: str, why: str) -> None:
    """Its condition is one that only PostgreSQL computes."""
    row = Descriptor.objects.filter(table=flights).latest("version")
    table = from_json(row.body)
    where = f"""jsonb_path_exists(to_jsonb("#{table.columns[1].id}"), '$ ? (@ starts with "B")')"""
    public = replace(table, indexes=tuple(replace(one, where=where, state=State.PUBLIC) for one in table.indexes))
    row.body = public.to_json()
    row.save()
    put_row(flights, 1, dest)
    slots = selectors.stored_row(public, encoding.encode(SqlType.BIGINT, 1)).slots
    [slot] = [one for one in slots if one.name == "by_dest"]
    assert (slot.stored, slot.why) == ("none", why)
    assert client_of("lea").get(f"/tables/{flights.pk}/row/?value=1").status_code == 200


def test_the_pair_browser_leads_to_the_row(client_of: ClientOf, flights: Table) -> None:
    put_row(flights, 1, "BOS")
    client = client_of("lea")
    [to] = set(
        re.findall(r'href="([^"]*/row/\?key=[0-9a-f]+)"', client.get(f"/tables/{flights.pk}/pairs/").content.decode())
    )
    assert "A row of flights: id = 1" in words(client.get(to))


def test_the_pairs_of_a_placement_that_is_not_read_are_shown(client_of: ClientOf, flights: Table) -> None:
    client, path = client_of("lea"), f"/tables/{flights.pk}/pairs/"
    assert 'name="placement"' not in client.get(path).content.decode(), "there is nothing to choose"
    newest = Descriptor.objects.filter(table=flights).latest("version")
    body = from_json(newest.body)
    copy = Placement(PlacementId(2), (ColumnId(2),), state=State.DELETE_ONLY, storages=3)
    newest.body = replace(body, placements=(*body.placements, copy)).to_json()
    newest.save(update_fields=["body"])
    put_row(flights, 1, "BOS")
    key = pairs.column_key(pairs.prefix(body, copy.id), encoding.encode(SqlType.BIGINT, 9))
    with connection.cursor() as cursor:
        cursor.execute(*pairs_sql.insert(1, flights.pk, key, b""))
    read, other = (client.get(f"{path}?placement={one}").content.decode() for one in (1, 2))
    assert ("id=1" in read, "id=9" in read) == (True, False)
    assert ("id=1" in other, "id=9" in other) == (False, True)
    assert '<option value="2" selected>2 · delete-only</option>' in flat(other)
    assert "id=1" in client.get(path).content.decode(), "the one that is read, unless another is asked for"


def test_a_row_that_is_not_there(client_of: ClientOf, flights: Table) -> None:
    said = words(client_of("lea").get(f"/tables/{flights.pk}/row/?value=77"))
    assert "No query finds a row with this key." in said
    assert "by_dest" not in said


def test_without_a_key_there_is_a_form(client_of: ClientOf, flights: Table) -> None:
    said = words(client_of("lea").get(f"/tables/{flights.pk}/row/"))
    assert "id bigint Show" in said
    assert "Pairs and entries" not in said


@pytest.mark.parametrize(
    ("query", "why"),
    [
        pytest.param("value=one", 'invalid input syntax for type bigint: "one"', id="no number"),
        pytest.param("value=1&value=2", "the key of flights has 1 values: id", id="too many values"),
        pytest.param("key=xyz", "non-hexadecimal", id="no hexadecimal digits"),
        pytest.param("key=00ff", "no bigint starts at byte 0", id="no key"),
        pytest.param("key=00" + "ff" * 2000, "ffff…", id="a long key, cut"),
    ],
)
def test_what_is_no_key_is_refused(client_of: ClientOf, flights: Table, query: str, why: str) -> None:
    answer = client_of("lea").get(f"/tables/{flights.pk}/row/?{query}")
    assert answer.status_code == 422
    assert why in words(answer)


def test_a_table_that_is_not_there(client_of: ClientOf, flights: Table) -> None:
    assert client_of("lea").get("/tables/999/row/?value=1").status_code == 404
    assert Client().get(f"/tables/{flights.pk}/row/").status_code == 302


def test_of_a_long_text_the_start_is_read(client_of: ClientOf, flights: Table, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selectors, "_columns_needed", lambda _descriptor: [])
    put_row(flights, 1, "é" * 5000)
    said = words(client_of("lea").get(f"/tables/{flights.pk}/row/?value=1"))
    assert f"{'é' * 60}… visible" in said
    assert "é" * 61 not in said
    assert len(short("é".encode() * 5000)) == READ_BYTES_MAX + 1


def test_the_pair_browser_reads_the_start_of_a_value(
    client_of: ClientOf, flights: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []

    def described(descriptor: Any, storage: int, key: bytes, value: bytes | None) -> PairLine:
        read.append(len(value or b""))
        return describe(descriptor, storage, key, value)

    monkeypatch.setattr(selectors, "describe", described)
    put_row(flights, 1, "x" * 1_000_000)
    answer = client_of("lea").get(f"/tables/{flights.pk}/pairs/")
    assert max(read) == READ_BYTES_MAX + 1
    assert len(answer.content) < 100_000
