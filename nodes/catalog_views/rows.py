"""The rows of the catalog's relations for some versions of tables. Only views of our own have what is not public."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from catalog.descriptor import Descriptor
from catalog.elements import State
from catalog.view_definition import ViewDefinition
from expressions.errors import PROGRAM_LIMIT, SqlError
from nodes.catalog_views import (
    described,
    fixed,
    functions,
    measured,
    names,
    operators,
    own,
    standard,
    stored,
    system,
    tables,
)
from nodes.catalog_views.relations import OWN, RELATIONS, UNNAMED, columns_of, empty_of
from nodes.catalog_views.values import Row, Value

MADE: Mapping[str, Callable[[Sequence[Descriptor]], Iterator[Row]]] = {
    **fixed.MADE, **functions.MADE, **operators.MADE, **tables.MADE, **standard.MADE, **names.MADE, **measured.MADE,
    own.ELEMENTS: own.element_rows,
}  # fmt: skip
assert MADE.keys() <= RELATIONS.keys() | UNNAMED.keys()


OIDS_MADE = frozenset({"pg_class", "pg_constraint", "pg_attrdef"})
"""Relations whose oids follow from ids of tables and what belongs to them."""


def rows_of(
    key: str, descriptors: Sequence[Descriptor], user: str = fixed.NO_USER, views: Sequence[ViewDefinition] = ()
) -> list[dict[str, Value]]:
    """All rows of one relation, with every column. Raises 54000 when two objects would have the same oid."""
    if key not in MADE and key not in fixed.PEOPLE and key not in stored.MADE:
        return []
    has_nulls = key.startswith((standard.SCHEMA, OWN, measured.BEGINNING))
    empty = {column.name: None if has_nulls else empty_of(column.type) for column in columns_of(key)}
    is_own = key == own.ELEMENTS
    shown = [table for table in descriptors if is_own or table.state is State.PUBLIC]
    made: Iterable[Row] = fixed.PEOPLE[key](user) if key in fixed.PEOPLE else MADE[key](shown) if key in MADE else ()
    rows = [{**empty, **row} for row in made]
    for always in (system.MADE, described.MADE):
        if key in always:
            rows += [{**empty, **row} for row in always[key](shown)]
    if views and key in stored.MADE:
        by_id: dict[int, Descriptor] = {table.table_id: table for table in shown}
        rows += [{**empty, **row} for row in stored.MADE[key](views, by_id)]
    if key in OIDS_MADE:
        refuse_same_oids(key, rows)
    return rows


def refuse_same_oids(key: str, rows: Sequence[Mapping[str, Value]]) -> None:
    """Ids of tables and their parts that are too far apart for the ranges of `nodes.wire.oids`."""
    seen: set[Value] = set()
    for row in rows:
        if row["oid"] in seen:
            message = f"two objects of {key} would have the oid {row['oid']}: too many were made and dropped"
            raise SqlError(PROGRAM_LIMIT, message, hint="ask schemalab.elements, or information_schema")
        seen.add(row["oid"])
