"""*Yours already*: a fault that one release has alone, without a rollout.

All statements of the trace are done again by one release, with no deploy between, under its first schema and its last.
Both must end the same way, unless one of them refuses a statement before. So a lost update of a read and a save is
yours; an INSERT without a column that was dropped since is not. A refused release must be refused alone; if its
statement is refused always, the plan lacks what the release needs. Open transactions beside the last statement are left
out: no statement has seen their writes.
"""

from collections.abc import Iterator
from typing import Any

from rollouts.statements.errors import Refused
from rollouts.worlds.model import Model
from rollouts.worlds.world import BACKFILL, Fault, Step, Waits, World

ALONE_MAX = 2_000
"""Worlds of one release that are looked at for a statement that is not refused."""

SAME, OTHER, BLOCKED = "same", "other", "blocked"


class Alone:
    def __init__(self, model: Model) -> None:
        self._model = model
        self._known: dict[tuple[Any, ...], bool] = {}
        self._ends: dict[tuple[Any, ...], str] = {}
        self._refused_always: dict[tuple[Any, ...], bool] = {}

    def is_yours(self, steps: tuple[Step, ...], worlds: tuple[World, ...], found: Fault) -> bool:
        own = [step for step in steps if step.release not in (None, BACKFILL)]
        if not own or own[-1] is not steps[-1]:
            return False
        if found.kind == "refused" and self._never_runs(own[-1]):
            return False
        ways = [own, self._without_open(own, worlds[-1])]
        releases = {own[-1].release} if found.kind == "refused" else {step.release for step in own}
        for way in ways:
            calls = tuple((one.kind, one.operation, one.at, one.environment) for one in way)
            key = (frozenset(releases), calls, found.kind, found.about)
            if key not in self._known:
                self._known[key] = any(self._ends_the_same(release, way, found) for release in releases)
            if self._known[key]:
                return True
        return False

    def _never_runs(self, step: Step) -> bool:
        key = (step.release, step.operation, step.at)
        if key not in self._refused_always:
            self._refused_always[key] = self._is_refused_always(step)
        return self._refused_always[key]

    def _is_refused_always(self, step: Step) -> bool:
        release = step.release or 0
        is_refused = False
        for place in {self._model.first_stage[release], self._model.last_stage[release]}:
            try:
                worlds = [self._model.start_at(place)]
            except Refused:
                continue
            seen = set(worlds)
            while worlds and len(seen) < ALONE_MAX:
                world = worlds.pop()
                for one, reached in self._model.steps(world, (release,)):
                    if (one.kind, one.operation, one.at) == ("statement", step.operation, step.at):
                        if not isinstance(reached, Fault | Waits) or (
                            isinstance(reached, Fault) and reached.kind != "refused"
                        ):
                            return False
                        is_refused |= isinstance(reached, Fault)
                    if isinstance(reached, World) and reached not in seen:
                        seen.add(reached)
                        worlds.append(reached)
        return is_refused

    def _without_open(self, own: list[Step], world: World) -> list[Step]:
        kept = list(own)
        for one in world.transactions:
            asked = self._model.asked(one.release, one.operation)
            given = {pair for pair in one.environment if pair[0] in asked}
            mine = [
                step
                for step in kept[:-1]
                if (step.release, step.operation) == (one.release, one.operation) and given <= set(step.environment)
            ]
            is_last = (kept[-1].release, kept[-1].operation) == (one.release, one.operation)
            if not (is_last and given <= set(kept[-1].environment)):
                count = one.at + (one.snapshot is not None)
                kept = [step for step in kept if not any(step is other for other in mine[len(mine) - count :])]
        return kept

    def _ends_the_same(self, release: int | None, own: list[Step], found: Fault) -> bool:
        if release not in self._model.first_stage:
            return False
        ends = set()
        try:
            for place in sorted({self._model.first_stage[release], self._model.last_stage[release]}):
                ends.add(self._end(self._model.start_at(place), release, own, found))
                if OTHER in ends:
                    return False
        except Refused:
            return False
        return SAME in ends

    def _end(self, world: World, release: int, steps: list[Step], found: Fault) -> str:
        key = (world, release, tuple((one.kind, one.operation, one.at, one.environment) for one in steps), found[:2])
        if key not in self._ends:
            self._ends[key] = self._found_end(world, release, steps, found)
        return self._ends[key]

    def _found_end(self, world: World, release: int, steps: list[Step], found: Fault) -> str:
        """SAME: the same fault, of a refusal also at an earlier step. BLOCKED: a step is refused on the way."""
        step, rest = steps[0], steps[1:]
        taken = [reached for one, reached in self._lone_steps(world, release, step) if self._is_same(one, step)]
        if not taken and step.at > 0 and rest:
            return self._end(world, release, rest, found)
        faults = {(one.kind, one.about) for one in taken if isinstance(one, Fault)}
        if (found.kind, found.about) in faults and (not rest or found.kind == "refused"):
            return SAME
        if not rest:
            return OTHER
        ends = set()
        for one in taken:
            if not isinstance(one, Fault | Waits):
                for end in self._with_the_rest(world if one is None else one, release, step):
                    ends.add(self._end(end, release, rest, found))
                    if SAME in ends:
                        return SAME
        return OTHER if OTHER in ends or not (ends or faults) else BLOCKED

    def _lone_steps(self, world: World, release: int, step: Step) -> Iterator[tuple[Step, Any]]:
        return self._model.steps(world, (release,), step.operation)

    def _with_the_rest(self, world: World, release: int, step: Step) -> Iterator[World]:
        """The world, and the world at the end of the operation if the release has more statements."""
        while True:
            yield world
            following = [
                reached
                for one, reached in self._lone_steps(world, release, step)
                if one.at > step.at and self._is_same(one._replace(kind=step.kind, at=step.at), step)
            ]
            if not following or not isinstance(following[0], World):
                return
            world = following[0]

    def _is_same(self, one: Step, other: Step) -> bool:
        if (one.kind, one.operation, one.at) != (other.kind, other.operation, other.at) or one.release is None:
            return False
        asked = self._model.asked(one.release, one.operation)
        given, wanted = dict(one.environment), dict(other.environment)
        return all(wanted.get(name, given[name]) == given[name] for name in asked)
