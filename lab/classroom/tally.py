"""The first answers to a prediction, counted. Only those given before the solution was shown are predictions."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from lab.exercises.chapter import Answer, Form, Predict
from lab.exercises.grading import ANSWERS, BadAnswer

BARS_MAX = 12
"""The most frequent numbers, hours, sets or orders that are shown; of choices all are."""


BETWEEN_PAIRS = "; "
"""Between the names of pairs in an answer that is a set of them."""


@dataclass(frozen=True, slots=True)
class Bar:
    answer: str
    count: int
    is_right: bool


@dataclass(frozen=True, slots=True)
class Tally:
    """The answers to a question, or to one of several items of it. `more` were given less often and are not shown."""

    item: str
    bars: tuple[Bar, ...]
    more: int = 0


def tallies(task: Predict, first: Iterable[Mapping[str, Any]]) -> tuple[Tally, ...]:
    """The counted answers, of each item one tally. An answer that is none to this task any more is left out."""
    answers = [answer for body in first if (answer := _understood(task, body)) is not None]
    if task.form is Form.MATCH:
        return tuple(
            _of_choices(task, item.id, [one[item.id] for one in answers if isinstance(one, Mapping)], item.answer)
            for item in task.items
        )
    if task.form is Form.CHOICE:
        return (_of_choices(task, "", [str(one) for one in answers], str(task.answer)),)
    counts = Counter(_words(one) for one in answers)
    shown = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    bars = tuple(Bar(answer, count, answer == _words(task.answer)) for answer, count in shown[:BARS_MAX])
    return (Tally("", bars, sum(count for _, count in shown[BARS_MAX:])),)


def _of_choices(task: Predict, item: str, answers: Iterable[str], right: str) -> Tally:
    counts = Counter(answers)
    return Tally(item, tuple(Bar(choice, counts[choice], choice == right) for choice in task.values))


def _understood(task: Predict, body: Mapping[str, Any]) -> Answer | None:
    try:
        return ANSWERS[task.form](task, body)
    except BadAnswer:
        return None


def _words(answer: Answer) -> str:
    if isinstance(answer, frozenset):
        return BETWEEN_PAIRS.join(sorted(answer)) or "∅"
    return " → ".join(answer) if isinstance(answer, tuple) else str(answer)
