"""Findings of a grade, stored with the attempt, so that a page opened again shows them without grading again."""

from dataclasses import dataclass
from typing import Any

from catalog.text.message import Text
from lab.exercises.chapter import Explain, Predict, Reach, Start, Survive, Task
from lab.exercises.grading import Grade
from lab.ladders.played import Played


@dataclass(frozen=True, slots=True)
class Finding:
    remarks: tuple[Text, ...] = ()
    reveal: Start | None = None
    played: Played | None = None


def given_in(task: Task | None, grade: Grade) -> dict[str, Any]:
    """The answer as it was understood, by the names that its form has for its parts."""
    given: Any = grade.given
    if isinstance(given, frozenset):
        given = sorted(given)
    elif isinstance(given, tuple):
        given = list(given)
    match task:
        case Explain():
            return dict(given or {})
        case Predict(form=form):
            return {form.value: given}
        case Reach():
            return {"steps": given}
        case Survive():
            return {"moves": given}
    return {"lines": given}
