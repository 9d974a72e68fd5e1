"""Small models the tests share."""

from functools import cache
from typing import Any

from lab.explorer.model import Model, kinds_described
from lab.explorer.variants import FOREIGN_KEY_UP, all_variants, road
from lab.explorer.verdict import Answer, explore

ADD_INDEX = "absent,delete-only,write-only,public"


def model(kind: str = "index", states: str = ADD_INDEX, **sizes: Any) -> Model:
    return Model(road=road(states), **kinds_described(kind), **sizes)


def foreign_key(states: str = FOREIGN_KEY_UP, **sizes: Any) -> Model:
    return model("foreign key", states, **sizes)


@cache
def answer_to(name: str) -> Answer:
    """What the explorer answers about a built-in variant; explored once for all tests."""
    return explore(all_variants()[name].model)
