"""Is there a way to break this? The explorer's answer from the start of a session, or from a position of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from catalog.text.message import NOTHING, Text
from catalog.text.message import to_json as text_to_json
from lab.explorer.contents.numbered import Fault
from lab.explorer.spaces.config import Config, step_id
from lab.explorer.spaces.full_space import Plain
from lab.explorer.spaces.search import Budget, Watch
from lab.explorer.verdict import Verdict, explore_spaces
from lab.questions.aimed import AimedAtomic, AimedPlain, why_not_from
from lab.questions.goal import DAMAGE, Goal, goal_from_json
from lab.sessions.model.fault_texts import fault_text
from lab.sessions.model.session import machine_of
from lab.sessions.model.setups import model_of, without_names
from lab.sessions.session import BadSession, Session
from lab.sessions.setup import MODEL
from lab.sessions.setups import setup_named


@dataclass(frozen=True, slots=True)
class Question:
    """From a session's start, or `from_here`: after its first `at` steps. `any_rows`: the search chooses first rows."""

    session: Session
    at: int = 0
    goal: Goal = DAMAGE
    from_here: bool = False
    any_rows: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """`steps` are those of a session, from its start, that end in `faults`."""

    verdict: Verdict
    states: int
    depth: int
    seconds: float
    bounds: Text
    why: Text = NOTHING
    steps: tuple[str, ...] = ()
    faults: tuple[Fault, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {
            "verdict": self.verdict.value,
            "states": self.states,
            "depth": self.depth,
            "seconds": round(self.seconds, 3),
            "bounds": text_to_json(self.bounds),
            "why": text_to_json(self.why),
            "steps": list(self.steps),
            "broken": [
                {"clause": one.clause, "version": one.version, "why": text_to_json(fault_text(one.why))}
                for one in self.faults
            ],
        }


def to_json(question: Question) -> dict[str, Any]:
    """A question from the start has no steps, so that it is equal to the same one asked elsewhere."""
    session, at = question.session, question.at if question.from_here else 0
    return {
        "session": {
            "setup": session.setup,
            "parameters": dict(session.parameters),
            "left_out": sorted(session.left_out),
            "steps": list(session.steps[:at]),
        },
        "at": at,
        "goal": question.goal.to_json(),
        "from_here": question.from_here,
        "any_rows": question.any_rows and not question.from_here,
    }


def regardless_of_names(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The question without the session's names: the answer is the same under any."""
    session = body["session"]
    return {**body, "session": {**session, "parameters": dict(without_names(session["parameters"]))}}


def from_json(body: Mapping[str, Any]) -> Question:
    session = body["session"]
    asked_of = Session(session["setup"], session["parameters"], frozenset(session["left_out"]), tuple(session["steps"]))
    return Question(asked_of, body["at"], goal_from_json(body["goal"]), body["from_here"], body["any_rows"])


def last_point(session: Session, at: int) -> tuple[int, Text]:
    """The last position up to `at` from which a search may begin; why not `at` itself, or "". Raises `BadSession`."""
    plain, configs = _followed(session, at)
    why = why_not_from(plain, configs[-1])
    return next(n for n in range(len(configs) - 1, -1, -1) if not why_not_from(plain, configs[n])), why


def ask(question: Question, *, budget: Budget, watch: Watch | None = None) -> Answer:
    session = question.session
    plain, configs = _followed(session, question.at if question.from_here else 0)
    config, before = configs[-1], session.steps[: len(configs) - 1]
    why = why_not_from(plain, config)
    if why:
        raise BadSession(f"nothing can be asked from here: {why}")
    any_rows = question.any_rows and not question.from_here
    config = plain.start() if any_rows else config._replace(given=False)
    atomic = AimedAtomic(plain.effects, question.goal, config)
    found = explore_spaces(
        atomic, AimedPlain(plain.effects, question.goal, config, fused=True), budget=budget, watch=watch
    )
    steps = (*before, *map(step_id, found.steps)) if found.steps else ()
    return Answer(
        found.verdict, found.states, found.depth, found.seconds, plain.model.bounds, found.why, steps, found.faults
    )


def _followed(session: Session, at: int) -> tuple[Plain, list[Config]]:
    setup = setup_named(session.setup)
    if setup.kind != MODEL:
        raise BadSession(f"set-up {setup.name} runs on no explorer's model: nothing can be asked of it")
    machine = machine_of(*model_of(setup, session))
    positions, _, _ = machine.followed(session.steps[:at])
    return machine.plain, [position.config for position in positions]
