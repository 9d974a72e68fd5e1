"""The proof of an actual plan: its own steps and its own ways back, walked on the model's small table.

The planner's descriptors are the user's table; a proof is about the order of states and
reorganisations, which is the same whatever the columns are called. So each step of the plan
becomes a stop on the model's table, with the element in the state that the plan gives it.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace

from catalog.elements import State
from changes.back import way_back
from changes.movement import is_filling, state_of
from changes.plan import Direction, Element, Plan, Step, StepKind
from lab.explorer.model import Model, Stage
from lab.explorer.road import Do, Road, Stops
from lab.explorer.search import Budget, Watch
from lab.explorer.verdict import Answer, explore

PROMPTLY = Budget(states=500_000, seconds=2.0)
DOES = {
    StepKind.CLEAR: Do.CLEAR,
    StepKind.FILL: Do.FILL,
    StepKind.VERIFY: Do.VERIFY,
    StepKind.DELETE: Do.DELETE,
    StepKind.PURGE: Do.PURGE,
}
"""What each step is in the model. The end of a fill closes its run, so `close` needs no stop of its own."""


def prove(plan: Plan, *, nodes: int = 3, budget: Budget = PROMPTLY, watch: Watch | None = None) -> Answer:
    """Explore `plan` with a cancel at any moment before its point of no return."""
    model = model_of(plan, nodes=nodes)
    return explore(model, road=road_of(model, plan), budget=budget, watch=watch)


def model_of(plan: Plan, *, nodes: int) -> Model:
    """The model whose road has the plan's states."""
    move = plan.moves[0]
    first = State.ABSENT if move.direction is Direction.ADD else State.PUBLIC
    stages = [(first,), *(_stage(step, move.element) for step in plan.publishes)]
    return Model(move.element.kind, tuple(stages), nodes=nodes, cancels=True)


def road_of(model: Model, plan: Plan) -> Road:
    """The plan's steps as stops, and after them its ways back."""
    stops = Stops(model)
    published, leave = 0, []
    for number, step in enumerate(plan.forward):
        if published and number <= plan.turn:
            leave.append((len(stops.stops), published))
        before = len(stops.stops)
        _add(stops, step, plan.moves[0].element)
        if len(stops.stops) == before and leave and leave[-1][0] == before:
            leave.pop()
        published += step.kind is StepKind.PUBLISH
    stops.add(Do.END)
    for at, done in leave:
        _add_way_back(stops, at, way_back(plan, done), plan.moves[0].element)
    return stops.road


def digest(model: Model, road: Road) -> str:
    """Sixty-four hex characters for all that a proof depends on: plans that only name things differently share it."""
    descriptors = [described.to_json() for described in road.descriptors]
    text = json.dumps([model.to_json(), descriptors, [repr(stop) for stop in road.stops]], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _add(stops: Stops, step: Step, element: Element) -> None:
    if step.kind is StepKind.PUBLISH:
        stops.publish(_stage(step, element), filling=is_filling(step.published, element))
    elif step.kind is StepKind.DRAIN:
        stops.drain()
    elif step.kind in DOES:
        stops.add(DOES[step.kind])


def _add_way_back(stops: Stops, at: int, steps: Sequence[Step], element: Element) -> None:
    """A cancel, or a verification that fails, goes on behind what is there."""
    left, back = stops.stops[at], len(stops.stops)
    stops.go_back_to(left)
    for step in steps:
        _add(stops, step, element)
    stops.add(Do.END)
    stops.stops[at] = replace(left, cancel=back, otherwise=back if left.do is Do.VERIFY else None)


def _stage(step: Step, element: Element) -> Stage:
    return (state_of(step.published, element),)
