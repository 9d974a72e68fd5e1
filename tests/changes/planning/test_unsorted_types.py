"""Types of which no index is made: refused by name, wherever a key or an index could have one."""

import pytest

from changes.ddl.errors import DdlError
from tests.changes.tables import planned

TABLE = "CREATE TABLE papers (id int PRIMARY KEY, j json, b jsonb, n int, a int[], v varchar(3)[])"


@pytest.mark.parametrize(
    ("statement", "sqlstate", "message"),
    [
        ("CREATE TABLE p (b jsonb PRIMARY KEY)", "0A000", "an index over b, a jsonb,"),
        (
            "CREATE TABLE p (id int, j json, PRIMARY KEY (id, j))",
            "42704",
            "data type json has no default operator class",
        ),
        ("CREATE TABLE p (id int PRIMARY KEY, b jsonb UNIQUE)", "0A000", "an index over b, a jsonb,"),
        ("CREATE TABLE p (id int PRIMARY KEY, a int[] UNIQUE)", "0A000", "an index over a, a integer[],"),
        ("CREATE TABLE p (a varchar(3)[] PRIMARY KEY)", "0A000", "an index over a, a varchar(3)[],"),
    ],
)
def test_a_new_table_is_refused(statement: str, sqlstate: str, message: str) -> None:
    with pytest.raises(DdlError) as refusal:
        planned(statement, None)
    assert (refusal.value.sqlstate, message in str(refusal.value)) == (sqlstate, True)


@pytest.mark.parametrize(
    ("statement", "sqlstate", "message"),
    [
        ("CREATE INDEX i ON papers (n, b DESC)", "0A000", "an index over b, a jsonb,"),
        ("CREATE UNIQUE INDEX i ON papers (j)", "42704", "data type json has no default operator class"),
        ("ALTER TABLE papers ADD UNIQUE (b)", "0A000", "an index over b, a jsonb,"),
        ("ALTER TABLE papers ADD c jsonb UNIQUE", "0A000", "an index over c, a jsonb,"),
        ("CREATE INDEX i ON papers (n, a DESC)", "0A000", "an index over a, a integer[],"),
        ("ALTER TABLE papers ADD UNIQUE (a)", "0A000", "an index over a, a integer[],"),
        ("ALTER TABLE papers ADD c text[] UNIQUE", "0A000", "an index over c, a text[],"),
        ("ALTER TABLE papers SET (sharding_key = a)", "42804", "does not spread rows by it"),
        ("ALTER TABLE papers ADD FOREIGN KEY (a) REFERENCES papers (id)", "42804", "integer[] and integer"),
        ("ALTER TABLE papers ALTER a TYPE bigint[]", "0A000", "from integer[] to bigint[]"),
        ("ALTER TABLE papers ALTER a TYPE int", "0A000", "from integer[] to integer"),
        ("ALTER TABLE papers ALTER n TYPE int[]", "0A000", "from integer to integer[]"),
        ("ALTER TABLE papers ALTER v TYPE varchar(2)[]", "0A000", "to varchar(2)[]"),
        ("ALTER TABLE papers ADD c int[] DEFAULT '{a}'", "22P02", "invalid input syntax for type integer"),
        ("ALTER TABLE papers SET (sharding_key = b)", "42804", "does not spread rows by it"),
    ],
)
def test_a_change_is_refused(statement: str, sqlstate: str, message: str) -> None:
    with pytest.raises(DdlError) as refusal:
        planned(statement, planned(TABLE, None).result)
    assert (refusal.value.sqlstate, message in str(refusal.value)) == (sqlstate, True)


@pytest.mark.parametrize("wider", ["varchar(5)[]", "varchar[]", "text[]"])
def test_an_array_becomes_a_longer_one_at_once(wider: str) -> None:
    after = planned(f"ALTER TABLE papers ALTER v TYPE {wider}", planned(TABLE, None).result).result
    assert after.column_named("v").type_name == wider
