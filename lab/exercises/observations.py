"""Questions about a session, and the machine's answers, which predictions are graded by (docs/reference/exercises.md
lists them): `found by index under v3`, `seconds until v3`, `explorer C3 C5` .."""

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache

from catalog.elements import State
from lab.exercises import routers
from lab.exercises.chapter import Observed, Parameter, Start
from lab.exercises.grammars import question_for
from lab.explorer.model import stage_name
from lab.explorer.plans.program import Do, program_of
from lab.explorer.spaces.search import Budget
from lab.explorer.variants import all_variants
from lab.questions.goal import Goal
from lab.questions.search import Question, ask
from lab.sessions.handbooks import earliest_next_min
from lab.sessions.replay import show
from lab.sessions.session import Session, Value
from lab.sessions.shown import Pair, SessionView, Severity

NOTHING: Mapping[str, Parameter] = {}
SECOND, WAITS_MAX = "tick 1 s", 100
BUDGET = Budget(states=300_000, seconds=math.inf)
"""No seconds: the right answer is the same on a busy machine."""

PROBED_VALUE = "a = 1"
EXPLORER = re.compile(r"explorer((?: \w+)+)")


class BadQuestion(ValueError):
    """An unknown question, or one that this session cannot answer."""


def session_of(start: Start, more: Sequence[str] = ()) -> Session:
    parameters: dict[str, Value] = {
        name: list(value) if isinstance(value, tuple) else value for name, value in start.parameters.items()
    }
    return Session(start.setup, parameters, start.left_out, (*start.steps, *more))


def end_of(start: Start, more: Sequence[str] = ()) -> SessionView:
    """Raises `lab.sessions.session.BadSession`."""
    return show(session_of(start, more), single_steps=True)


def observe(
    asks: str, start: Start | None, then: Sequence[str] = (), given: Mapping[str, Parameter] = NOTHING
) -> Observed:
    """Raises `BadQuestion`."""
    for pattern, answer in OF_SESSION.items():
        if match := re.fullmatch(pattern, asks):
            return answer(end_of(_needed(asks, start), then), match)
    if asks.startswith("seconds until "):
        return _waited(asks, _needed(asks, start))
    if match := EXPLORER.fullmatch(asks):
        return ask_explorer(_needed(asks, start), tuple(match[1].split()))
    for pattern, answer_of in OF_NOTHING.items():
        if match := re.fullmatch(pattern, asks):
            return answer_of(match, given)
    if added := question_for(asks):
        question, match = added
        return question.answer(match, start, given)
    raise BadQuestion(f"{asks!r} is no question; questions are: {', '.join(QUESTIONS)}")


def _needed(asks: str, start: Start | None) -> Start:
    if start is None:
        raise BadQuestion(f"{asks!r} is about a session, and there is none")
    return start


# About a session


def pair_names(shown: SessionView) -> Iterator[str]:
    there = shown.cluster.present
    values: dict[tuple[str, int, str], list[Pair]] = {}
    for pair in there:
        if pair.sort == "value":
            values.setdefault((pair.table, pair.storage, pair.row), []).append(pair)
    for pair in there:
        if pair.sort == "row":
            own = [one for one in values.pop((pair.table, pair.storage, pair.row), []) if one.is_new == pair.is_new]
            yield f"row {pair.row}{_columns(own)}{_where(pair)}"
    for (_, _, row), orphans in values.items():
        yield from (f"value {one.key}={one.value} of row {row}" for one in orphans)
    yield from _entries(shown)


def _columns(values: Sequence[Pair]) -> str:
    if not values:
        return ""
    words = ", ".join(f"{one.key}={one.value}" for one in values)
    return f" ({words})"


def _where(pair: Pair) -> str:
    return " in the new placement" if pair.is_new else ""


def _entries(shown: SessionView) -> Iterator[str]:
    for pair in shown.cluster.present:
        if pair.sort == "entry":
            indexed = pair.key.partition(": ")[2]
            yield f"{'tombstone' if pair.is_tombstone else 'entry'} {indexed}→r{pair.row}"


def _found(shown: SessionView, match: re.Match[str]) -> Observed:
    for probe in shown.probe:
        if probe.version == int(match[2]) and probe.query.endswith(PROBED_VALUE):
            found = probe.by_index if match[1] == "index" else probe.by_table
            if found is None:
                raise BadQuestion(f"version {match[2]} reads no index")
            return frozenset(found)
    raise BadQuestion(f"version {match[2]} is not in force at the end, or has no column a")


def public_elements(shown: SessionView) -> frozenset[str]:
    newest = max(shown.cluster.versions, key=lambda version: version.number)
    return frozenset(element.name for element in newest.elements if element.state == State.PUBLIC.value)


def _seconds(shown: SessionView, _: re.Match[str]) -> Observed:
    if shown.cluster.clock_s is None:
        raise BadQuestion("this session has no clock")
    return round(shown.cluster.clock_s)


OF_SESSION: Mapping[str, Callable[[SessionView, re.Match[str]], Observed]] = {
    "pairs": lambda shown, _: frozenset(pair_names(shown)),
    "entries": lambda shown, _: frozenset(_entries(shown)),
    r"found by (table|index) under v(\d+)": _found,
    "clauses": lambda shown, _: frozenset(f"{verdict.clause}@v{verdict.version}" for verdict in shown.verdicts),
    "damage": lambda shown, _: frozenset(
        verdict.clause for verdict in shown.verdicts if verdict.severity is Severity.DAMAGE
    ),
    "taken": lambda shown, _: "no" if shown.refused else "yes",
    "public elements": lambda shown, _: public_elements(shown),
    "lost messages": lambda shown, _: len(shown.cluster.messages),
    "seconds": _seconds,
}


# About rules


def order_of(name: str) -> tuple[str, ...]:
    """The states of a variant, with `fill` and `delete`. Raises `BadQuestion`."""
    variant = all_variants().get(name)
    if variant is None:
        raise BadQuestion(f"there is no variant {name}")
    states = iter(map(stage_name, variant.model.stages))
    found = [next(states)]
    for stop in program_of(variant.model).stops:
        if stop.do is Do.END:
            break
        if stop.do is Do.PUBLISH:
            found.append(next(states))
        elif stop.do in (Do.FILL, Do.DELETE):
            found.append(stop.do.value)
    return tuple(found)


def times_given(given: Mapping[str, Parameter]) -> tuple[int, int, int, int]:
    """The minute in which an edition is posted, and the three limits in minutes. Raises `BadQuestion`."""
    hours, _colon, minutes = str(given.get("posted", "")).partition(":")
    numbers = [given.get(name) for name in ("look_every_min", "give_up_min", "slack_min")]
    if not (hours.isdigit() and minutes.isdigit() and all(isinstance(number, int) for number in numbers)):
        raise BadQuestion("next edition is given posted (12:00), look_every_min, give_up_min and slack_min")
    every, give_up, slack = (int(str(number)) for number in numbers)
    return int(hours) * 60 + int(minutes), every, give_up, slack


def _next_edition(_: re.Match[str], given: Mapping[str, Parameter]) -> Observed:
    posted, every, give_up, slack = times_given(given)
    at = earliest_next_min(posted_min=posted, look_every_min=every, give_up_min=give_up, slack_min=slack)
    return f"{at // 60 % 24}:{at % 60:02d}"


@lru_cache(maxsize=256)
def _waited(asks: str, start: Start) -> int:
    """Cached: it takes many replays."""
    if match := re.fullmatch(r"seconds until v(\d+)", asks):
        version = int(match[1])
        return _seconds_until(
            start, lambda shown: any(one.number >= version for one in shown.cluster.versions), does=("step",)
        )
    if match := re.fullmatch(r"seconds until (n\d+) leases v(\d+)", asks):
        return _seconds_until(start, _leases(match[1], int(match[2])), does=())
    raise BadQuestion(f"{asks!r} is no question; questions are: {', '.join(QUESTIONS)}")


def _leases(node: str, version: int) -> Callable[[SessionView], bool]:
    return lambda shown: any(
        lease.version >= version for one in shown.cluster.nodes if one.name == node for lease in one.leases
    )


def _seconds_until(start: Start, is_so: Callable[[SessionView], bool], *, does: tuple[str, ...]) -> int:
    """Seconds until `is_so`; the change goes on (`does`) as soon as it can."""
    shown = end_of(start)
    more: tuple[str, ...] = ()
    for _ in range(WAITS_MAX):
        if is_so(shown):
            return more.count(SECOND)
        onward = end_of(start, (*more, *does))
        if does and _done(onward) > _done(shown):
            more, shown = (*more, *does), onward
        else:
            more = (*more, SECOND)
            shown = end_of(start, more)
    raise BadQuestion(f"it is not so within {WAITS_MAX} s")


def _done(shown: SessionView) -> int:
    return sum(1 for step in shown.cluster.plan if step.status == "done")


@lru_cache(maxsize=256)
def ask_explorer(start: Start, clauses: tuple[str, ...]) -> str:
    """Can any of the clauses break, whatever the first rows are? Cached: answers are graded by it."""
    question = Question(session_of(start), goal=Goal(frozenset(clauses)), any_rows=True)
    return ask(question, budget=BUDGET).verdict.value


OF_NOTHING: Mapping[str, Callable[[re.Match[str], Mapping[str, Parameter]], Observed]] = {
    r"order of ([a-z0-9-]+)": lambda match, _: " ".join(order_of(match[1])),
    "next edition": _next_edition,
    r"reloads for (\d{1,2}) requests": lambda match, _: routers.reloads_for(int(match[1])),
    "steps of a request": lambda _, __: " ".join(routers.named_steps(routers.way_of_request())),
}

QUESTIONS = (
    "pairs",
    "entries",
    "found by index under v3",
    "found by table under v3",
    "clauses",
    "damage",
    "taken",
    "public elements",
    "lost messages",
    "seconds",
    "seconds until v3",
    "seconds until n1 leases v2",
    "order of add-index",
    "next edition",
    "reloads for 10 requests",
    "steps of a request",
    "explorer C3 C5",
)
