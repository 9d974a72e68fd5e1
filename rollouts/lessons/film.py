"""A run for the ladder's player: a trace, or a quiet run through every deploy. A tile is a deploy; n1 and n2 stand on
the tile of their release; left are rows, right the values that users gave last."""

from collections.abc import Iterator, Sequence

from lab.ladders.frames import FILLER, GROUND, PUBLISHER, Cell, Frame
from lab.ladders.played import Played
from lab.sessions.shown import Text
from rollouts.file import ReleaseDeploy
from rollouts.findings import BROKEN, PROVED, Answer
from rollouts.lessons.drawing import SERVERS, server_of
from rollouts.narration import Narrator, shown
from rollouts.statements.effects import Insert, Query
from rollouts.worlds.model import Model
from rollouts.worlds.search import Finding
from rollouts.worlds.world import BACKFILL, Fault, Step, Waits, World

STORES = "rollout"
"""The name of the stage's store, for `lab.pages.ladder_words`."""

VERDICTS = {BROKEN: "violated", PROVED: "proved"}
STEPS_MAX = 100
Steps = Sequence[tuple[Step, World]]


def played_of(answer: Answer) -> Played | None:
    """The shortest trace of an answer, or a quiet run; None if it is unknown."""
    verdict = VERDICTS.get(answer.verdict)
    if verdict is None:
        return None
    frames = trace_frames(answer.model, answer.counted[0]) if answer.counted else quiet_frames(answer.model)
    return Played(verdict, answer.outcome.worlds, STORES, frames)


def trace_frames(model: Model, finding: Finding) -> tuple[Frame, ...]:
    after = (*finding.worlds[1:], finding.worlds[-1])
    frames = list(_frames(model, list(zip(finding.steps, after, strict=True))))
    last = frames[-1]
    row = next((cell.key for cell in last.left), "")
    fault = Narrator(model).fault(finding)
    frames[-1] = Frame(
        fault, last.actor, last.tile, last.newest, last.uses, last.left, last.right, ((finding.kind, row),)
    )
    return tuple(frames)


def quiet_frames(model: Model) -> tuple[Frame, ...]:
    """A run without a fault: between two deploys each running release writes and the others read."""
    return tuple(_frames(model, list(_quiet(model))))


def _quiet(model: Model) -> Iterator[tuple[Step, World]]:
    world, done, stage = model.start(), set[tuple[int, int, str]](), -1
    for _ in range(STEPS_MAX):
        if world.stage != stage:
            stage, done = world.stage, set()
        found = _next(model, world, done)
        if found is None:
            return
        step, world = found
        yield step, world


def _next(model: Model, world: World, done: set[tuple[int, int, str]]) -> tuple[Step, World] | None:
    deploys: list[tuple[Step, World]] = []
    for step, outcome in model.steps(world):
        if isinstance(outcome, Fault | Waits):
            continue
        after = world if outcome is None else outcome
        if step.release is None or (step.release == BACKFILL and step.at == 0):
            deploys.append((step, after))
            continue
        key = (world.stage, step.release, step.operation)
        if step.at or (key not in done and _is_worth(model, world, step, after)):
            done.add(key)
            return step, after
    return deploys[0] if deploys else None


def _is_worth(model: Model, world: World, step: Step, after: World) -> bool:
    running = model.stages[world.stage].running
    if (
        step.release is None
        or step.release == BACKFILL
        or (len(running) == 1 and 0 < world.stage < len(model.stages) - 1)
    ):
        return False
    statement = model.releases[step.release].operations[step.operation].statements[0]
    if isinstance(statement, Query):
        return bool(step.met) or after != world
    return isinstance(statement, Insert) or after.meant != world.meant or after != world


def _frames(model: Model, steps: Steps) -> Iterator[Frame]:
    narrator = Narrator(model)
    is_back = False
    yield _frame(model, model.start(), Text("the start"), None, is_back)
    for step, after in steps:
        is_back |= step.kind == "back"
        yield _frame(model, after, narrator.step(step), step, is_back)


def _frame(model: Model, world: World, sentence: Text, step: Step | None, is_back: bool) -> Frame:
    stage = model.stages[world.stage]
    running = (stage.running[0] - 1, *stage.running) if is_back else stage.running
    deploys = enumerate(model.rollout.deploys)
    places = (GROUND, *(number for number, one in deploys if isinstance(one, ReleaseDeploy)))
    uses = {name: places[number] for name, number in zip(SERVERS, (running[0], running[-1]), strict=True)}
    tile = GROUND if step is None else model.stages[step.stage].done
    return Frame(
        sentence,
        _actor(step, running),
        tile,
        max(uses.values()),
        uses,
        tuple(_rows(model, world)),
        tuple(_meant(model, world)),
    )


def _actor(step: Step | None, running: tuple[int, ...]) -> str:
    if step is None:
        return ""
    if step.release is None:
        return PUBLISHER
    return FILLER if step.release == BACKFILL else server_of(step.release, running)


def _rows(model: Model, world: World) -> Iterator[Cell]:
    schema = model.stages[world.stage].schema
    for table, items in model.shown_rows(world):
        for identity, values in items:
            row = ", ".join(map(str, identity))
            pairs = ", ".join(f"{name} = {shown(one)}" for name, one in zip(schema[table].names, values, strict=True))
            named = f"{table}: {pairs}" if len(model.shown_rows(world)) > 1 else pairs
            yield Cell(f"{table}/{row}", Text("{name}", {"name": named}))


def _meant(model: Model, world: World) -> Iterator[Cell]:
    for key, one in zip(model.keys, world.meant, strict=True):
        if one is not None:
            pairs = ", ".join(f"{name} = {shown(value)}" for name, value in one)
            yield Cell(f"meant/{shown(key)}", Text("{name}", {"name": f"{shown(key)}: {pairs}"}))
