"""The cluster's seconds: every node counts with its newest sample, unless too old or by a clock that is far off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, floor

from leases.samples import SECONDS, Sample
from leases.staircase.facts import Second

STALE_S = 1.5
AHEAD_S = 5.0
"""So far a node's clock may be ahead of the database's."""
BEHIND_S = 2.0 * SECONDS


def seconds_of(reported: Mapping[str, Sequence[Sample]], now: float) -> dict[Second, int]:
    """Each second in order, with the number of nodes that reported it; `now`: the database's clock."""
    ordered = [
        sorted((one for one in samples if now - BEHIND_S < one.at <= now + AHEAD_S), key=lambda sample: sample.at)
        for samples in reported.values()
    ]
    every = [sample.at for samples in ordered for sample in samples]
    if not every:
        return {}
    found: dict[Second, int] = {}
    for at in range(ceil(min(every)), floor(max(every)) + 1):
        recent = ([one for one in samples if at - STALE_S < one.at <= at] for samples in ordered)
        newest = [max(samples, key=lambda one: one.at) for samples in recent if samples]
        if newest:
            # several nodes in one second: rates add up, p50 is weighted by statements, p99 is the slowest node's
            weighed = [(one.statements_per_s, one.p50_ms) for one in newest if one.p50_ms is not None]
            weight = sum(rate for rate, _ in weighed)
            p50 = sum(rate * ms for rate, ms in weighed) / weight if weight else None
            found[
                Second(
                    float(at),
                    round(sum(one.statements_per_s for one in newest), 1),
                    None if p50 is None else round(p50, 3),
                    max((one.p99_ms for one in newest if one.p99_ms is not None), default=None),
                )
            ] = len(newest)
    return found
