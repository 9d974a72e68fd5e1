"""Every schedule of a rollout, breadth first: the first finding of a kind is the shortest. Of worlds that mean the same
one is explored. A finding that a release has without a rollout is marked *yours already*."""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rollouts.worlds.alone import Alone
from rollouts.worlds.model import Model
from rollouts.worlds.symmetry import images_of
from rollouts.worlds.world import BACKFILL, Fault, Step, Waits, World

WORLDS_MAX = 200_000
SECONDS_MAX = 60.0
WATCH_EVERY = 256
"""After so many worlds, and at its end, a search says how far it is."""

Watch = Callable[[int], bool]
"""Gets the number of worlds explored since the last call; False ends the search."""


class Stopped(Exception):
    """The watch ended the search: it says nothing about the rollout."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Worlds, and seconds of processor time; `watch` may end a search earlier."""

    worlds: int = WORLDS_MAX
    seconds: float = SECONDS_MAX
    watch: Watch | None = None


@dataclass(frozen=True, slots=True)
class Finding:
    """The shortest way to one fault. `worlds[i]`: where step i was taken. `back_from`: deploys done before the
    rollback."""

    found: Fault
    steps: tuple[Step, ...]
    worlds: tuple[World, ...]
    release: str
    operation: str
    done: int
    is_yours: bool = False
    back_from: int | None = None

    @property
    def kind(self) -> str:
        return self.found.kind


@dataclass(slots=True)
class Outcome:
    worlds: int = 0
    seconds: float = 0.0
    is_complete: bool = True
    findings: list[Finding] = field(default_factory=list)
    occurred: set[tuple[str, ...]] = field(default_factory=set)


@dataclass(slots=True)
class _Way:
    before: World | None
    step: Step | None
    by: set[int] = field(default_factory=set)


class Search:
    def __init__(self, model: Model, budget: Budget | None = None) -> None:
        self.model = model
        self._budget = budget or Budget()
        self._images = images_of(model)
        self._ways: dict[World, _Way] = {}
        self._found: dict[tuple[Any, ...], Finding] = {}
        self._alone = Alone(model)
        self._unreported = 0

    def run(self) -> Outcome:
        """Explores the rollout, then from each gate the rollback to the earlier release. Raises `Stopped`."""
        began = time.process_time()
        outcome = Outcome()
        start = self.model.start()
        self._ways[start] = _Way(None, None)
        outcome.is_complete = self._explore(deque([start]), self._ways, outcome, began)
        outcome.worlds = len(self._ways)
        if outcome.is_complete:
            outcome.is_complete = self._go_back(outcome, began)
        self._report()
        outcome.findings = sorted(self._found.values(), key=lambda one: (one.is_yours, len(one.steps)))
        outcome.seconds = time.process_time() - began
        return outcome

    def _explore(
        self,
        queue: deque[World],
        ways: dict[World, _Way],
        outcome: Outcome,
        began: float,
        running: tuple[int, ...] | None = None,
        back_from: int | None = None,
    ) -> bool:
        """True if every world was explored within the budget. `running`: these releases only, no deploys."""
        while queue:
            if len(ways) > self._budget.worlds or time.process_time() - began > self._budget.seconds:
                return False
            self._unreported += 1
            if self._unreported == WATCH_EVERY:
                self._report()
            world = queue.popleft()
            for step, reached in self.model.steps(world, running):
                if isinstance(reached, Waits):
                    continue
                if isinstance(reached, Fault):
                    if back_from is None or step.release == running[-1]:  # type: ignore[index]
                        self._note(world, step, reached, ways, back_from)
                    continue
                if back_from is None:
                    self._occurred(world, step, reached, ways[world], outcome)
                if reached is None:
                    continue
                known = ways.get(reached)
                for image in self._images:
                    known = ways.get(image(reached)) if known is None else known
                if known is None:
                    known = ways[reached] = _Way(world, step)
                    queue.append(reached)
                if step.release is not None and step.met:
                    known.by.add(step.release)
        return True

    def _report(self) -> None:
        explored, self._unreported = self._unreported, 0
        if self._budget.watch is not None and not self._budget.watch(explored):
            raise Stopped

    def _occurred(self, world: World, step: Step, reached: World | None, way: _Way, outcome: Outcome) -> None:
        if step.release == BACKFILL:
            if step.kind == "statement" and step.met is not None:
                outcome.occurred.add(("backfill", "wrote" if step.met else "passed by", str(step.stage)))
        elif step.release is None:
            outcome.occurred.add(("deploy", str(step.stage)))
        elif step.met:
            outcome.occurred.add(("ran", self.model.releases[step.release].name, step.operation))
            if reached is None and any(by not in (step.release, BACKFILL) for by in way.by):
                outcome.occurred.add(("read what another wrote", self.model.releases[step.release].name))

    def _way_to(self, world: World, ways: dict[World, _Way]) -> list[tuple[World, Step]]:
        steps: list[tuple[World, Step]] = []
        way = ways[world]
        while way.before is not None and way.step is not None:
            steps.append((way.before, way.step))
            world, way = way.before, ways[way.before]
        steps.reverse()
        if ways is self._ways:
            return steps
        return [*self._way_to(world, self._ways), (world, Step("back", world.stage)), *steps]

    def _note(self, world: World, step: Step, found: Fault, ways: dict[World, _Way], back_from: int | None) -> None:
        """Keeps the shortest finding of its kind, and beside one that is *yours* the first that is not."""
        about = found.about if found.kind in ("fails", "refused") else ""
        key = (found.kind, about, step.release, step.operation, back_from)
        known = self._found.get(key)
        if known is not None and not known.is_yours:
            return
        way = self._way_to(world, ways)
        steps, worlds = (*(one for _, one in way), step), (*(before for before, _ in way), world)
        is_yours = found.kind != "fails" and self._alone.is_yours(steps, worlds, found)
        if known is not None and is_yours:
            return
        release = "" if step.release in (None, BACKFILL) else self.model.releases[step.release].name
        done = self.model.stages[world.stage].done
        self._found[key] = Finding(found, steps, worlds, release, step.operation, done, is_yours, back_from)

    def _go_back(self, outcome: Outcome, began: float) -> bool:
        gates: dict[int, list[World]] = {}
        for world in self._ways:
            stage = self.model.stages[world.stage]
            if len(stage.running) == 1 and stage.running[0] > 0 and not world.transactions:
                gates.setdefault(world.stage, []).append(world)
        for number, worlds in sorted(gates.items()):
            stage = self.model.stages[number]
            (current,) = stage.running
            ways = {world: _Way(None, None) for world in worlds}
            if not self._explore(deque(worlds), ways, outcome, began, (current, current - 1), stage.done):
                return False
        return True
