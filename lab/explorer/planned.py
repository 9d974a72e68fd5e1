"""The proof of an actual plan: its own steps and its own steps back, on the model's small tables.

A proof is about the order of states and reorganisations, whatever the columns are called. A plan of several elements is
proved part by part, each along the whole plan: elements without a common column share no pair and no rule. A part that
fails turns the whole change back, which is a cancel for the others, and cancels are explored at every moment.

A foreign key is a part of its own on two tables, with a column of it that moves in the same plan, unless that is public
in every version that enforces the key. A table that refers to itself is a part if all that the key needs is public
wherever it is enforced. A part without a model makes the whole plan unknown; the others are explored all the same.
"""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, Constraint, Index, Kind, PlacementId, State
from catalog.text.message import Text, Values, clauses, listed
from catalog.values.types import WHOLE
from changes.plan.element_states import columns_read, definition_of, is_filling, partner_of, state_of
from changes.plan.model import Element, MoveKind, Plan, Step, StepKind
from changes.plan.rollback import moving, partners_after, rollback_steps
from lab.explorer.model import BadModel, Model, Stage
from lab.explorer.plans.program import Program, program, program_of
from lab.explorer.plans.small_tables import elements_of, tables_of
from lab.explorer.spaces.search import Budget, Watch
from lab.explorer.verdict import Answer, Verdict, explore
from storage.buckets import AS_BEGUN

PROMPTLY = Budget(states=500_000, seconds=2.0)


@dataclass(frozen=True, slots=True)
class Part:
    """Some of a plan's elements, the model that stands for them, and the plan's steps there."""

    elements: tuple[Element, ...]
    model: Model
    program: Program

    def __str__(self) -> str:
        return ", ".join(str(element) for element in self.elements)


@dataclass(frozen=True, slots=True)
class Parts:
    explored: tuple[Part, ...]
    left_out: tuple[Text, ...] = ()

    @property
    def why_unknown(self) -> Text:
        proved = [listed([element.text for element in part.elements]) for part in self.explored]
        values: Values = {"why": clauses(self.left_out), "proved": clauses(proved)}
        return Text("a part of it cannot be explored: {why}. The rest is proved: {proved}", values)


def prove(plan: Plan, *, nodes: int = 3, budget: Budget = PROMPTLY, watch: Watch | None = None) -> Answer:
    """Explores `plan` with a cancel at any moment before its point of no return. Raises `BadModel`. If a part has no
    model, the whole is unknown but for a counterexample; `why` says what is proved."""
    parts = parts_of(plan, nodes=nodes)
    answer = prove_parts(parts.explored, budget=budget, watch=watch)
    if answer.verdict is Verdict.PROVED and parts.left_out:
        return replace(answer, verdict=Verdict.UNKNOWN, why=parts.why_unknown)
    return answer


def prove_parts(parts: Sequence[Part], *, budget: Budget = PROMPTLY, watch: Watch | None = None) -> Answer:
    """The first answer that is no proof, or the proofs together. Equal parts are explored once."""
    found: dict[str, Answer] = {}
    for part in parts:
        if digest([part]) in found:
            continue
        spent_s, spent = sum(answer.seconds for answer in found.values()), sum(a.states for a in found.values())
        left = Budget(budget.states - spent, budget.seconds - spent_s)
        answer = explore(part.model, program=part.program, budget=left, watch=watch)
        if answer.verdict is not Verdict.PROVED:
            return answer
        found[digest([part])] = answer
    answers = [*found.values()]
    return replace(
        answers[0],
        states=sum(answer.states for answer in answers),
        seconds=sum(answer.seconds for answer in answers),
        depth=max(answer.depth for answer in answers),
        sometimes=_together(answers),
    )


def _together(answers: Sequence[Answer]) -> dict[str, bool]:
    seen: dict[str, bool] = {}
    for answer in answers:
        seen |= {what: did and seen.get(what, True) for what, did in answer.sometimes.items()}
    return seen


def parts_of(plan: Plan, *, nodes: int) -> Parts:
    """Raises `BadModel` if the model's tables have no place for any of them."""
    explored: list[Part] = []
    left_out: list[BadModel] = []
    alone: list[Element] = []
    for group in _groups(plan):
        try:
            explored.append(_part(plan, group, nodes=nodes))
        except BadModel as error:
            left_out.append(error)
            alone += [one for one in group[:-1] if one.kind.is_user_column]
    explored += _widened(plan, nodes=nodes)
    covered = {element for part in explored for element in part.elements}
    explored += [_part(plan, (one,), nodes=nodes) for one in dict.fromkeys(alone) if one not in covered]
    if not explored:
        raise left_out[0] if left_out else BadModel("names and defaults move no pair: there is nothing to explore")
    return Parts(tuple(explored), tuple(error.why for error in left_out))


def _groups(plan: Plan) -> Iterator[tuple[Element, ...]]:
    derived = [element for element in moving(plan) if element.kind is Kind.DERIVED_COLUMN]
    old = {element.id: element for element in derived if element in plan.moving(MoveKind.DROP)}
    for twin in plan.moving(MoveKind.ADD):
        definition = definition_of(twin, [step.published for step in plan.publishes])
        if isinstance(definition, Column) and definition.derived is not None:
            yield old[definition.derived.source], twin
    yield from _placements(plan)
    elements = [element for element in moving(plan) if element.partner is None]
    columns = [element for element in elements if element.kind.is_user_column]
    used: set[int] = set()
    for element in moving(plan):
        if element.partner is not None:
            unsteady = _unsteady(plan, element)
            used.update(one.id for one in unsteady)
            yield (*unsteady, element)
    for element in elements:
        if element.kind.is_index or element.kind is Kind.CONSTRAINT:
            below = [column for column in columns if column.id in _made_of(plan, element)]
            used.update(column.id for column in below)
            yield (*below, element)
    yield from ((element,) for element in elements if element.kind.is_user_column and element.id not in used)
    yield from ((element,) for element in elements if element.kind is Kind.TABLE)


def _widened(plan: Plan, *, nodes: int) -> Iterator[Part]:
    """Integer columns that become wider in place, with the types that the plan's versions give them."""
    for element in plan.moving(MoveKind.ALTER):
        if plan.base is None or not element.kind.is_user_column:
            continue
        was = plan.base.column(ColumnId(element.id))
        columns = [version.column(was.id) for version in _versions(plan)]
        if was.type not in WHOLE or columns[-1].type is was.type:
            continue
        widths = [
            width
            for width, _ in groupby(
                "narrow" if column.type is was.type else "wide" if column.length is None else "bounded"
                for column in columns
            )
        ]
        sizes: dict[str, Any] = {"widths": ",".join(widths), "nodes": nodes, "cancels": True}
        stages = ((State.PUBLIC,),) * len(widths)
        model = Model(Kind.OPTIONAL_COLUMN, stages, coordination=_coordination(plan), **sizes)
        yield Part((element,), model, program_of(model))


def _placements(plan: Plan) -> Iterator[tuple[Element, ...]]:
    found = {
        kind: next((one for one in plan.moving(kind) if one.kind is Kind.PLACEMENT), None)
        for kind in (MoveKind.DROP, MoveKind.ADD)
    }
    old, new = found[MoveKind.DROP], found[MoveKind.ADD]
    if old is not None and new is not None:
        yield old, new


def _made_of(plan: Plan, element: Element) -> frozenset[int]:
    """The columns that an index or a constraint reads; of a foreign key in the other table only its own."""
    if element.partner is None or definition_of(element, _versions(plan)) is not None:
        return columns_read(element, _versions(plan))
    there = [one for step in plan.publishes for one in step.partners if one.table_id == element.partner[0]]
    other = definition_of(partner_of(element), there)
    return frozenset(other.reference_columns if isinstance(other, Constraint) else ())


def _is_partial(plan: Plan, element: Element) -> bool:
    definition = definition_of(element, _versions(plan)) if element.kind.is_index else None
    return isinstance(definition, Index) and definition.where is not None


def _versions(plan: Plan) -> list[Descriptor]:
    return [*([plan.base] if plan.base is not None else []), *(step.published for step in plan.publishes)]


def _part(plan: Plan, elements: tuple[Element, ...], *, nodes: int) -> Part:
    if elements[-1].partner is not None:
        return _linked_part(plan, elements, nodes=nodes)
    kind, *also = (element.kind for element in elements)
    if kind is Kind.PLACEMENT:
        return _placed_part(plan, elements, nodes=nodes)
    check = any(one.kind is Kind.CONSTRAINT and one.column is None for one in elements)
    partial = any(_is_partial(plan, one) for one in elements)
    stages = _stages(plan, elements)
    how = _coordination(plan)
    model = Model(
        kind, stages, also=tuple(also), nodes=nodes, cancels=True, check=check, partial=partial, coordination=how
    )
    return Part(elements, model, _program(model, plan, elements))


def _placed_part(plan: Plan, elements: tuple[Element, ...], *, nodes: int) -> Part:
    """Rows move with a value or with their key, as in the plan; 2 and 3 storages stand for fewer and more."""
    placements = {one.id: one for version in _versions(plan) for one in version.placements}
    key = set(plan.result.primary_key)
    by_value = any(not key.issuperset(placements[PlacementId(one.id)].sharding_key) for one in elements)
    before, after = (placements[PlacementId(one.id)].storage_count(AS_BEGUN.first) for one in elements)
    sizes: dict[str, Any] = {"storages": "" if before == after else "2+3" if before < after else "3+2"}
    sizes |= {"nodes": nodes, "cancels": True, "by_value": by_value, "moves": not by_value}
    model = Model(Kind.PLACEMENT, _stages(plan, elements), coordination=_coordination(plan), **sizes)
    return Part(elements, model, _program(model, plan, elements))


def _coordination(plan: Plan, other: Descriptor | None = None) -> str:
    own = (plan.base or plan.result).coordination
    return own.value if other is None or other.coordination is own else f"{own.value}+{other.coordination.value}"


def _stages(plan: Plan, elements: tuple[Element, ...]) -> tuple[Stage, ...]:
    first = tuple(_first(plan, element) for element in elements)
    stages = (first, *(stage_of(step.published, elements) for step in plan.publishes))
    return tuple(stage for stage, _ in groupby(stages))


def _linked_part(plan: Plan, elements: tuple[Element, ...], *, nodes: int) -> Part:
    *below, element = elements
    assert element.partner is not None, element
    if element.partner[0] == plan.table_id:
        return _part_to_itself(plan, elements, nodes=nodes)
    if below and (len(_made_of(plan, element)) > 1 or not below[0].kind.is_user_column):
        raise BadModel(f"{element} is enforced while {below[0]} is not public, and is not of that alone")
    other = _referenced(elements, plan.partners)
    if other is None:
        there = f"table {element.partner[0]}, which {element} references"
        raise BadModel(f"the plan lacks {there}: it belongs among its partners")
    first = [_first(plan, one) for one in (*elements, element)]
    stages = [tuple(first)]
    for step in plan.publishes:
        other = _referenced(elements, step.partners) or other
        stages.append(stage_of(step.published, elements, other))
    moving_stages = tuple(stage for stage, _ in groupby(stages))
    kind, *also = (one.kind for one in elements)
    links: dict[str, Any] = {"foreign_key": True, "nodes": nodes, "cancels": True, "moves": not below}
    links["coordination"] = _coordination(plan, other)
    model = Model(kind, moving_stages, also=tuple(also), **links)
    return Part(elements, model, _program(model, plan, elements))


def _part_to_itself(plan: Plan, elements: tuple[Element, ...], *, nodes: int) -> Part:
    """A foreign key of the plan's table to itself: one version bears both ends. Raises `BadModel`."""
    *below, element = elements
    if below:
        raise BadModel(f"{element} of the table to itself is enforced while {below[0]} is not public")
    stages = _stages(plan, elements)
    options: dict[str, Any] = {"nodes": nodes, "cancels": True, "moves": True, "coordination": _coordination(plan)}
    model = Model(element.kind, stages, refers_to_itself=True, **options)
    return Part(elements, model, _program(model, plan, elements))


def _unsteady(plan: Plan, element: Element) -> tuple[Element, ...]:
    below = [one for one in moving(plan) if _needs(plan, element, one)]
    directions = [plan.forward, *(rollback_steps(plan, done) for done in range(1, 1 + plan.reversible_publishes))]
    versions = [step.published for steps in directions for step in steps if step.descriptor is not None]
    enforced = [version for version in versions if state_of(version, element) is not State.ABSENT]
    return tuple(one for one in below if any(state_of(version, one) is not State.PUBLIC for version in enforced))


def _needs(plan: Plan, element: Element, one: Element) -> bool:
    definition = definition_of(element, _versions(plan))
    if isinstance(definition, Constraint) and definition.references == plan.table_id:
        columns = frozenset(definition.columns) | frozenset(definition.reference_columns)
        by_index = one.kind.is_index and one.id == definition.index
        return one.kind is Kind.TABLE or by_index or (one.kind.is_user_column and one.id in columns)
    return one.kind is Kind.TABLE or (one.kind.is_user_column and one.id in _made_of(plan, element))


def _first(plan: Plan, element: Element) -> State:
    is_added = any(move.element == element and move.kind is MoveKind.ADD for move in plan.moves)
    return State.ABSENT if is_added else State.PUBLIC


class _OnSmallTables:
    """A plan's steps as those of its elements on the small tables; a run of other elements is empty."""

    def __init__(self, model: Model, elements: tuple[Element, ...], others: tuple[Descriptor, ...]) -> None:
        self.model, self.elements = model, elements
        self.small = dict(zip(elements, elements_of(model), strict=True))
        self.other = _referenced(elements, others) if model.foreign_key else None

    def steps(self, steps: Sequence[Step]) -> Iterator[Step]:
        for step in steps:
            if step.kind is StepKind.PUBLISH:
                yield self._publish(step)
            elif step.kind is StepKind.DRAIN:
                yield replace(step, partners=step.partners if self._partner_in(step) else ())
            else:
                yield replace(step, elements=tuple(self.small[one] for one in step.elements if one in self.small))

    def _publish(self, step: Step) -> Step:
        partner = self._partner_in(step)
        self.other = partner or self.other
        stage = stage_of(step.published, self.elements, self.other)
        filling = frozenset(at for at, element in enumerate(self.elements) if is_filling(step.published, element))
        versions = step.version, partner.version if partner else 0
        own, *partners = tables_of(self.model, stage, versions, filling=filling)
        return Step(StepKind.PUBLISH, step.version, descriptor=own, partners=tuple(partners) if partner else ())

    def _partner_in(self, step: Step) -> Descriptor | None:
        return _referenced(self.elements, step.partners) if self.model.foreign_key else None


def stage_of(own: Descriptor, elements: Sequence[Element], other: Descriptor | None = None) -> Stage:
    """The states of elements in one version; of a foreign key also in the referenced table."""
    states = tuple(state_of(own, element) for element in elements)
    return states if other is None else (*states, state_of(other, partner_of(elements[-1])))


def _referenced(elements: Sequence[Element], tables: Sequence[Descriptor]) -> Descriptor | None:
    partner = elements[-1].partner
    assert partner is not None, elements
    return next((table for table in tables if table.table_id == partner[0]), None)


def _program(model: Model, plan: Plan, elements: tuple[Element, ...]) -> Program:
    forward = tuple(_OnSmallTables(model, elements, plan.partners).steps(plan.forward))
    return program(model, replace(plan, forward=forward), lambda done: _steps_back(model, plan, elements, done))


def _steps_back(model: Model, plan: Plan, elements: tuple[Element, ...], published: int) -> Sequence[Step]:
    others = partners_after(plan, published)
    return tuple(_OnSmallTables(model, elements, others).steps(rollback_steps(plan, published)))


def digest(parts: Sequence[Part]) -> str:
    """64 hex characters of all that a proof depends on: plans that only name things differently share it."""
    text = json.dumps([_depends_on(part) for part in parts], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _depends_on(part: Part) -> list[object]:
    descriptors = [described.to_json() for described in part.program.descriptors]
    return [part.model.to_json(), descriptors, [repr(stop) for stop in part.program.stops]]
