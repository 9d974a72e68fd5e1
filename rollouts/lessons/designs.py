"""Orders of deploys that learners build: right if safe, and ending with the release and schema of the task's
solution."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lab.exercises.chapter import Design, Outcome, Start
from lab.exercises.designs import Malformed
from lab.exercises.grammars import Grammar, Tile
from lab.exercises.judgement import Judgement
from lab.explorer.spaces.search import Budget as LabBudget
from lab.explorer.spaces.search import Progress, Watch
from lab.sessions.shown import Text
from rollouts.findings import BROKEN, PROVED
from rollouts.lessons import plans
from rollouts.lessons.film import played_of
from rollouts.lessons.sessions import ROLLOUT
from rollouts.lessons.steps import ids_of
from rollouts.narration import Narrator
from rollouts.worlds.model import Model
from rollouts.worlds.search import Budget, Stopped


def check(task: Design, lines: Sequence[str]) -> None:
    """Raises `Malformed` for lines that are no order of the task's deploys."""
    try:
        plans.model_of(task.elements, "", tuple(lines))
    except plans.BadPlan as error:
        raise Malformed(Text("{why}", {"why": str(error)})) from error


def judge(task: Design, lines: Sequence[str], budget: LabBudget, watch: Watch | None) -> Judgement:
    """Raises `Malformed`."""
    check(task, lines)
    explored = 0

    def goes_on(more: int) -> bool:
        nonlocal explored
        explored += more
        return watch is None or watch(Progress(explored, 0, 0, 0.0))

    bounded = Budget(min(budget.states, plans.BUDGET.worlds), min(budget.seconds, plans.BUDGET.seconds), goes_on)
    try:
        found = plans.explored(task.elements, lines, bounded)
    except Stopped:
        return Judgement(Outcome.UNKNOWN, why=Text("it was stopped after {n} states", {"n": explored}))
    narrator = Narrator(found.model)
    bounds, played = narrator.bounds(), played_of(found)
    if found.verdict == BROKEN:
        finding = found.counted[0]
        why = Text("broken in {n} steps: {fault}", {"n": len(finding.steps), "fault": narrator.fault(finding)})
        return Judgement(
            Outcome.WRONG, (why,), (finding.kind,), ids_of(found.model, finding), bounds=bounds, played=played
        )
    if found.verdict != PROVED:
        return Judgement(Outcome.UNKNOWN, bounds=bounds, why=Text("it gave up after {n} states", {"n": explored}))
    if _end(found.model) != _end(plans.model_of(task.elements, "", task.solution)):
        why = Text("nothing breaks, but the rollout has not come to its end")
        return Judgement(Outcome.WRONG, (why,), bounds=bounds, played=played)
    return Judgement(Outcome.RIGHT, bounds=bounds, played=played)


def _end(model: Model) -> tuple[str, dict[str, frozenset[str]]]:
    schema = model.stages[-1].schema
    return model.releases[-1].name, {name: frozenset(table.names) for name, table in schema.items()}


def reveal(task: Design, lines: Sequence[str], judgement: Judgement) -> Start:
    return Start(ROLLOUT, {"rollout": task.elements, "deploys": tuple(lines)}, steps=judgement.steps)


def grammar(*, places: tuple[str, ...], worded: Callable[[Text], str]) -> Grammar:
    """`worded` translates the text of a tile."""

    def tiles(task: Design) -> tuple[Tile, tuple[Tile, ...]]:
        before = str(plans.body_of(task.elements)["before"]["release"])
        ground = Tile("", worded(Text("release {name}", {"name": before})))
        offered = sorted({*task.solution, *task.wrong, *task.tiles})
        return ground, tuple(_tile(task.elements, title, worded) for title in offered)

    return Grammar(check, judge, reveal, tiles, places)


def _tile(lesson: str, title: str, worded: Callable[[Text], str]) -> Tile:
    body = next(one for one in plans.body_of(lesson)["deploy"] if one["title"] == title)
    about = "; ".join(str(one) for one in body["does"].values()) if "does" in body else ""
    return Tile(title, worded(tile_text(body)), "release" not in body, about or str(body.get("backfill", "")))


def tile_text(body: Mapping[str, Any]) -> Text:
    if "release" in body:
        return Text("release {name}", {"name": str(body["release"])})
    if "gone" in body:
        return Text("release {name} is gone", {"name": str(body["gone"])})
    if "backfill" in body:
        return Text("backfill")
    if "trigger" in body:
        return Text("trigger")
    texts = body["schema"] if isinstance(body["schema"], list) else [body["schema"]]
    short = (re.sub(r"^ALTER TABLE \S+ (ALTER COLUMN )?", "", str(one), flags=re.IGNORECASE) for one in texts)
    return Text("{name}", {"name": "; ".join(short)})
