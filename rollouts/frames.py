"""A trace as frames: after each step the rows, the transactions under way, and the values that users gave last.
Frame 0 is the start, the last one has the fault. Nothing in a frame refers to the model."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from catalog.text.message import NOTHING, Text
from rollouts.narration import Narrator, shown
from rollouts.worlds.model import Model
from rollouts.worlds.search import Finding
from rollouts.worlds.world import BACKFILL, Step, Transaction, World


@dataclass(frozen=True, slots=True)
class Row:
    """`writer`: the call that wrote the row, "" once it is committed."""

    identity: str
    cells: tuple[str, ...]
    writer: str = ""
    is_deleted: bool = False


@dataclass(frozen=True, slots=True)
class TableRows:
    name: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """A transaction under way; `release` is empty for a backfill."""

    release: str
    call: str
    at: int
    of: int
    locks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Meaning:
    """The values that users gave last for one key; `exists` False: no such row."""

    key: str
    exists: bool
    pairs: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Frame:
    """`actor`: start, deploy, backfill, release or rollback. `deploy`: the current or next one, from 1; `done`:
    ended."""

    actor: str
    text: Text
    release: str
    deploy: int
    done: int
    running: tuple[str, ...]
    tables: tuple[TableRows, ...]
    calls: tuple[Call, ...]
    meant: tuple[Meaning, ...]
    fault: Text = NOTHING


def frames_of(model: Model, finding: Finding) -> Iterator[Frame]:
    narrator = Narrator(model)
    is_back = False
    yield _frame(model, narrator, finding.worlds[0], None, is_back)
    for place, step in enumerate(finding.steps):
        is_last = place + 1 == len(finding.steps)
        is_back |= step.kind == "back"
        world = finding.worlds[place if is_last else place + 1]
        yield _frame(model, narrator, world, step, is_back, narrator.fault(finding) if is_last else NOTHING)


def _frame(
    model: Model, narrator: Narrator, world: World, step: Step | None, is_back: bool, fault: Text = NOTHING
) -> Frame:
    stage = model.stages[world.stage]
    running = (stage.running[0] - 1, *stage.running) if is_back else stage.running
    release = "" if step is None or step.release in (None, BACKFILL) else model.releases[step.release].name
    return Frame(
        actor=_actor(step),
        text=NOTHING if step is None else narrator.step(step),
        release=release,
        deploy=(stage if step is None else model.stages[step.stage]).done + 1,
        done=stage.done,
        running=tuple(model.releases[one].name for one in running),
        tables=tuple(_tables(model, narrator, world)),
        calls=tuple(_call(model, narrator, one, world) for one in world.transactions),
        meant=tuple(
            Meaning(shown(key), one is not None, {name: shown(value) for name, value in one or ()})
            for key, one in zip(model.keys, world.meant, strict=True)
        ),
        fault=fault,
    )


def _actor(step: Step | None) -> str:
    if step is None:
        return "start"
    if step.kind == "back":
        return "rollback"
    return "deploy" if step.release is None else "backfill" if step.release == BACKFILL else "release"


def _tables(model: Model, narrator: Narrator, world: World) -> Iterator[TableRows]:
    schema = model.stages[world.stage].schema
    for name, items in model.shown_rows(world):
        rows = [Row(_identity(identity), tuple(map(shown, values))) for identity, values in items]
        for one in world.transactions:
            latest = {identity: values for table, identity, values in one.writes if table == name}
            rows += [
                Row(_identity(identity), tuple(map(shown, values or ())), narrator.call(one), values is None)
                for identity, values in latest.items()
            ]
        yield TableRows(name, schema[name].names, tuple(rows))


def _identity(identity: tuple[object, ...]) -> str:
    return ", ".join(map(str, identity))


def _call(model: Model, narrator: Narrator, one: Transaction, world: World) -> Call:
    statements = model.statements(world, one)
    release = "" if one.release == BACKFILL else model.releases[one.release].name
    locks = sorted({f"{table} {_identity(of)}" for table, what, of, _ in one.locks if what == "row"})
    return Call(release, narrator.call(one), min(one.at + 1, len(statements)), len(statements), tuple(locks))
