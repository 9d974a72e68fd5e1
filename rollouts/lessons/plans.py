"""The lessons' rollouts: files beside this one, some deploys of them by their titles, in any order."""

import tomllib
from collections.abc import Mapping, Sequence
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

from rollouts.file import FileMistake, Rollout, rollout_from, rollout_of
from rollouts.findings import Answer, answer_of
from rollouts.statements.errors import NotModelled
from rollouts.worlds.model import Model
from rollouts.worlds.search import Budget

FOLDER = Path(__file__).parent
LESSONS = ("rename", "rename-at-once", "rename-beside", "split")
MODELS_MAX = 32
BUDGET = Budget(worlds=20_000, seconds=60.0)
"""The lessons' own need 400 at most."""


class BadPlan(ValueError):
    """No such lesson or deploy, or its rollout cannot be explored; says what would be right."""


def body_of(lesson: str) -> Mapping[str, Any]:
    """Raises `BadPlan`."""
    if lesson not in LESSONS:
        raise BadPlan(f"there is no rollout {lesson[:60]!r}; there are: {', '.join(LESSONS)}")
    return _body(lesson)


@lru_cache(maxsize=len(LESSONS))
def _body(lesson: str) -> Mapping[str, Any]:
    return tomllib.loads((FOLDER / f"{lesson}.toml").read_text(encoding="utf-8"), parse_float=Decimal)


@lru_cache(maxsize=MODELS_MAX)
def plan_of(lesson: str, text: str, deploys: tuple[str, ...]) -> Rollout:
    """A lesson with these deploys (none: all), or a file. Raises `BadPlan`."""
    try:
        if text:
            return rollout_of(text)
        body = body_of(lesson)
        by_title = {one["title"]: one for one in body["deploy"]}
        unknown = [one for one in deploys if one not in by_title]
        if unknown or len(set(deploys)) < len(deploys):
            raise BadPlan(f"deploys are {', '.join(by_title)}, each at most once, not {', '.join(deploys)[:100]}")
        return rollout_from({**body, "deploy": [by_title[one] for one in deploys or by_title]})
    except (FileMistake, NotModelled) as error:
        raise BadPlan(str(error)) from error


@lru_cache(maxsize=MODELS_MAX)
def model_of(lesson: str, text: str, deploys: tuple[str, ...]) -> Model:
    rollout = plan_of(lesson, text, deploys)
    try:
        model = Model(rollout)
        return Model(rollout, model.rows_needed) if model.rows_needed < len(model.keys) else model
    except NotModelled as error:
        raise BadPlan(str(error)) from error


def explored(lesson: str, deploys: Sequence[str], budget: Budget | None = None) -> Answer:
    """Cached unless a budget is given. Raises `BadPlan`, `Stopped`."""
    if budget is None:
        return _explored(lesson, tuple(deploys))
    return answer_of(plan_of(lesson, "", tuple(deploys)), budget=budget)


@lru_cache(maxsize=MODELS_MAX)
def _explored(lesson: str, deploys: tuple[str, ...]) -> Answer:
    return answer_of(plan_of(lesson, "", deploys), budget=BUDGET)
