"""A node's counts since its process began, as it reports them beside its seconds: for monitoring.

They only grow; a node that is started again begins at nothing, with another incarnation, as counters of monitoring do.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field

BOUNDS_S = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the buckets of latencies; a last bucket has what took longer."""
SQLSTATES_MAX = 100


@dataclass(slots=True)
class Totals:
    """`latencies` has a count for each bucket, of its own alone; `refused` is by SQLSTATE.

    `requests` are the counts of `nodes.router.counters`, by table, with the age of what the node knows of it.
    """

    incarnation: int = 0
    statements: int = 0
    retries: int = 0
    seconds: float = 0.0
    refused: dict[str, int] = field(default_factory=dict)
    latencies: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS_S) + 1))
    requests: dict[str, dict[str, float | None]] = field(default_factory=dict)

    def refuse(self, sqlstate: str) -> None:
        """Count an answer that was an error."""
        known = sqlstate if sqlstate in self.refused or len(self.refused) < SQLSTATES_MAX else "other"
        self.refused[known] = self.refused.get(known, 0) + 1

    def count(self, latencies_us: Mapping[float, int]) -> None:
        """Add statements by their latency in microseconds."""
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
    """The totals that `to_text` wrote. Raises `MalformedTotals`."""
    try:
        found = Totals(**json.loads(text))
    except (ValueError, TypeError) as error:
        raise MalformedTotals(f"no totals: {text[:80]!r}") from error
    if len(found.latencies) != len(BOUNDS_S) + 1:
        raise MalformedTotals(f"totals with {len(found.latencies)} buckets instead of {len(BOUNDS_S) + 1}")
    return found
