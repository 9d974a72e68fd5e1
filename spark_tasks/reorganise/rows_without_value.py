"""Rows for which an expression has no value ('seven' as an integer: 22P02), or whose entry is too long: one more
scan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from catalog.descriptor import Descriptor
from catalog.elements import EXISTS, Column, ColumnId, Index
from catalog.values.types import SqlType
from expressions.rows import columns_of
from spark_tasks.checks.row_checks import first_rows
from spark_tasks.chunks import chunk, snapshot_reads
from spark_tasks.chunks.scan import rows_in_parts
from spark_tasks.runs.ranges import KeyRange
from spark_tasks.runs.report import Finding
from spark_tasks.runs.run_elements import Elements
from storage.arrow.rows import StoredRows, accepted, chosen, computed, entries_of, too_long
from storage.asking import questions, with_answers
from storage.derived import derived_value, encoded_derived
from storage.integrity.clauses import Violation
from storage.integrity.offenders import broken_row
from storage.pairs import CannotDerive, StoredRow, encoded_value, index_entry
from storage.reads import reads


@dataclass(frozen=True, slots=True)
class RowsWithoutValue:
    """Scans ranges, each in its own snapshot."""

    run_token: chunk.RunToken
    descriptor: Descriptor
    elements: Elements

    def __call__(self, key_ranges: Iterable[KeyRange]) -> Iterator[dict[str, Any]]:
        with self.run_token.connect() as connection:
            for key_range in key_ranges:
                chunk.listen(connection, self.run_token, chunk.RunControl())
                found = Finding()
                with snapshot_reads.snapshot(connection):
                    chunk.allow_reading(connection)
                    read = {column for _, _, expression in self._computing() for column in columns_of(expression)}
                    read = read.union(*map(reads, self.elements.indexes_of(self.descriptor)))
                    for rows in rows_in_parts(
                        connection, self.descriptor, key_range, sorted(read - {EXISTS, *self.descriptor.primary_key})
                    ):
                        self._look(rows, key_range.storage, found)
                yield asdict(found)

    def _computing(self) -> Iterator[tuple[str, Column | Index, str]]:
        """The elements with an expression, and the clause that a row without a value would break."""
        for column in self.elements.columns_of(self.descriptor):
            if column.derived is not None:
                yield "C2", column, column.derived.expression
        for index in self.elements.indexes_of(self.descriptor):
            if index.where is not None:
                yield "C4", index, index.where

    def _look(self, rows: StoredRows, storage: int, found: Finding) -> None:
        for clause, element, expression in self._computing():
            of, returns = _has_value(element), element.type if isinstance(element, Column) else SqlType.BOOLEAN
            has_value = computed(self.descriptor, rows, expression, "", returns, of, False, to=pa.bool_())
            without = chosen(rows, pc.invert(has_value))
            columns = columns_of(expression)
            first = self._first(without)
            named = (self._violation(clause, element, columns, storage, row) for row in first)
            found.note(clause, _named(element), len(without), named)
        for index in self.elements.indexes_of(self.descriptor):
            within = chosen(rows, accepted(self.descriptor, index, rows, now=True))
            entries = entries_of(self.descriptor, self.descriptor.placement.id, index, within)
            without = chosen(within, too_long(entries.keys))
            first = self._first(without)
            named = (self._violation("C4", index, index.column_ids, storage, row) for row in first)
            found.note("C4", _named(index), len(without), named)

    def _first(self, rows: StoredRows) -> Iterator[StoredRow]:
        if rows.ask is None:
            return first_rows(rows)
        return (with_answers(self.descriptor, row, questions, rows.ask) for row in first_rows(rows))

    def _violation(
        self, clause: str, element: Column | Index, columns: Iterable[ColumnId], storage: int, row: StoredRow
    ) -> Violation:
        read = [self.descriptor.column(column) for column in sorted(columns)]
        shown = broken_row(
            self.descriptor, row.key, [(one, encoded_value(self.descriptor, row, one.id)) for one in read]
        )
        why = self._why(element, row)
        return Violation(clause, storage, row.key, str(why), shown, why.sqlstate)

    def _why(self, element: Column | Index, row: StoredRow) -> CannotDerive:
        try:
            if isinstance(element, Column):
                derived_value(self.descriptor, element, row)
            else:
                index_entry(self.descriptor, self.descriptor.placement, element, row)
        except CannotDerive as cannot:
            return cannot
        raise AssertionError(f"{_named(element)} has a value for {row}")


def _named(element: Column | Index) -> str:
    return f"{'column' if isinstance(element, Column) else 'index'} {element.name}"


def _has_value(element: Column | Index) -> Callable[[object], bool]:
    """True of every storable value; `computed` takes a refusal for False."""

    def is_stored(value: object) -> bool:
        return not isinstance(element, Column) or bool(encoded_derived(element, value))  # type: ignore[arg-type]

    return is_stored
