"""Feedback control of a run's share of time: statements at most 20 ms slower than without it, at least 85 % as many; an
operator may move both.

The run rests now and then to measure nodes without it: soon when it gives way, rarely otherwise, and when there are
twice as many statements. Few statements say nothing about their number. Far from the target it works half as much, well
within it somewhat more, then waits for the effect; without traffic it works all the time. The next run of a change
continues from the last one's findings. The second worst of the slowest statements counts: one stall is chance.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from leases.beats import Beat, of_late

SLOWER_MS_MAX = 20.0
THROUGHPUT_MIN = 0.85
AIM = 0.8
"""Of what the target allows: what is measured jumps."""
WINDOW_S = 0.75
IDLE_S = 0.5
"""No statement in two beats, and none under way: nobody is there."""
QUIET_S = 1.2
LOOK_S = 0.75
LOOK_AGAIN_S = 8.0
LOOK_SOON_S = 2.0
LOOK_RARELY_S = 60.0
COUNTED_MIN = 4
"""Statements in a window: of less it says nothing how many there are."""
MORE_BY = 2.0
WORKS_FIRST, WORKS_MIN = 0.4, 1 / 16
LEADS_ON_S = 5.0
"""So long what one run of a change has found holds for its next one."""
DOWN_MAX, UP_MAX = 0.35, 2.5
"""So much less or more at once."""
ALIKE = 0.15
"""Two looks that differ by less saw the same load."""


@dataclass(frozen=True, slots=True)
class Target:
    """The limit: milliseconds by which statements are slower, and the share of them that is left."""

    slower_ms_max: float = SLOWER_MS_MAX
    throughput_min: float = THROUGHPUT_MIN


@dataclass(frozen=True, slots=True)
class Felt:
    """Statements per second of all nodes, and the slow ones' milliseconds."""

    per_s: float
    slow_ms: float


class Why(StrEnum):
    """The reason for the share of time that a run works."""

    NOBODY = "nobody"  # works beside it
    LOOKING = "looking"  # it rests to see what others do without it
    WITHIN = "within"  # the target is kept
    FEWER = "fewer"  # statements end in a second
    SLOWER = "slower"  # they are
    UNKNOWN = "unknown"  # nodes say nothing: by transactions that run


@dataclass(frozen=True, slots=True)
class Verdict:
    """The share of time that a run works, why, and the measurements, where known."""

    works: float
    why: Why
    before: Felt | None = None
    now: Felt | None = None

    @classmethod
    def from_json(cls, kept: Mapping[str, Any]) -> "Verdict":
        before, now = (None if kept[when] is None else Felt(**kept[when]) for when in ("before", "now"))
        return cls(kept["works"], Why(kept["why"]), before, now)


def felt(nodes: Collection[Sequence[Beat]], seconds: float) -> Felt:
    per_s, slow_ms = 0.0, 0.0
    for beats in nodes:
        seen = of_late(beats, seconds)
        if len(seen) > 1:
            per_s += max(0, seen[-1].statements - seen[0].statements) / max(seen[-1].at - seen[0].at, 1e-3)
            slow_ms = max(slow_ms, sorted(beat.slowest_ms for beat in seen[1:])[-2:][0])
    return Felt(per_s, slow_ms)


def are_idle(nodes: Collection[Sequence[Beat]], seconds: float) -> bool:
    seen = [of_late(beats, seconds) for beats in nodes]
    return all(of[0].statements == of[-1].statements and not any(beat.running for beat in of) for of in seen if of)


def are_counted(one: Felt) -> bool:
    return one.per_s * WINDOW_S >= COUNTED_MIN


@dataclass(slots=True)
class Feedback:
    """The share of time that one run works. `moved_at`: earlier beats were of another share."""

    works: float = 1.0
    before: Felt | None = None
    looked_at: float = 0.0
    moved_at: float = 0.0
    rests_until: float | None = None
    has_begun: bool = False

    def lead_on(self, verdict: Verdict, now: float) -> None:
        if verdict.before is not None and verdict.works > 0:
            self.works, self.before, self.has_begun = verdict.works, verdict.before, True
            self.looked_at = self.moved_at = now

    def hear(self, nodes: Collection[Sequence[Beat]], target: Target, now: float) -> Verdict:
        """The verdict after another look at the beats of at least one node."""
        if are_idle(nodes, IDLE_S):
            self.works, self.before, self.rests_until, self.has_begun = 1.0, None, None, True
            return Verdict(1.0, Why.NOBODY)
        if not self.has_begun:  # it has not worked yet: what is known of the time before needs no rest
            self.has_begun = True
            return self._look(felt(nodes, 2 * WINDOW_S), now)
        if self.rests_until is None and (self.before is None or self._should_look(now)):
            self.rests_until = now + LOOK_S
        if self.rests_until is None:
            return self._judge(felt(nodes, WINDOW_S), target, now)
        if now < self.rests_until:
            return Verdict(0.0, Why.LOOKING, self.before)
        return self._look(felt(nodes, IDLE_S), now)

    def hear_nothing(self) -> None:
        self.before, self.rests_until, self.has_begun = None, None, True

    def _should_look(self, now: float) -> bool:
        """Now and then, sooner when giving way, soonest when hardly working."""
        after = LOOK_RARELY_S if self.works >= 1.0 else LOOK_AGAIN_S if self.works > WORKS_MIN else LOOK_SOON_S
        return now - self.looked_at >= after

    def _look(self, seen: Felt, now: float) -> Verdict:
        """The statements without the run; two similar looks both count."""
        if self.before is not None and abs(seen.per_s - self.before.per_s) <= ALIKE * self.before.per_s:
            seen = Felt((seen.per_s + self.before.per_s) / 2, (seen.slow_ms + self.before.slow_ms) / 2)
        if self.before is None:
            self.works = WORKS_FIRST
        self.before, self.looked_at, self.moved_at, self.rests_until = seen, now, now, None
        return Verdict(self.works, Why.WITHIN, seen)

    def _judge(self, seen: Felt, target: Target, now: float) -> Verdict:
        before = self.before
        assert before is not None, "it has looked"
        by_rate = 0.0
        if are_counted(before):
            by_rate = (1 - seen.per_s / before.per_s) / max(1 - target.throughput_min, 1e-3)
        by_time = (seen.slow_ms - before.slow_ms) / max(target.slower_ms_max, 1e-3)
        pressure = max(by_rate, by_time, 1e-3)
        if now - self.moved_at >= WINDOW_S:
            factor = min(UP_MAX, max(DOWN_MAX, AIM / pressure))
            self.works, self.moved_at = min(1.0, max(WORKS_MIN, self.works * factor)), now
            if seen.per_s > before.per_s:  # a run makes nobody faster: there are more of them
                self.before = Felt((seen.per_s + before.per_s) / 2, before.slow_ms)
        if are_counted(seen) and seen.per_s >= MORE_BY * before.per_s and now - self.looked_at >= LOOK_SOON_S:
            self.before = None  # nobody knows what these would do without it
        why = Why.WITHIN if pressure <= 1 else Why.FEWER if by_rate >= by_time else Why.SLOWER
        return Verdict(self.works, why, before, seen)
