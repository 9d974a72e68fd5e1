"""Findings of a grade, stored with the attempt, so that a page opened again shows them without grading again."""

from collections.abc import Mapping
from typing import Any

from catalog.text import message
from catalog.text.message import Text
from lab.exercises.chapter import Explain, Predict, Reach, Start, Survive, Task
from lab.exercises.grading import Grade
from lab.ladders.played import Played
from lab.sessions.as_json import restored


def to_json(grade: Grade) -> dict[str, Any]:
    reveal = grade.reveal
    session = (
        None
        if reveal is None
        else {
            "setup": reveal.setup,
            "parameters": dict(reveal.parameters),
            "left_out": sorted(reveal.left_out),
            "steps": list(reveal.steps),
            "single_steps": reveal.single_steps,
        }
    )
    played = None if grade.played is None else grade.played.to_json()
    return {"remarks": [message.to_json(one) for one in grade.remarks], "reveal": session, "played": played}


def played_in(found: Mapping[str, Any]) -> Played | None:
    return restored(Played, found["played"]) if found.get("played") else None


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


def remarks_in(found: Mapping[str, Any]) -> list[Text]:
    return [message.from_json(one) for one in found.get("remarks", [])]


def reveal_in(found: Mapping[str, Any]) -> Start | None:
    body = found.get("reveal")
    if body is None:
        return None
    parameters = {name: tuple(one) if isinstance(one, list) else one for name, one in body["parameters"].items()}
    return Start(body["setup"], parameters, frozenset(body["left_out"]), tuple(body["steps"]), body["single_steps"])
