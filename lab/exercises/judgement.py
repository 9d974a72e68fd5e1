"""The judgement of a sequence that somebody designed."""

from dataclasses import dataclass

from catalog.text.message import NOTHING, Text
from lab.exercises.chapter import Outcome
from lab.ladders.played import Played


@dataclass(frozen=True, slots=True)
class Judgement:
    """The judgement of a sequence that a learner designed. `faults` are those of the rules of plans; `steps` and
    `story` a shortest session that goes wrong, `clauses` those that it breaks; `is_hidden`: it goes wrong only in the
    hidden bounds. `model`: the set-up parameter with which the stage plays that session, or ""."""

    verdict: Outcome
    faults: tuple[Text, ...] = ()
    clauses: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    story: tuple[Text, ...] = ()
    bounds: Text = NOTHING
    is_hidden: bool = False
    why: Text = NOTHING
    model: str = ""
    played: Played | None = None
