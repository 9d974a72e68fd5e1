"""Plans that people wrote: read as they mean them, and refused where they mean nothing."""

import json
from typing import Any

import pytest

from catalog.elements import State
from changes.plan.model import Plan, StepKind
from changes.planning.custom_plan import MalformedPlan, read_plan
from changes.review.check import find_faults
from tests.changes.tables import plans

PLANS = plans()
STEPS = {
    "add a table": ["publish delete-only", "drain", "publish public", "drain"],
    "drop a table": ["publish delete-only", "drain", "delete", "publish absent", "drain"],
    "add an index": [
        "publish delete-only", "drain", "publish write-only filling", "drain",
        "fill", "verify", "close", "publish public", "drain", "purge",
    ],
    "drop an index": [
        "publish write-only", "drain", "publish delete-only", "drain", "delete", "publish absent", "drain",
    ],
}  # fmt: skip


def written(name: str, **body: Any) -> Plan:
    return read_plan({"statement": name} | body, PLANS.__getitem__)


@pytest.mark.parametrize("name", STEPS)
def test_the_planners_own_steps_written_by_hand_are_its_plan(name: str) -> None:
    plan = written(name, steps=STEPS[name])
    assert (plan.forward, plan.point_of_no_return) == (PLANS[name].forward, PLANS[name].point_of_no_return)


@pytest.mark.parametrize("name", STEPS)
def test_what_the_command_prints_is_read_again(name: str) -> None:
    printed = json.loads(json.dumps({"plan": PLANS[name].to_json(), "proof": {}}))
    assert read_plan(printed, PLANS.__getitem__) == PLANS[name]


def test_an_index_may_be_published_in_one_jump_and_is_judged_for_it() -> None:
    plan = written("add an index", steps=["publish public", "drain"])
    assert plan.publishes[0].transitions[0].after is State.PUBLIC
    assert plan.point_of_no_return == 0
    assert find_faults(plan)[0].clauses == ("C3", "C4")


def test_steps_may_come_in_any_order_and_number() -> None:
    plan = written("add an index", steps=["publish delete-only", "publish delete-only", "fill"])
    assert [step.version for step in plan.forward] == [3, 4, 4]
    assert plan.point_of_no_return == 3


def test_no_return_may_be_earlier_than_it_must() -> None:
    assert written("add an index", steps=STEPS["add an index"], turn=5).point_of_no_return == 4


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param([], 'a plan is an object with "statement" and "steps"', id="no object"),
        pytest.param({"steps": "drain"}, '"statement" is a text, and "steps" a list', id="no list"),
        pytest.param({"steps": []}, "a plan has 1 to 60 steps, not 0", id="no steps"),
        pytest.param({"steps": ["drain"] * 61}, "a plan has 1 to 60 steps, not 61", id="too many"),
        pytest.param({"steps": ["dance"]}, "step 1: 'dance' does not begin with one of publish, drain", id="no step"),
        pytest.param({"steps": ["publish"]}, "step 1: `publish` needs one of absent, delete-only", id="no state"),
        pytest.param({"steps": ["publish write only"]}, "not 'write only'", id="a state misspelt"),
        pytest.param({"steps": ["close by_name"]}, "step 1: `close` stands alone, without 'by_name'", id="a word more"),
        pytest.param({"steps": ["fill by_age"]}, "'by_age' names no element; there are: by_name", id="another element"),
        pytest.param({"steps": ["drain"]}, "a plan publishes at least one version", id="nothing is published"),
        pytest.param({"steps": ["publish absent"]}, "index by_name is already absent", id="absent twice"),
        pytest.param({"steps": ["publish public"], "turn": 3}, "1 to 1, not 3", id="a turn too late"),
        pytest.param({"plan": {"forward": []}}, "must be as `manage.py plan --json` prints it", id="not in full"),
    ],
)
def test_what_is_no_plan_is_refused_in_words(body: Any, message: str) -> None:
    with pytest.raises(MalformedPlan) as refused:
        read_plan({"statement": "add an index"} | body if isinstance(body, dict) else body, PLANS.__getitem__)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("name", "steps", "message"),
    [
        pytest.param("add a table", ["publish write-only"], "needs one of absent, delete-only, public", id="a table"),
        pytest.param("add a table", ["publish public filling"], "a table is never filling", id="nothing to fill"),
        pytest.param("add a table", ["drain"], "comes before the table's first version", id="no table yet"),
        pytest.param(
            "drop an index", ["publish absent", "publish public"], "step 2: index by_name is already absent", id="gone"
        ),
    ],
)
def test_each_element_has_its_own_limits(name: str, steps: list[str], message: str) -> None:
    with pytest.raises(MalformedPlan) as refused:
        written(name, steps=steps)
    assert message in str(refused.value)


def test_a_plan_without_its_verification_has_that_fault() -> None:
    steps = [step for step in STEPS["add an index"] if step != StepKind.VERIFY.value]
    assert [str(fault.why) for fault in find_faults(written("add an index", steps=steps))] == [
        "index by_name is public without `verify`: no run has checked that every row satisfies it (R10)"
    ]
