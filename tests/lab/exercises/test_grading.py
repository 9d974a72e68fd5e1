"""Answers, right and wrong, of each kind of task; and answers that are none."""

from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest

from lab.exercises import adversary, observations
from lab.exercises.chapter import Design, Screen, Start, Survive
from lab.exercises.designs import judge_design
from lab.exercises.grading import BadAnswer, Outcome, grade, moves_of
from lab.exercises.observations import BadQuestion, observe
from lab.exercises.shelf import books
from lab.explorer.spaces import search
from lab.explorer.spaces.search import Budget
from lab.explorer.variant import RESHARD
from lab.sessions.short_steps import in_full, in_short, statements
from lab.sessions.shown import Severity
from tests.lab.exercises.chapters import AHEAD, DESIGN, EXPLAIN, HANDBOOKS, PREDICT, REACH, screen_of

NUMBER = 'setup = "handbooks"\nsteps = ["post.2", "ann.looks"]\n[screens.task]\nkind = "predict"\nform = "number"\n'
NUMBER += 'asks = "lost messages"\nthen = ["bo.writes.ann", "ann.writes.bo"]\nanswer = 2\n'
HOUR = 'stage = false\n[screens.task]\nkind = "predict"\nform = "time"\nasks = "next edition"\nanswer = "10:30"\n'
HOUR += 'given = { posted = "9:00", look_every_min = 60, give_up_min = 10, slack_min = 20 }\n'
PAIRS = f"""{AHEAD}[screens.task]
kind = "predict"
form = "pairs"
asks = "pairs"
then = ["n2.insert.1.1", "n1.update.1.2"]
options = ["row 1 (a=1)", "row 1 (a=2)", "entry 1→r1", "entry 2→r1"]
answer = ["row 1 (a=2)", "entry 1→r1"]
"""
ORDER = """stage = false
[screens.task]
kind = "predict"
form = "order"
asks = "order of drop-index"
options = ["absent", "delete", "public", "write-only", "delete-only"]
answer = ["public", "write-only", "delete-only", "delete", "absent"]
"""
MATCH = """stage = false
[screens.task]
kind = "predict"
form = "match"
asks = "damage"
choices = { orphan = ["C5"], missing = ["C4"] }
[[screens.task.items]]
id = "insert"
steps = ["publish.2", "n2.acquire", "n1.insert.1.1"]
answer = "missing"
[[screens.task.items]]
id = "delete"
steps = ["publish.2", "n2.acquire", "n2.insert.1.1", "n1.delete.1"]
answer = "orphan"
"""
EXPLORER = 'setup = "delete-only"\n[screens.task]\nkind = "predict"\nform = "choice"\nasks = "explorer C3 C5"\n'
EXPLORER += 'choices = { yes = "proved", no = "violated" }\nanswer = "yes"\n'
STATES = """stage = false
[screens.task]
kind = "design"
grammar = "states"
elements = "placement"
solution = ["public+absent", "absent+public"]
wrong = ["public+absent", "absent+public"]
"""
MEND = """setup = "unique-index"
steps = ["publish.2", "n1.acquire", "n2.acquire", "publish.3", "n1.acquire", "n2.acquire", "drain.3", "clear"]
[screens.task]
kind = "reach"
until = ["public"]
solution = ["n1.update.2.2"]
"""
MENDED = ["fill.read.1.1", "fill.put.1.1", "n1.update.2.2", "fill.read.2.1", "fill.put.2.1", "close", "verify"]
SOON = """setup = "leases"
steps = ["n1: crash"]
[screens.task]
kind = "reach"
until = ["v3"]
seconds_max = 30
without = ["n2: crash"]
solution = ["step", "tick 18 s", "step", "step"]
"""
WAIT = """setup = "leases"
steps = ["n1: crash", "step"]
[screens.task]
kind = "predict"
form = "number"
asks = "seconds until v3"
answer = 18
"""
GAME = """setup = "two-versions"
left_out = ["two-versions"]
[screens.task]
kind = "survive"
goal = "by_a"
moves_max = 5
seed = 36
"""
HASTY, IDLE = ["publish.2", "publish.3", "wait", "wait", "wait"], ["wait"] * 5
ALL_READ = """stage = false
[screens.task]
kind = "predict"
form = "match"
asks = "public elements"
choices = { old = ["old"], new = ["new"] }
[[screens.task.items]]
id = "v1"
setup = "placement"
answer = "old"
"""


def the_game() -> Screen:
    """The chapters' own: the publisher against both nodes."""
    found = (screen for book in books(None) if book.chapter is not None for screen in book.chapter.screens)
    return next(screen for screen in found if isinstance(screen.task, Survive))


BEGUN = list(in_full(["publish.2", "n2.acquire"]))


def steps(*more: str) -> dict[str, Any]:
    return {"steps": [*BEGUN, *more]}


FILLED = in_full(["publish.2", "n1.acquire", "n2.acquire", "publish.3", "n1.acquire", "n2.acquire", "drain.3", "clear"])
RIGHT, WRONG = Outcome.RIGHT, Outcome.WRONG
SAFE = ["publish delete-only", "drain", "delete", "publish absent", "drain"]
TWICE = ["publish delete-only", "drain", "delete", "delete", "publish absent", "drain"]


@pytest.mark.parametrize(
    ("lines", "answer", "outcome"),
    [
        pytest.param(PREDICT, {"choice": "both"}, RIGHT, id="a choice"),
        pytest.param(PREDICT, {"choice": "row"}, WRONG, id="another choice"),
        pytest.param(NUMBER, {"number": " 2 "}, RIGHT, id="a number"),
        pytest.param(NUMBER, {"number": "1"}, WRONG, id="another number"),
        pytest.param(HOUR, {"time": "10:30"}, RIGHT, id="an hour"),
        pytest.param(HOUR, {"time": "10：30"}, RIGHT, id="an hour as Chinese keyboards write it"),
        pytest.param(HOUR, {"time": "11"}, WRONG, id="another hour"),
        pytest.param(PAIRS, {"pairs": ["entry 1→r1", "row 1 (a=2)"]}, RIGHT, id="a set of pairs, in any order"),
        pytest.param(PAIRS, {"pairs": ["row 1 (a=2)"]}, WRONG, id="a pair too few"),
        pytest.param(PAIRS, {"pairs": []}, WRONG, id="no pairs"),
        pytest.param(
            ORDER, {"order": ["public", "write-only", "delete-only", "delete", "absent"]}, RIGHT, id="an order"
        ),
        pytest.param(
            ORDER, {"order": ["public", "delete-only", "write-only", "delete", "absent"]}, WRONG, id="another order"
        ),
        pytest.param(MATCH, {"match": {"insert": "missing", "delete": "orphan"}}, RIGHT, id="each to its own"),
        pytest.param(MATCH, {"match": {"insert": "missing", "delete": "missing"}}, WRONG, id="one to another"),
        pytest.param(EXPLORER, {"choice": "yes"}, RIGHT, id="the explorer's answer"),
        pytest.param(EXPLORER, {"choice": "no"}, WRONG, id="not the explorer's answer"),
        pytest.param(REACH, steps("n1.insert.1.1"), RIGHT, id="reached"),
        pytest.param(REACH, steps("n1.insert.1.2", "n2.update.1.1", "n1.delete.1"), WRONG, id="mended again"),
        pytest.param(REACH, steps(), WRONG, id="nothing was done"),
        pytest.param(REACH, {"steps": ["publish.2", "n1.acquire", "n2.insert.1.1"]}, WRONG, id="begun elsewhere"),
        pytest.param(REACH, steps("n1.commit"), WRONG, id="a step that cannot be taken"),
        pytest.param(REACH + 'by = "delete"\n', steps("n1.insert.1.1"), WRONG, id="by another statement"),
        pytest.param(
            REACH + "statements = { n1 = 1 }\n",
            steps("n1.insert.1.1", "n1.delete.1", "n1.insert.1.2"),
            WRONG,
            id="too many statements",
        ),
        pytest.param(EXPLAIN, {"clause": "C5", "step": "4", "rule": "delete-only"}, RIGHT, id="explained"),
        pytest.param(EXPLAIN, {"clause": "C3", "step": "4", "rule": "delete-only"}, WRONG, id="another clause"),
        pytest.param(EXPLAIN, {"clause": "C5", "step": "3", "rule": "delete-only"}, WRONG, id="another step"),
        pytest.param(EXPLAIN, {"clause": "C5", "step": "4", "rule": "lock"}, WRONG, id="another rule"),
        pytest.param(DESIGN, {"lines": SAFE}, RIGHT, id="a safe plan"),
        pytest.param(DESIGN, {"lines": [f"  {line} " for line in TWICE]}, RIGHT, id="every safe plan counts"),
        pytest.param(DESIGN, {"lines": ["publish absent", "drain"]}, WRONG, id="an unsafe plan"),
        pytest.param(HANDBOOKS, {"lines": ["both/mail", "both/messenger"]}, RIGHT, id="safe handbooks"),
        pytest.param(STATES, {"lines": RESHARD.split(",")}, RIGHT, id="safe states"),
        pytest.param(
            STATES, {"lines": ["public+absent", "public+write-only", "absent+public"]}, WRONG, id="unsafe states"
        ),
        pytest.param(MEND, {"steps": [*FILLED, *MENDED, "publish.4"]}, RIGHT, id="public, and nobody is harmed"),
        pytest.param(MEND, {"steps": [*FILLED, *MENDED]}, WRONG, id="not public yet"),
        pytest.param(
            MEND, {"steps": [*FILLED, *(one for one in MENDED if one[0] != "n"), "publish.4"]}, WRONG, id="rolled back"
        ),
        pytest.param(
            SOON, {"steps": ["n1: crash", "step", "tick 18 s", "step", "step"]}, RIGHT, id="a version in time"
        ),
        pytest.param(SOON, {"steps": ["n1: crash", "step"]}, WRONG, id="a version that is not out"),
        pytest.param(
            SOON,
            {"steps": ["n1: crash", "step", "tick 18 s", "tick 1 s", "step", "step"]},
            WRONG,
            id="a version too late",
        ),
        pytest.param(
            SOON,
            {"steps": ["n1: crash", "n2: crash", "step", "tick 18 s", "step", "step"]},
            WRONG,
            id="a step too many",
        ),
        pytest.param(WAIT, {"number": "18"}, RIGHT, id="how long something takes"),
        pytest.param(WAIT, {"number": "30"}, WRONG, id="not how long it takes"),
        pytest.param(GAME, {"moves": HASTY}, WRONG, id="a game that ends in damage"),
        pytest.param(GAME, {"moves": IDLE}, WRONG, id="a game in which nothing is done"),
        pytest.param(ALL_READ, {"match": {"v1": "old"}}, RIGHT, id="what is read"),
        pytest.param(HANDBOOKS, {"lines": ["both/messenger", "both/mail"]}, WRONG, id="unsafe handbooks"),
    ],
)
def test_answers(lines: str, answer: dict[str, Any], outcome: Outcome) -> None:
    assert grade(screen_of(lines), answer).outcome is outcome


@pytest.mark.parametrize(
    ("lines", "answer"),
    [
        pytest.param(PREDICT, {}, id="nothing"),
        pytest.param(PREDICT, {"choice": "x"}, id="no choice"),
        pytest.param(PREDICT, {"choice": ["both"]}, id="a choice in a list"),
        pytest.param(NUMBER, {"number": "two"}, id="no number"),
        pytest.param(NUMBER, {"number": "9" * 400}, id="a number that is too long"),
        pytest.param(HOUR, {"time": "25:00"}, id="no hour"),
        pytest.param(PAIRS, {"pairs": ["row 9"]}, id="a pair that was not offered"),
        pytest.param(PAIRS, {"pairs": "row 1"}, id="pairs as a text"),
        pytest.param(ORDER, {"order": ["absent", "absent", "public", "delete", "fill"]}, id="no order"),
        pytest.param(MATCH, {"match": {"insert": "missing"}}, id="one item of two"),
        pytest.param(MATCH, {"match": {"insert": "missing", "delete": "x"}}, id="an item without a choice"),
        pytest.param(REACH, {"steps": "publish.2"}, id="steps as a text"),
        pytest.param(REACH, {"steps": ["n1.begin"] * 500}, id="too many steps"),
        pytest.param(REACH, {"steps": [*BEGUN, *["n1.insert.1.1"] * 60]}, id="too many steps, written short"),
        pytest.param(REACH, {"steps": [*BEGUN, "n1." + "x" * 300]}, id="a step that is too long"),
        pytest.param(REACH, {"steps": [*BEGUN, "\0"]}, id="a step that no database takes"),
        pytest.param(REACH, {"steps": [*BEGUN, "\ud800"]}, id="a step that is half a character"),
        pytest.param(REACH, {"steps": [{"a": 1}]}, id="steps that are none"),
        pytest.param(DESIGN, {"lines": ["publish \0"]}, id="a plan that no database takes"),
        pytest.param(EXPLAIN, {"clause": "C5", "step": "9", "rule": "lock"}, id="a step that is not there"),
        pytest.param(DESIGN, {"lines": ["publish sideways"]}, id="no plan"),
        pytest.param(DESIGN, {"lines": []}, id="an empty plan"),
        pytest.param(HANDBOOKS, {"lines": ["both/both", "both/mail"]}, id="both channels where one is asked for"),
        pytest.param(HANDBOOKS, {"lines": ["both/mail"]}, id="an edition too few"),
        pytest.param(STATES, {"lines": ["public+absent", "public+write-only"]}, id="states that end elsewhere"),
        pytest.param(STATES, {"lines": ["public", "absent"]}, id="states of something else"),
        pytest.param(GAME, {"moves": ["publish.2"]}, id="a game that is not over"),
        pytest.param(GAME, {"moves": ["n1.acquire"] * 5}, id="a game of somebody else's moves"),
        pytest.param('[screens.task]\nkind = "live"\n', {}, id="a task that comes later"),
        pytest.param("", {}, id="no task"),
    ],
)
def test_answers_that_are_none(lines: str, answer: dict[str, Any]) -> None:
    with pytest.raises(BadAnswer):
        grade(screen_of(lines), answer)


def test_answers_are_the_same_on_a_machine_on_which_a_second_takes_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a game is won, and what is right, depends on the moves and on the chapter, not on who else is there."""
    for kept in (adversary._after, adversary._from_here, observations.ask_explorer):
        kept.cache_clear()
    hours = count(step=3600)
    monkeypatch.setattr(search, "LOOK_UP_EVERY", 1)
    monkeypatch.setattr(search, "time", SimpleNamespace(monotonic=lambda: next(hours)))
    screen = the_game()
    assert isinstance(screen.task, Survive)
    assert grade(screen, {"moves": screen.task.solution}).outcome is RIGHT
    assert grade(screen_of(EXPLORER), {"choice": "yes"}).outcome is RIGHT
    assert next(hours) > 10 * 3600


def test_a_game_is_played_once_however_often_it_is_shown() -> None:
    screen = screen_of(GAME)
    assert grade(screen, {"moves": HASTY}).outcome is WRONG
    worked_out = adversary._after.cache_info().misses
    assert grade(screen, {"moves": HASTY}).outcome is WRONG
    assert adversary._after.cache_info().misses == worked_out


def test_what_is_revealed_after_a_prediction_are_the_steps_that_were_hidden() -> None:
    screen = screen_of(PREDICT)
    reveal = grade(screen, {"choice": "row"}).reveal
    assert screen.start is not None
    assert reveal is not None
    assert reveal.steps == (*screen.start.steps, *in_full(["n2.insert.1.1"]))


def test_an_unsafe_plan_comes_back_with_a_run_that_goes_wrong() -> None:
    graded = grade(screen_of(DESIGN), {"lines": ["publish delete-only", "drain", "publish absent", "drain"]})
    remarks = [str(remark) for remark in graded.remarks]
    assert "pairs of column a are left that no step removes" in remarks[0]
    assert graded.played is not None
    assert str(graded.played.frames[-1].sentence) == "The publisher publishes v3: column a is absent."
    assert graded.played.frames[-1].marks
    assert [frame.tile for frame in graded.played.frames if frame.actor == "p"] == [0, 2]


def test_a_counterexample_of_a_design_comes_back_on_the_stage() -> None:
    """Without one: a plan that forgets to delete, which the stage's own plans never do. Each but people is played."""
    wrong = [
        (screen.id, grade(screen, {"lines": list(screen.task.wrong)}), judge_design(screen.task, screen.task.wrong))
        for book in books()
        if book.chapter is not None
        for screen in book.chapter.tasks
        if isinstance(screen.task, Design)
    ]
    without = {"drop-an-optional-one", "drop-an-index", "the-order"}
    assert {name for name, graded, _ in wrong if graded.reveal is None} == without
    of_people = {"one-in-between", "one-channel-each"}
    assert {name for name, graded, _ in wrong if graded.played is None} == of_people
    for name, graded, judged in wrong:
        if graded.reveal is not None:
            broken = {verdict.clause for verdict in observations.end_of(graded.reveal).verdicts}
            assert broken == {*judged.clauses}, name


def test_a_plan_that_is_not_explored_in_time_is_neither_right_nor_wrong() -> None:
    task = screen_of(DESIGN).task
    assert isinstance(task, Design)
    judged = judge_design(task, SAFE, budget=Budget(states=1))
    assert (judged.verdict, judged.faults) == (Outcome.UNKNOWN, ())
    assert "gave up" in str(judged.why)


def test_hidden_bounds_are_explored_as_well() -> None:
    task = screen_of(DESIGN + "nodes = 2\nhidden_nodes = 3\n").task
    assert isinstance(task, Design)
    judged = judge_design(task, SAFE)
    assert (judged.verdict, judged.is_hidden) == (Outcome.RIGHT, False)


def test_remarks_say_what_is_still_to_be_done() -> None:
    graded = grade(screen_of(REACH + 'by = "delete"\nstatements = { n2 = 0 }\n'), steps("n2.insert.1.1"))
    assert [str(remark) for remark in graded.remarks] == [
        "not yet there: missing entry (C4) under v2: a row without its entry",
        "the last statement is to be DELETE",
        "statements of n2: 1; 0 allowed",
    ]


def test_moves_of_a_session_are_its_clicks_and_what_broke_by_each() -> None:
    start = Start("one-jump", steps=in_full(["publish.2", "n2.acquire", "n2.insert.1.1", "n1.delete.1"]))
    found = moves_of(start)
    assert [(move.number, move.broke, move.severity) for move in found] == [
        (1, frozenset(), Severity.HOLDS),
        (2, frozenset(), Severity.HOLDS),
        (3, frozenset({"C3"}), Severity.DANGER),
        (4, frozenset({"C5"}), Severity.DAMAGE),
    ]


def test_statements_are_written_short() -> None:
    full = in_full(["publish.2", "n1.delete.1", "n1.begin", "n2.insert.1.-1"])
    assert list(in_short(full)) == ["publish.2", "n1.delete.1.0", "n1.begin", "n2.insert.1.-1"]
    assert statements(full) == [("n1", "delete"), ("n2", "insert")]


def test_the_clock_of_a_session_can_be_asked_for() -> None:
    start = Start("leases", steps=("tick 10 s", "tick 1 s"))
    assert observe("seconds", start) == 23
    with pytest.raises(BadQuestion, match="no clock"):
        observe("seconds", Start("one-jump"))


@pytest.mark.parametrize("asks", ["weather", "seconds until noon", "found by index under v9"])
def test_what_nobody_can_answer_is_refused(asks: str) -> None:
    with pytest.raises(BadQuestion):
        observe(asks, Start("leases"))
