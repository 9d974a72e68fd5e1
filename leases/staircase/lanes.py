"""A staircase for each node: a bar for each version that it used, a step up from one to the next.

    n1         [v7========
        [v6=====]
    n2             [v7====        n2 was slow
        [v6=========]
    n3  [v6///////////////]       n3 was killed: hatched until its lease ended

Of many nodes there are counts for each version, and lanes of the laggards.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from leases.staircase.axis import WIDTH, Axis
from leases.staircase.facts import FALLS, RISES, Mark, Use, Walk
from leases.staircase.phases import drawn

LANES_MAX = 60
LAGGARDS = 8
SLICES = 120
"""Counts change at most so often: at even places of the axis."""


class Look(NamedTuple):
    """The look of a version: state `phase`, of element `of` where several move."""

    phase: str
    of: str


@dataclass(frozen=True, slots=True)
class Bar:
    """A use, `step` steps up (0: the oldest version), from `x` on. `ended` is None while it lasts."""

    version: int
    phase: str
    of: str
    step: int
    x: float
    width: float
    began: float
    ended: float | None
    ran_out: bool


@dataclass(frozen=True, slots=True)
class Gap:
    """A part of a bar in which the node did not answer (`kind`), counting until `until`."""

    kind: str
    step: int
    x: float
    width: float
    until: float


@dataclass(frozen=True, slots=True)
class Placed:
    kind: str
    x: float
    at: float


@dataclass(frozen=True, slots=True)
class Lane:
    node: str
    bars: tuple[Bar, ...]
    gaps: tuple[Gap, ...]
    marks: tuple[Placed, ...]


@dataclass(frozen=True, slots=True)
class Slice:
    """From `x` on `nodes` nodes used the version; `share` is relative to the most at once."""

    x: float
    width: float
    nodes: int
    share: float


@dataclass(frozen=True, slots=True)
class Count:
    version: int
    phase: str
    of: str
    most: int
    slices: tuple[Slice, ...]


def lanes(walk: Walk, marks: Sequence[Mark], axis: Axis) -> list[Lane]:
    """A lane for each node; of many nodes those of laggards and marked nodes."""
    by_node = uses_by_node(walk)
    shown = by_node if len(by_node) <= LANES_MAX else laggards(walk, marks, axis)
    steps = {version.version: step for step, version in enumerate(walk.versions)}
    return [_lane(node, by_node[node], marks, axis, steps, looks(walk)) for node in sorted(shown)]


def counts(walk: Walk, axis: Axis) -> list[Count]:
    """Nodes by version over time, where not each node has a lane."""
    by_node = uses_by_node(walk)
    if len(by_node) <= LANES_MAX:
        return []
    return [_count(walk, version, look, axis, len(by_node)) for version, look in looks(walk).items()]


def looks(walk: Walk) -> dict[int, Look]:
    """For each version its phase, and the element with that state."""
    of = drawn((version.phase, version.moving) for version in walk.versions)
    return {version.version: Look(version.phase, name) for version, name in zip(walk.versions, of, strict=True)}


def uses_by_node(walk: Walk) -> dict[str, list[Use]]:
    """The uses of shown versions, by node, in order."""
    known = {version.version for version in walk.versions}
    found: dict[str, list[Use]] = {}
    for use in sorted(walk.uses, key=lambda use: (use.began, use.version)):
        if use.version in known:
            found.setdefault(use.node, []).append(use)
    return found


def laggards(walk: Walk, marks: Sequence[Mark], axis: Axis) -> set[str]:
    """The nodes that used a version longest after the next one was published, and those that were down."""
    following = {one.version: later.published_at for one, later in zip(walk.versions, walk.versions[1:], strict=False)}
    lag: dict[str, float] = {}
    for node, uses in uses_by_node(walk).items():
        ends = [(use.until if use.ended is None else use.ended) - following.get(use.version, use.until) for use in uses]
        lag[node] = max(ends)
    slowest = sorted(lag, key=lambda node: (-lag[node], node))[:LAGGARDS]
    start, end = axis.times[0], axis.times[-1]
    down = {node for node, spans in falls(marks, end).items() if any(rose > start for _, rose, _ in spans)}
    fallen = sorted(down & lag.keys())[:LAGGARDS]
    return {*slowest, *fallen}


def falls(marks: Iterable[Mark], end: float) -> dict[str, list[tuple[float, float, str]]]:
    """By node, when it did not answer, and why; one that did not come back: until `end`."""
    found: dict[str, list[tuple[float, float, str]]] = {}
    since: dict[str, Mark] = {}
    for mark in sorted(marks, key=lambda mark: mark.at):
        if mark.kind in FALLS:
            since.setdefault(mark.node, mark)
        elif mark.kind in RISES and mark.node in since:
            fell = since.pop(mark.node)
            found.setdefault(mark.node, []).append((fell.at, mark.at, fell.kind))
    for fell in since.values():
        found.setdefault(fell.node, []).append((fell.at, end, fell.kind))
    return found


def _lane(
    node: str,
    uses: Sequence[Use],
    marks: Sequence[Mark],
    axis: Axis,
    steps: Mapping[int, int],
    shown: Mapping[int, Look],
) -> Lane:
    end = axis.times[-1]
    own = [mark for mark in marks if mark.node == node]
    down = falls(own, end).get(node, [])
    bars, gaps = [], []
    for use in uses:
        began, ended = max(use.began, axis.times[0]), min(end if use.ended is None else use.ended, end)
        step = steps[use.version]
        ran_out = use.ran_out and ended < end
        x, width = _span(axis, began, ended)
        bars.append(Bar(use.version, *shown[use.version], step, x, width, use.began, use.ended, ran_out))
        for fell, rose, kind in down:
            left, right = max(fell, began), min(rose, ended)
            if left < right:
                gaps.append(Gap(kind, step, *_span(axis, left, right), use.until if use.ended is None else use.ended))
    placed = tuple(Placed(mark.kind, axis.place(mark.at), mark.at) for mark in own if mark.at >= axis.times[0])
    return Lane(node, tuple(bars), tuple(gaps), placed)


def _span(axis: Axis, left: float, right: float) -> tuple[float, float]:
    x = axis.place(left)
    return x, round(max(axis.place(right) - x, 0.15), 2)


def _count(walk: Walk, version: int, look: Look, axis: Axis, nodes: int) -> Count:
    """A slice has the number at its end; equal slices are one."""
    end = axis.times[-1]
    spans = [
        (axis.place(use.began), axis.place(end if use.ended is None else use.ended))
        for use in walk.uses
        if use.version == version
    ]
    slices: list[Slice] = []
    wide = WIDTH / SLICES
    for number in range(SLICES):
        at = (number + 1) * wide
        using = sum(began < at <= ended for began, ended in spans)
        last = slices[-1] if slices else None
        if last and last.nodes == using and abs(last.x + last.width - number * wide) < wide / 2:
            slices[-1] = Slice(last.x, round(at - last.x, 2), using, last.share)
        elif using:
            slices.append(Slice(round(number * wide, 2), round(wide, 2), using, round(using / nodes, 3)))
    return Count(version, *look, max((one.nodes for one in slices), default=0), tuple(slices))
