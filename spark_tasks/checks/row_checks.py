"""Judges stored rows of a range: C1, C2, C5 (derived values), C6, and C7 (a row on a wrong storage)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.compute as pc

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, Constraint
from spark_tasks.checks.foreign_key_checks import Reference
from spark_tasks.checks.orphan_checks import stranger
from spark_tasks.runs.report import NAMED_MAX, Finding
from spark_tasks.runs.requirements import Demands
from storage import encoding
from storage.arrow.columns import breaks, mismatched, missing
from storage.arrow.encoding import Pairs
from storage.arrow.rows import StoredRows, chosen
from storage.asking import questions, with_answers
from storage.integrity.clauses import Violation, row_words
from storage.integrity.constraints import constraint_violations
from storage.integrity.offenders import broken_row, broken_words, values_read
from storage.pairs import StoredRow, StrayKey, column_key, name_of, prefix

NULL = pa.scalar(encoding.NULL, pa.binary())


@dataclass(frozen=True, slots=True)
class ValueJudge:
    """Judges rows on one storage. `columns`: whose values are checked for C1 and C5."""

    descriptor: Descriptor
    columns: tuple[Column, ...]
    demands: Demands
    storage: int

    @property
    def start(self) -> bytes:
        return prefix(self.descriptor, self.descriptor.placement.id)

    def rows(self, rows: StoredRows, found: Finding) -> None:
        for column in self.columns:
            if column.derived is not None:
                wrong = mismatched(self.descriptor, column, rows)
                what = f"column {column.name} has a value for {{}} that does not follow from its source"
                self._note("C5", column, what, rows, wrong, found)
        for column in self.demands.values:
            self._note("C2", column, f"{{}} has no value of {column.name}", rows, missing(column, rows), found)
        for column in self.demands.not_null:
            self._nulls(column, rows, found)
        for constraint in self.demands.constraints:
            broken = chosen(rows, breaks(self.descriptor, constraint, rows))
            found.note("C6", f"constraint {constraint.name}", len(broken), self._broken(constraint, broken))

    def _note(self, clause: str, column: Column, what: str, rows: StoredRows, mask: pa.Array, found: Finding) -> None:
        def named(row_key: bytes) -> Violation:
            why = what.format(row_words(self.descriptor, row_key))
            return Violation(clause, self.storage, column_key(self.start, row_key, column.id), why)

        note_rows(clause, f"column {column.name}", rows, mask, named, found)

    def _nulls(self, column: Column, rows: StoredRows, found: Finding) -> None:
        def named(row_key: bytes) -> Violation:
            why = f"{row_words(self.descriptor, row_key)} has NULL in {column.name}, which is NOT NULL"
            shown = broken_row(self.descriptor, row_key, [(column, encoding.NULL)])
            return Violation("C6", self.storage, row_key, why, shown)

        is_null = pc.fill_null(pc.equal(rows.columns[column.id], NULL), False)
        note_rows("C6", f"column {column.name}", rows, is_null, named, found)

    def _broken(self, constraint: Constraint, rows: StoredRows) -> Iterator[Violation]:
        for row in first_rows(rows):
            if rows.ask is not None:
                row = with_answers(self.descriptor, row, questions, rows.ask)
            for one in constraint_violations(self.descriptor, row):
                if one.constraint is not None and one.constraint.id == constraint.id:
                    yield self._violation(constraint, row, broken_words(self.descriptor, row, one))

    def _violation(self, constraint: Constraint, row: StoredRow, why: str) -> Violation:
        shown = broken_row(self.descriptor, row.key, values_read(self.descriptor, row, constraint))
        return Violation("C6", self.storage, row.key, why, shown)

    def dangling(
        self, reference: Reference, connection: psycopg.Connection[Any], rows: StoredRows, found: Finding
    ) -> None:
        """C6: rows whose reference is missing."""
        astray = chosen(rows, reference.dangling(connection, rows))
        key = reference.foreign_key
        named = (self._violation(key, row, reference.words(row)) for row in first_rows(astray))
        found.note("C6", f"constraint {key.name}", len(astray), named)

    def orphans(self, orphans: Pairs, found: Finding) -> None:
        names: dict[ColumnId | None, str] = {c.id: c.shown for c in self.columns}
        for key in orphans.keys.to_pylist():
            try:
                name = name_of(self.descriptor, key)
            except StrayKey:
                malformed = stranger(self.descriptor, self.storage, key)
                found.note(malformed.clause, "no column", 1, [malformed])
                continue
            if name.row_key is not None and name.column in names:
                words = row_words(self.descriptor, name.row_key)
                why = f"column {names[name.column]} has a value for {words}, which does not exist"
                found.note("C1", f"column {names[name.column]}", 1, [Violation("C1", self.storage, key, why)])

    def places(self, rows: StoredRows, homes: pa.Array, found: Finding) -> None:
        """C7: rows that belong on another storage."""
        strays = pc.not_equal(homes, self.storage)
        place_of = dict(zip(rows.keys.filter(strays).to_pylist(), homes.filter(strays).to_pylist(), strict=True))

        def named(row_key: bytes) -> Violation:
            words = row_words(self.descriptor, row_key)
            why = f"{words} lies on storage {self.storage}, its place is {place_of[row_key]}"
            return Violation("C7", self.storage, column_key(self.start, row_key), why)

        note_rows("C7", "rows", rows, strays, named, found)


def note_rows(
    clause: str, element: str, rows: StoredRows, mask: pa.Array, named: Callable[[bytes], Violation], found: Finding
) -> None:
    total = pc.sum(mask).as_py() or 0
    if total:
        found.note(clause, element, total, map(named, rows.keys.filter(mask).slice(0, NAMED_MAX).to_pylist()))


def first_rows(rows: StoredRows) -> Iterator[StoredRow]:
    for place in range(min(len(rows), NAMED_MAX)):
        there = {c: values[place].as_py() for c, values in rows.columns.items() if values[place].is_valid}
        yield StoredRow(rows.keys[place].as_py(), there)
