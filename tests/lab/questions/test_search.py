"""Questions to the explorer: the goals of the chapters, from the start and from a position."""

from dataclasses import replace

import pytest

from catalog.text.message import Text
from lab.explorer.spaces.search import Budget, Progress
from lab.explorer.verdict import Verdict
from lab.questions.goal import Goal, goal_from_json
from lab.questions.search import Answer, Question, ask, from_json, last_point, to_json
from lab.sessions.replay import new_session, show
from lab.sessions.session import BadSession, Session
from lab.sessions.shown import NOTHING, Severity
from tests.lab.questions.sessions import session, statement

PATIENTLY = Budget(seconds=120.0)


def answer(setup: str, *clauses: str, left_out: tuple[str, ...] = ()) -> Answer:
    return ask(
        Question(new_session(setup, left_out=frozenset(left_out)), goal=Goal(frozenset(clauses))), budget=PATIENTLY
    )


@pytest.mark.parametrize(
    ("setup", "clause", "verdict"),
    [
        pytest.param("one-jump", "C4", Verdict.VIOLATED, id="one jump: rows are missed"),
        pytest.param("one-jump", "C5", Verdict.VIOLATED, id="one jump: orphans"),
        pytest.param("delete-only", "C4", Verdict.VIOLATED, id="delete-only alone: rows are missed"),
        pytest.param("delete-only", "C5", Verdict.PROVED, id="delete-only alone: no orphan"),
        pytest.param("delete-only", "C3", Verdict.PROVED, id="delete-only alone: nothing is left behind"),
        pytest.param("write-only", "C4", Verdict.PROVED, id="write-only alone: no row is missed"),
        pytest.param("write-only", "C5", Verdict.VIOLATED, id="write-only alone: orphans"),
        pytest.param("full-ladder", "C4", Verdict.PROVED, id="both: no row is missed"),
        pytest.param("full-ladder", "C5", Verdict.PROVED, id="both: no orphan"),
    ],
)
def test_the_table_of_chapter_3(setup: str, clause: str, verdict: Verdict) -> None:
    assert answer(setup, clause).verdict is verdict


def test_the_steps_lead_to_the_goal_and_to_no_other_end() -> None:
    """The nearest broken world is a missing entry; asked for an orphan, the explorer shows one."""
    found = answer("one-jump", "C5")
    shown = show(Session("one-jump", {}, frozenset(), found.steps))
    assert shown.refused is None
    assert ("C5", 2) in {(verdict.clause, verdict.version) for verdict in shown.verdicts}
    assert [fault.clause for fault in found.faults] == ["C5"]


def test_without_a_goal_it_is_damage() -> None:
    """An entry that an old version could not tidy up is none."""
    found = answer("one-jump")
    last = show(Session("one-jump", {}, frozenset(), found.steps))
    assert Severity.DAMAGE in {verdict.severity for verdict in last.verdicts}


def test_a_goal_may_name_a_version() -> None:
    goal = Goal(frozenset({"C3"}), frozenset({1}))
    found = ask(Question(new_session("one-jump"), goal=goal), budget=PATIENTLY)
    assert {(fault.clause, fault.version) for fault in found.faults} == {("C3", 1)}
    never = Goal(frozenset({"C3"}), frozenset({9}))
    assert ask(Question(new_session("one-jump"), goal=never), budget=PATIENTLY).verdict is Verdict.PROVED


def test_from_here_goes_on_with_the_steps_that_were_taken() -> None:
    begun = session("one-jump", statement("n2", "insert", 1, 1))
    here = Question(begun, at=len(begun.steps), goal=Goal(frozenset({"C5"})), from_here=True)
    found = ask(here, budget=PATIENTLY)
    assert found.steps[: len(begun.steps)] == begun.steps
    more = found.steps[len(begun.steps) :]
    assert [step.split(".")[:2] for step in more] == [["n1", what] for what in ("begin", "read", "write", "commit")]


def test_at_the_start_too_from_here_is_about_the_rows_that_are_shown() -> None:
    """No rows are given: the search does not begin with rows of its choice."""
    session = Session("fill", {"rows": []}, frozenset({"skipped"}))
    found = ask(Question(session, from_here=True), budget=PATIENTLY)
    assert found.verdict is Verdict.VIOLATED
    assert not found.steps[0].startswith("given")


def test_from_the_start_a_question_is_the_same_wherever_it_is_asked() -> None:
    begun = session("one-jump", statement("n2", "insert", 1, 1))
    stored = to_json(Question(begun, at=3))
    assert stored == to_json(Question(Session("one-jump")))
    here = Question(begun, at=3, from_here=True, any_rows=True)
    assert from_json(to_json(here)) == Question(replace(begun, steps=begun.steps[:3]), at=3, from_here=True)


def test_from_here_is_refused_where_a_transaction_is_open_and_the_last_such_point_is_named() -> None:
    begun = session("one-jump", statement("n2", "insert", 1, 1), ("n1.begin",))
    at = len(begun.steps)
    with pytest.raises(BadSession, match="n1 has an open transaction"):
        ask(Question(begun, at=at, from_here=True), budget=PATIENTLY)
    assert last_point(begun, at) == (at - 1, Text("{node} has an open transaction", {"node": "n1"}))
    assert last_point(begun, at - 1) == (at - 1, NOTHING)


def test_a_lease_that_ran_out_is_no_point_to_ask_from() -> None:
    begun = session("one-jump", ("n1.expire",))
    assert last_point(begun, len(begun.steps)) == (
        len(begun.steps) - 1,
        Text("a lease of {node} has run out", {"node": "n1"}),
    )


def test_the_rows_of_the_session_are_there_unless_any_rows_are_asked_for() -> None:
    """Without the fill, a row that is there at first gets no entry."""
    without_fill = new_session("full-ladder", {"rows": [1]}, frozenset({"skipped"}))
    goal = Goal(frozenset({"C4"}))
    assert not ask(Question(without_fill, goal=goal), budget=PATIENTLY).steps[0].startswith("given")
    empty = new_session("full-ladder", {}, frozenset({"skipped"}))
    found = ask(Question(empty, goal=goal, any_rows=True), budget=PATIENTLY)
    assert found.verdict is Verdict.VIOLATED
    assert show(Session("full-ladder", {}, frozenset({"skipped"}), found.steps)).refused is None


@pytest.mark.parametrize("rule", ["blind", "exists-only", "early", "seen-only", "not-cleared", "two-versions", "fence"])
def test_each_rule_that_is_left_out_is_missed(rule: str) -> None:
    found = answer("full-ladder", left_out=(rule,))
    assert found.verdict is Verdict.VIOLATED
    shown = show(Session("full-ladder", {}, frozenset({rule}), found.steps))
    assert Severity.DAMAGE in {verdict.severity for verdict in shown.verdicts}


def test_a_spent_budget_and_a_stop_are_unknown() -> None:
    question = Question(new_session("placement"))
    assert ask(question, budget=Budget(states=10)).verdict is Verdict.UNKNOWN
    heard: list[Progress] = []

    def stop(progress: Progress) -> bool:
        heard.append(progress)
        return False

    stopped = ask(question, budget=PATIENTLY, watch=stop)
    assert (stopped.verdict, len(heard)) == (Verdict.UNKNOWN, 1)
    assert str(stopped.why).startswith("it was stopped after")


def test_a_question_is_stored_and_comes_back() -> None:
    begun = Session("one-jump", {}, frozenset(), ("publish.2",))
    question = Question(begun, 1, Goal(frozenset({"C4"}), frozenset({2})), True, False)
    assert from_json(to_json(question)) == question


@pytest.mark.parametrize(
    ("body", "words"),
    [
        pytest.param([], "a goal has clauses and versions", id="no mapping"),
        pytest.param({"clauses": ["C9"]}, "a goal's clauses are of: C1, C2", id="an unknown clause"),
        pytest.param({"versions": [True]}, "numbers from 1 to 20", id="a version that is none"),
        pytest.param({"more": 1}, "a goal has clauses and versions", id="an unknown key"),
    ],
)
def test_a_goal_from_anybody_is_checked(body: object, words: str) -> None:
    with pytest.raises(BadSession, match=words):
        goal_from_json(body)
