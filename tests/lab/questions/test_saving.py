"""The last choice before the damage, and the rule that was missing."""

import pytest

from lab.explorer.spaces.search import Budget
from lab.questions.saving import what_saves
from lab.questions.search import Question, ask
from lab.sessions.replay import new_session, show
from lab.sessions.session import Session
from lab.sessions.shown import Severity
from tests.lab.questions.sessions import session, statement

ORPHAN = (statement("n2", "insert", 1, 1), statement("n1", "delete", 1, 0))


def test_an_orphan_is_saved_by_a_node_that_moves_on_before_it_deletes() -> None:
    begun = session("one-jump", *ORPHAN)
    (saving,) = what_saves(begun)
    assert (begun.steps[saving.at], saving.step, saving.refused) == ("n1.begin", "n1.acquire", None)
    after = show(Session("one-jump", {}, frozenset(), saving.steps))
    assert Severity.DAMAGE not in {verdict.severity for verdict in after.verdicts}
    assert after.refused is None


def test_without_damage_nothing_needs_saving() -> None:
    assert what_saves(session("one-jump", statement("n2", "insert", 1, 1))) == ()


@pytest.mark.parametrize("rule", ["skipped", "blind", "seen-only", "early", "two-versions", "fence"])
def test_the_rule_that_was_left_out_is_named_with_the_step_it_stops(rule: str) -> None:
    left_out = frozenset({rule})
    found = ask(Question(new_session("full-ladder", left_out=left_out)), budget=Budget(seconds=120.0))
    savings = what_saves(Session("full-ladder", {}, left_out, found.steps))
    assert [saving.rule for saving in savings if saving.rule] == [rule]
    for saving in savings:
        kept = Session("full-ladder", {}, left_out - {saving.rule}, saving.steps)
        assert Severity.DAMAGE not in {verdict.severity for verdict in show(kept).verdicts}
