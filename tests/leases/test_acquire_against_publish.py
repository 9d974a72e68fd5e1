"""A publisher that wins between any two statements of `lease_acquire` (L3, L7).

The acquisition is the real function, in a session of its own. It is held where we want it by locks that its
statements have to wait for, so each interleaving really happens, and happens every time:

    statement of acquire            held by
    1  node's row FOR KEY SHARE     its row, locked FOR UPDATE
    2  table's row FOR SHARE        a publisher that has not committed
    3  read the newest version      catalog_descriptor, locked as a whole
    4  insert the lease             the same row, inserted and not committed
"""

from collections.abc import Callable

import psycopg
import pytest

from tests.leases.rows import (
    USERS,
    Asking,
    Connection,
    acquire,
    begin_publish,
    leased,
    live_leases_below,
    make_table,
    only,
    publish,
    register,
    renew,
    users,
    wait_until_blocked,
)

LOCKED_ROW = psycopg.errors.LockNotAvailable


@pytest.fixture
def node(database: Connection) -> None:
    make_table(database)
    register(database)


@pytest.fixture
def holder(connect: Callable[[], Connection]) -> Connection:
    """Holds the acquisition at a point."""
    return connect()


@pytest.fixture
def asker(connect: Callable[[], Connection]) -> Connection:
    return connect()


def test_a_publish_before_the_table_is_locked_is_what_gets_leased(
    database: Connection, publisher: Connection, holder: Connection, asker: Connection, node: None
) -> None:
    holder.execute("BEGIN")
    holder.execute("SELECT FROM leases_node WHERE name = 'n1' FOR UPDATE")
    acquisition = Asking(asker, acquire)
    wait_until_blocked(database, asker)
    publish(publisher, users(2))
    publish(publisher, users(3))
    holder.execute("ROLLBACK")
    assert acquisition.result()[0] == 3
    assert leased(database) == [(USERS, 3, "n1", 1)]


def test_a_publish_that_commits_while_acquire_waits_for_it_is_what_gets_leased(
    database: Connection, publisher: Connection, asker: Connection, node: None
) -> None:
    begin_publish(publisher, users(2))
    acquisition = Asking(asker, acquire)
    wait_until_blocked(database, asker)
    publisher.execute("COMMIT")
    assert acquisition.result()[0] == 2
    assert leased(database) == [(USERS, 2, "n1", 1)]


def test_a_publish_that_rolls_back_while_acquire_waits_leaves_the_version_before(
    database: Connection, publisher: Connection, asker: Connection, node: None
) -> None:
    begin_publish(publisher, users(2))
    acquisition = Asking(asker, acquire)
    wait_until_blocked(database, asker)
    publisher.execute("ROLLBACK")
    assert acquisition.result()[0] == 1


def test_no_publish_gets_in_between_the_lock_and_the_reading_of_the_newest_version(
    database: Connection, publisher: Connection, holder: Connection, asker: Connection, node: None
) -> None:
    holder.execute("BEGIN")
    holder.execute("LOCK TABLE catalog_descriptor IN ACCESS EXCLUSIVE MODE")
    acquisition = Asking(asker, acquire)
    wait_until_blocked(database, asker)
    with pytest.raises(LOCKED_ROW):
        begin_publish(publisher, users(2))
    publisher.execute("ROLLBACK")
    holder.execute("ROLLBACK")
    assert acquisition.result()[0] == 1
    publish(publisher, users(2))


def test_no_publish_gets_in_between_the_reading_and_the_insert_and_the_next_sees_the_lease(
    database: Connection, publisher: Connection, holder: Connection, asker: Connection, node: None
) -> None:
    holder.execute("BEGIN")
    holder.execute(
        "INSERT INTO leases_lease (table_id, version, node, incarnation, expires_at)"
        " VALUES (%s, 1, 'n1', 1, clock_timestamp() + interval '1 h')",
        [USERS],
    )
    acquisition = Asking(asker, acquire)
    wait_until_blocked(database, asker)
    with pytest.raises(LOCKED_ROW):
        begin_publish(publisher, users(2))
    publisher.execute("ROLLBACK")
    holder.execute("ROLLBACK")
    assert acquisition.result()[0] == 1
    publish(publisher, users(2))
    begin_publish(publisher, users(3))
    assert live_leases_below(publisher, 2) == 1  # L7: it must wait for the lease on 1
    publisher.execute("ROLLBACK")


def test_an_acquisition_that_reads_in_the_statement_that_locks_would_lease_what_is_superseded(
    database: Connection, publisher: Connection, asker: Connection, node: None
) -> None:
    """Why L3 says "in a next statement": the interleaving above does break the careless one."""
    careless = (
        "SELECT (SELECT max(version) FROM catalog_descriptor d WHERE d.table_id = t.id)"
        " FROM catalog_table t WHERE t.id = %s FOR SHARE"
    )
    begin_publish(publisher, users(2))
    reading = Asking(asker, lambda session: only(session, careless, USERS))
    wait_until_blocked(database, asker)
    publisher.execute("COMMIT")
    assert reading.result() == 1


def test_a_publish_between_the_lock_and_the_update_of_a_renewal_is_refused(
    database: Connection, publisher: Connection, holder: Connection, asker: Connection, node: None
) -> None:
    acquire(database)
    holder.execute("BEGIN")
    holder.execute("SELECT FROM leases_lease FOR UPDATE")
    renewal = Asking(asker, renew)
    wait_until_blocked(database, asker)
    with pytest.raises(LOCKED_ROW):
        begin_publish(publisher, users(2))
    publisher.execute("ROLLBACK")
    holder.execute("ROLLBACK")
    assert renewal.result() == [(USERS, 1, "renewed")]


def test_a_renewal_that_waits_for_a_revocation_finds_its_lease_lost(
    database: Connection, holder: Connection, asker: Connection, node: None
) -> None:
    acquire(database)
    holder.execute("BEGIN")
    holder.execute("SELECT lease_revoke(%s, 'n1')", [USERS])
    renewal = Asking(asker, renew)
    wait_until_blocked(database, asker)
    holder.execute("COMMIT")
    assert renewal.result() == [(USERS, 1, "lost")]
    assert leased(database) == []


def test_an_acquisition_of_a_former_incarnation_that_waits_for_its_successor_is_refused(
    database: Connection, holder: Connection, asker: Connection, node: None
) -> None:
    """L10: whoever got past the check commits before the new incarnation deletes its leases, or is refused."""
    holder.execute("BEGIN")
    register(holder)
    acquisition = Asking(asker, acquire)
    wait_until_blocked(database, asker)
    holder.execute("COMMIT")
    with pytest.raises(psycopg.DatabaseError, match="incarnation 1 of node n1 is not the current one"):
        acquisition.result()
    assert leased(database) == []


def test_a_drain_waits_for_the_acquisition_that_is_half_way(
    database: Connection, publisher: Connection, asker: Connection, holder: Connection, node: None
) -> None:
    begin_publish(publisher, users(2))
    acquisition = Asking(asker, acquire)
    wait_until_blocked(database, asker)
    draining = Asking(holder, lambda session: only(session, "SELECT node_drain('n1', true)"))
    wait_until_blocked(database, holder)
    publisher.execute("COMMIT")
    assert acquisition.result()[0] == 2
    assert draining.result() is True


def test_two_versions_hold_whatever_the_timing(connect: Callable[[], Connection], node: None) -> None:
    """L2, with nodes and a publisher at full speed: always at most the two newest; sometimes a publish had to wait."""
    nodes = [f"n{i}" for i in range(1, 4)]
    looker = connect()
    for name in nodes[1:]:
        register(looker, name)
    threads = [Asking(connect(), lambda session, name=name: take_and_give_back(session, name)) for name in nodes]
    published, waited = publish_until_done(connect(), threads)
    for thread in threads:
        thread.result()
    assert published > 5
    assert waited > 0


def take_and_give_back(session: Connection, name: str) -> None:
    """Hold a version while the next one is published, as a node that moves on does."""
    held: list[int] = []
    for _ in range(150):
        held.append(acquire(session, name)[0])
        renew(session, name)
        for version in [version for version in held[:-3] if version != held[-1]]:
            session.execute("SELECT lease_release(%s, %s, %s, 1)", [USERS, version, name])
        held = held[-3:]


def publish_until_done(publisher: Connection, threads: list[Asking]) -> tuple[int, int]:
    newest, waited = 1, 0
    while any(thread.is_alive() for thread in threads):
        try:
            begin_publish(publisher, users(newest + 1))
        except LOCKED_ROW:
            publisher.execute("ROLLBACK")
            waited += 1
            continue
        if live_leases_below(publisher, newest):
            publisher.execute("ROLLBACK")
            waited += 1
            continue
        publisher.execute("COMMIT")
        newest += 1
        assert live_leases_below(publisher, newest - 1) == 0
    return newest - 1, waited
