"""The door of every transaction: the order inside `enter` (T2), the fence, the snapshot (T3), the deadline (T4, T5)."""

from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any

import psycopg
import pytest

from storage import postgres
from storage.pairs import KeyTooLong
from storage.reader.role import READER
from tests.storage.stage import BY_NAME, STORAGES, Stage, user


@pytest.fixture
def client(stage: Stage) -> Iterator[psycopg.Connection[Any]]:
    with stage.connect() as connection:
        yield connection
        if not connection.closed:
            connection.rollback()


@pytest.fixture
def publisher(stage: Stage) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(stage.dsn) as connection:
        yield connection
        connection.rollback()


def refusal(stage: Stage, client: psycopg.Connection[Any], version: int, **options: Any) -> psycopg.Error:
    with pytest.raises(psycopg.Error) as caught:
        stage.enter(client, version, **options)
    return caught.value


def test_a_version_below_the_fence_is_refused_with_the_oldest_accepted(
    stage: Stage, client: psycopg.Connection[Any]
) -> None:
    stage.publish(stage.now.with_index(BY_NAME))
    refused = refusal(stage, client, 1)
    assert (refused.sqlstate, refused.diag.message_primary) == (
        postgres.BELOW_FENCE,
        f"version 1 of table {stage.table_id} is below the fence: storage_1 accepts version 2 and newer",
    )


def test_the_fence_is_read_as_of_now_not_of_the_snapshot(stage: Stage, client: psycopg.Connection[Any]) -> None:
    client.execute("SELECT count(*) FROM storage_1.versions")  # the snapshot is older than the publish
    stage.publish(stage.now.with_index(BY_NAME))
    assert refusal(stage, client, 1).sqlstate == postgres.BELOW_FENCE


def test_a_version_newer_than_the_snapshot_cannot_be_used(stage: Stage, client: psycopg.Connection[Any]) -> None:
    client.execute("SELECT count(*) FROM storage_1.versions")
    stage.publish(stage.now.with_index(BY_NAME), fence=1)
    refused = refusal(stage, client, 2)
    assert refused.sqlstate == postgres.VERSION_NOT_VISIBLE
    assert "version 2 of table" in str(refused)
    client.rollback()
    client.execute("SELECT count(*) FROM storage_1.versions")
    stage.enter(client, 1)  # T3: an older one that is still leased may be used
    stage.enter(client, 2)


@pytest.mark.parametrize("which", ["schema_hash", "sharding_hash"])
def test_another_hash_is_refused_and_the_storages_own_named(
    stage: Stage, client: psycopg.Connection[Any], which: str
) -> None:
    hashes: dict[str, str | None] = {"schema_hash": None, "sharding_hash": None, which: "0123456789abcdef"}
    with pytest.raises(psycopg.Error) as caught:
        postgres.enter(client, STORAGES, stage.table_id, 1, expires_at="infinity", **hashes)
    [(known,)] = stage.sql(f"SELECT {which} FROM storage_1.versions WHERE table_id = %s", [stage.table_id])
    assert caught.value.sqlstate == postgres.HASH_DIFFERS
    assert caught.value.diag.message_detail == f"storage_1 has {known}, the request 0123456789abcdef"


def test_a_table_that_does_not_exist_is_refused(stage: Stage, client: psycopg.Connection[Any]) -> None:
    with pytest.raises(psycopg.Error, match="version 1 of table 999999 is not in this transaction's snapshot"):
        postgres.enter(client, STORAGES, 999_999, 1, expires_at="infinity")


# --- the publisher wins between any two statements of `enter`

LOCK = "SELECT pg_advisory_xact_lock_shared(%(table)s, %(version)s)"
FENCE = "SELECT %(version)s >= pg_sequence_last_value(to_regclass('storage_1.fence_' || %(table)s))"
VISIBLE = "SELECT count(*) = 1 FROM storage_1.versions WHERE table_id = %(table)s AND version = %(version)s"
STEPS = ["SELECT 1", LOCK, FENCE, VISIBLE]


def shuts_out_version_1(stage: Stage, publisher: psycopg.Connection[Any]) -> bool:
    """The publisher's part of L7 for version 3: no transaction of version 1 may be left. Whether it got through."""
    cursor = publisher.cursor()
    if not postgres.try_exclusive(cursor, stage.table_id, 1):
        publisher.rollback()
        return False
    postgres.set_fence(cursor, STORAGES, stage.table_id, 2)
    publisher.commit()
    return True


@pytest.mark.parametrize("split", range(1, len(STEPS) + 1), ids=lambda n: f"after statement {n}")
def test_either_the_publisher_waits_or_the_writer_is_refused(
    stage: Stage, client: psycopg.Connection[Any], publisher: psycopg.Connection[Any], split: int
) -> None:
    stage.publish(stage.now.with_index(BY_NAME), fence=1)
    params = {"table": stage.table_id, "version": 1}
    accepted = True
    for number, step in enumerate(STEPS, 1):
        row = client.execute(step, params).fetchone()
        accepted &= row is not None and row[0] is not False
        if number == split:
            got_through = shuts_out_version_1(stage, publisher)
    assert got_through != accepted, "a transaction of version 1 goes on although its end was proved"


def test_the_steps_above_are_those_of_enter(stage: Stage) -> None:
    [(source,)] = stage.sql("SELECT prosrc FROM pg_proc WHERE oid = 'storage_1.enter'::regproc")
    order = ["pg_advisory_xact_lock_shared", "pg_sequence_last_value", ".versions v", "set_config"]
    places = [source.index(word) for word in order]
    assert places == sorted(places)


def test_enter_waits_for_a_publisher_and_then_sees_its_fence(
    stage: Stage, client: psycopg.Connection[Any], publisher: psycopg.Connection[Any]
) -> None:
    stage.publish(stage.now.with_index(BY_NAME), fence=1)
    assert postgres.try_exclusive(publisher.cursor(), stage.table_id, 1)
    client.execute("SET LOCAL lock_timeout = '50ms'")
    assert refusal(stage, client, 1).sqlstate == "55P03"
    client.rollback()
    postgres.set_fence(publisher.cursor(), STORAGES, stage.table_id, 2)
    publisher.commit()
    assert refusal(stage, client, 1).sqlstate == postgres.BELOW_FENCE


# --- T4, T5


def test_less_than_a_millisecond_is_no_lease(stage: Stage, client: psycopg.Connection[Any]) -> None:
    assert refusal(stage, client, 1, seconds=0.0005).sqlstate == postgres.LEASE_OVER


def test_the_deadline_ends_an_idle_transaction(stage: Stage, client: psycopg.Connection[Any]) -> None:
    stage.enter(client, 1, seconds=0.2)
    with pytest.raises(psycopg.errors.TransactionTimeout) as caught:
        client.execute("SELECT pg_sleep(5)")
    assert caught.value.sqlstate == "25P04"
    assert client.closed


def test_the_deadline_moves_with_a_renewal(stage: Stage, client: psycopg.Connection[Any]) -> None:
    stage.enter(client, 1, seconds=0.2)
    [(later,)] = stage.sql("SELECT clock_timestamp() + interval '1 minute'")
    client.execute(postgres.arm_deadline_sql(), (later,))
    client.execute("SELECT pg_sleep(0.3)")


def test_a_rollback_to_a_savepoint_loses_lock_and_deadline_until_enter_is_called_again(
    stage: Stage, client: psycopg.Connection[Any], publisher: psycopg.Connection[Any]
) -> None:
    client.execute("SELECT 1")
    client.execute("SAVEPOINT s")
    stage.enter(client, 1, seconds=5)
    client.execute("ROLLBACK TO SAVEPOINT s")
    assert client.execute("SHOW transaction_timeout").fetchone() == ("0",)
    assert postgres.try_exclusive(publisher.cursor(), stage.table_id, 1)
    publisher.rollback()
    stage.enter(client, 1, seconds=5)
    assert client.execute("SHOW transaction_timeout").fetchone() != ("0",)
    assert not postgres.try_exclusive(publisher.cursor(), stage.table_id, 1)


def enter_one(stage: Stage, client: psycopg.Connection[Any], seconds: float) -> None:
    """As a transaction does that uses one storage alone."""
    [(expires_at,)] = stage.sql("SELECT clock_timestamp() + make_interval(secs => %s)", [seconds])
    postgres.enter(client, 1, stage.table_id, 1, expires_at=expires_at)


@pytest.mark.parametrize(("before", "after", "is_ended"), [(60, 0.2, True), (0.2, 60, False)])
def test_a_deadline_after_a_rollback_to_a_savepoint_is_the_new_one(
    stage: Stage, client: psycopg.Connection[Any], before: float, after: float, is_ended: bool
) -> None:
    """T4: PostgreSQL leaves the timer running, at the setting 0."""
    client.execute("SAVEPOINT s")
    enter_one(stage, client, before)
    client.execute("ROLLBACK TO SAVEPOINT s")
    enter_one(stage, client, after)
    with pytest.raises(psycopg.errors.TransactionTimeout) if is_ended else nullcontext():
        client.execute("SELECT pg_sleep(0.5)")


def test_a_deadline_is_not_that_of_a_transaction_before_in_the_session(
    stage: Stage, client: psycopg.Connection[Any]
) -> None:
    client.execute("SAVEPOINT s")
    enter_one(stage, client, 0.3)
    client.execute("ROLLBACK TO SAVEPOINT s")
    client.rollback()
    enter_one(stage, client, 60)
    client.execute("SELECT pg_sleep(0.5)")


def test_a_reader_has_no_deadline_of_a_transaction_before_in_the_session(
    stage: Stage, client: psycopg.Connection[Any]
) -> None:
    client.execute("SAVEPOINT s")
    enter_one(stage, client, 0.3)
    client.execute("ROLLBACK TO SAVEPOINT s")
    client.rollback()
    postgres.enter(client, 1, stage.table_id, 1, expires_at="infinity")
    client.execute("SELECT pg_sleep(0.5)")


# --- who holds a version, fences, spare tables


def test_older_versions_in_use_are_found_and_none_is_kept_from_use(
    stage: Stage, publisher: psycopg.Connection[Any]
) -> None:
    cursor, table = publisher.cursor(), stage.table_id
    with stage.connect("schemalab node n1 7") as node:
        stage.enter(node, 1)
        assert postgres.try_exclusive(cursor, table, 2)
        assert postgres.held_before(cursor, table, 4) == (1,), "the caller's own lock is in nobody's way"
        assert postgres.held_before(cursor, table, 1) == ()
        node.rollback()
        assert postgres.held_before(cursor, table, 4) == ()
        node.execute("SET LOCAL lock_timeout = '1s'")
        stage.enter(node, 1)


def test_holders_are_named_and_can_be_ended(stage: Stage, publisher: psycopg.Connection[Any]) -> None:
    with stage.connect("schemalab node n1 7") as node:
        stage.enter(node, 1)
        cursor = publisher.cursor()
        [holder] = postgres.holders(cursor, stage.table_id, 1)
        assert (holder.pid, holder.application_name) == (node.info.backend_pid, "schemalab node n1 7")
        assert postgres.holders(cursor, stage.table_id, 2) == []
        publisher.commit()
        assert postgres.end_sessions(cursor, [holder]) == 1
        assert postgres.holders(cursor, stage.table_id, 1) == []
        with pytest.raises(psycopg.OperationalError):
            node.execute("SELECT 1")


def test_a_session_that_has_gone_on_to_another_transaction_is_not_ended(
    stage: Stage, publisher: psycopg.Connection[Any]
) -> None:
    with stage.connect("schemalab node n1 7") as node:
        stage.enter(node, 1)
        cursor = publisher.cursor()
        seen = postgres.holders(cursor, stage.table_id, 1)
        publisher.commit()
        node.rollback()
        stage.enter(node, 1)
        assert postgres.end_sessions(cursor, seen) == 0
        node.rollback()


def test_a_fence_stands_at_once_and_never_goes_back(stage: Stage, publisher: psycopg.Connection[Any]) -> None:
    cursor = publisher.cursor()
    postgres.set_fence(cursor, STORAGES, stage.table_id, 3)
    with psycopg.connect(stage.dsn) as other:
        assert postgres.fence(other.cursor(), STORAGES, stage.table_id) == 3
    publisher.rollback()
    postgres.set_fence(cursor, STORAGES, stage.table_id, 2)
    assert postgres.fence(cursor, STORAGES, stage.table_id) == 3


def test_spare_tables_are_taken_once_and_made_when_none_is_left(stage: Stage) -> None:
    with psycopg.connect(stage.dsn) as first, psycopg.connect(stage.dsn) as second:
        postgres.make_spare_tables(first.cursor(), 2)
        first.commit()
        assert postgres.make_spare_tables(first.cursor(), 2) == 0
        taken = {postgres.take_spare_table(c.cursor()) for c in (first, second, first, second)}
        assert len(taken) == 4
        for connection in (first, second):
            connection.rollback()


def test_a_long_key_is_refused_before_anything_is_sent(stage: Stage) -> None:
    stage.publish(stage.now.with_index(BY_NAME).with_index_state(BY_NAME.id, BY_NAME.state.PUBLIC))
    too_long = "index by_name has no room for row id = 1: its key would take 3019 bytes, the limit is 2600"
    with pytest.raises(KeyTooLong, match=too_long):
        stage.insert([user(stage.now, 1, "x" * 3000)])


# --- whose names `enter` uses


def test_enter_runs_as_its_owner_with_names_that_no_temporary_object_takes(
    stage: Stage, client: psycopg.Connection[Any]
) -> None:
    client.execute("CREATE TEMPORARY TABLE timestamptz (x int)")
    client.execute("CREATE TEMPORARY TABLE versions (table_id int, version int)")
    client.execute(f"GRANT USAGE ON SCHEMA storage_1, storage_2 TO {READER}")  # rolled back at the end
    client.execute(f"SET LOCAL ROLE {READER}")
    stage.enter(client, 1, seconds=3)
    client.execute("RESET ROLE")
    assert client.execute("SELECT now()::timestamptz IS NOT NULL").fetchone() == (True,)
    with pytest.raises(psycopg.errors.TransactionTimeout):  # the deadline that it armed (T4) outlives its own settings
        client.execute("SELECT pg_sleep(60)")
