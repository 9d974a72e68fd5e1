"""Questions to the catalog, answered at the shadow: what is there, when, beside what, and what nobody gets by them."""

import time
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from catalog.elements import Index, IndexColumn, State
from tests.nodes.conftest import Cluster
from tests.nodes.raw_client import SYNC, Raw, ask, bind, execute, parse
from tests.nodes.raw_client import rows as rows_sent

PRIMARY_KEYS = """
SELECT NULL AS "TABLE_CAT", n.nspname AS "TABLE_SCHEM", ct.relname AS "TABLE_NAME", a.attname AS "COLUMN_NAME",
  (information_schema._pg_expandarray(i.indkey)).n AS "KEY_SEQ", ci.relname AS "PK_NAME",
  information_schema._pg_expandarray(i.indkey) AS "KEYS", a.attnum AS "A_ATTNUM"
FROM pg_catalog.pg_class ct JOIN pg_catalog.pg_attribute a ON (ct.oid = a.attrelid)
JOIN pg_catalog.pg_namespace n ON (ct.relnamespace = n.oid) JOIN pg_catalog.pg_index i ON (a.attrelid = i.indrelid)
JOIN pg_catalog.pg_class ci ON (ci.oid = i.indexrelid) WHERE true AND ct.relname = '{table}' AND i.indisprimary
"""
"""pgjdbc's getPrimaryKeys."""


def rows(connection: "psycopg.Connection[Any]", sql: str, *values: Any) -> list[Any]:
    return connection.execute(sql.encode(), values or None).fetchall()


def test_primary_keys_are_found_as_the_driver_of_java_asks(cluster: Cluster, n1: Any) -> None:
    table = cluster.table("a int, b text, c int, PRIMARY KEY (c, a)")
    asked = PRIMARY_KEYS.format(table=table)
    outer = f'SELECT "COLUMN_NAME", (r."KEYS").n FROM ({asked}) AS r WHERE "A_ATTNUM" = (r."KEYS").x ORDER BY 2'
    found = rows(n1, outer)
    assert found == [("c", 1), ("a", 2)]
    assert rows(n1, "SELECT information_schema._pg_expandarray('{4,5}'::smallint[])") == [(("4", "1"),), (("5", "2"),)]


def test_what_an_index_can_do_is_told(cluster: Cluster, n1: Any) -> None:
    table = cluster.table("a int PRIMARY KEY", indexes=["(a DESC)"])
    asked = f"SELECT pg_index_column_has_property('{table}_a_idx'::regclass, 1, '{{}}')"
    assert [rows(n1, asked.format(word)) for word in ("asc", "desc", "orderable")] == [[(False,)], [(True,)], [(True,)]]


def test_all_types_of_postgresql_are_there(cluster: Cluster, n1: Any) -> None:
    asked = "SELECT typname, typarray, format_type(oid, NULL) FROM pg_type WHERE typname IN ('inet', 'cidr', 'point')"
    assert sorted(rows(n1, asked)) == sorted(cluster.read(asked))


def test_tables_may_be_called_like_those_of_the_catalog(worker: None, cluster: Cluster, n1: Any) -> None:
    names = ["pg_class", "pg_type", "pg_attribute", "pg_namespace", "pg_constraint", "tables"]
    asked = (
        "SELECT relname, relkind::text FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relname = ANY (%s)"
    )
    try:
        for name in names:
            n1.execute(f"CREATE TABLE {name} (id int PRIMARY KEY, oid int, relname text)")
            n1.execute(f"INSERT INTO public.{name} VALUES (1, 2, 'mine')")
        n1.execute("CREATE INDEX pg_index ON public.pg_type (oid)")
        n1.execute("CREATE VIEW pg_views AS SELECT relname FROM public.pg_class")
        assert sorted(rows(n1, asked, [*names, "pg_index", "pg_views"])) == sorted(
            [*((name, "r") for name in names), ("pg_index", "i"), ("pg_views", "v")]
        )
        assert [rows(n1, f"SELECT relname FROM public.{name}") for name in names] == [[("mine",)]] * len(names)
        assert rows(n1, "SELECT * FROM public.pg_views") == [("mine",)]
        keys = PRIMARY_KEYS.format(table="pg_class")
        mine = """"TABLE_SCHEM" = 'public' AND "A_ATTNUM" = (r."KEYS").x"""
        assert rows(n1, f'SELECT "COLUMN_NAME" FROM ({keys}) AS r WHERE {mine}') == [("id",)]
        n1.execute("ALTER TABLE public.pg_class ADD CONSTRAINT pg_proc UNIQUE (oid)")
        n1.execute("ALTER TABLE public.pg_class RENAME TO pg_database")
        assert rows(n1, "SELECT conrelid::regclass::text FROM pg_constraint WHERE conname = 'pg_proc'") == [
            ("public.pg_database",)
        ]
        assert rows(n1, "SELECT relname FROM public.pg_database") == [("mine",)]
    finally:
        n1.execute("DROP VIEW IF EXISTS public.pg_views")
        for name in (*names, "pg_database"):
            n1.execute(f"DROP TABLE IF EXISTS public.{name}")


def test_what_is_not_public_is_not_there(cluster: Cluster, n1: Any) -> None:
    table = cluster.table("a int PRIMARY KEY, b int")
    known = cluster.descriptor(table)
    asked = f"SELECT indexname FROM pg_indexes WHERE tablename = '{table}' ORDER BY 1"
    index = Index(known.next_index_id, f"{table}_b", (IndexColumn(known.columns[1].id),), state=State.DELETE_ONLY)
    cluster.publish(known.with_index(index))
    assert rows(n1, asked) == [(f"{table}_pkey",)]
    for state in (State.WRITE_ONLY, State.PUBLIC):
        cluster.publish(cluster.descriptor(table).with_index_state(index.id, state))
    assert rows(n1, asked) == [(f"{table}_b",), (f"{table}_pkey",)]


def test_it_shows_a_publish_at_once_on_every_node(cluster: Cluster, n1: Any, n2: Any) -> None:
    for _ in range(5):
        table = cluster.table("a int PRIMARY KEY")
        asked = f"SELECT to_regclass('{table}')::oid"
        first, second = rows(n1, asked), rows(n2, asked)
        assert first == second != [(None,)]


def test_oids_stay_while_a_table_changes(cluster: Cluster, n1: Any) -> None:
    table = cluster.table("a int PRIMARY KEY, b int")
    asked = f"SELECT oid FROM pg_class WHERE relname IN ('{table}', '{table}_pkey') ORDER BY relname"
    before = rows(n1, asked)
    known = cluster.descriptor(table)
    columns = tuple(replace(c, default="7") if c.name == "b" else c for c in known.columns)
    cluster.publish(known.next_version(columns=columns))
    assert rows(n1, asked) == before
    asked = f"SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = '{table}'::regclass"
    assert rows(n1, asked) == [("7",)]


def test_results_name_the_tables_and_columns_of_the_catalog(cluster: Cluster, n1: Any, n2: Any) -> None:
    table = cluster.table("a int PRIMARY KEY, b text")
    for node in (n1, n2):
        result = node.execute(f"SELECT b, a, 1 FROM {table}").pgresult
        oid = rows(node, f"SELECT '{table}'::regclass::oid")[0][0]
        assert [(result.ftable(i), result.ftablecol(i)) for i in range(3)] == [(oid, 2), (oid, 1), (0, 0)]


def test_a_question_over_the_catalog_and_rows_is_refused_by_name(cluster: Cluster, n1: Any) -> None:
    table = cluster.table("a int PRIMARY KEY")
    for sql in (
        f"SELECT relname, a FROM pg_class, {table}",
        f"SELECT a, (SELECT count(*) FROM information_schema.tables) FROM {table}",
        f"WITH x AS (SELECT a FROM {table}) SELECT * FROM x JOIN pg_type ON oid = a",
        f"SELECT a FROM {table} WHERE a = '{table}'::regclass",
        f"SELECT pg_get_constraintdef(a) FROM {table}",
        f"SELECT to_regclass('{table}') FROM {table}",
    ):
        with pytest.raises(psycopg.errors.FeatureNotSupported, match=f'beside "{table}" in one statement'):
            n1.execute(sql)
    named = f"WITH {table} AS (SELECT 1 AS a) SELECT relname, a FROM pg_class, {table} WHERE relname = 'pg_class'"
    assert rows(n1, named) == [("pg_class", 1)]


def test_names_of_types_stand_beside_rows(cluster: Cluster, n1: Any) -> None:
    table = cluster.table("a int PRIMARY KEY, b numeric")
    n1.execute(f"INSERT INTO {table} VALUES (1, 2)")
    asked = f"SELECT pg_typeof(a)::text, pg_typeof(b) = 'numeric'::regtype, format_type(23, NULL) FROM {table}"
    assert rows(n1, asked) == [("integer", True, "integer")]


def test_a_view_may_ask_the_catalog(cluster: Cluster, n1: Any) -> None:
    table, view = cluster.table("a int PRIMARY KEY"), f"v{next(cluster.serial)}"
    n1.execute(f"CREATE VIEW {view} AS SELECT relname, oid FROM pg_class WHERE relname = '{table}'")
    try:
        assert rows(n1, f"SELECT relname, oid FROM {view}") == rows(n1, f"SELECT '{table}', '{table}'::regclass::oid")
        assert rows(n1, f"SELECT count(*) FROM {view} WHERE relname = %s", table) == [(1,)]
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="in one statement"):
            n1.execute(f"SELECT * FROM {view}, {table}")
    finally:
        n1.execute(f"DROP VIEW {view}")


def test_a_transaction_asks_about_the_tables_that_it_has_made(cluster: Cluster) -> None:
    with cluster.connect() as connection:
        name = f"made_{next(cluster.serial)}"
        asked = f"SELECT count(*) FROM information_schema.columns WHERE table_name = '{name}'"
        with connection.transaction():
            connection.execute(f"CREATE TABLE {name} (a int PRIMARY KEY, b text)")
            assert rows(connection, asked) == [(2,)]
            with cluster.connect() as other:
                assert rows(other, asked) == [(0,)]
        assert rows(connection, asked) == [(2,)]


def test_questions_in_a_block_leave_it_as_it_was(cluster: Cluster) -> None:
    table = cluster.table("a int PRIMARY KEY")
    with cluster.connect() as connection:
        with pytest.raises(psycopg.errors.UndefinedColumn), connection.transaction():
            connection.execute("SELECT nope FROM pg_class")
        with connection.transaction():
            connection.execute(f"INSERT INTO {table} VALUES (1)")
            assert rows(connection, f"SELECT count(*) FROM pg_class WHERE relname = '{table}'") == [(1,)]
        assert rows(connection, f"SELECT a FROM {table}") == [(1,)]


def test_the_place_of_an_error_is_in_the_clients_text(n1: Any) -> None:
    sql = "SELECT current_user, setting FROM pg_settings WHERE nope = 1"
    with pytest.raises(psycopg.errors.UndefinedColumn) as caught:
        n1.execute(sql)
    assert int(caught.value.diag.statement_position or 0) == sql.index("nope") + 1


def test_values_of_the_session_stand_in_questions_to_the_catalog(cluster: Cluster, n1: Any) -> None:
    n1.execute("SET TimeZone = 'Asia/Tokyo'")
    asked = """SELECT current_user, session_user, current_database(), pg_backend_pid(), current_setting('timezone'),
      current_setting('nope.nope', true), version() FROM pg_class WHERE relname = 'pg_class'"""
    found = rows(n1, asked)
    pid, version = rows(n1, "SELECT pg_backend_pid(), version()")[0]
    assert found == [("tester", "tester", "schemalab", pid, "Asia/Tokyo", None, version)]
    shown = n1.execute("SELECT current_user, version()::text, pg_get_userbyid(relowner) FROM pg_class LIMIT 1")
    assert [column.name for column in shown.description] == ["current_user", "version", "pg_get_userbyid"]
    assert rows(n1, "SELECT setting FROM pg_settings WHERE name = 'TimeZone'") == [("Asia/Tokyo",)]


@pytest.mark.parametrize("binary", [False, True])
def test_parameters_and_results_have_both_forms(cluster: Cluster, n1: Any, binary: bool) -> None:
    table = cluster.table("a int PRIMARY KEY")
    cursor = n1.cursor(binary=binary)
    asked = "SELECT relname, relnatts, oid FROM pg_class WHERE relname = %s AND relnatts = %s"
    found = cursor.execute(asked, [table, 1]).fetchall()
    assert [row[:2] for row in found] == [(table, 1)]


def test_formats_may_differ_from_column_to_column(raw: Raw) -> None:
    sql = "SELECT 'pg_class'::regclass, oid, 7::int4 FROM pg_class WHERE relname = 'pg_class'"
    answered = ask(raw, parse(sql), bind(results=(0, 1, 1)), execute(), SYNC)
    assert rows_sent(answered) == [(b"pg_class", (1259).to_bytes(4), (7).to_bytes(4))]


@pytest.mark.parametrize(("sql", "sent"), [
    ("COPY (SELECT relname, NULL, relkind FROM pg_class WHERE relname = 'pg_class') TO STDOUT", b"pg_class\t\\N\tr\n"),
    ("COPY pg_catalog.pg_am (amname, oid) TO STDOUT (FORMAT csv, HEADER, FORCE_QUOTE (amname))", b'"btree",403\n'),
])  # fmt: skip
def test_answers_can_be_copied(n1: Any, sql: str, sent: bytes) -> None:
    with n1.cursor().copy(sql) as copy:
        assert sent in b"".join(copy)


# -- what nobody gets --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sql", [
    "SELECT set_config('role', relname, false) FROM pg_class",
    "SELECT query_to_xml('SELECT 1', true, true, '') FROM pg_class", "SELECT pg_notify('a', 'b') FROM pg_class",
    "SELECT pg_advisory_lock(1) FROM pg_class", "SELECT pg_sleep(9) FROM pg_class",
    "SELECT pg_terminate_backend(1) FROM pg_class", "SELECT (1).pg_sleep FROM pg_class",
    "SELECT lo_create(0) FROM pg_class", "SELECT * FROM pg_catalog.pg_statistic",
    "SELECT pg_read_file('PG_VERSION') FROM pg_class", "SELECT pg_ls_dir('.') FROM pg_class",
    "SELECT pg_stat_get_activity(NULL) FROM pg_class", "SELECT nextval('x') FROM pg_class",
    "SELECT table_to_xml('pg_class', true, true, '') FROM pg_class", "SELECT ts_stat('SELECT 1') FROM pg_class",
    "SELECT * FROM pg_authid", "SELECT * FROM pg_shadow", "SELECT * FROM pg_stats",
    "SELECT * FROM pg_stat_replication", "SELECT * FROM pg_hba_file_rules", "SELECT * FROM pg_catalog.pg_config",
    "SELECT oid FROM pg_class FOR UPDATE", "SELECT pg_export_snapshot() FROM pg_class",
])  # fmt: skip
def test_texts_that_reach_further_are_refused(n1: Any, sql: str) -> None:
    with pytest.raises((
        psycopg.errors.FeatureNotSupported, psycopg.errors.InsufficientPrivilege, psycopg.errors.UndefinedTable
    )):  # fmt: skip
        n1.execute(sql)
    assert rows(n1, "SELECT count(*) FROM pg_class WHERE relname = 'pg_class'") == [(1,)]


@pytest.mark.parametrize("relation", [
    "pg_database", "pg_roles", "pg_user", "pg_shdescription", "pg_db_role_setting", "pg_stat_activity", "pg_tablespace",
    "pg_prepared_statements", "pg_cursors", "pg_locks", "pg_auth_members", "pg_group",
])  # fmt: skip
def test_nothing_of_the_server_and_of_others_is_seen(cluster: Cluster, n1: Any, relation: str) -> None:
    with cluster.store() as other:
        other.execute("CREATE ROLE secretive")
        try:
            shown = str(rows(n1, f"SELECT to_jsonb(r) FROM {relation} AS r"))
        finally:
            other.execute("DROP ROLE secretive")
    store = conninfo_to_dict(cluster.dsn)
    for word in ("secretive", str(store["dbname"]), "schemalab_shown", "template1"):
        assert word not in shown


def test_a_long_question_is_ended_and_others_are_answered_meanwhile(cluster: Cluster, n1: Any, n2: Any) -> None:
    long = "SELECT count(*) FROM pg_proc a, pg_proc b, pg_proc c"
    with pytest.raises(psycopg.errors.QueryCanceled, match="statement timeout"):
        n1.execute(long)
    with cluster.connect() as other:
        other.execute("SET statement_timeout = '300ms'")
        began = time.monotonic()
        with pytest.raises(psycopg.errors.QueryCanceled):
            other.execute(long)
        assert time.monotonic() - began < 4
    assert rows(n1, "SELECT 'pg_class'::regclass::text") == [("pg_class",)]


def test_an_answer_is_bounded(n1: Any) -> None:
    with pytest.raises(psycopg.errors.ProgramLimitExceeded, match="more than 33554432 bytes"):
        n1.execute("SELECT repeat(repeat('x', 1000), 40000) FROM pg_class WHERE relname = 'pg_class'")
    with pytest.raises(psycopg.errors.ProgramLimitExceeded):
        n1.execute("SELECT a.*, b.* FROM pg_proc a, pg_proc b")
    assert rows(n1, "SELECT 'pg_class'::regclass::text") == [("pg_class",)]


def test_a_shadow_that_is_gone_is_made_again(cluster: Cluster, n1: Any) -> None:
    table = cluster.table("a int PRIMARY KEY, b int")
    asked = f"SELECT oid FROM pg_class WHERE relname = '{table}'"
    before = rows(n1, asked)
    name = f"{conninfo_to_dict(cluster.dsn)['dbname']}_shadow"
    with cluster.store() as store:
        store.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())
    after = rows(n1, asked)
    assert len(after) == 1
    result = n1.execute(f"SELECT b FROM {table} WHERE a = {len(before)}").pgresult
    assert result.ftable(0) == after[0][0]


def test_a_shadow_that_cannot_follow_holds_no_row_back(cluster: Cluster, n1: Any) -> None:
    table = cluster.table("a int PRIMARY KEY, b int")
    assert rows(n1, f"SELECT '{table}'::regclass::text") == [(table,)]
    shadow = make_conninfo(cluster.dsn, dbname=f"{conninfo_to_dict(cluster.dsn)['dbname']}_shadow")
    with psycopg.connect(shadow, autocommit=True) as connection:
        connection.execute(f"ALTER TABLE {table} RENAME TO mislaid".encode())
        cluster.publish(cluster.descriptor(table).next_version(name=f"{table}_new"))
        n1.execute(f"INSERT INTO {table}_new VALUES (1, 2)")
        assert rows(n1, f"SELECT b FROM {table}_new") == [(2,)]
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState, match="cannot show what is published"):
            n1.execute("SELECT count(*) FROM pg_class")
        connection.execute(f"ALTER TABLE mislaid RENAME TO {table}".encode())
    assert rows(n1, f"SELECT '{table}_new'::regclass::text") == [(f"{table}_new",)]


@pytest.mark.parametrize("sql", [
    "CREATE TABLE by_n (id int PRIMARY KEY)",
    "CREATE TABLE only_n (id int PRIMARY KEY)",
    "CREATE TABLE indexed_pkey (id int PRIMARY KEY)",
    "CREATE TABLE own (id int PRIMARY KEY, n int CONSTRAINT own UNIQUE)",
    "CREATE TABLE by_n AS SELECT 1 AS id",
])  # fmt: skip
def test_a_new_table_takes_no_index_s_name_and_the_catalog_goes_on(worker: None, cluster: Cluster, sql: str) -> None:
    asked = "SELECT relkind FROM pg_class WHERE relname = 'by_n'"
    with cluster.connect() as n1:
        n1.execute("CREATE TABLE IF NOT EXISTS indexed (id int PRIMARY KEY, n int CONSTRAINT only_n UNIQUE)")
        n1.execute("CREATE INDEX IF NOT EXISTS by_n ON indexed (n)")
        for begin, end in (("", ""), ("BEGIN", "ROLLBACK")):
            n1.execute(begin)
            with pytest.raises(psycopg.errors.DuplicateTable):
                n1.execute(sql)
            n1.execute(end)
        assert rows(n1, asked) == [("i",)]
