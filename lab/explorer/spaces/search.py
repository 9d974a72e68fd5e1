"""Breadth first through all worlds, until one is broken, all are seen, or the budget is spent, which says nothing about
the model. The first broken world is a nearest one. Worlds are compared by their representative (`symmetry`)."""

import time
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from catalog.text.message import NOTHING, Text
from lab.explorer.contents.numbered import Fault, Occurrence

W = TypeVar("W", bound=Hashable)
LOOK_UP_EVERY = 128
"""After so many worlds the search looks at its budget, and tells how far it is."""


class Space(Protocol[W]):
    def first(self) -> list[W]: ...

    def steps(self, world: W) -> Iterable[tuple[tuple[object, ...], W, int]]: ...

    def faults(self, world: W) -> tuple[Fault, ...]: ...


@dataclass(frozen=True, slots=True)
class Budget:
    states: int = 5_000_000
    seconds: float = 600.0


UNHURRIED = Budget()


@dataclass(frozen=True, slots=True)
class Progress:
    states: int
    waiting: int
    depth: int
    seconds: float


Watch = Callable[[Progress], bool]
"""Gets the progress of the search; False ends it."""


@dataclass(frozen=True, slots=True)
class SearchResult(Generic[W]):
    """`path` leads to a broken world; `why_unknown` is set if the search gave up."""

    states: int
    depth: int
    seconds: float
    seen: int
    path: tuple[W, ...] = ()
    faults: tuple[Fault, ...] = ()
    why_unknown: Text = NOTHING


def search(
    space: Space[W], *, least: Callable[[W], W] | None = None, budget: Budget = UNHURRIED, watch: Watch | None = None
) -> SearchResult[W]:
    """`least` names the representative of a world."""
    began = time.monotonic()
    parents: dict[W, W | None] = {}
    level: list[W] = []
    for first in space.first():
        world = first if least is None else least(first)
        if world not in parents:
            parents[world] = None
            level.append(world)
            if faults := space.faults(world):
                return SearchResult(len(parents), 0, time.monotonic() - began, Occurrence.NOTHING, (world,), faults)
    seen, depth, expanded = Occurrence.NOTHING, 0, 0
    steps, faults_of = space.steps, space.faults
    while level:
        following: list[W] = []
        for world in level:
            expanded += 1
            if not expanded % LOOK_UP_EVERY:
                why = _gives_up(Progress(len(parents), len(level), depth, time.monotonic() - began), budget, watch)
                if why:
                    return SearchResult(len(parents), depth, time.monotonic() - began, seen, why_unknown=why)
            for _, after, flags in steps(world):
                seen |= flags
                if least is not None:
                    after = least(after)
                if after in parents:
                    continue
                parents[after] = world
                following.append(after)
                if faults := faults_of(after):
                    path = _path(parents, after)
                    return SearchResult(len(parents), depth + 1, time.monotonic() - began, seen, path, faults)
        level = following
        depth += bool(level)
    return SearchResult(len(parents), depth, time.monotonic() - began, seen)


def _gives_up(progress: Progress, budget: Budget, watch: Watch | None) -> Text:
    if progress.states > budget.states:
        return Text("it gave up after {n} states", {"n": progress.states})
    if progress.seconds > budget.seconds:
        return Text("it gave up after {n} s", {"n": round(progress.seconds)})
    if watch is not None and not watch(progress):
        return Text("it was stopped after {n} states", {"n": progress.states})
    return NOTHING


def _path(parents: dict[W, W | None], last: W) -> tuple[W, ...]:
    path, world = [last], parents[last]
    while world is not None:
        path.append(world)
        world = parents[world]
    return tuple(reversed(path))
