"""Tables that refer to each other, planned from statements, for tests of foreign keys in changes.

airports   code text primary key, city text unique (by_city), country text, number int; unique (country, number)
trips      id bigint primary key, code, city, country, number, boss bigint, seats bigint; index by_city_of on (city)
"""

from dataclasses import replace
from functools import cache
from typing import Any

from catalog.descriptor import Descriptor
from changes.ddl.resolve import CatalogView, resolve
from changes.ddl.statements import parse
from changes.plan.model import Plan
from changes.planning.planner import make_plan

BEGIN = (
    "CREATE TABLE airports (code text PRIMARY KEY, city text, country text, number int)",
    "CREATE TABLE trips (id bigint PRIMARY KEY, code text, city text, country text, number int, boss bigint, n bigint)",
    "CREATE UNIQUE INDEX by_city ON airports (city)",
    "CREATE UNIQUE INDEX by_number ON airports (country DESC, number)",
    "CREATE UNIQUE INDEX positive ON airports (number) WHERE number > 0",
    "CREATE INDEX by_city_of ON trips (city)",
    "ALTER TABLE trips ADD CONSTRAINT low CHECK (n < 1000)",
    "ALTER TABLE trips ADD CONSTRAINT one_n UNIQUE (n)",
)
LINKS = (
    "ALTER TABLE trips ADD FOREIGN KEY (code) REFERENCES airports",
    "ALTER TABLE trips ADD CONSTRAINT in_city FOREIGN KEY (city) REFERENCES airports (city) ON DELETE RESTRICT",
    "ALTER TABLE trips ADD FOREIGN KEY (boss) REFERENCES trips",
    "ALTER TABLE trips ADD FOREIGN KEY (boss) REFERENCES trips (n)",
)

Tables = tuple[Descriptor, ...]


def planned(sql: str, tables: Tables, **options: Any) -> Plan:
    """The plan of a statement on these tables, as a node or the page asks for it."""
    view = CatalogView(tables)
    action = resolve(parse(sql), view)
    return make_plan(action, view.table(action.table.text), table_id=11 + len(tables), tables=view, **options)


def after(plan: Plan, tables: Tables) -> Tables:
    """The tables as the plan leaves them."""
    left = {table.table_id: table for table in (*tables, *plan.results)}
    return tuple(left.values())


def done(statements: tuple[str, ...], tables: Tables = ()) -> Tables:
    """The tables when all these changes are done."""
    for sql in statements:
        tables = after(planned(sql, tables), tables)
    return tables


@cache
def unlinked() -> Tables:
    """airports and trips, and nothing refers to anything."""
    return _numbered(done(BEGIN))


@cache
def linked() -> Tables:
    """The same with four foreign keys: by primary key, by an index, and twice to the table itself."""
    return _numbered(done(LINKS, unlinked()))


def _numbered(tables: Tables) -> Tables:
    """airports@4 and trips@7, whatever it took to make them."""
    versions = {"airports": 4, "trips": 7}
    return tuple(replace(table, version=versions[table.name]) for table in tables)


def named(name: str, tables: Tables) -> Descriptor:
    """One of the tables."""
    return next(table for table in tables if table.name == name)
