"""The steps of a change as points on a line: states, waits, and work between them. A wait is a point of its own, since
changes spend their time there. Steps that one job does in a row are one point. A state lasts until the next version is
published."""

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
    """The points of the steps, each done, current or todo, given the current step's number. The first element that
    moves names a version. Several tables are shown by name, unless their version numbers agree. `took_s` is a point's
    duration, `since` the start of the current one. A wait has `whom`, and of its duration `nodes_s` for nodes, and the
    `rest_s` in which no node used an older version."""
    tables, is_one = _tables(steps), len(_moved(steps)) < 2
    line = [_start(steps, is_one) | {"tables": tables.get(-1, [])}] if steps else []
    for kind, grouped in groupby(steps, key=lambda step: POINT_OF[step["kind"]]):
        group = list(grouped)
        if kind == "state":
            shown = [_states(step, is_one) | {"tables": tables.get(step["number"], [])} for step in group]
            line += [_point(kind, [step], position, is_over) | s for step, s in zip(group, shown, strict=True)]
        else:
            line.append(_point(kind, group, position, is_over))
    shown, next_out = [], None
    for point in reversed(line):
        if point["kind"] == "state":
            shown.append(point | {"took_s": span_s(point["ended"], next_out)})
            next_out = point["ended"]
        else:
            shown.append(point)
    return shown[::-1]


def status_before_rollback(steps: Sequence[Step], begun: Collection[int], *, newest: int) -> list[str]:
    """The status of each step forward of a change that rolls back: done, left or never. It was left at its last `begun`
    step. A publish is done when `newest` is at least its version."""
    last = max(begun, default=-1)
    is_left = last >= 0 and not (steps[last].kind is StepKind.PUBLISH and steps[last].version <= newest)
    at_last = "left" if is_left else "done"
    return ["done" if number < last else at_last if number == last else "never" for number in range(len(steps))]


def taken(steps: Sequence[Mapping[str, Any]]) -> list[Json]:
    """The points of the steps taken; none when it never began."""
    walked = [step for step in steps if step["when"] != "never"]
    left = next((step["number"] for step in walked if step["when"] == "left"), None)
    line = points(walked, -1 if left is None else left, is_over=left is None)
    return [point | {"when": "left"} if point["when"] == "current" else point for point in line]


def _moved(steps: Sequence[Mapping[str, Any]]) -> set[str]:
    return {one["name"] for step in steps if step["kind"] == "publish" for one in step["transitions"]}


def _start(steps: Sequence[Mapping[str, Any]], is_one: bool) -> Json:
    first = next((step for step in steps if step["kind"] == "publish"), None)
    moved = first["transitions"] if first else []
    state = moved[0]["before"] if moved else "public" if first else None
    version = first["version"] - 1 if first else None
    point: Json = {"kind": "state", "state": state, "version": version, "when": "done", "works": [], "number": -1}
    point["of"] = "" if is_one or not moved else moved[0]["name"]
    no_time = {"began": None, "ended": None, "took_s": None, "since": None, "whom": ""}
    return point | no_time | {"nodes_s": None, "rest_s": None}


def _tables(steps: Sequence[Mapping[str, Any]]) -> dict[int, list[Json]]:
    """Versions of all tables after each publish, and before the first (-1); empty when the numbers agree."""
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
    return {step["table"]: step["version"]} | {one["table"]: one["version"] for one in step["partners"]}


def _states(step: Mapping[str, Any], is_one: bool) -> Json:
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
    took_s = _took_s(group)
    if kind != "wait" or took_s is None:
        return {"nodes_s": None, "rest_s": None}
    nodes_s = round(min(took_s, sum(step.get("waited_s", 0.0) for step in group if step.get("waited_for"))), 3)
    rest_s = round(took_s - nodes_s, 3)
    return {"nodes_s": nodes_s, "rest_s": rest_s if rest_s >= REST_SHOWN_S else None}


def _took_s(steps: Sequence[Mapping[str, Any]]) -> float | None:
    return span_s(steps[0].get("started_at"), steps[-1].get("ended_at"))


def span_s(start: str | None, end: str | None) -> float | None:
    if start is None or end is None:
        return None
    return round((datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds(), 3)


def _when(first: int, last: int, position: int, is_over: bool) -> str:
    if is_over or last < position:
        return "done"
    return "current" if first <= position else "todo"
