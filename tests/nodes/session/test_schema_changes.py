"""Schema changes sent to a node, as a client sees them: tags, notices, places of mistakes, and what comes of them."""

from dataclasses import replace
from typing import Any

import psycopg
import pytest
from psycopg import errors

from catalog.elements import ColumnId, Index, IndexColumn, IndexId
from catalog.values.types import SqlType
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


def test_a_varchar_becomes_longer(cluster: Cluster, n1: Any, n2: Any) -> None:
    """As Django's second migration of auth does; the column is unique, and its entries stay as they are."""
    table = cluster.table("id int primary key, code varchar(3) not null unique")
    n1.execute(f"INSERT INTO {table} VALUES (1, 'abc')")
    pairs = cluster.pairs(table)
    assert tag(n1, f'ALTER TABLE "{table}" ALTER COLUMN "code" TYPE varchar(5)') == "ALTER TABLE"
    assert cluster.pairs(table) == pairs
    with pytest.raises(errors.UniqueViolation):
        n2.execute(f"INSERT INTO {table} VALUES (2, 'abc')")
    with pytest.raises(errors.StringDataRightTruncation, match=r"character varying\(5\)"):
        n2.execute(f"INSERT INTO {table} VALUES (2, 'abcdef')")
    n2.execute(f"INSERT INTO {table} VALUES (2, 'abcde')")
    assert tag(n1, f"ALTER TABLE {table} ALTER code TYPE text") == "ALTER TABLE"
    n2.execute(f"INSERT INTO {table} VALUES (3, 'abcdef')")
    with pytest.raises(errors.FeatureNotSupported, match="indexed or constrained") as refused:
        n1.execute(f"ALTER TABLE {table} ALTER code TYPE varchar(4)")
    assert refused.value.diag.message_hint == f"Drop {table}_code_key, change the type, and create it again."
    assert cluster.violations(table) == []


def test_a_version_reads_and_removes_longer_values_than_it_takes(cluster: Cluster, n1: Any, n2: Any) -> None:
    """So does a node of the version before, while others write longer ones: here it has come the other way round."""
    table = cluster.table("id int primary key, code varchar(6) unique, fixed char(6), n int")
    n1.execute(f"INSERT INTO {table} SELECT i, 'abcde' || i, 'abcd' || i, i FROM generate_series(1, 4) i")
    now = cluster.descriptor(table)
    shorter = tuple(c if c.length is None else replace(c, length=2) for c in now.columns)
    cluster.publish(now.next_version(columns=shorter))
    row = n2.execute(f"SELECT code, fixed FROM {table} WHERE code = 'abcde1'").fetchone()
    assert row == ("abcde1", "abcd1")
    binary = n2.execute(f"SELECT code, fixed, upper(code) FROM {table} ORDER BY code", binary=True).fetchall()
    assert binary[3] == ("abcde4", "abcd4", "ABCDE4")
    assert n2.execute(f"UPDATE {table} SET n = n + 1 WHERE code > 'abcde2'").rowcount == 2
    assert n2.execute(f"UPDATE {table} SET id = 9 WHERE id = 4 RETURNING code").fetchone() == ("abcde4",)
    assert n2.execute(f"UPDATE {table} SET code = 'xy' WHERE id = 2").rowcount == 1
    assert n2.execute(f"DELETE FROM {table} WHERE code = 'abcde1'").rowcount == 1
    with pytest.raises(errors.StringDataRightTruncation):
        n2.execute(f"INSERT INTO {table} (id, code) VALUES (5, 'abc')")
    assert n2.execute(f"SELECT id, code, n FROM {table} ORDER BY id").fetchall() == [
        (2, "xy", 2), (3, "abcde3", 4), (9, "abcde4", 5),
    ]  # fmt: skip
    assert cluster.violations(table) == []


def test_a_timestamp_keeps_more_digits_and_then_fewer(cluster: Cluster, n1: Any, n2: Any) -> None:
    """More of them are one version that leaves pairs and entries as they are; fewer are rounded by the fill."""
    table = cluster.table("id int primary key, at timestamp(0) not null unique, there timestamptz(0)")
    n1.execute(f"INSERT INTO {table} VALUES (1, '2024-01-01 00:00:00.5', '1999-12-31 23:59:59.5Z')")
    pairs = cluster.pairs(table)
    both = "ALTER COLUMN at TYPE timestamp(3), ALTER there TYPE timestamptz"
    assert tag(n1, f"ALTER TABLE {table} {both}") == "ALTER TABLE"
    assert cluster.pairs(table) == pairs
    with pytest.raises(errors.UniqueViolation):
        n2.execute(f"INSERT INTO {table} VALUES (2, '2024-01-01 00:00:01.0004')")
    n2.execute(f"INSERT INTO {table} VALUES (2, '2024-01-01 00:00:01.0005', '1999-12-31 23:59:59.4999Z')")
    assert n1.execute(f"SELECT id FROM {table} WHERE at = '2024-01-01 00:00:01.001'").fetchall() == [(2,)]
    with pytest.raises(errors.FeatureNotSupported, match="indexed or constrained"):
        n1.execute(f"ALTER TABLE {table} ALTER at TYPE timestamp(0)")
    assert tag(n1, f"ALTER TABLE {table} ALTER there TYPE timestamptz(2)") == "ALTER TABLE"
    n2.execute(f"INSERT INTO {table} VALUES (3, '2024-01-01 00:00:02', '2024-01-01 00:00:00.995Z')")
    assert n2.execute(f"SELECT id, at::text, there::text FROM {table} ORDER BY id").fetchall() == [
        (1, "2024-01-01 00:00:01", "1999-12-31 23:59:59+00"),
        (2, "2024-01-01 00:00:01.001", "1999-12-31 23:59:59.5+00"),
        (3, "2024-01-01 00:00:02", "2024-01-01 00:00:01+00"),
    ]
    assert cluster.violations(table) == []


def test_a_version_reads_and_removes_more_digits_than_it_keeps(cluster: Cluster, n1: Any, n2: Any) -> None:
    """So does a node of the version before, while others write more of them."""
    table = cluster.table("id int primary key, at timestamp unique, n int")
    n1.execute(f"INSERT INTO {table} SELECT i, timestamp '2024-01-01 00:00:00.5' + i * interval '1 s', i FROM"
               " generate_series(1, 4) i")  # fmt: skip
    now = cluster.descriptor(table)
    columns = tuple(replace(c, length=0) if c.name == "at" else c for c in now.columns)
    cluster.publish(now.next_version(columns=columns))
    assert n2.execute(f"SELECT id FROM {table} WHERE at = '2024-01-01 00:00:01.5'").fetchall() == [(1,)]
    assert n2.execute(f"UPDATE {table} SET n = n + 1 WHERE at > '2024-01-01 00:00:03'").rowcount == 2
    assert n2.execute(f"UPDATE {table} SET id = 9 WHERE id = 4 RETURNING at::text").fetchone() == (
        "2024-01-01 00:00:04.5",
    )
    assert n2.execute(f"UPDATE {table} SET at = at WHERE id = 2 RETURNING at::text").fetchone() == (
        "2024-01-01 00:00:03",
    )
    assert n2.execute(f"DELETE FROM {table} WHERE at = '2024-01-01 00:00:01.5'").rowcount == 1
    assert cluster.violations(table) == []


def test_more_than_six_digits_are_six_and_the_client_is_told(n1: Any, cluster: Cluster) -> None:
    table = cluster.table("id int primary key, at timestamp(7)")
    assert cluster.descriptor(table).column_named("at").type_name == "timestamp(6)"
    notices = told(n1, f"ALTER TABLE {table} ADD there timestamptz(9)")
    warning = "TIMESTAMP(9) WITH TIME ZONE precision reduced to maximum allowed, 6"
    assert [notice for notice in notices if notice[0] == "WARNING"] == [("WARNING", "22023", warning)]


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
    pytest.param("ALTER TABLE {} ADD COLUMN c int DEFAULT random()", "0A000", "DEFAULT", id="a default that varies"),
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


def test_a_column_of_another_type_keeps_its_number(cluster: Cluster, n1: Any, n2: Any) -> None:
    """What reads the order of columns in the catalog finds the one in which SELECT and INSERT have them."""
    table = cluster.table("id int PRIMARY KEY, a text UNIQUE, b varchar(9), c int CHECK (c > 0)")
    n1.execute(f"INSERT INTO {table} VALUES (1, 'a', '7', 3)")
    for change in ("ALTER b TYPE int USING b::int", "ALTER b TYPE bigint", "ADD d int", "DROP c", "ADD c text"):
        n1.execute(f"ALTER TABLE {table} {change}")
    for node in (n1, n2):
        shown = node.execute(f"SELECT * FROM {table}")
        names = [column.name for column in shown.description]
        numbers = [shown.pgresult.ftablecol(place) for place in range(len(names))]
        assert names == ["id", "a", "b", "d", "c"]
        assert numbers == sorted(numbers)
        of_table = f"WHERE attrelid = '{table}'::regclass AND attnum > 0 ORDER BY attnum"
        listed = node.execute(f"SELECT attname, attnum FROM pg_attribute {of_table}").fetchall()
        assert listed == [*zip(names, numbers, strict=True)]
        ordered = f"WHERE table_name = '{table}' ORDER BY ordinal_position"
        standard = node.execute(f"SELECT column_name, ordinal_position FROM information_schema.columns {ordered}")
        assert standard.fetchall() == listed
    assert numbers[:3] == [1, 2, 3]
    n1.execute(f"CREATE INDEX ON {table} (b, d)")
    indexed = f"SELECT array_to_string(indkey::int[], ' ') FROM pg_index WHERE indexrelid = '{table}_b_d_idx'::regclass"
    assert n2.execute(indexed).fetchone() == (f"3 {numbers[3]}",)
    n1.execute(f"COMMENT ON COLUMN {table}.b IS 'once a text'")
    assert n2.execute(f"SELECT col_description('{table}'::regclass, 3)").fetchone() == ("once a text",)
    with n1.transaction():
        n1.execute(f"CREATE TABLE {table}_own (id int PRIMARY KEY, a text, b text)")
        n1.execute(f"ALTER TABLE {table}_own ALTER a TYPE varchar(3)")
        own = (
            f"SELECT attname FROM pg_attribute WHERE attrelid = '{table}_own'::regclass AND attnum > 0 ORDER BY attnum"
        )
        assert n1.execute(own).fetchall() == [("id",), ("a",), ("b",)]
    assert cluster.violations(table) == []
