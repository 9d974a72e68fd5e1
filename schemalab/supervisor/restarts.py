"""When to restart a process, and its end in words."""

import signal
from dataclasses import dataclass, replace

from catalog.text.sentence import Sentence

PAUSE_S_MIN = 0.5
PAUSE_S_MAX = 30.0
PAUSE_S_MAX_SERVICE = 2.0  # everything else waits for PostgreSQL and Redis
STEADY_S = 60.0  # a process that ran this long starts over with the shortest pause
LEASE_LOST = 75  # the exit code of a node that ended itself


@dataclass(frozen=True, slots=True)
class Backoff:
    """The pause doubles with each quick crash, up to a limit. A node that lost its lease did not crash."""

    pause_s: float = PAUSE_S_MIN
    pause_s_max: float = PAUSE_S_MAX

    def after(self, *, ran_s: float, code: int) -> "Backoff":
        is_fresh = ran_s >= STEADY_S or code == LEASE_LOST
        longer = PAUSE_S_MIN if is_fresh else min(self.pause_s * 2, self.pause_s_max)
        return replace(self, pause_s=longer)


def describe_end(code: int) -> str:
    """A process's end in words, by exit code (negative: a signal)."""
    if code == LEASE_LOST:
        return Sentence("ended itself because it could not renew its lease")
    if code == -signal.SIGPROF:
        return Sentence("ended itself because its event loop stood still for a whole lease")
    if code == -signal.SIGVTALRM:
        return "ended itself because a text took too long to parse"
    if code < 0:
        known = {number.value: number.name for number in signal.Signals}
        return Sentence("was ended by {name}", name=known.get(-code, f"signal {-code}"))
    return Sentence("ended without being asked") if code == 0 else Sentence("crashed with exit code {n}", n=code)
