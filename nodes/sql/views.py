"""The definition that CREATE VIEW asks for: columns as PostgreSQL describes them, and the tables and views it reads, by
their ids (`catalog.view_definition`). A name that may be a column of several tables counts for each of them."""

from collections.abc import Sequence

from catalog.elements import ColumnId
from catalog.view_definition import TableUse, ViewColumn, ViewDefinition, ViewUse
from expressions.dates.zones import TimeStyle
from expressions.errors import DUPLICATE_COLUMN, SYNTAX_ERROR, SqlError
from nodes.sql.uses import Followed
from nodes.wire.messages import Field


def definition_of(
    name: str, names: list[str], query: str, columns: Sequence[Field], found: Followed, style: TimeStyle
) -> ViewDefinition:
    """The view, with `names` for its first columns; its id is given when it is stored. Raises `SqlError`."""
    if len(names) > len(columns):
        raise SqlError(SYNTAX_ERROR, "CREATE VIEW specifies more column names than columns")
    called = [*names, *(column.name for column in columns[len(names) :])]
    twice = next((one for place, one in enumerate(called) if one in called[:place]), None)
    if twice is not None:
        raise SqlError(DUPLICATE_COLUMN, f'column "{twice}" specified more than once')
    scans = [scan for place, scan in found.scans.items() if len(place) == 1]
    tables = {scan.descriptor.name: scan.descriptor for scan in scans}
    used: dict[str, set[ColumnId]] = {name: set() for name in tables}
    for scan in scans:
        loose = {column.id for column in scan.descriptor.public_columns if column.name in found.loose}
        used[scan.descriptor.name] |= scan.used | loose
    return ViewDefinition(
        0,
        name,
        0,
        query,
        tuple(ViewColumn(one, column.oid, column.modifier) for one, column in zip(called, columns, strict=True)),
        tuple(
            TableUse(of, table.table_id, {c.name: c.id for c in table.public_columns if c.id in used[of]})
            for of, table in tables.items()
        ),
        tuple(ViewUse(of, view.definition.view_id, len(view.definition.columns)) for of, view in found.views.items()),
        style.zone.name,
        style.order,
        style.intervals,
    )
