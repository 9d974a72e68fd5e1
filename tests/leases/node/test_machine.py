"""One node's lease machine, event by event (L1, L3, L4, L5, L6, L10)."""

import random
from collections.abc import Iterable
from math import inf

import pytest

from catalog.elements import NodeId, TableId
from leases.gossip import News
from leases.node import upkeep
from leases.node.holdings import RETRY_S, TRIES_MAX, NodeLeases, Phase
from leases.node.machine import SKIPPED_AGAIN_S, IllegalTransition, step
from leases.node.vocabulary import (
    Acquire,
    Acquired,
    AcquireFailed,
    Drain,
    DrainDone,
    Effect,
    EndTransactions,
    Event,
    Exit,
    Grant,
    Pin,
    Recheck,
    Refuse,
    Release,
    Released,
    ReleaseFailed,
    Renew,
    Renewal,
    Renewed,
    RenewFailed,
    RenewOutcome,
    Revoked,
    Tick,
    Undrain,
    Unpin,
    WakeAt,
    Why,
)

USERS = TableId(7)
LEASE_S = 100.0


class Node:
    """A machine, what it said last, and a clock."""

    def __init__(self) -> None:
        self.state = NodeLeases(NodeId("n1"))
        self.now = 0.0
        self.said: list[Effect] = []

    def hears(self, event: Event, at: float | None = None) -> list[Effect]:
        self.now = self.now if at is None else at
        self.state, effects = step(self.state, event, self.now)
        self.said = [effect for effect in effects if not isinstance(effect, WakeAt)]
        return self.said

    def granted(self, version: int, at: float | None = None) -> list[Effect]:
        return self.hears(Acquired(USERS, version, 1000.0 + self.now + LEASE_S, LEASE_S, "users"), at)

    def loaded(self, version: int) -> list[Effect]:
        return self.hears(Acquired(USERS, version, 1000.0 + self.now + LEASE_S, LEASE_S, "users", is_leased=False))

    def renewed(self, outcome: Renewal, version: int = 1) -> list[Effect]:
        return self.hears(Renewed((RenewOutcome(USERS, version, outcome, 1200.0, LEASE_S),)))

    def held(self) -> dict[int, int]:
        return {held.version: held.references for held in self.state.table(USERS).held}


@pytest.fixture
def node() -> Node:
    return Node()


@pytest.fixture
def user(node: Node) -> Node:
    """A node with version 1 leased and one transaction "a" that uses it."""
    node.hears(Pin("a", USERS))
    node.granted(1)
    return node


def of(kind: type[Effect], effects: Iterable[Effect]) -> list[Effect]:
    return [effect for effect in effects if isinstance(effect, kind)]


def test_the_first_caller_makes_the_node_acquire_and_the_others_join(node: Node) -> None:
    assert node.hears(Pin("a", USERS)) == [Acquire(USERS)]
    assert node.hears(Pin("b", USERS)) == []
    assert node.granted(1) == [Grant("a", USERS, 1), Grant("b", USERS, 1)]


def test_a_held_version_is_granted_at_once(user: Node) -> None:
    assert user.hears(Pin("b", USERS)) == [Grant("b", USERS, 1)]


def test_the_newest_version_is_kept_at_zero_references(user: Node) -> None:
    assert user.hears(Unpin("a", USERS)) == []
    assert user.held() == {1: 0}


def test_a_fresh_caller_is_not_satisfied_by_what_is_held(user: Node) -> None:
    assert user.hears(Pin("b", USERS, fresh=True)) == [Acquire(USERS)]
    assert user.granted(1) == [Grant("b", USERS, 1)]


def test_a_fresh_caller_is_not_satisfied_by_an_acquisition_begun_before_its_call(node: Node) -> None:
    node.hears(Pin("a", USERS))
    assert node.hears(Pin("b", USERS, fresh=True)) == []
    assert node.granted(1) == [Grant("a", USERS, 1), Acquire(USERS)]
    assert node.granted(2) == [Grant("b", USERS, 2)]


def test_a_failed_acquisition_gives_its_callers_the_cause_and_strands_nobody(node: Node) -> None:
    node.hears(Pin("a", USERS))
    node.hears(Pin("b", USERS, fresh=True))
    said = node.hears(AcquireFailed(USERS, "connection refused"))
    assert said == [Refuse("a", USERS, Why.UNREACHABLE, "connection refused"), Acquire(USERS)]
    assert node.granted(1) == [Grant("b", USERS, 1)]


def test_a_caller_that_leaves_takes_nobody_with_it(node: Node) -> None:
    node.hears(Pin("a", USERS))
    node.hears(Pin("b", USERS))
    assert node.hears(Unpin("a", USERS)) == []
    assert node.granted(1) == [Grant("b", USERS, 1)]


def test_an_absent_table_is_refused_and_forgotten(node: Node) -> None:
    node.hears(Pin("a", USERS))
    assert node.hears(AcquireFailed(USERS, "there is no table 7", gone=True)) == [
        Refuse("a", USERS, Why.GONE, "there is no table 7")
    ]
    assert node.state.tables == ()


def test_news_makes_the_node_look_and_the_idle_older_version_go(user: Node) -> None:
    user.hears(Unpin("a", USERS))
    assert user.hears(News(USERS, 2)) == [Acquire(USERS)]
    assert user.granted(2) == [Release(USERS, 1)]
    assert user.held() == {2: 0}


def test_an_older_version_goes_with_its_last_reference(user: Node) -> None:
    user.hears(Pin("b", USERS))
    user.hears(News(USERS, 2))
    assert user.granted(2) == []
    assert user.hears(Pin("c", USERS)) == [Grant("c", USERS, 2)]
    assert user.hears(Unpin("a", USERS)) == []
    assert user.hears(Unpin("b", USERS)) == [Release(USERS, 1)]


def test_an_older_snapshot_gets_the_older_version_while_that_is_leased(user: Node) -> None:
    """T3: without such a version it gets the newest one, for the storages to refuse."""
    user.hears(News(USERS, 2))
    user.granted(2)
    assert user.hears(Pin("b", USERS, at_most=1)) == [Grant("b", USERS, 1)]
    assert user.hears(Unpin("a", USERS)) == []
    assert user.hears(Pin("c", USERS, at_most=2)) == [Grant("c", USERS, 2)]
    assert user.hears(Unpin("b", USERS)) == [Release(USERS, 1)]
    assert user.hears(Pin("d", USERS, at_most=1)) == [Grant("d", USERS, 2)]


def test_an_older_snapshot_gets_no_version_that_is_about_to_expire(user: Node) -> None:
    user.hears(News(USERS, 2), at=60.0)
    user.granted(2)
    user.hears(Tick(), at=98.9)
    assert Grant("b", USERS, 1) in user.hears(Pin("b", USERS, at_most=1))
    user.hears(Tick(), at=99.1)
    assert user.hears(Pin("c", USERS, at_most=1)) == [Grant("c", USERS, 2)]


def test_news_during_an_acquisition_is_not_lost(node: Node) -> None:
    node.hears(Pin("a", USERS))
    assert node.hears(News(USERS, 2)) == []
    assert node.granted(1) == [Grant("a", USERS, 1), Acquire(USERS)]
    node.granted(2)
    assert node.held() == {1: 1, 2: 0}


@pytest.mark.parametrize("version", [1, 0], ids=["the version held", "an older one"])
def test_old_news_is_no_news(user: Node, version: int) -> None:
    assert user.hears(News(USERS, version)) == []


def test_false_news_is_looked_into_once(user: Node) -> None:
    assert user.hears(News(USERS, 9)) == [Acquire(USERS)]
    assert user.granted(1) == []
    assert user.hears(Tick(), at=20.0) == []


def test_news_of_a_table_nobody_uses_is_dropped(node: Node) -> None:
    assert node.hears(News(USERS, 3)) == []
    assert node.state.tables == ()


def test_the_newest_version_is_never_acquired_while_it_is_released(user: Node) -> None:
    user.hears(Unpin("a", USERS))
    assert user.hears(Drain()) == [Release(USERS, 1)]
    user.hears(Undrain())
    assert user.hears(Pin("b", USERS)) == []
    assert user.hears(Released(USERS, 1)) == [Acquire(USERS)]


def test_a_release_that_fails_is_tried_again_and_then_runs_out(user: Node) -> None:
    user.hears(Unpin("a", USERS))
    user.hears(Drain())
    for _ in range(TRIES_MAX - 1):
        assert user.hears(ReleaseFailed(USERS, 1, "connection lost")) == []
        assert user.hears(Tick(), at=user.now + RETRY_S) == [Release(USERS, 1)]
    assert user.hears(ReleaseFailed(USERS, 1, "connection lost")) == [DrainDone()]


def test_renewal_comes_at_half_way_for_all_tables_in_one_statement(user: Node) -> None:
    user.hears(Pin("t", TableId(8)))
    user.hears(Acquired(TableId(8), 5, 1090.0, 90.0, "orders"))
    assert user.hears(Tick(), at=44.0) == []
    assert user.hears(Tick(), at=45.0) == [Renew((USERS, TableId(8)))]


def test_a_renewal_counts_from_before_it_was_asked(user: Node) -> None:
    user.hears(Tick(), at=50.0)
    user.now = 60.0
    user.renewed(Renewal.RENEWED)
    newest = user.state.table(USERS).newest
    assert newest is not None
    assert (newest.deadline, newest.expires_at) == (150.0, 1200.0)


def test_a_skipped_table_is_asked_for_again_within_50_ms(user: Node) -> None:
    user.hears(Tick(), at=50.0)
    assert user.renewed(Renewal.SKIPPED) == []
    assert SKIPPED_AGAIN_S <= 0.05
    assert user.hears(Tick(), at=50.0 + SKIPPED_AGAIN_S) == [Renew((USERS,))]


def test_a_lost_lease_ends_its_users_but_not_the_node(user: Node) -> None:
    user.hears(Tick(), at=50.0)
    reason = "its lease was taken away"
    assert user.renewed(Renewal.LOST) == [EndTransactions(USERS, 1, frozenset({"a"}), reason)]
    assert user.hears(Pin("b", USERS)) == [Acquire(USERS)]


def test_a_renewal_that_reports_a_newer_version_is_news(user: Node) -> None:
    user.hears(Tick(), at=50.0)
    assert user.renewed(Renewal.LOST, version=2) == [Acquire(USERS)]
    assert user.held() == {1: 1}


def test_an_answer_about_a_version_that_is_not_held_any_more_says_nothing(user: Node) -> None:
    user.hears(Tick(), at=50.0)
    user.hears(News(USERS, 2))
    user.granted(2)
    assert user.renewed(Renewal.LOST, version=2) == []
    assert user.held() == {1: 1, 2: 0}


def test_the_newest_version_that_could_not_be_renewed_ends_the_process(user: Node) -> None:
    user.hears(Pin("b", USERS, fresh=True))
    user.hears(AcquireFailed(USERS, "connection refused"))
    user.hears(Tick(), at=50.0)
    user.hears(RenewFailed("connection refused"))
    said = user.hears(Tick(), at=99.0)
    reason = "the lease on users@1 could not be renewed before it ends"
    assert said == [EndTransactions(USERS, 1, frozenset({"a"}), reason), Exit(reason)]
    assert user.state.phase is Phase.STOPPED
    assert of(Refuse, user.hears(Pin("c", USERS))) != []


def test_a_node_that_stops_while_it_is_asked_grants_nothing_and_exits(user: Node) -> None:
    """The alarm may come late: then a caller's own step finds that another table's lease is over."""
    other = TableId(8)
    user.hears(Pin("b", other), at=50.0)
    user.hears(Acquired(other, 1, 1150.0, LEASE_S, "others"))
    said = user.hears(Pin("c", other), at=99.99)
    refusals = [one for one in said if isinstance(one, Refuse)]
    assert [(one.request, one.why) for one in refusals] == [("c", Why.STOPPED)]
    assert [type(one) for one in said if isinstance(one, Grant | Exit)] == [Exit]


def test_renewal_is_tried_until_it_is_too_late(user: Node) -> None:
    user.hears(Tick(), at=50.0)
    user.hears(RenewFailed("connection refused"))
    assert user.hears(Tick(), at=50.0 + RETRY_S) == [Renew((USERS,))]
    user.renewed(Renewal.RENEWED)
    assert user.hears(Tick(), at=99.0) == []


def test_an_older_version_just_runs_out_and_its_users_with_it(user: Node) -> None:
    user.hears(News(USERS, 2), at=40.0)
    user.granted(2)
    user.hears(Tick(), at=90.0)
    user.renewed(Renewal.RENEWED, version=2)
    reason = "its lease on version 1 ran out"
    assert user.hears(Tick(), at=99.0) == [EndTransactions(USERS, 1, frozenset({"a"}), reason)]
    assert user.hears(Unpin("a", USERS)) == []
    assert user.state.phase is Phase.SERVING


def test_a_lease_that_arrives_too_late_is_no_lease(node: Node) -> None:
    node.hears(Pin("a", USERS))
    said = node.granted(1, at=99.5)
    assert said == [Refuse("a", USERS, Why.UNREACHABLE, "the lease on users@1 was over before it arrived")]


def test_draining_releases_idle_leases_at_once_and_used_ones_on_last_release(user: Node) -> None:
    user.hears(Pin("t", TableId(8)))
    user.hears(Acquired(TableId(8), 5, 1090.0, 90.0, "orders"))
    user.hears(Unpin("t", TableId(8)))
    assert user.hears(Drain()) == [Release(TableId(8), 5)]
    reason = "node n1 is draining: it takes no new leases, use another node"
    assert user.hears(Pin("b", USERS)) == [Refuse("b", USERS, Why.DRAINING, reason)]
    assert user.hears(Unpin("a", USERS)) == [Release(USERS, 1)]
    assert user.hears(Released(USERS, 1)) == []
    assert user.hears(Released(TableId(8), 5)) == [DrainDone()]


def test_draining_refuses_who_waits_and_gives_back_what_arrives(node: Node) -> None:
    node.hears(Pin("a", USERS))
    assert of(Refuse, node.hears(Drain())) != []
    assert node.granted(1) == [Release(USERS, 1)]


def test_draining_gives_nothing_back_while_an_acquisition_is_on_its_way(user: Node) -> None:
    """The acquisition may be of the same version: its row must not go after it is granted."""
    user.hears(Unpin("a", USERS))
    assert user.hears(Pin("b", USERS, fresh=True)) == [Acquire(USERS)]
    assert of(Release, user.hears(Drain())) == []
    assert user.granted(1) == [Release(USERS, 1)]
    user.hears(Undrain())
    assert user.hears(Pin("c", USERS)) == []
    assert user.hears(Released(USERS, 1)) == [Acquire(USERS)]


def test_a_revoked_lease_ends_its_users(user: Node) -> None:
    reason = "its lease on version 1 was revoked"
    assert user.hears(Revoked(USERS, 1)) == [EndTransactions(USERS, 1, frozenset({"a"}), reason)]


def test_a_recheck_during_a_renewal_is_not_forgotten(user: Node) -> None:
    assert user.hears(Recheck()) == [Renew((USERS,))]
    assert user.hears(Recheck()) == []
    assert user.renewed(Renewal.RENEWED) == [Renew((USERS,))]


def test_a_dropped_table_is_given_back_once_it_is_idle(user: Node) -> None:
    user.hears(News(USERS, 2))
    assert user.hears(AcquireFailed(USERS, "table users is absent", gone=True)) == []
    assert user.hears(Unpin("a", USERS)) == [Release(USERS, 1)]


@pytest.mark.parametrize(("event", "message"), [
    (Acquired(USERS, 2, 1.0, 1.0, "users"), "a lease was acquired on table 7, but none was asked for"),
    (Released(USERS, 1), "version 1 of table 7 was released, but that was not asked for"),
    (Renewed(()), "leases of node n1 were renewed, but no renewal was asked for"),
], ids=["acquired", "released", "renewed"])  # fmt: skip
def test_an_answer_to_no_question_is_a_mistake_of_the_shell(user: Node, event: Event, message: str) -> None:
    with pytest.raises(IllegalTransition, match=message):
        user.hears(event)


def test_the_machine_says_when_to_wake_it(node: Node) -> None:
    node.hears(Pin("a", USERS))
    state, effects = step(node.state, Acquired(USERS, 1, 1100.0, LEASE_S, "users"), 0.0)
    assert of(WakeAt, effects) == [WakeAt(50.0)]
    assert hash(state) == hash(step(node.state, Acquired(USERS, 1, 1100.0, LEASE_S, "users"), 0.0)[0])


# Many tables


def test_a_step_looks_only_at_tables_that_have_something_to_do(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    tables = [TableId(number) for number in range(1, 6)]
    for table in tables:
        node.hears(Pin(f"p{table}", table))
        node.hears(Acquired(table, 1, 1000.0 + LEASE_S, LEASE_S, f"t{table}"))
    seen, keep = [], upkeep._keep_table
    monkeypatch.setattr(
        upkeep,
        "_keep_table",
        lambda leases, table, *now, **is_: (seen.append(table), keep(leases, table, *now, **is_))[1],
    )
    assert node.hears(News(TableId(3), 2)) == [Acquire(TableId(3))]
    assert node.hears(Unpin("p4", TableId(4))) == []
    assert set(seen) == {TableId(3)}
    assert node.hears(Drain()) == [Release(TableId(4), 1)]
    assert set(seen) == set(tables)


@pytest.mark.parametrize("seed", range(5))
def test_what_a_table_says_of_itself_holds(node: Node, seed: int) -> None:
    """Drawn events on three tables, one of which has no leases: a quiet table has nothing to do until then."""
    chance, tables = random.Random(seed), [TableId(7), TableId(8), TableId(9)]
    quiet = busy = 0
    for number in range(400):
        table = chance.choice(tables)
        leases = node.state.table(table)
        version = leases.newest_version + chance.randrange(2)
        span = 1000.0 + node.now + LEASE_S
        events: list[Event] = [Pin(number, table, fresh=chance.random() < 0.2), News(table, version), Tick()]
        events += [Unpin(pin, table) for held in leases.held for pin in held.pins]
        events += [Released(table, one.version) for one in leases.leaving if one.again_at is None]
        if leases.acquisition is not None:
            events.append(Acquired(table, max(version, 1), span, LEASE_S, "t", is_leased=table != 9))
            events.append(AcquireFailed(table, "no answer"))
        if node.state.renewing:
            renewed = [RenewOutcome(one, v, Renewal.RENEWED, span, LEASE_S) for one, v in node.state.renewing]
            events.append(Renewed(tuple(renewed)))
        node.hears(chance.choice(events), at=node.now + chance.choice((0.0, 0.1, 1.0)))
        assert [known for known, _ in node.state.tables] == sorted(known for known, _ in node.state.tables)
        for known, one in node.state.tables:
            assert node.state.table(known) is one
            dues = [held.stop_at for held in one.held if held.is_leased]
            if node.now < one.quiet_until:
                quiet += 1
                assert upkeep._keep_table(one, known, min(one.quiet_until, 1e9) - 0.01, draining=False) == (one, ())
                assert (min(dues, default=inf), one.leaving, one.looks_for_news) == (one.quiet_until, (), False)
            busy += one.quiet_until == -inf
            newest = one.newest
            is_renewed = newest is not None and newest.is_leased and not one.is_behind
            assert one.renew_at == (newest.renew_at if newest is not None and is_renewed else inf)
    assert quiet > 100
    assert busy > 100


# Without leases


@pytest.fixture
def unleased(node: Node) -> Node:
    """A node with version 1 of a table without leases, and one transaction "a" that uses it."""
    node.hears(Pin("a", USERS))
    node.loaded(1)
    return node


def test_a_version_without_a_lease_is_never_renewed_released_or_over(unleased: Node) -> None:
    assert unleased.state.wake_at is None
    assert unleased.hears(Tick(), at=100 * LEASE_S) == []
    assert unleased.hears(Pin("b", USERS)) == [Grant("b", USERS, 1)]
    assert unleased.hears(News(USERS, 2)) == [Acquire(USERS)]
    assert unleased.loaded(2) == []
    assert (unleased.hears(Unpin("a", USERS)), unleased.hears(Unpin("b", USERS))) == ([], [])
    assert unleased.held() == {2: 0}


def test_a_refused_caller_gets_a_version_that_was_asked_for_since(unleased: Node) -> None:
    """A storage has refused version 1: nothing else says that it is over."""
    assert unleased.hears(Pin("b", USERS, fresh=True), at=3.0) == [Acquire(USERS)]
    assert unleased.loaded(2) == [Grant("b", USERS, 2)]
    assert unleased.held() == {1: 1, 2: 1}


def test_a_table_changes_from_leases_to_none_and_back(user: Node) -> None:
    user.hears(News(USERS, 2))
    user.loaded(2)
    assert user.hears(Tick(), at=LEASE_S) != []  # the older version's lease runs out, and its users end
    assert user.held() == {2: 0}
    assert user.hears(News(USERS, 3)) == [Acquire(USERS)]
    assert user.granted(3) == []
    assert user.held() == {3: 0}
    assert user.hears(Tick(), at=1.5 * LEASE_S) == [Renew((USERS,))]


def test_draining_forgets_a_version_without_a_lease(unleased: Node) -> None:
    assert unleased.hears(Drain()) == []
    assert unleased.hears(Unpin("a", USERS)) == [DrainDone()]


def test_of_several_tables_only_the_leased_ones_are_renewed(unleased: Node) -> None:
    other = TableId(8)
    unleased.hears(Pin("b", other))
    unleased.hears(Acquired(other, 1, 1000.0 + LEASE_S, LEASE_S, "pets"))
    assert unleased.hears(Tick(), at=LEASE_S / 2) == [Renew((other,))]
