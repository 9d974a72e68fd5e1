"""How large the next chunk is, and how long to wait before it: fast, but never in a writer's way for long.

A writer that meets an uncommitted pair waits for the chunk to end. So a chunk lasts at most some milliseconds
(R3), whatever the machine: its size follows the time that the last one took.
"""

from dataclasses import dataclass, replace

CHUNK_S_MAX = 0.010
CHUNK_S_AIM = 0.007
PAIRS_MIN, PAIRS_FIRST, PAIRS_MAX = 50, 1000, 50_000
GROWTH_MAX = 2.0


@dataclass(frozen=True, slots=True)
class Pace:
    """`pairs` go into the next chunk."""

    pairs: int = PAIRS_FIRST

    def after(self, *, pairs: int, seconds: float) -> "Pace":
        """The pace once a chunk of `pairs` took `seconds`. A small last chunk says nothing about large ones."""
        if pairs < self.pairs and seconds <= CHUNK_S_AIM:
            return self
        factor = min(GROWTH_MAX, CHUNK_S_AIM / max(seconds, 1e-6))
        return replace(self, pairs=max(PAIRS_MIN, min(PAIRS_MAX, round(min(pairs, self.pairs) * factor))))

    def after_giving_way(self) -> "Pace":
        """The pace once a chunk had to give way to a writer."""
        return replace(self, pairs=max(PAIRS_MIN, self.pairs // 2))


def wait_s(*, rows: int, seconds: float, rows_per_s_max: float | None) -> float:
    """How long to wait after `rows` rows took `seconds`, so that no more than `rows_per_s_max` go through (R11)."""
    if rows_per_s_max is None:
        return 0.0
    return max(0.0, rows / max(rows_per_s_max, 0.001) - seconds)
