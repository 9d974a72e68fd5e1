"""Lanes over time on the pages: of the table that moves, of each table, and kept with a finished change."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.utils.timezone import now

from catalog.live import snapshot
from catalog.models import Table
from changes import streams
from changes.models import ENDED, Change, Record
from changes.records import keeping, windows
from leases.models import PastLease, RecordedSecond
from leases.recorder import reading
from leases.staircase.facts import Facts

ClientOf = Callable[[str], Client]
Queries = Callable[[int], AbstractContextManager[object]]


@pytest.fixture(autouse=True)
def nothing_drawn_yet() -> None:
    streams._drawn_last.clear()


def _change(table: Table, status: str, seconds_ago: float, *, lasted: float = 5.0) -> Change:
    """A change of the table that began so long ago."""
    began = now() - timedelta(seconds=seconds_ago)
    return Change.objects.create(
        table_id=table.pk,
        table_ids=[table.pk],
        table_name=table.name,
        statement="CREATE INDEX by_dest ON flights (dest)",
        plan={},
        who="sam",
        status=status,
        started_at=began,
        ended_at=began + timedelta(seconds=lasted) if status in ENDED else None,
    )


@pytest.fixture
def finished(flights: Table) -> Change:
    """A change of flights that ended a minute ago; n1 used both of its versions, n2 has died."""
    made = _change(flights, "done", 80.0, lasted=20.0)
    began = made.started_at
    assert began is not None
    flights.descriptors.filter(version=1).update(modified_at=began - timedelta(hours=1))
    flights.descriptors.filter(version=2).update(modified_at=began)
    for node, version, left in (("n1", 1, 1), ("n2", 1, 15), ("n1", 2, None)):
        _used(flights, node, version, began, None if left is None else began + timedelta(seconds=left))
    for second in range(5):
        at = int(began.timestamp()) + second
        RecordedSecond.objects.create(at=at, statements_per_s=400.0, p50_ms=1.0, p99_ms=9.0, nodes=2)
    return made


def _used(table: Table, node: str, version: int, began: object, ended: object | None) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO leases_lease (table_id, version, node, incarnation, acquired_at, expires_at)"
            " VALUES (%s, %s, %s, 1, %s, coalesce(%s, clock_timestamp() + interval '1 minute'))",
            [table.pk, version, node, began, ended],
        )
        if ended is not None:
            cursor.execute("DELETE FROM leases_lease WHERE version = %s AND node = %s", [version, node])


def page(client_of: ClientOf, path: str) -> str:
    return client_of("lea").get(path).content.decode()


def test_before_the_first_change_the_page_says_what_will_come(client_of: ClientOf, flights: Table) -> None:
    assert "No change has begun yet." in page(client_of, f"/tables/{flights.pk}/")


def test_the_table_that_was_changed_last_is_drawn(client_of: ClientOf, flights: Table, finished: Change) -> None:
    body = page(client_of, f"/tables/{flights.pk}/")
    for words in (
        "1 node went from v1 to v2.",
        "At most 2 versions were in use at once.",
        "The longest wait was 15 s, until n2 left v1.",
        "n2 leaves v1.",  # its words, moment by moment
        "Statements a second",
        "p99 of the slowest node",
    ):
        assert words in body.replace("The lease of n2 on v1 runs out.", "n2 leaves v1."), words
    assert "style=" not in body
    drawn = json.loads(html.unescape(re.search("<i data-facts hidden>(.*?)</i>", body)[1]))
    [table] = drawn["tables"]
    assert [(one["version"], one["phase"]) for one in table["versions"]] == [(1, "absent"), (2, "delete-only")]
    assert {(use["node"], use["version"]) for use in table["uses"]} == {("n1", 1), ("n2", 1), ("n1", 2)}
    assert (table["nodes"], [work["change"] for work in table["works"]]) == (["n1", "n2"], [finished.pk])


def test_a_finished_changes_picture_is_kept_with_it(flights: Table, finished: Change) -> None:
    before = windows.of_change(finished)
    assert keeping.keep_records() == [finished.pk]
    assert keeping.keep_records() == []
    PastLease.objects.all().delete()
    RecordedSecond.objects.all().delete()
    kept = windows.of_change(finished)
    assert kept == before
    assert kept is not None
    assert {use.node for walk in kept.walks for use in walk.uses} == {"n1", "n2"}
    assert len(kept.seconds) == 5


def test_the_picture_of_a_table_is_that_which_was_kept(client_of: ClientOf, flights: Table, finished: Change) -> None:
    """Leases and seconds go after a while, and nodes go on."""
    keeping.keep_records()
    before = windows.of_table(flights.pk)
    assert before is not None
    assert [walk.table_id for walk in before.walks] == [flights.pk]
    PastLease.objects.all().delete()
    RecordedSecond.objects.all().delete()
    assert windows.of_table(flights.pk) == before
    assert "1 node went from v1 to v2." in page(client_of, f"/tables/{flights.pk}/")


def _seconds(first: float, last: float, rate: float) -> None:
    for at in range(int(first), int(last) + 1):
        RecordedSecond.objects.create(at=at, statements_per_s=rate, p50_ms=1.0, p99_ms=9.0, nodes=2)


@pytest.mark.parametrize("is_kept", [True, False])
def test_between_changes_the_picture_goes_on_as_long_as_statements_run(
    flights: Table, finished: Change, is_kept: bool
) -> None:
    """A change's own window stays as it was."""
    if is_kept:
        keeping.keep_records()
    of_change = windows.of_change(finished)
    assert of_change is not None
    at_rest = windows.of_table(flights.pk)
    assert at_rest is not None
    clock = now().timestamp()
    assert not at_rest.is_live
    _seconds(clock - 30, clock - 1, 0.0)
    assert windows.of_table(flights.pk) == at_rest, "nothing runs"
    RecordedSecond.objects.filter(at__gt=clock - 20).update(statements_per_s=300.0)
    shown = windows.of_table(flights.pk)
    assert shown is not None
    assert shown.is_live
    assert shown.end >= clock
    assert [one for one in shown.seconds if one.at <= clock - 50] == list(at_rest.seconds)
    assert sum(one.statements_per_s == 300.0 for one in shown.seconds) >= 15
    assert (shown.works, shown.walks[0].versions) == (at_rest.works, at_rest.walks[0].versions)
    assert {(use.node, use.version) for use in shown.walks[0].uses} == {("n1", 1), ("n2", 1), ("n1", 2)}
    assert len(shown.walks[0].uses) == 3, "a use that lasts is one"
    assert windows.of_change(finished) == of_change


def test_when_the_statements_end_the_picture_ends_a_little_later(flights: Table, finished: Change) -> None:
    clock = now().timestamp()
    _seconds(clock - 40, clock - 30, 300.0)
    shown = windows.of_table(flights.pk)
    assert shown is not None
    assert (shown.is_live, shown.end) == (False, int(clock - 30) + reading.REST_S)


def test_of_a_change_whose_time_was_not_kept_nothing_is_claimed(flights: Table, finished: Change) -> None:
    long_ago = now() - timedelta(hours=3)
    Change.objects.update(started_at=long_ago, ended_at=long_ago + timedelta(seconds=20))
    for stream in (f"table:{flights.pk}", f"change:{finished.pk}"):
        shown = snapshot.render_state(stream, snapshot.read_state(stream, sampled=True))["over_time"]
        assert "No record was kept of this time" in shown, stream
        assert "At most" not in shown, stream


def test_a_change_that_cannot_be_read_does_not_cost_the_next_one_its_record(
    flights: Table, finished: Change, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    later = _change(flights, "done", 40)
    read = keeping.fresh

    def fresh(change: Change) -> Facts:
        if change.pk == finished.pk:
            raise ValueError("a descriptor of another release")
        return read(change)

    monkeypatch.setattr(keeping, "fresh", fresh)
    assert keeping.keep_records() == [later.pk]
    assert f"the time around change {finished.pk} is not kept" in caplog.text


def test_what_has_just_ended_is_not_kept_yet(finished: Change) -> None:
    Change.objects.update(ended_at=now())
    assert keeping.keep_records() == []
    assert not Record.objects.exists()


def test_the_table_that_was_changed_last_is_of_interest(flights: Table, finished: Change) -> None:
    assert windows.table_of_interest() == flights.pk


def test_all_who_look_share_one_reading_a_second(
    flights: Table, finished: Change, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Queries
) -> None:
    clock = [100.0]
    monkeypatch.setattr(streams, "monotonic", lambda: clock[0])
    first = streams._over_time_of_table(flights.pk)
    with django_assert_num_queries(0):
        assert streams._over_time_of_table(flights.pk) is first
    clock[0] += streams.SAMPLE_S
    assert streams._over_time_of_table(flights.pk) is first  # read again, and still the same
    Change.objects.update(status="failed")
    assert streams._over_time_of_table(flights.pk) is first
    clock[0] += streams.SAMPLE_S
    assert streams._over_time_of_table(flights.pk) is not first


def test_whoever_wants_no_pages_does_not_have_it_drawn(finished: Change, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "of_change", lambda change: pytest.fail("it was read"))
    state = snapshot.state_message(f"change:{finished.pk}", html=False, sampled=True)["state"]
    assert "over_time" not in state


def test_the_table_of_interest_is_one_that_moves(flights: Table, finished: Change) -> None:
    tables = [_table(f"t{number}") for number in range(4)]
    _change(tables[0], "running", 300)
    _change(tables[1], "waiting", 200)
    _change(tables[2], "paused", 100)
    _change(tables[3], "done", 50)
    seen = []
    for table in (tables[1], tables[0], tables[2], tables[3], flights):
        seen.append(windows.table_of_interest())
        Change.objects.filter(table_id=table.pk).delete()
    assert seen == [tables[1].pk, tables[0].pk, tables[2].pk, tables[3].pk, flights.pk]
    assert windows.table_of_interest() is None


def test_a_sandbox_and_a_table_that_is_gone_are_of_no_interest(flights: Table, finished: Change) -> None:
    _change(_table("gone", Table.State.DROPPED), "done", 10)
    _change(Table.objects.create(pk=990, name="never", state=Table.State.LIVE), "failed", 10)
    sandbox = _table("sandbox", sandbox_of="lea")
    _change(sandbox, "running", 10)
    ordinary = _table("ordinary")
    _change(ordinary, "done", 500)
    assert windows.table_of_interest() == flights.pk
    Change.objects.filter(table_id=ordinary.pk).delete()
    finished.delete()
    assert windows.table_of_interest() == sandbox.pk  # nothing else was changed


def _table(name: str, state: Table.State = Table.State.LIVE, *, sandbox_of: str | None = None) -> Table:
    table = Table.objects.create(pk=900 + Table.objects.count(), name=name, sandbox_of=sandbox_of)
    table.descriptors.create(version=1, body={}, schema_hash="", sharding_hash="")
    Table.objects.filter(pk=table.pk).update(state=state)
    return table


def test_a_picture_at_rest_is_the_same_each_second(flights: Table, finished: Change) -> None:
    """So that nobody is sent it again."""
    stream = f"table:{flights.pk}"
    first, second = (snapshot.render_state(stream, snapshot.read_state(stream, sampled=True)) for _ in range(2))
    assert first["over_time"] == second["over_time"]
    assert len(first["over_time"]) < 40_000
