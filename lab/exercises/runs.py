"""Runs that answer predictions which the stage cannot: of a proof a quiet run, of damage the way to it."""

import math
from collections.abc import Iterator
from functools import lru_cache

from lab.exercises.chapter import Form, Predict, Start
from lab.exercises.grammars import question_for
from lab.exercises.item_run import ItemRun
from lab.exercises.observations import EXPLORER, session_of
from lab.explorer.contents.foreign_keys import effects_of
from lab.explorer.model import stage_name
from lab.explorer.spaces.config import Impossible
from lab.explorer.spaces.full_space import Plain
from lab.explorer.spaces.search import Budget
from lab.explorer.verdict import Verdict
from lab.explorer.witness import Steps, parse
from lab.ladders import runs
from lab.ladders.frames import Film, places_of
from lab.ladders.played import Played, stores_of
from lab.questions.goal import Goal
from lab.questions.search import Question, ask
from lab.sessions.model.setups import model_of
from lab.sessions.setup import MODEL
from lab.sessions.setups import setup_named

BUDGET = Budget(states=20_000, seconds=math.inf)
"""A page waits for it. The chapters' own questions need a few hundred states; for more a quiet run is played."""


def runs_of(task: Predict, start: Start | None) -> tuple[ItemRun, ...]:
    """Empty if the stage plays it, or if it is about no model."""
    if added := question_for(task.asks):
        return added[0].runs(task, start)
    asked = EXPLORER.fullmatch(task.asks)
    if task.form is not Form.MATCH and asked is None:
        return ()
    starts = [(one.id, one.start) for one in task.items] or ([] if start is None else [("", start)])
    return tuple(_runs(starts, tuple(asked[1].split()) if asked else ()))


def _runs(starts: list[tuple[str, Start]], clauses: tuple[str, ...]) -> Iterator[ItemRun]:
    for item, start in starts:
        if setup_named(start.setup).kind == MODEL:
            yield ItemRun(item, *_run(start, clauses))


@lru_cache(maxsize=256)
def _run(start: Start, clauses: tuple[str, ...]) -> tuple[tuple[str, ...], Played]:
    session = session_of(start)
    model, rows = model_of(setup_named(start.setup), session)
    plain = Plain(effects_of(model))
    verdict, states = "", 0
    if clauses:
        found = ask(Question(session, goal=Goal(frozenset(clauses)), any_rows=True), budget=BUDGET)
        verdict, states = found.verdict.value, found.states
        is_broken = found.verdict is Verdict.VIOLATED
        steps = runs.tidied(plain, parse(plain, found.steps)) if is_broken else runs.quiet(model, plain)
    else:
        steps = _own(plain, rows, session.steps)
    versions = tuple(stage_name(stage) for stage in model.stages)
    film = Film(plain, places_of(plain, versions[1:], {}), shows_danger=bool(clauses), about=clauses)
    return versions, Played(verdict, states, stores_of(model), film.frames(steps))


def _own(plain: Plain, rows: tuple[str | int, ...], steps: tuple[str, ...]) -> Steps:
    given = [".".join(["given", *map(str, rows)])] if any(row != "-" for row in rows) else []
    taken = [*given, *steps]
    while True:
        try:
            return parse(plain, taken)
        except Impossible:
            taken.pop()
