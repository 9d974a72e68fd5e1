"""A node's last two seconds, beat by beat: what reorganisations must know at once of those who work beside them.

Each beat has the node's counts since its process began, so any two of them say what lay between:

    at          10.00    10.25    10.50         statements per second: (67 - 41) / 0.5
    statements     41       55       67         slowest of each quarter of a second: by itself
"""

import json
from collections import deque
from collections.abc import Sequence
from dataclasses import astuple, dataclass, field

BEAT_S = 0.25
KEPT = 9
"""Two seconds lie between the first and the last."""
NUMBER_MAX = 2**53
"""Of a beat: neither a count nor a time comes near it."""


@dataclass(frozen=True, slots=True)
class Beat:
    """Counts at `at` (the node's monotonic clock): statements that ended, the slowest since the beat before in ms."""

    at: float
    statements: int
    slowest_ms: float
    running: int


@dataclass(slots=True)
class Beats:
    """The beats of a node's own. Statements that take as long as they take do not belong here."""

    kept: deque[Beat] = field(default_factory=lambda: deque(maxlen=KEPT))

    def beat(self, at: float, *, statements: int, slowest_ms: float, running: int) -> None:
        """A quarter of a second is over."""
        self.kept.append(Beat(round(at, 3), statements, round(slowest_ms, 2), running))

    @property
    def are_idle(self) -> bool:
        """True when nothing has happened since the first of them."""
        return all(beat.statements == self.kept[-1].statements and not beat.running for beat in self.kept)

    def to_text(self) -> str:
        return json.dumps([astuple(beat) for beat in self.kept])


class MalformedBeats(ValueError):
    """A text that has no beats."""


def from_text(text: str | bytes) -> list[Beat]:
    """The beats that `to_text` wrote, oldest first. Raises `MalformedBeats`, for what no node measures, too."""
    try:
        beats = [Beat(*one) for one in json.loads(text)]
        are_sound = all(0 <= number < NUMBER_MAX for beat in beats for number in astuple(beat))
    except (ValueError, TypeError, RecursionError) as error:
        raise MalformedBeats(f"no beats: {text[:80]!r}") from error
    if not are_sound:
        raise MalformedBeats(f"no beats that a node measures: {text[:80]!r}")
    return beats


def of_late(beats: Sequence[Beat], seconds: float) -> Sequence[Beat]:
    """The last of them, over so many seconds or somewhat more."""
    first = next((n for n, beat in reversed(list(enumerate(beats))) if beats[-1].at - beat.at >= seconds - 0.01), 0)
    return beats[first:]
