"""Filling elements: pairs for the rows that are there, put only where nobody else has decided.

    row seen by the range's snapshot    pair or tombstone there    the fill
    yes                                 nothing                    puts the pair
    yes                                 a pair                     leaves it: a writer was first
    yes, deleted or changed since       a tombstone (R5)           leaves it: the pair would be stale (R2)

So a writer always wins, and reading may be as old as its range. One scan serves all elements: values of columns
first, then entries of indexes, which read a missing value as what the fill puts. A range is large, so that its
pairs, sorted, go into neighbouring pages; it is written in chunks that are copied under a savepoint. Where a key is
taken the chunk is inserted again with ON CONFLICT DO NOTHING.
"""

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from psycopg import errors

from catalog.descriptor import Descriptor
from catalog.elements import EXISTS, Column, ColumnId, Index
from spark_tasks import source
from spark_tasks.elements import Elements
from spark_tasks.homes import by_home
from spark_tasks.marks import (
    GIVES_WAY,
    Connection,
    Mark,
    Order,
    RangeDone,
    Ticket,
    chunk,
    keep_pace,
    listen,
    pairs_of_chunk,
    scans_sql,
    tries,
)
from spark_tasks.pace import Pace
from spark_tasks.ranges import KeyRange
from spark_tasks.scan import rows_at_once
from storage.arrow import Pairs, concat, copy_payload
from storage.arrow_columns import owed_pairs
from storage.arrow_rows import StoredRows, index_entries
from storage.derived import sources_of
from storage.mutations import source_columns
from storage.postgres import kv


@dataclass(frozen=True, slots=True)
class Portion:
    """Pairs of one element for one storage, in key order."""

    storage: int
    pairs: Pairs


@dataclass(frozen=True, slots=True)
class Found:
    """What a range's rows lack of the elements."""

    rows: int
    portions: tuple[Portion, ...]

    @property
    def pairs(self) -> int:
        return sum(len(portion.pairs) for portion in self.portions)


@dataclass(slots=True)
class Hand:
    """A worker at its work: its session, what is wanted of the run, and the pace it has found."""

    connection: Connection
    order: Order
    pace: Pace


@dataclass(frozen=True, slots=True)
class Fill:
    """Put what the rows lack of some elements, as `descriptor` defines them."""

    ticket: Ticket
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
    def scans(self) -> str:
        return scans_sql(self.descriptor.table_id, self.storages)

    def __call__(self, pieces: Iterable[KeyRange]) -> Iterator[int]:
        """Fill the ranges one after the other; yields the rows of each. Raises `RunClosed`, `CannotDerive`."""
        with self.ticket.connect() as connection:
            hand = Hand(connection, Order(), Pace())
            for piece in pieces:
                listen(connection, self.ticket, hand.order, self.scans)
                began = time.perf_counter()
                found = self.find(connection, piece)
                keep_pace(self.ticket, hand.order, rows=0, seconds=time.perf_counter() - began)
                self.put(hand, piece, found)
                yield found.rows

    def find(self, connection: Connection, piece: KeyRange) -> Found:
        """What all rows of a range lack, from one snapshot of its own (R1)."""
        with source.snapshot(connection):
            parts = rows_at_once(connection, self.descriptor, piece, self._columns_read())
        return Found(sum(map(len, parts)), tuple(self._portions(piece.storage, parts)))

    def _columns_read(self) -> list[ColumnId]:
        read: set[ColumnId] = set(self.elements.columns)
        for column in self.columns:
            read |= sources_of(column) if column.derived is not None else set()
        for index in self.indexes:
            read |= source_columns(self.descriptor, index)
        return sorted(read - {EXISTS, *self.descriptor.primary_key})

    def _portions(self, storage: int, parts: list[StoredRows]) -> Iterator[Portion]:
        placement = self.descriptor.placement.id
        for column in self.columns:
            pairs = concat(owed_pairs(self.descriptor, placement, column, rows) for rows in parts)
            yield Portion(storage, pairs.sorted())
        for index in self.indexes:
            pairs = concat(index_entries(self.descriptor, placement, index, rows) for rows in parts)
            for home, here in by_home(index, pairs, storage, storages=self.storages, buckets=self.buckets):
                yield Portion(home, here.sorted())

    def put(self, hand: Hand, piece: KeyRange, found: Found) -> None:
        """Write a range's pairs in chunks; a range that another attempt has finished is left alone."""
        rows_done = 0
        try:
            for storage, part, mark in self._parts(hand, piece, found):
                began = time.perf_counter()
                self._write(hand, piece, storage, part, mark)
                if not mark.is_done:
                    rows, seconds = mark.rows_done - rows_done, time.perf_counter() - began
                    keep_pace(self.ticket, hand.order, rows=rows, seconds=seconds)
                rows_done = mark.rows_done
        except RangeDone:
            pass

    def _parts(self, hand: Hand, piece: KeyRange, found: Found) -> Iterator[tuple[int, Pairs, Mark]]:
        """What goes into each chunk, and the mark it leaves; one chunk without pairs when there is nothing to put."""
        done, total = 0, found.pairs
        if not total:
            yield piece.storage, concat([]), Mark(found.rows, found.rows, is_done=True)
        for portion in found.portions:
            place = 0
            while place < len(portion.pairs):
                part = portion.pairs.slice(place, pairs_of_chunk(self.ticket, hand.order, hand.pace))
                place, done = place + len(part), done + len(part)
                yield portion.storage, part, Mark(found.rows * done // total, found.rows, is_done=done == total)

    def _write(self, hand: Hand, piece: KeyRange, storage: int, part: Pairs, mark: Mark) -> None:
        payload, table = copy_payload(part), kv(storage, self.descriptor.table_id)
        for _ in tries(f"range {piece.id} of run {self.ticket.run_id}"):
            began = time.perf_counter()
            try:
                with chunk(hand.connection, self.ticket, piece, hand.order, self.scans) as leaves:
                    leaves.mark = mark
                    if len(part):
                        put_where_free(hand.connection, table, part, payload)
            except GIVES_WAY:
                hand.pace = hand.pace.after_giving_way()
            else:
                hand.pace = hand.pace.after(
                    pairs=len(part), seconds=time.perf_counter() - began, is_quiet=hand.order.is_quiet
                )
                return
        raise AssertionError("tries() raises before this")


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
