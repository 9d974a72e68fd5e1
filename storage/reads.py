"""The columns that an element reads: its own, and those of its condition or expression."""

from catalog.elements import Column, ColumnId, Constraint, Index
from expressions.rows import columns_of


def reads(element: Column | Index | Constraint) -> frozenset[ColumnId]:
    """The columns of its own table that `element` is made of; none for a plain column."""
    if isinstance(element, Column):
        derived = element.derived
        return frozenset() if derived is None else columns_of(derived.expression) | {derived.source}
    if isinstance(element, Index):
        named, expression = element.column_ids, element.where
    else:
        named, expression = element.columns, element.expression
    return frozenset(named) | (columns_of(expression) if expression else frozenset())
