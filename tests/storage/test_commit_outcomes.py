"""What an answer about a transaction's id proves (T7)."""

import pytest

from storage.commit_outcomes import NOT_GIVEN, Outcome, commit_outcome


@pytest.mark.parametrize(("status", "began_in", "asked_in", "proved"), [
    pytest.param("committed", "life 1", "life 1", Outcome.COMMITTED, id="committed, and no crash lies between"),
    pytest.param("committed", "life 1", "life 2", Outcome.UNKNOWN, id="committed, perhaps by another one"),
    pytest.param("committed", None, "life 1", Outcome.UNKNOWN, id="committed, began nobody knows when"),
    pytest.param("committed", "life 1", None, Outcome.UNKNOWN, id="committed, asked nobody knows when"),
    pytest.param("committed", None, None, Outcome.UNKNOWN, id="two lives that are not known are not the same"),
    pytest.param("aborted", "life 1", "life 1", Outcome.ABORTED, id="aborted"),
    pytest.param("aborted", "life 1", "life 2", Outcome.ABORTED, id="aborted, whoever had the id: ours left nothing"),
    pytest.param(NOT_GIVEN, "life 1", "life 2", Outcome.ABORTED, id="not given out again yet: ours left nothing"),
    pytest.param("in progress", "life 1", "life 1", Outcome.IN_PROGRESS, id="not over yet: ask again"),
    pytest.param("in progress", "life 1", "life 2", Outcome.IN_PROGRESS, id="another one's perhaps: ask again"),
    pytest.param(None, "life 1", "life 1", Outcome.UNKNOWN, id="forgotten: too long ago"),
])  # fmt: skip
def test_what_an_answer_proves(status: str | None, began_in: str | None, asked_in: str | None, proved: Outcome) -> None:
    assert commit_outcome(status, began_in=began_in, asked_in=asked_in) is proved
