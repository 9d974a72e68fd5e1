"""The report as JSON that the queue keeps: sentences stay `Text`s, so that one answer serves every language."""

from collections.abc import Callable
from typing import Any

from catalog.text.message import Text, from_json, to_json
from lab.ladders.played import Played
from lab.sessions import as_json
from rollouts.checks import Report, Trace, check
from rollouts.findings import UNKNOWN
from rollouts.lessons.film import played_of
from rollouts.locks import BLOCKS
from rollouts.worlds.search import Budget, Stopped, Watch

BUDGET = Budget(worlds=100_000, seconds=10.0)
TRACES_MAX = 8
"""The page shows the shortest findings; the command prints all."""

SHOWN = ("kind", "counts", "is_yours", "gate", "fault", "lines", "frames")
TEXT, PLAYED = "text", "played"
Json = dict[str, Any]


def answer(text: str, *, worlds: int, seconds: float, watch: Watch) -> Json:
    """Explores within the bounds of queue and page. `watch` gets the worlds so far and may end the search: unknown."""
    explored = 0

    def watch_all(more: int) -> bool:
        nonlocal explored
        explored += more
        return watch(explored)

    budget = Budget(min(worlds, BUDGET.worlds), min(seconds, BUDGET.seconds), watch_all)
    try:
        return _report_json(check(text, budget=budget, repair=True))
    except Stopped:
        return {"verdict": UNKNOWN, "why": to_json(Text("it was stopped after {n} states", {"n": explored}))}


def _report_json(report: Report) -> Json:
    found: Json = {"verdict": report.verdict, "title": _text(report.title)}
    if report.mistake is not None:
        return found | {"mistake": as_json.to_json(report.mistake)}
    played = None if report.answer is None else played_of(report.answer)
    return found | {
        "bounds": _text(report.bounds),
        "worlds": report.worlds,
        "gates": as_json.to_json(report.gates),
        "traces": [_trace_json(one) for one in report.findings[:TRACES_MAX]],
        "more": max(0, len(report.findings) - TRACES_MAX),
        "occurred": as_json.to_json(report.occurred, _text),
        "holds_up": [
            {
                "deploy": one.deploy,
                "statement": one.text,
                "lock": one.rule.lock,
                "reads": one.rule.reads,
                "rewrites": one.rule.rewrites,
                "blocks": _text(BLOCKS[one.rule.lock]) if one.rule.lock in BLOCKS else None,
                "instead": _text(one.rule.instead),
            }
            for one in report.hold_ups
        ],
        "tried": _text(report.tried),
        "words": as_json.to_json(report.words),
        PLAYED: None if played is None else as_json.stored(played),
        "repair": report.repair and {"what": _text(report.repair.what), "text": report.repair.text},
    }


def played_in(found: Json) -> Played | None:
    return as_json.restored(Played, found[PLAYED]) if found.get(PLAYED) else None


def _trace_json(trace: Trace) -> Json:
    return {name: as_json.to_json(getattr(trace, name), _text) for name in SHOWN}


def _text(text: Text) -> Json:
    return {TEXT: to_json(text)}


def worded(value: Any, say: Callable[[Text], str]) -> Any:
    if isinstance(value, dict):
        if value.keys() == {TEXT}:
            return say(from_json(value[TEXT]))
        return {name: worded(one, say) for name, one in value.items()}
    return [worded(one, say) for one in value] if isinstance(value, list | tuple) else value
