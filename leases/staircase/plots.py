"""Statements a second and latencies, in figures: before a change, during it, and second by second."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from leases.staircase.facts import Second, Work, together

TWIN_ROWS = 12
Figure = Callable[[Second], float | None]


def rate(second: Second) -> float | None:
    return second.statements_per_s


def p50(second: Second) -> float | None:
    return second.p50_ms


def p99(second: Second) -> float | None:
    return second.p99_ms


def sentence(seconds: Sequence[Second], works: Sequence[Work]) -> dict[str, Any]:
    """Figures while changes moved tables, and while none did; None without any. Only seconds with clients count.
    `were_short`: changes lasted less than a second."""
    during = [one for one in seconds if _is_within(one, works)]
    before = [one for one in seconds if not _is_within(one, works)]
    return {
        "rate": _mean(rate, _with_clients(during)),
        "rate_before": _mean(rate, _with_clients(before)),
        "were_short": all(work.ended is not None and work.ended - work.began < 1 for work in works),
        "rate_least": min(_known(rate, _with_clients(during)), default=None),
        "p50": _mean(p50, during),
        "p50_before": _mean(p50, before),
        "p99": _mean(p99, during),
        "p99_before": _mean(p99, before),
        "p99_worst": max(_known(p99, during), default=None),
    }


@dataclass(frozen=True, slots=True)
class Span:
    seconds: int
    p50: float | None
    p99: float | None
    p99_worst: float | None
    rate: float | None
    busy: int


@dataclass(frozen=True, slots=True)
class Beside:
    """The seconds before a change and during it. `was_calm`: no other change moved in the second before."""

    before: Span
    during: Span
    was_calm: bool


def beside(seconds: Sequence[Second], work: Work, calm_since: float = 0.0) -> Beside:
    """The statements before one change, from `calm_since` on, and during it."""
    return Beside(
        _span([one for one in seconds if calm_since <= one.at - 1 and one.at <= work.began]),
        _span([one for one in seconds if _is_within(one, [work])]),
        calm_since <= work.began - 1,
    )


def _span(seconds: Sequence[Second]) -> Span:
    worst = max(_known(p99, seconds), default=None)
    busy = _with_clients(seconds)
    return Span(len(seconds), _mean(p50, seconds), _mean(p99, seconds), worst, _mean(rate, busy), len(busy))


def _with_clients(seconds: Sequence[Second]) -> list[Second]:
    return [one for one in seconds if one.statements_per_s > 0]


def rows(seconds: Sequence[Second]) -> list[Second]:
    each = -(-len(seconds) // TWIN_ROWS) or 1
    return [together(seconds[at : at + each]) for at in range(0, len(seconds), each)]


def _known(figure: Figure, seconds: Sequence[Second]) -> list[float]:
    return [value for one in seconds if (value := figure(one)) is not None]


def _mean(figure: Figure, seconds: Sequence[Second]) -> float | None:
    known = _known(figure, seconds)
    return round(fmean(known), 2) if known else None


def _is_within(second: Second, works: Sequence[Work]) -> bool:
    return any(work.began <= second.at and (work.ended is None or second.at - 1 <= work.ended) for work in works)
