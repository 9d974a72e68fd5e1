"""Every schedule of a rollout, the shortest first: what it finds, how it got there, and what occurred on the way.

Breadth first, so that the first finding of a kind is the shortest. Two keys mean the same as long as the statements
only compare and store them: of two worlds that differ by an exchange of the keys one is looked at.

A finding that the application has without a rollout is *yours already*: the same statements, all by one release, with
no deploy between them, end the same way.
"""

import itertools
import re
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rollouts.model import BACKFILL, Found, Model, Step, Transaction, Waits, World, in_order
from rollouts.statements.effects import Insert
from rollouts.statements.errors import Refused
from rollouts.statements.values import Value

WORLDS_MAX = 200_000
SECONDS_MAX = 60.0


@dataclass(frozen=True, slots=True)
class Budget:
    """The bounds of one search: worlds, and seconds of processor time."""

    worlds: int = WORLDS_MAX
    seconds: float = SECONDS_MAX


@dataclass(frozen=True, slots=True)
class Finding:
    """The shortest way to one fault. `back_from`: the number of deploys done when the release before came back."""

    found: Found
    steps: tuple[Step, ...]
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
    """The result of a search."""

    worlds: int = 0
    seconds: float = 0.0
    is_complete: bool = True
    findings: list[Finding] = field(default_factory=list)
    occurred: set[tuple[str, ...]] = field(default_factory=set)


@dataclass(slots=True)
class _Way:
    """Where a world was first reached from; `by`: the releases whose write led to it on some way."""

    before: World | None
    step: Step | None
    by: set[int] = field(default_factory=set)


class Search:
    """One search over the worlds of a model."""

    def __init__(self, model: Model, budget: Budget | None = None) -> None:
        self.model = model
        self._budget = budget or Budget()
        self._images = images_of(model)
        self._ways: dict[World, _Way] = {}
        self._found: dict[tuple[Any, ...], Finding] = {}

    def run(self) -> Outcome:
        """Explore the rollout, then from each gate the rollback to the release before."""
        began = time.process_time()
        outcome = Outcome()
        start = self.model.start()
        self._ways[start] = _Way(None, None)
        outcome.is_complete = self._explore(deque([start]), self._ways, outcome, began)
        outcome.worlds = len(self._ways)
        if outcome.is_complete:
            outcome.is_complete = self._go_back(outcome, began)
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
        """True if every world was looked at within the budget. `running`: these releases only, no deploys."""
        while queue:
            if len(ways) > self._budget.worlds or time.process_time() - began > self._budget.seconds:
                return False
            world = queue.popleft()
            for step, reached in self.model.steps(world, running):
                if isinstance(reached, Waits):
                    continue
                if isinstance(reached, Found):
                    if back_from is None or step.release == running[-1]:  # type: ignore[index]
                        self._note(world, step, reached, ways, back_from)
                    continue
                if back_from is None:
                    self._occurred(world, step, reached, ways[world], outcome)
                if reached is None:
                    continue
                known = self._known(reached, ways)
                if known is None:
                    known = ways[reached] = _Way(world, step)
                    queue.append(reached)
                if step.release is not None and step.met:
                    known.by.add(step.release)
        return True

    def _known(self, world: World, ways: dict[World, _Way]) -> _Way | None:
        way = ways.get(world)
        for image in self._images:
            way = ways.get(image(world)) if way is None else way
        return way

    def _occurred(self, world: World, step: Step, reached: World | None, way: _Way, outcome: Outcome) -> None:
        """A proof says what happened in it; where nothing happened it says nothing."""
        if step.release == BACKFILL:
            if step.kind == "statement" and step.met is not None:
                outcome.occurred.add(("backfill", "wrote" if step.met else "passed by", str(step.stage)))
        elif step.release is None:
            outcome.occurred.add(("deploy", str(step.stage)))
        elif step.met:
            outcome.occurred.add(("ran", self.model.releases[step.release].name, step.operation))
            if reached is None and any(by not in (step.release, BACKFILL) for by in way.by):
                outcome.occurred.add(("read what another wrote", self.model.releases[step.release].name))

    def _steps_to(self, world: World, ways: dict[World, _Way]) -> list[Step]:
        steps: list[Step] = []
        way = ways[world]
        while way.before is not None and way.step is not None:
            steps.insert(0, way.step)
            world, way = way.before, ways[way.before]
        if ways is self._ways:
            return steps
        return [*self._steps_to(world, self._ways), Step("back", world.stage), *steps]

    def _note(self, world: World, step: Step, found: Found, ways: dict[World, _Way], back_from: int | None) -> None:
        """Keep the shortest finding of its kind, and beside one that is the application's own the first that is not."""
        about = found.about if found.kind in ("fails", "refused") else ""
        key = (found.kind, about, step.release, step.operation, back_from)
        known = self._found.get(key)
        if known is not None and not known.is_yours:
            return
        steps = (*self._steps_to(world, ways), step)
        is_yours = found.kind != "fails" and self._is_yours(steps, found)
        if known is not None and is_yours:
            return
        release = "" if step.release in (None, BACKFILL) else self.model.releases[step.release].name
        done = self.model.stages[world.stage].done
        self._found[key] = Finding(found, steps, release, step.operation, done, is_yours, back_from)

    def _is_yours(self, steps: tuple[Step, ...], found: Found) -> bool:
        return any(self._ends_the_same(release, steps, found) for release in range(len(self.model.releases)))

    def _ends_the_same(self, release: int, steps: tuple[Step, ...], found: Found) -> bool:
        """The same statements by one release alone, under the schema that it began with. An operation that takes fewer
        steps there has ended before the others' last."""
        own = [step for step in steps if step.release not in (None, BACKFILL)]
        if not own or own[-1] is not steps[-1] or release not in self.model.first_stage:
            return False
        try:
            world = self.model.start_of(release)
        except Refused:
            return False
        return self._replays(world, release, own, found)

    def _replays(self, world: World, release: int, steps: list[Step], found: Found) -> bool:
        """True if the steps can be taken one after the other and end in the same fault."""
        step, rest = steps[0], steps[1:]
        taken = [reached for one, reached in self.model.steps(world, (release,)) if self._is_same(one, step)]
        if not taken and step.at > 0 and rest:
            return self._replays(world, release, rest, found)
        if not rest:
            return any(isinstance(one, Found) and (one.kind, one.about) == (found.kind, found.about) for one in taken)
        return any(
            self._replays(world if one is None else one, release, rest, found)
            for one in taken
            if not isinstance(one, Found | Waits)
        )

    def _is_same(self, one: Step, other: Step) -> bool:
        """The same statement with the same values from its user, of whichever release."""
        if (one.kind, one.operation, one.at) != (other.kind, other.operation, other.at) or one.release is None:
            return False
        asked = self.model.asked(one.release, one.operation)
        given, wanted = dict(one.environment), dict(other.environment)
        return all(wanted.get(name, given[name]) == given[name] for name in asked)

    def _go_back(self, outcome: Outcome, began: float) -> bool:
        """From each gate with one release: the one before it runs again beside it."""
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


class Image:
    """Exchanges values that mean the same, two keys or two values of a name, everywhere in a world."""

    def __init__(self, model: Model, other: Mapping[Value, Value]) -> None:
        self._other = dict(other)
        self._keys = [model.keys.index(self._other.get(key, key)) for key in model.keys]
        self._kept: dict[Any, Any] = {}

    def __call__(self, world: World) -> World:
        return World(
            world.stage,
            self._rows(world.rows),
            tuple(self._of(world.meant[place]) for place in self._keys),
            in_order(tuple(self._exchanged(one) for one in world.transactions)) if world.transactions else (),
            tuple(sorted(self._of(world.todo), key=repr)) if len(world.todo) == 2 else self._of(world.todo),
            world.lingering,
        )

    def _rows(self, rows: Any) -> Any:
        found = self._kept.get(rows)
        if found is None:
            found = tuple((name, tuple(sorted(self._of(items), key=repr))) for name, items in rows)
            self._kept[rows] = found
        return found

    def _exchanged(self, transaction: Transaction) -> Transaction:
        return transaction._replace(
            environment=self._of(transaction.environment),
            writes=self._of(transaction.writes),
            locks=self._of(transaction.locks),
            allowed=self._of(transaction.allowed),
            snapshot=transaction.snapshot and self._rows(transaction.snapshot),
        )

    def _of(self, part: Any) -> Any:
        if isinstance(part, tuple):
            found = self._kept.get(part)
            if found is None:
                found = self._kept[part] = tuple(map(self._of, part))
            return found
        if isinstance(part, frozenset):
            return frozenset(map(self._of, part))
        return self._other.get(part, part) if isinstance(part, int | str) else part


def images_of(model: Model) -> list[Image]:
    """The exchanges under which a rollout stays the same: of its keys, and of the first two values of a name, where
    statements only store these and compare them with `=`."""
    texts = [one.text for one in _statements(model)] + list(model.rollout.tables)
    texts += [stage.text for stage in model.stages]
    words = {word.lower() for text in texts for word in re.findall(r"\w+", text)}
    groups = {model.rollout.key: model.keys, **model.rollout.values}
    pairs = [
        (values[0], values[1])
        for name, values in groups.items()
        if len(values) > 1
        and is_opaque(model, name)
        and all(isinstance(one, int | str) and not isinstance(one, bool) for one in values[:2])
        and not words & {str(one).lower() for one in values[:2]}
    ]
    mentioned = [value for values in groups.values() for value in values]
    pairs = [pair for pair in pairs if all(mentioned.count(one) == 1 for one in pair)][:4]
    images = []
    for chosen in itertools.product((False, True), repeat=len(pairs)):
        other = {a: b for pair, taken in zip(pairs, chosen, strict=True) if taken for a, b in (pair, pair[::-1])}
        images += [Image(model, other)] if other else []
    return images


def is_opaque(model: Model, name: str) -> bool:
    """True if statements only store the values of a name, and compare them with `=`."""
    equal: set[tuple[str, str]] = set()
    exposed: set[str] = set()
    for statement in _statements(model):
        expressions = [statement.where]
        for output in statement.outputs:
            expressions.append(output.expression)
            equal |= {(output.name, column) for column in output.expression.columns} if output.expression else set()
        for column, one in getattr(statement, "sets", ()):
            expressions.append(one)
            equal |= {(column, other) for other in _names(one)}
        for row in getattr(statement, "rows", ()):
            expressions += row
            equal |= {(c, other) for c, one in zip(statement.columns, row, strict=False) for other in _names(one)}
        source = getattr(statement, "source", None)
        if source is not None:
            equal |= {
                (column, other)
                for column, output in zip(statement.columns, source.outputs, strict=False)
                for other in _names(output.expression)
            }
        for one in expressions:
            if one is not None:
                equal |= one.equal
                exposed |= one.exposed
    for stage in model.stages:
        for table in stage.schema.values():
            parts = [*(check.condition for check in table.checks), *(c.generated for c in table.columns if c.generated)]
            parts += [one for trigger in table.triggers for _, one in trigger.sets if one.exposed]
            exposed |= {column for one in parts for column in one.columns}
            exposed |= {column for unique in table.uniques for part in unique.parts for column in part.exposed}
    holding = {f":{name}", name}
    while more := {one for pair in equal if set(pair) & holding for one in pair} - holding - {""}:
        holding |= more
    return not holding & exposed


def _names(expression: Any) -> set[str]:
    return set() if expression is None else {*expression.columns, *(f":{name}" for name in expression.parameters)}


def _statements(model: Model) -> Iterator[Any]:
    statements = [one for release in model.releases for op in release.operations.values() for one in op.statements]
    statements += [one for stage in model.stages for one in stage.statements]
    for statement in statements:
        yield statement
        if isinstance(statement, Insert) and statement.source is not None:
            yield statement.source
