"""A world on the stage: releases are versions, rows are pairs, deploys are the plan. Public columns are those that a
release reads, write-only ones those that it only writes, absent ones those that it does not know. n2 changes over when
a release starts, n1 when the earlier ends."""

from collections.abc import Iterator
from typing import NamedTuple

from catalog.elements import State
from lab.sessions.shown import Cluster, Difference, Element, Lease, Node, Pair, PlanStep, Text, Transaction, Version
from rollouts.file import Release
from rollouts.narration import OF_DEPLOYS, Narrator, shown
from rollouts.statements.effects import Insert, Query, Update
from rollouts.worlds.model import Model
from rollouts.worlds.world import BACKFILL, World

SERVERS = ("n1", "n2")
"""The first one is the last to change over."""


class _Place(NamedTuple):
    table: str
    row: str
    column: str


def cluster_of(model: Model, world: World, before: World) -> Cluster:
    stage = model.stages[world.stage]
    newest = stage.running[-1]
    tables = _columns(model)
    versions = tuple(
        Version(
            table,
            number + 1,
            tuple(Element(column, "column", _state(model, release, table, column).value) for column in columns),
            number == newest,
            number in stage.running,
        )
        for table, columns in tables.items()
        for number, release in enumerate(model.releases[: newest + 1])
    )
    nodes = tuple(
        Node(
            name,
            "running",
            tuple(Lease(table, number + 1, is_live=True) for table in tables),
            tuple(_transactions(model, world, number, tables)) if (server_of(number, stage.running) == name) else (),
        )
        for name, number in zip(SERVERS, (stage.running[0], newest), strict=True)
    )
    return Cluster(versions, nodes, tuple(_pairs(model, world, before)), tuple(_plan(model, stage.done)))


def server_of(release: int, running: tuple[int, ...]) -> str:
    return SERVERS[-1] if len(running) > 1 and release == running[-1] else SERVERS[0]


def _columns(model: Model) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for stage in model.stages:
        for table in stage.schema.values():
            keys = {column for one in table.uniques if one.name == table.key for column in one.columns}
            found.setdefault(table.name, {}).update({name: None for name in table.names if name not in keys})
    return {table: tuple(columns) for table, columns in found.items()}


def _state(model: Model, release: Release, table: str, column: str) -> State:
    statements = [one for operation in release.operations.values() for one in operation.statements]
    own = [one for one in statements if one.table == table]
    reads = any(
        output.expression is None or column in output.expression.columns
        for one in own
        if isinstance(one, Query)
        for output in one.outputs
    )
    writes = any(column in one.columns for one in own if isinstance(one, Insert))
    writes |= any(column == name for one in own if isinstance(one, Update) for name, _ in one.sets)
    return State.PUBLIC if reads else State.WRITE_ONLY if writes else State.ABSENT


def _transactions(
    model: Model, world: World, release: int, tables: dict[str, tuple[str, ...]]
) -> Iterator[Transaction]:
    narrator = Narrator(model)
    for one in world.transactions:
        if one.release == release:
            values: dict[str, str | int | Text] = {
                "call": narrator.call(one),
                "at": one.at,
                "of": len(model.statements(world, one)),
            }
            did = Text("{call}: {at} of {of} statements done", values)
            yield Transaction(dict.fromkeys(tables, release + 1), did)


def _pairs(model: Model, world: World, before: World) -> Iterator[Pair]:
    now, was = _values(model, world), _values(model, before)
    for place in sorted(now.keys() | was.keys()):
        value = now.get(place, was.get(place, ""))
        difference = Difference.SAME
        if place not in now:
            difference = Difference.REMOVED
        elif place not in was:
            difference = Difference.ADDED
        elif now[place] != was[place]:
            difference = Difference.CHANGED
        sort = "value" if place.column else "row"
        name = "/".join(place)
        yield Pair(name, place.table, 1, place.row, sort, place.column or place.row, value, difference)


def _values(model: Model, world: World) -> dict[_Place, str]:
    schema, known = model.stages[world.stage].schema, _columns(model)
    found: dict[_Place, str] = {}
    for table, items in model.shown_rows(world):
        for identity, values in items:
            row = ", ".join(map(str, identity))
            found[_Place(table, row, "")] = ""
            named = zip(schema[table].names, values, strict=True)
            found |= {_Place(table, row, name): shown(value) for name, value in named if name in known[table]}
    return found


def _plan(model: Model, done: int) -> Iterator[PlanStep]:
    for number in range(len(model.rollout.deploys)):
        status = "done" if number < done else "now" if number == done else "ahead"
        yield PlanStep(deploy_text(model, number), status)


def deploy_text(model: Model, number: int) -> Text:
    """A deploy in a few words; `number` counts from 0."""
    stages = [one for one in model.stages if one.done == number]
    values: dict[str, str | int | Text] = {
        "number": number + 1,
        "what": "; ".join(one.text for one in stages if one.text),
    }
    match stages[0].kind if stages else "":
        case "starts":
            return Text("deploy {number}: release {what}", values | {"what": stages[0].text})
        case "backfill":
            return Text("deploy {number}: backfill", values)
        case "schema" | "trigger" | "gone" as kind:
            return Text(OF_DEPLOYS[kind], values)
    return Text("deploy {number}", values)


def actor_of(model: Model, release: int | None, running: tuple[int, ...]) -> str:
    if release is None:
        return "deploys"
    return "backfill" if release == BACKFILL else server_of(release, running)
