"""Estimates the time of a reorganisation: alone by the demo machine's figures (`docs/benchmarks.md`), under load by the
slowest recent one with at least as much traffic, or the slowest that was measured there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

from changes.plan.model import WRITING, StepKind

START_S = (0.2, 1.0)
"""What a reorganisation takes however few its rows are."""
ROWS_PER_S: dict[StepKind, tuple[float, float]] = {
    StepKind.FILL: (150_000, 500_000),
    StepKind.VERIFY: (150_000, 300_000),
    StepKind.DELETE: (100_000, 500_000),
}
LOADED_ROWS_PER_S = {StepKind.FILL: 3_000, StepKind.VERIFY: 50_000, StepKind.DELETE: 5_000}
"""Under load: the slowest that was seen on the demo machine."""
SHARED = 3.0
"""Beside traffic the processors are shared, however little rests."""
MARGIN = 1.5
"""No reorganisation goes quite like another one."""
ROWS_LEAST = 10_000
"""A reorganisation of fewer rows says nothing of others: it takes the time of its start."""
BUSY_PER_S = 5.0
"""From so many statements a second on the nodes are under load."""
AS_MUCH = 0.8
"""This share of the traffic of now is as much as now."""


@dataclass(frozen=True, slots=True)
class Ended:
    """A reorganisation that ended, and the nodes' statements per second beside it."""

    kind: StepKind
    rows: int
    seconds: float
    statements_per_s: float

    @property
    def rows_per_s(self) -> float:
        return self.rows / max(self.seconds - START_S[0], 0.05)


@dataclass(frozen=True, slots=True)
class Observed:
    """Recent reorganisations of this machine, and the current statements per second."""

    ended: tuple[Ended, ...] = ()
    statements_per_s: float = 0.0

    def alone(self, kind: StepKind) -> list[Ended]:
        return [one for one in self._of(kind) if one.statements_per_s < BUSY_PER_S]

    def under_load(self, kind: StepKind) -> list[Ended]:
        enough = max(BUSY_PER_S, AS_MUCH * self.statements_per_s)
        return [one for one in self._of(kind) if one.statements_per_s >= enough]

    def _of(self, kind: StepKind) -> list[Ended]:
        return [one for one in self.ended if one.kind is kind and one.rows >= ROWS_LEAST]


NOTHING_SEEN = Observed()


@dataclass(frozen=True, slots=True)
class Estimate:
    """Seconds: least and most when alone, and most under load. `seen` reorganisations, beside up to `beside_per_s`
    statements a second, give the latter."""

    least_s: float
    most_s: float
    loaded_s: float
    seen: int = 0
    beside_per_s: float = 0.0
    now_per_s: float = 0.0

    def has_run_out(self, since_s: float) -> bool:
        return since_s > (self.loaded_s if self.now_per_s >= BUSY_PER_S else self.most_s)


def estimate(
    kind: StepKind, rows: int, observed: Observed = NOTHING_SEEN, rows_per_s_max: float | None = None
) -> Estimate:
    """The time of one reorganisation of `rows` rows, at least that of a throttle."""
    slow, fast = ROWS_PER_S[kind]
    if alone := [one.rows_per_s for one in observed.alone(kind)]:
        slow, fast = min(slow, median(alone) / MARGIN), max(fast, *alone)
    least, most = START_S[0] + rows / fast, START_S[1] + rows / slow
    seen = observed.under_load(kind)
    loaded_rate = min(one.rows_per_s for one in seen) / MARGIN if seen else LOADED_ROWS_PER_S[kind]
    loaded = max(SHARED * START_S[1] + rows / loaded_rate, most)
    if rows_per_s_max is not None and kind in WRITING:
        throttled, loaded = START_S[1] + rows / rows_per_s_max, most * SHARED
        least, most, loaded = max(least, throttled - START_S[1]), max(most, throttled), max(loaded, throttled)
    beside = max((one.statements_per_s for one in seen), default=0.0)
    times = (round(least, 1), round(most, 1), round(loaded, 1))
    return Estimate(*times, len(seen), round(beside), round(observed.statements_per_s))


def together(estimates: Iterable[Estimate]) -> Estimate | None:
    """The sum of several; None without any."""
    found = list(estimates)
    if not found:
        return None
    return Estimate(
        round(sum(one.least_s for one in found), 1),
        round(sum(one.most_s for one in found), 1),
        round(sum(one.loaded_s for one in found), 1),
        min(one.seen for one in found),
        min(one.beside_per_s for one in found),
        found[0].now_per_s,
    )
