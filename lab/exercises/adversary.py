"""A game: the learner has the publisher and the fill, an adversary has the nodes, and answers with the first step of
the explorer's way to damage, else by chance with a fixed seed: a game is its learner's moves. It is won when everything
is public and proved safe, lost with the first damage or when the moves are used up."""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache

from catalog.text.message import Values
from lab.exercises.chapter import Start, Survive
from lab.exercises.observations import end_of, public_elements, session_of
from lab.explorer.spaces.search import Budget
from lab.explorer.verdict import Verdict
from lab.questions.search import Answer, Question, ask
from lab.sessions.replay import show
from lab.sessions.session import Session
from lab.sessions.short_steps import WRITE
from lab.sessions.shown import NOTHING, Offer, SessionView, Severity, Text

WAIT = "wait"
"""The learner's move that leaves everything to the adversary."""

BUDGET = Budget(states=100_000, seconds=math.inf)
"""No seconds: on a busy machine, too, the same moves are the same game."""

STATEMENT_STEPS, GAMES_MAX = 4, 4096


class Standing(Enum):
    OPEN = "open"
    WON = "won"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Game:
    steps: tuple[str, ...]
    standing: Standing
    moves: tuple[str, ...]
    may: tuple[Offer, ...] = ()
    refused: str = ""
    """A move that could not be made; those after it were not looked at."""


def play(task: Survive, start: Start, moves: Sequence[str]) -> Game:
    """Each move is the id of an offer of the publisher or the fill, or `wait`."""
    game = Game(start.steps, Standing.OPEN, (), tuple(_may(end_of(start))))
    for move in moves[: task.moves_max]:
        if game.standing is not Standing.OPEN:
            return game
        taken = _taken(game, move)
        if taken is None:
            return replace(game, refused=move)
        game = _after(task, start, (*game.steps, *taken), (*game.moves, move))
    return game


@lru_cache(maxsize=GAMES_MAX)
def _after(task: Survive, start: Start, steps: tuple[str, ...], made: tuple[str, ...]) -> Game:
    shown = end_of(replace(start, steps=steps))
    standing = _standing(task, start, steps, shown)
    if standing is Standing.OPEN:
        steps = (*steps, *_reply(replace(start, steps=steps), shown, task.seed + len(made)))
        shown = end_of(replace(start, steps=steps))
        standing = _standing(task, start, steps, shown)
    if standing is Standing.OPEN and len(made) == task.moves_max:
        standing = Standing.LOST
    return Game(steps, standing, made, tuple(_may(shown)) if standing is Standing.OPEN else ())


def why_lost(task: Survive, start: Start, game: Game) -> Text:
    """The learner's move that breaks a rule, and why; empty if every move was allowed."""
    refused = end_of(replace(start, steps=game.steps, left_out=frozenset())).refused
    if refused is None:
        return Text("The moves are used up.") if len(game.moves) == task.moves_max else NOTHING
    made = next(
        number
        for number in range(1, len(game.moves) + 1)
        if len(play(task, start, game.moves[:number]).steps) > refused.at
    )
    values: Values = {"number": made, "step": refused.label, "why": refused.why}
    return Text("Move {number} lost: {step}. The rules would have refused it: {why}.", values)


def _may(shown: SessionView) -> Iterator[Offer]:
    nodes = {node.name for node in shown.cluster.nodes}
    yield from (offer for offer in shown.offers if offer.actor not in nodes)


def _taken(game: Game, move: str) -> tuple[str, ...] | None:
    if move == WAIT:
        return ()
    return next((offer.takes for offer in game.may if offer.id == move and not offer.why_not), None)


def _standing(task: Survive, start: Start, steps: tuple[str, ...], shown: SessionView) -> Standing:
    if any(verdict.severity is Severity.DAMAGE for verdict in shown.verdicts):
        return Standing.LOST
    if task.goal not in public_elements(shown):
        return Standing.OPEN
    is_safe = _from_here(session_of(replace(start, steps=steps))).verdict is Verdict.PROVED
    return Standing.WON if is_safe else Standing.OPEN


@lru_cache(maxsize=GAMES_MAX)
def _from_here(session: Session) -> Answer:
    return ask(Question(session, at=len(session.steps), from_here=True), budget=BUDGET)


def _reply(start: Start, shown: SessionView, seed: int) -> tuple[str, ...]:
    answer = _from_here(session_of(start))
    nodes = {node.name for node in shown.cluster.nodes}
    ahead = answer.steps[len(start.steps) :] if answer.verdict is Verdict.VIOLATED else ()
    if ahead and ahead[0].partition(".")[0] in nodes:
        node, _, verb = ahead[0].partition(".")
        if verb != "begin":
            return (ahead[0],)
        own = [step for step in ahead if step.partition(".")[0] == node]
        statement = tuple(own[:STATEMENT_STEPS])
        return statement if len(statement) == STATEMENT_STEPS and WRITE.fullmatch(statement[2]) else (ahead[0],)
    return _by_chance(start, random.Random(seed))


def _by_chance(start: Start, chance: random.Random) -> tuple[str, ...]:
    shown = show(session_of(start), single_steps=False)
    nodes = {node.name for node in shown.cluster.nodes}
    may = [offer for offer in shown.offers if offer.actor in nodes and not offer.why_not]
    newer = [offer for offer in may if offer.id.endswith(".acquire")]
    statements = [offer for offer in may if offer.is_statement]
    chosen = newer if newer and (not statements or chance.random() < 0.5) else statements
    return chance.choice(chosen).takes if chosen else ()
