"""What operators and the clock do to leases and nodes, how it is told, and what the selectors then say."""

import json
from typing import Any

import pytest

from catalog.elements import State, TableId
from catalog.selectors import events_since
from leases import rules, selectors, services, tasks
from leases.models import Lease, Node
from tests.leases.rows import USERS, Connection, acquire, expire, leased, publish, users, using


def told(stream: str = "cluster") -> list[str]:
    return [event["sentence"] for event in events_since(stream, 0)]


def silence(database: Connection, node: str = "n1") -> None:
    """Its last heartbeat was 4 s ago."""
    database.execute("UPDATE leases_node SET heartbeat_at = clock_timestamp() - interval '4 s' WHERE name = %s", [node])


def test_registering_a_node_is_reported(database: Connection, dsn: str) -> None:
    assert services.register_node("n1", host="127.0.0.1", port=5433, pid=1) == services.Registration(1, 0, 0)
    assert services.register_node("n1", host="127.0.0.1", port=5433, pid=2) == services.Registration(2, 0, 0)
    assert told() == ["Node n1 joined (incarnation 1).", "Node n1 joined (incarnation 2)."]


def test_leaving_is_reported_once_and_only_by_the_current_incarnation(database: Connection, node: None) -> None:
    assert services.leave_node("n1", incarnation=1)
    assert not services.leave_node("n1", incarnation=7)
    assert told() == ["Node n1 left."]
    assert leased(database) == []


def test_releasing_a_lease_that_nobody_uses(database: Connection, node: None) -> None:
    services.release_lease(Lease.objects.get().id, who="ada")
    assert leased(database) == []
    assert told() == told("table:7") == ["ada released the lease of n1 on users v1."]


def test_a_lease_in_use_is_not_released(database: Connection, dsn: str, node: None) -> None:
    with (
        using(dsn),
        pytest.raises(services.LeaseInUse, match="n1 leases users v1 and 1 of its transactions run; revoke ends them"),
    ):
        services.release_lease(Lease.objects.get().id, who="ada")
    assert leased(database) == [(USERS, 1, "n1", 1)]
    assert told() == []


def test_a_lease_that_is_gone_cannot_be_released(database: Connection, node: None) -> None:
    with pytest.raises(services.NoSuchLease, match="lease 0 does not exist any more"):
        services.release_lease(0, who="ada")


def test_revoking_is_reported_and_says_how_many_sessions_ended(database: Connection, dsn: str, node: None) -> None:
    with using(dsn):
        assert services.revoke_lease(USERS, "n1", who="ada") == [services.Revocation(1, 1)]
    assert leased(database) == []
    assert told() == told("table:7") == ["ada revoked the lease of n1 on users v1; its sessions there were ended."]


def test_what_is_not_leased_cannot_be_revoked(database: Connection, node: None) -> None:
    with pytest.raises(services.NoSuchLease, match="n2 has no lease on table users"):
        services.revoke_lease(USERS, "n2", who="ada")
    with pytest.raises(services.NoSuchLease, match="n1 has no lease on table users v9"):
        services.revoke_lease(USERS, "n1", version=9, who="ada")
    assert told() == []


def test_draining_and_undraining_change_the_state_and_are_reported(database: Connection, node: None) -> None:
    services.drain_node("n1", who="ada")
    assert Node.objects.get().state == Node.State.DRAINING
    services.undrain_node("n1", who="ada")
    assert Node.objects.get().state == Node.State.UP
    assert told() == ["ada drained node n1: it takes no new leases.", "ada undrained node n1: it takes leases again."]


def test_an_unknown_node_is_named_with_those_that_exist(database: Connection, node: None) -> None:
    with pytest.raises(services.UnknownNode, match="there is no node n9; known: n1"):
        services.drain_node("n9", who="ada")


def test_a_node_that_falls_silent_is_reported_once_with_the_end_of_its_leases(database: Connection, node: None) -> None:
    silence(database)
    tasks.watch_nodes()
    tasks.watch_nodes()
    ends = Lease.objects.get().expires_at.strftime("%H:%M:%S")
    assert told() == [f"Node n1 does not answer; its leases end at the latest {ends}."]
    assert Node.objects.get().state == Node.State.DOWN


def test_a_silent_node_without_leases_holds_nobody_up(database: Connection, node: None) -> None:
    expire(database)
    silence(database)
    services.watch_nodes()
    assert told() == ["Node n1 does not answer; it leases nothing."]


def test_a_node_that_answers_again_is_reported_and_is_as_it_was(database: Connection, node: None) -> None:
    services.drain_node("n1", who="ada")
    silence(database)
    services.watch_nodes()
    database.execute("SELECT node_heartbeat('n1', 1)")
    services.watch_nodes()
    assert told()[-1] == "Node n1 answers again."
    assert Node.objects.get().state == Node.State.DRAINING


def test_a_node_that_left_in_good_order_is_not_missed(database: Connection, node: None) -> None:
    services.leave_node("n1", incarnation=1)
    services.watch_nodes()
    assert told() == ["Node n1 left."]


def test_expired_leases_are_deleted_by_the_clock(database: Connection, node: None) -> None:
    expire(database)
    tasks.expire_leases()
    assert leased(database) == []


def test_the_timetable_names_tasks_that_exist(settings: Any) -> None:
    from schemalab.celery import app

    app.loader.import_default_modules()
    assert {entry["task"] for entry in tasks.BEAT.values()} <= set(app.tasks)


def test_blockers_are_the_live_leases_below_the_predecessor(
    database: Connection, publisher: Connection, dsn: str, node: None
) -> None:
    publish(publisher, users(2))
    blocked = hindrance_of(database, 3)
    assert blocked is not None
    (blocker,) = blocked.leases
    assert (blocker.node, blocker.version) == ("n1", 1)
    assert hindrance_of(database, 2) is None
    with using(dsn):
        sessions = database.execute("SELECT session_name FROM lease_users(%s, 1)", [USERS]).fetchall()
        assert sessions == [("schemalab node n1 1",)]
        blocked = hindrance_of(database, 3, locked=(1,))
        assert blocked is not None
        assert (blocked.nodes, blocked.locked, blocked.until) == (("n1",), (1,), blocker.expires_at)
    expire(database)
    assert hindrance_of(database, 3) is None


def hindrance_of(database: Connection, next_version: int, *, locked: tuple[int, ...] = ()) -> rules.Hindrance | None:
    """Who forbids publishing `next_version`, by the rows there are."""
    leases, now = selectors.leases_as_of_now(database.cursor(), USERS)
    return rules.publish_hindrance(leases, table=TableId(USERS), next_version=next_version, now=now, locked=locked)


def test_leases_on_a_table_say_whether_they_are_on_the_newest_version(
    database: Connection, publisher: Connection, node: None
) -> None:
    publish(publisher, users(2))
    acquire(database)
    shown = [(lease.table, lease.version, lease.newest, lease.node) for lease in selectors.leases_on(USERS)]
    assert shown == [("users", 1, 2, "n1"), ("users", 2, 2, "n1")]
    assert all(28 < lease.remaining_s <= 30 for lease in selectors.leases_on())
    assert selectors.leases_on(8) == []


def test_the_lanes_show_nodes_versions_in_use_and_what_is_on_its_way(
    database: Connection, publisher: Connection, node: None
) -> None:
    publish(publisher, users(2, state=State.DELETE_ONLY))
    lanes = json.loads(json.dumps(selectors.lane_snapshot()))
    (n1,) = lanes["nodes"]
    assert (n1["name"], n1["state"], [lease["version"] for lease in n1["leases"]]) == ("n1", "up", [1])
    assert n1["leases_end_at"] == n1["leases"][0]["expires_at"]
    (table,) = lanes["tables"]
    assert (table["name"], table["newest"], table["in_use"]) == ("users", 2, [1])
    newest, before = table["versions"]
    assert (newest["version"], newest["state"], newest["nodes"], newest["until"]) == (2, "delete-only", [], None)
    assert (before["version"], before["nodes"], before["until"]) == (1, ["n1"], n1["leases_end_at"])
