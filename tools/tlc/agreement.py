"""TLC's answers beside the explorer's. Atomic is the explorer's space: verdict, clause and number of events are the
same. In Spec a transaction takes several events, so another clause may break first: the verdict is the same. Refines
holds if the explorer accepts a proof of its reduced space (`fits`)."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from catalog.elements import Kind
from lab.explorer.model import Model
from lab.explorer.spaces.reduced_space import fits
from lab.explorer.variant import stages
from lab.explorer.verdict import explore
from tools.tlc import variants
from tools.tlc.runs import Config, run
from tools.tlc.traces import story_of

HOLDS = "holds"


@dataclass(frozen=True, slots=True)
class Verdict:
    """An answer of TLC or the explorer. `broken` is the clause, or the property; "" if all hold."""

    broken: str
    events: int
    states: int
    cpu_s: float
    story: str = ""
    """Why a change does not end."""

    def __str__(self) -> str:
        words = f"{self.broken} after {self.events}" if self.broken else HOLDS
        return f"{words}; {self.states:,}"


@dataclass(frozen=True, slots=True)
class Question:
    """One run. `name` and `grain` are its place in the tables."""

    name: str
    grain: str
    config: Config | None = None
    model: Model | None = None

    def answer(self) -> Verdict:
        """Raises `TlcFailed`."""
        if self.config is not None:
            result = run(self.config)
            names: Mapping[str, str] = {} if self.model is None else variants.PARTS[self.model.kind].invariants
            broken = {**names, **variants.OF_NODES}.get(result.broken, result.broken)
            story = story_of(result) if result.broken == "liveness" else ""
            return Verdict(broken, result.events, result.distinct, result.cpu_s, story)
        assert self.model is not None
        began = time.process_time()
        answer = explore(self.model)
        events = answer.depth if answer.clauses else 0
        return Verdict(", ".join(answer.clauses), events, answer.states, time.process_time() - began)


EXPLORER, REFINES, LIVENESS = "explorer", "Refines", "Liveness"


def questions() -> Iterator[Question]:
    """All questions of `make prove`, in the order of the tables."""
    for name, model in variants.models():
        yield Question(name, EXPLORER, model=model)
        if is_shown_by_atomic(model):
            yield Question(name, variants.ATOMIC, variants.question(model, variants.ATOMIC), model)
        if has_nodes(model):
            yield Question(name, variants.SPEC, variants.question(model, variants.SPEC), model)
    repairs = Model(Kind.UNIQUE_INDEX, stages(variants.ADD))
    yield Question(variants.NOT_READ_AGAIN, variants.ATOMIC, variants.unrepaired(), repairs)
    for name, model in variants.reductions():
        yield Question(name, REFINES, variants.reduction(model), model)
    for name, (plan, flaws, _) in variants.LIVENESS.items():
        yield Question(name, LIVENESS, variants.liveness(plan, flaws))


def is_shown_by_atomic(model: Model) -> bool:
    """False if a rule of leases and transactions is left out."""
    return model.fence and not model.broken & variants.ONLY_NODES_SHOW


def has_nodes(model: Model) -> bool:
    return variants.PARTS[model.kind].atomic == variants.ATOMIC


def disagreement(grain: str, tlc: Verdict, explorer: Verdict) -> str:
    if bool(tlc.broken) != bool(explorer.broken):
        return f"TLC says {tlc}, the explorer {explorer}"
    if grain == variants.ATOMIC and (tlc.broken and tlc.broken not in explorer.broken.split(", ")):
        return f"TLC breaks {tlc.broken}, the explorer {explorer.broken}"
    if grain == variants.ATOMIC and tlc.events != explorer.events:
        return f"TLC takes {tlc.events} events, the explorer {explorer.events}"
    return ""


def disagreements(answers: Mapping[tuple[str, str], Verdict]) -> Iterator[str]:
    for name, model in variants.models():
        for grain in (variants.ATOMIC, variants.SPEC):
            tlc = answers.get((name, grain))
            why = "" if tlc is None else disagreement(grain, tlc, answers[name, EXPLORER])
            if why:
                yield f"{name}, {grain}: {why}"
        if not is_shown_by_atomic(model) and not answers[name, EXPLORER].broken:
            yield f"{name}: only nodes can show it, and they do not"
    repair = answers[variants.NOT_READ_AGAIN, variants.ATOMIC]
    if repair.broken != "C5":
        yield f"{variants.NOT_READ_AGAIN}: {repair}"
    for name, model in variants.reductions():
        if bool(answers[name, REFINES].broken) == fits(model):
            yield f"{name}: Refines {answers[name, REFINES]}, and the explorer takes a proof: {fits(model)}"
    for name, (_, _, ends) in variants.LIVENESS.items():
        if bool(answers[name, LIVENESS].broken) == ends:
            yield f"{name}: {answers[name, LIVENESS]}"
