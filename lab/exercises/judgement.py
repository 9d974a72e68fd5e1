"""The judgement of a sequence that somebody designed."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from catalog.text import message
from catalog.text.message import NOTHING, Text
from lab.exercises.chapter import Outcome
from lab.ladders.played import Played, played_from_json


@dataclass(frozen=True, slots=True)
class Judgement:
    """The judgement of a sequence that a learner designed. `faults` are those of the rules of plans; `steps` and
    `story` a shortest session that goes wrong, `clauses` those that it breaks; `is_hidden`: it goes wrong only in the
    hidden bounds. `model`: the set-up parameter with which the stage plays that session, or ""."""

    outcome: Outcome
    faults: tuple[Text, ...] = ()
    clauses: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    story: tuple[Text, ...] = ()
    bounds: Text = NOTHING
    is_hidden: bool = False
    why: Text = NOTHING
    model: str = ""
    played: Played | None = None

    def to_json(self) -> dict[str, Any]:
        worded = {"faults": self.faults, "story": self.story}
        body = asdict(replace(self, played=None)) | {
            name: [message.to_json(one) for one in some] for name, some in worded.items()
        }
        body |= {"bounds": message.to_json(self.bounds), "why": message.to_json(self.why)}
        body["played"] = None if self.played is None else self.played.to_json()
        return {"verdict": body.pop("outcome").value} | body


def judgement_from_json(body: Mapping[str, Any]) -> Judgement:
    """Of a search that ended otherwise the verdict, and why."""
    return Judgement(
        Outcome(body["verdict"]),
        tuple(map(message.from_json, body.get("faults", ()))),
        tuple(body.get("clauses", ())),
        tuple(body.get("steps", ())),
        tuple(map(message.from_json, body.get("story", ()))),
        message.from_json(body["bounds"]) if "bounds" in body else NOTHING,
        body.get("is_hidden", False),
        message.from_json(body["why"]),
        body.get("model", ""),
        played_from_json(body["played"]) if body.get("played") else None,
    )
