"""Where a change stands: a rollback is of its own plan, never of another one."""

from dataclasses import replace

from changes.executor.state import Direction, Execution, execution_from_json
from tests.changes.tables import every_plan

PLANS = every_plan()
ADD, DROP = PLANS["add an index"], PLANS["drop an index"]


def test_another_plan_has_a_rollback_of_its_own() -> None:
    state = Execution(1, ADD, direction=Direction.BACK, published=2)
    steps = state.steps
    assert replace(state, plan=DROP, published=1).steps != steps
    assert replace(replace(state, plan=DROP), plan=ADD).steps == steps
    again = execution_from_json(state.to_json())
    assert (again, again.steps) == (state, steps)
