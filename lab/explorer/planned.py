"""The proof of an actual plan: its own steps and its own ways back, walked on the model's small table.

The planner's descriptors are the user's table; a proof is about the order of states and
reorganisations, which is the same whatever the columns are called. So each step of the plan
becomes a stop on the model's table, with the elements in the states that the plan gives them.

A plan of several elements is proved part by part, each along the whole road:

    ADD COLUMN x, ADD COLUMN y, CREATE INDEX by_x (x), CREATE INDEX by_z (z)
    parts: x with by_x; y; by_z

What has no column in common has no pair, no entry and no rule in common either: the clauses speak
of one element, or of an element and the columns it is made of. A part that fails turns the whole
change back, which for the others is a cancel, and those are taken at every moment there is one.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from catalog.elements import Column, Constraint, Index, Kind, State
from changes.back import moving, way_back
from changes.movement import definition_of, is_filling, state_of
from changes.plan import Direction, Element, Plan, Step, StepKind
from expressions.rows import columns_of
from lab.explorer.model import COLUMNS, INDEXES, BadModel, Model, Stage
from lab.explorer.road import Do, Road, Stops
from lab.explorer.search import Budget, Watch
from lab.explorer.verdict import Answer, Verdict, explore

PROMPTLY = Budget(states=500_000, seconds=2.0)
DOES = {
    StepKind.CLEAR: Do.CLEAR,
    StepKind.FILL: Do.FILL,
    StepKind.VERIFY: Do.VERIFY,
    StepKind.DELETE: Do.DELETE,
    StepKind.PURGE: Do.PURGE,
}
"""What each step is in the model. The end of a fill closes its run, so `close` needs no stop of its own."""


@dataclass(frozen=True, slots=True)
class Part:
    """Some of a plan's elements, the model that stands for them, and the plan's road there."""

    elements: tuple[Element, ...]
    model: Model
    road: Road

    def __str__(self) -> str:
        return ", ".join(str(element) for element in self.elements)


def prove(plan: Plan, *, nodes: int = 3, budget: Budget = PROMPTLY, watch: Watch | None = None) -> Answer:
    """Explore `plan` with a cancel at any moment before its point of no return. Raises `BadModel`."""
    return prove_parts(parts_of(plan, nodes=nodes), budget=budget, watch=watch)


def prove_parts(parts: Sequence[Part], *, budget: Budget = PROMPTLY, watch: Watch | None = None) -> Answer:
    """One answer for all parts: the first that is not proved, or the proofs taken together."""
    answers: list[Answer] = []
    for part in parts:
        spent_s, spent = sum(answer.seconds for answer in answers), sum(answer.states for answer in answers)
        left = Budget(budget.states - spent, budget.seconds - spent_s)
        answer = explore(part.model, road=part.road, budget=left, watch=watch)
        if answer.verdict is not Verdict.PROVED:
            return answer
        answers.append(answer)
    return replace(
        answers[0],
        states=sum(answer.states for answer in answers),
        seconds=sum(answer.seconds for answer in answers),
        depth=max(answer.depth for answer in answers),
        sometimes=_together(answers),
    )


def _together(answers: Sequence[Answer]) -> dict[str, bool]:
    """What happened: in every part that was about it."""
    seen: dict[str, bool] = {}
    for answer in answers:
        seen |= {what: did and seen.get(what, True) for what, did in answer.sometimes.items()}
    return seen


def parts_of(plan: Plan, *, nodes: int) -> tuple[Part, ...]:
    """The parts of a plan. Raises `BadModel` where the model's table has no place for them."""
    groups = tuple(_groups(plan))
    if not groups:
        raise BadModel("names and defaults move no pair: there is nothing to explore")
    return tuple(_part(plan, group, nodes=nodes) for group in groups)


def _groups(plan: Plan) -> Iterator[tuple[Element, ...]]:
    """Each index or constraint with the moving columns that it is made of; the columns that nothing is made of."""
    elements = moving(plan)
    yield from _twins(plan)
    columns = [element for element in elements if element.kind in COLUMNS]
    used: set[int] = set()
    for element in elements:
        if element.kind in INDEXES or element.kind is Kind.CONSTRAINT:
            below = [column for column in columns if column.id in _made_of(plan, element)]
            used.update(column.id for column in below)
            yield (*below, element)
    yield from ((element,) for element in elements if element.kind in COLUMNS and element.id not in used)
    yield from ((element,) for element in elements if element.kind is Kind.TABLE)


def _twins(plan: Plan) -> Iterator[tuple[Element, ...]]:
    """Each column whose type changes, and its twin."""
    derived = [element for element in moving(plan) if element.kind is Kind.DERIVED_COLUMN]
    old = {element.id: element for element in derived if element in plan.moving(Direction.DROP)}
    for twin in plan.moving(Direction.ADD):
        definition = definition_of(twin, [step.published for step in plan.publishes])
        if isinstance(definition, Column) and definition.derived is not None:
            yield old[definition.derived.source], twin


def _made_of(plan: Plan, element: Element) -> frozenset[int]:
    """The columns that an index covers or a constraint reads."""
    if element.column is not None:
        return frozenset({element.column})
    versions = [*([plan.base] if plan.base is not None else []), *(step.published for step in plan.publishes)]
    definition = definition_of(element, versions)
    if isinstance(definition, Index):
        return frozenset(definition.column_ids) | columns_of(definition.where or "true")
    assert isinstance(definition, Constraint), f"{element} is described in some version"
    return frozenset(definition.columns)


def _part(plan: Plan, elements: tuple[Element, ...], *, nodes: int) -> Part:
    first = tuple(_first(plan, element) for element in elements)
    stages = [first, *(_stage(step, elements) for step in plan.publishes)]
    kind, *also = (element.kind for element in elements)
    road = tuple(stage for stage, _ in groupby(stages))
    model = Model(kind, road, also=tuple(also), nodes=nodes, cancels=True, check=_has_check(plan, elements))
    return Part(elements, model, _road(model, plan, elements))


def _first(plan: Plan, element: Element) -> State:
    is_added = any(move.element == element and move.direction is Direction.ADD for move in plan.moves)
    return State.ABSENT if is_added else State.PUBLIC


def _has_check(plan: Plan, elements: Sequence[Element]) -> bool:
    return any(element.kind is Kind.CONSTRAINT and element.column is None for element in elements)


def _road(model: Model, plan: Plan, elements: tuple[Element, ...]) -> Road:
    """The plan's steps as stops, and after them its ways back."""
    stops = Stops(model)
    published, leave = 0, []
    for number, step in enumerate(plan.forward):
        if published and number <= plan.turn:
            leave.append((len(stops.stops), published))
        before = len(stops.stops)
        _add(stops, step, elements)
        if len(stops.stops) == before and leave and leave[-1][0] == before:
            leave.pop()
        published += step.kind is StepKind.PUBLISH
    stops.add(Do.END)
    for at, done in leave:
        _add_way_back(stops, at, way_back(plan, done), elements)
    return stops.road


def digest(parts: Sequence[Part]) -> str:
    """Sixty-four hex characters for all that a proof depends on: plans that only name things differently share it."""
    text = json.dumps([_depends_on(part) for part in parts], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _depends_on(part: Part) -> list[object]:
    descriptors = [described.to_json() for described in part.road.descriptors]
    return [part.model.to_json(), descriptors, [repr(stop) for stop in part.road.stops]]


def _add(stops: Stops, step: Step, elements: tuple[Element, ...]) -> None:
    if step.kind is StepKind.PUBLISH:
        filling = frozenset(at for at, element in enumerate(elements) if is_filling(step.published, element))
        stops.publish(_stage(step, elements), filling=filling)
    elif step.kind is StepKind.DRAIN:
        stops.drain()
    elif step.kind is StepKind.DELETE:
        for element in step.elements:
            if element in elements:
                stops.add(Do.DELETE, parts=(elements.index(element),))
    elif step.kind in DOES and any(element in elements for element in step.elements):
        stops.add(DOES[step.kind])


def _add_way_back(stops: Stops, at: int, steps: Sequence[Step], elements: tuple[Element, ...]) -> None:
    """A cancel, or a verification that fails, goes on behind what is there."""
    left, back = stops.stops[at], len(stops.stops)
    stops.go_back_to(left)
    for step in steps:
        _add(stops, step, elements)
    stops.add(Do.END)
    stops.stops[at] = replace(left, cancel=back, otherwise=back if left.do is Do.VERIFY else None)


def _stage(step: Step, elements: Sequence[Element]) -> Stage:
    return tuple(state_of(step.published, element) for element in elements)
