"""The parts of a plan as cases: each a model of the explorer, its names, and what may be left out of it."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from catalog.elements import State
from catalog.text.message import STATES, Text, listed
from changes.plan.model import Plan
from lab.explorer.model import WIDTHS, BadModel, Model, Stage
from lab.explorer.narration import element_text, width_text
from lab.explorer.planned import Part, digest, parts_of
from lab.explorer.plans.program import Do, program_of
from lab.explorer.rules_left_out import Broken
from lab.own.naming import names_for, own_names
from lab.sessions.model.setups import FENCE, NAMES, PROTECTS, TWO_VERSIONS, model_parameter
from lab.sessions.names import Names
from lab.sessions.session import BadSession, Session

NODES = 2

STEPS: Mapping[str, tuple[Do, Text]] = {
    "early": (Do.FILL, Text("the wait before rows are read")),
    "not-cleared": (Do.FILL, Text("clearing the tombstones")),
    "skipped": (Do.FILL, Text("the fill")),
    "unverified": (Do.VERIFY, Text("the verification")),
    "no-close": (Do.FILL, Text("closing the run")),
    "delete-early": (Do.DELETE, Text("the wait before pairs are deleted")),
    "no-delete": (Do.DELETE, Text("the deletion")),
    "no-purge": (Do.PURGE, Text("purging the tombstones")),
}
"""Steps of a plan that a rule asks for, in their order, and the stop without which there is nothing to leave out."""

OF_FILLS = ("blind", "exists-only", "seen-only", "purged", "twice")
OF_REFERENCES = ("child-unchecked", "parent-unchecked", "snapshot")


@dataclass(frozen=True, slots=True)
class Omission:
    id: str
    what: Text
    protects: Text
    is_step: bool


@dataclass(frozen=True, slots=True)
class Case:
    """A part of a plan. `alike` are other parts of it that differ in names only."""

    title: str
    model: Model
    names: Names
    omissions: tuple[Omission, ...]
    alike: tuple[str, ...] = ()

    def session(self, left_out: Collection[str]) -> Session:
        """Raises `BadSession` for an unknown omission."""
        unknown = sorted(set(left_out) - {one.id for one in self.omissions})
        if unknown:
            raise BadSession(f"{self.title} has no {unknown[0][:40]} to leave out")
        kept = [at for at in range(len(self.model.stages)) if _state_id(at) not in left_out]
        rules = frozenset(left_out) & PROTECTS.keys()
        parameters = {"model": model_parameter(_with_versions(self.model, kept)), NAMES: self.names.to_json()}
        return Session("model", parameters, rules)


def _with_versions(model: Model, kept: Sequence[int]) -> Model:
    if model.widths:
        words = model.widths.split(",")
        widths = ",".join(words[at] for at in kept)
        return replace(model, stages=tuple(model.stages[at] for at in kept), widths=widths)
    return replace(model, stages=tuple(stage for stage, _ in groupby(model.stages[at] for at in kept)))


@dataclass(frozen=True, slots=True)
class Cases:
    cases: tuple[Case, ...]
    without_model: tuple[Text, ...] = ()


def cases_of(plan: Plan) -> Cases:
    try:
        parts = parts_of(plan, nodes=NODES)
    except BadModel as error:
        return Cases((), (error.why,))
    by_digest: dict[str, list[Part]] = {}
    for part in parts.explored:
        by_digest.setdefault(digest([part]), []).append(part)
    return Cases(tuple(_case(plan, *alike) for alike in by_digest.values()), parts.left_out)


def _case(plan: Plan, part: Part, *alike: Part) -> Case:
    names = names_for(plan, part)
    return Case(str(part), part.model, names, tuple(_omissions(part.model, names)), tuple(map(str, alike)))


def _omissions(model: Model, names: Names) -> Iterator[Omission]:
    for at, stage in enumerate(model.stages[1:-1], 1):
        yield Omission(_state_id(at), names.text(_stage_text(model, stage, at)), WHY_STATES, is_step=True)
    stops = program_of(model).stops
    ahead = {stop.do for stop in stops[: next(at for at, stop in enumerate(stops) if stop.do is Do.END)]}
    for rule, what in _steps(ahead, {stop.do for stop in stops}):
        yield Omission(rule, what, PROTECTS[rule], is_step=True)
    for rule in _rules(model, ahead):
        yield Omission(rule, Text("{name}", {"name": rule}), PROTECTS[rule], is_step=False)


WHY_STATES = Text("section 4: neighbouring versions get on with each other")


def _state_id(at: int) -> str:
    return f"state-{at + 1}"


def _stage_text(model: Model, stage: Stage, at: int) -> Text:
    if model.widths:
        return width_text(element_text(*own_names(model)), WIDTHS[model.widths.split(",")[at]])
    named = zip(map(element_text, own_names(model)), stage, strict=False)
    return listed([Text("{element} is {state}", {"element": name, "state": STATES[state]}) for name, state in named])


def states_of(model: Model) -> tuple[tuple[Text, ...], ...]:
    elements = len(own_names(model))
    return tuple(tuple(STATES[state] for state in stage[:elements]) for stage in model.stages)


def _steps(ahead: set[Do], ever: set[Do]) -> Iterator[tuple[str, Text]]:
    for rule, (do, what) in STEPS.items():
        there = ever if rule == "no-delete" else ahead
        if do in there or (rule == "early" and Do.VERIFY in there):
            yield rule, what


def _rules(model: Model, ahead: set[Do]) -> Iterator[str]:
    yield from (FENCE, TWO_VERSIONS)
    if Do.FILL in ahead:
        yield from OF_FILLS
    if model.foreign_key or model.refers_to_itself:
        yield from OF_REFERENCES
    if model.foreign_key:
        yield "one-drained"
    if _drops(model):
        yield "early-turn"


def _drops(model: Model) -> bool:
    if model.stages[0][0] is not State.PUBLIC:
        return False
    try:
        program_of(replace(model, broken=frozenset({Broken.LATE_CANCEL})))
    except BadModel:
        return False
    return True
