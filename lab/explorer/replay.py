"""Where a list of events leads: what the lab's stage shows, and what a link holds.

A position is a model and the names of steps. Everything shown is worked out from these two:
the sentences so far, what each actor may do next, and what it may not do and why. A link
whose model has changed since shows its longest part that is still possible.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lab.explorer.contents.foreign_keys import effects_of
from lab.explorer.contents.numbered import Fault
from lab.explorer.model import Model
from lab.explorer.narration import narrate
from lab.explorer.spaces.fill import Step
from lab.explorer.spaces.full_space import Config, Impossible, Plain, step_id
from lab.explorer.witness import parse


@dataclass(frozen=True, slots=True)
class Offer:
    """A step somebody may want to take. `why_not` is empty when it may be taken."""

    id: str
    actor: str
    why_not: str


@dataclass(frozen=True, slots=True)
class Position:
    """A state of the stage. `refused` says which step of the list could not be taken, and why."""

    model: Model
    steps: tuple[Step, ...]
    sentences: tuple[str, ...]
    offers: tuple[Offer, ...]
    faults: tuple[Fault, ...]
    config: Config
    refused: str = ""

    def to_json(self) -> dict[str, Any]:
        steps = [
            {"id": step_id(s), "sentence": sentence} for s, sentence in zip(self.steps, self.sentences, strict=True)
        ]
        return {
            "model": self.model.to_json(),
            "hash": self.model.digest,
            "steps": steps,
            "refused": self.refused,
            "enabled": [{"id": o.id, "actor": o.actor} for o in self.offers if not o.why_not],
            "disabled": [{"id": o.id, "actor": o.actor, "why": o.why_not} for o in self.offers if o.why_not],
            "broken": [{"clause": f.clause, "version": f.version, "why": f.why} for f in self.faults],
        }


def stand(model: Model, ids: Sequence[str]) -> Position:
    """The position after the steps with these names, or after as many of them as are possible."""
    plain = Plain(effects_of(model))
    refused = ""
    for length in range(len(ids), -1, -1):
        try:
            steps = parse(plain, ids[:length])
        except Impossible as error:
            refused = str(error)
            continue
        return _position(plain, steps, refused)
    raise AssertionError("no steps at all are always possible")


def _position(plain: Plain, steps: tuple[Step, ...], refused: str) -> Position:
    config = plain.start()
    for step in steps:
        config = plain.after(config, step)[0]
    offers = tuple(Offer(step_id(step), _actor(plain, step), why) for step, why in plain.offers(config))
    return Position(plain.model, steps, tuple(narrate(plain, steps)), offers, plain.faults(config), config, refused)


def _actor(plain: Plain, step: Step) -> str:
    if step[0] in plain.names or step[0] == "fill":
        return str(step[0])
    return "executor"
