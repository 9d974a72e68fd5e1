"""Relations that names in FROM stand for: in a statement, and in the query of a view that it reads.

    SELECT name FROM paid              paid is a view, with the name `name`
    SELECT title AS name FROM orders   orders is the table with the id that the view keeps, whatever it is called now,
                                       and title the column with its id: other columns are not seen

So a view says the same after a rename, and after a column was added.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

from catalog.descriptor import Descriptor
from catalog.elements import ColumnId
from catalog.view_definition import TableUse, ViewColumn, ViewDefinition, ViewUse
from expressions.analysis.scopes import Scan
from expressions.dates.zones import TimeStyle, time_style
from expressions.errors import DUPLICATE_COLUMN, STATEMENT_TOO_COMPLEX, SYNTAX_ERROR, SqlError
from nodes.sql.queries.query import Output
from nodes.wire.oids import view_number

DEPTH_MAX = 32
"""Views that read each other, one below the other."""
NO_VIEWS: "Mapping[str, ViewInUse]" = MappingProxyType({})


@dataclass(eq=False)
class ViewInUse:
    """A view, with the versions in use of the tables that it reads, by the names that its query gives them."""

    definition: ViewDefinition
    tables: Mapping[str, Descriptor] = field(default_factory=dict)
    views: "Mapping[str, ViewInUse]" = field(default_factory=dict)

    @cached_property
    def reached(self) -> "dict[int, ViewInUse]":
        """The view and those that it reads, itself or through others, by id: each once, in however many ways."""
        found = {self.definition.view_id: self}
        for view in self.views.values():
            found |= view.reached
        return found

    @cached_property
    def depth(self) -> int:
        """The number of views that stand one below the other, with this one."""
        return 1 + max((view.depth for view in self.views.values()), default=0)

    @cached_property
    def key(self) -> tuple[Any, ...]:
        """Its part in the key of a plan: the views, and the versions that it was made for."""
        views = tuple((view_id, view.definition.revision) for view_id, view in self.reached.items())
        return views, tuple((table.table_id, table.version) for table in self.descriptors().values())

    @property
    def text(self) -> str:
        """All that has to be analysed for it."""
        return "".join(view.definition.query for view in self.reached.values())

    def descriptors(self) -> dict[int, Descriptor]:
        """The tables that it reads, itself or through other views, by id."""
        return {table.table_id: table for view in self.reached.values() for table in view.tables.values()}

    def outputs(self) -> tuple[tuple[str, tuple[int, int]], ...]:
        """Names of its columns, and of which column of the view a client is told that each is."""
        number = view_number(self.definition.view_id)
        return tuple((column.name, (number, place)) for place, column in enumerate(self.definition.columns, start=1))


@dataclass(eq=False)
class Naming:
    """The relations that names stand for, and what was used of them."""

    tables: Mapping[str, Descriptor]
    views: Mapping[str, ViewInUse] = field(default_factory=dict)
    columns: Mapping[str, Mapping[str, ColumnId]] | None = None
    """The columns of each table, by the names that a view's query gives them; None: as the tables call them."""
    widths: Mapping[str, int | None] = field(default_factory=dict)
    """How many columns of each view a view's query knows: more were added since."""
    place: tuple[int, ...] = ()
    """Where the view is named whose query this is (`Scan.place`)."""
    scans: list[tuple[str, Scan]] = field(default_factory=list)
    read: dict[str, ViewInUse] = field(default_factory=dict)

    def columns_of(self, name: str) -> Mapping[str, ColumnId] | None:
        return None if self.columns is None else self.columns[name]


def too_deep(name: str) -> SqlError:
    return SqlError(STATEMENT_TOO_COMPLEX, f'view "{name}" reads views that are nested deeper than {DEPTH_MAX}')


def naming_of(view: ViewInUse, place: tuple[int, ...] = ()) -> Naming:
    """The names in the query of a view, which is named at `place`."""
    columns = {use.name: use.columns for use in view.definition.tables}
    return Naming(view.tables, view.views, columns, {use.name: use.columns for use in view.definition.views}, place)


def definition_of(
    name: str, names: list[str], query: str, outputs: tuple[Output, ...], naming: Naming, style: TimeStyle
) -> ViewDefinition:
    """The view that CREATE VIEW asks for; its id is given when it is stored. Raises `SqlError`."""
    if len(names) > len(outputs):
        raise SqlError(SYNTAX_ERROR, "CREATE VIEW specifies more column names than columns")
    called = [*names, *(output.name for output in outputs[len(names) :])]
    twice = next((one for place, one in enumerate(called) if one in called[:place]), None)
    if twice is not None:
        raise SqlError(DUPLICATE_COLUMN, f'column "{twice}" specified more than once')
    used: dict[str, set[ColumnId]] = {}
    for of, scan in naming.scans:
        used.setdefault(of, set()).update(scan.used)
    tables = {of: scan.descriptor for of, scan in naming.scans}
    return ViewDefinition(
        0,
        name,
        0,
        query,
        tuple(ViewColumn(one, o.type.oid, o.modifier) for one, o in zip(called, outputs, strict=True)),
        tuple(
            TableUse(of, table.table_id, {c.name: c.id for c in table.public_columns if c.id in used[of]})
            for of, table in tables.items()
        ),
        tuple(ViewUse(of, view.definition.view_id, len(view.definition.columns)) for of, view in naming.read.items()),
        style.zone.name,
        style.order,
        style.intervals,
    )


def style_of(view: ViewDefinition) -> TimeStyle:
    """The way in which the constants of a view were read when it was made."""
    return time_style(view.zone, view.order, intervals=view.intervals)
