"""The planner's own plans are proved, and a plan without one of its steps is not."""

from dataclasses import replace

import pytest

from changes.plan import Plan, StepKind
from lab.explorer.planned import model_of, prove, road_of
from lab.explorer.search import Budget
from lab.explorer.verdict import Verdict
from tests.changes.tables import plans

PLANS = plans()
PATIENTLY = Budget(seconds=120.0)
"""What is proved does not depend on how busy the machine is; how fast it goes is the benchmarks' matter."""


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_as_it_is_planned_is_proved_for_three_nodes(name: str) -> None:
    answer = prove(PLANS[name], budget=PATIENTLY)
    assert answer.verdict is Verdict.PROVED, answer.why
    assert not answer.is_vacuous, answer.sometimes


@pytest.mark.parametrize(
    ("name", "without", "clause"),
    [
        pytest.param("add an index", StepKind.FILL, "C4", id="no fill"),
        pytest.param("drop an index", StepKind.DELETE, "C3", id="no deletion"),
        pytest.param("drop a table", StepKind.DELETE, "C1", id="rows are left"),
    ],
)
def test_a_plan_without_a_step_has_a_counterexample(name: str, without: StepKind, clause: str) -> None:
    plan = PLANS[name]
    kept = tuple(step for step in plan.forward if step.kind is not without)
    answer = prove(replace(plan, forward=kept), budget=PATIENTLY)
    assert answer.verdict is Verdict.VIOLATED
    assert answer.clauses == (clause,)
    assert len(answer.sentences) == len(answer.steps)


def test_every_step_before_the_point_of_no_return_can_be_cancelled() -> None:
    plan: Plan = PLANS["add an index"]
    stops = road_of(model_of(plan, nodes=3), plan).stops
    forward = stops[: next(n for n, stop in enumerate(stops) if stop.do.value == "end") + 1]
    assert [stop.do.value for stop in forward] == [
        "publish",
        "drain",
        "publish",
        "drain",
        "clear",
        "fill",
        "verify",
        "publish",
        "drain",
        "purge",
        "end",
    ]
    assert [stop.cancel is not None for stop in forward] == [False] + [True] * 7 + [False] * 3
