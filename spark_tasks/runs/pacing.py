"""Pacing: the size of the next chunk, and the wait before it.

A writer that meets an uncommitted pair waits for the chunk, so a chunk lasts some milliseconds (R3), and more without
writers. Nodes report idleness; else the count of index scans, by which writers look rows up, stands still for longer
than sessions delay their statistics (1 s). The run rests after each read and write as `feedback` decides, or by the
number of transactions (`Traffic`). A person's throttle is kept as it is.
"""

from collections import deque
from dataclasses import dataclass, field, replace

CHUNK_S_AIM = 0.007
"""Below the 10 ms of R3: the next chunk may take longer than the last one."""
QUIET_S_AIM = 0.040
QUIET_AFTER_S = 1.2
PAIRS_MIN, PAIRS_FIRST, PAIRS_MAX = 50, 1000, 50_000
GROWTH_MAX = 2.0
THROTTLED_S = 0.5
LISTEN_S = 0.25
"""So often who rests hears whether it still should."""
TRAFFIC_S = 2.0
RESTS_MAX = 7.0
RESTS_PER_TRANSACTION = 7.0
REST_S_MAX = 2.0


@dataclass(frozen=True, slots=True)
class Pace:
    """`pairs` go into the next chunk."""

    pairs: int = PAIRS_FIRST

    def after(self, *, pairs: int, seconds: float, is_quiet: bool = False) -> "Pace":
        """The pace after a chunk of `pairs` in `seconds`. A small last chunk says nothing."""
        aim = QUIET_S_AIM if is_quiet else CHUNK_S_AIM
        if pairs < self.pairs and seconds <= aim:
            return self
        factor = min(GROWTH_MAX, aim / max(seconds, 1e-6))
        return replace(self, pairs=max(PAIRS_MIN, min(PAIRS_MAX, round(min(pairs, self.pairs) * factor))))

    def after_giving_way(self) -> "Pace":
        return replace(self, pairs=max(PAIRS_MIN, self.pairs // 2))


@dataclass(slots=True)
class Quiet:
    """Tells if others use the table, by the count of index scans, unchanged `since`."""

    scans: int | None = None
    since: float = 0.0

    def hear(self, scans: int, now: float) -> None:
        if scans != self.scans:
            self.scans, self.since = scans, now

    def lasts(self, now: float) -> bool:
        return self.scans is not None and now - self.since >= QUIET_AFTER_S


@dataclass(slots=True)
class Traffic:
    """Concurrent transactions of nodes, on average of late: `seen` are (when, how many)."""

    seen: deque[tuple[float, int]] = field(default_factory=deque)

    def hear(self, transactions: int, now: float) -> None:
        self.seen.append((now, transactions))
        while now - self.seen[0][0] > TRAFFIC_S:
            self.seen.popleft()

    @property
    def at_a_time(self) -> float:
        return sum(count for _, count in self.seen) / len(self.seen) if self.seen else 0.0


def rest_s(*, seconds: float, works: float, rows_per_s_max: float | None) -> float:
    """The rest after `seconds` of work for this share of time; not under a throttle."""
    if rows_per_s_max is not None:
        return 0.0
    return REST_S_MAX if works <= 0 else min(REST_S_MAX, seconds * (1 - works) / works)


def share_of_time(*, traffic: float) -> float:
    """The share of time beside so many transactions, when nothing else is known."""
    return 1 / (1 + min(RESTS_MAX, RESTS_PER_TRANSACTION * traffic))


def pairs_allowed(pairs: int, rows_per_s_max: float | None) -> int:
    """Those of `pairs` in a chunk under a throttle: half a second's, so that no wait is long (R11)."""
    return pairs if rows_per_s_max is None else max(1, min(pairs, int(rows_per_s_max * THROTTLED_S)))


def wait_s(*, rows: int, seconds: float, rows_per_s_max: float | None) -> float:
    """The wait after `rows` rows took `seconds`, for at most `rows_per_s_max` (R11)."""
    if rows_per_s_max is None:
        return 0.0
    return max(0.0, rows / max(rows_per_s_max, 0.001) - seconds)
