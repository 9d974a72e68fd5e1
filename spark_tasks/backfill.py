"""Filling an index: an entry for every row that is there, put only where nobody else has decided.

    row seen by the range's snapshot    pair or tombstone there    the fill
    yes                                 nothing                    puts the entry
    yes                                 an entry                   leaves it: a writer was first
    yes, deleted or changed since       a tombstone (R5)           leaves it: the entry would be stale (R2)

So a writer always wins, and reading may be as old as its range. A chunk is copied under a savepoint, sorted;
where a key is taken the chunk is inserted again with ON CONFLICT DO NOTHING.
"""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from psycopg import errors

from catalog.descriptor import Descriptor
from catalog.elements import EXISTS, ColumnId, Index, IndexId
from spark_tasks import source
from spark_tasks.marks import GIVES_WAY, Connection, Mark, Order, RangeDone, Ticket, chunk, keep_pace, tries
from spark_tasks.pace import Pace
from spark_tasks.ranges import KeyRange
from storage.arrow import Pairs, concat, copy_payload
from storage.arrow_rows import StoredRows, index_entries
from storage.mutations import source_columns
from storage.postgres import kv


@dataclass(frozen=True, slots=True)
class Fill:
    """Put the entries of some indexes, as `descriptor` defines them, in one scan of the rows."""

    ticket: Ticket
    descriptor: Descriptor
    index_ids: tuple[IndexId, ...]

    @property
    def indexes(self) -> tuple[Index, ...]:
        return tuple(self.descriptor.index(index_id) for index_id in self.index_ids)

    def __call__(self, pieces: Iterable[KeyRange]) -> Iterator[int]:
        """Fill the ranges one after the other; yields the rows of each. Raises `RunClosed`."""
        pace, order = Pace(), Order()
        with self.ticket.connect() as connection:
            for piece in pieces:
                entries = self.entries(connection, piece)
                pace = self.put(connection, piece, entries, pace, order)
                yield len(entries)

    def entries(self, connection: Connection, piece: KeyRange) -> Pairs:
        """The entries of all rows of a range, in key order, from one snapshot of its own (R1)."""
        columns = sorted({c for index in self.indexes for c in stored_sources(self.descriptor, index)})
        with source.snapshot(connection):
            parts = list(source.rows(connection, self.descriptor.table_id, piece, columns))
        return concat(self._entries(part) for part in parts).sorted()

    def _entries(self, rows: StoredRows) -> Pairs:
        placement = self.descriptor.placement.id
        return concat(index_entries(self.descriptor, placement, index, rows) for index in self.indexes)

    def put(self, connection: Connection, piece: KeyRange, entries: Pairs, pace: Pace, order: Order) -> Pace:
        """Write a range's entries in chunks; a range that another attempt has finished is left alone."""
        done, table = 0, kv(piece.storage, self.descriptor.table_id)
        try:
            while True:
                part = entries.slice(done, pace.pairs)
                done += len(part)
                mark = Mark(done, len(entries), is_done=done == len(entries))
                began = time.perf_counter()
                pace = self._write(connection, piece, table, part, mark, pace, order)
                if mark.is_done:
                    return pace
                keep_pace(self.ticket, order, rows=len(part), seconds=time.perf_counter() - began)
        except RangeDone:
            return pace

    def _write(
        self, connection: Connection, piece: KeyRange, table: str, part: Pairs, mark: Mark, pace: Pace, order: Order
    ) -> Pace:
        payload = copy_payload(part)
        for _ in tries(f"range {piece.id} of run {self.ticket.run_id}"):
            began = time.perf_counter()
            try:
                with chunk(connection, self.ticket, piece, order) as leaves:
                    leaves.mark = mark
                    if len(part):
                        put_where_free(connection, table, part, payload)
            except GIVES_WAY:
                pace = pace.after_giving_way()
            else:
                return pace.after(pairs=len(part), seconds=time.perf_counter() - began)
        raise AssertionError("tries() raises before this")


def stored_sources(descriptor: Descriptor, index: Index) -> list[ColumnId]:
    """The columns whose pairs an index's entries are made of (the primary key has none)."""
    key = set(descriptor.primary_key)
    return sorted(c for c in source_columns(descriptor, index) if c not in key and c != EXISTS)


def put_where_free(connection: Connection, table: str, pairs: Pairs, payload: bytes) -> None:
    """Insert pairs whose keys are free, within a chunk; a pair or a tombstone that is there stays (R2)."""
    try:
        with connection.cursor().copy(f"COPY {table} (key, value) FROM STDIN (FORMAT BINARY)") as copy:
            copy.write(payload)
    except errors.UniqueViolation:
        connection.execute("ROLLBACK TO SAVEPOINT chunk")
        connection.execute(
            f"INSERT INTO {table} (key, value) SELECT * FROM unnest(%b::bytea[], %b::bytea[])"
            " ON CONFLICT (key) DO NOTHING",
            (pairs.keys.to_pylist(), pairs.values.to_pylist()),
        )
