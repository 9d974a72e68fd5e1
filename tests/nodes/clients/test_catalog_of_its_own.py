"""The catalog about itself and about those who ask: its relations, rights, locks, sessions, words, descriptions."""

from typing import Any

import psycopg
import pytest

from nodes.catalog_views.relations import RELATIONS
from tests.nodes.conftest import Cluster


def both(cluster: Cluster, n1: "psycopg.Connection[Any]", sql: str) -> list[Any]:
    """The rows, or the code of the error, on the node and on the real server."""
    found: list[Any] = []
    with cluster.store() as theirs:
        for connection in (n1, theirs):
            try:
                found.append(connection.execute(sql.encode()).fetchall())
            except psycopg.Error as error:
                found.append(error.sqlstate)
    return found


@pytest.mark.parametrize("facts", [
    "relname, relnamespace::regnamespace::text, relkind, relnatts, relam, pg_table_is_visible(c.oid),"
    " c.oid::regclass::text",
    "relname, (SELECT array_agg(attname::text ORDER BY attnum) FROM pg_attribute a"
    " WHERE attrelid = c.oid AND attnum > 0 AND attnotnull) AS required",
])  # fmt: skip
def test_relations_of_the_catalog_are_in_it_as_in_postgresql(
    cluster: Cluster, n1: "psycopg.Connection[Any]", facts: str
) -> None:
    asked = (
        f"SELECT {facts} FROM pg_class c WHERE relname = ANY(%s) AND relnamespace::regnamespace::text = %s ORDER BY 1"
    )
    for schema in ("pg_catalog", "information_schema"):
        names = [key.removeprefix(f"{schema}.") for key in RELATIONS if ("." in key) == (schema != "pg_catalog")]
        names = [name for name in names if "." not in name]
        expected = cluster.read(asked, [names, schema])
        assert len(expected) == len(names)
        assert n1.execute(asked, [names, schema]).fetchall() == expected


def test_views_of_our_own_are_in_it_and_named_with_their_schema(n1: "psycopg.Connection[Any]") -> None:
    asked = """SELECT relname, relkind, pg_table_is_visible(c.oid), 'schemalab.leases'::regclass = c.oid
      FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = 'schemalab' ORDER BY 1"""
    names = ["changes", "elements", "leases", "nodes", "versions"]
    assert n1.execute(asked).fetchall() == [(name, "v", False, name == "leases") for name in names]


@pytest.mark.parametrize("sql", [
    "SELECT has_table_privilege('pg_class', 'SELECT'), has_table_privilege('pg_class'::regclass, 'select, insert')",
    "SELECT has_table_privilege(current_user, 'pg_class', 'SELECT')",
    "SELECT has_table_privilege('nowhere', 'SELECT')", "SELECT has_table_privilege('pg_class', 'READ')",
    "SELECT has_table_privilege('pg_class', 'USAGE')", "SELECT has_table_privilege(NULL, 'SELECT')",
    "SELECT has_any_column_privilege('pg_class', 'SELECT'), has_column_privilege('pg_class', 'oid', 'SELECT')",
    "SELECT has_column_privilege('pg_class', 1::int2, 'SELECT')",
    "SELECT has_schema_privilege('public', 'USAGE'), has_schema_privilege(current_user, 'public', 'create')",
    "SELECT has_schema_privilege('nowhere', 'USAGE')", "SELECT has_schema_privilege('public', 'SELECT')",
    "SELECT has_function_privilege(1299, 'EXECUTE'), has_type_privilege(23, 'usage')",
    "SELECT pg_has_role(current_user, 'READ')", "SELECT pg_has_role(10, 'USAGE') IS NOT NULL",
    "SELECT parse_ident(x) FROM (VALUES ('a'), ('A.b'), ('\"A b\".c'), (' a . \"x\"\"y\" '), (NULL), ('é.f1$')) v(x)",
    "SELECT parse_ident('a.')", "SELECT parse_ident('1a')", "SELECT parse_ident('a-b')", "SELECT parse_ident('')",
    "SELECT * FROM upper('x')", "SELECT * FROM upper('x') AS u(w)", "SELECT l FROM lower('X') AS l",
    "SELECT v.x, u FROM (VALUES ('a'), ('b')) v(x), upper(v.x) u ORDER BY 1",
    "SELECT * FROM current_date d WHERE d IS NULL",
    "SELECT * FROM upper('x') WITH ORDINALITY", "SELECT x.n, y FROM upper('x') WITH ORDINALITY x(y, n)",
    "SELECT s[i] FROM generate_series(1, 2) i, string_to_array('a,b', ',') s ORDER BY i",
    "SELECT count(*) FROM current_schema()", "SELECT * FROM current_schema()", "SELECT s.s FROM current_schema() AS s",
    "SELECT x FROM (VALUES ('public'), ('x')) v(x) WHERE x = ANY(current_schemas(false))",
    "SELECT current_schemas(true)", "SELECT n, d IS NULL FROM current_schema() AS c(n), current_user AS d",
    "SELECT * FROM pg_options_to_table(NULL)", "SELECT count(*) FROM pg_partition_tree(NULL::regclass)",
    "SELECT word, catcode, catdesc FROM pg_get_keywords() ORDER BY 1", "SELECT * FROM pg_get_keywords",
    "SELECT count(*) > 100 FROM pg_show_all_settings()",
    "SELECT character_set_name FROM information_schema.character_sets",
    "SELECT count(*) FROM pg_type WHERE oid IN (SELECT enumtypid FROM pg_enum)",
    "SELECT typname FROM pg_type t WHERE oid IN (SELECT typelem FROM pg_type WHERE typname = '_int4')",
    "SELECT obj_description(551, 'pg_proc'), obj_description(96, 'pg_operator'), obj_description(2200, 'pg_namespace')",
    "SELECT opfname FROM pg_opfamily f JOIN pg_opclass c ON opcfamily = f.oid WHERE opcintype = 23 AND opcmethod = 403",
    "SELECT pg_relation_is_updatable('pg_class'::regclass, true) IS NOT NULL",
    "SELECT pg_size_pretty(x) FROM (VALUES (0.5), (-10239), (10240), (10751.9), (10752), (-123456789), (20971519),"
    " (1e15), (1e30), (-1e20), ('NaN'), (NULL::numeric), (10484736), (1.50)) v(x)",
    "SELECT ssl, pid = pg_backend_pid() FROM pg_stat_ssl WHERE pid = pg_backend_pid()",
    "SELECT gss_authenticated, encrypted FROM pg_stat_gssapi WHERE pid = pg_backend_pid()",
])  # fmt: skip
def test_questions_of_tools(cluster: Cluster, n1: "psycopg.Connection[Any]", sql: str) -> None:
    found, expected = both(cluster, n1, sql)
    assert found == expected


def test_descriptions_are_those_of_postgresql(cluster: Cluster, n1: "psycopg.Connection[Any]") -> None:
    asked = (
        "SELECT classoid::regclass::text, objoid, description FROM pg_description WHERE objsubid = 0 AND objoid < 16000"
    )
    found = set(n1.execute(asked).fetchall())
    assert len(found) > 1000
    assert found <= set(cluster.read(asked))


def test_locks_that_sessions_take_are_seen_on_every_node(cluster: Cluster, n1: "psycopg.Connection[Any]") -> None:
    asked = """SELECT classid, objid, objsubid, mode, granted FROM pg_locks
      WHERE locktype = 'advisory' AND objid IN (7001, 7002) ORDER BY objid"""
    with cluster.connect("n2") as other:
        n1.execute("SELECT pg_advisory_lock(7001)")
        n1.execute("SELECT pg_advisory_lock_shared(7002 + (3::bigint << 32))")
        try:
            expected = [(0, 7001, 1, "ExclusiveLock", True), (3, 7002, 1, "ShareLock", True)]
            assert other.execute(asked).fetchall() == expected
        finally:
            n1.execute("SELECT pg_advisory_unlock_all()")
        assert other.execute(asked).fetchall() == []


def test_sessions_of_a_node_are_seen_in_it(cluster: Cluster, n1: "psycopg.Connection[Any]") -> None:
    asked = """SELECT pid, usename, state, backend_start <= now(), query FROM pg_stat_activity
      WHERE application_name = 'seen' ORDER BY backend_start"""
    with cluster.connect(application_name="seen") as first, cluster.connect(application_name="seen") as second:
        first.execute("BEGIN")
        pids = [connection.execute("SELECT pg_backend_pid()").fetchone()[0] for connection in (first, second)]
        states = ["idle in transaction", "active"]
        expected = [(pid, "tester", state, True, None) for pid, state in zip(pids, states, strict=True)]
        assert second.execute(asked).fetchall() == expected
        first.execute("ROLLBACK")
    assert n1.execute(asked).fetchall() == []


def test_a_table_is_there_where_postgresql_counts_and_has_no_counts(
    cluster: Cluster, n1: "psycopg.Connection[Any]"
) -> None:
    table = cluster.table("id int primary key, v text")
    asked = f"SELECT relid = '{table}'::regclass, n_live_tup, last_analyze"
    asked += f" FROM pg_stat_user_tables WHERE relname = '{table}'"
    assert n1.execute(asked).fetchall() == [(True, None, None)]
    asked = f"SELECT indexrelname, idx_scan FROM pg_stat_user_indexes WHERE relname = '{table}'"
    assert n1.execute(asked).fetchall() == [(f"{table}_pkey", None)]


@pytest.mark.parametrize(("sql", "hint"), [
    ("SELECT name FROM pg_timezone_names", "SET timezone"), ("SELECT * FROM pg_timezone_abbrevs", "SET timezone"),
    ("SELECT name FROM pg_catalog.pg_timezone_names()", "SET timezone"),
    ("SELECT * FROM pg_stat_database", "pg_stat_activity"),
    ("SELECT * FROM pg_authid", "pg_roles"), ("SELECT txid_current()", "identity column"),
    ("SELECT pg_current_xact_id()", "identity column"), ("SELECT pg_current_snapshot()", "identity column"),
])  # fmt: skip
def test_what_a_node_cannot_tell_is_refused_with_what_it_can(n1: Any, sql: str, hint: str) -> None:
    with pytest.raises(psycopg.errors.FeatureNotSupported) as caught:
        n1.execute(sql)
    assert hint in (caught.value.diag.message_hint or "")
