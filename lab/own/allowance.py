"""Planning time that each visitor may take, as a token bucket: 10 s of a processor at once, then a tenth of one. The
process that serves all pages plans statements of visitors without an account."""

import math
from collections import OrderedDict
from dataclasses import dataclass, field

PLANNING_S_MAX = 10.0
"""Seconds of a processor at once."""
SHARE = 0.1
"""Seconds of a processor that come back with each second."""
MORE_S = 0.1
"""Room after the wait that a refusal names: enough for a page."""
VISITORS_MAX = 10_000


class PlanningTimeUsed(Exception):
    def __init__(self, wait_s: int) -> None:
        super().__init__(f"planning time is used: wait {wait_s} s")
        self.wait_s = wait_s


@dataclass(slots=True)
class Allowances:
    """The time that each visitor has used, the oldest dropped first. `now` is in seconds."""

    _used: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)

    def check(self, visitor: str, now: float) -> None:
        over_s = self.used_s(visitor, now) - PLANNING_S_MAX
        if over_s >= 0:
            raise PlanningTimeUsed(math.ceil((over_s + MORE_S) / SHARE))

    def use(self, visitor: str, seconds: float, now: float) -> None:
        self._used[visitor] = self.used_s(visitor, now) + seconds, now
        self._used.move_to_end(visitor)
        while len(self._used) > VISITORS_MAX:
            self._used.popitem(last=False)

    def used_s(self, visitor: str, now: float) -> float:
        used, at = self._used.get(visitor, (0.0, now))
        return max(0.0, used - (now - at) * SHARE)
