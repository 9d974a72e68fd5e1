"""The seconds of a whole cluster, from the samples of its nodes.

Nodes take their samples at moments of their own. At each whole second every node counts with its newest sample, as
long as that is not older than a sample may be.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import ceil, floor

from leases.samples import Sample
from leases.staircase.facts import Second

STALE_S = 1.5


def seconds_of(reported: Mapping[str, Sequence[Sample]]) -> dict[Second, int]:
    """Each second of the samples, in order, with the number of nodes that reported it."""
    every = [sample.at for samples in reported.values() for sample in samples]
    if not every:
        return {}
    ordered = [sorted(samples, key=lambda sample: sample.at) for samples in reported.values()]
    found: dict[Second, int] = {}
    for at in range(ceil(min(every)), floor(max(every)) + 1):
        newest = [one for samples in ordered if (one := _newest(samples, at)) is not None]
        if newest:
            found[_together(at, newest)] = len(newest)
    return found


def _newest(samples: Iterable[Sample], at: float) -> Sample | None:
    """The sample that stands for a node at `at`."""
    return max((one for one in samples if at - STALE_S < one.at <= at), key=lambda one: one.at, default=None)


def _together(at: float, samples: Sequence[Sample]) -> Second:
    """Several nodes in one second: rates add up, p50 is weighted by statements, p99 is the slowest node's."""
    weighed = [(one.statements_per_s, one.p50_ms) for one in samples if one.p50_ms is not None]
    weight = sum(rate for rate, _ in weighed)
    p50 = sum(rate * ms for rate, ms in weighed) / weight if weight else None
    return Second(
        float(at),
        round(sum(one.statements_per_s for one in samples), 1),
        None if p50 is None else round(p50, 3),
        max((one.p99_ms for one in samples if one.p99_ms is not None), default=None),
    )
