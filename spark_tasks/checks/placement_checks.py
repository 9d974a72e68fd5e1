"""A placement that is not read against the one that is, in one snapshot: the same rows, each where this one places it.

    E   the pairs and entries that the rows of a range should have there     computed
    M   those of E that are found, by key and content                        looked up
    F   all live pairs there are of the placement                            counted

Every row is there whole when M = E (C4), and nothing else is when F = M (C5): as entries of an index are judged
(`spark_tasks.checks.entry_checks`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pyarrow.compute as pc

from catalog.descriptor import Descriptor
from catalog.elements import ColumnId, Index, Placement, State
from spark_tasks.checks import lookups
from spark_tasks.chunks import snapshot_reads
from spark_tasks.chunks.entry_placement import by_home
from spark_tasks.runs.ranges import KeyRange
from spark_tasks.runs.report import NAMED_MAX, Finding, count
from storage.arrow.encoding import Pairs, concat
from storage.arrow.rows import StoredRows, accepted, chosen, entries_of, row_pairs, row_storages
from storage.buckets import storage_of
from storage.integrity.clauses import Violation, element_label, row_words
from storage.mutations import entry_bucket
from storage.pairs import StoredRow, after, column_key, entry_now, name_of, placement_prefix, prefix, row_bucket
from storage.postgres import kv

Connection = psycopg.Connection[Any]
Places = dict[bytes, tuple[int, bytes]]
"""Pairs by key: the storage on which each belongs, and its value."""


@dataclass(frozen=True, slots=True)
class PlacementJudge:
    """Judges a placement under one descriptor that has another one public. `is_complete`: all rows are in it (C4)."""

    descriptor: Descriptor
    placement: Placement
    storages: int
    buckets: int
    is_complete: bool

    @property
    def label(self) -> str:
        return element_label(self.placement)

    @property
    def columns(self) -> list[ColumnId]:
        """The columns whose pairs a row takes along."""
        return [column.id for column in self.descriptor.stored_columns if column.state is not State.ABSENT]

    @property
    def indexes(self) -> list[Index]:
        return [index for index in self.descriptor.indexes if index.state is not State.ABSENT]

    def rows(self, connection: Connection, rows: StoredRows, found: Finding) -> None:
        """Look up all that these rows should have there; they have all stored columns with them."""
        for storage, expected in self._expected(rows).items():
            matched = lookups.count_there(connection, self.descriptor.table_id, storage, expected, keys_only=False)
            count(found.expected, self.label, len(expected))
            count(found.matched, self.label, matched)
            if matched < len(expected) and self.is_complete:
                total = len(expected) - matched
                found.note("C4", self.label, total, self._missing(connection, storage, expected))

    def _expected(self, rows: StoredRows) -> dict[int, Pairs]:
        counts = {"storages": self.storages, "buckets": self.buckets}
        columns = {column: rows.columns[column] for column in self.columns}
        whole = StoredRows(rows.keys, columns, rows.orphans)
        homes = row_storages(self.descriptor, whole, placement=self.placement, **counts)
        parts: dict[int, list[Pairs]] = {}
        for storage in pc.unique(homes).to_pylist():
            here = chosen(whole, pc.equal(homes, storage))
            parts.setdefault(storage, []).append(row_pairs(self.descriptor, self.placement.id, here))
            for index in self.indexes:
                mask = accepted(self.descriptor, index, here, now=True)
                entries = entries_of(self.descriptor, self.placement.id, index, chosen(here, mask))
                for home, part in by_home(index, entries, storage, **counts):
                    parts.setdefault(home, []).append(part)
        joined = {storage: concat(listed).sorted() for storage, listed in sorted(parts.items())}
        return {storage: pairs for storage, pairs in joined.items() if len(pairs)}

    def _missing(self, connection: Connection, storage: int, expected: Pairs) -> Iterator[Violation]:
        keys, values = expected.keys.to_pylist(), expected.values.to_pylist()
        found = lookups.there(connection, self.descriptor.table_id, storage, keys)
        for key, value in sorted(zip(keys, values, strict=True)):
            if found.get(key) != value:
                words = row_words(self.descriptor, self._owner(key, value))
                yield Violation("C4", storage, key, f"placement {self.placement.id} lacks a pair of {words}")

    def _owner(self, key: bytes, value: bytes) -> bytes:
        """K(r) of the row that a pair is of; a unique entry holds it as its value."""
        return name_of(self.descriptor, key).row_key or value

    # --- pairs that should not be there

    def beside(self, connection: Connection, found: Finding) -> None:
        """Pairs that are of no row as it is now (C5): none when the numbers agree.

        Fewer pairs than were found: rows share them (C6), which only the same primary key on two storages can.
        """
        low = placement_prefix(self.descriptor, self.placement.id)
        surplus = -found.matched.get(self.label, 0)
        for storage in range(1, self.storages + 1):
            sql = f"SELECT count(*) FROM {kv(storage, self.descriptor.table_id)} WHERE key >= %b AND key < %b"
            row = connection.execute(f"{sql} AND value IS NOT NULL", (low, after(low))).fetchone()
            assert row is not None
            surplus += int(row[0])
        if surplus < 0:
            found.note("C6", self.label, -surplus, ())
        elif surplus:
            found.note("C5", self.label, surplus, self._surplus(connection, low))

    def _surplus(self, connection: Connection, low: bytes) -> Iterator[Violation]:
        for storage in range(1, self.storages + 1):
            key_range = KeyRange(storage, low, after(low), 0)
            for page in snapshot_reads.pages(connection, self.descriptor.table_id, key_range):
                pairs = list(zip(page.keys.to_pylist(), page.values.to_pylist(), strict=True))
                for first in range(0, len(pairs), NAMED_MAX * NAMED_MAX):
                    yield from self._surplus_of(connection, storage, pairs[first : first + NAMED_MAX * NAMED_MAX])

    def _surplus_of(
        self, connection: Connection, storage: int, pairs: list[tuple[bytes, bytes]]
    ) -> Iterator[Violation]:
        owners = {key: self._owner(key, value) for key, value in pairs}
        rows = lookups.rows_by_key(
            connection, self.descriptor, set(owners.values()), self.columns, storages=self.storages
        )
        places = {key: self._places(row) for key, (_, row) in rows.items()}
        for key, value in pairs:
            words, owner = row_words(self.descriptor, owners[key]), owners[key]
            if owner not in rows:
                why = f"placement {self.placement.id} has a copy of {words}, which does not exist"
                yield Violation("C5", storage, key, why)
            elif places[owner].get(key) != (storage, value):
                why = f"placement {self.placement.id} has a copy of {words} that the row no longer is, or misplaced"
                yield Violation("C5", storage, key, why)

    def _places(self, row: StoredRow) -> Places:
        """All that a row should have in the placement."""
        descriptor, placement, start = self.descriptor, self.placement, prefix(self.descriptor, self.placement.id)
        home = self._storage(row_bucket(descriptor, placement, row, self.buckets))
        found: Places = {column_key(start, row.key): (home, b"")}
        found |= {column_key(start, row.key, column): (home, value) for column, value in row.columns.items()}
        for index in self.indexes:
            entry = entry_now(descriptor, placement, index, row)
            if entry is not None:
                bucket = entry_bucket(descriptor, placement, index, row, self.buckets)
                found[entry[0]] = self._storage(bucket), entry[1]
        return found

    def _storage(self, bucket: int) -> int:
        return storage_of(bucket, self.storages, self.buckets)
