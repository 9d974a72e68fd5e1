"""The explorer asked about a session's model: can any of these clauses break?

Breadth first through all states, as `lab.explorer.verdict` does, but a state is bad only when a clause of the goal
breaks in it: what else is broken is passed through.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from lab.explorer.contents.foreign_keys import effects_of
from lab.explorer.contents.numbered import Fault
from lab.explorer.model import Model
from lab.explorer.spaces.full_space import Plain, sorted_nodes
from lab.explorer.spaces.reduced_space import Atomic, fits
from lab.explorer.spaces.search import Budget, Space, W, search
from lab.explorer.spaces.symmetry import Symmetry
from lab.explorer.verdict import Verdict

BUDGET = Budget(states=300_000, seconds=5.0)


@dataclass(frozen=True, slots=True)
class _Goal:
    """A space in which only some clauses count."""

    space: Space[W]  # type: ignore[valid-type]
    clauses: frozenset[str]

    def first(self) -> list[W]:
        return self.space.first()

    def steps(self, world: W) -> Iterable[tuple[tuple[object, ...], W, int]]:
        return self.space.steps(world)

    def faults(self, world: W) -> tuple[Fault, ...]:
        return tuple(fault for fault in self.space.faults(world) if fault.clause in self.clauses)


@lru_cache(maxsize=256)
def can_break(model: Model, clauses: frozenset[str]) -> Verdict:
    """Violated when any of the clauses can break under a version in force, proved when none can."""
    effects = effects_of(model)
    if model.fence and fits(model):
        found = search(_Goal(Atomic(effects), clauses), least=Symmetry(effects).least, budget=BUDGET)
    else:
        found = search(_Goal(Plain(effects, fused=True), clauses), least=sorted_nodes, budget=BUDGET)  # type: ignore[arg-type]
    if found.why_unknown:
        return Verdict.UNKNOWN
    return Verdict.VIOLATED if found.faults else Verdict.PROVED
