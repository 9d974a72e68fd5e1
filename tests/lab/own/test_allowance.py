"""A visitor's planning time: used up, back with time, and never another's."""

import pytest

from lab.own import allowance
from lab.own.allowance import PLANNING_S_MAX, SHARE, Allowances, PlanningTimeUsed


def wait_s(all_of_them: Allowances, visitor: str, now: float) -> float:
    """Seconds that the visitor has to wait; 0: none."""
    try:
        all_of_them.check(visitor, now)
    except PlanningTimeUsed as used:
        return used.wait_s
    return 0


def test_time_is_used_up_and_comes_back() -> None:
    known = Allowances()
    for second in range(10):
        assert wait_s(known, "mallory", second) == 0
        known.use("mallory", PLANNING_S_MAX / 10 + SHARE, second)
    assert (left := wait_s(known, "mallory", 9.5)) > 0
    assert wait_s(known, "lea", 10) == 0
    assert wait_s(known, "mallory", 9.5 + left - 2) > 0
    assert wait_s(known, "mallory", 9.5 + left) == 0


def test_the_wait_is_long_enough_for_a_page() -> None:
    known = Allowances()
    known.use("mallory", PLANNING_S_MAX, 0)
    left = wait_s(known, "mallory", 0)
    known.use("mallory", 0.05, left)
    assert wait_s(known, "mallory", left) == 0


def test_who_sends_all_day_has_a_share_of_a_processor() -> None:
    known, taken, now = Allowances(), 0.0, 0.0
    while now < 3600:
        if (left := wait_s(known, "mallory", now)) > 0:
            now += left
            continue
        known.use("mallory", 0.5, now)
        taken, now = taken + 0.5, now + 0.5
    assert taken < PLANNING_S_MAX + SHARE * 3600 + 1


def test_a_page_that_somebody_uses_is_never_refused() -> None:
    known = Allowances()
    for number in range(1000):
        assert wait_s(known, "lea", number * 0.5) == 0
        known.use("lea", 0.05, number * 0.5)


def test_no_more_visitors_are_remembered_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allowance, "VISITORS_MAX", 3)
    known = Allowances()
    for number in range(5):
        known.use(str(number), 2 * PLANNING_S_MAX, number)
    assert [wait_s(known, str(number), 5) > 0 for number in range(5)] == [False, False, True, True, True]
