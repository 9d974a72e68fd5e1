"""How a learner stands at a task."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from lab.classroom.status import Status, Work, status_of

NOW = datetime(2026, 3, 2, 10, 0, tzinfo=UTC)


def failed(minutes_ago: float) -> Work:
    """The second failed check was so long ago."""
    return Work(second_failed_at=NOW - timedelta(minutes=minutes_ago))


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        pytest.param(None, Status.NOT_STARTED, id="nothing is stored"),
        pytest.param(Work(), Status.WORKING, id="a hint was taken"),
        pytest.param(failed(4.9), Status.WORKING, id="the second failed check was just now"),
        pytest.param(failed(5), Status.STUCK, id="five minutes after the second failed check"),
        pytest.param(replace(failed(6), is_done=True), Status.DONE, id="passed after all"),
        pytest.param(Work(is_done=True, was_helped=True), Status.DONE_WITH_HINTS, id="passed after a hint"),
        pytest.param(Work(is_done=True, is_shown=True), Status.DONE, id="the solution was read after success"),
        pytest.param(Work(is_shown=True, is_wrong=True), Status.PREDICTED_WRONG, id="a wrong prediction is not done"),
        pytest.param(
            Work(is_done=True, was_helped=True, is_wrong=True), Status.DONE_AFTER_WRONG, id="a first answer stays wrong"
        ),
        pytest.param(Work(is_shown=True), Status.WORKING, id="a wrong prediction after a hint"),
        pytest.param(replace(failed(8), is_shown=True), Status.WORKING, id="the solution was asked for"),
    ],
)
def test_status(work: Work | None, expected: Status) -> None:
    assert status_of(work, NOW) is expected
