"""The session that a learner has played, for a teacher to replay on the stage; a plan has none."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lab.exercises import adversary
from lab.exercises.chapter import Design, Explain, Predict, Reach, Screen, Start, Survive
from lab.exercises.observations import session_of
from lab.sessions import short_steps as steps
from lab.sessions.session import STEPS_MAX, Session


def trace_of(screen: Screen, answer: Mapping[str, Any]) -> Session | None:
    match screen.task, screen.start:
        case Predict() as task, Start() as start:
            return session_of(start, task.then)
        case Reach(), Start() as start:
            taken = steps.in_full(_texts(answer.get("steps")))
            return session_of(replace(start, steps=taken[:STEPS_MAX]))
        case Survive() as task, Start() as start:
            return session_of(replace(start, steps=adversary.play(task, start, _texts(answer.get("moves"))).steps))
        case Explain(), Start() as start:
            return session_of(start)
        case Design(grammar="handbooks"), _:
            editions = ("mail/mail", *_texts(answer.get("lines")), "messenger/messenger")
            return session_of(Start("handbooks", {"editions": editions}))
    return None


def _texts(value: object) -> tuple[str, ...]:
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list | tuple) else ()
