"""What lanes over time are drawn from: a row for each lease that is over, and the seconds; none is kept for ever."""

from __future__ import annotations

import asyncio
import time

import pytest
from redis import Redis

from catalog.database import database_clock_s
from catalog.story import CLUSTER
from leases.models import Lease, PastLease, RecordedSecond
from leases.recorder import seconds, trim
from leases.recorder.reading import read_facts
from leases.redis import samples as redis_samples
from leases.samples import Sample
from leases.services import append_event, control_transaction, sweep_expired
from leases.staircase.facts import Mark, Work
from tests.leases.rows import USERS, Connection, acquire, expire, only, publish, register, renew, users


def past() -> list[tuple[str, int]]:
    return list(PastLease.objects.order_by("id").values_list("node", "version"))


def test_a_lease_leaves_one_row_however_often_it_was_renewed(database: Connection, node: None) -> None:
    acquire(database)
    renew(database)
    assert past() == []
    assert only(database, "SELECT lease_release(%s, 1, 'n1', 1)", USERS)
    [kept] = PastLease.objects.all()
    assert (kept.table_id, kept.version, kept.node, kept.incarnation) == (USERS, 1, "n1", 1)
    assert kept.acquired_at < kept.ended_at < kept.expires_at


def test_a_lease_that_ran_out_ended_when_its_time_did(database: Connection, node: None) -> None:
    expire(database)
    over = Lease.objects.get().expires_at
    sweep_expired()
    [kept] = PastLease.objects.all()
    assert kept.ended_at == max(kept.expires_at, kept.acquired_at)
    assert kept.expires_at == over


def test_leases_that_are_taken_away_leave_their_rows(database: Connection, node: None) -> None:
    database.execute("SELECT * FROM lease_revoke(%s, 'n1')", [USERS])
    acquire(database)
    register(database)  # its next incarnation: the former one's lease is over
    assert past() == [("n1", 1), ("n1", 1)]


def test_the_facts_of_a_window_are_read(database: Connection, node: None) -> None:
    began = database_clock_s()
    publish(database, users(2))
    register(database, "n2")
    acquire(database)
    database.execute("SELECT lease_release(%s, 1, 'n1', 1)", [USERS])
    acquire(database, "n2")
    with control_transaction():
        append_event("process killed", "n2", {"process": "n2", "who": "ada"}, [CLUSTER])
        append_event("process killed", "web", {"process": "web", "who": "ada"}, [CLUSTER])
    work = Work(1, began, None, "running")
    facts = read_facts([(USERS, "users")], [work], start=began)
    [walk] = facts.walks
    assert [(use.node, use.version, use.ended is None) for use in walk.uses] == [
        ("n1", 1, False),
        ("n1", 2, True),
        ("n2", 2, True),
    ]
    assert [one.version for one in walk.versions] == [1, 2]
    assert [(mark.kind, mark.node) for mark in facts.marks] == [("killed", "n2")]
    assert facts.is_live
    assert facts.end > began


def test_a_lease_on_another_table_that_is_revoked_is_not_marked(database: Connection, node: None) -> None:
    began = database_clock_s()
    with control_transaction():
        for table_id in (USERS, USERS + 1):
            payload = {"who": "olga", "node": "n1", "table": "users", "table_id": table_id, "version": 1}
            append_event("lease revoked", "users", payload, [CLUSTER])
    marks = read_facts([(USERS, "users")], [], start=began).marks
    assert [(mark.kind, mark.table_id) for mark in marks] == [("revoked", USERS)]


def test_a_node_that_fell_before_the_window_is_known_to_be_down(database: Connection, node: None) -> None:
    with control_transaction():
        append_event("process killed", "n1", {"process": "n1", "who": "ada"}, [CLUSTER])
    facts = read_facts([(USERS, "users")], [], start=database_clock_s())
    assert [(mark.kind, mark.at < facts.start) for mark in facts.marks] == [("killed", True)]


def test_a_silent_node_is_marked_from_its_last_heartbeat_on(database: Connection, node: None) -> None:
    began = database_clock_s()
    since = "2100-01-01T00:00:00+00:00"
    with control_transaction():
        append_event("node silent", "n1", {"node": "n1", "since": since, "until": since}, [CLUSTER])
        append_event("node back", "n1", {"node": "n1"}, [CLUSTER])
    marks = read_facts([(USERS, "users")], [], start=began).marks
    assert [mark.kind for mark in marks] == ["back"]  # the other one lies beyond the window
    assert isinstance(marks[0], Mark)


def test_the_picture_of_a_table_at_rest_stays_as_it_is(database: Connection, node: None) -> None:
    """Its window ends a little after the last thing that happened, whatever the time is."""
    start = database_clock_s() - 1000
    database.execute("UPDATE leases_lease SET acquired_at = clock_timestamp() - interval '500 s'")
    database.execute("UPDATE catalog_descriptor SET modified_at = clock_timestamp() - interval '600 s'")
    first = read_facts([(USERS, "users")], [], start=start)
    assert not first.is_live
    assert first.end < database_clock_s() - 400
    assert read_facts([(USERS, "users")], [], start=start) == first


@pytest.fixture
def reported(redis_url: str, database: Connection) -> list[int]:
    """Two nodes have reported three whole seconds."""
    register(database, "n1")
    register(database, "n2")
    now = int(time.time())
    with Redis.from_url(redis_url) as redis:
        for node in ("n1", "n2"):
            redis.delete(f"schemalab:samples:{node}")

    async def report() -> None:
        client = redis_samples.open_client(redis_url)
        for at in (now - 3, now - 2, now - 1):
            for node, rate in (("n1", 100.0), ("n2", 50.0)):
                assert await redis_samples.publish(client, node, Sample(float(at), rate, 1.0, 4.0))
        await client.aclose()

    asyncio.run(report())
    return [now - 3, now - 2, now - 1]


def test_seconds_are_recorded_once(reported: list[int]) -> None:
    assert seconds.record_seconds() == 3
    assert seconds.record_seconds() == 3  # looked at again: they might not have been whole
    kept = RecordedSecond.objects.order_by("at").values_list("at", "statements_per_s", "p99_ms", "nodes")
    assert list(kept) == [(at, 150.0, 4.0, 2) for at in reported]


def test_a_second_is_written_again_when_more_nodes_have_reported_it(reported: list[int]) -> None:
    RecordedSecond.objects.create(at=reported[-1], statements_per_s=100.0, nodes=1)
    RecordedSecond.objects.create(at=reported[-2], statements_per_s=999.0, nodes=3)
    seconds.record_seconds()
    rates = dict(RecordedSecond.objects.values_list("at", "statements_per_s"))
    assert (rates[reported[-1]], rates[reported[-2]]) == (150.0, 999.0)


def test_a_second_that_has_yet_to_come_does_not_silence_the_recorder(reported: list[int]) -> None:
    RecordedSecond.objects.create(at=reported[-1] + 3600, statements_per_s=1.0, nodes=1)
    assert seconds.record_seconds() == 3
    trim.trim()
    assert list(RecordedSecond.objects.order_by("at").values_list("at", flat=True)) == reported


def test_nothing_is_kept_for_ever(database: Connection, node: None, monkeypatch: pytest.MonkeyPatch) -> None:
    now = int(database_clock_s())
    RecordedSecond.objects.create(at=now - trim.SECONDS_KEPT_S - 5, statements_per_s=1.0, nodes=1)
    RecordedSecond.objects.create(at=now - 5, statements_per_s=2.0, nodes=1)
    for _ in range(4):
        database.execute("SELECT lease_release(%s, 1, 'n1', 1)", [USERS])
        acquire(database)
    database.execute("UPDATE leases_pastlease SET ended_at = ended_at - interval '25 h' WHERE id % 2 = 0")
    trim.trim()
    assert list(RecordedSecond.objects.values_list("statements_per_s", flat=True)) == [2.0]
    assert PastLease.objects.count() == 2
    monkeypatch.setattr(trim, "PAST_KEPT", 1)
    trim.trim()
    assert PastLease.objects.count() == 1
