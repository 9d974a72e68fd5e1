"""A node's last two seconds, beat by beat, for reorganisations."""

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
    """Counts at `at` (monotonic): statements that ended, the slowest since the last beat in ms."""

    at: float
    statements: int
    slowest_ms: float
    running: int


@dataclass(slots=True)
class Beats:
    """A node's own beats, without statements whose time is their own."""

    kept: deque[Beat] = field(default_factory=lambda: deque(maxlen=KEPT))

    def beat(self, at: float, *, statements: int, slowest_ms: float, running: int) -> None:
        self.kept.append(Beat(round(at, 3), statements, round(slowest_ms, 2), running))

    @property
    def are_idle(self) -> bool:
        return all(beat.statements == self.kept[-1].statements and not beat.running for beat in self.kept)

    def to_text(self) -> str:
        return json.dumps([astuple(beat) for beat in self.kept])


class MalformedBeats(ValueError):
    """A text that has no beats."""


def from_text(text: str | bytes) -> list[Beat]:
    """The beats of `to_text`, oldest first. Raises `MalformedBeats`."""
    try:
        beats = [Beat(*one) for one in json.loads(text)]
        are_sound = all(0 <= number < NUMBER_MAX for beat in beats for number in astuple(beat))
    except (ValueError, TypeError, RecursionError) as error:
        raise MalformedBeats(f"no beats: {text[:80]!r}") from error
    if not are_sound:
        raise MalformedBeats(f"no beats that a node measures: {text[:80]!r}")
    return beats


def of_late(beats: Sequence[Beat], seconds: float) -> Sequence[Beat]:
    first = next((n for n, beat in reversed(list(enumerate(beats))) if beats[-1].at - beat.at >= seconds - 0.01), 0)
    return beats[first:]
