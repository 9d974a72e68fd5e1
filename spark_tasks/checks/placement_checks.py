"""A placement that is not read against the one that is, in one snapshot: the same rows, each where this one places it.
Complete when M = E (C4), without orphans when F = M (C5), as in `spark_tasks.checks.entry_checks`."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.compute as pc

from catalog.descriptor import Descriptor
from catalog.elements import ColumnId, Index, Placement, State
from spark_tasks.checks import lookups, repeated_rows
from spark_tasks.chunks import snapshot_reads
from spark_tasks.chunks.entry_placement import by_home
from spark_tasks.runs.ranges import KeyRange
from spark_tasks.runs.report import NAMED_MAX, Finding, count
from storage.arrow.encoding import Pairs, concat
from storage.arrow.rows import (
    ROWS_AT_ONCE,
    StoredRows,
    accepted,
    chosen,
    entries_of,
    in_key_order,
    row_pairs,
    row_storages,
)
from storage.buckets import storage_of
from storage.encoding import Undecodable
from storage.integrity.clauses import Violation, element_label, row_words
from storage.mutations import entry_bucket
from storage.pairs import (
    StoredRow,
    StrayKey,
    after,
    column_key,
    entry_now,
    key_parts,
    name_of,
    placement_prefix,
    prefix,
    row_bucket,
)
from storage.postgres import kv
from storage.statements import WITHIN, bounds

Connection = psycopg.Connection[Any]
Places = dict[bytes, tuple[int, bytes]]
"""Pairs by key: the storage on which each belongs, and its value."""


@dataclass(frozen=True, slots=True)
class PlacementJudge:
    """Judges a placement beside the public one. `is_complete`: all rows are in it (C4). `storages` is the number at the
    cluster's beginning; `numbers` are the storages looked at."""

    descriptor: Descriptor
    placement: Placement
    storages: int
    buckets: int
    numbers: range
    is_complete: bool

    @property
    def label(self) -> str:
        return element_label(self.placement)

    @property
    def columns(self) -> list[ColumnId]:
        return [column.id for column in self.descriptor.stored_columns if column.state is not State.ABSENT]

    @property
    def indexes(self) -> list[Index]:
        return [index for index in self.descriptor.indexes if index.state is not State.ABSENT]

    def screen(self, connection: Connection, rows: StoredRows, found: Finding, *, of: int) -> Iterator[None]:
        """Counts what rows lack there, without names; `of`: about the storage's number of rows. Yields now and then."""
        whole = in_key_order(replace(rows, columns={c: rows.columns[c] for c in self.columns}))
        homes = self._homes(whole)
        for first in range(0, len(whole), ROWS_AT_ONCE):
            some, theirs = whole.slice(first, ROWS_AT_ONCE), homes.slice(first, ROWS_AT_ONCE)
            for storage in pc.unique(theirs).to_pylist():
                pairs = row_pairs(self.descriptor, self.placement.id, chosen(some, pc.equal(theirs, storage)))
                self._count(connection, storage, pairs, found, of=0)
            yield
        for index in self.indexes:
            mask = accepted(self.descriptor, index, whole, now=True)
            entries = entries_of(self.descriptor, self.placement.id, index, chosen(whole, mask))
            theirs = homes if mask is None else homes.filter(mask)
            for home, part in by_home(index, entries, theirs, storages=self._storages, buckets=self.buckets):
                self._count(connection, home, part, found, of=of)
            yield

    def _count(self, connection: Connection, storage: int, pairs: Pairs, found: Finding, *, of: int) -> None:
        matched, _ = lookups.matched(connection, self.descriptor.table_id, storage, pairs.sorted(), of=of)
        count(found.expected, self.label, len(pairs))
        count(found.matched, self.label, matched)
        if self.is_complete and matched < len(pairs):
            found.note("C4", self.label, len(pairs) - matched, ())

    def rows(self, connection: Connection, rows: StoredRows, found: Finding) -> None:
        """Looks up all pairs that these rows should have there; they have all stored columns."""
        for storage, expected in self._expected(rows).items():
            matched = lookups.count_there(connection, self.descriptor.table_id, storage, expected, keys_only=False)
            count(found.expected, self.label, len(expected))
            count(found.matched, self.label, matched)
            if matched < len(expected) and self.is_complete:
                total = len(expected) - matched
                found.note("C4", self.label, total, self._missing(connection, storage, expected))

    def _expected(self, rows: StoredRows) -> dict[int, Pairs]:
        columns = {column: rows.columns[column] for column in self.columns}
        whole = replace(rows, columns=columns)
        homes = self._homes(whole)
        parts: dict[int, list[Pairs]] = {}
        for storage in pc.unique(homes).to_pylist():
            here = chosen(whole, pc.equal(homes, storage))
            parts.setdefault(storage, []).append(row_pairs(self.descriptor, self.placement.id, here))
            for index in self.indexes:
                mask = accepted(self.descriptor, index, here, now=True)
                entries = entries_of(self.descriptor, self.placement.id, index, chosen(here, mask))
                for home, part in by_home(index, entries, storage, storages=self._storages, buckets=self.buckets):
                    parts.setdefault(home, []).append(part)
        joined = {storage: concat(listed).sorted() for storage, listed in sorted(parts.items())}
        return {storage: pairs for storage, pairs in joined.items() if len(pairs)}

    @property
    def _storages(self) -> int:
        return self.placement.storage_count(self.storages)

    def _homes(self, rows: StoredRows) -> pa.Array:
        counts = {"storages": self.storages, "buckets": self.buckets}
        return row_storages(self.descriptor, rows, placement=self.placement, **counts)

    def _missing(self, connection: Connection, storage: int, expected: Pairs) -> Iterator[Violation]:
        keys, values = expected.keys.to_pylist(), expected.values.to_pylist()
        found = lookups.there(connection, self.descriptor.table_id, storage, keys)
        for key, value in sorted(zip(keys, values, strict=True)):
            if found.get(key) != value:
                words = row_words(self.descriptor, self._owner(key, value))
                yield Violation("C4", storage, key, f"placement {self.placement.id} lacks a pair of {words}")

    def _owner(self, key: bytes, value: bytes) -> bytes:
        """K(r) of a pair's row; the value of a unique entry."""
        return name_of(self.descriptor, key).row_key or value

    def _owner_of_any(self, key: bytes, value: bytes) -> bytes | None:
        try:
            owner = self._owner(key, value)
            key_parts(self.descriptor, owner)
        except (StrayKey, Undecodable):
            return None
        return owner

    # --- pairs that should not be there

    def beside(self, connection: Connection, found: Finding) -> None:
        """Pairs of no row (C5), none when the numbers agree; rows on two storages hide some (C6) and are looked for."""
        is_possible = not self.descriptor.is_home_in_key
        repeated = repeated_rows.count(connection, self.descriptor, self.numbers) if is_possible else 0
        low = placement_prefix(self.descriptor, self.placement.id)
        surplus = -found.matched.get(self.label, 0)
        for storage in self.numbers:
            sql = f"SELECT count(*) FROM {kv(storage, self.descriptor.table_id)} WHERE {WITHIN} AND v IS NOT NULL"
            row = connection.execute(sql, bounds(low, after(low))).fetchone()
            assert row is not None
            surplus += int(row[0])
        if repeated:
            surplus = sum(1 for _ in self._surplus(connection, low))
        elif surplus < 0:
            repeated = repeated_rows.count(connection, self.descriptor, self.numbers)
        if repeated:
            named = repeated_rows.first(connection, self.descriptor, self.numbers)
            found.note("C6", self.label, repeated, named)
        if surplus > 0:
            found.note("C5", self.label, surplus, self._surplus(connection, low))

    def _surplus(self, connection: Connection, low: bytes) -> Iterator[Violation]:
        for storage in self.numbers:
            key_range = KeyRange(storage, low, after(low), 0)
            for page in snapshot_reads.pages(connection, self.descriptor.table_id, key_range):
                pairs = list(zip(page.keys.to_pylist(), page.values.to_pylist(), strict=True))
                for first in range(0, len(pairs), NAMED_MAX * NAMED_MAX):
                    yield from self._surplus_of(connection, storage, pairs[first : first + NAMED_MAX * NAMED_MAX])

    def _surplus_of(
        self, connection: Connection, storage: int, pairs: list[tuple[bytes, bytes]]
    ) -> Iterator[Violation]:
        owners = {key: self._owner_of_any(key, value) for key, value in pairs}
        wanted = {owner for owner in owners.values() if owner is not None}
        rows = lookups.rows_by_key(connection, self.descriptor, wanted, self.columns, storages=self.numbers)
        places = {key: self._places(row) for key, (_, row) in rows.items()}
        for key, value in pairs:
            owner = owners[key]
            if owner is None:
                why = f"placement {self.placement.id} has a pair that is of no row: {key.hex()}"
                yield Violation("C5", storage, key, why)
                continue
            words = row_words(self.descriptor, owner)
            if owner not in rows:
                why = f"placement {self.placement.id} has a copy of {words}, which does not exist"
                yield Violation("C5", storage, key, why)
            elif places[owner].get(key) != (storage, value):
                why = f"placement {self.placement.id} has a copy of {words} that the row no longer is, or misplaced"
                yield Violation("C5", storage, key, why)

    def _places(self, row: StoredRow) -> Places:
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
        return storage_of(bucket, self._storages, self.buckets)
