"""Watches a learner's steps for the goal, or for another damage than the wanted one."""

from collections.abc import Sequence
from dataclasses import dataclass

from catalog.text.message import NOTHING, Text
from lab.exercises.chapter import Outcome, Reach, Screen
from lab.exercises.grading import BadAnswer, grade, other_damage, unmet
from lab.exercises.observations import end_of
from lab.sessions.session import BadSession
from lab.sessions.short_steps import in_full


@dataclass(frozen=True, slots=True)
class PlayState:
    """`is_goal`: everything is as the task asks. `made` names other damage, or damage that no query meets yet."""

    is_goal: bool
    made: Text = NOTHING


def reached(screen: Screen, steps: Sequence[str]) -> PlayState:
    """Nothing for steps that cannot be taken."""
    task, start = screen.task, screen.start
    if not isinstance(task, Reach) or start is None:
        return PlayState(is_goal=False)
    try:
        if grade(screen, {"steps": list(steps)}).outcome is Outcome.RIGHT:
            return PlayState(is_goal=True)
        shown = end_of(start, in_full(steps)[len(start.steps) :])
        return PlayState(False, next(iter(unmet(task, shown)), other_damage(task, shown)))
    except (BadAnswer, BadSession):
        return PlayState(is_goal=False)
