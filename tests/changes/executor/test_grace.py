"""L8: each table's own clock for transactions that outlive every lease of their version."""

from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from catalog.elements import Coordination
from changes.driver.publish import Blocked, LockHolder
from changes.driver.versions import Versions
from changes.executor import events
from changes.executor.grace import Grace
from leases.rules import GRACE_S

AIRPORTS, TRIPS = 11, 12


def looked(*looks: tuple[float, set[int]]) -> Grace:
    """What is known after looks at these moments, which found these tables held without a lease."""
    grace = Grace()
    for at, held in looks:
        grace = grace.seen(dict.fromkeys(held, GRACE_S), at)
    return grace


@pytest.mark.parametrize(
    ("looks", "over"),
    [
        pytest.param([(0.0, {TRIPS})], (), id="just held"),
        pytest.param([(0.0, {TRIPS}), (0.9, {TRIPS})], (), id="held for less than the grace"),
        pytest.param([(0.0, {TRIPS}), (1.0, {TRIPS})], (TRIPS,), id="held for the grace"),
        pytest.param([(0.0, {TRIPS}), (0.5, set()), (1.0, {TRIPS})], (), id="not all the time"),
        pytest.param([(0.0, {TRIPS}), (0.6, {AIRPORTS, TRIPS}), (1.0, {AIRPORTS, TRIPS})], (TRIPS,), id="one later"),
        pytest.param([(0.0, {AIRPORTS, TRIPS}), (1.0, {TRIPS})], (TRIPS,), id="the other is leased again"),
    ],
)
def test_l8_each_table_has_a_clock_of_its_own(looks: list[tuple[float, set[int]]], over: tuple[int, ...]) -> None:
    assert looked(*looks).over(looks[-1][0]) == over


def test_l8_an_attempt_that_succeeds_puts_all_clocks_back() -> None:
    assert looked((0.0, {TRIPS}), (0.5, set())) == Grace()


def test_l8_when_sessions_were_ended_the_time_begins_again() -> None:
    grace = looked((0.0, {AIRPORTS, TRIPS})).anew({TRIPS})
    assert grace.over(GRACE_S) == (AIRPORTS,)
    assert grace.seen({AIRPORTS: GRACE_S, TRIPS: GRACE_S}, GRACE_S).over(GRACE_S) == (AIRPORTS,)


def test_a_look_says_what_began_and_what_is_left() -> None:
    before, after = looked((0.0, {TRIPS})), looked((0.0, {TRIPS}), (0.25, {AIRPORTS, TRIPS}))
    assert (after.starts(before), before.starts(after)) == (True, False)
    assert list(after.left_s(0.5)) == [0.75, 0.5]


def test_l8_without_leases_a_transaction_has_the_span_of_a_lease() -> None:
    """Of several that hold a table back the longest counts: whoever has less is ended by its own deadline."""
    of_both, of_hash = (
        LockHolder(TRIPS, version, "schemalab node n1 1", 4711, datetime.now(UTC), how)
        for version, how in ((1, Coordination.BOTH), (2, Coordination.HASH))
    )
    assert Blocked(held=(of_both,)).grace_s(TRIPS, 30.0) == GRACE_S
    assert Blocked(held=(of_both, of_hash)).grace_s(TRIPS, 30.0) == 30.0
    grace = Grace().seen({AIRPORTS: GRACE_S, TRIPS: 30.0}, 0.0)
    assert [grace.over(at) for at in (0.5, 1.0, 29.9, 30.0)] == [(), (AIRPORTS,), (AIRPORTS,), (AIRPORTS, TRIPS)]


class Transition:
    """Hears what a look came to."""

    def feed(self, event: object) -> None:
        assert isinstance(event, events.Blocked)


def test_l8_a_row_that_somebody_looks_at_puts_no_clock_back() -> None:
    """Nobody has looked further: what was known before still holds."""
    held = LockHolder(TRIPS, 1, "schemalab node n1 1", 4711, datetime.now(UTC))
    versions = Versions(SimpleNamespace(table_ids=[TRIPS]), None, lambda _: None)  # type: ignore[arg-type]
    versions.report(Transition(), Blocked(held=(held,)))  # type: ignore[arg-type]
    known = versions.grace
    versions.report(Transition(), Blocked(is_row_locked=True))  # type: ignore[arg-type]
    assert versions.grace == known != Grace()
    versions.report(Transition(), Blocked())  # type: ignore[arg-type]
    assert versions.grace == Grace()
