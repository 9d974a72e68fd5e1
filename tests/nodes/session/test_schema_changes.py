"""Schema changes sent to a node, as a client sees them: tags, notices, places of mistakes, and what comes of them."""

from typing import Any

import psycopg
import pytest
from psycopg import errors

from catalog.elements import ColumnId, Index, IndexColumn, IndexId
from catalog.types import SqlType
from expressions.rows import canonical
from tests.nodes.conftest import Cluster
from tests.nodes.ddl import table_of_two_rows, tag, told

pytestmark = pytest.mark.usefixtures("worker")


@pytest.fixture
def table(cluster: Cluster) -> str:
    return table_of_two_rows(cluster)


def test_names_change(cluster: Cluster, n1: Any, n2: Any) -> None:
    """And what is written in an index's condition changes with them."""
    table = cluster.table("id int primary key, a int, b text")
    now = cluster.descriptor(table)
    where = canonical(now, "b <> 'two'", returns=SqlType.BOOLEAN, what="an index predicate")
    made = Index(IndexId(1), f"{table}_some", (IndexColumn(ColumnId(2), descending=True),), unique=True, where=where)
    cluster.publish(now.next_version(indexes=(made,), next_index_id=IndexId(2)))
    n1.execute(f"INSERT INTO {table} VALUES (1, 10, 'one'), (2, 20, 'two')")
    assert tag(n1, f"ALTER INDEX {table}_some RENAME TO {table}_few") == "ALTER INDEX"
    assert tag(n1, f"ALTER TABLE {table} RENAME COLUMN b TO word") == "ALTER TABLE"
    assert tag(n1, f"ALTER TABLE {table} RENAME TO {table}_new") == "ALTER TABLE"
    lines = n2.execute(f"EXPLAIN SELECT id FROM {table}_new WHERE word <> 'two' AND a = 10").fetchall()
    assert f"Index Scan using {table}_few on {table}_new@" in str(lines)
    assert "Partial Index: WHERE word <> 'two'" in str(lines)
    with pytest.raises(errors.UniqueViolation, match=f"{table}_few"):
        n2.execute(f"INSERT INTO {table}_new VALUES (3, 10, 'three')")
    sql = f"INSERT INTO {table}_new VALUES (3, 10, 'x') ON CONFLICT (a) WHERE word <> 'two' DO UPDATE SET word = 'met'"
    assert n2.execute(f"{sql} RETURNING id").fetchall() == [(1,)]
    assert cluster.violations(f"{table}_new") == []


def test_a_default_changes(n1: Any, n2: Any, table: str) -> None:
    assert tag(n1, f"ALTER TABLE {table} ALTER COLUMN a SET DEFAULT 8, ALTER b SET DEFAULT 'x'") == "ALTER TABLE"
    assert n2.execute(f"INSERT INTO {table} (id) VALUES (3) RETURNING a, b").fetchone() == (8, "x")
    assert tag(n1, f"ALTER TABLE {table} ALTER COLUMN a DROP DEFAULT") == "ALTER TABLE"
    assert n2.execute(f"INSERT INTO {table} (id) VALUES (4) RETURNING a, b").fetchone() == (None, "x")


def test_each_step_is_reported(n1: Any, table: str) -> None:
    notices = told(n1, f"ALTER TABLE {table} RENAME COLUMN a TO age")
    assert {(severity, code) for severity, code, _ in notices} == {("NOTICE", "00000")}
    texts = [text for _, _, text in notices]
    assert all(text.startswith("change ") for text in texts), texts
    assert any(f"{table} v2 published" in text for text in texts), texts
    assert texts[-1].endswith("is done."), texts


MISTAKES = [
    pytest.param("ALTER TABLE {} DROP COLUMN nosuch", "42703", "nosuch", id="a column that is not there"),
    pytest.param("ALTER TABLE {} RENAME COLUMN a TO b", "42701", None, id="a name that is taken"),
    pytest.param("ALTER TABLE {} ADD CHECK (nosuch > 1)", "42703", "nosuch", id="a check over nothing"),
    pytest.param("ALTER TABLE {} ADD COLUMN c int DEFAULT random()", "0A000", "random", id="a default that varies"),
    pytest.param("ALTER TABLE {} DROP COLUMN id", "0A000", "id", id="the key"),
]


@pytest.mark.parametrize(("sql", "code", "word"), MISTAKES)
def test_a_mistake_is_reported_with_its_place(n1: Any, table: str, sql: str, code: str, word: str | None) -> None:
    """The place counts from the beginning of what the client sent."""
    text = "SELECT 1; /* é */ " + sql.format(table)
    with pytest.raises(psycopg.Error) as caught:
        n1.execute(text)
    assert caught.value.sqlstate == code, caught.value
    if word is not None:
        assert caught.value.diag.statement_position == str(text.rindex(word) + 1)


def test_what_is_not_there_may_be_forgiven(n1: Any, table: str) -> None:
    assert told(n1, "ALTER TABLE IF EXISTS nosuch ADD COLUMN c int") == [
        ("NOTICE", "00000", 'relation "nosuch" does not exist, skipping')
    ]
    assert tag(n1, f"ALTER TABLE {table} DROP COLUMN IF EXISTS nosuch") == "ALTER TABLE"


@pytest.mark.parametrize(("sql", "name"), [
    pytest.param("ALTER TABLE {} ADD COLUMN c int", "ALTER TABLE", id="alter table"),
    pytest.param("ALTER TABLE {} RENAME TO other", "ALTER TABLE", id="rename"),
    pytest.param("CREATE INDEX ON {} (a)", "CREATE INDEX", id="index"),
])  # fmt: skip
def test_no_change_inside_a_transaction(n1: Any, table: str, sql: str, name: str) -> None:
    n1.execute("BEGIN")
    with pytest.raises(errors.FeatureNotSupported, match=f"{name} inside a transaction is not supported"):
        n1.execute(sql.format(table))
    n1.execute("ROLLBACK")
