"""Schema changes that move data, sent to a node: what clients of all nodes see afterwards."""

from typing import Any

import psycopg
import pytest
from psycopg import errors

from tests.nodes.conftest import Cluster
from tests.nodes.ddl import cause_of_last_failure, table_of_two_rows, tag, told
from tests.rounds import some_of

pytestmark = pytest.mark.usefixtures("worker")


@pytest.fixture
def table(cluster: Cluster) -> str:
    return table_of_two_rows(cluster)


def test_columns_come_change_and_go(n1: Any, n2: Any, table: str) -> None:
    notices = told(n1, f"ALTER TABLE {table} ADD COLUMN c int NOT NULL DEFAULT 7, ADD CONSTRAINT low CHECK (a < 100)")
    assert all(text.startswith("change ") for _, _, text in notices), notices
    assert len(notices) > 3, "each step is reported"
    assert n2.execute(f"SELECT id, c FROM {table} ORDER BY id").fetchall() == [(1, 7), (2, 7)]
    with pytest.raises(errors.CheckViolation, match='"low"'):
        n2.execute(f"UPDATE {table} SET a = a * 10 WHERE id = 1")
    with pytest.raises(errors.NotNullViolation):
        n2.execute(f"UPDATE {table} SET c = NULL")
    assert tag(n1, f"ALTER TABLE {table} ALTER COLUMN b TYPE text, ALTER COLUMN c SET DEFAULT 8") == "ALTER TABLE"
    assert n2.execute(f"INSERT INTO {table} (id) VALUES (3) RETURNING c").fetchone() == (8,)
    assert tag(n1, f"ALTER TABLE {table} DROP COLUMN c, DROP CONSTRAINT low") == "ALTER TABLE"
    assert n2.execute(f"UPDATE {table} SET a = a * 10 WHERE id = 1").statusmessage == "UPDATE 1"
    with pytest.raises(errors.UndefinedColumn):
        n2.execute(f"SELECT c FROM {table}")


def test_a_unique_partial_index_is_made(cluster: Cluster, n1: Any, n2: Any, table: str) -> None:
    assert tag(n1, f"CREATE UNIQUE INDEX {table}_some ON {table} (a DESC) WHERE b <> 'two'") == "CREATE INDEX"
    assert n2.execute(f"UPDATE {table} SET b = 'three', a = 30 WHERE id = 2").rowcount == 1
    with pytest.raises(errors.UniqueViolation, match=f"{table}_some"):
        n2.execute(f"INSERT INTO {table} VALUES (3, 10, 'three')")
    assert cluster.violations(table) == []


@pytest.mark.parametrize("of", some_of(["double precision", "real"], 2))
def test_a_float_key_that_create_took_is_spread_anew_and_back(cluster: Cluster, n1: Any, n2: Any, of: str) -> None:
    table = cluster.table(f"k {of} PRIMARY KEY, n int")
    n1.execute(f"INSERT INTO {table} VALUES ('-0', 1), ('NaN', 2), ('inf', 3), (0.1, 4), (1e30, 5), (-2.5, 6)")
    before = n1.execute(f"SELECT k::text, n FROM {table} ORDER BY n").fetchall()
    for options in ("storages = 1", "storages = 2", "sharding_key = 'n'", "sharding_key = ''"):
        assert tag(n1, f"ALTER TABLE {table} SET ({options})") == "ALTER TABLE"
        n2.execute(f"INSERT INTO {table} VALUES (7.25, 7) ON CONFLICT (k) DO UPDATE SET n = excluded.n")
        n2.execute(f"DELETE FROM {table} WHERE k = 7.25")
        assert n2.execute(f"SELECT k::text, n FROM {table} ORDER BY n").fetchall() == before
        assert n2.execute(f"SELECT n FROM {table} WHERE k = '0'").fetchone() == (1,)
        assert cluster.violations(table) == []


def test_a_type_changes(cluster: Cluster, n1: Any, n2: Any, table: str) -> None:
    assert tag(n1, f"ALTER TABLE {table} ALTER COLUMN a TYPE bigint") == "ALTER TABLE"
    assert n2.execute(f"UPDATE {table} SET a = a + 3000000000 WHERE id = 1 RETURNING a").fetchone() == (3000000010,)
    assert cluster.violations(table) == []


@pytest.mark.parametrize(("action", "refusal", "says", "rows"), [
    pytest.param("ADD CONSTRAINT high CHECK (a > 10)", errors.CheckViolation, "id = 1.*high", [(1, 10)], id="CHECK",
        marks=pytest.mark.soak),
    pytest.param("ALTER c SET NOT NULL", errors.NotNullViolation, "NULL in c", [(1, None), (2, None)], id="NOT NULL"),
    pytest.param("ADD CONSTRAINT one UNIQUE (d)", errors.UniqueViolation, "id = 1.*id = 2", [(1, 5, 2), (2, 5, 2)],
        id="UNIQUE", marks=pytest.mark.soak),
    pytest.param("ADD e int UNIQUE DEFAULT 1, ADD CHECK (a > 10)", errors.CheckViolation, "a_check", [(1, 10)],
        id="CHECK before UNIQUE", marks=pytest.mark.soak),
    pytest.param("ADD e int DEFAULT 15, ADD CONSTRAINT high CHECK (e > a)", errors.CheckViolation, "id = 2.*high",
        [(2, 20, 15)], id="CHECK of a column that is not there any more"),
    pytest.param("ALTER b TYPE varchar(2)", errors.StringDataRightTruncation, "id = 1: value too long",
        [(1, "one"), (2, "two")], id="values that are too long"),
])  # fmt: skip
def test_a_constraint_that_rows_break_is_not_added(
    cluster: Cluster,
    n1: Any,
    table: str,
    action: str,
    refusal: type[psycopg.Error],
    says: str,
    rows: list[tuple[Any, ...]],
) -> None:
    """And the query that the page offers finds them all: as many as it says."""
    told(n1, f"ALTER TABLE {table} ADD c int, ADD d int DEFAULT 5")
    before = cluster.descriptor(table)
    with pytest.raises(refusal, match=f"(?s)failed and was rolled back.*{says}"):
        n1.execute(f"ALTER TABLE {table} {action}")
    now = cluster.descriptor(table)
    assert (now.columns, now.indexes, now.constraints) == (before.columns, before.indexes, before.constraints)
    cause = cause_of_last_failure(cluster)
    assert sorted(n1.execute(cause["query"]).fetchall(), key=str) == rows
    assert cause["total"] == (1 if refusal is errors.UniqueViolation else len(rows))
    assert len(cause["rows"]) == cause["total"], cause
    assert n1.execute(f"INSERT INTO {table} VALUES (3, 3, 'three')").statusmessage == "INSERT 0 1"


@pytest.mark.parametrize(("of", "values", "misfits"), [
    pytest.param("timestamp", ("9999-12-31 23:59:59.9995", "9999-12-31 23:59:59.999499", "1999-12-31"), [1],
        marks=pytest.mark.soak),
    ("text", ("x", "9999-12-31 23:59:59.9996", "2024-01-01 00:00:00.0005"), [1, 2]),
])  # fmt: skip
def test_a_moment_that_a_precision_would_round_into_the_year_10000_is_named(
    cluster: Cluster, n1: Any, of: str, values: tuple[str, ...], misfits: list[int]
) -> None:
    """PostgreSQL has that year; here the change rolls back, and the query of its page finds the rows."""
    table = cluster.table(f"id int PRIMARY KEY, at {of}")
    for number, value in enumerate(values, 1):
        n1.execute(f"INSERT INTO {table} VALUES (%s, %s)", (number, value))
    with pytest.raises(psycopg.DataError, match="(?s)failed and was rolled back.*id = 1"):
        n1.execute(f"ALTER TABLE {table} ALTER at TYPE timestamp(3) USING at::timestamp(3)")
    cause = cause_of_last_failure(cluster)
    assert [row[0] for row in n1.execute(cause["query"]).fetchall()] == misfits
    assert (cause["total"], cause["rule"]) == (len(misfits), "timestamp(3)")
    n1.execute(f"DELETE FROM {table} WHERE id = ANY (%s)", (misfits,))
    assert tag(n1, f"ALTER TABLE {table} ALTER at TYPE timestamp(3) USING at::timestamp(3)") == "ALTER TABLE"
    assert cluster.violations(table) == []
