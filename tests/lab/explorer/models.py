"""Small models the tests share."""

from functools import cache
from typing import Any

from lab.explorer.model import Model, kind_named
from lab.explorer.variants import all_variants, road
from lab.explorer.verdict import Answer, explore

ADD_INDEX = "absent,delete-only,write-only,public"


def model(kind: str = "index", states: str = ADD_INDEX, **sizes: Any) -> Model:
    return Model(kind_named(kind), road(states), **sizes)


@cache
def answer_to(name: str) -> Answer:
    """What the explorer answers about a built-in variant; explored once for all tests."""
    return explore(all_variants()[name].model)
