"""The steps of a change as points on a line: states, waits, and work between them.

    publish delete-only, drain, publish write-only, drain, fill, verify, close, publish public, drain, purge

    (absent) - (delete-only) - wait - (write-only) - wait - [reorganise] - (public) - wait - [tidy up]
                 4.1 s        n3 3.9 s    5.2 s        8 ms       5.1 s                  6 ms     20 ms

A wait is a point of its own: it is where a change spends its time, and where people ask why. Steps that one
job does in a row are one point. A rollback is drawn the same way, from where it began.

A state lasts until the next version is out, so what stands between two states is part of the earlier one's time.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

from changes.executor.state import whom
from changes.plan.model import Step, StepKind

Json = dict[str, Any]
POINT_OF = {
    "publish": "state",
    "drain": "wait",
    "fill": "reorganise",
    "verify": "reorganise",
    "close": "reorganise",
    "delete": "delete",
    "purge": "tidy",
}

REST_SHOWN_S = 1.0
"""A wait that went on for so long after its last node shows that it did."""


def points(steps: Sequence[Mapping[str, Any]], position: int, *, is_over: bool = False) -> list[Json]:
    """The points of the steps, each done, current or todo, given the number of the step that it is at.

    A step has `number`, `kind`, `version`, and for a publish its `table`, `transitions` and `partners`. Of several
    elements the first that moves at all gives a version its name on the line; what else moves is shown beside it. Of
    several tables the versions are shown by name, unless their numbers are the same all the way. Steps with times give
    their points a duration: `took_s`, or `since` when it is the point that the change is at. A point that waited for
    nodes has `whom`, and of its duration their part, `nodes_s`, and the `rest_s` in which nobody used an older version.
    Whom the point at hand waits for is not what it has waited for: `change_page.wait` has that.
    """
    tables, is_one = _tables(steps), len(_moved(steps)) < 2
    line = [_start(steps, is_one) | {"tables": tables.get(-1, [])}] if steps else []
    for kind, grouped in groupby(steps, key=lambda step: POINT_OF[step["kind"]]):
        group = list(grouped)
        if kind == "state":
            shown = [_states(step, is_one) | {"tables": tables.get(step["number"], [])} for step in group]
            line += [_point(kind, [step], position, is_over) | s for step, s in zip(group, shown, strict=True)]
        else:
            line.append(_point(kind, group, position, is_over))
    return _with_lasting_states(line)


def status_before_rollback(steps: Sequence[Step], begun: Collection[int], *, newest: int) -> list[str]:
    """The status of each step forward of a change that rolls back: done, left unfinished, or never taken.

    It was left at the last step that was `begun`. Of a publish it is known whether it came about: `newest` is out.
    """
    last = max(begun, default=-1)
    is_left = last >= 0 and not (steps[last].kind is StepKind.PUBLISH and steps[last].version <= newest)
    at_last = "left" if is_left else "done"
    return ["done" if number < last else at_last if number == last else "never" for number in range(len(steps))]


def taken(steps: Sequence[Mapping[str, Any]]) -> list[Json]:
    """The points of steps that a change has left, as far as it came; none when it never began."""
    walked = [step for step in steps if step["when"] != "never"]
    left = next((step["number"] for step in walked if step["when"] == "left"), None)
    line = points(walked, -1 if left is None else left, is_over=left is None)
    return [point | {"when": "left"} if point["when"] == "current" else point for point in line]


def _moved(steps: Sequence[Mapping[str, Any]]) -> set[str]:
    """The elements that the steps move, by name."""
    return {one["name"] for step in steps if step["kind"] == "publish" for one in step["transitions"]}


def _start(steps: Sequence[Mapping[str, Any]], is_one: bool) -> Json:
    """The first point: the state before its first publish."""
    first = next((step for step in steps if step["kind"] == "publish"), None)
    moved = first["transitions"] if first else []
    state = moved[0]["before"] if moved else "public" if first else None
    version = first["version"] - 1 if first else None
    point: Json = {"kind": "state", "state": state, "version": version, "when": "done", "works": [], "number": -1}
    point["of"] = "" if is_one or not moved else moved[0]["name"]
    no_time = {"began": None, "ended": None, "took_s": None, "since": None, "whom": ""}
    return point | no_time | {"nodes_s": None, "rest_s": None}


def _tables(steps: Sequence[Mapping[str, Any]]) -> dict[int, list[Json]]:
    """The versions of all tables after each publish, and before the first (-1); nothing when no number differs."""
    publishes = [step for step in steps if step["kind"] == "publish"]
    now: dict[str, int] = {}
    for step in reversed(publishes):
        now |= {table: version - 1 for table, version in _published(step).items()}
    found = {-1: now}
    for step in publishes:
        now = now | _published(step)
        found[step["number"]] = now
    if all(len(set(versions.values())) < 2 for versions in found.values()):
        return {}
    return {at: [{"table": t, "version": v} for t, v in versions.items()] for at, versions in found.items()}


def _published(step: Mapping[str, Any]) -> dict[str, int]:
    """The versions that come out with a publish: its own table's first."""
    return {step["table"]: step["version"]} | {one["table"]: one["version"] for one in step["partners"]}


def _states(step: Mapping[str, Any], is_one: bool) -> Json:
    """A version on the timeline: a state, and behind it every element that moves; or the one whose state it is."""
    transitions = step["transitions"]
    state = transitions[0]["after"] if transitions else "public"
    of = "" if is_one or len(transitions) != 1 else transitions[0]["name"]
    return {"state": state, "moves": list(transitions) if len(transitions) > 1 else [], "of": of}


def _point(kind: str, group: Sequence[Mapping[str, Any]], position: int, is_over: bool) -> Json:
    works = [
        {
            "kind": step["kind"],
            "when": _when(step["number"], step["number"], position, is_over),
            "took_s": _took_s([step]),
        }
        for step in group
    ]
    first, last = group[0]["number"], group[-1]["number"]
    when = _when(first, last, position, is_over)
    is_close = {step["kind"] for step in group} == {"close"}
    return {
        "kind": "close" if is_close else kind,
        "state": None,
        "version": group[0]["version"],
        "when": when,
        "works": works if len(works) > 1 else [],
        "number": first,
        "began": group[0].get("started_at"),
        "ended": group[-1].get("ended_at"),
        "took_s": _took_s(group),
        "since": group[0].get("started_at") if when == "current" else None,
        "whom": "" if when == "current" else whom(dict.fromkeys(one for s in group for one in s.get("waited_for", ()))),
    } | _shares(group, kind)


def _shares(group: Sequence[Mapping[str, Any]], kind: str) -> Json:
    """Of a wait's duration what it was for nodes, and the rest; no rest that nobody would notice."""
    took_s = _took_s(group)
    if kind != "wait" or took_s is None:
        return {"nodes_s": None, "rest_s": None}
    nodes_s = round(min(took_s, sum(step.get("waited_s", 0.0) for step in group if step.get("waited_for"))), 3)
    rest_s = round(took_s - nodes_s, 3)
    return {"nodes_s": nodes_s, "rest_s": rest_s if rest_s >= REST_SHOWN_S else None}


def _with_lasting_states(line: Sequence[Json]) -> list[Json]:
    """A state with its time in force: from its publish to the next one. The last one of a line lasts."""
    shown, next_out = [], None
    for point in reversed(line):
        if point["kind"] == "state":
            shown.append(point | {"took_s": span_s(point["ended"], next_out)})
            next_out = point["ended"]
        else:
            shown.append(point)
    return shown[::-1]


def _took_s(steps: Sequence[Mapping[str, Any]]) -> float | None:
    """Seconds from the beginning of the first of some steps to the end of the last."""
    return span_s(steps[0].get("started_at"), steps[-1].get("ended_at"))


def span_s(start: str | None, end: str | None) -> float | None:
    """Seconds between two moments; None while one is missing."""
    if start is None or end is None:
        return None
    return round((datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds(), 3)


def _when(first: int, last: int, position: int, is_over: bool) -> str:
    if is_over or last < position:
        return "done"
    return "current" if first <= position else "todo"
