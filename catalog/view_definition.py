"""A view: a stored query, and the tables, columns and views that it reads, by ids. So it survives renames, and sees no
later column. Transactions read views in their snapshot; tables have leases (docs/reference/views.md)."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from catalog.elements import ColumnId, TableId


@dataclass(frozen=True, slots=True)
class ViewColumn:
    """A column of a view; its type by PostgreSQL's oid and modifier."""

    name: str
    type_oid: int
    modifier: int = -1


@dataclass(frozen=True, slots=True)
class TableUse:
    """A table by its name in a view's query, and the columns used, by name, in order."""

    name: str
    table_id: TableId
    columns: Mapping[str, ColumnId]


@dataclass(frozen=True, slots=True)
class ViewUse:
    """A view by its name in another one's query, and its number of columns then."""

    name: str
    view_id: int
    columns: int | None = None


@dataclass(frozen=True, slots=True)
class ViewDefinition:
    """One view. `revision` grows when it is replaced."""

    view_id: int
    name: str
    revision: int
    query: str
    columns: tuple[ViewColumn, ...]
    tables: tuple[TableUse, ...] = ()
    views: tuple[ViewUse, ...] = ()
    zone: str = "UTC"
    order: str = "MDY"
    intervals: str = "postgres"
    """How times, dates and intervals in its constants are read, whatever the settings of a reader are."""

    def to_json(self) -> dict[str, Any]:
        """Without id, name and revision, which the row has."""
        return {
            "query": self.query,
            "read": [self.zone, self.order, self.intervals],
            "columns": [[column.name, column.type_oid, column.modifier] for column in self.columns],
            "tables": [[use.name, use.table_id, [*use.columns.items()]] for use in self.tables],
            "views": [[use.name, use.view_id, use.columns] for use in self.views],
        }


def view_from_json(view_id: int, name: str, revision: int, body: Mapping[str, Any]) -> ViewDefinition:
    return ViewDefinition(
        view_id,
        name,
        revision,
        body["query"],
        tuple(ViewColumn(*column) for column in body["columns"]),
        tuple(TableUse(of, table_id, dict(columns)) for of, table_id, columns in body["tables"]),
        tuple(ViewUse(*view) for view in body["views"]),
        *body.get("read", ()),
    )


def readers_of(view_ids: Iterable[int], views: Iterable[ViewDefinition]) -> Iterator[ViewDefinition]:
    """The views that read one of these, directly or not; each once."""
    known, left = set(view_ids), list(views)
    while found := [view for view in left if view.view_id not in known and known & {use.view_id for use in view.views}]:
        known |= {view.view_id for view in found}
        yield from found
