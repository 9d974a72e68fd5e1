"""Entries of an index against the rows, in one snapshot: of E, the entries that the rows should have, M are found, and
F exist. Every row has its entry when M = E (C4); no entry is an orphan when M = F (C5). Only when numbers differ are
entries looked up by name. A unique entry that another row rightly has is a duplicate (C6): both rows are named."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg
import pyarrow as pa

from catalog.descriptor import Descriptor
from catalog.elements import EXISTS, Index, IndexId
from spark_tasks.checks import lookups, repeated_rows
from spark_tasks.chunks import snapshot_reads
from spark_tasks.chunks.chunk import no_break
from spark_tasks.chunks.entry_placement import by_home
from spark_tasks.runs.ranges import KeyRange
from spark_tasks.runs.report import NAMED_MAX, Finding, count
from storage.arrow.encoding import Pairs
from storage.arrow.rows import StoredRows, accepted, chosen, entries_of
from storage.buckets import storage_of
from storage.integrity.clauses import Violation, owner_words, row_words
from storage.integrity.offenders import duplicate_rows, duplicate_words, values_of_entry
from storage.mutations import columns_of_entry_home, entry_bucket, unique_bucket
from storage.pairs import StoredRow, StrayKey, entry_now, name_of, prefix
from storage.postgres import kv
from storage.statements import WITHIN, bounds

Connection = psycopg.Connection[Any]
HELD_AT_ONCE = 500
"""Entries whose owners and holders are read together."""


@dataclass(frozen=True, slots=True)
class EntryJudge:
    """Judges the entries of one index. `is_complete`: every row must have its own (C4). `storages` is the number for
    rows that are read; `numbers` are the storages where entries are looked for."""

    descriptor: Descriptor
    index: Index
    storages: int
    buckets: int
    numbers: range
    is_complete: bool
    is_verified: bool = False

    @property
    def label(self) -> str:
        return f"index {self.index.name}"

    def screen(
        self,
        connection: Connection,
        storage: int,
        rows: StoredRows,
        found: Finding,
        *,
        of: int,
        is_all: bool = False,
        breaks: Callable[[], None] = no_break,
    ) -> None:
        """Counts the entries that rows of a storage lack, without names; `of`: about its number of rows. `is_all`:
        these are all its rows, so that all entries are read beside them and counted."""
        mask = accepted(self.descriptor, self.index, rows, now=True)
        entries = entries_of(self.descriptor, self.descriptor.placement.id, self.index, chosen(rows, mask))
        matched = 0
        for home, part in by_home(self.index, entries, storage, storages=self.storages, buckets=self.buckets):
            ordered, keys_only = part.sorted(), not self.index.unique
            breaks()
            within = self._bounds() if is_all and home == storage else None
            here, stored = lookups.matched(
                connection,
                self.descriptor.table_id,
                home,
                ordered,
                of=of,
                keys_only=keys_only,
                within=within,
                breaks=breaks,
            )
            matched += here
            if stored is not None:
                count(found.stored, self._place(home), stored)
        found.note("C4", self.label, len(entries) - matched if self.is_complete else 0, ())
        count(found.expected, self.index.id, len(entries))
        count(found.matched, self.index.id, matched)

    def rows(self, connection: Connection, homes: pa.Array, rows: StoredRows, found: Finding) -> None:
        """Looks up the rows' entries; `homes` says where each row belongs."""
        mask = accepted(self.descriptor, self.index, rows, now=True)
        entries = entries_of(self.descriptor, self.descriptor.placement.id, self.index, chosen(rows, mask))
        homes, matched = homes if mask is None else homes.filter(mask), 0
        for home, part in by_home(self.index, entries, homes, storages=self.storages, buckets=self.buckets):
            there = self._count(connection, home, part.sorted())
            matched += there
            if there < len(part) and self.is_complete:
                self._missing(connection, home, part, found)
        count(found.expected, self.index.id, len(entries))
        count(found.matched, self.index.id, matched)

    def _count(self, connection: Connection, storage: int, ordered: Pairs) -> int:
        """M: the number of entries that exist with their content."""
        is_keys_only = not self.index.unique
        return lookups.count_there(connection, self.descriptor.table_id, storage, ordered, keys_only=is_keys_only)

    def _missing(self, connection: Connection, home: int, entries: Pairs, found: Finding) -> None:
        """C4, and C6 where another row has the unique entry."""
        keys = entries.keys.to_pylist()
        there = lookups.there(connection, self.descriptor.table_id, home, keys)
        lacks = [pair for pair in zip(keys, entries.values.to_pylist(), strict=True) if there.get(pair[0]) != pair[1]]
        held = [(key, owner, there[key]) for key, owner in lacks if there.get(key)]
        doubled: set[tuple[bytes, bytes]] = set()
        for first in range(0, len(held), HELD_AT_ONCE):
            doubled.update(self._doubled(connection, home, held[first : first + HELD_AT_ONCE], found))
        for _, owner in (pair for pair in lacks if pair[1] and pair not in doubled):
            found.lacks(self.index.id, owner)
        reported = [pair for pair in lacks if pair not in doubled] if self.is_verified else lacks
        found.note("C4", self.label, len(reported), (self._absent(home, pair) for pair in reported))

    def _absent(self, home: int, entry: tuple[bytes, bytes]) -> Violation:
        key, value = entry
        owner = value or name_of(self.descriptor, key).row_key or b""
        why = f"index {self.index.name} has no entry for {row_words(self.descriptor, owner)}"
        return Violation("C4", home, key, why)

    def _doubled(
        self, connection: Connection, home: int, held: Sequence[tuple[bytes, bytes, bytes]], found: Finding
    ) -> Iterator[tuple[bytes, bytes]]:
        """The entries (key, owner) whose holder has the same values now (C6)."""
        is_enough = found.count_of("C6", self.label) >= NAMED_MAX
        asked = set() if is_enough else {row_key for _, *both in held for row_key in both}
        rows = self.copies_by_key(connection, asked) if asked else {}
        for key, owner, holder in held:
            named: Iterable[Violation] = ()
            if not is_enough:
                if not any(self._has_entry(row, key) for row in rows.get(holder, {}).values()):
                    continue
                both = sorted((owner, holder), key=lambda row_key: (min(rows[row_key]), row_key))
                named = (self._duplicate(home, key, first, second) for first, second in [both])
            found.note("C6", self.label, 1, named)
            yield key, owner

    def _duplicate(self, home: int, key: bytes, first: bytes, second: bytes) -> Violation:
        values = values_of_entry(key)
        both = self.descriptor, self.index, first, second, values
        return Violation("C6", home, values, duplicate_words(*both), duplicate_rows(*both))

    def _twins(self, connection: Connection, found: Finding) -> Iterator[Violation]:
        """C6: rows with the same values, none of which has the entry."""
        lacking = {bytes.fromhex(key) for index_id, key in found.lacking if index_id == self.index.id}
        groups: dict[bytes, list[tuple[int, bytes]]] = {}
        rows = self.copies_by_key(connection, lacking) if len(lacking) > 1 else {}
        for row_key, storage, row in ((key, *copy) for key, copies in rows.items() for copy in copies.items()):
            entry = entry_now(self.descriptor, self.descriptor.placement, self.index, row)
            if entry is not None:
                groups.setdefault(entry[0], []).append((storage, row_key))
        for key, group in sorted(groups.items()):
            (_, first), *others = sorted(group)
            home = storage_of(unique_bucket(values_of_entry(key), self.buckets), self.storages, self.buckets)
            for other in sorted({other for _, other in others} - {first}):
                yield self._duplicate(home, key, first, other)

    def _has_entry(self, row: StoredRow, key: bytes) -> bool:
        entry = entry_now(self.descriptor, self.descriptor.placement, self.index, row)
        return entry is not None and entry[0] == key

    # --- entries that should not be there

    def beside(self, connection: Connection, found: Finding) -> None:
        """Entries of no row (C5), none when the numbers agree; and rows that share values (C6). A row on two storages
        may have found one entry twice, and hides an orphan: where the sharding key allows such rows they are looked
        for, and if there are any each entry is checked."""
        is_possible = self.index.unique and not self.descriptor.is_home_in_key
        repeated = repeated_rows.count(connection, self.descriptor, self.numbers) if is_possible else 0
        surplus = sum(self._counts(connection, found)) - found.matched.get(str(self.index.id), 0)
        if repeated or surplus > 0:
            surplus -= self._malformed(connection, found)
        if repeated:
            surplus = sum(1 for _ in self._surplus(connection))
        elif surplus < 0:
            repeated = repeated_rows.count(connection, self.descriptor, self.numbers)
        if repeated and (self.index == self.descriptor.key_guard or self.is_verified or surplus < 0):
            named = repeated_rows.first(connection, self.descriptor, self.numbers)
            found.note("C6", self.label, repeated, named)
        if surplus > 0:
            found.note("C5", self.label, surplus, self._surplus(connection))
        for twins in self._twins(connection, found):
            found.note("C6", self.label, 1, [twins])

    def _place(self, storage: int) -> str:
        return f"{self.index.id} on {storage}"

    def _counts(self, connection: Connection, found: Finding) -> Iterator[int]:
        """F: the number of live entries on each storage, unless counted on the way."""
        low, high = self._bounds()
        for storage in self.numbers:
            if self._place(storage) in found.stored:
                yield found.stored[self._place(storage)]
                continue
            sql = f"SELECT count(*) FROM {kv(storage, self.descriptor.table_id)} WHERE {WITHIN} AND v IS NOT NULL"
            row = connection.execute(sql, bounds(low, high)).fetchone()
            assert row is not None
            yield int(row[0])

    def _stored(self, connection: Connection) -> Iterator[tuple[int, Pairs]]:
        low, high = self._bounds()
        for storage in self.numbers:
            for page in snapshot_reads.pages(connection, self.descriptor.table_id, KeyRange(storage, low, high, 0)):
                yield storage, page

    def _malformed(self, connection: Connection, found: Finding) -> int:
        total = 0
        for storage, page in self._stored(connection):
            for key in page.keys.to_pylist():
                try:
                    name_of(self.descriptor, key)
                except StrayKey as error:
                    total += 1
                    found.note("C3", self.label, 1, [Violation("C3", storage, key, str(error))])
        return total

    def _surplus(self, connection: Connection) -> Iterator[Violation]:
        for storage, page in self._stored(connection):
            yield from self._surplus_of(connection, storage, page)

    def _owner(self, key: bytes, value: bytes) -> bytes | None:
        """K(r) of an entry's row; None for a malformed one."""
        try:
            return name_of(self.descriptor, key).row_key or value
        except StrayKey:
            return None

    def _surplus_of(self, connection: Connection, storage: int, page: Pairs) -> Iterator[Violation]:
        entries = zip(page.keys.to_pylist(), page.values.to_pylist(), strict=True)
        named = ((key, self._owner(key, value)) for key, value in entries)
        owners = {key: owner for key, owner in named if owner is not None}
        rows = self.copies_by_key(connection, set(owners.values()))
        for key in owners:
            why = self._why_wrong(storage, key, owners[key], list(rows.get(owners[key], {}).values()))
            if why is not None:
                yield Violation("C5", storage, key, why)

    def _why_wrong(self, storage: int, key: bytes, owner: bytes, copies: list[StoredRow]) -> str | None:
        words = f"index {self.index.name} has an entry for {owner_words(self.descriptor, owner)}"
        if not copies:
            return f"{words}, which does not exist"
        wrong = [self._why_not_of(row, storage, key, owner, words) for row in copies]
        return None if None in wrong else wrong[0]

    def _why_not_of(self, row: StoredRow, storage: int, key: bytes, owner: bytes, words: str) -> str | None:
        placement = self.descriptor.placement
        entry = entry_now(self.descriptor, placement, self.index, row)
        if entry is None:
            return f"{words}, which its condition does not accept"
        if entry[0] != key:
            return f"{words} with values the row no longer has"
        home = storage_of(
            entry_bucket(self.descriptor, placement, self.index, row, self.buckets), self.storages, self.buckets
        )
        if home == storage:
            return None
        row_named = row_words(self.descriptor, owner)
        return f"the entry of index {self.index.name} for {row_named} lies on storage {storage}, its place is {home}"

    def copies_by_key(self, connection: Connection, row_keys: set[bytes]) -> dict[bytes, dict[int, StoredRow]]:
        columns = sorted(columns_of_entry_home(self.descriptor, self.index) - {EXISTS, *self.descriptor.primary_key})
        return lookups.copies_by_key(connection, self.descriptor, row_keys, columns, storages=self.numbers)

    def _bounds(self) -> tuple[bytes, bytes]:
        start = prefix(self.descriptor, self.descriptor.placement.id, self.index.id)
        return start, prefix(self.descriptor, self.descriptor.placement.id, IndexId(self.index.id + 1))
