"""Every function that the reader role may call, called: none shows a pair, another person's text or a file."""

from typing import Any

import psycopg
import pytest
from psycopg import sql

from storage.postgres import kv
from storage.reader.role import READER
from tests.storage.reader.conftest import SECRET
from tests.storage.stage import Stage

VALUES = {
    '"any"': "7",
    "anyelement": "7",
    "anynonarray": "7",
    "anycompatible": "7",
    "anycompatiblenonarray": "7",
    "anyarray": "ARRAY[7]",
    "anycompatiblearray": "ARRAY[7]",
    "anyrange": "int4range(1, 7)",
    "anycompatiblerange": "int4range(1, 7)",
    "anymultirange": "'{[1,7)}'::int4multirange",
    "anycompatiblemultirange": "'{[1,7)}'::int4multirange",
    "record": "ROW(7, 'x')",
    "record[]": "ARRAY[ROW(7)]",
    "boolean": "true",
    "bytea": r"'\x0102'",
    "interval": "'1 day'",
    "date": "'2020-01-02'",
    "jsonb": """'{"a": 7}'""",
    "json": """'{"a": 7}'""",
    "jsonpath": "'$.a'",
    "time without time zone": "'10:00'",
    "tsquery": "'a'",
    "time with time zone": "'10:00+00'",
    "timestamp with time zone": "'2020-01-02'",
    "tsvector": "'a b'",
    "timestamp without time zone": "'2020-01-02'",
    "uuid": "'00000000-0000-0000-0000-000000000001'",
    "bit": "B'101'",
    "bit varying": "B'101'",
    "inet": "'10.0.0.1'",
    "cidr": "'10.0.0.0/8'",
    "money": "'1'",
    "macaddr": "'08:00:2b:01:02:03'",
    "macaddr8": "'08:00:2b:01:02:03:04:05'",
    "point": "'(1,2)'",
    "box": "'(1,2),(3,4)'",
    "lseg": "'[(1,2),(3,4)]'",
    "line": "'{1,2,3}'",
    "path": "'[(1,2),(3,4)]'",
    "polygon": "'((1,2),(3,4))'",
    "circle": "'<(1,2),3>'",
    "int4range": "'[1,7)'",
    "xid": "'7'",
    "xid8": "'7'",
    "tid": "'(0,1)'",
    "pg_lsn": "'0/7'",
    "text[]": "ARRAY['a']",
    "pg_snapshot": "'1:7:'",
    "txid_snapshot": "'1:7:'",
    "refcursor": "'earlier'",
}
NUMBERS = ("smallint", "integer", "bigint", "real", "double precision", "numeric")
TEXTS = ("text", "name", "character", "character varying", '"char"', "unknown")
OBJECTS = ("oid", "regclass")


def argument(kind: str, text: str, table: int) -> str:
    """A value of a type; texts and objects are those that an attacker would choose."""
    if kind in NUMBERS:
        return f"3::{kind}"
    if kind in TEXTS:
        return sql.Literal(text).as_string() + f"::{kind}"
    if kind == "cstring":
        return sql.Literal(text).as_string()
    if kind in OBJECTS:
        return f"{table}::{kind}"
    if kind in ("regconfig", "regdictionary"):
        return "'simple'::" + kind
    if kind == '"any"' or kind.startswith("any") or kind == "record":
        return VALUES.get(kind, "NULL")
    return f"{VALUES.get(kind, 'NULL')}::{kind}"


CALLABLE_SQL = f"""
SELECT p.proname, p.prokind, coalesce(a.aggkind, ''), coalesce(a.aggnumdirectargs, 0), p.provariadic <> 0,
    ARRAY(SELECT format_type(t, NULL) FROM unnest(p.proargtypes) WITH ORDINALITY AS given(t, place) ORDER BY place),
    p.oid::regprocedure::text
FROM pg_proc p LEFT JOIN pg_aggregate a ON a.aggfnoid = p.oid
WHERE has_function_privilege('{READER}', p.oid, 'EXECUTE') AND p.pronamespace = 'pg_catalog'::regnamespace
ORDER BY p.oid
"""


def call(function: tuple[Any, ...], text: str, table: int) -> str:
    name, kind, aggregate, direct, is_variadic, types, _ = function
    given = [argument(of, text, table) for of in types]
    if is_variadic and types[-1] != '"any"':
        given[-1] = f"VARIADIC {given[-1]}"
    called = sql.Identifier("pg_catalog", name).as_string()
    if aggregate in ("o", "h"):
        return f"SELECT {called}({', '.join(given[:direct])}) WITHIN GROUP (ORDER BY {', '.join(given[direct:])})"
    over = " OVER ()" if kind == "w" else ""
    return f"SELECT {called}({', '.join(given)}){over}"


def test_no_function_shows_what_is_not_its_callers(stage: Stage, reader: psycopg.Connection[Any]) -> None:
    functions = stage.sql(CALLABLE_SQL)
    [(table,)] = stage.sql("SELECT %s::regclass::oid", [kv(1, stage.table_id)])
    [(folder,)] = stage.sql("SHOW data_directory")
    texts = ["a", kv(1, stage.table_id), f"SELECT value FROM {kv(1, stage.table_id)}", f"{folder}/PG_VERSION"]
    secrets = [SECRET, SECRET.encode().hex(), "PG_VERSION\n"]
    answered, leaks, endless = set(), [], []
    for function in functions:
        for text in texts:
            statement = call(function, text, table)
            try:
                with reader.transaction():
                    rows = reader.execute(statement).fetchmany(1000)
            except psycopg.Error as error:
                told = str(error)
                endless += [statement] if error.sqlstate == "57014" else []
            else:
                answered.add(function[-1])
                told = repr(rows)
            leaks += [statement for secret in secrets if secret in told]
    assert not leaks
    assert not endless
    assert len(answered) > 1800, f"only {len(answered)} of {len(functions)} gave a value: this tries too little"


REFUSED = [
    "table_to_xml('{kv}', true, true, '')",
    "query_to_xml('SELECT 1', true, true, '')",
    "schema_to_xml('storage_1', true, true, '')",
    "database_to_xml(true, true, '')",
    "pg_prepared_statement()",
    "pg_cursor()",
    "pg_stat_get_activity(NULL)",
    "pg_stat_get_backend_activity(1)",
    "pg_stat_get_backend_idset()",
    "pg_show_all_settings()",
    "pg_config()",
    "pg_timezone_names()",
    "to_regclass('{kv}')",
    "has_table_privilege('{kv}', 'SELECT')",
    "pg_relation_filepath('{kv}')",
    "pg_stat_get_live_tuples('{kv}'::regclass)",
    "pg_postmaster_start_time()",
    "txid_current()",
    "pg_current_xact_id()",
    "current_setting('data_directory')",
    "set_config('role', 'none', true)",
    "pg_read_file('PG_VERSION')",
    "pg_ls_dir('.')",
    "pg_sleep(1)",
    "pg_notify('a', 'b')",
    "pg_advisory_xact_lock(1)",
    "pg_export_snapshot()",
    "lo_create(1)",
    "lo_import('/etc/passwd')",
    "pg_terminate_backend(1)",
    "pg_cancel_backend(1)",
    "pg_logical_emit_message(true, 'a', 'b')",
    "ts_stat('SELECT 1')",
    "currtid2('{kv}', '(0,1)')",
    "pg_stat_get_backend_client_addr(1)",
    "pg_get_viewdef('pg_class'::regclass)",
    "setseed(0)",
    "pg_backend_pid()",
    "current_database()",
    "version()",
    "inet_client_addr()",
    "pg_rotate_logfile()",
    "pg_reload_conf()",
]


@pytest.mark.parametrize("called", REFUSED)
def test_a_function_that_shows_or_does_more_is_refused(
    stage: Stage, reader: psycopg.Connection[Any], called: str
) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        reader.execute("SELECT " + called.replace("{kv}", kv(1, stage.table_id)))


ELSEWHERE = [
    "SELECT * FROM {kv}",
    "SELECT * FROM public.django_session",
    "SELECT * FROM pg_catalog.pg_class",
    "SELECT * FROM pg_catalog.pg_stat_activity",
    "SELECT * FROM pg_catalog.pg_prepared_statements",
    "SELECT * FROM pg_catalog.pg_authid",
    "SELECT * FROM information_schema.tables",
    "CREATE SCHEMA mine",
    "DO $$ BEGIN END $$",
    "CREATE FUNCTION pg_temp.f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "CREATE ROLE other",
    "CREATE TABLE public.t (x int)",
    "COPY (SELECT 1) TO PROGRAM 'true'",
    "COPY (SELECT 1) TO '/tmp/x'",
    "SELECT storage_1.enter(1, 1, '', '', 'infinity')",
    "SET ROLE postgres_of_others",
]


@pytest.mark.parametrize("statement", ELSEWHERE)
def test_nothing_else_of_the_database_is_within_reach(
    stage: Stage, reader: psycopg.Connection[Any], statement: str
) -> None:
    with pytest.raises((psycopg.errors.InsufficientPrivilege, psycopg.errors.InvalidParameterValue)):
        reader.execute(statement.replace("{kv}", kv(1, stage.table_id)))


def test_no_relation_of_the_catalog_is_readable(stage: Stage) -> None:
    readable = stage.sql(
        "SELECT oid::regclass::text FROM pg_class WHERE relkind IN ('r', 'v', 'm', 'p', 'f', 'S')"
        f" AND has_schema_privilege('{READER}', relnamespace, 'USAGE')"
        f" AND (CASE WHEN relkind = 'S' THEN has_sequence_privilege('{READER}', oid, 'USAGE, SELECT, UPDATE')"
        f" ELSE has_any_column_privilege('{READER}', oid, 'SELECT, INSERT, UPDATE, REFERENCES') END)"
    )
    assert readable == []
