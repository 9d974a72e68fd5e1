"""The answer for a session at a position: all that the stage draws, in the reader's words, and its link."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.utils.translation import gettext as _

from lab.pages.requests import StageRequest
from lab.pages.words import speaker
from lab.sessions import replay, setups
from lab.sessions.as_json import to_json
from lab.sessions.fold import folded
from lab.sessions.random_step import random_step
from lab.sessions.session import LinkContents, Session, link_of, rules
from lab.sessions.shown import SessionView
from lab.sessions.titles import chapter_of, details_of, title_of


def answer(session: Session, at: int | None, single_steps: bool | None) -> dict[str, Any]:
    """Everything at a position. Raises `replay.BadSession` when there is no such set-up, or it is set up wrongly."""
    return _answer(session, replay.show(session, at, single_steps=single_steps), single_steps)


def random_answer(asked: StageRequest) -> dict[str, Any]:
    """The same after one more step, picked among those that may be taken; `took` names it, "" when there is none."""
    before = replay.show(asked.session, asked.at, single_steps=asked.single_steps)
    offer = random_step(before, asked.seed)
    if offer is None:
        return _answer(asked.session, before, asked.single_steps) | {"took": ""}
    session = replace(asked.session, steps=(*asked.session.steps[: before.at], *offer.takes))
    return answer(session, None, asked.single_steps) | {"took": offer.id}


def linked_answer(linked: LinkContents) -> dict[str, Any]:
    notice = ""
    if linked.has_other_rules:
        notice = _("This link was made with other rules; what is shown is what today's rules do with its steps.")
    return answer(linked.session, linked.at, None) | {"notice": notice}


def without_foresight(answer: dict[str, Any]) -> dict[str, Any]:
    """Without the offers that change nothing: of a hidden step that is half of the answer."""
    offers = [offer | {"changes_nothing": False} for offer in answer["shown"]["offers"]]
    return answer | {"shown": answer["shown"] | {"offers": offers}}


def _answer(session: Session, shown: SessionView, single_steps: bool | None) -> dict[str, Any]:
    single = setups.setup_named(session.setup).single_steps if single_steps is None else single_steps
    say = speaker()
    title = say(title_of(session))
    return {
        "title": title[:1].upper() + title[1:],
        "chapter": chapter_of(session),
        "details": [say(one) for one in details_of(session)],
        "shown": to_json(folded(shown, single_steps=single), say),
        "session": {
            "setup": session.setup,
            "parameters": dict(session.parameters),
            "left_out": sorted(session.left_out),
            "steps": list(session.steps),
        },
        "single_steps": single,
        "link": link_of(session, shown.at),
        "rules": rules(),
        "notice": "",
    }


def described_setups() -> list[Mapping[str, Any]]:
    say = speaker()
    return [to_json(setup, say) for setup in setups.every_setup().values()]


def setup_in_brief(name: str) -> list[Mapping[str, Any]]:
    """A set-up for a stage that is a part of another page: it cannot be changed there."""
    found = setups.setup_named(name)
    return [{"name": name, "kind": found.kind, "about": speaker()(found.about)}]
