"""Types of which no index is made: refused by name, wherever a key or an index could have one."""

import pytest

from changes.ddl.errors import DdlError
from tests.changes.tables import planned

TABLE = "CREATE TABLE papers (id int PRIMARY KEY, j json, b jsonb, n int)"


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
        ("ALTER TABLE papers SET (sharding_key = b)", "42804", "does not spread rows by it"),
    ],
)
def test_a_change_is_refused(statement: str, sqlstate: str, message: str) -> None:
    with pytest.raises(DdlError) as refusal:
        planned(statement, planned(TABLE, None).result)
    assert (refusal.value.sqlstate, message in str(refusal.value)) == (sqlstate, True)


def test_a_predicate_of_an_index_may_ask_about_a_document() -> None:
    before = planned(TABLE, None).result
    assert planned("CREATE INDEX i ON papers (n) WHERE b ? 'a' AND j ->> 'k' = 'x'", before).result.indexes
