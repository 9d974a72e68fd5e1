"""A plan that somebody wrote: a statement, and the steps they would take instead of the planner's.

    {"statement": "CREATE INDEX by_age ON users (age)",
     "steps": ["publish delete-only", "drain", "publish write-only filling", "drain",
               "clear", "fill", "verify", "close", "publish public", "drain", "purge"]}

The planner says what the element and the table are; the steps say the rest. Nothing is judged
here: a plan that breaks its data is what `changes.review` and the explorer are asked about.
What `manage.py plan --json` prints is read too: its "plan" has every version written out.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from catalog.descriptor import Descriptor
from catalog.elements import Kind, State
from changes.plan import Direction, Plan, Step, StepKind, drain, moved, plan_from_json, publish, state_of
from changes.safety import DEFINED

STEPS_MAX = 60
FILLING = "filling"
FILLED = frozenset({Kind.INDEX, Kind.UNIQUE_INDEX})
"""The kinds of element that a version can have filling."""


class MalformedPlan(ValueError):
    """What was written is no plan; says which part, and what would be right."""


def read_plan(body: object, planned: Callable[[str], Plan]) -> Plan:
    """The plan that `body` describes; `planned` is the planner. Raises `MalformedPlan`, and what the planner raises."""
    if not isinstance(body, Mapping):
        raise MalformedPlan('a plan is an object with "statement" and "steps"')
    if isinstance(body.get("plan"), Mapping):
        return _in_full(body["plan"])
    statement, steps = body.get("statement"), body.get("steps")
    if not isinstance(statement, str) or not isinstance(steps, list) or not all(isinstance(s, str) for s in steps):
        raise MalformedPlan('a plan has "statement", a text, and "steps", a list of texts such as "publish public"')
    return rewritten(planned(statement), steps, turn=body.get("turn"))


def rewritten(plan: Plan, steps: Sequence[str], *, turn: object = None) -> Plan:
    """The plan's element on another road. `turn` is the number of the step of no return, counted from 1."""
    if not 1 <= len(steps) <= STEPS_MAX:
        raise MalformedPlan(f"a plan has 1 to {STEPS_MAX} steps, not {len(steps)}")
    road: list[Step] = []
    last = plan.base
    for number, text in enumerate(steps, 1):
        step = _step(plan, last, number, text.split())
        road.append(step)
        last = step.descriptor or last
    if not any(step.kind is StepKind.PUBLISH for step in road):
        raise MalformedPlan('a plan publishes at least one version: "publish delete-only"')
    return replace(plan, forward=tuple(road), turn=_turn(plan, road, turn), dangers=())


def _step(plan: Plan, last: Descriptor | None, number: int, words: list[str]) -> Step:
    known = {kind.value: kind for kind in StepKind}
    kind = known.get(words[0]) if words else None
    if kind is None:
        raise MalformedPlan(f"step {number}, {' '.join(words)!r}, is none of {', '.join(known)}")
    if kind is StepKind.PUBLISH:
        after = _version(plan, last, number, words[1:])
        return publish(last, after, plan.element)
    if len(words) > 1:
        raise MalformedPlan(f"step {number}: {kind.value} stands alone, without {' '.join(words[1:])!r}")
    if last is None:
        raise MalformedPlan(f"step {number}, {kind.value}, comes before the table's first version is published")
    return drain(last) if kind is StepKind.DRAIN else Step(kind, last.version)


def _version(plan: Plan, last: Descriptor | None, number: int, words: list[str]) -> Descriptor:
    """The version that "publish STATE" or "publish STATE filling" means."""
    kind = plan.element.kind
    states = {state.value: state for state in State if state in DEFINED[kind]}
    if not words or words[0] not in states or words[1:] not in ([], [FILLING]):
        raise MalformedPlan(f"step {number}: publish one of {', '.join(states)}, not {' '.join(words)!r}")
    is_filling = words[1:] == [FILLING]
    if is_filling and kind not in FILLED:
        raise MalformedPlan(f"step {number}: a {kind.value} is never filling")
    state = states[words[0]]
    if last is not None and state_of(last, plan.element) is not State.ABSENT:
        return moved(last, plan.element, state, filling=is_filling)
    if state is State.ABSENT or plan.direction is Direction.DROP:
        raise MalformedPlan(f"step {number}: {plan.element} is absent before it; it can't be published {state.value}")
    first = plan.publishes[0].descriptor
    assert first is not None, "a publish has a descriptor"
    return replace(moved(first, plan.element, state, filling=is_filling), version=(last.version if last else 0) + 1)


def _turn(plan: Plan, road: Sequence[Step], wish: object) -> int:
    """From which step on there is no way back (X6); as the planner sets it, unless the plan says otherwise."""
    usual = next((at for at, step in enumerate(road) if _is_final(plan, step)), len(road))
    if wish is None:
        return usual
    if not isinstance(wish, int) or isinstance(wish, bool) or not 1 <= wish <= usual + 1:
        raise MalformedPlan(f"turn is the number of the step of no return: 1 to {usual + 1}, not {wish!r}")
    return wish - 1


def _is_final(plan: Plan, step: Step) -> bool:
    if plan.direction is Direction.ADD:
        return step.after is State.PUBLIC
    hides = step.after is State.DELETE_ONLY and plan.element.kind is not Kind.TABLE
    return hides or step.kind is StepKind.DELETE or step.after is State.ABSENT


def _in_full(body: Mapping[str, Any]) -> Plan:
    try:
        plan = plan_from_json(body)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        message = f'"plan" must be as manage.py plan --json prints it: {error!r} is wrong or missing'
        raise MalformedPlan(message) from error
    if not plan.publishes or any(step.descriptor is None for step in plan.publishes):
        raise MalformedPlan("a plan in full publishes at least once, each time a before, an after and a descriptor")
    if not 1 <= len(plan.forward) <= STEPS_MAX or not 0 <= plan.turn <= len(plan.forward):
        raise MalformedPlan(f"a plan in full has 1 to {STEPS_MAX} steps, and its turn is one of them")
    return plan
