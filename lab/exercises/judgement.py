"""The judgement of a sequence that somebody designed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from catalog.text.message import NOTHING, Text
from lab.exercises.chapter import Outcome
from lab.ladders.played import Played
from lab.sessions.as_json import restored, stored


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
        body: dict[str, Any] = stored(self)
        return {"verdict": body.pop("outcome")} | body


def judgement_from_json(body: Mapping[str, Any]) -> Judgement:
    """Of a search that ended otherwise the verdict, and why."""
    return restored(Judgement, {**body, "outcome": body["verdict"]})
