"""Pairs of columns of many rows: the vectorised twin of `storage.derived` and `storage.integrity.constraints`. A fill
puts missing pairs where no writer has decided (R2); verification asks which pairs are wrong or missing."""

import pyarrow as pa
import pyarrow.compute as pc

from catalog.descriptor import Descriptor
from catalog.elements import CHECK, NOT_NULL, Column, Constraint, PlacementId
from catalog.values.types import SqlType
from expressions.errors import SqlError
from storage import encoding, pairs
from storage.arrow.encoding import Pairs, concat, join
from storage.arrow.rows import StoredRows, chosen, computed, encoded_column
from storage.derived import encoded_derived

_NULL = pa.scalar(encoding.NULL, pa.binary())

ROW_RULES = frozenset({NOT_NULL, CHECK})
"""The rules of constraints that one row keeps or breaks, whatever the others are."""


def column_pairs(
    descriptor: Descriptor, placement: PlacementId, column: Column, values: pa.Array, keys: pa.Array
) -> Pairs:
    """The pairs of one column for rows with these keys (K(r)) and encoded values."""
    start, end = pairs.prefix(descriptor, placement), pairs.COLUMN.pack(column.id)
    return Pairs(join(start, keys, end), values)


def fill_pairs(descriptor: Descriptor, placement: PlacementId, column: Column, rows: StoredRows) -> Pairs:
    """The pairs that a fill puts: one for each row without one. Raises `CannotDerive`. `rows` hold the column itself
    and a derived one's sources (`storage.reads`)."""
    there = rows.columns.get(column.id)
    lacking = rows if there is None else chosen(rows, there.is_null()) if there.null_count else None
    if lacking is None or not len(lacking):
        return concat([])
    if column.derived is not None:
        values = derived_values(descriptor, column, lacking)
    else:
        assert column.fill_value is not None, f"column {column.name} has nothing to be filled with"
        values = pa.repeat(pa.scalar(column.fill_value, pa.binary()), len(lacking))
    return column_pairs(descriptor, placement, column, values, lacking.keys)


def derived_values(descriptor: Descriptor, column: Column, rows: StoredRows) -> pa.Array:
    """The encoded value of a derived column for each row. Raises `CannotDerive`."""
    assert column.derived is not None, column
    what = f"column {column.name}"
    expression = column.derived.expression
    return computed(
        descriptor, rows, expression, what, column.type, lambda value: encoded_derived(column, value), to=pa.binary()
    )


def mismatched(descriptor: Descriptor, column: Column, rows: StoredRows) -> pa.Array:
    """Mask of rows whose derived pair does not follow from its source (C5)."""
    assert column.derived is not None, column
    there = rows.columns[column.id]
    wrong = pc.fill_null(pc.not_equal(_or_wrong(descriptor, rows, column, column.derived.expression), there), False)
    if column.derived.inverse is None or not pc.any(wrong).as_py():
        return wrong
    source = descriptor.column(column.derived.source)
    back = _or_wrong(descriptor, rows, source, column.derived.inverse)
    return pc.and_(wrong, pc.not_equal(back, encoded_column(descriptor, rows, source)))


def _or_wrong(descriptor: Descriptor, rows: StoredRows, column: Column, expression: str) -> pa.Array:
    """Encoded values of an expression; bytes that equal no value where there is none."""

    def encoded(value: object) -> bytes:
        try:
            return encoded_derived(column, value)  # type: ignore[arg-type]
        except SqlError:
            return b""

    what = f"column {column.name}"
    return computed(descriptor, rows, expression, what, column.type, encoded, b"", to=pa.binary())


def missing(column: Column, rows: StoredRows) -> pa.Array:
    return rows.columns[column.id].is_null()


def breaks(descriptor: Descriptor, constraint: Constraint, rows: StoredRows) -> pa.Array:
    """Mask of the rows that break a NOT NULL or CHECK constraint, in any state."""
    if constraint.rule == NOT_NULL:
        found = pa.repeat(pa.scalar(False), len(rows))
        for column_id in constraint.columns:
            values = encoded_column(descriptor, rows, descriptor.column(column_id))
            found = pc.or_(found, pc.equal(values, _NULL))
        return found
    assert constraint.rule in ROW_RULES, f"{constraint.name} is no matter of one row"
    assert constraint.expression is not None, constraint
    what = f"constraint {constraint.name}"
    expression, to = constraint.expression, pa.bool_()
    return computed(descriptor, rows, expression, what, SqlType.BOOLEAN, lambda value: value is False, True, to=to)
