"""A plan that somebody wrote: a statement, and the steps they would take instead of the planner's.

    {"statement": "CREATE INDEX by_age ON users (age)",
     "steps": ["publish delete-only", "drain", "publish write-only filling", "drain",
               "clear", "fill", "verify", "close", "publish public", "drain", "purge"]}

A statement that moves several elements names them: "publish age write-only filling, by_age write-only filling",
"fill age, by_age"; a reorganisation that names none works on what the planner's own works on.

The planner says what the elements and the table are; the steps say the rest. Nothing is judged
here: a plan that breaks its data is what `changes.review` and the explorer are asked about.
What `manage.py plan --json` prints is read too: its "plan" has every version written out.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from catalog.descriptor import Descriptor
from catalog.elements import Index, Kind, State
from changes.back import moving
from changes.composer import FILLED
from changes.movement import definition_of, drain, publish, state_of, with_new, with_state
from changes.plan import (
    COLUMNS,
    RUNS,
    Direction,
    Element,
    Plan,
    Step,
    StepKind,
    is_point_of_no_return,
    plan_from_json,
)
from changes.safety import DEFINED

STEPS_MAX = 60
FILLING = "filling"


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
    """The plan's elements on another road. `turn` is the number of the step of no return, counted from 1."""
    if not 1 <= len(steps) <= STEPS_MAX:
        raise MalformedPlan(f"a plan has 1 to {STEPS_MAX} steps, not {len(steps)}")
    if not moving(plan) or any(element.kind is Kind.DERIVED_COLUMN for element in moving(plan)):
        raise MalformedPlan(f"the steps of {plan.title} can't be rewritten in words: write the plan in full")
    road: list[Step] = []
    last = plan.base
    for number, text in enumerate(steps, 1):
        step = _step(plan, last, number, text)
        road.append(step)
        last = step.descriptor or last
    if not any(step.kind is StepKind.PUBLISH for step in road):
        raise MalformedPlan('a plan publishes at least one version: "publish delete-only"')
    return replace(plan, forward=tuple(road), turn=_turn(plan, road, turn), dangers=())


def _step(plan: Plan, last: Descriptor | None, number: int, text: str) -> Step:
    known = {kind.value: kind for kind in StepKind}
    word, _, rest = text.strip().partition(" ")
    kind = known.get(word)
    if kind is None:
        raise MalformedPlan(f"step {number}, {text!r}, is none of {', '.join(known)}")
    if kind is StepKind.PUBLISH:
        return publish(last, _version(plan, last, number, rest), moving(plan))
    if rest and kind not in RUNS:
        raise MalformedPlan(f"step {number}: {kind.value} stands alone, without {rest!r}")
    elements = _works_on(plan, kind, number, rest) if kind in RUNS else ()
    if last is None:
        raise MalformedPlan(f"step {number}, {kind.value}, comes before the table's first version is published")
    return drain(last) if kind is StepKind.DRAIN else Step(kind, last.version, elements=elements)


def _works_on(plan: Plan, kind: StepKind, number: int, rest: str) -> tuple[Element, ...]:
    """The elements of a reorganisation: those named, else those that the planner gives this kind."""
    if rest:
        return tuple(_named(plan, number, name.strip())[0] for name in rest.split(","))
    own = [step.elements for step in plan.forward if step.kind is kind]
    return own[0] if own else moving(plan)


def _named(plan: Plan, number: int, text: str) -> tuple[Element, str]:
    """The element that a text begins with, and what follows; a plan with one element needs no name."""
    for element in moving(plan):
        for name in (str(element), element.name):
            if text == name or text.startswith(f"{name} "):
                return element, text[len(name) :].strip()
    known = ", ".join(element.name for element in moving(plan))
    raise MalformedPlan(f"step {number}: {text!r} names none of {known}")


def _version(plan: Plan, last: Descriptor | None, number: int, rest: str) -> Descriptor:
    """The version that "publish STATE", or "publish NAME STATE filling, NAME STATE", means."""
    here, parts = last, [_part(plan, number, part.strip()) for part in rest.split(",")]
    for element, words in sorted(parts, key=_columns_around):
        here = _with(plan, here, number, element, words)
    assert here is not None, "a text has at least one part"
    return replace(here, version=(last.version if last else 0) + 1)


def _columns_around(part: tuple[Element, list[str]]) -> int:
    """A column comes before what covers it, and goes after it, in the same version."""
    element, words = part
    if element.kind not in COLUMNS:
        return 1
    return 2 if words[:1] == [State.ABSENT.value] else 0


def _part(plan: Plan, number: int, text: str) -> tuple[Element, list[str]]:
    """An element and the words behind it; the only one needs no name."""
    only, word = moving(plan)[0], text.split(" ")[0]
    if len(moving(plan)) == 1 and word != only.name:
        return only, text.split()
    element, words = _named(plan, number, text)
    return element, words.split()


def _with(plan: Plan, here: Descriptor | None, number: int, element: Element, words: list[str]) -> Descriptor:
    """The version with one element in the state that `words` say."""
    states = {state.value: state for state in State if state in DEFINED[element.kind]}
    if not words or words[0] not in states or words[1:] not in ([], [FILLING]):
        raise MalformedPlan(f"step {number}: publish one of {', '.join(states)}, not {' '.join(words)!r}")
    is_filling = words[1:] == [FILLING]
    if is_filling and element.kind not in FILLED:
        raise MalformedPlan(f"step {number}: a {element.kind.value} is never filling")
    state = states[words[0]]
    if here is not None and state_of(here, element) is not State.ABSENT:
        _check_uncovered(here, number, element, state)
        return with_state(here, element, state, filling=is_filling)
    if state is State.ABSENT or element not in plan.moving(Direction.ADD):
        raise MalformedPlan(f"step {number}: {element} is absent before it; it can't be published {state.value}")
    if here is None:
        return replace(plan.publishes[0].published, state=state)
    found = definition_of(element, (step.published for step in plan.publishes))
    if isinstance(found, Index) and not {column.id for column in here.columns} >= set(found.column_ids):
        raise MalformedPlan(f"step {number}: {element} comes before a column that it covers")
    return with_state(here if found is None else with_new(here, found), element, state, filling=is_filling)


def _check_uncovered(here: Descriptor, number: int, element: Element, state: State) -> None:
    if state is not State.ABSENT or element.kind not in COLUMNS:
        return
    left = [index.name for index in here.indexes if element.id in index.column_ids]
    if left:
        raise MalformedPlan(f"step {number}: {element} can't be absent while {', '.join(left)} covers it")


def _turn(plan: Plan, road: Sequence[Step], wish: object) -> int:
    """From which step on there is no way back (X6); as the planner sets it, unless the plan says otherwise."""
    final = (at for at, step in enumerate(road) if is_point_of_no_return(plan.moves, step))
    usual = next(final, len(road))
    if wish is None:
        return usual
    if not isinstance(wish, int) or isinstance(wish, bool) or not 1 <= wish <= usual + 1:
        raise MalformedPlan(f"turn is the number of the step of no return: 1 to {usual + 1}, not {wish!r}")
    return wish - 1


def _in_full(body: Mapping[str, Any]) -> Plan:
    try:
        plan = plan_from_json(body)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        message = f'"plan" must be as manage.py plan --json prints it: {error!r} is wrong or missing'
        raise MalformedPlan(message) from error
    if not plan.publishes or any(step.descriptor is None for step in plan.publishes):
        raise MalformedPlan("a plan in full publishes at least once, each time transitions and a descriptor")
    if not 1 <= len(plan.forward) <= STEPS_MAX or not 0 <= plan.turn <= len(plan.forward):
        raise MalformedPlan(f"a plan in full has 1 to {STEPS_MAX} steps, and its turn is one of them")
    return plan
