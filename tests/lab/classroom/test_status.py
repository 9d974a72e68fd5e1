"""How a learner stands at a task."""

from datetime import UTC, datetime, timedelta

import pytest

from lab.classroom.status import Status, Work, status_of

NOW = datetime(2026, 3, 2, 10, 0, tzinfo=UTC)


def ago(*minutes: float) -> tuple[datetime, ...]:
    return tuple(NOW - timedelta(minutes=one) for one in minutes)


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        pytest.param(None, Status.NOT_STARTED, id="nothing is stored"),
        pytest.param(Work(), Status.WORKING, id="a hint was taken"),
        pytest.param(Work(failed_at=ago(60)), Status.WORKING, id="one failed check is no sign, however long ago"),
        pytest.param(Work(failed_at=ago(20, 4.9)), Status.WORKING, id="the second failed check was just now"),
        pytest.param(Work(failed_at=ago(20, 5)), Status.STUCK, id="five minutes after the second failed check"),
        pytest.param(Work(failed_at=ago(9, 6, 1)), Status.STUCK, id="a third failed check is no progress"),
        pytest.param(Work(failed_at=ago(9, 6), is_passed=True), Status.DONE, id="passed after all"),
        pytest.param(Work(is_passed=True, was_helped=True), Status.DONE_WITH_HINTS, id="passed after a hint"),
        pytest.param(Work(is_passed=True, is_shown=True), Status.DONE, id="the solution was read after success"),
        pytest.param(Work(failed_at=ago(1), is_shown=True), Status.DONE_WITH_HINTS, id="a wrong prediction is over"),
        pytest.param(Work(failed_at=ago(9, 8), is_shown=True), Status.DONE_WITH_HINTS, id="the solution was asked for"),
    ],
)
def test_status(work: Work | None, expected: Status) -> None:
    assert status_of(work, NOW) is expected


def test_only_time_makes_somebody_stuck() -> None:
    work = Work(failed_at=ago(1, 0))
    statuses = [status_of(work, NOW + timedelta(minutes=minutes)) for minutes in range(7)]
    assert statuses == [Status.WORKING] * 5 + [Status.STUCK] * 2
