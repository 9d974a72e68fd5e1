"""Judges ranges: rows, columns, constraints and entries against the schema, in one exported snapshot.

The vectorised twin of `storage.integrity.clauses`, by C1 to C7; tests compare the two. In a placement that is not read,
missing rows are C4, and pairs of no row C5. A verification looks at the elements of its run, and marks each range.
"""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import psycopg
import pyarrow as pa

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, Index, Placement, State
from spark_tasks.checks.entry_checks import EntryJudge
from spark_tasks.checks.foreign_key_checks import Reference
from spark_tasks.checks.orphan_checks import stranger, strangers, tombstone_words, tombstones
from spark_tasks.checks.placement_checks import PlacementJudge
from spark_tasks.checks.row_checks import ValueJudge
from spark_tasks.chunks import snapshot_reads
from spark_tasks.chunks.chunk import RunToken
from spark_tasks.chunks.scan import rows_in_parts
from spark_tasks.chunks.verify_progress import Marks, marking
from spark_tasks.runs.ranges import KeyRange
from spark_tasks.runs.report import Finding
from spark_tasks.runs.requirements import Demands
from spark_tasks.runs.run_elements import Elements
from spark_tasks.spark.priority import lower_server
from storage.arrow.rows import ROWS_AT_ONCE, StoredRows, row_storages
from storage.integrity.clauses import Violation, element_label, row_words
from storage.page_sizes import Lengths
from storage.pairs import StrayKey, after, name_of, prefix
from storage.postgres import session_options

Connection = psycopg.Connection[Any]
LOWERED_ROWS = 10_000
"""From so many rows of a storage on a verification lets others go first."""


@dataclass(frozen=True, slots=True)
class Judge:
    """Judges ranges of rows under one descriptor, in an exported snapshot, by demands. `only`: the elements of a
    verification, for the run of `run_token`. An audit looks at all, also on `existing` storages that no placement uses;
    `unfinished` elements may have tombstones. `storages` is the number at the cluster's beginning. `rows_per_storage`,
    about: few entries of so many are looked up."""

    dsn: str
    snapshot: str
    descriptor: Descriptor
    storages: int
    buckets: int
    demands: Demands
    references: tuple[Reference, ...] = ()
    only: Elements | None = None
    run_token: RunToken | None = None
    unfinished: frozenset[str] = frozenset()
    rows_per_storage: int = 0
    existing: int = 0

    @property
    def numbers(self) -> range:
        return range(1, max(self.existing, self.descriptor.storage_count(self.storages)) + 1)

    # --- what is looked at

    @property
    def indexes(self) -> tuple[Index, ...]:
        if self.only is not None:
            return self.only.indexes_of(self.descriptor)
        return tuple(i for i in self.descriptor.indexes if i.state is not State.ABSENT)

    @property
    def columns(self) -> tuple[Column, ...]:
        columns = self.descriptor.stored_columns if self.only is None else self.only.columns_of(self.descriptor)
        return tuple(c for c in columns if c.state is not State.ABSENT)

    def entry_judge(self, index: Index) -> EntryJudge:
        is_complete, is_verified = index.id in self.demands.indexes, self.only is not None
        counts = (self.descriptor.placement.storage_count(self.storages), self.buckets, self.numbers)
        return EntryJudge(self.descriptor, index, *counts, is_complete, is_verified)

    @property
    def placements(self) -> tuple[Placement, ...]:
        if self.only is not None:
            return self.only.placements_of(self.descriptor)
        return tuple(p for p in self.descriptor.placements if p.state not in (State.ABSENT, State.PUBLIC))

    def placement_judge(self, placement: Placement) -> PlacementJudge:
        is_complete = placement.id in self.demands.placements
        return PlacementJudge(self.descriptor, placement, self.storages, self.buckets, self.numbers, is_complete)

    def may_have_tombstones(self, element: Column | Index) -> bool:
        is_public = element.state is State.PUBLIC
        return not is_public or self.is_unfinished or element_label(element) in self.unfinished

    @property
    def is_unfinished(self) -> bool:
        return element_label(self.descriptor.placement) in self.unfinished

    def _columns_read(self) -> list[ColumnId]:
        stored = {c.id for c in self.descriptor.stored_columns}
        if self.only is None:
            return sorted(stored)
        return sorted((self.only.columns_read(self.descriptor) | self.demands.columns_read) & stored)

    # --- ranges

    def connect(self) -> Connection:
        return psycopg.connect(self.dsn, autocommit=True, **session_options("schemalab judge"))

    def __call__(self, key_ranges: Iterable[KeyRange]) -> Iterator[dict[str, Any]]:
        with (
            self.connect() as connection,
            snapshot_reads.snapshot(connection, self.snapshot),
            marking(self.run_token) as marks,
        ):
            lengths = Lengths()
            if self.rows_per_storage >= LOWERED_ROWS:
                lower_server(connection)
            for key_range in key_ranges:
                marks.at(key_range, 0)
                found = self.range(connection, key_range, lengths, marks)
                marks.done(key_range, found.rows)
                yield asdict(found)

    def range(self, connection: Connection, key_range: KeyRange, lengths: Lengths, marks: Marks) -> Finding:
        """All violations of a range; a verification first asks whether there are any."""
        if self.only is not None:
            found = self.screened(connection, key_range, marks)
            if found.is_clean:
                return found
        return self.named(connection, key_range, lengths)

    def screened(self, connection: Connection, key_range: KeyRange, marks: Marks) -> Finding:
        """Counts what a range has and lacks: rows at once, unordered, and entries beside them; `named` finds names. A
        row counts as judged when its values have been, and its entries in each index."""
        found, looks, judged = Finding(), 1 + len(self.indexes) + len(self.placements), 0.0

        def breaks() -> None:
            marks.rest_at(key_range, int(judged))

        values = ValueJudge(self.descriptor, self.columns, self.demands, key_range.storage)
        # true when a range has all rows of its storage
        low = prefix(self.descriptor, self.descriptor.placement.id)
        is_all = key_range.low <= low and after(low) <= key_range.high
        parts = rows_in_parts(connection, self.descriptor, key_range, self._columns_read(), breaks)
        for rows, is_last in with_last(parts):
            before, each = found.rows, len(rows) / looks
            if is_last:
                marks.total = before + len(rows)
            values.orphans(rows.orphans, found)
            for first in range(0, len(rows), ROWS_AT_ONCE):
                some = rows.slice(first, ROWS_AT_ONCE)
                self._values(connection, values, some, found)
                judged = before + (found.rows - before) / looks
                marks.at(key_range, int(judged))
                breaks()
            for index in self.indexes:
                judge, place, of = self.entry_judge(index), key_range.storage, self.rows_per_storage
                judge.screen(connection, place, rows, found, of=of, is_all=is_all, breaks=breaks)
                judged += each
                marks.at(key_range, int(judged))
            for placement in self.placements:
                screened = self.placement_judge(placement).screen(connection, rows, found, of=self.rows_per_storage)
                for _ in screened:
                    marks.at(key_range, int(judged))
                    breaks()
                judged += each
                marks.at(key_range, int(judged))
            is_all = False
        return found

    def named(self, connection: Connection, key_range: KeyRange, lengths: Lengths) -> Finding:
        """The violations of a range, the first of each kind by name, in key order."""
        found, every, unknown = Finding(), self.only is None, 0
        values = ValueJudge(self.descriptor, self.columns, self.demands, key_range.storage)
        for rows, pairs in snapshot_reads.rows_and_pairs(
            connection, self.descriptor.table_id, key_range, self._columns_read(), every=every, lengths=lengths
        ):
            unknown += pairs - len(rows) - sum(len(c) - c.null_count for c in rows.columns.values())
            if len(rows.orphans):
                values.orphans(rows.orphans, found)
            if len(rows):
                self._rows(connection, values, rows, found)
        if every:
            self._leftovers(connection, key_range, found, has_strangers=unknown > 0)
        return found

    def _values(self, connection: Connection, values: ValueJudge, rows: StoredRows, found: Finding) -> None:
        found.rows += len(rows)
        found.pairs += len(rows) + sum(len(c) - c.null_count for c in rows.columns.values())
        values.rows(rows, found)
        for reference in self.references:
            values.dangling(reference, connection, rows, found)

    def _rows(self, connection: Connection, values: ValueJudge, rows: StoredRows, found: Finding) -> None:
        self._values(connection, values, rows, found)
        homes = pa.repeat(pa.scalar(values.storage, pa.int32()), len(rows))
        if self.only is None:
            homes = row_storages(self.descriptor, rows, storages=self.storages, buckets=self.buckets)
            values.places(rows, homes, found)
        for index in self.indexes:
            self.entry_judge(index).rows(connection, homes, rows, found)
        for placement in self.placements:
            self.placement_judge(placement).rows(connection, rows, found)

    def _leftovers(self, connection: Connection, key_range: KeyRange, found: Finding, *, has_strangers: bool) -> None:
        """C1: pairs of no column; C7: tombstones of columns whose change has ended."""
        known = {column.id for column in self.columns}
        keys = strangers(connection, self.descriptor, key_range) if has_strangers else []
        allowed = [column for column in self.columns if self.may_have_tombstones(column)]
        for key in [] if self.is_unfinished else tombstones(connection, self.descriptor, key_range, allowed):
            try:
                name = name_of(self.descriptor, key)
            except StrayKey:
                keys.append(key)
                continue
            if name.column and name.column not in known:
                keys.append(key)
                continue
            words = tombstone_words(row_words(self.descriptor, name.row_key or b""))
            found.note("C7", "tombstones", 1, [Violation("C7", key_range.storage, key, words)])
        for key in sorted(set(keys)):
            one = stranger(self.descriptor, key_range.storage, key)
            found.note(one.clause, "no column", 1, [one])


def with_last(parts: Iterable[StoredRows]) -> Iterator[tuple[StoredRows, bool]]:
    waiting: list[StoredRows] = []
    for part in parts:
        if waiting:
            yield waiting.pop(), False
        waiting.append(part)
    for part in waiting:
        yield part, True
