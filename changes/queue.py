"""The queue of changes: one at a time moves a table (X1), also when a change moves several tables (L11).

    change 1   trips                moves
    change 2   trips, airports      waits for 1
    change 3          airports      waits for 2, though airports stands still: nobody is overtaken
    change 4                 runs   moves

A change waits for every older one that shares a table with it, so the queue has no circle. And it waits for a younger
one that moves already: planned again at its start, a change may need a table that it did not need when submitted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """An open change in the queues of its tables; `is_moving`: it has begun.

    `since` orders the queues: mostly the number of the change itself. One that had to be approved first is behind
    those that came before that.
    """

    id: int
    table_ids: frozenset[int]
    is_moving: bool
    since: int = 0

    @property
    def order(self) -> int:
        return self.since or self.id


def ahead_of(one: Place, others: Iterable[Place]) -> list[int]:
    """The changes that `one` waits for, in the order of the queues."""
    if one.is_moving:
        return []
    rivals = [other for other in others if other.id != one.id and other.table_ids & one.table_ids]
    ahead = [other for other in rivals if other.is_moving or other.order < one.order]
    return [other.id for other in sorted(ahead, key=lambda other: other.order)]


def directly_behind(places: Iterable[Place]) -> dict[int, list[int]]:
    """For each change those that it waits for, without those that one of them waits for in turn."""
    known = tuple(places)
    ahead = {one.id: ahead_of(one, known) for one in known}
    implied = {one: {other for first in found for other in ahead[first]} for one, found in ahead.items()}
    return {one: [first for first in found if first not in implied[one]] for one, found in ahead.items()}


def free_to_move(places: Iterable[Place]) -> list[int]:
    """The changes that wait for no other, in the order of the queues."""
    known = tuple(places)
    return [one.id for one in sorted(known, key=lambda one: one.order) if not ahead_of(one, known)]
