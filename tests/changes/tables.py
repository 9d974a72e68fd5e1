"""The tables and statements that tests of plans speak of."""

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from types import MappingProxyType
from typing import Any

from catalog.descriptor import Descriptor
from catalog.values.types import SqlType
from changes.ddl.actions import CreateIndex, CreateTable, DropIndex, DropTable, IndexPart, Name, NewColumn
from changes.ddl.resolve import CatalogView, resolve
from changes.ddl.statements import parse
from changes.plan.model import Plan
from changes.planning.planner import make_plan

USERS, BY_NAME = Name("users"), Name("by_name")
COLUMNS = (NewColumn(Name("id"), SqlType.INTEGER), NewColumn(Name("name"), SqlType.TEXT))
CREATE_TABLE = CreateTable(USERS, COLUMNS, primary_key=(Name("id"),))
DROP_TABLE = DropTable(USERS)
CREATE_INDEX = CreateIndex(BY_NAME, USERS, (IndexPart(Name("name"), descending=True),))
DROP_INDEX = DropIndex(BY_NAME, USERS)


def users() -> Descriptor:
    """Table users, public, version 2."""
    return make_plan(CREATE_TABLE, None, table_id=7).result


def indexed_users() -> Descriptor:
    """Table users with the public index by_name, version 5."""
    return make_plan(CREATE_INDEX, users()).result


def plans() -> dict[str, Plan]:
    """One plan of every sort, by name."""
    return {
        "add a table": make_plan(CREATE_TABLE, None, table_id=7),
        "drop a table": make_plan(DROP_TABLE, users()),
        "add an index": make_plan(CREATE_INDEX, users()),
        "drop an index": make_plan(DROP_INDEX, indexed_users()),
    }


# --- every kind of change, by the statement that asks for it

PEOPLE = (
    "CREATE TABLE people (id bigint PRIMARY KEY, name text, age integer NOT NULL, born date, town text)",
    "CREATE INDEX by_age ON people (age)",
    "CREATE UNIQUE INDEX one_name ON people (name) WHERE age > 5",
    "ALTER TABLE people ADD CONSTRAINT grown CHECK (age > 1)",
    "ALTER TABLE people ADD visits integer NOT NULL DEFAULT 0",
    "ALTER TABLE people ADD CONSTRAINT calm CHECK (visits < 100)",
)


def planned(sql: str, table: Descriptor | None, **options: Any) -> Plan:
    """The plan of a statement on a table, as a node or the page asks for it."""
    action = resolve(parse(sql), CatalogView((table,) if table else ()))
    return make_plan(action, table, table_id=8, **options)


@cache
def people() -> Descriptor:
    """Table people with an index, a partial unique index, two CHECKs, a column added with a default, and a comment."""
    table = None
    for statement in PEOPLE:
        table = planned(statement, table).result
    assert table is not None
    towns = (replace(c, comment="where they live" if c.name == "town" else None) for c in table.columns)
    return replace(table, columns=tuple(towns))


@cache
def notes() -> Descriptor:
    """Table notes, which has hidden row ids, a unique index, and a primary key that came later."""
    table = None
    for statement in (
        "CREATE TABLE notes (at date, what text, n int NOT NULL)",
        "CREATE UNIQUE INDEX one_note ON notes (at, n)",
        "ALTER TABLE notes ADD PRIMARY KEY (n)",
    ):
        table = planned(statement, table).result
    assert table is not None
    return table


@cache
def keyless_notes() -> Descriptor:
    """The same without the primary key."""
    return planned("ALTER TABLE notes DROP CONSTRAINT notes_pkey", notes()).result


KINDS = {
    "add a table": ("CREATE TABLE t (id int PRIMARY KEY, n int UNIQUE CHECK (n > 0))", 2),
    "drop a table": ("DROP TABLE people", 2),
    "add an index": ("CREATE INDEX i ON people (born DESC, id)", 3),
    "add a partial unique index": ("CREATE UNIQUE INDEX i ON people (born) WHERE town IS NOT NULL", 3),
    "drop an index": ("DROP INDEX by_age", 3),
    "drop a unique index": ("DROP INDEX one_name", 3),
    "add an optional column": ("ALTER TABLE people ADD nick text", 2),
    "add a column with a default": ("ALTER TABLE people ADD nick text DEFAULT 'x'", 3),
    "add a required column": ("ALTER TABLE people ADD seen date NOT NULL DEFAULT CURRENT_DATE", 3),
    "drop an optional column": ("ALTER TABLE people DROP town", 2),
    "drop a column that an index covers": ("ALTER TABLE people DROP name", 3),
    "drop a column that constraints read": ("ALTER TABLE people DROP age", 4),
    "drop a required column": ("ALTER TABLE people DROP visits", 5),
    "set not null": ("ALTER TABLE people ALTER name SET NOT NULL", 2),
    "drop not null": ("ALTER TABLE people ALTER age DROP NOT NULL", 2),
    "add a check": ("ALTER TABLE people ADD CHECK (born > '1900-01-01' OR name IS NULL)", 2),
    "drop a check": ("ALTER TABLE people DROP CONSTRAINT grown", 2),
    "add unique": ("ALTER TABLE people ADD UNIQUE (town, born)", 3),
    "drop unique": ("ALTER TABLE people DROP CONSTRAINT one_name", 3),
    "number a column": ("ALTER TABLE people ALTER id ADD GENERATED ALWAYS AS IDENTITY", 1),
    "number a column as a dump does": (
        "ALTER TABLE people ALTER id SET DEFAULT nextval('public.people_id_seq'::regclass)",
        1,
    ),
    "set a default": ("ALTER TABLE people ALTER town SET DEFAULT 'Ulm'", 1),
    "drop a default": ("ALTER TABLE people ALTER visits DROP DEFAULT", 1),
    "change a type": ("ALTER TABLE people ALTER born TYPE text", 5),
    "change a type with its cast": ("ALTER TABLE people ALTER town TYPE integer USING town::integer", 5),
    "keep the values under another type": ("ALTER TABLE people ALTER name TYPE varchar", 1),
    "keep the values beside an addition": ("ALTER TABLE people ALTER name TYPE varchar, ADD nick text", 3),
    "make a text shorter": ("ALTER TABLE people ALTER town TYPE varchar(5)", 5),
    "change the sharding key": ("ALTER TABLE people SET (sharding_key = 'town, born')", 5),
    "change the sharding function": ("ALTER TABLE people SET (sharding_func = 'mpcrc32')", 5),
    "check the newest version beside leases": ("ALTER TABLE people SET (coordination = 'both')", 1),
    "give up leases": ("ALTER TABLE people SET (coordination = 'hash')", 2),
    "rename a table": ("ALTER TABLE people RENAME TO folk", 1),
    "rename a column": ("ALTER TABLE people RENAME name TO nick", 1),
    "rename an index": ("ALTER INDEX by_age RENAME TO by_years", 1),
    "rename a check": ("ALTER TABLE people RENAME CONSTRAINT grown TO adult", 1),
    "rename a unique": ("ALTER TABLE people RENAME CONSTRAINT one_name TO one_of_a_name", 1),
    "add a column, checked and unique": (
        "ALTER TABLE people ADD code int NOT NULL DEFAULT 7 UNIQUE CHECK (code > 0)",
        3,
    ),
    "add an optional column, checked": ("ALTER TABLE people ADD code int CHECK (code > age)", 3),
    "add and drop columns": ("ALTER TABLE people ADD nick text, DROP town", 3),
    "add a default, drop an indexed column": ("ALTER TABLE people ADD nick text DEFAULT 'x', DROP name", 5),
    "exchange a check": ("ALTER TABLE people DROP CONSTRAINT grown, ADD CONSTRAINT older CHECK (age > 2)", 3),
    "add a table without a primary key": ("CREATE TABLE t (n int UNIQUE) WITH (sharding_key = 'n')", 2),
    "add a primary key": ("ALTER TABLE keyless_notes ADD PRIMARY KEY (n, at)", 3),
    "add a primary key over NOT NULL": ("ALTER TABLE keyless_notes ADD CONSTRAINT k PRIMARY KEY (n)", 3),
    "make a unique index the primary key": ("ALTER TABLE keyless_notes ADD PRIMARY KEY USING INDEX one_note", 3),
    "make a unique index the primary key, beside a column": (
        "ALTER TABLE keyless_notes ADD PRIMARY KEY USING INDEX one_note, ADD COLUMN z text",
        4,
    ),
    "make a unique index a constraint, beside a column": (
        "ALTER TABLE keyless_notes ADD CONSTRAINT u UNIQUE USING INDEX one_note, ADD COLUMN z text",
        3,
    ),
    "drop a primary key": ("ALTER TABLE notes DROP CONSTRAINT notes_pkey, ALTER n DROP NOT NULL", 3),
    "exchange the primary key": (
        "ALTER TABLE notes DROP CONSTRAINT notes_pkey, ADD CONSTRAINT k PRIMARY KEY (n, at)",
        5,
    ),
    "drop a column of the primary key": ("ALTER TABLE notes DROP n", 4),
    "spread hidden row ids": ("ALTER TABLE notes SET (sharding_key = 'at')", 5),
    "drop a table without a primary key": ("DROP TABLE keyless_notes", 2),
    "comment on a table": ("COMMENT ON TABLE people IS 'who they are'", 1),
    "comment on a column": ("COMMENT ON COLUMN people.town IS NULL", 1),
    "comment on an index": ("COMMENT ON INDEX by_age IS 'it''s by age'", 1),
    "comment on a unique": ("COMMENT ON CONSTRAINT one_name ON people IS 'one'", 1),
    "comment on a check": ("COMMENT ON CONSTRAINT grown ON people IS 'adults'", 1),
    "comment on the primary key": ("COMMENT ON CONSTRAINT people_pkey ON people IS 'key'", 1),
    "not null and a default": ("ALTER TABLE people ALTER town SET NOT NULL, ALTER town SET DEFAULT ''", 2),
}
"""A statement of every kind, and how many versions it takes."""


@cache
def every_plan() -> Mapping[str, Plan]:
    """A plan of every kind, by name; seven modules ask when they are collected."""
    return MappingProxyType({name: _plan_of(sql) for name, (sql, _) in KINDS.items()})


def _plan_of(sql: str) -> Plan:
    if sql.startswith("CREATE TABLE"):
        return planned(sql, None)
    if "keyless_notes" in sql:
        return planned(sql.replace("keyless_notes", "notes"), keyless_notes())
    return planned(sql, notes() if " notes " in sql else people())
