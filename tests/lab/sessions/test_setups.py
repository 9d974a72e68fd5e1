"""Set-ups: each begins, leaves out what it says it may, and refuses what it does not know, by name."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from lab.explorer.rules_left_out import Broken
from lab.sessions.model.setups import MODEL_SETUPS, PROTECTS
from lab.sessions.replay import new_session, show
from lab.sessions.session import BadSession, Session, Value
from lab.sessions.setups import SETUPS, every_setup

PAGE = Path(__file__).parents[3] / "docs/reference/sessions.md"
BEGINS = {name: setup for name, setup in every_setup().items() if name != "model"}


@pytest.mark.parametrize("name", BEGINS)
def test_a_session_begins_with_all_the_steps_of_its_set_up(name: str) -> None:
    session = new_session(name)
    assert session.steps == BEGINS[name].begins
    shown = show(session)
    assert shown.refused is None
    assert shown.verdicts == ()
    assert any(not offer.why_not for offer in shown.offers)


@pytest.mark.parametrize("name", sorted(set(BEGINS) & set(MODEL_SETUPS) - {"variant"}))
def test_every_rule_that_a_set_up_may_leave_out_can_be(name: str) -> None:
    for one in SETUPS[name].may_leave_out:
        session = new_session(name, left_out=frozenset({one.id}))
        assert show(session).refused is None
        assert set(session.steps) <= set(SETUPS[name].begins)
    everything = frozenset(one.id for one in SETUPS[name].may_leave_out)
    assert show(Session(name, {}, everything)).offers


def test_the_reference_has_every_set_up() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    assert {name for row in rows for name in re.findall(r"`([a-z-]+)`", row.split("|")[1])} == set(every_setup())


def test_every_rule_of_the_explorer_has_a_word_on_what_it_protects() -> None:
    assert set(PROTECTS) == {broken.value for broken in Broken} | {"fence", "two-versions"}


@pytest.mark.parametrize(
    ("setup", "parameters", "left_out", "says"),
    [
        pytest.param("no-such", {}, [], "there is no set-up no-such; set-ups are: ", id="set-up"),
        pytest.param("one-jump", {"row": [1]}, [], "has no parameter row; its parameters: rows", id="parameter"),
        pytest.param("one-jump", {}, ["snapshot"], "cannot leave out snapshot; rules that it can: fence", id="rule"),
        pytest.param("one-jump", {"rows": "1"}, [], "rows cannot be '1': it is like []", id="type"),
        pytest.param("one-jump", {"rows": [1] * 21}, [], "rows has 21 members, at most 20", id="length"),
        pytest.param("one-jump", {"rows": [1, 1]}, [], "rows 1, 1: such rows cannot be there", id="rows"),
        pytest.param("one-jump", {"rows": ["x"]}, [], "rows x: such rows cannot be there", id="a row"),
        pytest.param("optional-column", {"states": "public"}, [], "at least two versions", id="one state"),
        pytest.param("optional-column", {"states": "absent,huge"}, [], "unknown state 'huge'", id="a state"),
        pytest.param("optional-column", {"states": "x" * 5_000}, [], "has 5000 characters", id="too long"),
        pytest.param("optional-column", {"states": True}, [], "states cannot be True", id="yes"),
        pytest.param("variant", {"name": "nobody"}, [], "there is no built-in model nobody", id="variant"),
        pytest.param("model", {"model": "{"}, [], "this is no model", id="JSON"),
        pytest.param("model", {"model": "[" * 4_000}, [], "this is no model", id="nested JSON"),
        pytest.param("model", {}, [], "this is no model", id="no model"),
        pytest.param("model", {"model": "[]"}, [], "this is no model: a model is a JSON object", id="a list"),
        pytest.param("model", {"model": '{"kind": "index", "road": "x"}'}, [], "road is a list of names", id="road"),
    ],
)
def test_what_a_set_up_does_not_know_is_refused_by_name(
    setup: str, parameters: dict[str, Value], left_out: list[str], says: str
) -> None:
    with pytest.raises(BadSession) as refused:
        show(Session(setup, parameters, frozenset(left_out)))
    assert says in str(refused.value)


def test_a_rule_left_out_of_a_planners_plan_is_left_out_of_the_same_versions() -> None:
    kept = show(Session("variant", {"name": "add-index"}))
    left = show(Session("variant", {"name": "add-index"}, frozenset({"blind"})))
    published = [[str(step.text) for step in one.cluster.plan if "publish" in str(step.text)] for one in (kept, left)]
    assert published[0] == published[1]


def test_first_rows_are_there_before_the_first_step() -> None:
    shown = show(Session("full-ladder", {"rows": [2]}))
    assert [(pair.sort, pair.row, pair.value) for pair in shown.cluster.pairs] == [
        ("row", "1", ""),
        ("value", "1", "2"),
    ]
    given = show(Session("full-ladder", steps=("given.2",)))
    assert [replace(pair, difference="") for pair in given.cluster.pairs] == [  # type: ignore[arg-type]
        replace(pair, difference="")  # type: ignore[arg-type]
        for pair in shown.cluster.pairs
    ]
    assert str(given.trace[0].text) == "at first there is row 1 (a = 2)"
