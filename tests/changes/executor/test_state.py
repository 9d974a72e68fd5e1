"""Where a change stands: the rollback is worked out once, and never for another plan."""

from dataclasses import replace

import pytest

from changes.executor import state as execution
from changes.executor.state import Direction, Execution, Mode, execution_from_json
from tests.changes.tables import every_plan

PLANS = every_plan()
ADD, DROP = PLANS["add an index"], PLANS["drop an index"]


def test_the_rollback_is_worked_out_once_from_state_to_state(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(execution, "rollback_steps", lambda plan, published: asked.append(published) or ())
    state = Execution(1, ADD, direction=Direction.BACK, published=2)
    for position in range(3):
        state = replace(state, position=position, mode=Mode.WAITING)
        assert (state.steps, state.version) == ((), ADD.base_version + 2)
    assert asked == [2]
    assert replace(state, published=1).steps == ()
    assert asked == [2, 1]


def test_another_plan_has_a_rollback_of_its_own() -> None:
    state = Execution(1, ADD, direction=Direction.BACK, published=2)
    steps = state.steps
    assert replace(state, plan=DROP, published=1).steps != steps
    assert replace(replace(state, plan=DROP), plan=ADD).steps == steps
    again = execution_from_json(state.to_json())
    assert (again, again.steps) == (state, steps)
