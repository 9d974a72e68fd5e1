"""Estimates of a reorganisation before there is a rate to see: from so many seconds to so many, and under load.

Alone, on the demo machine with its two cores (`docs/benchmarks.md`), a fill does 250,000 to 500,000 rows a second and a
verification 200,000 to 300,000. Beside traffic each gives way, and shares the processors: how much that
costs is a matter of machine and traffic. So the reorganisations that ended here lately are asked, each with the
statements a second that the nodes did meanwhile. Where none of them had as much traffic beside it as there is now, the
slowest counts that was ever seen on the demo machine.
"""

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
    """A reorganisation that ended: so many rows in so many seconds, beside so many statements a second of the nodes."""

    kind: StepKind
    rows: int
    seconds: float
    statements_per_s: float

    @property
    def rows_per_s(self) -> float:
        return self.rows / max(self.seconds - START_S[0], 0.05)


@dataclass(frozen=True, slots=True)
class Observed:
    """Knowledge of this machine: the reorganisations that ended lately, and the statements a second of now."""

    ended: tuple[Ended, ...] = ()
    statements_per_s: float = 0.0

    def alone(self, kind: StepKind) -> list[Ended]:
        return [one for one in self._of(kind) if one.statements_per_s < BUSY_PER_S]

    def under_load(self, kind: StepKind) -> list[Ended]:
        """Those that had as much traffic beside them as there is now."""
        enough = max(BUSY_PER_S, AS_MUCH * self.statements_per_s)
        return [one for one in self._of(kind) if one.statements_per_s >= enough]

    def _of(self, kind: StepKind) -> list[Ended]:
        return [one for one in self.ended if one.kind is kind and one.rows >= ROWS_LEAST]


NOTHING_SEEN = Observed()


@dataclass(frozen=True, slots=True)
class Estimate:
    """Seconds: at least and at most when nobody else works, and at most under load.

    `seen` reorganisations of this machine say what is so under load, beside up to `beside_per_s` statements a second.
    `now_per_s` are those of now.
    """

    least_s: float
    most_s: float
    loaded_s: float
    seen: int = 0
    beside_per_s: float = 0.0
    now_per_s: float = 0.0

    def has_run_out(self, since_s: float) -> bool:
        """True when the reorganisation has taken longer than this said, so that it says nothing any more."""
        return since_s > (self.loaded_s if self.now_per_s >= BUSY_PER_S else self.most_s)


def estimate(
    kind: StepKind, rows: int, observed: Observed = NOTHING_SEEN, rows_per_s_max: float | None = None
) -> Estimate:
    """The time that one reorganisation of so many rows takes; under a throttle, that at least, and it does not rest."""
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
    """The time of several, one after the other; None without any."""
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
