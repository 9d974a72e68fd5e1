"""The nodes that have a lane: all of them, or of many the laggards, with counts for each version."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from leases.staircase.facts import FALLS, RISES, Facts, Json, Mark, Use, Walk
from leases.staircase.phases import drawn

LANES_MAX = 60
LAGGARDS = 8
COUNTS_MAX = 120
"""Counts of a version change at most so often."""


class Look(NamedTuple):
    """The look of a version: state `phase`, of element `of` where several move."""

    phase: str
    of: str


def looks(walk: Walk) -> dict[int, Look]:
    of = drawn((version.phase, version.moving) for version in walk.versions)
    return {version.version: Look(version.phase, name) for version, name in zip(walk.versions, of, strict=True)}


def uses_by_node(walk: Walk) -> dict[str, list[Use]]:
    known = {version.version for version in walk.versions}
    found: dict[str, list[Use]] = {}
    for use in sorted(walk.uses, key=lambda use: (use.began, use.version)):
        if use.version in known:
            found.setdefault(use.node, []).append(use)
    return found


def nodes_shown(walk: Walk, facts: Facts) -> list[str]:
    """The nodes with a lane: all, or of many the last to leave a version, and those that were down."""
    by_node = uses_by_node(walk)
    if len(by_node) <= LANES_MAX:
        return sorted(by_node)
    following = {one.version: later.published_at for one, later in pairwise(walk.versions)}
    lag = {
        node: max(
            (use.until if use.ended is None else use.ended) - following.get(use.version, use.until) for use in uses
        )
        for node, uses in by_node.items()
    }
    slowest = sorted(lag, key=lambda node: (-lag[node], node))[:LAGGARDS]
    fell = falls(facts.marks, facts.end)
    down = {node for node, spans in fell.items() if any(rose > facts.start for _, rose in spans)}
    return sorted({*slowest, *sorted(down & lag.keys())[:LAGGARDS]})


def counts(walk: Walk, facts: Facts) -> list[Json]:
    """Nodes by version over time, where not each node has a lane: `steps` are times and the number from then on."""
    if len(uses_by_node(walk)) <= LANES_MAX:
        return []
    wide = (facts.end - facts.start) / COUNTS_MAX
    times = [facts.start + number * wide for number in range(1, COUNTS_MAX + 1)]
    found = []
    for version in walk.versions:
        spans = [(use.began, use.ended) for use in walk.uses if use.version == version.version]
        numbers = [sum(began < at and (ended is None or ended >= at) for began, ended in spans) for at in times]
        before = [0, *numbers]
        steps = [(at - wide, n) for at, n, last in zip(times, numbers, before, strict=False) if n != last]
        found.append({"version": version.version, "most": max(numbers), "steps": steps})
    return found


def falls(marks: Iterable[Mark], end: float) -> dict[str, list[tuple[float, float]]]:
    """By node, when it did not answer; one that did not come back: until `end`."""
    found: dict[str, list[tuple[float, float]]] = {}
    since: dict[str, float] = {}
    for mark in sorted(marks, key=lambda mark: mark.at):
        if mark.kind in FALLS:
            since.setdefault(mark.node, mark.at)
        elif mark.kind in RISES and mark.node in since:
            found.setdefault(mark.node, []).append((since.pop(mark.node), mark.at))
    for node, fell in since.items():
        found.setdefault(node, []).append((fell, end))
    return found


def most_at_once(uses: Sequence[Use]) -> int:
    edges = sorted(
        [(use.began, 1, use.version) for use in uses]
        + [(use.ended, 0, use.version) for use in uses if use.ended is not None]
    )
    using: dict[int, int] = {}
    most = 0
    for _, begins, version in edges:
        using[version] = using.get(version, 0) + (1 if begins else -1)
        most = max(most, sum(count > 0 for count in using.values()))
    return most
