"""Acquire, renew and release (L3, L4, L5, L13) on PostgreSQL, one session at a time."""

import re
from dataclasses import replace

import psycopg
import pytest

from catalog.descriptor import from_json
from catalog.elements import Coordination, State
from catalog.live import relay
from changes.driver import driver
from tests.leases.rows import (
    USERS,
    Connection,
    acquire,
    expire,
    leased,
    make_table,
    only,
    publish,
    register,
    renew,
    users,
)


@pytest.fixture
def node(database: Connection) -> None:
    make_table(database)
    register(database)


def test_a_lease_comes_with_the_descriptor_and_its_hashes(database: Connection, node: None) -> None:
    version, body, schema_hash, sharding_hash, expires_at, remaining_s = acquire(database)
    assert from_json(body) == users()
    assert (version, len(schema_hash), len(sharding_hash)) == (1, 16, 16)
    assert leased(database) == [(USERS, 1, "n1", 1)]
    assert only(database, "SELECT expires_at FROM leases_lease") == expires_at
    assert 0.94 * 30 < remaining_s <= 30


def test_without_leases_the_newest_version_is_answered_and_nothing_is_kept(database: Connection, node: None) -> None:
    acquire(database)
    publish(database, replace(users(2), coordination=Coordination.HASH))
    version, body, _, _, expires_at, remaining_s = acquire(database)
    assert (version, from_json(body).coordination) == (2, Coordination.HASH)
    assert 0.94 * 30 < remaining_s <= 30
    assert leased(database) == [(USERS, 1, "n1", 1)]  # of the version before: it runs to its end
    assert renew(database) == [(USERS, 2, "lost")]
    assert acquire(database)[4] != expires_at  # counted anew each time, with a jitter of its own


def test_the_jitter_shortens_a_lease_by_5_percent_at_most(database: Connection, node: None) -> None:
    spans = database.execute(
        "SELECT extract(epoch FROM lease_expiration(100) - clock_timestamp())::float8 FROM generate_series(1, 200)"
    ).fetchall()
    assert all(94.9 < span <= 100 for (span,) in spans)
    assert max(spans)[0] - min(spans)[0] > 2.5


def test_acquiring_what_is_held_never_shortens_it(database: Connection, node: None) -> None:
    expires_at = acquire(database, lease_s=30)[4]
    assert acquire(database, lease_s=1)[4] == expires_at
    assert acquire(database, lease_s=60)[4] > expires_at
    assert leased(database) == [(USERS, 1, "n1", 1)]


def test_an_acquisition_after_expiry_is_a_new_lease(database: Connection, node: None) -> None:
    acquire(database)
    first = only(database, "SELECT id FROM leases_lease")
    expire(database)
    assert acquire(database)[5] > 28
    assert only(database, "SELECT id FROM leases_lease") != first


def test_acquire_and_release_wake_who_waits_for_the_table(database: Connection, node: None) -> None:
    database.execute("LISTEN schemalab_lease")
    acquire(database)
    assert only(database, "SELECT lease_release(%s, 1, 'n1', 1)", USERS)
    heard = list(database.notifies(timeout=1, stop_after=2))
    assert [(notify.channel, notify.payload) for notify in heard] == [("schemalab_lease", str(USERS))] * 2


def test_what_a_node_acquires_or_releases_is_committed_before_it_is_notified(database: Connection, node: None) -> None:
    """In a transaction of its own, which is not flushed: else each node would wait for the flushes of all others."""
    database.execute("LISTEN schemalab_lease")
    calls = {
        "CALL node_acquire(%s, 'n1', 1, 30, NULL, NULL, NULL, NULL, NULL, NULL)": 1,
        "CALL node_release(%s, 1, 'n1', 1, NULL)": True,
    }
    for call, answer in calls.items():
        before = int(only(database, "SELECT pg_current_xact_id()::text"))
        assert only(database, call, USERS) == answer
        assert int(only(database, "SELECT pg_snapshot_xmax(pg_current_snapshot())::text")) - before > 2
        assert [notify.payload for notify in database.notifies(timeout=1, stop_after=1)] == [str(USERS)]
    assert not only(database, "CALL node_release(%s, 1, 'n1', 1, NULL)", USERS)
    assert list(database.notifies(timeout=0)) == []


def test_what_server_functions_notify_is_listened_to(database: Connection) -> None:
    """A commit that notifies waits for the flush of all others that do: what nobody hears only costs."""
    sources = database.execute("SELECT prosrc FROM pg_proc WHERE prosrc LIKE '%pg_notify(''%'").fetchall()
    notified = {channel for (source,) in sources for channel in re.findall(r"pg_notify\('(\w+)'", source)}
    assert notified == {"schemalab_lease", "schemalab_story"}
    assert notified <= {*relay.CHANNELS, *driver.CHANNELS}


def test_a_release_takes_only_its_own_row(database: Connection, node: None) -> None:
    register(database, "n2")
    acquire(database)
    acquire(database, "n2")
    assert only(database, "SELECT lease_release(%s, 1, 'n1', 1)", USERS)
    assert not only(database, "SELECT lease_release(%s, 1, 'n1', 1)", USERS)
    assert leased(database) == [(USERS, 1, "n2", 1)]


@pytest.mark.parametrize(("state", "table_state", "refusal"), [
    pytest.param(State.PUBLIC, "live", None, id="a public table may be leased"),
    pytest.param(State.DELETE_ONLY, "live", None, id="a delete-only table may be leased for internal use"),
    pytest.param(State.ABSENT, "live", "table users is absent", id="an absent table may not be leased"),
    pytest.param(State.PUBLIC, "dropped", "table users is dropped", id="a dropped table may not be leased"),
])  # fmt: skip
def test_which_tables_may_be_leased(database: Connection, state: State, table_state: str, refusal: str | None) -> None:
    make_table(database, users(state=state), table_state=table_state)
    register(database)
    assert (acquire(database) is None) == (refusal is not None)
    assert only(database, "SELECT lease_refusal(%s)", USERS) == refusal


def test_why_there_is_no_lease_names_a_table_without_a_version(database: Connection) -> None:
    register(database)
    assert acquire(database) is None
    assert only(database, "SELECT lease_refusal(%s)", USERS) == "there is no table with id 7"
    make_table(database)
    database.execute("DELETE FROM catalog_descriptor")
    assert acquire(database) is None
    assert only(database, "SELECT lease_refusal(%s)", USERS) == "table users is only reserved: it has no version yet"


@pytest.mark.parametrize(("name", "incarnation", "sqlstate"), [
    pytest.param("n9", 1, "SL101", id="an unknown node gets no lease"),
    pytest.param("n1", 2, "SL101", id="an incarnation to come gets no lease"),
    pytest.param("n1", 0, "SL101", id="a former incarnation gets no lease"),
])  # fmt: skip
def test_only_the_current_incarnation_is_granted(
    database: Connection, node: None, name: str, incarnation: int, sqlstate: str
) -> None:
    with pytest.raises(psycopg.DatabaseError, match="it gets no lease") as refused:
        acquire(database, name, incarnation=incarnation)
    assert refused.value.sqlstate == sqlstate
    assert leased(database) == []


def test_a_draining_node_gets_no_new_lease_but_renews_the_ones_it_uses(database: Connection, node: None) -> None:
    acquire(database)
    database.execute("SELECT node_drain('n1', true)")
    with pytest.raises(psycopg.DatabaseError, match="node n1 is draining") as refused:
        acquire(database)
    assert refused.value.sqlstate == "SL102"
    assert renew(database) == [(USERS, 1, "renewed")]
    database.execute("SELECT node_drain('n1', false)")
    assert acquire(database) is not None


def test_the_newest_version_is_renewed(database: Connection, node: None) -> None:
    expires_at = acquire(database, lease_s=10)[4]
    assert renew(database) == [(USERS, 1, "renewed")]
    assert only(database, "SELECT expires_at FROM leases_lease") > expires_at


def test_an_expired_lease_is_never_extended(database: Connection, node: None) -> None:
    acquire(database)
    expire(database)
    assert renew(database) == [(USERS, 1, "lost")]
    assert only(database, "SELECT expires_at < clock_timestamp() FROM leases_lease")


def test_an_older_version_runs_to_its_end_and_the_renewal_reports_the_newer(
    database: Connection, publisher: Connection, node: None
) -> None:
    expires_at = acquire(database)[4]
    publish(publisher, users(2))
    assert renew(database) == [(USERS, 2, "lost")]
    assert only(database, "SELECT expires_at FROM leases_lease WHERE version = 1") == expires_at


def test_a_revoked_lease_is_lost_at_its_next_renewal(database: Connection, node: None) -> None:
    acquire(database)
    database.execute("SELECT lease_revoke(%s, 'n1')", [USERS])
    assert renew(database) == [(USERS, 1, "lost")]


def test_a_table_whose_row_is_locked_is_skipped_and_the_others_are_renewed(
    database: Connection, publisher: Connection, node: None
) -> None:
    make_table(database, users(table_id=8, name="orders"))
    acquire(database)
    acquire(database, table_id=8)
    publisher.execute("BEGIN")
    publisher.execute("SELECT FROM catalog_table WHERE id = %s FOR UPDATE", [USERS])
    assert renew(database, tables=(USERS, 8)) == [(USERS, 1, "skipped"), (8, 1, "renewed")]
    publisher.execute("ROLLBACK")
    assert renew(database, tables=(USERS, 8)) == [(USERS, 1, "renewed"), (8, 1, "renewed")]


def test_only_leases_that_are_over_are_swept(database: Connection, publisher: Connection, node: None) -> None:
    acquire(database)
    publish(publisher, users(2))
    acquire(database)
    expire(database, version=1)
    swept = database.execute("SELECT table_id, version, node, incarnation FROM lease_sweep()").fetchall()
    assert swept == [(USERS, 1, "n1", 1)]
    assert leased(database) == [(USERS, 2, "n1", 1)]


@pytest.mark.parametrize("isolation", ["REPEATABLE READ", "SERIALIZABLE"])
def test_above_read_committed_a_lease_function_refuses(database: Connection, node: None, isolation: str) -> None:
    database.execute(f"BEGIN ISOLATION LEVEL {isolation}")
    with pytest.raises(psycopg.DatabaseError, match="lease functions need read committed"):
        acquire(database)
    database.execute("ROLLBACK")


def test_no_lease_function_writes_a_counter_row(database: Connection, node: None) -> None:
    acquire(database)
    renew(database)
    database.execute("SELECT lease_release(%s, 1, 'n1', 1)", [USERS])
    assert only(database, "SELECT count(*) FROM catalog_stream") == 0
