"""Tables that refer to each other, planned from statements, for tests of foreign keys in changes.

airports   code text primary key, city text unique (by_city), country text, number int; unique (country, number)
trips      id bigint primary key, code, city, country, number, boss bigint, seats bigint; index by_city_of on (city)
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from catalog.descriptor import Descriptor
from changes.ddl.resolve import CatalogView, resolve
from changes.ddl.statements import parse
from changes.plan.model import Plan, Step, describe
from changes.planning.planner import make_plan
from changes.review.check import find_faults

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


KINDS: dict[str, tuple[str, int, Callable[[], Tables]]] = {
    "to the primary key": ("ALTER TABLE trips ADD FOREIGN KEY (code) REFERENCES airports", 2, unlinked),
    "to a unique index": ("ALTER TABLE trips ADD FOREIGN KEY (city) REFERENCES airports (city)", 2, unlinked),
    "of two columns, in another order": (
        "ALTER TABLE trips ADD FOREIGN KEY (number, country) REFERENCES airports (number, country)",
        2,
        unlinked,
    ),
    "to the table itself": ("ALTER TABLE trips ADD FOREIGN KEY (boss) REFERENCES trips", 2, unlinked),
    "two at once": (
        "ALTER TABLE trips ADD FOREIGN KEY (code) REFERENCES airports, ADD FOREIGN KEY (boss) REFERENCES trips",
        2,
        unlinked,
    ),
    "two to one table": (
        "ALTER TABLE trips ADD FOREIGN KEY (code) REFERENCES airports, ADD FOREIGN KEY (city) REFERENCES airports",
        2,
        unlinked,
    ),
    "beside an index": (
        "ALTER TABLE trips ADD FOREIGN KEY (code) REFERENCES airports, ADD UNIQUE (code, city)",
        3,
        unlinked,
    ),
    "a column that refers": ("ALTER TABLE trips ADD COLUMN dest text REFERENCES airports", 3, unlinked),
    "a required column that refers": (
        "ALTER TABLE trips ADD dest text NOT NULL DEFAULT 'LAX' REFERENCES airports ON UPDATE RESTRICT",
        3,
        unlinked,
    ),
    "a column that refers to its own table": ("ALTER TABLE trips ADD twin bigint REFERENCES trips (n)", 3, unlinked),
    "added and a column dropped": (
        "ALTER TABLE trips ADD FOREIGN KEY (code) REFERENCES airports, DROP COLUMN country",
        3,
        unlinked,
    ),
    "of a new table": (
        "CREATE TABLE crews (id bigint PRIMARY KEY REFERENCES trips, code text REFERENCES airports (city), "
        "boss bigint REFERENCES crews, leads text UNIQUE REFERENCES crews (leads))",
        2,
        unlinked,
    ),
    "dropped": ("ALTER TABLE trips DROP CONSTRAINT trips_code_fkey", 2, linked),
    "dropped from the table itself": ("ALTER TABLE trips DROP CONSTRAINT trips_boss_fkey", 2, linked),
    "exchanged": (
        "ALTER TABLE trips DROP CONSTRAINT in_city, ADD FOREIGN KEY (city) REFERENCES airports ON DELETE RESTRICT",
        3,
        linked,
    ),
    "its column dropped": ("ALTER TABLE trips DROP COLUMN city", 4, linked),
    "its column dropped, which refers twice": ("ALTER TABLE trips DROP COLUMN boss", 4, linked),
    "its table dropped": ("DROP TABLE trips", 4, linked),
    "dropped with its index": ("ALTER TABLE trips DROP CONSTRAINT trips_boss_fkey1, DROP CONSTRAINT one_n", 5, linked),
    "dropped behind its index": (
        "ALTER TABLE trips DROP CONSTRAINT one_n, DROP CONSTRAINT trips_boss_fkey1",
        5,
        linked,
    ),
    "dropped with what it refers to": ("ALTER TABLE trips DROP CONSTRAINT trips_boss_fkey1, DROP COLUMN n", 5, linked),
    "both its columns dropped": ("ALTER TABLE trips DROP COLUMN boss, DROP COLUMN n", 5, linked),
    "both dropped, what it refers to first": ("ALTER TABLE trips DROP COLUMN n, DROP COLUMN boss", 5, linked),
    "renamed": ("ALTER TABLE trips RENAME CONSTRAINT in_city TO there", 1, linked),
    "renamed, to the table itself": ("ALTER TABLE trips RENAME CONSTRAINT trips_boss_fkey TO led", 1, linked),
}
"""A statement of every kind, how many versions of trips it takes, and on which tables."""

PLANS = {name: planned(sql, tables()) for name, (sql, _, tables) in KINDS.items()}
EVERY_KIND = pytest.mark.parametrize("name", KINDS)


def words(plan: Plan, steps: tuple[Step, ...] | None = None) -> list[str]:
    return [describe(plan, step) for step in (plan.forward if steps is None else steps)]


def faults(plan: Plan) -> str:
    return "; ".join(map(str, find_faults(plan)))
