"""Effects of fills, deletions and verification on contents. `storage.mutations.fill_row` decides which pairs (R2)."""

from collections.abc import Callable, Iterable, Iterator

from catalog.descriptor import Descriptor
from catalog.elements import PRIMARY
from lab.explorer.contents.judgement import Judgement
from lab.explorer.contents.numbered import Effect, Numbers, Occurrence, Slot, Snapshot
from lab.explorer.contents.statements import rows_of_range
from lab.explorer.model import Model
from lab.explorer.plans.program import Do, Program, Schema, Stop
from lab.explorer.plans.small_tables import NEW, OLD, A, part_of, row_key_of
from lab.explorer.rules_left_out import Broken
from storage import encoding
from storage.buckets import BUCKETS, storage_of
from storage.mutations import Op, fill_row
from storage.store import MemoryStore


class Reorganisation(Judgement):
    def __init__(self, model: Model, program: Program) -> None:
        super().__init__(model, program)
        self._chunks: Numbers[tuple[Op, ...]] = Numbers()
        self.chunks = self._chunks.values
        self._reads: dict[tuple[int, int, int], int] = {}
        self._fills: dict[tuple[int, int], Effect] = {}

    # The fill

    def read_range(self, contents: int, schema: int, number: int) -> int:
        key = contents, schema, number
        if key not in self._reads:
            self._reads[key] = self.chunk(self._fill_ops(contents, self.program.descriptors[schema], number))
        return self._reads[key]

    def _fill_ops(self, contents: int, schema: Descriptor, number: int) -> tuple[Op, ...]:
        rows = self.snapshot(contents).rows(schema)
        wanted = {row_key_of(row) for row in rows_of_range(self.model, number)}
        found: list[Op] = []
        for key in sorted(wanted & rows.keys()):
            ops = fill_row(schema, rows[key])
            if self.model.lacks(Broken.INDEX_FIRST):
                row = rows[key]
                ops = [
                    *(op for op in ops if self.name_of(op.key).index == PRIMARY),
                    *_of_indexes(fill_row(schema, row._replace(columns={A: encoding.NULL, **row.columns})), self),
                ]
            found += ops
        if self.storages == 1:
            found = [op._replace(bucket=1) for op in found]
        return tuple(sorted(found, key=lambda op: op.key))

    def chunk(self, ops: tuple[Op, ...]) -> int:
        return self._chunks.of(ops)

    def fill(self, contents: int, chunk: int) -> Effect:
        """Puts a chunk where there is neither a pair nor a tombstone (R2)."""
        key = contents, chunk
        if key not in self._fills:
            self._fills[key] = self._put_chunk(contents, chunk)
        return self._fills[key]

    def _put_chunk(self, contents: int, chunk: int) -> Effect:
        before = self.known[contents]
        store = MemoryStore(self.storages, pairs=before.storages())
        seen = Occurrence.NOTHING
        put: list[Slot] = []
        for op in self.chunks[chunk]:
            pairs = store.pairs[self._home(op)]
            if op.key in pairs:
                seen |= Occurrence.FILL_MET_TOMBSTONE if pairs[op.key] is None else Occurrence.FILL_MET_PAIR
            if self._fill_one(store, op):
                put.append((self._home(op), op.key))
        written = self.mask(put)
        return Effect(self.number(store.pairs, before.acknowledged), written, written, seen)

    def _fill_one(self, store: MemoryStore, op: Op) -> bool:
        pairs = store.pairs[self._home(op)]
        if self.model.lacks(Broken.BLIND):
            pairs[op.key] = op.value
            return True
        if self.model.lacks(Broken.EXISTS_ONLY):
            name = self.name_of(op.key)
            owner = name.row_key if name.row_key is not None else op.value
            if owner not in Snapshot(store.pairs).rows(self.widest) or pairs.get(op.key) is not None:
                return False
            pairs[op.key] = op.value
            return True
        return store.fill(op)

    # The executor

    def act(self, at: int, contents: int) -> tuple[int, int, int]:
        """The executor's act at stop `at`: contents after it, the next stop, and the bits of `Occurrence`."""
        stop = self.program.stops[at]
        if stop.do in (Do.CLEAR, Do.PURGE):
            return self.tidy(contents).after, at + 1, Occurrence.NOTHING
        if stop.do is Do.DELETE:
            return self.delete(contents, stop).after, at + 1, Occurrence.NOTHING
        if stop.do is Do.REMOVE:
            return self.remove_storages(contents).after, at + 1, Occurrence.NOTHING
        if stop.do is Do.VERIFY and not self.verifies(contents, self._next_version(at)):
            assert stop.otherwise is not None, "a verification has steps back"
            return contents, stop.otherwise, Occurrence.VERIFY_FAILED
        return contents, at + 1, Occurrence.NOTHING

    def _next_version(self, at: int) -> Schema:
        following = (stop for stop in self.program.stops[at:] if stop.do in (Do.PUBLISH, Do.END))
        stop = next(following)
        return stop.next_schema if stop.do is Do.PUBLISH else stop.newest_schema

    def tidy(self, contents: int) -> Effect:
        """Removes tombstones of the elements: clear (R6) and purge (R8)."""
        return self._remove(contents, lambda key, value: value is None and self._part_of(key) is not None)

    def delete(self, contents: int, stop: Stop) -> Effect:
        """Deletes pairs and tombstones of the elements; of two placements, of the dropped one."""
        if self.model.has_placements:
            going = {OLD if part == 0 else NEW for part in stop.parts}
            return self._remove(contents, lambda key, _: self.name_of(key).placement in going)
        return self._remove(contents, lambda key, _: self._part_of(key) in stop.parts)

    def remove_storages(self, contents: int) -> Effect:
        _, left = self.model.storage_counts
        before = self.known[contents]
        storages = before.storages()
        gone = [(home, key) for home, pairs in enumerate(storages) if home >= left for key in pairs]
        storages = [pairs if home < left else {} for home, pairs in enumerate(storages)]
        written = self.mask(gone)
        return Effect(self.number(storages, before.acknowledged), written, written)

    def _part_of(self, key: bytes) -> int | None:
        return part_of(self.model, self.name_of(key))

    def _remove(self, contents: int, matches: Callable[[bytes, bytes | None], bool]) -> Effect:
        before = self.known[contents]
        storages = before.storages()
        gone = [(home, k) for home, pairs in enumerate(storages) for k, v in pairs.items() if matches(k, v)]
        for home, key in gone:
            del storages[home][key]
        written = self.mask(gone)
        return Effect(self.number(storages, before.acknowledged), written, written)

    def _home(self, op: Op) -> int:
        return storage_of(op.bucket, op.storages or self.storages, BUCKETS) - 1


def _of_indexes(ops: Iterable[Op], effects: Reorganisation) -> Iterator[Op]:
    return (op for op in ops if effects.name_of(op.key).index != PRIMARY)
