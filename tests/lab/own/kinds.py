"""Every kind of change that has a model, on tables of somebody's own."""

from lab.own.cases import Cases, cases_of
from lab.own.statements import planned

TABLES = """
CREATE TABLE airports (faa text PRIMARY KEY);
CREATE TABLE flights (id bigint PRIMARY KEY, dest text, carrier text, seats int, leads_to bigint);
CREATE INDEX by_carrier ON flights (carrier);
ALTER TABLE flights ADD CONSTRAINT has_seats CHECK (seats > 0);
ALTER TABLE flights ADD CONSTRAINT of_airport FOREIGN KEY (carrier) REFERENCES airports (faa);
CREATE TABLE crews (id bigint PRIMARY KEY, size int NOT NULL DEFAULT 3, badge int UNIQUE, "Odd Name" int);
"""

KINDS = {
    "a table": "CREATE TABLE bags (tag int PRIMARY KEY, owner text)",
    "a table dropped": "DROP TABLE crews",
    "an index": "CREATE INDEX by_dest ON flights (dest)",
    "an index dropped": "DROP INDEX by_carrier",
    "a unique index": "CREATE UNIQUE INDEX by_both ON flights (dest, carrier)",
    "a partial index": "CREATE INDEX big ON flights (dest) WHERE seats > 200",
    "an optional column": "ALTER TABLE flights ADD COLUMN note text",
    "an optional column dropped": "ALTER TABLE flights DROP COLUMN dest",
    "a required column": "ALTER TABLE flights ADD COLUMN gate text NOT NULL DEFAULT 'A1'",
    "a column and its check": "ALTER TABLE flights ADD COLUMN gate text DEFAULT 'A1' CHECK (gate <> '')",
    "a column and its unique index": "ALTER TABLE flights ADD COLUMN code text UNIQUE",
    "a column and its foreign key": "ALTER TABLE flights ADD COLUMN via text REFERENCES airports",
    "a column and its unique index dropped": "ALTER TABLE crews DROP COLUMN badge",
    "a column that is not null dropped": "ALTER TABLE crews DROP COLUMN size",
    "not null": "ALTER TABLE flights ALTER dest SET NOT NULL",
    "not null dropped": "ALTER TABLE crews ALTER size DROP NOT NULL",
    "a check": "ALTER TABLE flights ADD CONSTRAINT few CHECK (seats < 900)",
    "a check dropped": "ALTER TABLE flights DROP CONSTRAINT has_seats",
    "a foreign key": "ALTER TABLE flights ADD CONSTRAINT goes_to FOREIGN KEY (dest) REFERENCES airports",
    "a foreign key dropped": "ALTER TABLE flights DROP CONSTRAINT of_airport",
    "a foreign key to itself": "ALTER TABLE flights ADD CONSTRAINT onward FOREIGN KEY (leads_to) REFERENCES flights",
    "a wider integer": 'ALTER TABLE crews ALTER "Odd Name" TYPE bigint',
    "a type": 'ALTER TABLE crews ALTER "Odd Name" TYPE numeric',
}


def cases(kind: str) -> Cases:
    plan = planned(TABLES + KINDS[kind])[-1].plan
    assert plan is not None
    return cases_of(plan)
