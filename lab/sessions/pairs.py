"""Pairs as they are drawn, from any machine's store: beside their rows, with their difference."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from catalog.descriptor import Descriptor
from catalog.elements import EXISTS, PRIMARY, State
from lab.sessions.shown import Difference, Pair
from storage.pairs import PairName

Slot = tuple[int, bytes]
StoredPairs = Mapping[Slot, bytes | None]
"""The pairs of all storages; a tombstone is None."""

ORDER = {"row": 0, "value": 1, "entry": 2}


@dataclass(frozen=True, slots=True)
class StoredPair:
    storage: int
    key: bytes
    value: bytes | None
    difference: Difference

    @property
    def is_live(self) -> bool:
        return self.value is not None and self.difference is not Difference.REMOVED

    def owner(self, name: PairName) -> bytes | None:
        return name.row_key if name.row_key is not None else self.value


def drawn(now: StoredPairs, before: StoredPairs, draw: Callable[[StoredPair], Pair]) -> Iterator[Pair]:
    """The pairs of both positions: rows beside their values and entries, others last."""
    found = [
        *(StoredPair(*slot, before[slot], Difference.REMOVED) for slot in before.keys() - now.keys()),
        *(StoredPair(*slot, now[slot], Difference.ADDED) for slot in now.keys() - before.keys()),
    ]
    for slot in now.keys() & before.keys():
        difference = Difference.SAME if before[slot] == now[slot] else Difference.CHANGED
        found.append(StoredPair(*slot, now[slot], difference))
    yield from sorted(
        map(draw, found), key=lambda one: (one.table, one.row or "~", one.is_new, ORDER[one.sort], one.id)
    )


def sort_of(name: PairName) -> str:
    return "entry" if name.index != PRIMARY else "row" if name.column == EXISTS else "value"


def contains(described: Descriptor, name: PairName) -> bool:
    if described.state is State.ABSENT:
        return False
    placement = next((p for p in described.placements if p.id == name.placement), None)
    if placement is None or placement.state is State.ABSENT:
        return False
    if name.index != PRIMARY:
        return any(index.id == name.index and index.state is not State.ABSENT for index in described.indexes)
    is_row = name.column == EXISTS
    return is_row or any(c.id == name.column and c.state is not State.ABSENT for c in described.columns)
