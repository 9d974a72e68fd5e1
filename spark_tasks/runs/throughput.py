"""The rate of a run, for an ETA (R11), over a window of some seconds from growth to growth: earlier attempts and the
start of Spark do not count, and standing still only sets `is_stalled`. Rare rows under a throttle are no stall. There
is no rate before a few chunks have ended."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

WINDOW_S = 10.0
SPAN_S_MIN = 0.5
"""Growth that was seen for less is no rate."""
STALLED_S = 10.0
GAPS_MAX = 3.0
"""A pause is a stall once it is so many times as long as the longest of late."""


@dataclass(slots=True)
class Rate:
    """The rate of one attempt. `rows_per_s_max` is the throttle."""

    began: tuple[float, int] = (0.0, -1)
    grown: deque[tuple[float, int]] = field(default_factory=deque)
    rows_per_s_max: float | None = None

    def hear(self, done: int, now: float) -> None:
        """So many rows are done in all. Fewer than before: a new pass begins."""
        before = self.grown[-1][1] if self.grown else self.began[1]
        if before < 0 or done < before:
            self.began = (now, done)
            self.grown.clear()
        elif done > before:
            self.grown.append((now, done))
            while len(self.grown) > 2 and self.grown[1][0] <= now - WINDOW_S:
                self.grown.popleft()

    @property
    def rows_per_s(self) -> float:
        """The recent rate; 0 before it is known."""
        if len(self.grown) < 2 or self.grown[-1][0] - self.grown[0][0] < SPAN_S_MIN:
            return 0.0
        first, last = self.grown[0], self.grown[-1]
        return (last[1] - first[1]) / (last[0] - first[0])

    def is_stalled(self, now: float) -> bool:
        return bool(self.grown) and now - self.grown[-1][0] > max(STALLED_S, GAPS_MAX * self._gap_s)

    @property
    def _window(self) -> Sequence[tuple[float, int]]:
        return self.grown if len(self.grown) > 1 else (self.began, *self.grown)

    @property
    def _gap_s(self) -> float:
        steps = list(zip(self._window, list(self._window)[1:], strict=False))
        throttled = 0.0
        if self.rows_per_s_max:
            throttled = (steps[-1][1][1] - steps[-1][0][1]) / self.rows_per_s_max
        return max(throttled, *(later[0] - sooner[0] for sooner, later in steps))


def eta_s(*, left: int, rows_per_s: float) -> float | None:
    """Seconds for the rows that are left; None while no rate is known."""
    return left / rows_per_s if rows_per_s > 0 else None
