"""The rows of the catalog's relations for some versions of tables. What is not public is not there."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from catalog.descriptor import Descriptor
from catalog.elements import State
from nodes.catalog_views import fixed, names, standard, tables
from nodes.catalog_views.relations import RELATIONS, UNNAMED, columns_of, empty_of
from nodes.catalog_views.values import Row, Value

MADE: Mapping[str, Callable[[Sequence[Descriptor]], Iterator[Row]]] = {
    **fixed.MADE, **tables.MADE, **standard.MADE, **names.MADE,
}  # fmt: skip
assert MADE.keys() <= RELATIONS.keys() | UNNAMED.keys()


def rows_of(key: str, descriptors: Sequence[Descriptor]) -> list[dict[str, Value]]:
    """All rows of one relation, with every column."""
    if key not in MADE:
        return []
    is_standard = key.startswith(standard.SCHEMA)
    empty = {column.name: None if is_standard else empty_of(column.type) for column in columns_of(key)}
    shown = [table for table in descriptors if table.state is State.PUBLIC]
    return [{**empty, **row} for row in MADE[key](shown)]
