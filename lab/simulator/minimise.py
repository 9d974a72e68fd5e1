"""Shrinking: the shortest list of events that still breaks the same rule, by leaving out blocks, then single events."""

from collections.abc import Callable

from lab.cluster.control_plane import Without
from lab.simulator.events import Event
from lab.simulator.invariants import Memory
from lab.simulator.simulation import Outcome, replay

Events = tuple[Event, ...]
PASSES_MAX = 50
"""Passes over single events; each but the last leaves at least one out."""


def minimise(found: Outcome, without: frozenset[Without], memory: Memory) -> Outcome:
    assert found.finding is not None, "there is something to show"
    rule = found.finding.rule

    def shows(events: Events) -> bool:
        again = replay(events, without, memory, to_end=found.at_end).finding
        return again is not None and again.rule == rule

    events = shorter(found.happened, shows)
    last = replay(events, without, memory, to_end=found.at_end)
    return Outcome(found.seed, events, last.finding, found.at_end, last.counts)


def shorter(events: Events, shows: Callable[[Events], bool]) -> Events:
    """A sublist that still shows it and loses it without any one event."""
    size = len(events) // 2
    while size > 1:
        events = _without_blocks(events, size, shows)
        size //= 2
    for _ in range(PASSES_MAX):
        fewer = _without_blocks(events, 1, shows)
        if len(fewer) == len(events):
            break
        events = fewer
    return events


def _without_blocks(events: Events, size: int, shows: Callable[[Events], bool]) -> Events:
    at = len(events) - size
    while at > -size:
        rest = events[: max(at, 0)] + events[at + size :]
        if shows(rest):
            events = rest
        at -= size
    return events
