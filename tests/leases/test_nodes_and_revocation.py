"""What ends with a node or a lease (L8, L10): its database sessions first, then its leases; nobody else's."""

import psycopg
import pytest

from tests.leases.rows import USERS, Connection, acquire, leased, only, register, using

ENDED = psycopg.errors.AdminShutdown


def test_revoking_ends_the_sessions_that_use_the_version_and_deletes_the_lease(
    database: Connection, dsn: str, node: None
) -> None:
    with using(dsn) as session:
        assert database.execute("SELECT * FROM lease_revoke(%s, 'n1')", [USERS]).fetchall() == [(1, 1)]
        with pytest.raises(ENDED):
            session.execute("COMMIT")
    assert leased(database) == []


def test_when_revoking_returns_the_sessions_hold_nothing_any_more(database: Connection, dsn: str, node: None) -> None:
    with using(dsn):
        assert not only(database, "SELECT pg_try_advisory_lock(%s, 1)", USERS)
        database.execute("SELECT lease_revoke(%s, 'n1')", [USERS])
        assert only(database, "SELECT pg_try_advisory_lock(%s, 1)", USERS)


def test_revoking_leaves_other_nodes_and_other_versions_alone(database: Connection, dsn: str, node: None) -> None:
    register(database, "n10")
    acquire(database, "n10")
    with using(dsn, node="n10") as other_node, using(dsn, version=2) as other_version:
        assert database.execute("SELECT * FROM lease_revoke(%s, 'n1', 1)", [USERS]).fetchall() == [(1, 0)]
        other_node.execute("COMMIT")
        other_version.execute("COMMIT")
    assert leased(database) == [(USERS, 1, "n10", 1)]


def test_a_new_incarnation_ends_the_former_ones_sessions_and_leases(database: Connection, dsn: str, node: None) -> None:
    register(database, "n10")
    acquire(database, "n10")
    with using(dsn) as former, using(dsn, node="n10") as other:
        registration = database.execute("SELECT * FROM node_register('n1', '127.0.0.1', 5433, 2)").fetchone()
        assert registration == (2, 1, 1)
        with pytest.raises(ENDED):
            former.execute("COMMIT")
        other.execute("COMMIT")
    assert leased(database) == [(USERS, 1, "n10", 1)]


def test_a_former_incarnation_hears_from_its_heartbeat_that_it_is_one(database: Connection, node: None) -> None:
    assert only(database, "SELECT node_heartbeat('n1', 1)") == "up"
    database.execute("SELECT node_drain('n1', true)")
    assert only(database, "SELECT node_heartbeat('n1', 1)") == "draining"
    register(database)
    assert only(database, "SELECT node_heartbeat('n1', 1)") is None
    assert only(database, "SELECT node_heartbeat('n1', 2)") == "up"


def test_a_node_that_leaves_keeps_nothing(database: Connection, node: None) -> None:
    assert only(database, "SELECT node_leave('n1', 1)") is True
    assert leased(database) == []
    assert database.execute("SELECT state, heartbeat_at FROM leases_node").fetchall() == [("down", None)]
    with pytest.raises(psycopg.DatabaseError, match="it gets no new lease"):
        acquire(database)


def test_a_superseded_incarnation_cannot_leave_for_its_successor(database: Connection, node: None) -> None:
    register(database)
    acquire(database, incarnation=2)
    assert only(database, "SELECT node_leave('n1', 1)") is False
    assert leased(database) == [(USERS, 1, "n1", 2)]


@pytest.mark.parametrize("name", ["N1", "1n", "n 1", "", "n" * 25, "n%"])
def test_a_name_that_would_not_stand_in_a_session_name_is_refused(database: Connection, name: str) -> None:
    with pytest.raises(psycopg.errors.CheckViolation, match="leases_node_name_fits_session_name"):
        register(database, name)
