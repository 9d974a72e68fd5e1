"""The world with transactions as single events: proofs are searched here.

A serializable transaction has its whole effect at its commit, and would have had the same had it begun just before. So
begin, read and write need no events, and a world is the executor's stop, the contents, the version of each table that
each node uses, and the ranges of the fill. Nodes lease each table by itself: ((2, 1), (2, 2)) are two nodes of which
one still uses the older second table.

This is sound under three conditions, which `fits` checks; tests compare it with `full_space`, which needs none.

- The fence is on. An expired lease or an ended transaction only stops blocking the executor, and every lease may expire
at any time: publish and drain wait for nothing here. Locks and fence alone keep an old version out.
- No removal misses a pair that a fill put since its snapshot: tombstones are upserts (R5), no version from before the
drain is in use when the fill begins (L9), and none that comes after the fill while a worker may still put. After a
cancel such a version is delete-only again, so closing the run (R7) is needed.
- If the storages accept the newest version alone, a transaction of an older one has begun before. Here it may commit as
often as under leases: more is possible, so a proof holds; a counterexample must exist in the plain space, too.

A session with an older version that its node leases (T3) is a node that is behind. A node that is behind takes a newer
version unseen: here when it first writes under it, or when the fence passes its old one.
"""

from collections.abc import Iterator
from typing import NamedTuple

from lab.explorer.contents.effects import Effects
from lab.explorer.contents.numbered import Fault, Occurrence
from lab.explorer.model import ANY_NUMBER, Model
from lab.explorer.plans.program import Do, Stop, Use
from lab.explorer.rules_left_out import Broken
from lab.explorer.spaces.fill import NO_RANGES, Ranges, Step, closed, fill_steps, first_ranges, is_filled

Commit = tuple[Step, int, tuple[Use, ...], int]
"""What a transaction may do: step, contents and versions after it, and what was seen."""


class World(NamedTuple):
    """One state. `versions` are the nodes', oldest first."""

    stop: int
    contents: int
    versions: tuple[Use, ...]
    ranges: Ranges
    crashes: int
    operations: int


UNSAFE_HERE = frozenset(
    {
        Broken.SEEN_ONLY,
        Broken.EARLY,
        Broken.SNAPSHOT,
        Broken.NO_LOCK,
        Broken.NO_CHECK,
        Broken.STALE_FENCE,
        Broken.NEWER_VERSION,
    }
)
"""Rules without which a proof found here is none. TLC names the same ones (`docs/spec`): a test holds the two equal."""

UNSAFE_WHERE_CANCELLED = frozenset({Broken.NO_CLOSE})
"""The same for plans that may be cancelled."""


def fits(model: Model) -> bool:
    """True if a proof found here is sound: see above. A counterexample always is."""
    unsafe = UNSAFE_HERE | UNSAFE_WHERE_CANCELLED if model.cancels else UNSAFE_HERE
    return model.fence and not model.broken & unsafe


class Atomic:
    def __init__(self, effects: Effects) -> None:
        self.effects, self.model = effects, effects.model
        self.stops = effects.program.stops
        self.in_force = [tuple(table.in_force for table in stop.tables) for stop in self.stops]
        self._known_commits: dict[tuple[int, int, tuple[Use, ...]], list[Commit]] = {}
        self._lifted: dict[tuple[int, tuple[Use, ...]], tuple[Use, ...]] = {}

    def first(self) -> list[World]:
        model = self.model
        use = (1,) * len(self.stops[0].tables)
        first = World(int(model.pair), 0, (use,) * model.nodes, NO_RANGES, model.crashes, model.operations)
        return [first._replace(contents=contents) for contents in self.effects.first_contents()]

    def steps(self, world: World) -> Iterator[tuple[Step, World, int]]:
        stop, contents, versions, ranges, crashes, operations = world
        if operations:
            left = operations_left(operations)
            for step, after, moved, seen in self._commits(stop, contents, versions):
                yield step, World(stop, after, moved, ranges, crashes, left), seen
        yield from self._executor(world)
        if ranges:
            for step, others, after, left, seen in fill_steps(
                self.effects, self.stops[stop], ranges, contents, crashes
            ):
                yield step, World(stop, after, versions, others, left, operations), seen

    def faults(self, world: World) -> tuple[Fault, ...]:
        """Every version from the fence to the newest is in force, since a node may use it."""
        at = world.stop
        return self.effects.faults(world.contents, self.in_force[at], self.stops[at].do is Do.END)

    def _commits(self, at: int, contents: int, versions: tuple[Use, ...]) -> list[Commit]:
        """Cached: many worlds share the answer."""
        key = at, contents, versions
        found = self._known_commits.get(key)
        if found is None:
            found = self._known_commits[key] = list(self._new_commits(at, contents, versions))
        return found

    def _new_commits(self, at: int, contents: int, versions: tuple[Use, ...]) -> Iterator[Commit]:
        stop = self.stops[at]
        tried: set[tuple[Use, ...]] = set()
        for node, use in enumerate(versions):
            for used in stop.uses_from(use):
                moved = tuple(sorted((*versions[:node], used, *versions[node + 1 :])))
                if (used, *moved) in tried:
                    continue
                tried.add((used, *moved))
                behind = seen_of(stop, used)
                schema = stop.schema(used)
                for statement, effect in self.effects.choices(contents, schema):
                    seen = effect.seen | behind if behind else Occurrence.NOTHING
                    yield ("commit", used, statement), effect.after, moved, seen
                if refused := self.effects.refused(contents, schema):
                    yield ("refused", used), contents, versions, refused

    def _executor(self, world: World) -> Iterator[tuple[Step, World, int]]:
        stop = self.stops[world.stop]
        if stop.cancel is not None:
            yield ("cancel",), self._arrive(world, stop.cancel), Occurrence.CANCELLED
        if stop.do is Do.END or (stop.do is Do.FILL and not is_filled(world.ranges)):
            return
        contents, onward, seen = self.effects.act(world.stop, world.contents)
        yield act_step(stop), self._arrive(world._replace(contents=contents), onward), seen

    def _arrive(self, world: World, stop: int) -> World:
        """Before another stop. Nodes below the fence are lifted."""
        key = stop, world.versions
        versions = self._lifted.get(key)
        now = self.stops[stop]
        if versions is None:
            versions = self._lifted[key] = tuple(sorted(map(now.lifted, world.versions)))
        return world._replace(stop=stop, versions=versions, ranges=ranges_at(self.model, now.do, world.ranges))


def seen_of(stop: Stop, used: Use) -> int:
    behind = [version < table.newest for version, table in zip(used, stop.tables, strict=True)]
    if not any(behind):
        return Occurrence.NOTHING
    return Occurrence.OLD_VERSION_WROTE | (Occurrence.NOTHING if all(behind) else Occurrence.TABLES_APART)


def act_step(stop: Stop) -> Step:
    if stop.do is Do.FILL:
        return ("close",)
    return (stop.do.value, stop.version) if stop.version else (stop.do.value,)


def operations_left(operations: int) -> int:
    return operations if operations == ANY_NUMBER else operations - 1


def ranges_at(model: Model, do: Do, ranges: Ranges) -> Ranges:
    """The ranges at a stop: made at the fill, dropped when the run is closed (R7)."""
    if do is Do.FILL:
        return ranges or first_ranges(model)
    return ranges if model.lacks(Broken.NO_CLOSE) else closed(ranges)
