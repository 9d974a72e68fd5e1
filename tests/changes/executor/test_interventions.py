"""What people may do to a change: every intervention, wherever every kind of change stands (X4, X6)."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from changes.executor.events import CancelRequested, PauseRequested, RefuseCancel, ResumeRequested
from changes.executor.interventions import (
    THROTTLE_MAX,
    THROTTLE_MIN,
    THROTTLE_STEPS,
    Intervention,
    Standing,
    nearest_step,
    why_no_retry,
    why_not,
    why_not_each,
    why_not_whose,
)
from changes.executor.machine import step
from changes.executor.state import Direction, Execution, Mode
from changes.plan.model import Plan, StepKind
from changes.plan.rollback import rollback_steps
from tests.changes.planning.test_foreign_keys import PLANS as FOREIGN_KEYS
from tests.changes.tables import every_plan

PLANS = every_plan() | {f"foreign key {name}": plan for name, plan in FOREIGN_KEYS.items()}
EVERY_PLAN = pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS.keys())
MODES = {Mode.ASKING: "running", Mode.WAITING: "waiting", Mode.PAUSED: "paused", Mode.LEASE_LOST: "running"}
EVENTS = {
    Intervention.CANCEL: CancelRequested,
    Intervention.PAUSE: PauseRequested,
    Intervention.RESUME: ResumeRequested,
}


def places(plan: Plan) -> Iterator[Standing]:
    """Wherever a change of this plan may stand: on its way, past its point of no return, rolling back, ended."""
    yield Standing("queued", Execution(1, plan))
    published = 0
    for position, at in enumerate(plan.forward):
        for mode, status in MODES.items():
            here = Execution(1, plan, mode, position=position, published=published, asked=mode is not Mode.LEASE_LOST)
            yield Standing(status, here)
            if not here.is_past_return:
                back = replace(here, direction=Direction.BACK, position=0, cancelled_by="bob")
                if back.step is not None:
                    yield Standing("paused" if mode is Mode.PAUSED else "rolling_back", back)
        published += at.kind is StepKind.PUBLISH
    over = Execution(1, plan, Mode.ENDED, position=len(plan.forward), published=published)
    yield Standing("done", over)
    yield Standing("cancelled", Execution(1, plan))
    yield Standing("failed", Execution(1, plan))


@EVERY_PLAN
def test_every_intervention_has_an_answer_wherever_a_change_stands(plan: Plan) -> None:
    """And the steps back are there to be shown whenever a cancel would be accepted."""
    seen = set()
    for standing in places(plan):
        answers = why_not_each(standing)
        seen |= {(name, why is None) for name, why in answers.items()}
        assert not standing.has_ended or all(f"has ended: {standing.status}" in str(why) for why in answers.values())
        assert (answers["pause"] is None) != (answers["resume"] is None) or standing.has_ended
        if answers["cancel"] is None:
            rollback_steps(plan, standing.state.published)
    assert seen == {(one.value, may) for one in Intervention for may in (True, False)}


@EVERY_PLAN
def test_the_machine_takes_what_is_allowed_and_refuses_a_cancel_in_the_same_words(plan: Plan) -> None:
    for standing in places(plan):
        if standing.state.mode is Mode.QUEUED:
            continue  # it is ended without the machine
        for intervention, event in EVENTS.items():
            why = why_not(intervention, standing)
            if intervention is not Intervention.CANCEL and why is not None:
                continue  # nobody asks the machine
            _, effects = step(standing.state, event("bob"), 0.0)
            refused = [effect.reason for effect in effects if isinstance(effect, RefuseCancel)]
            assert refused == ([] if why is None else [why])


def test_a_slider_stands_at_the_step_that_is_nearest() -> None:
    assert [THROTTLE_STEPS[nearest_step(rows)] for rows in (0.4, 10, 13, 18, 499, 160_000, 10**9)] == [
        10, 10, 10, 20, 500, 200_000, 1_000_000,
    ]  # fmt: skip
    assert all(THROTTLE_MIN <= step <= THROTTLE_MAX for step in THROTTLE_STEPS)


@pytest.mark.parametrize(
    ("status", "alike", "why"),
    [
        pytest.param("failed", None, None, id="a failed one"),
        pytest.param("cancelled", None, None, id="a cancelled one"),
        pytest.param("done", None, "there is nothing to try again", id="one that is done"),
        pytest.param("rolling_back", None, "has not ended: it is rolling back", id="one that is under way"),
        pytest.param("failed", (9, "queued"), "change 9 tries the same already: it is queued", id="tried already"),
        pytest.param("failed", (9, "done"), "change 9 has done the same", id="done by a later one"),
    ],
)
def test_a_statement_is_submitted_again_when_that_makes_sense(
    status: str, alike: tuple[int, str] | None, why: str | None
) -> None:
    assert (why or "") in (why_no_retry(7, status, alike) or "")
    assert (why_no_retry(7, status, alike) is None) is (why is None)


def standing(status: str = "running", *requests: str, **of: object) -> Standing:
    plan = PLANS["add an index"]
    modes = {"running": Mode.ASKING, "waiting": Mode.WAITING, "paused": Mode.PAUSED, "queued": Mode.QUEUED}
    state = replace(Execution(7, plan, modes[status], asked=status == "running"), **of)
    return Standing(status, state, tuple({"wish": request, "who": "ann"} for request in requests))


@pytest.mark.parametrize(
    ("at", "cancel", "pause", "resume"),
    [
        pytest.param(standing(), None, None, "not paused: it is running", id="running"),
        pytest.param(standing("queued"), None, None, "not paused: it is queued", id="queued"),
        pytest.param(standing("paused"), None, "is paused already", None, id="paused"),
        pytest.param(standing("running", "pause"), None, "about to pause: ann asked for it", None, id="a pause asked"),
        pytest.param(standing("running", "cancel"), "being cancelled: ann", None, "not paused", id="a cancel asked"),
        pytest.param(standing(cancel_wanted="eve"), "being cancelled: eve", None, "not paused", id="a cancel heard"),
        pytest.param(standing(pause_wanted="eve"), None, "about to pause: eve", None, id="a pause heard, not come to"),
        pytest.param(standing("paused", "resume"), None, None, "about to go on: ann", id="a resume asked"),
        pytest.param(standing("running", "pause", "resume"), None, None, "not paused", id="a pause taken back"),
        pytest.param(standing("paused", "resume", "pause"), None, "about to pause: ann", None, id="and wanted again"),
    ],
)
def test_what_was_asked_for_and_not_come_to_counts(
    at: Standing, cancel: str | None, pause: str | None, resume: str | None
) -> None:
    for intervention, expected in zip(Intervention, (cancel, pause, resume), strict=True):
        why = why_not(intervention, at)
        assert why is None if expected is None else expected in str(why), intervention


def test_only_the_submitter_and_operators_touch_a_change_when_the_setting_says_so() -> None:
    assert why_not_whose("ann", "ann", may_steer_all=False) is None
    assert why_not_whose("ann", "bob", may_steer_all=True) is None
    assert "only ann and operators" in str(why_not_whose("ann", "bob", may_steer_all=False))
