"""The catalog as clients read it: what psql and the drivers ask, and the real server's columns."""

from typing import Any

import psycopg
import pytest
from psycopg.types import TypeInfo

from nodes.catalog_views.relations import RELATIONS
from nodes.wire.oids import table_oid
from tests.nodes.conftest import Cluster, Runner

HSTORE = "SELECT t.oid, typarray FROM pg_type t JOIN pg_namespace ns ON typnamespace = ns.oid WHERE typname = 'hstore';"
"""psycopg2's question, which SQLAlchemy has it ask of each connection."""
FACTS = (
    "typname, typlen, typbyval, typtype, typcategory, typispreferred, typisdefined, typdelim, typalign, typstorage,"
    " typcollation, typtypmod, oid::regtype::text AS shown"
)


def test_relations_have_the_columns_of_postgresql(cluster: Cluster) -> None:
    with cluster.store() as theirs:
        for name, columns in RELATIONS.items():
            rows = theirs.execute(
                "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 ORDER BY attnum",
                [f"pg_catalog.{name}"],
            ).fetchall()
            assert [column.name for column in columns] == [attname for (attname,) in rows], name


def test_types_are_those_of_postgresql(cluster: Cluster, n1: "psycopg.Connection[Any]") -> None:
    ours = n1.execute(f"SELECT {FACTS} FROM pg_type ORDER BY oid").fetchall()
    oids = [oid for (oid,) in n1.execute("SELECT oid FROM pg_catalog.pg_type ORDER BY oid").fetchall()]
    with cluster.store() as theirs:
        assert (
            ours == theirs.execute(f"SELECT {FACTS} FROM pg_type WHERE oid = ANY(%s) ORDER BY oid", [oids]).fetchall()
        )


def test_psql_lists_tables(cluster: Cluster, n1: "psycopg.Connection[Any]", program: Runner) -> None:
    table = cluster.table("id int primary key, v text")
    for command in ("\\dt", "\\d", f"\\dt {table}", "\\dt public.*"):
        ran = program("psql", "-X", "-A", "-t", "schemalab", "-c", command)
        assert f"public|{table}|table|schemalab" in ran.stdout.splitlines(), (command, ran.stderr)
    assert "nothing_there" in program("psql", "-X", "schemalab", "-c", "\\dt nothing_there").stderr
    assert "public|schemalab" in program("psql", "-X", "-A", "-t", "schemalab", "-c", "\\dn").stdout


def test_drivers_find_types(cluster: Cluster, n1: "psycopg.Connection[Any]") -> None:
    assert TypeInfo.fetch(n1, "hstore") is None
    found = TypeInfo.fetch(n1, "timestamp with time zone")
    assert found is not None
    assert (found.name, found.oid, found.regtype) == ("timestamptz", 1184, "timestamp with time zone")
    assert n1.execute(HSTORE).fetchall() == []


def test_a_table_is_found_by_the_oid_of_its_results(cluster: Cluster, n1: "psycopg.Connection[Any]") -> None:
    table = cluster.table("id int primary key, v text not null default 'x'")
    result = n1.execute(f"SELECT v FROM {table}").pgresult
    assert result is not None
    asked = (
        "SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.atthasdef FROM pg_class c"
        " JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.oid = %s AND a.attnum = %s"
    )
    places = [result.ftable(0), result.ftablecol(0)]
    assert places[0] == table_oid(cluster.descriptor(table).table_id)
    assert n1.execute(asked, places).fetchall() == [(table, "v", "text", True, True)]
    assert n1.execute(f"SELECT count(*) FROM pg_class c JOIN {table} t ON c.oid = t.id").fetchone() == (0,)


@pytest.mark.parametrize(("sql", "sqlstate"), [
    ("SELECT * FROM pg_catalog.pg_proc", "0A000"), ("SELECT nothing FROM pg_class", "42703"),
    ("DELETE FROM pg_class", "42P01"), ("SELECT 'a'::regclass", "0A000"),
])  # fmt: skip
def test_what_is_not_there_is_refused(n1: "psycopg.Connection[Any]", sql: str, sqlstate: str) -> None:
    with pytest.raises(psycopg.Error) as caught:
        n1.execute(sql)
    assert caught.value.sqlstate == sqlstate


def test_a_statement_that_writes_does_not_read_it(cluster: Cluster, n1: "psycopg.Connection[Any]") -> None:
    table = cluster.table("id bigint primary key")
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="reading pg_catalog in a statement that writes"):
        n1.execute(f"INSERT INTO {table} SELECT oid FROM pg_class")
