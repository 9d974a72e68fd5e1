"""Questions of predictions about a lesson's rollout, answered by exploring: `safe orders` (the names of the proved ones
in `given`), `first deploy without a rollback` (the deploy after which the earlier release cannot come back)."""

import re
from collections.abc import Iterator, Mapping, Sequence

from lab.exercises.chapter import Observed, Parameter, Predict, Start
from lab.exercises.grammars import Question
from lab.exercises.item_run import ItemRun, RunTile
from lab.exercises.observations import BadQuestion
from lab.ladders.played import Played
from lab.sessions.shown import Text
from rollouts.findings import PROVED, Answer
from rollouts.lessons import plans
from rollouts.lessons.designs import tile_text
from rollouts.lessons.film import STORES, played_of, trace_frames
from rollouts.worlds.search import Finding

LESSON = "rollout"
"""Of what is given the name of the lesson; the others are orders of its deploys."""


def _orders(given: Mapping[str, Parameter]) -> tuple[str, dict[str, tuple[str, ...]]]:
    lesson = str(given.get(LESSON, ""))
    return lesson, {name: tuple(map(str, one)) for name, one in given.items() if isinstance(one, tuple)}


def _explored(lesson: str, deploys: Sequence[str]) -> Answer:
    try:
        return plans.explored(lesson, deploys)
    except plans.BadPlan as error:
        raise BadQuestion(str(error)) from error


def _safe_orders(_: re.Match[str], __: Start | None, given: Mapping[str, Parameter]) -> Observed:
    lesson, orders = _orders(given)
    return frozenset(name for name, deploys in orders.items() if _explored(lesson, deploys).verdict == PROVED)


def _runs_of_orders(task: Predict, _: Start | None) -> tuple[ItemRun, ...]:
    lesson, orders = _orders(task.given)
    return tuple(_runs(lesson, orders))


def _runs(lesson: str, orders: Mapping[str, Sequence[str]]) -> Iterator[ItemRun]:
    for name, deploys in orders.items():
        played = played_of(_explored(lesson, deploys))
        if played is not None:
            yield ItemRun(name, _tiles(lesson, deploys), played)


def _tiles(lesson: str, deploys: Sequence[str]) -> tuple[RunTile, ...]:
    by_title = {one["title"]: one for one in plans.body_of(lesson)["deploy"]}
    before = RunTile(Text("release {name}", {"name": str(plans.body_of(lesson)["before"]["release"])}))
    return (before, *(RunTile(tile_text(by_title[one]), "release" not in by_title[one]) for one in deploys))


def _no_rollback(lesson: str, given: Mapping[str, Parameter]) -> tuple[Answer, Finding | None]:
    found = _explored(lesson, _orders(given)[1].get("order", ()))
    rollbacks = [one for one in found.outcome.findings if one.back_from is not None and not one.is_yours]
    return found, min(rollbacks, key=lambda one: (one.back_from or 0, len(one.steps)), default=None)


def _rollback(_: re.Match[str], __: Start | None, given: Mapping[str, Parameter]) -> Observed:
    lesson, orders = _orders(given)
    _found, finding = _no_rollback(lesson, given)
    return "none" if finding is None else orders["order"][(finding.back_from or 0) - 1]


def _run_of_rollback(task: Predict, _: Start | None) -> tuple[ItemRun, ...]:
    lesson, orders = _orders(task.given)
    found, finding = _no_rollback(lesson, task.given)
    if finding is None:
        return ()
    frames = trace_frames(found.model, finding)
    played = Played("", found.outcome.worlds, STORES, frames)
    title = orders["order"][(finding.back_from or 0) - 1]
    return (ItemRun(title, _tiles(lesson, orders["order"]), played),)


QUESTIONS = (
    Question("safe orders", _safe_orders, _runs_of_orders),
    Question("first deploy without a rollback", _rollback, _run_of_rollback),
)
