"""Many users share one reference of the machine, and it goes back when the machine is to know (L4)."""

from dataclasses import replace
from math import inf

import pytest

from catalog.elements import NodeId, TableId
from leases.node.holdings import Holding, NodeLeases, Phase, TableLeases
from leases.node.uses import Pin, Schema, Uses
from tests.leases.rows import USERS, users

T = TableId(USERS)
SCHEMA = Schema(users(), "schema", "sharding")


def held(version: int, *, stop_at: float = 9.5) -> Holding:
    return Holding(
        name="users", version=version, expires_at=1000.25, renew_at=5.0, stop_at=stop_at, deadline=stop_at + 0.5
    )


def machine_holds(*versions: Holding, phase: Phase = Phase.SERVING) -> NodeLeases:
    return NodeLeases(NodeId("n1"), 1, phase, ((T, TableLeases(held=versions)),))


@pytest.fixture
def uses() -> Uses:
    return Uses()


@pytest.fixture
def first(uses: Uses) -> Pin:
    return uses.begin(1, T, held(1), SCHEMA, now=0.0)


def test_who_comes_later_joins(uses: Uses, first: Pin) -> None:
    joined = uses.join(T, now=9.0)
    assert joined is not None
    assert joined is not first
    assert joined.use is first.use


def test_nobody_joins_an_unknown_table_or_a_lease_about_to_end(uses: Uses, first: Pin) -> None:
    assert uses.join(TableId(8), now=0.0) is None
    assert uses.join(T, now=9.5) is None


def test_the_newest_version_keeps_its_reference_until_the_machine_is_to_hear(uses: Uses, first: Pin) -> None:
    assert uses.leave(first) is None
    assert uses.join(T, now=1.0) is not None
    assert uses.take_idle() == []


def test_an_idle_use_is_given_back_once(uses: Uses, first: Pin) -> None:
    uses.leave(first)
    assert [use.request for use in uses.take_idle()] == [1]
    assert uses.take_idle() == []
    assert uses.join(T, now=1.0) is None


def test_an_older_version_goes_with_its_last_user(uses: Uses, first: Pin) -> None:
    second = uses.join(T, now=1.0)
    assert second is not None
    uses.learn(machine_holds(held(1), held(2)))
    assert uses.join(T, now=1.0) is None
    assert uses.leave(first) is None
    assert uses.leave(second) == 1
    assert uses.leave(second) is None


def test_a_draining_node_keeps_no_idle_reference(uses: Uses, first: Pin) -> None:
    uses.learn(machine_holds(held(1), phase=Phase.DRAINING))
    assert uses.join(T, now=1.0) is None
    assert uses.leave(first) == 1


def test_a_renewal_moves_the_times_on(uses: Uses, first: Pin) -> None:
    uses.learn(machine_holds(held(1, stop_at=19.5)))
    joined = uses.join(T, now=15.0)
    assert joined is not None
    assert (first.deadline, joined.deadline) == (10.0, 20.0)
    assert first.expires_at_now.microsecond == 250_000


def test_all_who_use_an_ended_reference_are_named(uses: Uses, first: Pin) -> None:
    second = uses.join(T, now=1.0)
    assert set(uses.end([1, 99])) == {first, second}
    assert uses.join(T, now=1.0) is None
    assert uses.leave(first) is None


def test_without_a_lease_each_transaction_has_a_span_of_its_own_that_nothing_extends(uses: Uses) -> None:
    version = replace(held(1, stop_at=inf), expires_at=1000.0, deadline=40.0, asked_at=10.0, is_leased=False)
    early = uses.begin(1, T, version, SCHEMA, now=12.0)
    late = uses.join(T, now=500.0)
    assert late is not None
    assert [(pin.expires_at.timestamp(), pin.deadline) for pin in (early, late)] == [(1002.0, 42.0), (1490.0, 530.0)]
    uses.learn(machine_holds(replace(version, expires_at=2000.0, deadline=1040.0, asked_at=1010.0)))
    assert [pin.expires_at_now.timestamp() for pin in (early, late)] == [1002.0, 1490.0]
    assert not early.is_leased
