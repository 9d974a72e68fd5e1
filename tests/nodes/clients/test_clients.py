"""Real clients: psycopg as it comes, psql and pgbench of PostgreSQL 18."""

import datetime as dt
import uuid
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from tests.nodes.conftest import Cluster, Runner

NINE = (
    "id bigint primary key, i int, f double precision, t text, b boolean, d date, ts timestamp, tz timestamptz, u uuid"
)
ROW = (
    1, -7, 2.5, "a'b\\ü", True, dt.date(2024, 2, 29), dt.datetime.fromisoformat("2024-01-02 03:04:05.000678"),
    dt.datetime(2024, 1, 2, 3, 4, 5, tzinfo=dt.UTC), uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
)  # fmt: skip


def test_psycopg_sends_and_receives_every_type(cluster: Cluster, n1: "psycopg.Connection[Any]") -> None:
    table = cluster.table(NINE)
    n1.execute(f"INSERT INTO {table} VALUES ({', '.join(['%s'] * 9)})", ROW)
    assert n1.execute(f"SELECT * FROM {table} WHERE id = %s", [1]).fetchone() == ROW
    nulls = (2, *[None] * 8)
    n1.execute(f"INSERT INTO {table} VALUES ({', '.join(['%s'] * 9)})", nulls)
    assert n1.execute(f"SELECT * FROM {table} ORDER BY id DESC LIMIT %s", [1]).fetchone() == nulls


def test_psycopg_prepares_executes_many_and_pipelines(cluster: Cluster, n1: "psycopg.Connection[Any]") -> None:
    table = cluster.table("id int primary key, v text")
    with n1.cursor() as cursor:
        cursor.executemany(f"INSERT INTO {table} VALUES (%s, %s)", [(i, f"v{i}") for i in range(50)])
    for i in range(10):
        assert n1.execute(f"SELECT v FROM {table} WHERE id = %s", [i], prepare=True).fetchone() == (f"v{i}",)
    with n1.pipeline():
        cursors = [n1.execute(f"SELECT count(*) FROM {table} WHERE id < %s", [i]) for i in (10, 20)]
    assert [c.fetchone() for c in cursors] == [(10,), (20,)]
    with n1.transaction():
        n1.execute(f"DELETE FROM {table} WHERE id >= %s", [25])
        with pytest.raises(psycopg.errors.UniqueViolation), n1.transaction():
            n1.execute(f"INSERT INTO {table} VALUES (1, 'twice')")
    assert n1.execute(f"SELECT count(*) FROM {table}").fetchone() == (25,)


def test_psycopg_streams_a_large_result(cluster: Cluster, n1: "psycopg.Connection[Any]") -> None:
    with n1.cursor() as cursor:
        total = sum(row[0] for row in cursor.stream("SELECT g FROM generate_series(1, 100000) g"))
    assert total == 5_000_050_000


def test_a_diagnosis_has_its_fields(cluster: Cluster, n1: "psycopg.Connection[Any]") -> None:
    table = cluster.table("id int primary key, v text not null")
    with pytest.raises(psycopg.errors.NotNullViolation) as caught:
        n1.execute(f"INSERT INTO {table} VALUES (1, NULL)")
    told = caught.value.diag
    assert (told.table_name, told.column_name) == (table, "v")
    assert told.message_detail == "Failing row contains (1, null)."
    n1.execute(f"INSERT INTO {table} VALUES (1, 'x')")
    with pytest.raises(psycopg.errors.UniqueViolation) as duplicate:
        n1.execute(f"INSERT INTO {table} VALUES (1, 'y')")
    assert duplicate.value.diag.constraint_name == f"{table}_pkey"
    assert duplicate.value.diag.message_detail == "Key (id)=(1) already exists."


def test_psql_shows_results_and_draws_the_caret(cluster: Cluster, program: Runner) -> None:
    table = cluster.table("id int primary key, v text")
    script = (
        f"insert into {table} values (1, 'ä'), (2, null);\ntable {table};\nselect nope from {table};\n\\echo done\n"
    )
    ran = program("psql", "-X", "-A", "schemalab", stdin=script)
    assert "INSERT 0 2" in ran.stdout
    assert "1|ä\n2|\n(2 rows)" in ran.stdout
    assert 'ERROR:  column "nope" does not exist' in ran.stderr
    assert "LINE 1: select nope from" in ran.stderr
    assert "               ^" in ran.stderr
    assert ran.stdout.endswith("done\n")


@pytest.mark.parametrize("mode", ["simple", "extended", "prepared"])
def test_pgbench_works_without_an_error(cluster: Cluster, program: Runner, tmp_path: Any, mode: str) -> None:
    table = cluster.table("aid int primary key, abalance int not null")
    with cluster.connect() as connection:
        connection.execute(f"INSERT INTO {table} SELECT g, 0 FROM generate_series(1, 50) g")
    script = tmp_path / "script.sql"
    script.write_text(
        "\\set aid random(1, 50)\n\\set delta random(-5, 5)\nBEGIN;\n"
        f"UPDATE {table} SET abalance = abalance + :delta WHERE aid = :aid;\n"
        f"SELECT abalance FROM {table} WHERE aid = :aid;\nEND;\n"
    )
    ran = program(
        "pgbench", "-n", "-M", mode, "-f", str(script), "-c", "2", "-t", "20", "--max-tries", "50", "schemalab"
    )
    assert ran.returncode == 0, ran.stderr
    assert "number of transactions actually processed: 40/40" in ran.stdout
    assert "number of failed transactions: 0" in ran.stdout


def test_a_schema_change_is_followed_step_by_step(
    cluster: Cluster, worker: None, n1: "psycopg.Connection[Any]"
) -> None:
    notices: list[str] = []
    n1.add_notice_handler(lambda told: notices.append(told.message_primary or ""))
    table = cluster.table("id int primary key, v text")
    n1.execute(f"INSERT INTO {table} SELECT g, 'v' || g % 3 FROM generate_series(1, 60) g")
    assert n1.execute(f"CREATE INDEX {table}_v ON {table} (v)").statusmessage == "CREATE INDEX"
    assert any("write-only -> public" in text for text in notices), notices
    lines = [line for (line,) in n1.execute(f"EXPLAIN SELECT id FROM {table} WHERE v = 'v1'")]
    assert lines[:1] == ["Query in PostgreSQL"]
    assert lines[1].startswith(f"  ->  Index Scan using {table}_v on {table}@")
    assert len(n1.execute(f"SELECT id FROM {table} WHERE v = 'v1'").fetchall()) == 20
    n1.execute(f"UPDATE {table} SET v = 'other' WHERE id = 1")
    assert n1.execute(f"SELECT id FROM {table} WHERE v = 'other'").fetchall() == [(1,)]
    n1.execute(f"DROP INDEX {table}_v")
    assert n1.execute(f"SELECT count(*) FROM {table} WHERE v = 'v1'").fetchone() == (19,)


def test_a_unique_index_is_kept(cluster: Cluster, n1: "psycopg.Connection[Any]") -> None:
    table = cluster.table("id int primary key, email text, n int")
    add_unique_index(cluster, table, "email")
    n1.execute(f"INSERT INTO {table} VALUES (1, 'a@x', 1), (2, 'b@x', 2), (3, NULL, 3), (4, NULL, 4)")
    with pytest.raises(psycopg.errors.UniqueViolation) as caught:
        n1.execute(f"INSERT INTO {table} VALUES (5, 'a@x', 5)")
    assert caught.value.diag.message_detail == "Key (email)=(a@x) already exists."
    with pytest.raises(psycopg.errors.UniqueViolation):
        n1.execute(f"UPDATE {table} SET email = 'a@x' WHERE id = 2")
    upsert = (
        f"INSERT INTO {table} VALUES (9, 'a@x', 7) ON CONFLICT (email) DO UPDATE SET n = excluded.n RETURNING id, n"
    )
    assert n1.execute(upsert).fetchone() == (1, 7)
    assert n1.execute(f"INSERT INTO {table} VALUES (9, 'b@x', 7) ON CONFLICT DO NOTHING").rowcount == 0
    n1.execute(f"DELETE FROM {table} WHERE email = 'a@x'")
    n1.execute(f"UPDATE {table} SET email = 'a@x' WHERE id = 2")
    assert n1.execute(f"SELECT id FROM {table} WHERE email = 'a@x'").fetchall() == [(2,)]


def add_unique_index(cluster: Cluster, name: str, column: str) -> None:
    """A public unique index on a table that is empty and not in use: its second version, put where all look."""
    from catalog.descriptor import from_json
    from catalog.elements import Index, IndexColumn
    from catalog.hashing import schema_hash, sharding_hash
    from storage.pair_views import make_sql

    with cluster.store() as store, store.transaction():
        found = "SELECT body FROM catalog_descriptor d JOIN catalog_table t ON t.id = d.table_id WHERE t.name = %s"
        old = from_json(store.execute(found, [name]).fetchone()[0])
        part = IndexColumn(old.column_named(column).id)
        new = old.with_index(Index(old.next_index_id, f"{name}_{column}", (part,), unique=True))
        hashes = [schema_hash(new), sharding_hash(new)]
        store.execute("UPDATE catalog_table SET version = 2 WHERE id = %s", [new.table_id])
        store.execute(
            "INSERT INTO catalog_descriptor (table_id, version, body, schema_hash, sharding_hash, modified_at)"
            " VALUES (%s, 2, %s, %s, %s, now())", [new.table_id, psycopg.types.json.Json(new.to_json()), *hashes],
        )  # fmt: skip
        for number in (1, 2):
            store.execute(f"INSERT INTO storage_{number}.versions VALUES (%s, 2, %s, %s)", [new.table_id, *hashes])
        for statement in make_sql(replace(new, version=2), 2):
            store.execute(statement)


def test_show_tables_lists_them(cluster: Cluster, n1: "psycopg.Connection[Any]") -> None:
    table = cluster.table("id int primary key, v text")
    listed = {row[0]: row[1:] for row in n1.execute("SHOW TABLES")}
    assert listed[table] == ("1", "id integer, v text", None, "PRIMARY KEY (id)")
    assert (table,) in n1.execute("SELECT relname FROM pg_catalog.pg_class").fetchall()
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="pg_authid"):
        n1.execute("SELECT adbin FROM pg_catalog.pg_authid")


def test_a_schema_change_that_cannot_be_is_refused_with_its_place(n1: "psycopg.Connection[Any]") -> None:
    with pytest.raises(psycopg.errors.UndefinedTable) as caught:
        n1.execute("  CREATE INDEX i ON nowhere (x)")
    assert caught.value.diag.statement_position == "21"
