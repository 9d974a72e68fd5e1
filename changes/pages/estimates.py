"""Estimates of a reorganisation before there is a rate to see: from so many seconds to so many, and under load.

Measured on the demo machine with its two cores (`docs/benchmarks.md`): a fill does 250,000 to 500,000 rows a second
when nobody else works, a verification 200,000 to 300,000; beside four writers that never pause a fill of a million rows
took 65 s, since it rests. A machine with more cores is faster; how much slower another one is, the first seconds show.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from changes.plan.model import YIELDING, StepKind
from spark_tasks.runs.pacing import RESTS_MAX

START_S = (0.2, 1.0)
"""What a reorganisation takes however few its rows are."""
ROWS_PER_S = {
    StepKind.FILL: (150_000, 500_000),
    StepKind.VERIFY: (150_000, 300_000),
    StepKind.DELETE: (100_000, 500_000),
}
SHARED = 3.0
"""What does not rest beside traffic shares the processors with it."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Seconds: at least and at most when nobody else works, and at most under load."""

    least_s: float
    most_s: float
    loaded_s: float


def estimate(kind: StepKind, rows: int, rows_per_s_max: float | None = None) -> Estimate:
    """The time that one reorganisation of so many rows takes; under a throttle, that at least, and it does not rest."""
    slow, fast = ROWS_PER_S[kind]
    least, most = START_S[0] + rows / fast, START_S[1] + rows / slow
    loaded = most * (1 + RESTS_MAX if kind in YIELDING else SHARED)
    if rows_per_s_max is not None and kind in YIELDING:
        throttled, loaded = START_S[1] + rows / rows_per_s_max, most * SHARED
        least, most, loaded = max(least, throttled - START_S[1]), max(most, throttled), max(loaded, throttled)
    return Estimate(round(least, 1), round(most, 1), round(loaded, 1))


def together(estimates: Iterable[Estimate]) -> Estimate | None:
    """The time of several, one after the other; None without any."""
    found = list(estimates)
    if not found:
        return None
    sums = (sum(column) for column in zip(*((one.least_s, one.most_s, one.loaded_s) for one in found), strict=True))
    return Estimate(*(round(one, 1) for one in sums))
