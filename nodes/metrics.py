"""Figures of a node: how much it does, how long its clients wait; counted for a second, then sent and added up.
Latencies are counted in buckets, sixteen for each doubling, so that a statement costs an addition and no percentile is
off by more than three percent."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from leases.beats import Beats
from leases.samples import Sample
from leases.totals import Totals

SUB_BITS = 4
PER_DOUBLING = 1 << SUB_BITS
BUCKETS = PER_DOUBLING * 36
"""Enough for nineteen hours; whatever takes longer is counted there."""


def bucket_of(microseconds: int) -> int:
    shift = max(microseconds.bit_length() - SUB_BITS - 1, 0)
    return min(shift * PER_DOUBLING + (microseconds >> shift), BUCKETS - 1)


def middle_of(bucket: int) -> float:
    shift = max(bucket // PER_DOUBLING - 1, 0)
    return ((bucket - shift * PER_DOUBLING) << shift) + ((1 << shift) - 1) / 2


@dataclass(slots=True)
class Meter:
    began: float
    statements: int = 0
    errors: int = 0
    retries: int = 0
    latencies: list[int] = field(default_factory=lambda: [0] * BUCKETS)
    totals: Totals = field(default_factory=Totals)
    """Of all seconds that have ended."""
    beats: Beats = field(default_factory=Beats)
    ended: int = 0
    slowest_ms: float = 0.0
    """Since the last beat, as `ended` since the process began, of the statements that beats tell of."""

    def finished(self, seconds: float, *, is_error: bool, beat_s: float | None = None) -> None:
        """A statement was answered, or refused, after `seconds`; `beat_s` of them count for its beat."""
        if beat_s is not None:
            self.ended += 1
            self.slowest_ms = max(self.slowest_ms, 1000 * beat_s)
        self.statements += 1
        self.errors += is_error
        self.latencies[bucket_of(int(seconds * 1e6))] += 1

    def beat(self, at: float, *, running: int) -> None:
        self.beats.beat(at, statements=self.ended, slowest_ms=self.slowest_ms, running=running)
        self.slowest_ms = 0.0

    def retried(self) -> None:
        self.retries += 1

    def percentile_ms(self, share: float) -> float | None:
        wanted = math.ceil(share * self.statements)
        if not wanted:
            return None
        seen = 0
        for bucket, count in enumerate(self.latencies):
            seen += count
            if seen >= wanted:
                return round(middle_of(bucket) / 1000, 3)
        raise AssertionError(f"{self.statements} statements, but only {seen} latencies")

    def take(self, now: float, *, at: float, open_transactions: int, long_waits: Sequence[float] = ()) -> Sample:
        """The second that ends `now` (on the clock of `began`), as of `at`; the next one begins. `long_waits`: ages of
        what is under way for longer than a lease."""
        sample = Sample(
            at=at,
            statements_per_s=round(self.statements / max(now - self.began, 0.001), 1),
            p50_ms=self.percentile_ms(0.5),
            p99_ms=self.percentile_ms(0.99),
            errors=self.errors,
            retries=self.retries,
            open_transactions=open_transactions,
            long_waits=len(long_waits),
            longest_wait_s=round(max(long_waits, default=0.0), 1),
        )
        self.totals.count({middle_of(bucket): count for bucket, count in enumerate(self.latencies) if count})
        self.totals.retries += self.retries
        self.began = now
        self.statements = self.errors = self.retries = 0
        self.latencies = [0] * BUCKETS
        return sample
