"""The moments of a window at which one may stop and look back; moments close together are one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from leases.staircase.facts import Facts, Json, Walk

APART_S = 0.02
"""Moments nearer to each other are one stop."""
STOPS_MAX = 80


@dataclass(frozen=True, slots=True)
class Stop:
    """`used`: for each table the versions in use from then on, and their nodes."""

    at: float
    happened: tuple[Json, ...]
    used: tuple[Json, ...]


def stops(facts: Facts) -> list[Stop]:
    happened = sorted(_happened(facts), key=lambda one: one[0])
    apart = APART_S
    while len(groups := _groups(happened, apart)) > STOPS_MAX:
        apart *= 2
    return [_stop(group, facts) for group in groups]


def _happened(facts: Facts) -> Iterator[tuple[float, Json]]:
    for at, one in _all(facts):
        if facts.start <= at <= facts.end:
            yield at, one


def _all(facts: Facts) -> Iterator[tuple[float, Json]]:
    for work in facts.works:
        yield work.began, {"what": "change began", "change": work.change}
        if work.ended is not None:
            yield work.ended, {"what": "change ended", "change": work.change, "status": work.status}
    for mark in facts.marks:
        yield mark.at, {"what": "mark", "kind": mark.kind, "node": mark.node}
    for walk in facts.walks:
        for one in walk.versions:
            published = {"what": "published", "table": walk.name, "version": one.version, "phase": one.phase}
            yield one.published_at, published
        for use in walk.uses:
            used = {"table": walk.name, "version": use.version, "node": use.node}
            yield use.began, used | {"what": "used"}
            if use.ended is not None:
                yield use.ended, used | {"what": "ran out" if use.ran_out else "given back"}


def _groups(happened: Sequence[tuple[float, Json]], apart: float) -> list[list[tuple[float, Json]]]:
    groups: list[list[tuple[float, Json]]] = []
    for at, one in happened:
        if groups and at - groups[-1][0][0] < apart:
            groups[-1].append((at, one))
        else:
            groups.append([(at, one)])
    return groups


def _stop(group: Sequence[tuple[float, Json]], facts: Facts) -> Stop:
    at = group[-1][0]
    used = tuple(
        {"table": walk.name, "versions": in_use(walk, at), "has_leases": walk.has_leases} for walk in facts.walks
    )
    return Stop(group[0][0], tuple(one for _, one in group), used)


def in_use(walk: Walk, at: float) -> list[Json]:
    """The versions in use just after `at`, oldest first, with their nodes."""
    found: dict[int, set[str]] = {}
    for use in walk.uses:
        if use.began <= at and (use.ended is None or use.ended > at):
            found.setdefault(use.version, set()).add(use.node)
    return [{"version": version, "nodes": sorted(nodes)} for version, nodes in sorted(found.items())]
