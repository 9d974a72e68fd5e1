"""A node's counts since its process began, for monitoring; a new incarnation begins at zero."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

BOUNDS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the buckets of latencies; a last bucket has what took longer."""
SQLSTATES_MAX = 100


@dataclass(slots=True)
class Totals:
    """`latencies` has a count for each bucket alone; `refused` is by SQLSTATE; `requests` are `nodes.router.counters`
    by table."""

    incarnation: int = 0
    statements: int = 0
    retries: int = 0
    seconds: float = 0.0
    refused: dict[str, int] = field(default_factory=dict)
    latencies: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS_S) + 1))
    requests: dict[str, dict[str, float | None]] = field(default_factory=dict)

    def refuse(self, sqlstate: str) -> None:
        known = sqlstate if sqlstate in self.refused or len(self.refused) < SQLSTATES_MAX else "other"
        self.refused[known] = self.refused.get(known, 0) + 1

    def count(self, latencies_us: Mapping[float, int]) -> None:
        for microseconds, count in latencies_us.items():
            seconds = microseconds / 1e6
            bucket = sum(seconds > bound for bound in BOUNDS_S)
            self.latencies[bucket] += count
            self.statements += count
            self.seconds += seconds * count

    def to_text(self, incarnation: int) -> str:
        return json.dumps(asdict(self) | {"incarnation": incarnation})


class MalformedTotals(ValueError):
    """A text that is no node's totals."""


def from_text(text: str) -> Totals:
    """Raises `MalformedTotals`."""
    try:
        found = Totals(**json.loads(text))
    except (ValueError, TypeError) as error:
        raise MalformedTotals(f"no totals: {text[:80]!r}") from error
    if len(found.latencies) != len(BOUNDS_S) + 1:
        raise MalformedTotals(f"totals with {len(found.latencies)} buckets instead of {len(BOUNDS_S) + 1}")
    return found
