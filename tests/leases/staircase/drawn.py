"""Facts in short."""

from __future__ import annotations

from leases.staircase.facts import Facts, Mark, Second, Use, Version, Walk, Work

LEASE_S = 30.0


def version(number: int, at: float, phase: str = "public") -> Version:
    return Version(number, at, phase)


def use(node: str, number: int, began: float, ended: float | None = None, *, until: float | None = None) -> Use:
    """A use that was given back at `ended`, or ran out when `until` is the same."""
    return Use(node, number, began, ended, (ended or began) + LEASE_S if until is None else until)


def facts(
    versions: list[Version],
    uses: list[Use],
    *,
    end: float,
    start: float = 0.0,
    marks: tuple[Mark, ...] = (),
    seconds: tuple[Second, ...] = (),
    works: tuple[Work, ...] = (),
    is_live: bool = False,
) -> Facts:
    return Facts(start, end, is_live, (Walk(7, "flights", tuple(versions), tuple(uses)),), marks, seconds, works)


def steady(start: int, end: int, *, rate: float = 400.0, p99: float = 8.0) -> tuple[Second, ...]:
    """Seconds in which nothing is remarkable."""
    return tuple(Second(float(at), rate, 1.0, p99) for at in range(start, end + 1))
