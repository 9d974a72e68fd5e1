r"""Time as places from 0 to 100: stretched where much happens, long waits folded.

A change takes four steps of milliseconds, and then waits half a minute for a dead node. So a stretch is as wide as the
logarithm of its length, and one of seconds is a *fold*:

    published v7   n1 n2 n3   drained          29 s                published v8
    |--------------|--|--|----|-------------/\/-------------------|
    0                                                            100
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from math import log2

GRAIN_S = 0.005
"""Two moments so far apart can be told apart."""
LEAST = 0.4
FOLD_S = 2.0
MOMENTS_MAX = 300
WIDTH = 100.0


@dataclass(frozen=True, slots=True)
class Fold:
    """A stretch of `seconds` from `x` to `x + width`, drawn narrower."""

    x: float
    width: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Axis:
    """Places of times; times outside are at its ends. `times` ascend, and `places` are theirs."""

    times: tuple[float, ...]
    places: tuple[float, ...]

    def place(self, time: float) -> float:
        at = min(max(bisect_right(self.times, time), 1), len(self.times) - 1)
        left, right = self.times[at - 1], self.times[at]
        share = min(max((time - left) / (right - left), 0.0), 1.0)
        return round(self.places[at - 1] + share * (self.places[at] - self.places[at - 1]), 2)

    def folds(self) -> list[Fold]:
        stretches = pairwise(zip(self.times, self.places, strict=True))
        return [
            Fold(round(x, 2), round(to_x - x, 2), round(to_time - time, 1))
            for (time, x), (to_time, to_x) in stretches
            if to_time - time >= FOLD_S
        ]


def axis(moments: Iterable[float], *, start: float, end: float) -> Axis:
    """The axis of a window with events at `moments`."""
    times = _apart(sorted({moment for moment in moments if start < moment < end}), start, end)
    widths = [LEAST + log2(1 + (right - left) / GRAIN_S) for left, right in pairwise(times)]
    places, place = [0.0], 0.0
    for width in widths:
        place += width
        places.append(place)
    return Axis(tuple(times), tuple(WIDTH * x / place for x in places))


def _apart(moments: list[float], start: float, end: float) -> list[float]:
    """The window's ends, and some moments between them that are apart."""
    kept = [start]
    for moment in moments[:: -(-len(moments) // MOMENTS_MAX) or 1]:
        if moment - kept[-1] >= GRAIN_S / 5 and end - moment >= GRAIN_S / 5:
            kept.append(moment)
    return [*kept, end]
