"""A node's second in figures, and its last minute. A second without a sample is a gap, not a zero."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

SECONDS = 60
TENTH_S = 10
HEIGHT = 16
"""Of the drawing, in its own units."""
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sample:
    """One second of a node, reported at `at` (its own clock). Without statements there is no latency."""

    at: float
    statements_per_s: float
    p50_ms: float | None
    p99_ms: float | None
    errors: int = 0
    retries: int = 0
    open_transactions: int = 0
    long_waits: int = 0
    """Statements and transactions under way for longer than a lease."""
    longest_wait_s: float = 0.0

    def to_text(self) -> str:
        return json.dumps(asdict(self))


class MalformedSample(ValueError):
    """A text that is no sample."""


def from_text(text: str) -> Sample:
    """Raises `MalformedSample`."""
    try:
        return Sample(**json.loads(text))
    except (ValueError, TypeError) as error:
        raise MalformedSample(f"no sample: {text[:80]!r}") from error


def throughput(reported: Mapping[str, Sequence[Sample]]) -> Json:
    """Each node's newest second, and its last minute as a line and in numbers."""
    minutes = {node: minute(samples) for node, samples in reported.items()}
    peak = max((s.statements_per_s for seconds in minutes.values() for s in seconds if s), default=0.0)
    return {
        "nodes": [_node(name, seconds, peak) for name, seconds in sorted(minutes.items())],
        "peak": round(peak),
        "is_idle": peak == 0,
        "seconds": SECONDS,
        "spans": [f"{left}–{left - TENTH_S + 1}" for left in range(SECONDS, 0, -TENTH_S)],
    }


def minute(samples: Sequence[Sample]) -> list[Sample | None]:
    newest = max((sample.at for sample in samples), default=0.0)
    seconds: list[Sample | None] = [None] * SECONDS
    for sample in samples:
        ago = round(newest - sample.at)
        if ago < SECONDS:
            seconds[SECONDS - 1 - ago] = sample
    return seconds


def lines(seconds: Sequence[Sample | None], peak: float) -> list[str]:
    """Statements per second as points of SVG polylines, one for each stretch without a gap."""
    stretches: list[list[str]] = [[]]
    for x, sample in enumerate(seconds):
        if sample is None:
            stretches.append([])
        else:
            y = HEIGHT - (HEIGHT - 1) * (sample.statements_per_s / peak if peak else 0) - 0.5
            stretches[-1].append(f"{x},{y:.1f}")
    return [" ".join(points if len(points) > 1 else points * 2) for points in stretches if points]


def _node(name: str, seconds: Sequence[Sample | None], peak: float) -> Json:
    rates = [sample.statements_per_s for sample in seconds if sample]
    newest = seconds[-1]
    return {
        "name": name,
        "now": None if newest is None else asdict(newest) | {"at": None},
        "lines": lines(seconds, peak),
        "mean": round(sum(rates) / len(rates)) if rates else None,
        "peak": round(max(rates, default=0.0)),
        "tenths": [_tenth(seconds[start : start + TENTH_S]) for start in range(0, SECONDS, TENTH_S)],
    }


def _tenth(seconds: Sequence[Sample | None]) -> Json:
    there = [sample for sample in seconds if sample]
    slowest = [sample.p99_ms for sample in there if sample.p99_ms is not None]
    mean = sum(sample.statements_per_s for sample in there) / len(there) if there else None
    return {"rate": None if mean is None else round(mean), "p99_ms": max(slowest, default=None)}
