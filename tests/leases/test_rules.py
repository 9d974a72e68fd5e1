"""The two-version rules of leases (L1, L2, L5, L7, L9, L10, L13)."""

import pytest

from catalog.elements import NodeId, State, TableId
from leases import rules
from leases.rules import Lease, NotLeasable, Refusal

USERS, TOWNS = TableId(7), TableId(8)


def lease(version: int, expires_at: float, node: str = "n1", table: TableId = USERS) -> Lease:
    return Lease(table, version, NodeId(node), 1, expires_at)


@pytest.mark.parametrize(("version", "expires_at", "blocks"), [
    pytest.param(4, 60.0, False, id="the newest version may be leased"),
    pytest.param(3, 60.0, False, id="the version before it may stay leased"),
    pytest.param(2, 60.0, True, id="a third version must wait"),
    pytest.param(1, 60.0, True, id="a fourth all the more"),
    pytest.param(2, 10.0, False, id="a lease that ends this moment blocks nobody"),
    pytest.param(2, 9.0, False, id="an expired lease blocks nobody"),
])  # fmt: skip
def test_who_blocks_version_4(version: int, expires_at: float, blocks: bool) -> None:
    held = lease(version, expires_at)
    found = rules.blockers([held], table=USERS, next_version=4, now=10.0)
    assert found == ([held] if blocks else [])
    assert (rules.publish_hindrance([held], table=USERS, next_version=4, now=10.0) is not None) is blocks


def test_leases_of_other_tables_block_nobody() -> None:
    assert rules.publish_hindrance([lease(1, 60.0, table=TOWNS)], table=USERS, next_version=4, now=0.0) is None


def test_the_wait_ends_with_the_last_blocker_at_the_latest() -> None:
    leases = [lease(2, 40.0, "n1"), lease(1, 50.0, "n2"), lease(3, 90.0, "n3")]
    hindrance = rules.publish_hindrance(leases, table=USERS, next_version=4, now=0.0)
    assert hindrance is not None
    assert (hindrance.until, hindrance.nodes) == (50.0, ("n1", "n2"))


@pytest.mark.parametrize(("locked", "hinders"), [
    pytest.param({2}, True, id="a running transaction of the version that ends now holds the publish back"),
    pytest.param({3}, False, id="one of the version before the next does not"),
    pytest.param(set(), False, id="no lock, no hindrance"),
])  # fmt: skip
def test_locks_hold_back_a_publish_without_any_lease(locked: set[int], hinders: bool) -> None:
    hindrance = rules.publish_hindrance([], table=USERS, next_version=4, now=0.0, locked=locked)
    assert (hindrance is not None) is hinders
    if hindrance:
        assert hindrance.until is None


def test_drained_means_that_no_older_version_is_leased_or_locked() -> None:
    assert rules.is_drained([lease(4, 60.0)], table=USERS, version=4, now=0.0)
    assert not rules.is_drained([lease(3, 60.0)], table=USERS, version=4, now=0.0)
    assert not rules.is_drained([lease(4, 60.0)], table=USERS, version=4, now=0.0, locked={1})
    assert rules.is_drained([lease(3, 60.0)], table=USERS, version=4, now=60.0)


def test_a_lease_on_a_third_version_breaks_the_invariant() -> None:
    third = lease(2, 60.0)
    leases = [third, lease(3, 60.0), lease(4, 60.0)]
    assert rules.outside_two_versions(leases, table=USERS, newest=4, now=0.0) == [third]
    assert rules.versions_in_use(leases, table=USERS, now=0.0) == (2, 3, 4)


@pytest.mark.parametrize(("state", "internal", "refusal"), [
    pytest.param(State.PUBLIC, False, None, id="a public table is for everybody"),
    pytest.param(State.DELETE_ONLY, True, None, id="a delete-only table is for deletes of ours"),
    pytest.param(State.DELETE_ONLY, False, "users is delete-only", id="a delete-only table is not for users"),
    pytest.param(State.ABSENT, True, "users is absent", id="an absent table is for nobody"),
])  # fmt: skip
def test_which_tables_may_be_leased(state: State, internal: bool, refusal: str | None) -> None:
    assert rules.may_acquire(state, internal=internal) is (refusal is None)
    if refusal is None:
        rules.check_leasable("users", state, internal=internal)
    else:
        with pytest.raises(NotLeasable, match=refusal):
            rules.check_leasable("users", state, internal=internal)


def test_a_node_counts_its_lease_from_before_it_asked() -> None:
    deadline = rules.local_deadline(asked_at=100.0, remaining_s=30.0)
    assert deadline == 130.0
    assert rules.renew_at(asked_at=100.0, deadline=deadline) == 115.0
    assert rules.stop_at(asked_at=100.0, deadline=deadline) == 129.0
    assert rules.stop_at(asked_at=0.0, deadline=2.0) == pytest.approx(1.9)


def test_whoever_hinders_one_of_several_tables_hinders_all() -> None:
    one = rules.Hindrance((lease(1, 50.0, "n2"),), (2, 1))
    other = rules.Hindrance((lease(3, 90.0, "n1", TOWNS),), (1,))
    together = rules.all_hindrances([one, None, other])
    assert together is not None
    assert (together.nodes, together.locked, together.until) == (("n1", "n2"), (1, 2), 90.0)
    assert rules.all_hindrances([None, None]) is None


@pytest.mark.parametrize(("version", "fence", "newest_visible", "refusal"), [
    pytest.param(3, 3, 3, None, id="the newest version may be used"),
    pytest.param(2, 2, 3, None, id="an older one that the fence still accepts may be used"),
    pytest.param(2, 3, 3, Refusal.BELOW_FENCE, id="one below the fence may not"),
    pytest.param(3, 2, 2, Refusal.NOT_VISIBLE, id="one newer than the snapshot may not"),
    pytest.param(1, 2, 0, Refusal.BELOW_FENCE, id="the fence is asked before the snapshot"),
    pytest.param(1, None, 1, Refusal.NOT_VISIBLE, id="a table without a fence has been dropped"),
])  # fmt: skip
def test_which_version_a_transaction_may_use(
    version: int, fence: int | None, newest_visible: int, refusal: Refusal | None
) -> None:
    assert rules.why_not_enter(version, fence=fence, newest_visible=newest_visible) is refusal


def test_another_schema_and_a_lease_that_is_over_let_nothing_begin() -> None:
    refused = rules.why_not_enter(1, fence=1, newest_visible=1, is_same_schema=False, left_s=0.0)
    assert refused is Refusal.OTHER_SCHEMA
    assert rules.why_not_enter(1, fence=1, newest_visible=1, left_s=0.0009) is Refusal.LEASE_OVER
    assert rules.why_not_enter(1, fence=1, newest_visible=1, left_s=0.001) is None
