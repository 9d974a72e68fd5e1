"""The rows of the catalog's relations for some versions of tables. Only views of our own have what is not public."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from catalog.descriptor import Descriptor
from catalog.elements import State
from nodes.catalog_views import fixed, names, own, standard, tables
from nodes.catalog_views.relations import OWN, RELATIONS, UNNAMED, columns_of, empty_of
from nodes.catalog_views.values import Row, Value

MADE: Mapping[str, Callable[[Sequence[Descriptor]], Iterator[Row]]] = {
    **fixed.MADE, **tables.MADE, **standard.MADE, **names.MADE, own.ELEMENTS: own.element_rows,
}  # fmt: skip
assert MADE.keys() <= RELATIONS.keys() | UNNAMED.keys()


def rows_of(key: str, descriptors: Sequence[Descriptor]) -> list[dict[str, Value]]:
    """All rows of one relation, with every column."""
    if key not in MADE:
        return []
    has_nulls = key.startswith((standard.SCHEMA, OWN))
    empty = {column.name: None if has_nulls else empty_of(column.type) for column in columns_of(key)}
    is_own = key == own.ELEMENTS
    shown = [table for table in descriptors if is_own or table.state is State.PUBLIC]
    return [{**empty, **row} for row in MADE[key](shown)]
