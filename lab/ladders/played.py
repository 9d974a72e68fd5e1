"""A run as pages of chapters play it: of an order of tiles, or of the explorer's answer about a plan."""

from collections.abc import Sequence
from dataclasses import dataclass

from lab.explorer.contents.foreign_keys import effects_of
from lab.explorer.model import Model
from lab.explorer.plans.program import Do, Program
from lab.explorer.spaces.full_space import Plain
from lab.explorer.spaces.search import Budget
from lab.explorer.verdict import Answer, Verdict
from lab.ladders import runs
from lab.ladders.elements import ANOMALIES
from lab.ladders.frames import Film, Frame, places_of
from lab.ladders.verdict import Answered
from lab.questions.goal import DAMAGE

ACTS = {Do.CLEAR: "fill", Do.FILL: "fill", Do.VERIFY: "verify", Do.DELETE: "delete", Do.DRAIN: "drain"}
"""The first word of the plan's line for a stop; `close` has no stop."""

PUBLISH = "publish"
BUDGET = Budget(states=60_000)
"""For damage behind the nearest danger; where it is not found, danger is played."""


@dataclass(frozen=True, slots=True)
class Played:
    verdict: str
    states: int
    stores: str
    frames: tuple[Frame, ...]
    tried: tuple[tuple[int, ...], ...] = ()
    anomaly: str = ""


def stores_of(model: Model) -> str:
    """The name of what stands beside the rows of a model: "" for nothing."""
    if model.has_placements:
        return "placements"
    if model.foreign_key:
        return "parents"
    return "index" if any(kind.is_index for kind in model.kinds) else "column" if model.kind.is_column else ""


def of_order(model: Model, found: Answered, predicted: str = "") -> Played | None:
    run = found.played(predicted)
    if run is None:
        return None
    return Played(found.verdict.value, found.states, stores_of(model), run.frames, found.tried, run.anomaly)


def of_lines(lines: Sequence[str], answer: Answer) -> Played | None:
    """The run that the explorer's answer about a plan of these lines is played as; None where the answer is unknown. A
    line is a step as in a plan file, or the states of a version."""
    if answer.verdict is Verdict.UNKNOWN or answer.program is None:
        return None
    return _film(lines, answer.model, answer.program, answer)


def _film(lines: Sequence[str], model: Model, program: Program, answer: Answer) -> Played:
    plain = Plain(effects_of(model, program))
    words = [line.split()[0] for line in lines]
    is_plan = PUBLISH in words
    acts = ACTS if is_plan else {}
    work = frozenset(word for word in words if word != PUBLISH) if is_plan else frozenset[str]()
    film = Film(plain, places_of(plain, words, acts, work), shows_danger=True)
    if answer.verdict is Verdict.PROVED:
        frames = film.frames(runs.quiet(model, plain))
        return Played(answer.verdict.value, answer.states, stores_of(model), frames)
    steps = runs.tidied(plain, runs.search(plain, DAMAGE, BUDGET) or answer.steps)
    anomaly = ANOMALIES[film.faults(steps)[0].clause]
    return Played(answer.verdict.value, answer.states, stores_of(model), film.frames(steps), anomaly=anomaly)
