"""The shortest witness of each unsafe built-in model, as a session; and the models by the rule left out."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

from lab.explorer.rules_left_out import Broken
from lab.explorer.spaces.config import step_id
from lab.explorer.spaces.search import Budget
from lab.explorer.variant import Variant
from lab.explorer.variants import all_variants
from lab.explorer.verdict import Answer, Verdict, explore
from lab.sessions.session import BadSession, Session

BUDGET = Budget(states=100_000, seconds=math.inf)
"""The largest unsafe variant has 17,000 states. No seconds: what is kept does not depend on the machine."""


@dataclass(frozen=True, slots=True)
class Witness:
    """A session of a built-in model: at its end if the model is unsafe, at its start if it is proved."""

    variant: Variant
    session: Session
    answer: Answer

    @property
    def is_unsafe(self) -> bool:
        return self.answer.verdict is Verdict.VIOLATED


@lru_cache(maxsize=256)
def witness_of(name: str) -> Witness:
    """Takes up to 3 s the first time, for an unsafe one. Raises `BadSession`."""
    variant = variant_named(name)
    answer = explore(variant.model, budget=BUDGET)
    return Witness(variant, Session("variant", {"name": name}, frozenset(), tuple(map(step_id, answer.steps))), answer)


def variant_named(name: str) -> Variant:
    found = all_variants().get(name)
    if found is None:
        raise BadSession(f"there is no built-in model {name[:60]}")
    return found


@cache
def unsafe_without() -> Mapping[str, tuple[str, ...]]:
    """The names of the unsafe models that leave out one rule only, by the rule's id."""
    found: dict[str, list[str]] = {rule.value: [] for rule in Broken}
    for name, variant in all_variants().items():
        if variant.breaks and len(variant.model.broken) == 1:
            found[next(iter(variant.model.broken)).value].append(name)
    return {rule: tuple(names) for rule, names in found.items()}
