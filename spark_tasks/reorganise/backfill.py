"""Fills elements: puts pairs for existing rows where neither a pair nor a tombstone (R5) is: writers win (R2).

So reading may be as old as its range. The next attempt reads its own snapshot and continues behind the last mark; the
rule holds for each pair alone, whichever snapshot showed it: a pair that became required since was put by a writer
(section 3), one that is no longer required got a tombstone, which stays while the fill may write (R5, R7). A row that
moves may leave an unread range for a finished one: the statement that moves it puts all that is filled, also the unique
entry.

One scan serves all elements: values first, then entries, which read a missing value as the fill's. Ranges are large, so
that sorted pairs go into neighbouring pages; chunks are copied under a savepoint, and inserted with ON CONFLICT DO
NOTHING where a key is taken.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field

import pyarrow.compute as pc
from psycopg import errors

from catalog.descriptor import Descriptor
from catalog.elements import Column, Index, Placement
from catalog.states import Write, rule
from spark_tasks.chunks import chunk, snapshot_reads
from spark_tasks.chunks.entry_placement import by_home
from spark_tasks.chunks.scan import rows_in_parts
from spark_tasks.runs.pacing import Pace
from spark_tasks.runs.ranges import KeyRange, Reached
from spark_tasks.runs.run_elements import Elements
from spark_tasks.spark.priority import lower_server
from storage.arrow.columns import fill_pairs
from storage.arrow.encoding import Pairs, concat, copy_payload
from storage.arrow.rows import StoredRows, chosen, index_entries, require_buckets, row_pairs, row_storages
from storage.postgres import kv
from storage.statements import UNNEST, columns_of

CHUNK_BYTES_MAX = 4 << 20
OWN_READER_ROWS = 10_000
"""From so many rows on a session of its own reads: it lets others go first, while this one hears requests to the
run."""


@dataclass(frozen=True, slots=True)
class Batch:
    storage: int
    pairs: Pairs

    def behind(self, reached: Reached) -> Pairs:
        mine = Reached(self.storage, self.pairs.keys[0].as_py()).batch
        if mine != reached.batch:
            return self.pairs.slice(0 if mine > reached.batch else len(self.pairs))
        return self.pairs.slice(pc.sum(pc.less_equal(self.pairs.keys, reached.key)).as_py())


@dataclass(frozen=True, slots=True)
class MissingPairs:
    """Pairs that a range's rows lack, in the order of writing."""

    rows: int
    batches: tuple[Batch, ...]

    def behind(self, reached: Reached | None) -> list[tuple[int, Pairs]]:
        left = [(one.storage, one.pairs if reached is None else one.behind(reached)) for one in self.batches]
        return [(storage, pairs) for storage, pairs in left if len(pairs)]


@dataclass(slots=True)
class Lacking:
    rows: dict[int, list[Pairs]] = field(default_factory=dict)
    entries: dict[int, list[Pairs]] = field(default_factory=dict)

    def batches(self) -> Iterator[Batch]:
        for home, listed in (*sorted(self.rows.items()), *sorted(self.entries.items())):
            pairs = concat(listed)
            if len(pairs):
                yield Batch(home, pairs.sorted())


@dataclass(slots=True)
class FillWorker:
    connection: chunk.Connection
    control: chunk.RunControl
    pace: Pace


@dataclass(frozen=True, slots=True)
class Fill:
    run_token: chunk.RunToken
    descriptor: Descriptor
    elements: Elements
    storages: int
    buckets: int

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.elements.columns_of(self.descriptor)

    @property
    def indexes(self) -> tuple[Index, ...]:
        return self.elements.indexes_of(self.descriptor)

    @property
    def placements(self) -> tuple[Placement, ...]:
        return self.elements.placements_of(self.descriptor)

    def __call__(self, key_ranges: Iterable[KeyRange]) -> Iterator[int]:
        """Fills the ranges in turn; yields the rows of each. Raises `RunClosed`, `CannotDerive`."""
        with self.run_token.connect() as connection, ExitStack() as readers:
            count = self.descriptor.storage_count(self.storages)
            control = chunk.RunControl(scans=chunk.scans_sql(self.descriptor.table_id, count))
            worker, reader = FillWorker(connection, control, Pace()), connection
            for key_range in key_ranges:
                chunk.listen(connection, self.run_token, control)
                breaks = chunk.Breaks(connection, self.run_token, control)
                if reader is connection and key_range.rows >= OWN_READER_ROWS:
                    reader = readers.enter_context(self.run_token.connect())
                    lower_server(reader)
                found = self.find(reader, key_range, breaks)
                breaks()
                self.put(worker, key_range, found)
                yield found.rows

    def find(
        self, connection: chunk.Connection, key_range: KeyRange, breaks: Callable[[], None] = chunk.no_break
    ) -> MissingPairs:
        """The pairs that all rows of a range lack, from one snapshot (R1), part by part."""
        rows, lacking = 0, Lacking()
        with snapshot_reads.snapshot(connection):
            chunk.allow_reading(connection)
            columns = sorted(self.elements.columns_read(self.descriptor))
            for part in rows_in_parts(connection, self.descriptor, key_range, columns, breaks):
                rows += len(part)
                self._look(part, key_range.storage, lacking)
        return MissingPairs(rows, tuple(lacking.batches()))

    def _look(self, rows: StoredRows, storage: int, lacking: Lacking) -> None:
        placement = self.descriptor.placement
        values = [fill_pairs(self.descriptor, placement.id, column, rows) for column in self.columns]
        lacking.rows.setdefault(storage, []).extend(values)
        self._look_for_entries(placement, self.indexes, rows, storage, lacking)
        for copy in self.placements:
            # all that the rows have, where another placement places it
            indexes = [i for i in self.descriptor.indexes if rule(i.kind, i.state).insert is Write.PUT]
            require_buckets(self.descriptor, rows, copy, self.buckets)
            homes = row_storages(self.descriptor, rows, storages=self.storages, buckets=self.buckets, placement=copy)
            for home in pc.unique(homes).to_pylist():
                here = chosen(rows, pc.equal(homes, home))
                lacking.rows.setdefault(home, []).append(row_pairs(self.descriptor, copy.id, here))
                self._look_for_entries(copy, indexes, here, home, lacking)

    def _look_for_entries(
        self, placement: Placement, indexes: Iterable[Index], rows: StoredRows, storage: int, lacking: Lacking
    ) -> None:
        count = placement.storage_count(self.storages)
        for index in indexes:
            pairs = index_entries(self.descriptor, placement.id, index, rows)
            for home, here in by_home(index, pairs, storage, storages=count, buckets=self.buckets):
                lacking.entries.setdefault(home, []).append(here)

    def put(self, worker: FillWorker, key_range: KeyRange, found: MissingPairs) -> None:
        """Writes a range in chunks from its last mark on."""
        try:
            progress = chunk.progress_of(worker.connection, self.run_token, key_range)
            for storage, part, mark in self._parts(worker, key_range, found, progress):
                began, rows_done = time.perf_counter(), progress.rows_done
                self._write(worker, key_range, storage, part, mark, progress)
                if not mark.is_done:
                    rows, seconds = progress.rows_done - rows_done, time.perf_counter() - began
                    chunk.keep_pace(worker.connection, self.run_token, worker.control, rows=rows, seconds=seconds)
        except chunk.RangeDone:
            pass

    def _parts(
        self, worker: FillWorker, key_range: KeyRange, found: MissingPairs, progress: chunk.Progress
    ) -> Iterator[tuple[int, Pairs, chunk.Mark]]:
        left, before, done = found.behind(progress.reached), min(progress.rows_done, found.rows), 0
        total = sum(len(pairs) for _, pairs in left)
        if not total:
            yield key_range.storage, concat([]), chunk.Mark(found.rows, found.rows, is_done=True)
        for storage, pairs in left:
            place = 0
            while place < len(pairs):
                size = chunk.pairs_of_chunk(self.run_token, worker.control, worker.pace)
                part = _light(pairs.slice(place, size))
                place, done = place + len(part), done + len(part)
                rows, last = before + (found.rows - before) * done // total, Reached(storage, part.keys[-1].as_py())
                yield storage, part, chunk.Mark(rows, found.rows, is_done=done == total, reached=last)

    def _write(
        self,
        worker: FillWorker,
        key_range: KeyRange,
        storage: int,
        part: Pairs,
        mark: chunk.Mark,
        progress: chunk.Progress,
    ) -> None:
        payload, table = copy_payload(part), kv(storage, self.descriptor.table_id)
        for _ in chunk.tries(f"range {key_range.id} of run {self.run_token.run_id}"):
            began = time.perf_counter()
            try:
                with chunk.chunk(worker.connection, self.run_token, key_range, worker.control, progress) as this_chunk:
                    this_chunk.mark = mark
                    if len(part):
                        put_where_free(worker.connection, table, part, payload)
            except chunk.GIVES_WAY:
                worker.pace = worker.pace.after_giving_way()
            else:
                worker.pace = worker.pace.after(
                    pairs=len(part), seconds=time.perf_counter() - began, is_quiet=worker.control.is_quiet
                )
                return
        raise AssertionError("tries() raises before this")


def _light(pairs: Pairs) -> Pairs:
    while len(pairs) > 1 and pairs.keys.nbytes + pairs.values.nbytes > CHUNK_BYTES_MAX:
        pairs = pairs.slice(0, len(pairs) // 2)
    return pairs


def put_where_free(connection: chunk.Connection, table: str, pairs: Pairs, payload: bytes) -> None:
    """Inserts pairs with free keys; existing pairs and tombstones stay (R2)."""
    try:
        with connection.cursor().copy(f"COPY {table} (k, c, v) FROM STDIN (FORMAT BINARY)") as copy:
            copy.write(payload)
    except errors.UniqueViolation:
        connection.execute("ROLLBACK TO SAVEPOINT chunk")
        connection.execute(
            f"INSERT INTO {table} (k, c, v) SELECT * FROM {UNNEST} ON CONFLICT (k, c) DO NOTHING",
            (*columns_of(pairs.keys.to_pylist()), pairs.values.to_pylist()),
        )
