"""Searches for the missing deploy: explores one change, then releases that write both, then pairs of changes."""

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from catalog.text.message import Text, joined
from rollouts.file import FileMistake, rollout_from
from rollouts.findings import PROVED, Answer, answer_of
from rollouts.repairs.both import writing_both
from rollouts.repairs.order import Body, changes_of
from rollouts.repairs.writing import toml_of
from rollouts.statements.errors import NotModelled, Refused
from rollouts.worlds.search import Budget

TRIES_MAX = 400


@dataclass(frozen=True, slots=True)
class Repair:
    what: Text
    body: Body
    answer: Answer

    @property
    def text(self) -> str:
        return toml_of(self.body)

    def to_json(self) -> dict[str, Any]:
        return {
            "what": str(self.what),
            "deploys": [dict(one) for one in self.body["deploy"]],
            "worlds": self.answer.outcome.worlds,
        }


def repair_of(answer: Answer, budget: Budget | None = None) -> Repair | None:
    """The first change, or pair, that is proved safe within the bounds, else None. Raises `Stopped`."""
    budget = budget or Budget()
    until = time.process_time() + budget.seconds
    source = answer.rollout.source
    firsts = list(changes_of(source, answer))
    boths = list(writing_both(source, answer.model))
    for tried, (what, body) in enumerate(itertools.chain(firsts, boths, _pairs(firsts, answer))):
        if tried >= TRIES_MAX or time.process_time() > until:
            return None
        found = _explored(body, replace(budget, seconds=min(2.0, budget.seconds)))
        if found is not None and found.verdict == PROVED and not _adds_a_fault(found, answer):
            return Repair(what, body, found)
    return None


def _adds_a_fault(found: Answer, before: Answer) -> bool:
    names = {one.name for one in before.model.releases}
    return any(one.is_yours and one.release not in names for one in found.outcome.findings)


def _explored(body: Body, budget: Budget) -> Answer | None:
    try:
        return answer_of(rollout_from(body), budget=budget)
    except (FileMistake, NotModelled, Refused):
        return None


def _pairs(firsts: list[tuple[Text, Body]], answer: Answer) -> Iterator[tuple[Text, Body]]:
    for what, body in firsts:
        for other, changed in changes_of(body, answer):
            yield joined([what, other]), changed
