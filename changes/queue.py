"""The queue of changes: one at a time moves a table (X1), also when a change moves several (L11).

A change waits for every older one that shares a table, also one that itself waits: there is no overtaking, and no
circle. It waits for a younger one that moves already, since at its start it may need another table than when submitted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """An open change in the queues of its tables. `since` orders them: its number, or its place after an approval."""

    id: int
    table_ids: frozenset[int]
    is_moving: bool
    since: int = 0

    @property
    def order(self) -> int:
        return self.since or self.id


def ahead_of(one: Place, others: Iterable[Place]) -> list[int]:
    if one.is_moving:
        return []
    rivals = [other for other in others if other.id != one.id and other.table_ids & one.table_ids]
    ahead = [other for other in rivals if other.is_moving or other.order < one.order]
    return [other.id for other in sorted(ahead, key=lambda other: other.order)]


def directly_behind(places: Iterable[Place]) -> dict[int, list[int]]:
    """For each change those it waits for, without those that one of them waits for."""
    known = tuple(places)
    ahead = {one.id: ahead_of(one, known) for one in known}
    implied = {one: {other for first in found for other in ahead[first]} for one, found in ahead.items()}
    return {one: [first for first in found if first not in implied[one]] for one, found in ahead.items()}


def free_to_move(places: Iterable[Place]) -> list[int]:
    known = tuple(places)
    return [one.id for one in sorted(known, key=lambda one: one.order) if not ahead_of(one, known)]
