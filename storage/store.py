"""Where pairs are kept: the interface, and a store in memory with serializable transactions.

The memory store is the lab's: its contents are a value (`MemoryStore.pairs` can be copied,
compared and hashed by the explorer), and a transaction works on a snapshot and is refused at
commit when something it read or wrote has changed since (40001), as PostgreSQL refuses it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from storage.buckets import BUCKETS, storage_of
from storage.mutations import Act, Op
from storage.pairs import Pair


class StoreError(Exception):
    """What a store refuses; `sqlstate` is PostgreSQL's code for it."""

    sqlstate = "XX000"


class DuplicateKey(StoreError):
    """A live pair is where one should be created. `key` says which."""

    sqlstate = "23505"

    def __init__(self, key: bytes) -> None:
        super().__init__(f"a live pair is there already: {key.hex()}")
        self.key = key


class SerializationFailure(StoreError):
    """Another transaction changed what this one read or wrote."""

    sqlstate = "40001"


class Transaction(Protocol):
    """A serializable transaction over all storages."""

    def get(self, storage: int, key: bytes) -> bytes | None: ...

    def scan(self, storage: int, low: bytes, high: bytes) -> list[Pair]: ...

    def apply(self, ops: Iterable[Op]) -> None: ...

    def commit(self) -> None: ...

    def rollback(self) -> None: ...


class Store(Protocol):
    """Pairs of one table on storages 1..n."""

    storages: int

    def begin(self) -> Transaction: ...

    def contents(self) -> Sequence[Mapping[bytes, bytes | None]]: ...


def put(pairs: Mapping[bytes, bytes | None], op: Op) -> bytes | None:
    """The new value of `op.key` (None: a tombstone). Raises `DuplicateKey`. Only for acts that leave something."""
    there = pairs.get(op.key)
    if op.act is Act.TOMBSTONE:
        return None
    if op.act is Act.TOMBSTONE_UNIQUE:
        return None if there is None or there == op.value else there
    if op.act is Act.CREATE and there is not None:
        raise DuplicateKey(op.key)
    if op.act is Act.PUT_UNIQUE and there is not None and there != op.value:
        raise DuplicateKey(op.key)
    return op.value


def removes(pairs: Mapping[bytes, bytes | None], op: Op) -> bool:
    """Whether `op` takes its key away altogether."""
    if op.act is Act.REMOVE_UNIQUE:
        return pairs.get(op.key, op.value) in (op.value, None)
    return op.act is Act.REMOVE


def apply_op(pairs: dict[bytes, bytes | None], op: Op) -> None:
    """Do `op` to the pairs of its storage, in place. Raises `DuplicateKey` and changes nothing."""
    if op.act in (Act.REMOVE, Act.REMOVE_UNIQUE):
        if removes(pairs, op):
            pairs.pop(op.key, None)
    else:
        pairs[op.key] = put(pairs, op)


@dataclass
class MemoryStore:
    """Pairs in dicts. `writes` counts what was done to each key, for the conflict check."""

    storages: int = 2
    buckets: int = BUCKETS
    pairs: list[dict[bytes, bytes | None]] = field(default_factory=list)
    writes: list[tuple[int, bytes]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.pairs = self.pairs or [{} for _ in range(self.storages)]

    def begin(self) -> "MemoryTransaction":
        return MemoryTransaction(self, [dict(p) for p in self.pairs], began_at=len(self.writes))

    def contents(self) -> list[dict[bytes, bytes | None]]:
        return [dict(p) for p in self.pairs]

    def home(self, op: Op) -> int:
        return storage_of(op.bucket, self.storages, self.buckets)

    def fill(self, op: Op) -> bool:
        """Put the pair of `op` only where there is neither a pair nor a tombstone (R2). True when it was put."""
        pairs = self.pairs[self.home(op) - 1]
        if op.key in pairs:
            return False
        pairs[op.key] = op.value
        self.writes.append((self.home(op), op.key))
        return True

    def clear_tombstones(self, prefix: bytes) -> int:
        """Remove every tombstone whose key starts with `prefix` (R6, R8). Returns how many there were."""
        return self._remove_where(prefix, tombstones_only=True)

    def delete_all(self, prefix: bytes) -> int:
        """Remove pairs and tombstones whose key starts with `prefix` (R8). Returns how many there were."""
        return self._remove_where(prefix, tombstones_only=False)

    def _remove_where(self, prefix: bytes, *, tombstones_only: bool) -> int:
        count = 0
        for number, pairs in enumerate(self.pairs, 1):
            gone = [k for k, v in pairs.items() if k.startswith(prefix) and (v is None or not tombstones_only)]
            for key in gone:
                del pairs[key]
                self.writes.append((number, key))
            count += len(gone)
        return count


@dataclass
class MemoryTransaction:
    """A snapshot, what was read of it, and the operations to apply at commit."""

    store: MemoryStore
    snapshot: list[dict[bytes, bytes | None]]
    began_at: int
    ops: list[Op] = field(default_factory=list)
    points: set[tuple[int, bytes]] = field(default_factory=set)
    ranges: list[tuple[int, bytes, bytes]] = field(default_factory=list)

    def get(self, storage: int, key: bytes) -> bytes | None:
        self.points.add((storage, key))
        return self.snapshot[storage - 1].get(key)

    def scan(self, storage: int, low: bytes, high: bytes) -> list[Pair]:
        self.ranges.append((storage, low, high))
        return sorted((k, v) for k, v in self.snapshot[storage - 1].items() if low <= k < high)

    def apply(self, ops: Iterable[Op]) -> None:
        for op in ops:
            home = self.store.home(op)
            apply_op(self.snapshot[home - 1], op)
            self.points.add((home, op.key))
            self.ops.append(op)

    def commit(self) -> None:
        """Raises `SerializationFailure` when a key this transaction saw or wrote has changed since it began."""
        for storage, key in self._changed_since():
            if (storage, key) in self.points or any(s == storage and lo <= key < hi for s, lo, hi in self.ranges):
                raise SerializationFailure(f"another transaction changed {key.hex()} since this one began")
        for op in self.ops:
            home = self.store.home(op)
            apply_op(self.store.pairs[home - 1], op)
            self.store.writes.append((home, op.key))

    def rollback(self) -> None:
        self.ops.clear()

    def _changed_since(self) -> Iterator[tuple[int, bytes]]:
        return iter(self.store.writes[self.began_at :])
