"""The last choice before the damage, and the rule that was missing."""

import pytest

from lab.explorer.spaces.search import Budget
from lab.questions import saving
from lab.questions.saving import what_saves
from lab.questions.search import Question, ask
from lab.sessions.model.session import machine_of
from lab.sessions.model.setups import model_of
from lab.sessions.replay import new_session, show
from lab.sessions.session import BadSession, Session
from lab.sessions.setups import setup_named
from lab.sessions.shown import Severity
from tests.lab.questions.sessions import session, statement

ORPHAN = (statement("n2", "insert", 1, 1), statement("n1", "delete", 1, 0))


def test_an_orphan_is_saved_by_a_node_that_moves_on_before_it_deletes() -> None:
    begun = session("one-jump", *ORPHAN)
    (found,) = what_saves(begun)
    assert (begun.steps[found.at], found.step, found.refused) == ("n1.begin", "n1.acquire", None)
    after = show(Session("one-jump", {}, frozenset(), found.steps))
    assert Severity.DAMAGE not in {verdict.severity for verdict in after.verdicts}
    assert after.refused is None


def test_without_damage_nothing_needs_saving() -> None:
    assert what_saves(session("one-jump", statement("n2", "insert", 1, 1))) == ()


def test_a_search_that_gives_up_does_not_say_that_nothing_saves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saving, "STEPS_TRIED_MAX", 20)
    with pytest.raises(BadSession, match="no choice of the last 2 steps would have saved it; there may be one before"):
        what_saves(session("one-jump", *ORPHAN))
    without = frozenset({"skipped"})
    broken = ask(Question(new_session("full-ladder", left_out=without)), budget=Budget(seconds=120.0)).steps
    monkeypatch.setattr(saving, "STEPS_TRIED_MAX", 0)
    assert [found.rule for found in what_saves(Session("full-ladder", {}, without, broken))] == ["skipped"]


def test_between_two_tries_others_come_to_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = session("one-jump", *ORPHAN)
    machine = machine_of(*model_of(setup_named("one-jump"), begun))
    locked: list[bool] = []
    is_damaged = saving._is_damaged
    monkeypatch.setattr(
        saving, "_is_damaged", lambda position: locked.append(machine.lock.locked()) or is_damaged(position)
    )
    assert what_saves(begun)
    assert locked
    assert not any(locked)


@pytest.mark.parametrize("rule", ["skipped", "blind", "seen-only", "early", "two-versions", "fence"])
def test_the_rule_that_was_left_out_is_named_with_the_step_it_stops(rule: str) -> None:
    left_out = frozenset({rule})
    found = ask(Question(new_session("full-ladder", left_out=left_out)), budget=Budget(seconds=120.0))
    savings = what_saves(Session("full-ladder", {}, left_out, found.steps))
    assert [one.rule for one in savings if one.rule] == [rule]
    for one in savings:
        kept = Session("full-ladder", {}, left_out - {one.rule}, one.steps)
        assert Severity.DAMAGE not in {verdict.severity for verdict in show(kept).verdicts}
