"""A task as a form of plain fields, and its answer: all but the stage works without scripts."""

import json
from dataclasses import dataclass
from typing import Any

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from catalog.text.message import clauses
from lab.exercises.adversary import Game, Standing
from lab.exercises.chapter import Design, Explain, Form, Predict, Reach, Screen, Survive
from lab.exercises.goals import BROKEN, goal_text
from lab.exercises.grading import moves_of
from lab.exercises.observations import end_of
from lab.exercises.pair_texts import pair_text
from lab.exercises.shelf import Book
from lab.pages.courses.chapters import text
from lab.pages.words import clause_words, named_clause, say
from lab.sessions.fold import folded
from lab.sessions.session import STEPS_MAX
from lab.sessions.short_steps import in_full

ANSWER_CHARS_MAX = 20_000


@dataclass(frozen=True, slots=True)
class Option:
    value: str
    text: str
    is_chosen: bool = False


@dataclass(frozen=True, slots=True)
class Field:
    """A question with its options: `name` is that of the form's field."""

    name: str
    label: str
    options: tuple[Option, ...] = ()


def form_of(book: Book, screen: Screen, answered: dict[str, Any], game: Game | None = None) -> dict[str, Any]:
    """The parts of a task's form, filled with the last answer, or with a game; `sort` says how it is drawn."""
    match screen.task:
        case Predict() as task:
            return _prediction(book, screen, task, answered)
        case Reach() as task:
            assert screen.start is not None, screen.id
            goals = [say(goal_text(one)) for one in task.until if one.partition("@")[0] in BROKEN]
            return {"sort": "steps", "steps": json.dumps(answered.get("steps") or screen.start.steps), "goals": goals}
        case Explain() as task:
            return {"sort": "explanation", "fields": _explanation(book, screen, task, answered)}
        case Design() as task:
            return {"sort": "lines", "text": "\n".join(answered.get("lines", [])), "statement": task.statement}
        case Survive() as task:
            return _game(task, game)
    return {"sort": "none"}


def _prediction(book: Book, screen: Screen, task: Predict, answered: dict[str, Any]) -> dict[str, Any]:
    def words(name: str) -> str:
        return text(book, f"{screen.id}.choice {name}")

    match task.form:
        case Form.CHOICE:
            chosen = answered.get("choice")
            return {"sort": "choice", "options": [Option(one, words(one), one == chosen) for one in task.values]}
        case Form.PAIRS:
            chosen_pairs = answered.get("pairs", [])
            return {
                "sort": "pairs",
                "options": [Option(one, say(pair_text(one)), one in chosen_pairs) for one in task.options],
            }
        case Form.ORDER:
            return {"sort": "order", "text": "\n".join(answered.get("order", []))}
        case Form.MATCH:
            matched = answered.get("match", {})
            fields = [
                Field(
                    f"match-{item.id}",
                    text(book, f"{screen.id}.item {item.id}"),
                    _chosen(task.values, words, matched.get(item.id, "")),
                )
                for item in task.items
            ]
            return {"sort": "fields", "fields": fields}
    value = answered.get(task.form.value, "")
    return {"sort": task.form.value, "value": value, "is_in_seconds": task.asks.startswith("seconds")}


def ghost_of(book: Book, screen: Screen, answered: dict[str, Any]) -> str:
    """The prediction in a few words (Markdown), which stays beside its run; "" without one."""
    task = screen.task
    if not isinstance(task, Predict):
        return ""
    given = answered.get(task.form.value)
    match task.form:
        case Form.CHOICE:
            return text(book, f"{screen.id}.choice {given}")
        case Form.PAIRS:
            return say(clauses([pair_text(one) for one in given])) if given else _("nothing")
        case Form.ORDER:
            return " \u2192 ".join(text(book, f"{screen.id}.choice {one}") for one in given or [])
        case Form.NUMBER:
            return number_words(task, str(given))
        case Form.TIME:
            return str(given)
    return ""


def number_words(task: Predict, number: str) -> str:
    if task.asks.startswith("seconds"):
        return _("{n} s").format(n=number)
    return (
        ngettext("{n} time", "{n} times", int(number)).format(n=number) if task.asks.startswith("reloads") else number
    )


def own_steps(screen: Screen, answered: dict[str, Any]) -> list[str]:
    """The steps by which a learner reached the goal, in words; empty if they are the solution's."""
    task, start = screen.task, screen.start
    if not isinstance(task, Reach) or start is None:
        return []
    given, count = in_full(answered["steps"]), len(start.steps)
    if given[count:] == in_full(task.solution):
        return []
    shown = folded(end_of(start, given[count:]), single_steps=False)
    return [say(line.text) for line in shown.trace if line.until > count]


def _chosen(values: Any, words: Any, chosen: str) -> tuple[Option, ...]:
    return tuple(Option(one, words(one), one == chosen) for one in values)


def _explanation(book: Book, screen: Screen, task: Explain, answered: dict[str, Any]) -> list[Field]:
    assert screen.start is not None, screen.id

    def words(name: str) -> str:
        return text(book, f"{screen.id}.choice {name}")

    steps = tuple(
        Option(str(move.number), f"{move.number}. {say(move.text)}", str(move.number) == answered.get("step"))
        for move in moves_of(screen.start)
    )
    return [
        Field(
            "clause",
            "clause",
            tuple(
                Option(one, f"{named_clause(one)}: {clause_words(one)}", one == answered.get("clause", ""))
                for one in task.clauses
            ),
        ),
        Field("step", "step", steps),
        Field("rule", "rule", _chosen(task.rules, words, answered.get("rule", ""))),
    ]


def _game(task: Survive, game: Game | None) -> dict[str, Any]:
    assert game is not None, "a game is played where its screen is shown"
    return {
        "sort": "game",
        "moves": json.dumps(game.moves),
        "used": len(game.moves),
        "most": task.moves_max,
        "is_open": game.standing is Standing.OPEN,
        "refused": game.refused,
        "offers": [
            {"id": offer.id, "label": say(offer.label), "why_not": say(offer.why_not), "rule": offer.rule}
            for offer in game.may
        ],
    }


def answer_in(screen: Screen, posted: QueryDict) -> dict[str, Any]:
    """The answer in a form, unchecked: grading does that."""
    match screen.task:
        case Predict(form=Form.PAIRS):
            return {"pairs": posted.getlist("pairs")}
        case Predict(form=Form.ORDER):
            return {"order": posted.get("lines", "")[:ANSWER_CHARS_MAX].split()}
        case Predict(form=Form.MATCH) as task:
            return {"match": {item.id: posted.get(f"match-{item.id}", "") for item in task.items}}
        case Predict(form=form):
            return {form.value: posted.get(form.value, "")[:ANSWER_CHARS_MAX]}
        case Reach():
            return {"steps": moves_in(posted.get("steps", ""))}
        case Explain():
            return {key: posted.get(key, "") for key in ("clause", "step", "rule")}
        case Design():
            return {"lines": posted.get("lines", "")[:ANSWER_CHARS_MAX].splitlines()[:STEPS_MAX]}
        case Survive():
            move = posted.get("move", "")
            return {"moves": [*moves_in(posted.get("moves", "")), *([move] if move else [])]}
    return {}


def moves_in(text: str) -> list[Any]:
    """The steps of a session as the stage writes them, or the moves of a game: JSON."""
    try:
        steps = json.loads(text[:ANSWER_CHARS_MAX])
    except (ValueError, RecursionError):
        return []
    return steps if isinstance(steps, list) else []
