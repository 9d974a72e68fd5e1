"""The tasks of chapter 14: orders of deploys that are judged, questions that are explored, and the runs of both."""

from itertools import permutations
from random import Random

import pytest

from lab.exercises.chapter import Design, Form, Outcome, Predict
from lab.exercises.designs import Malformed, judge_design
from lab.exercises.judgement import Judgement
from lab.exercises.observations import BadQuestion, observe
from lab.exercises.runs import runs_of
from lab.explorer.spaces.search import Budget
from lab.ladders.played import Played
from lab.sessions.as_json import restored, stored
from tests.rounds import rounds

SOLUTION = ("add", "both", "copy", "read", "loosen", "new", "drop")
TASK = Design("rollout", SOLUTION, ("add", "drop"), elements="rename")


def judged(*lines: str) -> Judgement:
    return judge_design(TASK, lines)


@rounds(20, 120)
def test_every_safe_order_counts_and_no_other(rounds: int) -> None:
    """Of all orders with the new column first and the old one dropped last: release by release, and as they depend."""
    orders = list(permutations(SOLUTION[1:-1]))
    safe = {order for order in orders if _is_safe({one: place for place, one in enumerate(order)})}
    assert len(safe) == 4
    Random(14).shuffle(orders)
    tried = {*orders[:rounds], *safe}
    assert {order for order in tried if judged("add", *order, "drop").verdict is Outcome.RIGHT} == safe


def _is_safe(at: dict[str, int]) -> bool:
    return at["both"] < at["copy"] < at["read"] < at["new"] and at["loosen"] < at["new"]


@pytest.mark.parametrize(
    ("lines", "clause", "words"),
    [
        (("add", "copy", "both", "read", "loosen", "new", "drop"), "lost", "name = NULL; written last: name = Ann"),
        (("add", "both", "copy", "read", "new", "loosen", "drop"), "refused", "23502"),
        (("add", "both", "copy", "drop", "read", "loosen", "new"), "refused", "42703"),
        (("both", "add"), "refused", "42703"),
        (("add", "drop", "loosen"), "fails", "42703"),
    ],
)
def test_a_broken_order_is_wrong_and_its_shortest_run_is_played(
    lines: tuple[str, ...], clause: str, words: str
) -> None:
    found = judged(*lines)
    assert (found.verdict, found.clauses) == (Outcome.WRONG, (clause,))
    assert found.played is not None
    last = found.played.frames[-1]
    assert last.marks[0][0] == clause
    assert str(found.faults[0]).startswith(f"broken in {len(found.played.frames) - 1} steps")
    for word in words.split("; "):
        assert word.removeprefix("written last: name = ") in str(last.sentence), str(last.sentence)


def test_an_order_that_stops_halfway_is_not_the_end() -> None:
    found = judged("add", "both", "copy", "read")
    assert found.verdict is Outcome.WRONG
    assert "has not come to its end" in str(found.faults[0])


@pytest.mark.parametrize(("line", "why"), [("rename", "deploys are add, both"), ("add", "each at most once")])
def test_lines_that_are_no_order_are_no_answer(line: str, why: str) -> None:
    with pytest.raises(Malformed, match=why):
        judged("add", line)


def test_a_search_that_ends_early_is_neither_right_nor_wrong() -> None:
    found = judge_design(TASK, SOLUTION, budget=Budget(states=5, seconds=10.0))
    assert (found.verdict, found.why.template) == (Outcome.UNKNOWN, "it gave up after {n} states")
    stopped = judge_design(TASK, SOLUTION, watch=lambda progress: False)
    assert (stopped.verdict, stopped.why.template) == (Outcome.UNKNOWN, "it was stopped after {n} states")


def test_a_right_order_plays_a_quiet_run_in_which_every_deploy_happens() -> None:
    found = judged(*SOLUTION)
    assert found.played is not None
    frames = found.played.frames
    assert found.played.verdict == "proved"
    assert {frame.tile for frame in frames} >= set(range(len(SOLUTION)))
    assert not any(frame.marks for frame in frames)
    assert {frame.actor for frame in frames} >= {"n1", "n2", "p", "f"}
    assert frames[-1].uses == {"n1": 5, "n2": 5}
    assert any(frame.uses == {"n1": -1, "n2": 1} for frame in frames)


def test_a_run_is_the_same_after_it_was_kept() -> None:
    played = judged("add", "copy", "both", "read").played
    assert played is not None
    assert restored(Played, stored(played)) == played


ORDERS = {
    "rollout": "rename-beside",
    "before": ("add", "copy", "start", "gone", "read"),
    "now": ("add", "start", "copy", "gone", "read"),
    "after": ("add", "start", "gone", "copy", "read"),
}


def test_a_backfill_is_safe_only_after_the_old_release_is_gone() -> None:
    assert observe("safe orders", None, (), ORDERS) == frozenset({"after"})
    task = Predict("safe orders", Form.CHOICE, "after", given=ORDERS)
    runs = {run.item: run for run in runs_of(task, None)}
    assert {name: run.played.verdict for name, run in runs.items()} == {
        "before": "violated",
        "now": "violated",
        "after": "proved",
    }
    assert len(runs["now"].played.frames) - 1 == 7
    assert [len(run.versions) for run in runs.values()] == [6, 6, 6]


def test_the_way_back_ends_where_the_new_column_is_required() -> None:
    given = {"rollout": "rename", "order": ("add", "both", "copy", "require", "read")}
    asks = "first deploy without a rollback"
    assert observe(asks, None, (), given) == "require"
    (run,) = runs_of(Predict(asks, Form.CHOICE, "require", given=given), None)
    assert "23502" in str(run.played.frames[-1].sentence)
    assert "release 1 runs again" in " ".join(str(frame.sentence) for frame in run.played.frames)
    safe = {"rollout": "rename", "order": ("add", "both", "copy", "read")}
    assert observe(asks, None, (), safe) == "none"
    assert runs_of(Predict(asks, Form.CHOICE, "none", given=safe), None) == ()


def test_a_question_about_no_rollout_says_so() -> None:
    with pytest.raises(BadQuestion, match="there is no rollout 'nothing'"):
        observe("safe orders", None, (), {"rollout": "nothing", "a": ("add",)})
