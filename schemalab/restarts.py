"""When a process that ended is started again, and how its end is told."""

import signal
from dataclasses import dataclass

PAUSE_S_MIN = 0.5
PAUSE_S_MAX = 30.0
STEADY_S = 60.0  # a process that ran this long starts over with the shortest pause
LEASE_LOST = 75  # the exit code of a node that ended itself


@dataclass(frozen=True, slots=True)
class Backoff:
    """The pause before the next start doubles with each quick crash, up to a limit."""

    pause_s: float = PAUSE_S_MIN

    def after(self, *, ran_s: float) -> "Backoff":
        return Backoff() if ran_s >= STEADY_S else Backoff(min(self.pause_s * 2, PAUSE_S_MAX))


def describe_end(code: int) -> str:
    """What an exit code (negative: a signal) says about a process's end."""
    if code == LEASE_LOST:
        return "ended itself because it could not renew its lease"
    if code < 0:
        known = {number.value: number.name for number in signal.Signals}
        return f"was ended by {known.get(-code, f'signal {-code}')}"
    return "ended without being asked" if code == 0 else f"crashed with exit code {code}"
