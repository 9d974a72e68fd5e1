"""A judge of ranges: rows, columns, constraints and entries against the schema, in one exported snapshot.

    C1   values without a row, or of no column      C4   rows without their entry        C6   rows that break a rule
    C2   rows without a required value              C5   derived values that don't follow C7   rows in the wrong place

This is the vectorised twin of `storage.clauses`; tests compare what the two say. A verification looks only at the
elements of its run, and demands of them what it would demand of public ones.
"""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.compute as pc

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, Constraint, Index, IndexId, State
from expressions.rows import columns_of
from spark_tasks import source
from spark_tasks.elements import Elements
from spark_tasks.entries import EntryJudge
from spark_tasks.finding import Finding
from spark_tasks.leftovers import stranger, strangers, tombstone_words, tombstones
from spark_tasks.ranges import KeyRange
from storage import encoding
from storage.arrow_columns import breaks, mismatched, missing
from storage.arrow_rows import StoredRows, chosen, row_storages
from storage.clauses import Violation, element_label, row_words
from storage.constraints import CHECK, FOREIGN_KEY, constraint_violations
from storage.derived import sources_of
from storage.mutations import source_columns
from storage.pairs import StoredRow, column_key, name_of, prefix
from storage.postgres import session_options

Connection = psycopg.Connection[Any]

ROWS_NAMED = 10
"""How many rows that break a constraint are named; all are counted."""


@dataclass(frozen=True, slots=True)
class Judge:
    """Judge ranges of rows under one descriptor, in an exported snapshot.

    `only`: the elements that a verification looks at. An audit looks at everything; `complete` are indexes that the
    version before has public and may still be read, `unfinished` elements whose tombstones are not purged yet.
    """

    dsn: str
    snapshot: str
    descriptor: Descriptor
    storages: int
    buckets: int
    only: Elements | None = None
    complete: frozenset[IndexId] = frozenset()
    unfinished: frozenset[str] = frozenset()

    # --- what is looked at

    @property
    def indexes(self) -> tuple[Index, ...]:
        if self.only is not None:
            return self.only.indexes_of(self.descriptor)
        return tuple(i for i in self.descriptor.indexes if i.state is not State.ABSENT)

    @property
    def columns(self) -> tuple[Column, ...]:
        return self.descriptor.stored_columns if self.only is None else self.only.columns_of(self.descriptor)

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        if self.only is not None:
            found = self.only.constraints_of(self.descriptor)
        else:
            found = tuple(c for c in self.descriptor.constraints if c.state is State.PUBLIC)
        return tuple(c for c in found if c.rule != FOREIGN_KEY)

    def entry_judge(self, index: Index) -> EntryJudge:
        is_complete = self.only is not None or index.state is State.PUBLIC or index.id in self.complete
        is_verified = self.only is not None
        return EntryJudge(self.descriptor, index, self.storages, self.buckets, is_complete, is_verified)

    def may_have_tombstones(self, element: Column | Index) -> bool:
        return element.state is not State.PUBLIC or element_label(element) in self.unfinished

    def _columns_read(self) -> list[ColumnId]:
        stored = {c.id for c in self.descriptor.stored_columns}
        if self.only is None:
            return sorted(stored)
        read: set[ColumnId] = {column.id for column in self.columns}
        for column in self.columns:
            read |= sources_of(column) if column.derived is not None else set()
        for index in self.indexes:
            read |= source_columns(self.descriptor, index)
        for constraint in self.constraints:
            read |= _columns_of(constraint)
        return sorted(read & stored)

    # --- ranges

    def connect(self) -> Connection:
        return psycopg.connect(self.dsn, autocommit=True, **session_options("schemalab judge"))

    def __call__(self, pieces: Iterable[KeyRange]) -> Iterator[dict[str, Any]]:
        """A `Finding` as JSON for each range."""
        with self.connect() as connection, source.snapshot(connection, self.snapshot):
            for piece in pieces:
                yield asdict(self.range(connection, piece))

    def range(self, connection: Connection, piece: KeyRange) -> Finding:
        found, all_pairs = Finding(), self.only is None
        table_id, columns, unknown = self.descriptor.table_id, self._columns_read(), 0
        for rows, pairs in source.rows_and_pairs(connection, table_id, piece, columns, all_pairs):
            unknown += pairs - len(rows) - sum(len(c) - c.null_count for c in rows.columns.values())
            if len(rows.orphans):
                self._orphans(piece.storage, rows, found)
            if len(rows):
                self._rows(connection, piece.storage, rows, found)
        if all_pairs:
            for key in strangers(connection, self.descriptor, piece) if unknown else ():
                found.add(stranger(self.descriptor, piece.storage, key))
            self._tombstones(connection, piece, found)
        return found

    def _rows(self, connection: Connection, storage: int, rows: StoredRows, found: Finding) -> None:
        found.rows += len(rows)
        found.pairs += len(rows) + sum(len(c) - c.null_count for c in rows.columns.values())
        homes = pa.repeat(pa.scalar(storage, pa.int32()), len(rows))
        for column in self.columns:
            self._column(storage, column, rows, found)
        for constraint in self.constraints:
            self._constraint(storage, constraint, rows, found)
        if self.only is None:
            homes = self._homes(storage, rows, found)
        for index in self.indexes:
            self.entry_judge(index).rows(connection, homes, rows, found)

    # --- C1, C2, C5: values

    def _orphans(self, storage: int, rows: StoredRows, found: Finding) -> None:
        names = {c.id: c.name for c in self.columns if c.state is not State.ABSENT}
        for key in rows.orphans.keys.to_pylist():
            name = name_of(self.descriptor, key)
            if name.row_key is not None and name.column in names:  # others are found by their column
                words = row_words(self.descriptor, name.row_key)
                why = f"column {names[name.column]} has a value for {words}, which does not exist"
                found.add(Violation("C1", storage, key, why))

    def _column(self, storage: int, column: Column, rows: StoredRows, found: Finding) -> None:
        start = prefix(self.descriptor, self.descriptor.placement.id)
        is_relied_on = self.only is not None or column.state is State.PUBLIC
        if is_relied_on and (column.required or column.derived is not None):
            for row_key in rows.keys.filter(missing(column, rows)).to_pylist():
                why = f"{row_words(self.descriptor, row_key)} has no value of {column.name}"
                found.add(Violation("C2", storage, column_key(start, row_key, column.id), why))
        if is_relied_on and column.not_null:
            is_null = pc.fill_null(pc.equal(rows.columns[column.id], pa.scalar(encoding.NULL, pa.binary())), False)
            for row_key in rows.keys.filter(is_null).to_pylist():
                why = f"{row_words(self.descriptor, row_key)} has NULL in {column.name}, which is NOT NULL"
                found.add(Violation("C6", storage, row_key, why))
        if column.derived is not None and column.state is not State.ABSENT:
            for row_key in rows.keys.filter(mismatched(self.descriptor, column, rows)).to_pylist():
                words = f"column {column.name} has a value for {row_words(self.descriptor, row_key)}"
                why = f"{words} that does not follow from its source"
                found.add(Violation("C5", storage, column_key(start, row_key, column.id), why))

    # --- C6: rules on rows

    def _constraint(self, storage: int, constraint: Constraint, rows: StoredRows, found: Finding) -> None:
        mask = breaks(self.descriptor, constraint, rows)
        broken = chosen(rows, mask)
        found.count(found.broken, constraint.name, len(broken))
        for row in _first_rows(broken, ROWS_NAMED):
            for one in constraint_violations(self.descriptor, row):
                if one.constraint == constraint:
                    why = f"{row_words(self.descriptor, row.key)} {one.why}"
                    found.add(Violation("C6", storage, row.key, why))

    # --- C7: places and tombstones

    def _homes(self, storage: int, rows: StoredRows, found: Finding) -> pa.Array:
        """Where each row belongs; C7 names those that lie elsewhere."""
        homes = row_storages(self.descriptor, rows, storages=self.storages, buckets=self.buckets)
        strays = pc.not_equal(homes, storage)
        for row_key, home in zip(rows.keys.filter(strays).to_pylist(), homes.filter(strays).to_pylist(), strict=True):
            key = column_key(prefix(self.descriptor, self.descriptor.placement.id), row_key)
            why = f"{row_words(self.descriptor, row_key)} lies on storage {storage}, its place is {home}"
            found.add(Violation("C7", storage, key, why))
        return homes

    def _tombstones(self, connection: Connection, piece: KeyRange, found: Finding) -> None:
        names = {c.id: c for c in self.descriptor.stored_columns}
        for key in tombstones(connection, self.descriptor.table_id, piece):
            name = name_of(self.descriptor, key)
            column = None if name.column is None else names.get(name.column)
            if column is not None and self.may_have_tombstones(column):
                continue
            words = row_words(self.descriptor, name.row_key or b"")
            found.add(Violation("C7", piece.storage, key, tombstone_words(words)))


def _columns_of(constraint: Constraint) -> frozenset[ColumnId]:
    if constraint.rule == CHECK and constraint.expression is not None:
        return columns_of(constraint.expression)
    return frozenset(constraint.columns)


def _first_rows(rows: StoredRows, count: int) -> Iterator[StoredRow]:
    for place in range(min(len(rows), count)):
        there = {c: values[place].as_py() for c, values in rows.columns.items() if values[place].is_valid}
        yield StoredRow(rows.keys[place].as_py(), there)
