"""Finds rows that refer to a deleted one, by the key range of the index that begins with the most columns of the
foreign key. The planner warns of the cost; nodes do it."""

from collections.abc import Collection, Iterable
from itertools import takewhile

from catalog.descriptor import Descriptor
from catalog.elements import ColumnId, Index


def way_to(
    referring: Descriptor, columns: Collection[ColumnId], indexes: Iterable[Index]
) -> tuple[Index | None, tuple[ColumnId, ...]]:
    """The best of `indexes`, or None for the primary key, and those of `columns` with which it begins. Never a partial
    one, which lacks rows."""
    ways: list[tuple[Index | None, tuple[ColumnId, ...]]] = [(None, referring.primary_key)]
    ways += [(index, index.column_ids) for index in indexes if index.where is None]
    leading = [(index, tuple(takewhile(columns.__contains__, theirs))) for index, theirs in ways]
    return max(leading, key=lambda way: len(way[1]))
