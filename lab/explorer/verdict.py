"""One answer for one model: proved (every world within the bounds seen, none broken), violated (with the steps), or
unknown (the budget was spent first). The search is in the atomic space where that is sound."""

import time
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from catalog.elements import Kind, State
from catalog.text.message import NOTHING, Text
from lab.explorer.contents.foreign_keys import effects_of
from lab.explorer.contents.numbered import Fault, Occurrence
from lab.explorer.model import Model
from lab.explorer.narration import narrate
from lab.explorer.plans.program import Do, Program
from lab.explorer.spaces.config import sorted_nodes, step_id
from lab.explorer.spaces.full_space import Plain
from lab.explorer.spaces.reduced_space import Atomic, fits
from lab.explorer.spaces.search import UNHURRIED, Budget, SearchResult, Watch, search
from lab.explorer.spaces.symmetry import Symmetry
from lab.explorer.witness import NoWitness, Steps, faults_after, from_atomic, from_plain


def expected(model: Model, program: Program) -> list[int]:
    """Events that must have happened somewhere, or a proof says little."""
    if model.kind is Kind.TABLE and (State.PUBLIC,) not in model.stages:
        return []
    found = [Occurrence.OLD_VERSION_WROTE]
    found += [Occurrence.TABLES_APART, Occurrence.CHILD_REFUSED, Occurrence.PARENT_REFUSED] if model.foreign_key else []
    found += [Occurrence.CHILD_REFUSED, Occurrence.PARENT_REFUSED] if model.refers_to_itself else []
    acts = {stop.do for stop in program.stops}
    if Do.FILL in acts:
        found += [Occurrence.FILL_MET_TOMBSTONE, Occurrence.FILL_MET_PAIR]
        found += [Occurrence.RANGE_TRIED_TWICE] if model.crashes else []
    found += [Occurrence.VERIFY_FAILED] if Do.VERIFY in acts and may_fail(model) else []
    return found + ([Occurrence.CANCELLED] if model.cancels else [])


def may_fail(model: Model) -> bool:
    """True if rows of users can make a verification fail: duplicates, or rows that break a constraint. A new column has
    its fill value in existing rows, which cannot fail; but a row that it refers to may not exist."""
    new = {kind for kind, first in zip(model.kinds, model.stages[0], strict=False) if first is not State.PUBLIC}
    if model.foreign_key and Kind.REQUIRED_COLUMN in new:
        return True
    has_new_column = any(kind.is_user_column for kind in new)
    return any(kind.facts.is_rule for kind in new) and (model.apart or not has_new_column)


class Verdict(Enum):
    PROVED = "proved"
    VIOLATED = "violated"
    UNKNOWN = "unknown"


SENTENCES = {
    Occurrence.FILL_MET_TOMBSTONE: "the fill met a tombstone that a writer had left",
    Occurrence.FILL_MET_PAIR: "the fill met a pair that a writer had put",
    Occurrence.OLD_VERSION_WROTE: "a node one version behind wrote after the next was published",
    Occurrence.OLD_VERSION_CLEANED: "a node one version behind removed a pair",
    Occurrence.RANGE_TRIED_TWICE: "a second worker took over a range",
    Occurrence.VERIFY_FAILED: "verification failed and the change rolled back",
    Occurrence.CANCELLED: "the change was cancelled on its way",
    Occurrence.TABLES_APART: "a node wrote that knew the newest version of one table and an older one of the other",
    Occurrence.CHILD_REFUSED: "a row was refused because what it refers to is not there",
    Occurrence.PARENT_REFUSED: "a row was not let go because another one refers to it",
}


@dataclass(frozen=True, slots=True)
class Answer:
    model: Model
    verdict: Verdict
    states: int
    depth: int
    seconds: float
    why: Text = NOTHING
    faults: tuple[Fault, ...] = ()
    steps: Steps = ()
    sometimes: dict[str, bool] = field(default_factory=dict)
    program: Program | None = None

    @property
    def clauses(self) -> tuple[str, ...]:
        return tuple(sorted({fault.clause for fault in self.faults}))

    @property
    def texts(self) -> list[Text]:
        return narrate(Plain(effects_of(self.model, self.program)), self.steps)

    @property
    def sentences(self) -> list[str]:
        return list(map(str, self.texts))

    def to_json(self) -> dict[str, Any]:
        counterexample = [
            {"id": step_id(step), "sentence": sentence}
            for step, sentence in zip(self.steps, self.sentences, strict=True)
        ]
        return {
            "verdict": self.verdict.value,
            "model": self.model.to_json(),
            "hash": self.model.digest,
            "bounds": str(self.model.bounds),
            "states": self.states,
            "depth": self.depth,
            "seconds": round(self.seconds, 3),
            "sometimes": self.sometimes,
            "why": str(self.why),
            "broken": [{"clause": f.clause, "version": f.version, "why": f.why} for f in self.faults],
            "counterexample": counterexample,
        }


def explore(
    model: Model, *, program: Program | None = None, budget: Budget = UNHURRIED, watch: Watch | None = None
) -> Answer:
    effects = effects_of(model, program)
    return explore_spaces(Atomic(effects), Plain(effects, fused=True), budget=budget, watch=watch)


def explore_spaces(atomic: Atomic, fused: Plain, *, budget: Budget = UNHURRIED, watch: Watch | None = None) -> Answer:
    """Transactions as single events; if that proves nothing, the plain space."""
    began = time.monotonic()
    if fused.model.fence:
        least = Symmetry(fused.effects).least
        found = search(atomic, least=least, budget=budget, watch=watch)
        if found.faults or found.why_unknown or fits(fused.model):
            try:
                steps = from_atomic(atomic, fused.apart(), found.path, least) if found.faults else ()
                return _answer(fused.apart(), found, steps, began)
            except NoWitness:
                if fused.model.by_leases_alone:
                    raise  # else the plain space, which knows when a transaction began, has the last word
    explored = search(fused, least=sorted_nodes, budget=budget, watch=watch)
    steps = from_plain(fused, explored.path, sorted_nodes) if explored.faults else ()
    return _answer(fused.apart(), explored, steps, began)


def _answer(plain: Plain, found: SearchResult[Any], steps: Steps, began: float) -> Answer:
    seconds, effects = time.monotonic() - began, plain.effects
    answer = Answer(effects.model, Verdict.PROVED, found.states, found.depth, seconds, program=effects.program)
    if steps:
        return replace(answer, verdict=Verdict.VIOLATED, faults=faults_after(plain, steps), steps=steps)
    if found.why_unknown:
        return replace(answer, verdict=Verdict.UNKNOWN, why=found.why_unknown)
    wanted = expected(effects.model, effects.program)
    return replace(answer, sometimes={SENTENCES[seen]: bool(found.seen & seen) for seen in wanted})
