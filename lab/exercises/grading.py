"""Grades a learner's answer, on the server alone. The machine's answer is shown after the learner's is stored."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from catalog.text.storable import is_storable
from lab.exercises import adversary, designs
from lab.exercises.chapter import Answer, Design, Explain, Form, Live, Observed, Predict, Reach, Screen, Start, Survive
from lab.exercises.chapter import Outcome as Outcome
from lab.exercises.goals import clauses_named, goal_text, made_instead
from lab.exercises.grammars import grammar
from lab.exercises.judgement import Judgement
from lab.exercises.observations import end_of, observe, public_elements
from lab.ladders.played import Played
from lab.sessions import short_steps as steps
from lab.sessions.session import BadSession, check_steps
from lab.sessions.shown import NOTHING, SessionView, Severity, Text, Verdict

ITEMS_MAX = 40


class BadAnswer(ValueError):
    def __init__(self, why: Text) -> None:
        super().__init__(str(why))
        self.why = why


class GameIsOpen(BadAnswer):
    """The game goes on: its moves so far are no answer yet."""

    def __init__(self, game: adversary.Game) -> None:
        super().__init__(Text("the game is not over yet"))
        self.game = game


@dataclass(frozen=True, slots=True)
class Grade:
    outcome: Outcome
    remarks: tuple[Text, ...] = ()
    reveal: Start | None = None
    given: Answer | None = None
    played: Played | None = None


def grade(screen: Screen, answer: Mapping[str, Any], *, judgement: Judgement | None = None) -> Grade:
    """A design is explored now without a `judgement`. Raises `BadAnswer`."""
    try:
        return _graded(screen, answer, judgement)
    except BadSession as error:
        raise BadAnswer(Text("{why}", {"why": str(error)})) from error


def _graded(screen: Screen, answer: Mapping[str, Any], judgement: Judgement | None) -> Grade:
    match screen.task:
        case Predict() as task:
            answered = ANSWERS[task.form](task, answer)
            right = right_answer(task, screen.start)
            outcome = Outcome.UNKNOWN if right == "" else Outcome.RIGHT if answered == right else Outcome.WRONG
            return Grade(
                outcome, reveal=None if screen.start is None else reveal_of(task, screen.start), given=answered
            )
        case Reach() as task:
            return _reached(task, _need_start(screen), answer)
        case Explain() as task:
            return _explained(task, _need_start(screen), answer)
        case Design() as task:
            return _designed(task, answer, judgement)
        case Survive() as task:
            return _survived(task, _need_start(screen), answer)
        case Live():
            raise BadAnswer(Text("this task comes with the live replay"))
    raise BadAnswer(Text("there is no task on this screen"))


def _need_start(screen: Screen) -> Start:
    if screen.start is None:
        raise BadAnswer(Text("this screen has no session"))
    return screen.start


# Predict


def right_answer(task: Predict, start: Start | None) -> Answer:
    """The machine's answer, in the form of one. Raises the machine's errors."""
    if task.form is Form.MATCH:
        return {item.id: _choice(task, observe(task.asks, item.start, given=task.given)) for item in task.items}
    observed = observe(task.asks, start, task.then, task.given)
    match task.form:
        case Form.CHOICE:
            return _choice(task, observed)
        case Form.ORDER:
            return tuple(str(observed).split(" "))
        case Form.PAIRS:
            assert isinstance(observed, frozenset)
            return observed
    assert isinstance(observed, str | int)
    return observed


def _choice(task: Predict, observed: Observed) -> str:
    found = [name for name, value in task.values.items() if value == observed]
    return found[0] if len(found) == 1 else ""


def reveal_of(task: Predict, start: Start) -> Start:
    return replace(start, steps=(*start.steps, *task.then))


def _one_choice(task: Predict, answer: Mapping[str, Any]) -> Answer:
    answered = answer.get("choice")
    if not isinstance(answered, str) or answered not in task.values:
        raise BadAnswer(Text("choose one of the answers"))
    return answered


def _number(task: Predict, answer: Mapping[str, Any]) -> Answer:
    answered = str(answer.get("number", "")).strip()
    if not re.fullmatch(r"-?\d{1,9}", answered):
        raise BadAnswer(Text("write a whole number"))
    return int(answered)


def _time(task: Predict, answer: Mapping[str, Any]) -> Answer:
    found = re.fullmatch(r"(\d{1,2})(?:[:：.](\d\d))?", str(answer.get("time", "")).strip())
    if found is None or int(found[1]) > 23 or int(found[2] or 0) > 59:
        raise BadAnswer(Text("write an hour, such as 14:30"))
    return f"{int(found[1])}:{found[2] or '00'}"


def _set_of_pairs(task: Predict, answer: Mapping[str, Any]) -> Answer:
    answered = _words(answer, "pairs")
    if not set(answered) <= set(task.options):
        raise BadAnswer(Text("choose among the answers"))
    return frozenset(answered)


def _an_order(task: Predict, answer: Mapping[str, Any]) -> Answer:
    answered = _words(answer, "order")
    if sorted(answered) != sorted(task.options):
        raise BadAnswer(Text("take each of them once"))
    return answered


def _matched(task: Predict, answer: Mapping[str, Any]) -> Answer:
    answered = answer.get("match")
    if not isinstance(answered, Mapping) or set(answered) != {item.id for item in task.items}:
        raise BadAnswer(Text("one answer for each of them"))
    if not set(map(str, answered.values())) <= set(task.values):
        raise BadAnswer(Text("choose one of the answers"))
    return {str(item): str(choice) for item, choice in answered.items()}


def _words(answer: Mapping[str, Any], key: str) -> tuple[str, ...]:
    answered = answer.get(key, [])
    if (
        not isinstance(answered, list | tuple)
        or len(answered) > ITEMS_MAX
        or not all(isinstance(one, str) and is_storable(one) for one in answered)
    ):
        raise BadAnswer(Text("at most {most} parts", {"most": ITEMS_MAX}))
    return tuple(answered)


ANSWERS: Mapping[Form, Callable[[Predict, Mapping[str, Any]], Answer]] = {
    Form.CHOICE: _one_choice,
    Form.NUMBER: _number,
    Form.TIME: _time,
    Form.PAIRS: _set_of_pairs,
    Form.ORDER: _an_order,
    Form.MATCH: _matched,
}


# Reach


def _reached(task: Reach, start: Start, answer: Mapping[str, Any]) -> Grade:
    answered = _words_of_steps(answer)
    if answered[: len(start.steps)] != start.steps:
        begins = Text("Begin where this screen begins: its first steps belong to it.")
        return Grade(Outcome.WRONG, (begins,), given=answered)
    more = answered[len(start.steps) :]
    shown = end_of(start, more)
    if shown.refused is not None:
        why = Text("step {number} cannot be taken: {why}", {"number": shown.refused.at + 1, "why": shown.refused.why})
        return Grade(Outcome.WRONG, (why,), given=answered)
    remarks = tuple(_missing(task, shown, more))
    instead = other_damage(task, shown) if remarks else NOTHING
    remarks = (instead, *remarks) if instead.template else remarks
    reveal = replace(start, steps=answered)
    return Grade(Outcome.WRONG if remarks else Outcome.RIGHT, remarks, reveal, given=answered)


def _words_of_steps(answer: Mapping[str, Any]) -> tuple[str, ...]:
    answered = answer.get("steps")
    if not isinstance(answered, list | tuple) or not all(isinstance(one, str) for one in answered):
        raise BadAnswer(Text("the steps of a session"))
    taken = steps.in_full(answered)
    check_steps(taken)
    return taken


def _missing(task: Reach, shown: SessionView, more: Sequence[str]) -> list[Text]:
    whole = [clause for clause in task.until if not any(is_meant(clause, verdict) for verdict in shown.verdicts)]
    versions = [one for one in task.until if re.fullmatch(r"v\d+", one)]
    clauses = [clause for clause in whole if clause not in (PUBLIC, *versions)]
    found = [Text("not yet there: {what}", {"what": goal_text(clause)}) for clause in clauses]
    found += unmet(task, shown)
    known = {f"v{version.number}" for version in shown.cluster.versions}
    found += [Text("{version} is not published yet", {"version": one}) for one in versions if one not in known]
    if PUBLIC in task.until:
        found += _not_public(shown)
    elif versions:
        found += _harm(shown)
    found += [Text("not to be used here: {step}", {"step": step}) for step in task.without if step in more]
    clock_s = shown.cluster.clock_s
    if task.seconds_max and clock_s is not None and clock_s > task.seconds_max:
        late: dict[str, str | int | Text] = {"seconds": round(clock_s), "most": task.seconds_max}
        found.append(Text("it is {seconds} s by the clock; {most} s would have been enough", late))
    run = steps.statements(more)
    if task.by != "any" and (not run or run[-1][1] != task.by):
        found.append(Text("the last statement is to be {kind}", {"kind": task.by.upper()}))
    for node, most in task.statements.items():
        count = sum(1 for one, _ in run if one == node)
        if count > most:
            values: dict[str, str | int | Text] = {"node": node, "count": count, "most": most}
            found.append(Text("statements of {node}: {count}; {most} allowed", values))
    return found


def other_damage(task: Reach, shown: SessionView) -> Text:
    return made_instead(task.until, [one.clause for one in shown.verdicts if one.severity is Severity.DAMAGE])


def unmet(task: Reach, shown: SessionView) -> list[Text]:
    """Remarks about damage under a version that no node uses: no query meets it yet."""
    nodes = shown.cluster.nodes
    used = {lease.version for node in nodes for lease in node.leases if lease.is_live}
    used |= {version for node in nodes for open_one in node.transactions for version in open_one.versions.values()}
    there = {one.version for clause in task.until for one in shown.verdicts if "@" in clause and is_meant(clause, one)}
    return [
        Text(
            "No node uses v{version} yet, so no query meets the damage. Let a node lease v{version}.",
            {"version": version},
        )
        for version in sorted(there - used)
    ]


PUBLIC = "public"
"""In a goal: every element is public in the newest version, and nobody is harmed."""


def _not_public(shown: SessionView) -> list[Text]:
    elements = max(shown.cluster.versions, key=lambda version: version.number).elements
    found = [] if len(public_elements(shown)) == len(elements) else [Text("not yet public")]
    return found + _harm(shown)


def _harm(shown: SessionView) -> list[Text]:
    harm = sorted({f"{one.clause}@v{one.version}" for one in shown.verdicts if one.severity is Severity.DAMAGE})
    return [Text("somebody is harmed: {what}", {"what": goal_text(clause)}) for clause in harm]


def is_meant(clause: str, verdict: Verdict) -> bool:
    """True if the verdict is of `C5@v2`; without a version, of the clause under any."""
    name, _, version = clause.partition("@v")
    return verdict.clause == name and version in ("", str(verdict.version))


# Survive


def _survived(task: Survive, start: Start, answer: Mapping[str, Any]) -> Grade:
    moves = _words(answer, "moves")
    game = adversary.play(task, start, moves)
    if game.standing is adversary.Standing.OPEN:
        raise GameIsOpen(game)
    is_won = game.standing is adversary.Standing.WON
    values: dict[str, str | int | Text] = {"count": len(game.moves), "most": task.moves_max}
    remark = Text("{count} moves of {most}", values)
    why = NOTHING if is_won else adversary.why_lost(task, start, game)
    reveal = replace(start, steps=game.steps)
    remarks = (why, remark) if why.template else (remark,)
    return Grade(Outcome.RIGHT if is_won else Outcome.WRONG, remarks, reveal, given=game.moves)


# Explain


@dataclass(frozen=True, slots=True)
class Move:
    number: int
    text: Text
    broke: frozenset[str]
    severity: Severity


@lru_cache(maxsize=256)
def moves_of(start: Start) -> tuple[Move, ...]:
    """The moves of a session, each statement as one, counted from 1. Cached for all learners."""
    found: list[Move] = []
    at = 0
    before = {(v.clause, v.version) for v in end_of(replace(start, steps=())).verdicts}
    for move in steps.in_short(start.steps):
        at += len(steps.in_full([move]))
        shown = end_of(replace(start, steps=start.steps[:at]))
        now = {(v.clause, v.version) for v in shown.verdicts}
        new = frozenset(clause for clause, _ in now - before)
        last = shown.trace[-1] if shown.trace else None
        text = (
            Text("{step}", {"step": move}) if last is None else last.statement if last.statement.template else last.text
        )
        found.append(Move(len(found) + 1, text, new, _worst(shown, now - before)))
        before = now
    return tuple(found)


def _worst(shown: SessionView, new: set[tuple[str, int]]) -> Severity:
    found = {v.severity for v in shown.verdicts if (v.clause, v.version) in new}
    return next((one for one in (Severity.DAMAGE, Severity.DANGER) if one in found), Severity.HOLDS)


def _explained(task: Explain, start: Start, answer: Mapping[str, Any]) -> Grade:
    clause, step, rule = (str(answer.get(key, "")) for key in ("clause", "step", "rule"))
    moves = moves_of(start)
    if clause not in task.clauses or rule not in task.rules or step not in {str(move.number) for move in moves}:
        raise BadAnswer(Text("choose a clause, a step and what was missing"))
    answered = {"clause": clause, "step": step, "rule": rule}
    remarks = []
    if int(step) != task.step:
        remarks.append(Text("that was not the step"))
    elif clause not in moves[int(step) - 1].broke:
        remarks.append(Text("that clause did not break at that step"))
    if rule != task.missing:
        remarks.append(Text("with that rule in force it would have happened all the same"))
    if remarks:
        return Grade(Outcome.WRONG, tuple(remarks), given=answered)
    return Grade(Outcome.RIGHT, reveal=task.mended, given=answered)


# Design


def lines_of(answer: Mapping[str, Any]) -> tuple[str, ...]:
    return _words(answer, "lines")


def _breaks_at(found: Judgement) -> int:
    return len(found.story) if found.played is None else len(found.played.frames) - 1


def _designed(task: Design, answer: Mapping[str, Any], judgement: Judgement | None) -> Grade:
    lines = lines_of(answer)
    try:
        found = designs.judge_design(task, lines) if judgement is None else judgement
    except designs.Malformed as error:
        raise BadAnswer(error.why) from error
    remarks = [*found.faults]
    if found.verdict is Outcome.RIGHT and found.played is not None and found.played.states:
        remarks.append(Text("{n} states were tried, and none was broken.", {"n": f"{found.played.states:,}"}))
    if found.story and not found.faults:
        remarks.append(
            Text("broken at step {n}: {what}", {"n": _breaks_at(found), "what": clauses_named(found.clauses)})
        )
    if found.is_hidden:
        remarks.append(
            Text("within the bounds you were shown it is safe; not within these: {bounds}", {"bounds": found.bounds})
        )
    if found.verdict is Outcome.UNKNOWN:
        remarks.append(Text("neither right nor wrong: {why}", {"why": found.why}))
    reveal = None
    if task.grammar == "handbooks":
        editions = ("mail/mail", *(line.strip() for line in lines if line.strip()), "messenger/messenger")
        reveal = Start("handbooks", {"editions": editions}, steps=found.steps)
    elif added := grammar(task.grammar):
        reveal = added.reveal(task, lines, found)
    elif found.model:
        reveal = Start("model", {"model": found.model}, steps=found.steps)
    return Grade(found.verdict, tuple(remarks), reveal, given=lines, played=found.played)
