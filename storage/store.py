"""A store of pairs in memory, with serializable transactions, for the lab; the explorer copies, compares and hashes it.

A transaction works on a snapshot and is refused at commit when something it read or wrote has changed since (40001), as
in PostgreSQL. A commit counts once flushed; a crash loses the others, and their ids are given out again (T7).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum

from storage.buckets import BUCKETS, storage_of
from storage.commit_outcomes import NOT_GIVEN
from storage.mutations import Act, Op
from storage.pairs import Pair


class StoreError(Exception):
    """A refusal of a store; `sqlstate` is PostgreSQL's code."""

    sqlstate = "XX000"


class DuplicateKey(StoreError):
    """A live pair is where one should be created, at `key`."""

    sqlstate = "23505"

    def __init__(self, key: bytes) -> None:
        super().__init__(f"a live pair exists already: {key.hex()}")
        self.key = key


class SerializationFailure(StoreError):
    """Another transaction changed what this one read or wrote."""

    sqlstate = "40001"


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
    if op.act is Act.REMOVE_UNIQUE:
        return pairs.get(op.key, op.value) in (op.value, None)
    return op.act is Act.REMOVE


def apply_op(pairs: dict[bytes, bytes | None], op: Op) -> None:
    """Does `op` to the pairs of its storage in place. Raises `DuplicateKey`."""
    if op.act in (Act.REMOVE, Act.REMOVE_UNIQUE):
        if removes(pairs, op):
            pairs.pop(op.key, None)
    else:
        pairs[op.key] = put(pairs, op)


class TransactionStatus(Enum):
    OPEN = "open"
    FLUSHING = "COMMIT is on its way, and not flushed"
    COMMITTED = "committed"
    ABORTED = "aborted"


@dataclass
class MemoryStore:
    """Pairs in dicts. `writes` counts the writes of each key, for the conflict check; `fills` numbers those of fills.
    It begins with `storages`. `life` grows with each crash. Ids are given at the first write; those below `flushed_id`
    are never given again. `flushing` are the commits on their way, in order."""

    storages: int = 2
    buckets: int = BUCKETS
    pairs: list[dict[bytes, bytes | None]] = field(default_factory=list)
    writes: list[tuple[int, bytes]] = field(default_factory=list)
    fills: set[int] = field(default_factory=set)
    life: int = 1
    next_id: int = 1
    flushed_id: int = 1
    statuses: dict[int, TransactionStatus] = field(default_factory=dict)
    flushing: "list[MemoryTransaction]" = field(default_factory=list)

    def __post_init__(self) -> None:
        self.pairs = self.pairs or [{} for _ in range(self.storages)]

    def add_storage(self) -> int:
        self.pairs.append({})
        return len(self.pairs)

    def wipe(self, storage: int) -> int:
        """Removes all pairs of a storage. Returns how many."""
        pairs = self.pairs[storage - 1]
        self.writes += [(storage, key) for key in pairs]
        count = len(pairs)
        pairs.clear()
        return count

    def begin(self) -> "MemoryTransaction":
        return MemoryTransaction(self, [dict(p) for p in self.pairs], began_at=len(self.writes), began_in=self.life)

    def flush(self, commits: int | None = None) -> None:
        """Makes the oldest commits on their way durable and visible, by default all."""
        for one in self.flushing[:commits]:
            for op in one.ops:
                if not one.misses[self.home(op), op.key]:
                    apply_op(self.pairs[self.home(op) - 1], op)
                self.writes.append((self.home(op), op.key))
            self.flushed_id = max(self.flushed_id, one.next_id)
            one.end(TransactionStatus.COMMITTED)
        del self.flushing[:commits]

    def crash(self, kept: int = 0) -> None:
        """Ends all transactions; of the commits on their way the first `kept` had been flushed."""
        self.flush(kept)
        for one in self.flushing:
            one.end(TransactionStatus.ABORTED)
        self.flushing.clear()
        self.statuses = {number: status for number, status in self.statuses.items() if number < self.flushed_id}
        self.statuses |= {
            number: TransactionStatus.ABORTED
            for number, status in self.statuses.items()
            if status is TransactionStatus.OPEN
        }
        self.next_id = self.flushed_id
        self.life += 1

    def status(self, number: int) -> str:
        """The status of an id's current owner (`storage.commit_outcomes`)."""
        status = self.statuses.get(number)
        if status is None:
            return NOT_GIVEN
        return "in progress" if status in (TransactionStatus.OPEN, TransactionStatus.FLUSHING) else status.value

    def contents(self) -> list[dict[bytes, bytes | None]]:
        return [dict(p) for p in self.pairs]

    def home(self, op: Op) -> int:
        return storage_of(op.bucket, op.storages or self.storages, self.buckets)

    def fill(self, op: Op) -> bool:
        """Puts a pair where there is neither a pair nor a tombstone (R2). True when it was put."""
        self.flush()
        pairs = self.pairs[self.home(op) - 1]
        if op.key in pairs:
            return False
        pairs[op.key] = op.value
        self.fills.add(len(self.writes))
        self.writes.append((self.home(op), op.key))
        return True

    def clear_tombstones(self, prefix: bytes) -> int:
        """Removes tombstones whose key starts with `prefix` (R6, R8). Returns how many."""
        return self._remove_where(prefix, tombstones_only=True)

    def delete_all(self, prefix: bytes) -> int:
        """Removes pairs and tombstones whose key starts with `prefix` (R8). Returns how many."""
        return self._remove_where(prefix, tombstones_only=False)

    def _remove_where(self, prefix: bytes, *, tombstones_only: bool) -> int:
        self.flush()
        count = 0
        for number, pairs in enumerate(self.pairs, 1):
            removed = [k for k, v in pairs.items() if k.startswith(prefix) and (v is None or not tombstones_only)]
            for key in removed:
                del pairs[key]
                self.writes.append((number, key))
            count += len(removed)
        return count


@dataclass
class MemoryTransaction:
    """A snapshot, its reads, and the operations to apply at commit. `misses`: places where it only removed and its
    snapshot has no pair; a pair that a fill has put there since stays, as with PostgreSQL's DELETE."""

    store: MemoryStore
    snapshot: list[dict[bytes, bytes | None]]
    began_at: int
    ops: list[Op] = field(default_factory=list)
    points: set[tuple[int, bytes]] = field(default_factory=set)
    ranges: list[tuple[int, bytes, bytes]] = field(default_factory=list)
    misses: dict[tuple[int, bytes], bool] = field(default_factory=dict)
    began_in: int = 1
    status: TransactionStatus = TransactionStatus.OPEN
    id: int | None = None
    next_id: int = 0
    """The id that was to be given next when COMMIT was sent."""

    def get(self, storage: int, key: bytes) -> bytes | None:
        self.points.add((storage, key))
        return self.snapshot[storage - 1].get(key)

    def scan(self, storage: int, low: bytes, high: bytes) -> list[Pair]:
        self.ranges.append((storage, low, high))
        return sorted((k, v) for k, v in self.snapshot[storage - 1].items() if low <= k < high)

    def apply(self, ops: Iterable[Op]) -> None:
        for op in ops:
            if self.id is None:
                self.id = self.store.next_id
                self.store.next_id += 1
                self.store.statuses[self.id] = TransactionStatus.OPEN
            home = self.store.home(op)
            is_miss = op.act in (Act.REMOVE, Act.REMOVE_UNIQUE) and op.key not in self.snapshot[home - 1]
            apply_op(self.snapshot[home - 1], op)
            self.misses[home, op.key] = is_miss and self.misses.get((home, op.key), True)
            self.points.add((home, op.key))
            self.ops.append(op)

    def commit(self) -> None:
        self.send_commit()
        if self.ops:
            self.store.flush()

    def send_commit(self) -> None:
        """COMMIT until the flush: invisible. Raises `SerializationFailure`."""
        for storage, key in self._changed_since():
            if (storage, key) in self.points or any(s == storage and lo <= key < hi for s, lo, hi in self.ranges):
                self.rollback()
                raise SerializationFailure(f"another transaction changed {key.hex()} since this one began")
        if not self.ops:
            self.end(TransactionStatus.COMMITTED)
            return
        self.next_id = self.store.next_id
        self.end(TransactionStatus.FLUSHING)
        self.store.flushing.append(self)

    def rollback(self) -> None:
        self.ops.clear()
        self.end(TransactionStatus.ABORTED)

    def end(self, status: TransactionStatus) -> None:
        """Notes its status; in another life its id may be another one's."""
        if self.id is not None and self.began_in == self.store.life:
            self.store.statuses[self.id] = status
        self.status = status

    def _changed_since(self) -> Iterator[tuple[int, bytes]]:
        for number, write in enumerate(self.store.writes[self.began_at :], self.began_at):
            if number not in self.store.fills or not self.misses.get(write, False):
                yield write
        for other in self.store.flushing if self.ops else ():  # who has only read comes before them
            yield from ((self.store.home(op), op.key) for op in other.ops)
