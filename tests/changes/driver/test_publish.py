"""Publishing and draining against real PostgreSQL: whoever comes between any two statements, the rules hold."""

import time
from contextlib import suppress
from dataclasses import replace
from itertools import product

import psycopg
import pytest
from psycopg import errors

from catalog.elements import Coordination, TableId
from changes.driver.publish import (
    Blocked,
    UnexpectedVersion,
    accept_only_newest,
    close_last_but_one,
    drain,
    end_holders,
    is_leased_before,
    node_of,
    publish,
)
from changes.plan.model import StepKind
from changes.running_transactions import running
from leases import rules
from leases.selectors import leases_as_of_now
from tests.changes.cluster import STORAGES, Cluster, InterruptedCursor, control_transaction, reserve, versions

pytestmark = pytest.mark.django_db(transaction=True)
STATEMENTS = range(1, 12)
"""More than either function runs: the last ones are "nobody came between"."""


def drain_at(cluster: Cluster, version: int) -> Blocked | None:
    with control_transaction(cluster.admin) as cur:
        return drain(cur, {cluster.table.table_id: version}, storages=STORAGES)


def whom(blocked: Blocked) -> tuple[str, ...]:
    """The nodes in the way, by their leases or their transactions."""
    return tuple(sorted({*blocked.hindrance.nodes, *(node_of(held.session) for held in blocked.held)}))


def test_a_publish_writes_the_version_and_what_every_storage_knows_of_it(cluster):
    (v2,) = versions(cluster.table, 1)
    assert cluster.publish(v2) is None
    assert cluster.version() == 2
    for storage in range(1, STORAGES + 1):
        sql = f"SELECT count(*) FROM storage_{storage}.versions WHERE table_id = %s AND version = 2"
        assert cluster.admin.execute(sql, (v2.table_id,)).fetchone()[0] == 1


def test_l7_a_third_version_waits_for_the_leases_on_the_first(cluster):
    v2, v3 = versions(cluster.table, 2)
    n1 = cluster.node("n1")
    cluster.acquire("n1", n1)
    assert cluster.publish(v2) is None
    blocked = cluster.publish(v3)
    assert whom(blocked) == ("n1",)
    assert 0 < blocked.hindrance.until - time.time() <= 60
    assert cluster.version() == 2
    cluster.release("n1", n1, 1)
    assert cluster.publish(v3) is None
    assert cluster.fence() == 2


def test_l7_a_transaction_that_outlives_its_lease_holds_the_publish_back(cluster):
    v2, v3 = versions(cluster.table, 2)
    transaction = cluster.begin(1)
    cluster.publish(v2)
    blocked = cluster.publish(v3)
    assert (blocked.hindrance.leases, whom(blocked)) == ((), ("n1",))
    transaction.execute("COMMIT")
    assert cluster.publish(v3) is None


def test_t2_after_a_publish_no_transaction_of_the_last_but_one_gets_in(cluster):
    v2, v3 = versions(cluster.table, 2)
    cluster.publish(v2)
    cluster.publish(v3)
    with pytest.raises(psycopg.Error) as caught:
        cluster.begin(1)
    assert caught.value.sqlstate == "SL001"


def test_x2_publishing_again_what_is_published_changes_nothing(cluster):
    (v2,) = versions(cluster.table, 1)
    assert cluster.publish(v2) is None
    assert cluster.publish(v2) is None
    assert cluster.version() == 2


def test_two_publishers_lose_no_edit(cluster):
    (mine,) = versions(cluster.table, 1)
    theirs = mine.without_index(mine.next_index_id - 1)
    cluster.publish(mine)
    other = replace(theirs, version=2)
    with pytest.raises(UnexpectedVersion, match="the table is at version 2"):
        cluster.publish(other)


def test_l7_a_row_that_somebody_looks_at_blocks_without_waiting(cluster):
    (v2,) = versions(cluster.table, 1)
    reader = cluster.connect()
    reader.execute("BEGIN")
    reader.execute("SELECT 1 FROM catalog_table WHERE id = %s FOR SHARE", (cluster.table.table_id,))
    cluster.admin.execute("SET lock_timeout = '1s'")  # an error for who waits
    assert cluster.publish(v2) == Blocked(is_row_locked=True)


@pytest.mark.parametrize("at", STATEMENTS)
def test_l7_whatever_a_node_does_between_two_statements_two_versions_are_never_exceeded(cluster, at):
    """The acquirer gets v2, or waits for the publisher; never a lease on a version that is last but one."""
    v2, v3 = versions(cluster.table, 2)
    n1 = cluster.node("n1")
    cluster.publish(v2)
    rival = cluster.connect(options="-c lock_timeout=50")

    def acquire() -> None:
        with suppress(errors.LockNotAvailable):  # it waits for the publisher, as it should
            rival.execute("SELECT lease_acquire(%s, 'n1', %s, 60)", (v2.table_id, n1))

    with control_transaction(cluster.admin) as plain:
        cur = InterruptedCursor(plain, at, acquire)
        hindrance = publish(cur, [v3], storages=STORAGES)
        assert hindrance is None
        close_last_but_one(cur, [v3], storages=STORAGES)
    assert set(cluster.leased()) <= {2, 3}
    assert cluster.version() == 3


@pytest.mark.parametrize("at", STATEMENTS)
def test_l7_a_transaction_of_the_last_but_one_gets_in_before_the_publish_or_never(cluster, at):
    v2, v3 = versions(cluster.table, 2)
    cluster.publish(v2)
    tried = []

    hindrance = publish_interrupted(cluster, v3, at, lambda: tried.append(cluster.try_begin(1)))
    got_in = [connection for connection in tried if connection]
    if got_in:
        assert hindrance is not None, "a transaction of v1 runs, yet v3 was published"
        got_in[0].execute("COMMIT")
        assert cluster.publish(v3) is None
    assert cluster.version() == 3
    with pytest.raises(psycopg.Error):
        cluster.begin(1)


def publish_interrupted(cluster, new, at, rival):
    with control_transaction(cluster.admin) as plain:
        cur = InterruptedCursor(plain, at, rival)
        hindrance = publish(cur, [new], storages=STORAGES)
        if hindrance is None:
            close_last_but_one(cur, [new], storages=STORAGES)
        return hindrance


@pytest.mark.parametrize("at", STATEMENTS)
def test_two_publishers_at_once_one_wins_and_the_other_knows(cluster, at):
    mine, _ = versions(cluster.table, 2)
    theirs = mine.next_version(name="strangers")
    theirs = replace(theirs, version=2)
    outcomes = []

    def publish_theirs() -> None:
        with control_transaction(rival) as cur:
            outcomes.append(publish(cur, [theirs], storages=STORAGES))

    rival = cluster.connect("rival")
    try:
        mine_out = publish_interrupted(cluster, mine, at, publish_theirs)
    except UnexpectedVersion:
        assert outcomes == [None]
    else:
        assert mine_out is None
        assert outcomes in ([], [Blocked(is_row_locked=True)])
    names = cluster.admin.execute("SELECT body->>'name' FROM catalog_descriptor WHERE version = 2").fetchall()
    assert len(names) == 1


def test_l9_drained_means_no_lease_and_no_transaction_of_any_older_version(cluster):
    (v2,) = versions(cluster.table, 1)
    n1 = cluster.node("n1")
    cluster.acquire("n1", n1)
    transaction = cluster.begin(1)
    cluster.publish(v2)
    assert drain_at(cluster, 2).hindrance.leases[0].version == 1
    cluster.release("n1", n1, 1)
    assert [held.version for held in drain_at(cluster, 2).held] == [1]
    transaction.execute("COMMIT")
    assert drain_at(cluster, 2) is None
    assert cluster.fence() == 2


def test_l9_leases_on_the_version_itself_do_not_matter(cluster):
    (v2,) = versions(cluster.table, 1)
    n1 = cluster.node("n1")
    cluster.publish(v2)
    assert cluster.acquire("n1", n1) == 2
    assert drain_at(cluster, 2) is None


@pytest.mark.parametrize("how", [Coordination.BOTH, Coordination.HASH])
def test_where_only_the_newest_is_accepted_those_in_flight_are_waited_for_all_the_same(cluster, how):
    v2, v3 = (replace(one, coordination=how) for one in versions(cluster.table, 2))
    transaction = cluster.begin(1)
    cluster.publish(v2)
    assert cluster.fence() == 1
    accept_only_newest(cluster.admin.cursor(), [v2], storages=STORAGES)
    assert cluster.fence() == 2
    with pytest.raises(psycopg.Error) as caught:
        cluster.begin(1)
    assert caught.value.sqlstate == "SL001"
    assert [held.version for held in drain_at(cluster, 2).held] == [1], "the fence proves nothing about version 1"
    assert whom(cluster.publish(v3)) == ("n1",)
    transaction.execute("COMMIT")
    assert drain_at(cluster, 2) is None
    assert cluster.publish(v3) is None


def test_a_drain_shuts_the_door_that_a_publisher_left_open(cluster):
    (v2,) = (replace(one, coordination=Coordination.HASH) for one in versions(cluster.table, 1))
    transaction = cluster.begin(1)
    cluster.publish(v2)
    assert cluster.fence() == 1
    assert whom(drain_at(cluster, 2)) == ("n1",)
    assert cluster.fence() == 2, "else nodes that hear nothing come in for ever"
    transaction.execute("COMMIT")
    assert drain_at(cluster, 2) is None


def test_who_runs_without_a_lease_is_named_with_the_end_of_its_time(cluster):
    v2, v3 = (replace(one, coordination=Coordination.HASH) for one in versions(cluster.table, 2))
    cluster.publish(v2)
    assert drain_at(cluster, 2) is None
    cluster.begin(2, "schemalab node n2 7")
    cluster.publish(v3)
    cur = cluster.admin.cursor()
    [held] = running(cur, v3.table_id, 3, StepKind.DRAIN)
    assert (held["node"], held["version"]) == ("n2", 2)
    assert held["until"] is not None
    assert running(cur, v3.table_id, 4, StepKind.PUBLISH) == [held]
    assert running(cur, v3.table_id, 2, StepKind.DRAIN) == []


@pytest.mark.parametrize("at", STATEMENTS)
def test_l9_a_transaction_gets_in_before_the_drain_or_never(cluster, at):
    (v2,) = versions(cluster.table, 1)
    cluster.publish(v2)
    tried = []

    with control_transaction(cluster.admin) as plain:
        cur = InterruptedCursor(plain, at, lambda: tried.append(cluster.try_begin(1)))
        hindrance = drain(cur, {v2.table_id: 2}, storages=STORAGES)
    got_in = any(tried)
    assert (hindrance is not None) == got_in
    assert (cluster.fence() == 2) == (not got_in)


def test_l8_a_session_that_outlives_every_lease_is_ended(cluster):
    (v2,) = versions(cluster.table, 1)
    frozen = cluster.begin(1, "schemalab node n3 4")
    cluster.publish(v2)
    blocked = drain_at(cluster, 2)
    assert whom(blocked) == ("n3",)
    with control_transaction(cluster.admin) as cur:
        ended = end_holders(cur, v2.table_id, blocked.held)
    assert [held.session for held in ended] == ["schemalab node n3 4"]
    with pytest.raises(psycopg.OperationalError):
        frozen.execute("COMMIT")


def test_l9_a_glance_says_what_the_rule_says_of_the_leases_that_are_there(cluster):
    table, ends = cluster.table.table_id, {"over": -1, "live": 60}
    for number, (version, end) in enumerate(product((1, 2, 3), ends)):
        sql = "INSERT INTO leases_lease (table_id, version, node, incarnation, expires_at)"
        values = " VALUES (%s, %s, %s, 1, clock_timestamp() + make_interval(secs => %s))"
        cluster.admin.execute(sql + values, (table, version, f"n{number}", ends[end]))
    cur = cluster.admin.cursor()
    for gone in (None, 1, 2, 3):
        if gone is not None:
            cur.execute("DELETE FROM leases_lease WHERE version = %s AND expires_at > clock_timestamp()", (gone,))
        leases, now = leases_as_of_now(cur, table)
        for version in range(1, 6):
            is_drained = rules.is_drained(leases, table=TableId(table), version=version, now=now)
            assert is_leased_before(cur, table, version) is not is_drained, (gone, version)


def test_l8_a_version_with_a_live_lease_is_left_alone(cluster):
    (v2,) = versions(cluster.table, 1)
    n1 = cluster.node("n1")
    cluster.acquire("n1", n1)
    transaction = cluster.begin(1)
    cluster.publish(v2)
    cluster.release("n1", n1, 1)
    held = drain_at(cluster, 2).held
    cluster.admin.execute(
        "INSERT INTO leases_lease (table_id, version, node, incarnation, expires_at)"
        " VALUES (%s, 1, 'n1', %s, clock_timestamp() + interval '1 min')",
        (v2.table_id, n1),
    )
    with control_transaction(cluster.admin) as cur:
        assert end_holders(cur, v2.table_id, held) == ()
    transaction.execute("COMMIT")


# --- L11: several tables


@pytest.fixture
def two(cluster):
    """Another table beside the cluster's, and the next versions of both: two of the one, two of the other."""
    beside = replace(cluster.table, table_id=reserve(cluster.admin, "cities"), name="cities")
    assert cluster.publish(beside) is None
    return versions(cluster.table, 2), versions(beside, 2)


def both(cluster, two):
    mine, theirs = two
    return cluster.version(mine[0].table_id), cluster.version(theirs[0].table_id)


def test_l11_two_tables_are_published_at_once_and_again_without_a_change(cluster, two):
    (mine, _), (theirs, _) = two
    assert cluster.publish(mine, theirs) is None
    assert both(cluster, two) == (2, 2)
    assert cluster.publish(theirs, mine) is None
    assert both(cluster, two) == (2, 2)


def test_l11_a_lease_on_either_table_holds_both_back(cluster, two):
    (mine, my_next), (theirs, their_next) = two
    n1 = cluster.node("n1")
    cluster.acquire("n1", n1, table_id=theirs.table_id)
    assert cluster.publish(mine, theirs) is None
    blocked = cluster.publish(my_next, their_next)
    assert [(row.node, row.table, row.version) for row in blocked.hindrance.leases] == [("n1", theirs.table_id, 1)]
    assert both(cluster, two) == (2, 2)
    assert cluster.fence(mine.table_id) == 1
    cluster.release("n1", n1, 1, table_id=theirs.table_id)
    assert cluster.publish(my_next, their_next) is None
    assert both(cluster, two) == (3, 3)
    assert cluster.fence(mine.table_id) == cluster.fence(theirs.table_id) == 2


def test_l11_a_row_of_either_table_that_somebody_looks_at_blocks_both(cluster, two):
    (mine, _), (theirs, _) = two
    reader = cluster.connect()
    reader.execute("BEGIN")
    reader.execute("SELECT 1 FROM catalog_table WHERE id = %s FOR SHARE", (theirs.table_id,))
    assert cluster.publish(mine, theirs) == Blocked(is_row_locked=True)
    assert both(cluster, two) == (1, 1)


def test_l11_a_table_that_somebody_else_moved_is_published_with_none(cluster, two):
    (mine, _), (theirs, _) = two
    assert cluster.publish(theirs) is None
    with pytest.raises(UnexpectedVersion, match="cannot publish cities@2: the table is at version 2"):
        cluster.publish(mine, theirs)
    assert both(cluster, two) == (1, 2)


@pytest.mark.parametrize("at", range(1, 24))
def test_l11_a_publisher_that_dies_between_any_two_statements_leaves_both_tables_as_they_were(cluster, two, at):
    (mine, my_next), (theirs, their_next) = two
    cluster.publish(mine, theirs)

    def dies() -> None:
        raise ConnectionError

    died = False
    try:
        with control_transaction(cluster.admin) as plain:
            cur = InterruptedCursor(plain, at, dies)
            assert publish(cur, [my_next, their_next], storages=STORAGES) is None
            close_last_but_one(cur, [my_next, their_next], storages=STORAGES)
    except ConnectionError:
        died = True
    assert both(cluster, two) == ((2, 2) if died else (3, 3))
    assert cluster.publish(my_next, their_next) is None
    assert both(cluster, two) == (3, 3)


@pytest.mark.parametrize("at", range(1, 24))
def test_l11_a_transaction_on_the_second_table_gets_in_before_the_publish_or_never(cluster, two, at):
    (mine, my_next), (theirs, their_next) = two
    cluster.publish(mine, theirs)
    tried = []
    with control_transaction(cluster.admin) as plain:
        cur = InterruptedCursor(plain, at, lambda: tried.append(cluster.try_begin(1, table_id=theirs.table_id)))
        hindrance = publish(cur, [my_next, their_next], storages=STORAGES)
        if hindrance is None:
            close_last_but_one(cur, [my_next, their_next], storages=STORAGES)
    assert both(cluster, two) == ((2, 2) if any(tried) else (3, 3)), hindrance
    if any(tried):
        assert [held.table_id for held in hindrance.held] == [theirs.table_id]


def test_l11_all_tables_are_drained_or_none(cluster, two):
    (mine, _), (theirs, _) = two
    n1 = cluster.node("n1")
    cluster.acquire("n1", n1, table_id=theirs.table_id)
    transaction = cluster.begin_on(mine.table_id, 1, "schemalab node n2 1")
    cluster.publish(mine, theirs)
    versions_now = {mine.table_id: 2, theirs.table_id: 2}

    def drained() -> Blocked | None:
        with control_transaction(cluster.admin) as cur:
            return drain(cur, versions_now, storages=STORAGES)

    blocked = drained()
    assert ([row.table for row in blocked.hindrance.leases], [one.table_id for one in blocked.held]) == (
        [theirs.table_id],
        [mine.table_id],
    )
    assert (len(blocked.outlived(mine.table_id)), blocked.outlived(theirs.table_id)) == (1, ())
    transaction.execute("COMMIT")
    assert whom(drained()) == ("n1",)
    assert cluster.fence(mine.table_id) == 1
    cluster.release("n1", n1, 1, table_id=theirs.table_id)
    assert drained() is None
    assert cluster.fence(mine.table_id) == cluster.fence(theirs.table_id) == 2
