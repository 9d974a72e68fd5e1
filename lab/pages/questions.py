"""Questions to the explorer from the stage. A search cannot begin where a transaction is open or a lease has expired:
then it begins at the last earlier position where it can, and the answer says so."""

from dataclasses import asdict, dataclass
from typing import Any

from catalog.text.message import NOTHING, Text
from catalog.text.message import from_json as text_from_json
from lab import models, services
from lab.pages.requests import asked, asked_of, parts_of, truth
from lab.pages.words import say
from lab.questions.goal import goal_from_json
from lab.questions.saving import Saving, what_saves
from lab.questions.search import Question, from_json, last_point
from lab.sessions.as_json import to_json
from lab.sessions.model.setups import names_of
from lab.sessions.replay import show
from lab.sessions.session import Session
from lab.sessions.setups import setup_named
from lab.sessions.shown import step_text

STANDING = ("id", "state", "before", "again_s", "states", "depth", "seconds")


@dataclass(frozen=True, slots=True)
class PlacedQuestion:
    """A question, and why it is not asked from where the reader stands (empty: it is)."""

    question: Question
    why_not_here: Text


def question_in(body: bytes) -> PlacedQuestion:
    """The question of a request. Raises `BadRequest`, or `BadSession` where nothing can be asked."""
    parts = parts_of(body)
    request, goal = asked_of(parts), goal_from_json(parts.get("goal"))
    from_here, any_rows = truth(parts, "from_here"), truth(parts, "any_rows")
    at = len(request.session.steps) if request.at is None else request.at
    point, why = last_point(request.session, at)
    if not from_here:
        return PlacedQuestion(Question(request.session, 0, goal, from_here=False, any_rows=any_rows), NOTHING)
    here = Session(
        request.session.setup, request.session.parameters, request.session.left_out, request.session.steps[:point]
    )
    return PlacedQuestion(Question(here, point, goal, from_here=True), why)


def savings_in(body: bytes) -> list[dict[str, Any]]:
    """The choices that would have saved the session of a request. Raises `BadRequest` or `BadSession`."""
    session = asked(body).session
    names = names_of(setup_named(session.setup), session)
    saving = [(one, names.texts_in(one.refused)) for one in what_saves(session)]
    return [asdict(one) | {"refused": to_json(refused, say)} | _named(session, one) for one, refused in saving]


def worded(question: models.Question) -> dict[str, Any]:
    shown = services.shown(question)
    if "session" not in question.asked:  # what an answer is about is shown when the answer is stored
        return {name: value for name, value in shown.items() if name in STANDING}
    if "verdict" not in shown:
        return shown
    session = from_json(question.asked).session
    names = names_of(setup_named(session.setup), session)
    bounds = text_from_json(shown["bounds"]) if "bounds" in shown else NOTHING
    shown |= {"why": say(text_from_json(shown["why"])), "bounds": say(bounds)}
    broken = shown.get("broken", ())
    return shown | {
        "broken": [
            one | {"why": say(names.text(text_from_json(one["why"]))), "version": names.version(one["version"])}
            for one in broken
        ]
    }


def _named(session: Session, one: Saving) -> dict[str, str]:
    offers = show(session, one.at, single_steps=True).offers
    found = next((offer for offer in offers if offer.id == one.step), None)
    return {"label": "" if found is None else say(step_text(found.actor, found.label))}
