"""Small models the tests share."""

import json
from functools import cache
from typing import Any

from lab.explorer.model import Model, kinds_described
from lab.explorer.variant import FOREIGN_KEY_UP, stages
from lab.explorer.variants import LETTERS, all_variants, letters
from lab.explorer.verdict import Answer, explore
from lab.sessions.replay import show
from lab.sessions.session import Session
from lab.sessions.shown import SessionView

ADD_INDEX = "absent,delete-only,write-only,public"


def model(kind: str = "index", states: str = ADD_INDEX, **sizes: Any) -> Model:
    """`states` as the command takes them, or a letter for each element's."""
    is_short = not set(states) - {*LETTERS, " "}
    return Model(stages=letters(states) if is_short else stages(states), **kinds_described(kind), **sizes)


def foreign_key(states: str = FOREIGN_KEY_UP, **sizes: Any) -> Model:
    return model("foreign key", states, **sizes)


@cache
def answer_to(name: str) -> Answer:
    """What the explorer answers about a built-in variant; explored once for all tests."""
    return explore(all_variants()[name].model)


def stand(of: Model, steps: list[str]) -> SessionView:
    """What a session on this model shows after these steps, statements in single steps."""
    return show(Session("model", {"model": json.dumps(of.to_json())}, steps=tuple(steps)), single_steps=True)


def whys(of: Model, steps: list[str]) -> dict[str, str]:
    """For each offer after these steps why it may not be taken, "" where it may."""
    return {offer.id: str(offer.why_not) for offer in stand(of, steps).offers}
