"""A replay as it is drawn, from stored data: both stores side by side, and each node's leases over time."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from leases.staircase.facts import FALLS, RISES

Json = Mapping[str, Any]

ROW = re.compile(r"row (?P<row>\S+)(?: \(a=(?P<value>.+)\))?")
ENTRY = re.compile(r"entry (?P<value>\S+)→r(?P<row>\S+)")
WAIT_S = 1.0
"""A shorter wait is not seen."""

LETTER = 0.95
"""Hundredths of the width that a letter needs."""
BAR, GAP, HEAD, AXIS, WAIT = 1.5, 0.9, 1.6, 1.8, 1.7
"""Heights in letters."""
LEFT = 8.0
"""Hundredths of the width for the nodes' names."""
TICKS_S = (0.5, 1, 2, 5, 10, 20, 60)
TICKS_MOST = 8
CLOSE = 6.0
"""Labels nearer to each other, in hundredths of the width, would overlap on a phone."""
TIGHT = 7
"""A bar of fewer letters has no room for its number on a phone."""


def store(names: Iterable[str], broken: Iterable[str]) -> list[dict[str, Any]]:
    """Rows with their entries, from names of pairs. Without C4 among `broken` a row without an entry misses none."""
    there, is_missed = list(names), "C4" in set(broken)
    rows = {found["row"]: found["value"] or "NULL" for name in there if (found := ROW.fullmatch(name))}
    entries = [(found["row"], found["value"]) for name in there if (found := ENTRY.fullmatch(name))]
    lines = []
    for row in sorted(rows.keys() | {of for of, _ in entries}):
        own = sorted(value for of, value in entries if of == row)
        cells = [{"value": one, "label": "" if rows.get(row) == one else "orphan"} for one in own]
        if row in rows and rows[row] not in own:
            cells.append({"value": "", "label": "missing" if is_missed else ""})
        lines += [
            {"row": row, "value": rows.get(row, ""), "is_there": row in rows, "is_first": at == 0, "entry": cell}
            for at, cell in enumerate(cells)
        ]
    return lines


def waits(lanes: Json) -> list[dict[str, Any]]:
    """The seconds in which the next version waited for a node: from when, until when, for which."""
    found = []
    versions = [*lanes["versions"], {"version": None, "at": lanes["end"]}]
    for one, following in pairwise(versions[1:]):
        older = [use for use in lanes["uses"] if use["version"] < one["version"] and use["to"] > one["at"]]
        if not lanes["waits"] or not older:
            continue
        last = max(older, key=lambda use: use["to"])
        until = min(last["to"], following["at"])
        if until - one["at"] >= WAIT_S:
            found.append({"from": one["at"], "to": until, "node": last["node"], "version": following["version"]})
    return found


def picture(lanes: Json) -> dict[str, Any]:
    """The lanes, each thing at its place: x in hundredths of the width, y in letters."""
    end: float = max(lanes["end"], 0.1)
    scale = (100 - LEFT) / end

    def across(seconds: float) -> float:
        return LEFT + min(max(seconds, 0.0), end) * scale

    height = HEAD
    rows = []
    for node in lanes["nodes"]:
        marks = [one for one in lanes["marks"] if one["node"] == node and 0 <= one["at"] <= end]
        top = height + (1.2 if marks else 0)
        bars = [_bar(use, lanes, across, top) for use in lanes["uses"] if use["node"] == node]
        shown = [
            {"x": _share(across(one["at"])), "y": _letters(top - 0.3), "kind": one["kind"]}
            | {"is_rise": one["kind"] in RISES, "is_late": across(one["at"]) > 80}
            for one in marks
        ]
        dead = [
            {"x": _share(across(since)), "width": _share(across(until) - across(since))}
            for since, until in _away(marks, end)
        ]
        row = {"node": node, "bars": bars, "marks": shown, "dead": dead, "top": _letters(top)}
        rows.append(row | {"y": _letters(top + BAR + 0.45)})
        height = top + 2 * BAR + GAP
    brackets = []
    for one in waits(lanes):
        left, right = across(one["from"]), across(one["to"])
        brackets.append(
            one
            | {"x1": _share(left), "x2": _share(right), "y": _letters(height), "below": _letters(height + 1.25)}
            | {"seconds": round(one["to"] - one["from"], 1), "is_late": left > 60, "text_x": _share(min(left, 60))}
        )
        height += WAIT
    return {
        "height": _letters(height + AXIS),
        "bottom": _letters(height),
        "ticks_y": _letters(height + 1.3),
        "rows": rows,
        "waits": brackets,
        "versions": _labelled(lanes, across),
        "ticks": [
            {"x": _share(across(at)), "text": f"{at:g}", "is_late": across(at) > 100 - CLOSE} for at in _ticks(end)
        ],
        "left": LEFT,
        "end": round(end, 1),
    }


def _away(marks: Sequence[Json], end: float) -> list[tuple[float, float]]:
    found, since = [], None
    for one in sorted(marks, key=lambda mark: float(mark["at"])):
        if one["kind"] in FALLS and since is None:
            since = one["at"]
        elif one["kind"] in RISES and since is not None:
            found.append((since, one["at"]))
            since = None
    return found if since is None else [*found, (since, end)]


def _bar(use: Json, lanes: Json, across: Callable[[float], float], top: float) -> dict[str, Any]:
    states = {one["version"]: one["state"] for one in lanes["versions"]}
    left, right = across(use["from"]), across(use["to"])
    state = states.get(use["version"], "absent")
    room = (right - left) / LETTER
    return {
        "x": _share(left),
        "width": _share(max(right - left, 0.3)),
        "y": _letters(top + (use["version"] % 2) * BAR),
        "text_y": _letters(top + (use["version"] % 2) * BAR + 1.05),
        "text_x": _share(left + 0.5),
        "state": state,
        "version": use["version"],
        "has_name": room >= len(state) + 4,
        "has_number": room >= 3,
        "is_tight": room < TIGHT,
        "from_s": round(use["from"], 1),
        "to_s": round(use["to"], 1),
    }


def _labelled(lanes: Json, across: Callable[[float], float]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    last = -CLOSE
    for one in lanes["versions"]:
        x = across(one["at"])
        if one["at"] > 0:
            is_apart = x - last >= CLOSE
            found.append({"x": _share(x), "version": one["version"] if is_apart else None, "is_late": x > 100 - CLOSE})
            last = x if is_apart else last
    return found


def _ticks(end: float) -> Sequence[float]:
    step = next((one for one in TICKS_S if end / one <= TICKS_MOST), TICKS_S[-1])
    return [at * step for at in range(int(end / step) + 1)]


def _share(hundredths: float) -> str:
    return f"{hundredths:.2f}%"


def _letters(number: float) -> str:
    return f"{number:.2f}em"
