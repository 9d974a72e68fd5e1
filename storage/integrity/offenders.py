"""Rows that break a rule, in words (row id = 3 with (age) = (16) breaks constraint adult) and as an `Offender`, for
tables."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from catalog.descriptor import Descriptor
from catalog.elements import CHECK, Column, ColumnId, Constraint, Index
from catalog.text.mistakes import cut
from catalog.text.sentence import Sentence
from catalog.values.types import FLOATING, WHOLE, SqlType, Value, to_text
from expressions.rows import columns_of
from storage import encoding
from storage.integrity.constraints import Broken
from storage.pairs import PREFIX, StoredRow, encoded_value, key_parts, row_words, text_of
from storage.reads import reads

BARE = WHOLE | FLOATING | {SqlType.NUMERIC}
Cells = dict[str, str]
"""Values as they stand in SQL, by the names of their columns."""


@dataclass(frozen=True, slots=True)
class Offender:
    """A row that breaks a rule: its primary key, the values that matter, and a duplicate's other primary key."""

    key: Cells
    values: Cells
    other: Cells | None = None


def broken_row(descriptor: Descriptor, key: bytes, values: Iterable[tuple[Column, bytes]] = ()) -> Offender:
    shown = {column.name: _literal(column.type, encoding.decode(column.type, data)[0]) for column, data in values}
    return Offender(_key_cells(descriptor, key), shown)


def duplicate_rows(descriptor: Descriptor, index: Index, first: bytes, second: bytes, values: bytes) -> Offender:
    shown = zip(index.column_ids, _decoded(descriptor, index, values), strict=True)
    cells = {descriptor.column(c).shown: _literal(descriptor.column(c).type, value) for c, value in shown}
    return Offender(_key_cells(descriptor, second), cells, _key_cells(descriptor, first))


def _key_cells(descriptor: Descriptor, key: bytes) -> Cells:
    parts = key_parts(descriptor, key).items()
    typed = ((descriptor.column(c), encoding.decode(descriptor.column(c).type, data)[0]) for c, data in parts)
    return {column.name: _literal(column.type, value) for column, value in typed}


def row_named(descriptor: Descriptor, key: bytes) -> Sentence:
    """A row by its primary key; the value `key` is the key's text."""
    texts = (str(text_of(descriptor, column, data)) for column, data in key_parts(descriptor, key).items())
    return Sentence("{words}", words=row_words(descriptor, key), key=", ".join(texts))


def broken_words(descriptor: Descriptor, row: StoredRow, broken: Broken) -> Sentence:
    return Sentence("{offender} {why}", offender=offender(descriptor, row, broken), why=broken.why)


def offender(descriptor: Descriptor, row: StoredRow, broken: Broken) -> Sentence:
    words, constraint = row_named(descriptor, row.key), broken.constraint
    if constraint is None or constraint.rule != CHECK or constraint.expression is None:
        return words
    read = sorted(columns_of(constraint.expression))
    values = (encoding.decode(descriptor.column(c).type, encoded_value(descriptor, row, c))[0] for c in read)
    return Sentence("{row} with {values}", row=words, values=_values_words(descriptor, read, values)) if read else words


def values_read(descriptor: Descriptor, row: StoredRow, constraint: Constraint) -> list[tuple[Column, bytes]]:
    return [(descriptor.column(c), encoded_value(descriptor, row, c)) for c in sorted(reads(constraint))]


def duplicate_words(descriptor: Descriptor, index: Index, first: bytes, second: bytes, values: bytes) -> str:
    return Sentence(
        "{row} and {other} have the same {what} {values} in unique index {index}",
        row=row_named(descriptor, first),
        other=row_named(descriptor, second),
        what="value" if len(index.columns) == 1 else "values",
        values=_values_words(descriptor, index.column_ids, _decoded(descriptor, index, values)),
        index=index.name,
    )


def dangling_words(
    descriptor: Descriptor, referenced: Descriptor, foreign_key: Constraint, row: StoredRow, values: Sequence[bytes]
) -> str:
    """A row whose reference is missing: `values` are encoded, in the foreign key's order."""
    typed = [
        encoding.decode(descriptor.column(column).type, value)[0]
        for column, value in zip(foreign_key.columns, values, strict=True)
    ]
    return Sentence(
        "{row} with {values} breaks constraint {constraint}: no row of {table} has {missing}",
        row=row_named(descriptor, row.key),
        values=_values_words(descriptor, foreign_key.columns, typed),
        constraint=foreign_key.name,
        table=referenced.name,
        missing=_values_words(referenced, foreign_key.reference_columns, typed),
    )


def values_of_entry(key: bytes) -> bytes:
    return key[PREFIX.size :]


def _decoded(descriptor: Descriptor, index: Index, data: bytes) -> Iterable[Value | None]:
    offset = 0
    for part in index.columns:
        sql_type = descriptor.column(part.column).type
        value, offset = encoding.decode(sql_type, data, offset, descending=part.descending)
        yield value


def _values_words(descriptor: Descriptor, columns: Sequence[ColumnId], values: Iterable[Value | None]) -> Sentence:
    shown = (_literal(descriptor.column(c).type, value) for c, value in zip(columns, values, strict=True))
    names = ", ".join(descriptor.column(c).shown for c in columns)
    return Sentence("({columns}) = ({values})", columns=names, values=", ".join(shown))


def _literal(sql_type: SqlType, value: Value | None) -> str:
    if value is None:
        return "NULL"
    text = to_text(sql_type, value)
    return cut(text) if sql_type in BARE else "'" + cut(text).replace("'", "''") + "'"
