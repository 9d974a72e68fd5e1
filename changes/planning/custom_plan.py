"""A plan that a person wrote: a statement, and steps to take instead of the planner's; `changes.review.check` and the
explorer judge it.

    {"statement": "CREATE INDEX by_age ON users (age)", "steps": ["publish delete-only", "drain", "fill", ..]}

Steps on several elements name them: "publish age write-only filling, by_age write-only filling"; a reorganisation
without names works on the planner's. A foreign key moves in both tables, unless one is named: "publish trips_code_fkey
write-only in trips". A drain waits for all versions since the last one. The "plan" of `manage.py plan --json` is read,
too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from catalog.descriptor import Descriptor
from catalog.elements import Index, Kind, State
from catalog.states import possible_states
from catalog.text.message import STATES, Text, Values, kind_text
from catalog.text.mistakes import in_words
from changes.plan.element_states import (
    definition_of,
    drain,
    partner_of,
    publish,
    referring_to,
    state_of,
    with_new,
    with_state,
)
from changes.plan.model import RUNS, Element, MoveKind, Plan, Step, StepKind, plan_from_json, point_of_no_return
from changes.plan.rollback import moving

STEPS_MAX = 60
FILLING = "filling"


class MalformedPlan(ValueError):
    """The text is no plan; says which part, and what would be right."""

    def __init__(self, why: Text) -> None:
        super().__init__(str(why))
        self.why = why


def read_plan(body: object, planned: Callable[[str], Plan]) -> Plan:
    """The plan in `body`; `planned` is the planner. Raises `MalformedPlan` and the planner's errors."""
    if not isinstance(body, Mapping):
        raise MalformedPlan(Text('a plan is an object with "statement" and "steps"'))
    if isinstance(body.get("plan"), Mapping):
        try:
            plan = plan_from_json(body["plan"])
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            why = Text('"plan" must be as `manage.py plan --json` prints it: {why}', {"why": in_words(error)})
            raise MalformedPlan(why) from error
        if not plan.publishes or any(step.descriptor is None for step in plan.publishes):
            raise MalformedPlan(Text("a plan in full publishes at least once, each time transitions and a descriptor"))
        if not 1 <= len(plan.forward) <= STEPS_MAX or not 0 <= plan.point_of_no_return <= len(plan.forward):
            why = Text("a plan has 1 to {most} steps, and its point of no return is one of them", {"most": STEPS_MAX})
            raise MalformedPlan(why)
        return plan
    statement, steps = body.get("statement"), body.get("steps")
    if not isinstance(statement, str) or not isinstance(steps, list) or not all(isinstance(s, str) for s in steps):
        raise MalformedPlan(Text('"statement" is a text, and "steps" a list of texts such as "publish public"'))
    return rewritten(planned(statement), steps, point_of_no_return=body.get("turn"))


def rewritten(plan: Plan, steps: Sequence[str], *, point_of_no_return: object = None) -> Plan:
    """The plan with other steps. `point_of_no_return` counts steps from 1."""
    if not 1 <= len(steps) <= STEPS_MAX:
        raise MalformedPlan(Text("a plan has 1 to {most} steps, not {n}", {"most": STEPS_MAX, "n": len(steps)}))
    if not moving(plan) or any(element.kind is Kind.DERIVED_COLUMN for element in moving(plan)):
        why = Text("the steps of {plan} cannot be written in words: write the plan in full", {"plan": plan.title})
        raise MalformedPlan(why)
    written: list[Step] = []
    newest = _Newest(plan.base, {partner.table_id: partner for partner in plan.partners})
    for number, text in enumerate(steps, 1):
        step = _step(plan, newest, number, text)
        written.append(step)
        newest = newest.after(step)
    if not any(step.kind is StepKind.PUBLISH for step in written):
        raise MalformedPlan(Text("a plan publishes at least one version, such as `publish delete-only`"))
    return replace(
        plan,
        forward=tuple(written),
        point_of_no_return=_point_of_no_return(plan, written, point_of_no_return),
        dangers=(),
    )


@dataclass(frozen=True, slots=True)
class _Newest:
    own: Descriptor | None
    others: Mapping[int, Descriptor]
    undrained: frozenset[int] = frozenset()

    def after(self, step: Step) -> _Newest:
        if step.kind is StepKind.DRAIN:
            return replace(self, undrained=frozenset())
        others = {**self.others, **{int(partner.table_id): partner for partner in step.partners}}
        changed = frozenset(int(partner.table_id) for partner in step.partners)
        return _Newest(step.descriptor or self.own, others, self.undrained | changed)

    @property
    def to_drain(self) -> tuple[Descriptor, ...]:
        return tuple(table for number, table in self.others.items() if number in self.undrained)


@dataclass(frozen=True, slots=True)
class _Part:
    """An element of a publish, in both tables of a foreign key unless one is named."""

    element: Element
    words: list[str]
    table: str = ""

    def concerns(self, table: Descriptor) -> bool:
        return self.table in ("", table.name)


def _step(plan: Plan, newest: _Newest, number: int, text: str) -> Step:
    known = {kind.value: kind for kind in StepKind}
    word, _, rest = text.strip().partition(" ")
    kind = known.get(word)
    if kind is None:
        values: Values = {"at": number, "text": repr(text), "words": ", ".join(known)}
        raise MalformedPlan(Text("step {at}: {text} does not begin with one of {words}", values))
    last = newest.own
    if kind is StepKind.PUBLISH:
        parts = [_part(plan, newest, number, part.strip()) for part in rest.split(",")]
        here = last
        for part in sorted(parts, key=_columns_around):
            if last is None or part.concerns(last):
                here = _with(plan, here, number, part.element, part.words)
        assert here is not None, "a text has at least one part"
        own = replace(here, version=(last.version if last else 0) + 1)
        return publish(last, own, moving(plan), _versions_there(plan, newest, number, parts))
    if rest and kind not in RUNS:
        values = {"at": number, "word": kind.value, "text": repr(rest)}
        raise MalformedPlan(Text("step {at}: `{word}` stands alone, without {text}", values))
    elements = _works_on(plan, kind, number, rest) if kind in RUNS else ()
    if last is None:
        values = {"at": number, "word": kind.value}
        raise MalformedPlan(Text("step {at}: `{word}` comes before the table's first version is published", values))
    return drain(last, newest.to_drain) if kind is StepKind.DRAIN else Step(kind, last.version, elements=elements)


def _works_on(plan: Plan, kind: StepKind, number: int, rest: str) -> tuple[Element, ...]:
    if rest:
        return tuple(_named(plan, number, name.strip())[0] for name in rest.split(","))
    own = [step.elements for step in plan.forward if step.kind is kind]
    return own[0] if own else moving(plan)


def _named(plan: Plan, number: int, text: str) -> tuple[Element, str]:
    """The element that a text begins with, and the rest; a single element needs no name."""
    for element in moving(plan):
        for name in (str(element), element.name):
            if text == name or text.startswith(f"{name} "):
                return element, text[len(name) :].strip()
    values: Values = {"at": number, "text": repr(text), "words": ", ".join(element.name for element in moving(plan))}
    raise MalformedPlan(Text("step {at}: {text} names no element; there are: {words}", values))


def _versions_there(plan: Plan, newest: _Newest, number: int, parts: list[_Part]) -> tuple[Descriptor, ...]:
    changed = []
    for before in newest.others.values():
        here = before
        for part in parts:
            if part.concerns(before) and referring_to(before, (part.element,)):
                here = _with_side(plan, here, number, part)
        if here != before:
            changed.append(here.next_version())
    return tuple(changed)


def _with_side(plan: Plan, here: Descriptor, number: int, part: _Part) -> Descriptor:
    side, state = partner_of(part.element), _state(number, part.element, part.words)
    if state_of(here, side) is not State.ABSENT:
        return with_state(here, side, state)
    there = [partner for step in plan.publishes for partner in step.partners if partner.table_id == here.table_id]
    found = definition_of(side, there)
    if found is None or state is State.ABSENT:
        values: Values = {"at": number, "element": part.element.text, "table": str(here), "state": STATES[state]}
        raise MalformedPlan(Text("step {at}: {element} is absent in {table}; it cannot become {state}", values))
    return with_state(with_new(here, found), side, state)


def _columns_around(part: _Part) -> int:
    """A column comes before what covers it, and goes after it, in the same version."""
    if not part.element.kind.is_column:
        return 1
    return 2 if part.words[:1] == [State.ABSENT.value] else 0


def _part(plan: Plan, newest: _Newest, number: int, text: str) -> _Part:
    text, _, table = text.partition(" in ")
    only, word = moving(plan)[0], text.split(" ")[0]
    if len(moving(plan)) == 1 and word != only.name:
        part = _Part(only, text.split(), table.strip())
    else:
        element, words = _named(plan, number, text)
        part = _Part(element, words.split(), table.strip())
    if part.table:
        there = [other.name for other in newest.others.values() if referring_to(other, (part.element,))]
        if not there:
            values: Values = {"at": number, "element": part.element.text}
            raise MalformedPlan(Text("step {at}: {element} is in one table only, and needs no name of it", values))
        if part.table not in (plan.table, *there):
            tables: Values = {"one": plan.table, "other": there[0], "table": part.table}
            values = {"at": number, "element": part.element.text, **tables}
            raise MalformedPlan(Text("step {at}: {element} is in {one} and {other}, not in {table}", values))
    return part


def _state(number: int, element: Element, words: list[str]) -> State:
    states = {state.value: state for state in State if state in possible_states(element.kind)}
    if not words or words[0] not in states or words[1:] not in ([], [FILLING]):
        values: Values = {"at": number, "words": ", ".join(states), "text": repr(" ".join(words))}
        raise MalformedPlan(Text("step {at}: `publish` needs one of {words}, not {text}", values))
    if words[1:] and not element.kind.is_filled:
        values = {"at": number, "kind": kind_text(element.kind)}
        raise MalformedPlan(Text("step {at}: a {kind} is never filling", values))
    return states[words[0]]


def _with(plan: Plan, here: Descriptor | None, number: int, element: Element, words: list[str]) -> Descriptor:
    state, is_filling = _state(number, element, words), words[1:] == [FILLING]
    if here is not None and state_of(here, element) is not State.ABSENT:
        _check_uncovered(here, number, element, state)
        if element.column is not None and element.column not in {column.id for column in here.columns}:
            values: Values = {"at": number, "element": element.text}
            raise MalformedPlan(Text("step {at}: {element} is about a column that is already absent", values))
        return with_state(here, element, state, filling=is_filling)
    if state is State.ABSENT or element not in plan.moving(MoveKind.ADD):
        values = {"at": number, "element": element.text, "state": STATES[state]}
        raise MalformedPlan(Text("step {at}: {element} is already absent; it cannot become {state}", values))
    if here is None:
        return replace(plan.publishes[0].published, state=state)
    found = definition_of(element, _versions(plan))
    if isinstance(found, Index) and not {column.id for column in here.columns} >= set(found.column_ids):
        values = {"at": number, "element": element.text}
        raise MalformedPlan(Text("step {at}: {element} comes before a column that it covers", values))
    new = here if found is None else with_new(here, found)
    other = definition_of(partner_of(element), _versions(plan)) if referring_to(here, (element,)) else None
    return with_state(new if other is None else with_new(new, other), element, state, filling=is_filling)


def _versions(plan: Plan) -> list[Descriptor]:
    return [step.published for step in plan.publishes]


def _check_uncovered(here: Descriptor, number: int, element: Element, state: State) -> None:
    if state is not State.ABSENT or not element.kind.is_column:
        return
    left = [index.name for index in here.indexes if element.id in index.column_ids]
    if left:
        values: Values = {"at": number, "element": element.text, "index": ", ".join(left)}
        raise MalformedPlan(Text("step {at}: {element} cannot become absent while {index} covers it", values))


def _point_of_no_return(plan: Plan, written: Sequence[Step], asked: object) -> int:
    """As the planner sets it, unless the plan says otherwise (X6)."""
    found = point_of_no_return(plan.moves, written)
    usual = len(written) if found is None else found
    if asked is None:
        return usual
    if not isinstance(asked, int) or isinstance(asked, bool) or not 1 <= asked <= usual + 1:
        values: Values = {"most": usual + 1, "text": repr(asked)}
        raise MalformedPlan(Text("`turn` is the number of the step of no return: 1 to {most}, not {text}", values))
    return asked - 1
