"""Two tables and a foreign key between them, for tests that need no planner: trips (code) refer to airports (code).

airports   code text primary key, name text, city text unique by by_city
trips      id bigint primary key, code text, city text
"""

from dataclasses import replace

from catalog.descriptor import Descriptor
from catalog.elements import (
    FOREIGN_KEY,
    NO_ACTION,
    PRIMARY,
    REFERENCED,
    Column,
    ColumnId,
    Constraint,
    ConstraintId,
    Index,
    IndexColumn,
    IndexId,
    State,
    TableId,
)
from catalog.values.types import SqlType

AIRPORTS, TRIPS = TableId(11), TableId(12)
CODE, NAME, CITY = ColumnId(1), ColumnId(2), ColumnId(3)
TRIP_ID, TRIP_CODE, TRIP_CITY = ColumnId(1), ColumnId(2), ColumnId(3)
BY_CITY = Index(IndexId(1), "by_city", (IndexColumn(CITY),), unique=True)


def airports(table_id: TableId = AIRPORTS) -> Descriptor:
    """airports, version 1."""
    columns = (
        Column(CODE, "code", SqlType.TEXT, not_null=True),
        Column(NAME, "name", SqlType.TEXT),
        Column(CITY, "city", SqlType.TEXT),
    )
    return Descriptor(
        table_id, "airports", 1, columns, (CODE,), (BY_CITY,), next_column_id=ColumnId(4), next_index_id=IndexId(2)
    )


def trips(table_id: TableId = TRIPS) -> Descriptor:
    """trips, version 1."""
    columns = (
        Column(TRIP_ID, "id", SqlType.BIGINT, not_null=True),
        Column(TRIP_CODE, "code", SqlType.TEXT),
        Column(TRIP_CITY, "city", SqlType.TEXT),
    )
    return Descriptor(table_id, "trips", 1, columns, (TRIP_ID,), next_column_id=ColumnId(4))


def linked(
    child: Descriptor,
    parent: Descriptor,
    state: State = State.PUBLIC,
    *,
    column: ColumnId = TRIP_CODE,
    to: ColumnId = CODE,
    name: str = "trips_code_fkey",
    on_delete: str = NO_ACTION,
    on_update: str = NO_ACTION,
) -> tuple[Descriptor, Descriptor]:
    """The next versions of both: the child's foreign key in `state`, and its partner in the parent."""
    here, there = child.next_constraint_id, parent.next_constraint_id
    index = PRIMARY if parent.primary_key == (to,) else next(i.id for i in parent.indexes if i.column_ids == (to,))
    foreign_key = Constraint(
        here, name, FOREIGN_KEY, (column,), references=parent.table_id, reference_columns=(to,), state=state,
        partner=there, index=index, on_delete=on_delete, on_update=on_update,
    )  # fmt: skip
    partner = replace(
        foreign_key, id=there, rule=REFERENCED, columns=(to,), references=child.table_id, reference_columns=(column,),
        partner=here,
    )  # fmt: skip
    return _with(child, foreign_key), _with(parent, partner)


def _with(table: Descriptor, constraint: Constraint) -> Descriptor:
    following = ConstraintId(constraint.id + 1)
    return table.next_version(constraints=(*table.constraints, constraint), next_constraint_id=following)
