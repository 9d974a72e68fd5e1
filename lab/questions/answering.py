"""Answers a question, in a worker of the cluster or in a browser."""

from __future__ import annotations

from typing import Any

from catalog.text.message import Text, to_json
from lab.answerers import ANSWERERS
from lab.exercises import designs
from lab.explorer.spaces.search import Budget, Watch
from lab.ladders import verdict
from lab.ladders.order import order_from_json
from lab.questions import search
from lab.sessions.as_json import restored, stored
from lab.sessions.session import BadSession

BUDGET = Budget(states=1_000_000, seconds=30.0)

Json = dict[str, Any]


def answer_of(asked: Json, *, budget: Budget = BUDGET, watch: Watch) -> Json:
    """A question that cannot be asked is unknown. Raises the search's errors."""
    try:
        return _found(asked, budget, watch)
    except (BadSession, designs.Malformed) as error:
        why = error.why if isinstance(error, designs.Malformed) else Text("{why}", {"why": str(error)})
        return {"verdict": "unknown", "why": to_json(why)}


def _found(asked: Json, budget: Budget, watch: Watch) -> Json:
    if "task" in asked:
        written = restored(designs.Submission, asked)
        return stored(designs.judge_design(written.task, written.lines, budget=budget, watch=watch))
    if "order" in asked:
        return stored(verdict.answer(order_from_json(asked["order"]), budget=budget, watch=watch))
    for kind, (answerer, _) in ANSWERERS.items():
        if kind in asked:
            return answerer(asked[kind], budget, watch)
    return search.ask(search.from_json(asked), budget=budget, watch=watch).to_json()
