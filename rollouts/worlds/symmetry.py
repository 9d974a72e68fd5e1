"""Of two worlds that differ by an exchange of two keys or of two values that mean the same the search explores one."""

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any

from rollouts.statements.definitions import computed_by
from rollouts.statements.effects import Insert
from rollouts.statements.values import Value
from rollouts.worlds.model import Model, in_order
from rollouts.worlds.world import World


class Image:
    def __init__(self, model: Model, other: Mapping[Value, Value]) -> None:
        self._other = dict(other)
        self._keys = [model.keys.index(self._other.get(key, key)) for key in model.keys]
        self._kept: dict[Any, Any] = {}

    def __call__(self, world: World) -> World:
        return World(
            world.stage,
            self._rows(world.rows),
            tuple(self._of(world.meant[place]) for place in self._keys),
            in_order(
                tuple(
                    one._replace(
                        environment=self._of(one.environment),
                        writes=self._of(one.writes),
                        locks=self._of(one.locks),
                        allowed=self._of(one.allowed),
                        snapshot=one.snapshot and self._rows(one.snapshot),
                    )
                    for one in world.transactions
                )
            )
            if world.transactions
            else (),
            tuple(sorted(self._of(world.todo), key=repr)) if len(world.todo) == 2 else self._of(world.todo),
            world.lingering,
        )

    def _rows(self, rows: Any) -> Any:
        found = self._kept.get(rows)
        if found is None:
            found = tuple((name, tuple(sorted(self._of(items), key=repr))) for name, items in rows)
            self._kept[rows] = found
        return found

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
    """The exchanges that leave a rollout the same: of its keys, and of the first two values of an opaque name."""
    texts = [one.text for one in _statements(model)] + list(model.rollout.tables)
    texts += [stage.text for stage in model.stages]
    triggers = {one for stage in model.stages for table in stage.schema.values() for one in table.triggers}
    texts += [part.text for one in triggers for part in (*(part for _, part in one.sets), one.condition) if part]
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
    """True if statements only store the values of a name and compare them with `=`."""
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
        exposed |= computed_by(stage.text) if stage.kind == "schema" else set()
        for table in stage.schema.values():
            parts = [*(check.condition for check in table.checks), *(c.generated for c in table.columns if c.generated)]
            triggered = [one for trigger in table.triggers for _, one in trigger.sets]
            triggered += [trigger.condition for trigger in table.triggers if trigger.condition]
            parts += [one for one in triggered if one.exposed]
            exposed |= {column.rpartition(".")[2] for one in parts for column in one.columns}
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
