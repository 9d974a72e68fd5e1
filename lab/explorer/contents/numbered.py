"""Contents of a model's store under small numbers; sets of slots are bits. They include what users were acknowledged: a
world in which a reader finds something else has lost a write."""

import threading
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from catalog.descriptor import Descriptor
from catalog.text.sentence import Sentence
from storage.pairs import StoredRow, is_existence, prefix, rows_of

K = TypeVar("K", bound=Hashable)

Pairs = dict[bytes, bytes | None]
Slot = tuple[int, bytes]
"""A key of a storage (counted from 0)."""

NOT_NAMED = b"?"
"""The acknowledged value of a column nobody could name when the row was written."""

Acknowledged = tuple[bytes | None, ...]
"""The acknowledged content of each row: None, or its value in the column a."""

InForce = tuple[tuple[int, ...], ...]
"""For each table the descriptors that nodes may use now, by their places in the program, oldest first."""


class Occurrence:
    """Events that must happen somewhere in a search, or its proof says little: bits, or-ed in its innermost loop."""

    NOTHING = 0
    FILL_MET_TOMBSTONE = 1
    FILL_MET_PAIR = 2
    OLD_VERSION_WROTE = 4
    OLD_VERSION_CLEANED = 8
    RANGE_TRIED_TWICE = 16
    VERIFY_FAILED = 32
    CANCELLED = 64
    FROZEN = 128
    TABLES_APART = 256
    CHILD_REFUSED = 512
    PARENT_REFUSED = 1024


@dataclass(frozen=True, slots=True)
class Contents:
    pairs: tuple[tuple[tuple[bytes, bytes | None], ...], ...]
    acknowledged: Acknowledged

    def storages(self) -> list[Pairs]:
        return [dict(items) for items in self.pairs]


class Snapshot:
    """The pairs of each storage as a transaction finds them, and the rows among them, computed once for each placement.
    With `takes_tombstones` a row exists whose existence pair is a tombstone: section 1 forbids it."""

    __slots__ = ("_rows", "_takes_tombstones", "storages")

    def __init__(self, storages: list[Pairs], *, takes_tombstones: bool = False) -> None:
        self.storages, self._takes_tombstones = storages, takes_tombstones
        self._rows: dict[bytes, dict[bytes, StoredRow]] = {}

    def rows(self, schema: Descriptor) -> dict[bytes, StoredRow]:
        placement = schema.placement
        start = prefix(schema, placement.id)
        found = self._rows.get(start)
        if found is None:
            sorted_pairs = (sorted(self._taken(pairs).items(), key=by_key) for pairs in self.storages)
            found = {row.key: row for pairs in sorted_pairs for row in rows_of(schema, placement, pairs)}
            self._rows[start] = found
        return found

    def _taken(self, pairs: Pairs) -> Pairs:
        if not self._takes_tombstones:
            return pairs
        return {key: b"" if value is None and is_existence(key) else value for key, value in pairs.items()}


@dataclass(frozen=True, slots=True)
class Effect:
    """Contents after an event, the slots it read or wrote, those it wrote, and the bits of `Occurrence`."""

    after: int
    touched: int
    written: int
    seen: int = Occurrence.NOTHING


@dataclass(frozen=True, slots=True)
class Fault:
    clause: str
    version: int
    why: str  # a `Sentence`


def third_version(node: str, version: int, newest: int) -> Fault:
    why = "{node} leases version {version} beside {newest}"
    return Fault("two versions", version, Sentence(why, node=node, version=version, newest=newest))


class Numbers(Generic[K]):
    """Values by their number, in order of appearance. Threads share it: a number is given once its value can be
    found."""

    def __init__(self) -> None:
        self.values: list[K] = []
        self._places: dict[K, int] = {}
        self._lock = threading.Lock()

    def of(self, value: K) -> int:
        found = self._places.get(value)
        if found is not None:
            return found
        with self._lock:
            if value not in self._places:
                self.values.append(value)
                self._places[value] = len(self.values) - 1
            return self._places[value]


class NumberedContents:
    takes_tombstones = False
    """Whether readers take a tombstone of an existence pair for a row."""

    def __init__(self, storages: int) -> None:
        self.storages = storages
        self._contents: Numbers[Contents] = Numbers()
        self._slots: Numbers[Slot] = Numbers()
        self.known = self._contents.values
        self._snapshots: dict[int, Snapshot] = {}

    def number(self, storages: Sequence[Pairs], acknowledged: Acknowledged) -> int:
        return self._contents.of(
            Contents(tuple(tuple(sorted(pairs.items(), key=by_key)) for pairs in storages), acknowledged)
        )

    def snapshot(self, contents: int) -> Snapshot:
        found = self._snapshots.get(contents)
        if found is None:
            found = self._snapshots[contents] = self.snapshot_of(self.known[contents].storages())
        return found

    def snapshot_of(self, storages: list[Pairs]) -> Snapshot:
        return Snapshot(storages, takes_tombstones=self.takes_tombstones)

    def differing(self, before: int, after: int) -> int:
        if before == after:
            return 0
        pairs, others = self.known[before].pairs, self.known[after].pairs
        return self.mask(
            (home, key)
            for home in range(self.storages)
            for key, _ in sorted(set(pairs[home]) ^ set(others[home]), key=by_key)
        )

    def mask(self, slots: Iterable[Slot]) -> int:
        bits = 0
        for slot in slots:
            bits |= 1 << self._slots.of(slot)
        return bits


def by_key(item: tuple[bytes, bytes | None]) -> bytes:
    return item[0]
