"""Rows against entries, in one snapshot: are all entries there that should be, and none that should not?

    E   the entries that the rows of a range should have       computed
    M   those of E that are found, by key and content          looked up
    F   all entries there are                                  counted

Every row has its entry when M = E (C4). No entry is stale or dangling when as many are found as there are
at all, M = F: then each one found is some row's (C5). Only when numbers differ is anybody looked for by name.
This is the vectorised twin of `storage.clauses`; tests compare what the two say.
"""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.compute as pc

from catalog.descriptor import Descriptor
from catalog.elements import PRIMARY, Column, ColumnId, Index, IndexId, State
from spark_tasks import source
from spark_tasks.delete import entry_home
from spark_tasks.ranges import KeyRange
from storage import encoding
from storage.arrow import Pairs
from storage.arrow_rows import StoredRows, accepted, chosen, entries_of, row_storages
from storage.buckets import storage_of
from storage.clauses import Violation, element_label, row_words
from storage.mutations import entry_bucket, source_columns
from storage.pairs import COLUMN, PREFIX, ForeignKey, StoredRow, column_key, entry_now, name_of, prefix
from storage.postgres import get_sql, kv, session_options
from storage.statements import COLUMN_SUFFIX

Connection = psycopg.Connection[Any]

VIOLATIONS_MAX = 20
"""How many violations are named; all are counted where counting is cheap."""


@dataclass
class Finding:
    """What one range, or many, showed. `expected` and `matched` count entries by index id (as text: JSON)."""

    rows: int = 0
    pairs: int = 0
    expected: dict[str, int] = field(default_factory=dict)
    matched: dict[str, int] = field(default_factory=dict)
    violations: list[dict[str, Any]] = field(default_factory=list)

    def add(self, violation: Violation) -> None:
        if len(self.violations) < VIOLATIONS_MAX:
            self.violations.append(violation_json(violation))

    def merge(self, other: "Finding") -> None:
        self.rows += other.rows
        self.pairs += other.pairs
        for counts, more in ((self.expected, other.expected), (self.matched, other.matched)):
            for name, count in more.items():
                counts[name] = counts.get(name, 0) + count
        self.violations = (self.violations + other.violations)[:VIOLATIONS_MAX]


def violation_json(violation: Violation) -> dict[str, Any]:
    return asdict(violation) | {"key": violation.key.hex()}


def violation_from_json(said: dict[str, Any]) -> Violation:
    return Violation(said["clause"], said["storage"], bytes.fromhex(said["key"]), said["why"])


@dataclass(frozen=True, slots=True)
class Judge:
    """Judge ranges of rows under one descriptor, in an exported snapshot.

    A verification looks at some indexes only, and demands of them what it would demand of a public one. An audit
    looks at everything; `complete` are indexes that the version before has public and may still be read.
    """

    dsn: str
    snapshot: str
    descriptor: Descriptor
    storages: int
    buckets: int
    only: frozenset[IndexId] | None = None
    complete: frozenset[IndexId] = frozenset()
    unfinished: frozenset[str] = frozenset()

    @property
    def indexes(self) -> tuple[Index, ...]:
        if self.only is not None:
            return tuple(self.descriptor.index(index_id) for index_id in sorted(self.only))
        return tuple(i for i in self.descriptor.indexes if i.state is not State.ABSENT)

    def must_be_complete(self, index: Index) -> bool:
        return (
            index.state is State.PUBLIC
            or (self.only is not None and index.id in self.only)
            or index.id in self.complete
        )

    def connect(self) -> Connection:
        return psycopg.connect(self.dsn, autocommit=True, **session_options("schemalab judge"))

    def __call__(self, pieces: Iterable[KeyRange]) -> Iterator[dict[str, Any]]:
        """A `Finding` as JSON for each range."""
        with self.connect() as connection, source.snapshot(connection, self.snapshot):
            for piece in pieces:
                yield asdict(self.range(connection, piece))

    def range(self, connection: Connection, piece: KeyRange) -> Finding:
        found = Finding()
        stored = [c.id for c in self.descriptor.stored_columns]
        columns = stored if self.only is None else sorted(set(self._index_columns()) & set(stored))
        strangers = 0
        for rows, pairs in source.rows_and_pairs(
            connection, self.descriptor.table_id, piece, columns, self.only is None
        ):
            strangers += pairs - len(rows) - sum(len(c) - c.null_count for c in rows.columns.values())
            if len(rows.orphans) and self.only is None:
                self._orphans(piece.storage, rows, found)
            if len(rows):
                self._rows(connection, piece.storage, rows, found)
        if self.only is None:
            if strangers:
                self._strangers(connection, piece, found)
            self._tombstones(connection, piece, found)
        return found

    def _index_columns(self) -> Iterator[ColumnId]:
        for index in self.indexes:
            yield from source_columns(self.descriptor, index)

    def _rows(self, connection: Connection, storage: int, rows: StoredRows, found: Finding) -> None:
        found.rows += len(rows)
        found.pairs += len(rows) + sum(len(c) - c.null_count for c in rows.columns.values())
        homes = pa.repeat(pa.scalar(storage, pa.int32()), len(rows))
        if self.only is None:
            self._columns(storage, rows, found)
            homes = self._homes(storage, rows, found)
        for index in self.indexes:
            self._entries(connection, homes, index, rows, found)

    # --- C1, C2, C6, C7: rows and columns

    def _strangers(self, connection: Connection, piece: KeyRange, found: Finding) -> None:
        """C1: pairs of columns that the schema does not contain."""
        sql = f"SELECT key FROM {kv(piece.storage, self.descriptor.table_id)} WHERE key >= %b AND key < %b"
        unknown = f"NOT ({COLUMN_SUFFIX} = ANY(%b::bytea[])) ORDER BY key LIMIT %b"
        known = known_suffixes(self.descriptor)
        cursor = connection.cursor(binary=True)
        cursor.execute(f"{sql} AND {unknown}", (piece.low, piece.high, known, VIOLATIONS_MAX))
        for (key,) in cursor.fetchall():
            found.add(stranger(self.descriptor, piece.storage, key))

    def _tombstones(self, connection: Connection, piece: KeyRange, found: Finding) -> None:
        names = {c.id: c for c in self.descriptor.stored_columns}
        for key in tombstones(connection, self.descriptor.table_id, piece):
            name = name_of(self.descriptor, key)
            column = None if name.column is None else names.get(name.column)
            if column is not None and self.may_have_tombstones(column):
                continue
            words = row_words(self.descriptor, name.row_key or b"")
            found.add(Violation("C7", piece.storage, key, tombstone_words(words)))

    def may_have_tombstones(self, element: Column | Index) -> bool:
        return element.state is not State.PUBLIC or element_label(element) in self.unfinished

    def _orphans(self, storage: int, rows: StoredRows, found: Finding) -> None:
        names = {c.id: c.name for c in self.descriptor.stored_columns if c.state is not State.ABSENT}
        for key in rows.orphans.keys.to_pylist():
            name = name_of(self.descriptor, key)
            if name.row_key is not None and name.column in names:  # others are found by their column
                words = row_words(self.descriptor, name.row_key)
                why = f"column {names[name.column]} has a value for {words}, which does not exist"
                found.add(Violation("C1", storage, key, why))

    def _columns(self, storage: int, rows: StoredRows, found: Finding) -> None:
        start = prefix(self.descriptor, self.descriptor.placement.id)
        for column in self.descriptor.stored_columns:
            values = rows.columns[column.id]
            if column.state is not State.PUBLIC or not column.required:
                continue
            for row_key in rows.keys.filter(values.is_null()).to_pylist() if values.null_count else []:
                key = column_key(start, row_key, column.id)
                why = f"{row_words(self.descriptor, row_key)} has no value of {column.name}"
                found.add(Violation("C2", storage, key, why))
            if column.not_null:
                is_null = pc.fill_null(pc.equal(values, pa.scalar(encoding.NULL, pa.binary())), False)
                for row_key in rows.keys.filter(is_null).to_pylist():
                    why = f"{row_words(self.descriptor, row_key)} has NULL in {column.name}, which is NOT NULL"
                    found.add(Violation("C6", storage, row_key, why))

    def _homes(self, storage: int, rows: StoredRows, found: Finding) -> pa.Array:
        """Where each row belongs; C7 names those that lie elsewhere."""
        homes = row_storages(self.descriptor, rows, storages=self.storages, buckets=self.buckets)
        strays = pc.not_equal(homes, storage)
        for row_key, home in zip(rows.keys.filter(strays).to_pylist(), homes.filter(strays).to_pylist(), strict=True):
            key = column_key(prefix(self.descriptor, self.descriptor.placement.id), row_key)
            why = f"{row_words(self.descriptor, row_key)} lies on storage {storage}, its place is {home}"
            found.add(Violation("C7", storage, key, why))
        return homes

    # --- C4, C5: entries

    def _entries(self, connection: Connection, homes: pa.Array, index: Index, rows: StoredRows, found: Finding) -> None:
        mask = accepted(self.descriptor, index, rows, now=True)
        entries = entries_of(self.descriptor, self.descriptor.placement.id, index, chosen(rows, mask))
        homes, matched = homes if mask is None else homes.filter(mask), 0
        for home, part in self._by_home(homes, index, entries):
            count = self._count(connection, home, part)
            matched += count
            if count < len(part) and self.must_be_complete(index):
                self._name_missing(connection, home, index, part, found)
        name = str(index.id)
        found.expected[name] = found.expected.get(name, 0) + len(entries)
        found.matched[name] = found.matched.get(name, 0) + matched

    def _by_home(self, homes: pa.Array, index: Index, entries: Pairs) -> Iterator[tuple[int, Pairs]]:
        """The entries by storage: a row's own, but a unique entry's is that of its values."""
        if index.unique:
            pairs = zip(entries.keys.to_pylist(), entries.values.to_pylist(), homes.to_pylist(), strict=True)
            homes = pa.array([entry_home(k, v, h, self.storages, self.buckets) for k, v, h in pairs], pa.int32())
        for home in sorted(pc.unique(homes).to_pylist()):
            yield home, entries.filter(pc.equal(homes, home))

    def _count(self, connection: Connection, storage: int, entries: Pairs) -> int:
        table = kv(storage, self.descriptor.table_id)
        keys, values = entries.keys.to_pylist(), entries.values.to_pylist()
        if any(values):
            wanted = "unnest(%b::bytea[], %b::bytea[]) AS wanted (key, value)"
            sql = f"SELECT count(*) FROM {wanted} JOIN {table} USING (key, value)"
            row = connection.execute(sql, (keys, values)).fetchone()
        else:
            sql = f"SELECT count(*) FROM {table} WHERE key = ANY(%b::bytea[]) AND value = ''"
            row = connection.execute(sql, (keys,)).fetchone()
        assert row is not None
        return int(row[0])

    def _name_missing(self, connection: Connection, home: int, index: Index, entries: Pairs, found: Finding) -> None:
        sql = get_sql(home, self.descriptor.table_id)
        keys = entries.keys.to_pylist()
        there = dict(connection.cursor(binary=True).execute(sql, (keys,)).fetchall())
        for key, value in zip(keys, entries.values.to_pylist(), strict=True):
            if there.get(key) != value:
                owner = value or name_of(self.descriptor, key).row_key
                words = row_words(self.descriptor, owner)
                found.add(Violation("C4", home, key, f"index {index.name} has no entry for {words}"))


# --- entries that should not be there


def count_entries(connection: Connection, judge: Judge, index: Index) -> list[int]:
    """F: how many live entries each storage has."""
    low, high = _bounds(judge.descriptor, index.id)
    counts = []
    for storage in range(1, judge.storages + 1):
        sql = f"SELECT count(*) FROM {kv(storage, judge.descriptor.table_id)} WHERE key >= %b AND key < %b"
        row = connection.execute(f"{sql} AND value IS NOT NULL", (low, high)).fetchone()
        assert row is not None
        counts.append(int(row[0]))
    return counts


def surplus(connection: Connection, judge: Judge, index: Index, *, limit: int = VIOLATIONS_MAX) -> list[Violation]:
    """The first entries that match no row as it is now (C5), found page by page."""
    low, high = _bounds(judge.descriptor, index.id)
    found: list[Violation] = []
    for storage in range(1, judge.storages + 1):
        for page in source.pages(connection, judge.descriptor.table_id, KeyRange(storage, low, high, 0)):
            found += _surplus_of(connection, judge, index, storage, page)
            if len(found) >= limit:
                return found[:limit]
    return found


def _surplus_of(connection: Connection, judge: Judge, index: Index, storage: int, page: Pairs) -> Iterator[Violation]:
    entries = list(zip(page.keys.to_pylist(), page.values.to_pylist(), strict=True))
    owners = {key: value or name_of(judge.descriptor, key).row_key or b"" for key, value in entries}
    rows = _rows_by_key(connection, judge, index, set(owners.values()))
    for key, _ in entries:
        owner = owners[key]
        words = row_words(judge.descriptor, owner)
        at = rows.get(owner)
        if at is None:
            why = f"index {index.name} has an entry for {words}, which does not exist"
            yield Violation("C5", storage, key, why)
            continue
        entry = entry_now(judge.descriptor, judge.descriptor.placement, index, at)
        bucket = entry_bucket(judge.descriptor, judge.descriptor.placement, index, at, judge.buckets)
        home = storage_of(bucket, judge.storages, judge.buckets)
        if entry is None:
            why = f"index {index.name} has an entry for {words}, which its condition does not accept"
            yield Violation("C5", storage, key, why)
        elif entry[0] != key:
            why = f"index {index.name} has an entry for {words} with values the row no longer has"
            yield Violation("C5", storage, key, why)
        elif home != storage:
            why = f"the entry of index {index.name} for {words} lies on storage {storage}, its place is {home}"
            yield Violation("C5", storage, key, why)


def _rows_by_key(connection: Connection, judge: Judge, index: Index, row_keys: set[bytes]) -> dict[bytes, StoredRow]:
    """The existing rows among `row_keys`, with what the index and the sharding need of them."""
    start = prefix(judge.descriptor, judge.descriptor.placement.id)
    needed = {*source_columns(judge.descriptor, index), *judge.descriptor.sharding_key}
    columns = sorted(needed - set(judge.descriptor.primary_key))
    wanted = sorted(column_key(start, k, c) for k in row_keys for c in (ColumnId(0), *columns))
    rows: dict[bytes, StoredRow] = {}
    for storage in range(1, judge.storages + 1):
        sql = get_sql(storage, judge.descriptor.table_id)
        there = dict(connection.cursor(binary=True).execute(sql, (wanted,)).fetchall())
        for row_key in row_keys:
            if column_key(start, row_key) in there:
                found = {c: there.get(column_key(start, row_key, c)) for c in columns}
                rows[row_key] = StoredRow(row_key, {c: v for c, v in found.items() if v is not None})
    return rows


def _bounds(descriptor: Descriptor, index: IndexId) -> tuple[bytes, bytes]:
    start = prefix(descriptor, descriptor.placement.id, index)
    return start, prefix(descriptor, descriptor.placement.id, IndexId(index + 1))


def tombstones(connection: Connection, table_id: int, piece: KeyRange) -> list[bytes]:
    """The first tombstones of a range."""
    sql = f"SELECT key FROM {kv(piece.storage, table_id)} WHERE key >= %b AND key < %b AND value IS NULL"
    cursor = connection.cursor(binary=True)
    cursor.execute(f"{sql} ORDER BY key LIMIT %b", (piece.low, piece.high, VIOLATIONS_MAX))
    return [key for (key,) in cursor.fetchall()]


def tombstone_words(what: str) -> str:
    return f"a tombstone is left in {what} although the change has ended"


def stranger(descriptor: Descriptor, storage: int, key: bytes) -> Violation:
    """A pair that no element of the schema accounts for (C1, C3, C7), in the words of `storage.clauses`."""
    index = PREFIX.unpack_from(key)[2] if len(key) > PREFIX.size else PRIMARY
    if descriptor.state is State.ABSENT:
        why = f"a pair is left of {descriptor.name}, which {descriptor} does not contain"
        return Violation("C1" if index == PRIMARY else "C3", storage, key, why)
    if index != PRIMARY and all(known.id != index for known in descriptor.indexes):
        return Violation("C3", storage, key, f"an entry of index {index}, which {descriptor} does not contain")
    try:
        name = name_of(descriptor, key)
    except ForeignKey as error:
        return Violation("C7" if index == PRIMARY else "C3", storage, key, str(error))
    if name.row_key is None or index != PRIMARY:
        return Violation("C3", storage, key, f"an entry of index {descriptor.index(name.index).name}, which is absent")
    words = f"a pair of {row_words(descriptor, name.row_key)} is of column {name.column}"
    return Violation("C1", storage, key, f"{words}, which {descriptor} does not contain")


def known_suffixes(descriptor: Descriptor) -> list[bytes]:
    """What keys of rows' pairs may end with: existence, and columns that are not absent."""
    columns = (c.id for c in descriptor.stored_columns if c.state is not State.ABSENT)
    return [COLUMN.pack(c) for c in (PRIMARY, *columns)]
