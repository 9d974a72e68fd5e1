"""Relations that names in FROM stand for: in a statement, and in the query of a view that it reads. A view keeps the
ids of its tables and columns. So it says the same after a rename, and after a column was added."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

from catalog.descriptor import Descriptor
from catalog.view_definition import ViewDefinition
from expressions import grammar
from expressions.dates.zones import TimeStyle, time_style
from expressions.errors import STATEMENT_TOO_COMPLEX, UNDEFINED_TABLE, SqlError, unsupported
from leases.rules import NotLeasable, check_leasable
from nodes.catalog_queries.asks import Asks, asked_of
from nodes.catalog_views import relations
from nodes.wire.oids import view_number

Node = Any
SCHEMA = "public"
SCHEMAS = (SCHEMA, "")
CATALOGS = ("pg_catalog", "information_schema", relations.OWN)
NOT_HERE = {
    **dict.fromkeys(("pg_authid", "pg_shadow"), "pg_roles has the owner and who asks"),
    **dict.fromkeys(("pg_stats", "pg_statistic"), "EXPLAIN shows how a statement would reach its rows"),
    "pg_stat_database": "pg_stat_activity has the sessions of the node",
    **dict.fromkeys(
        ("pg_timezone_names", "pg_timezone_abbrevs"),
        "SET timezone takes every name of the time zone database, and hours east of UTC",
    ),
}
"""Relations of pg_catalog that a node has not, also when they are named without their schema, and what there is."""
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
        return 1 + max((view.depth for view in self.views.values()), default=0)

    @cached_property
    def key(self) -> tuple[Any, ...]:
        """Its part in the key of a plan: the views, and the versions that it was made for."""
        views = tuple((view_id, view.definition.revision) for view_id, view in self.reached.items())
        return views, tuple((table.table_id, table.version) for table in self.descriptors().values())

    @cached_property
    def asks(self) -> Asks:
        return asked_of(grammar.parse(self.definition.query).stmts[0].stmt.select_stmt)

    @property
    def text(self) -> str:
        return "".join(view.definition.query for view in self.reached.values())

    def descriptors(self) -> dict[int, Descriptor]:
        return {table.table_id: table for view in self.reached.values() for table in view.tables.values()}

    def outputs(self) -> tuple[tuple[str, tuple[int, int]], ...]:
        """Names of its columns, and of which column of the view a client is told that each is."""
        number = view_number(self.definition.view_id)
        return tuple((column.name, (number, place)) for place, column in enumerate(self.definition.columns, start=1))


def table_of(tables: Mapping[str, Descriptor], node: Node) -> Descriptor:
    descriptor = tables.get(node.relname) if node.schemaname in SCHEMAS and not node.catalogname else None
    if descriptor is None:
        raise not_there(node)
    check_public(descriptor, node)
    return descriptor


def not_there(node: Node) -> SqlError:
    name = node.relname
    if node.schemaname in CATALOGS or (not node.schemaname and name in NOT_HERE):
        hint = NOT_HERE.get(name, "SHOW TABLES lists the tables of a node")
        return unsupported(f"reading {node.schemaname or 'pg_catalog'}.{name}", node.location, hint=hint)
    if node.schemaname not in SCHEMAS or node.catalogname:
        missing = f'relation "{node.schemaname}.{name}" does not exist'
        without = "name a temporary table without a schema" if node.schemaname == "pg_temp" else None
        return SqlError(UNDEFINED_TABLE, missing, node.location, hint=without)
    return SqlError(UNDEFINED_TABLE, f'relation "{name}" does not exist', node.location, table=name)


def check_public(descriptor: Descriptor, node: Node) -> None:
    """Raises 42P01 for a table that statements may not name in its version."""
    try:
        check_leasable(node.relname, descriptor.state)
    except NotLeasable as refusal:
        hint = f"it is so in version {descriptor.version}; statements may name it while it is public"
        raise SqlError(UNDEFINED_TABLE, str(refusal), node.location, hint=hint) from None


def too_deep(name: str) -> SqlError:
    return SqlError(STATEMENT_TOO_COMPLEX, f'view "{name}" reads views that are nested deeper than {DEPTH_MAX}')


def style_of(view: ViewDefinition) -> TimeStyle:
    return time_style(view.zone, view.order, intervals=view.intervals)
