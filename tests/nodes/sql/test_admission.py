"""Texts that PostgreSQL may run as the reader role, and hostile ones that it may not."""

import re
from pathlib import Path

import postgast
import psycopg
import pytest

from expressions.errors import SqlError
from nodes.sql.admission import INSTEAD, REG_TYPES, FunctionNames, admitted
from storage.reader.role import FUNCTION_NAMES_SQL
from tests.nodes.conftest import Cluster

STATEMENTS = Path(__file__).parents[1] / "statements"


@pytest.fixture(scope="module")
def functions(cluster: Cluster) -> FunctionNames:
    """The names of a database where PUBLIC may call everything."""
    names = cluster.read(FUNCTION_NAMES_SQL)
    allowed = frozenset(name for name, is_allowed in names if is_allowed)
    return FunctionNames(allowed, frozenset(name for name, is_allowed in names if not is_allowed))


def refusal(text: str, functions: FunctionNames | None = None) -> SqlError:
    with pytest.raises(SqlError) as caught:
        admitted(text, functions)
    return caught.value


def code(text: str, functions: FunctionNames) -> str | None:
    """The SQLSTATE of the refusal, None for a text that may run."""
    try:
        admitted(text, functions)
    except SqlError as error:
        return error.sqlstate
    return None


OTHER_STATEMENTS = [
    "SET ROLE schemalab", "RESET ROLE", "RESET ALL", "SET search_path = public", "SET SESSION AUTHORIZATION DEFAULT",
    "DO $$ BEGIN END $$", "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'", "CALL f()", "COMMIT", "BEGIN",
    "CREATE TABLE t (x int)", "DROP TABLE storage_1.kv_7", "TRUNCATE storage_1.kv_7", "LOCK TABLE flights", "LISTEN a",
    "NOTIFY a", "PREPARE p AS SELECT 1", "EXECUTE p", "DECLARE c CURSOR FOR SELECT 1", "VACUUM", "DISCARD ALL",
    "EXPLAIN ANALYZE SELECT 1", "GRANT ALL ON flights TO PUBLIC", "LOAD 'x'", "CREATE TEMP VIEW v AS SELECT 1",
    "REFRESH MATERIALIZED VIEW v", "ALTER SYSTEM SET fsync = off", "SHOW data_directory", "CHECKPOINT",
    "COPY t TO '/tmp/x'", "COPY t FROM '/etc/passwd'", "COPY t FROM PROGRAM 'true'",
    "COPY (SELECT 1) TO PROGRAM 'true'", "SELECT 1; SELECT 2", "SELECT 1; RESET ROLE", "", "SELECT 1 INTO t",
    "SECURITY LABEL ON TABLE t IS 'x'", "IMPORT FOREIGN SCHEMA a FROM SERVER b INTO c",
]  # fmt: skip


@pytest.mark.parametrize("text", OTHER_STATEMENTS)
def test_anything_but_one_statement_over_rows_is_refused(text: str) -> None:
    assert refusal(text).sqlstate in ("0A000", "42501", "42601")


ELSEWHERE = [
    "SELECT * FROM storage_1.kv_7",
    "SELECT * FROM lab.storage_1.kv_7",
    "SELECT * FROM pg_catalog.pg_class",
    "TABLE pg_class",
    "SELECT (SELECT count(*) FROM pg_stat_activity)",
    "WITH w AS (DELETE FROM storage_1.kv_7 RETURNING *) SELECT * FROM w",
    "INSERT INTO storage_1.kv_7 VALUES ('a', 0, 'b')",
    "UPDATE information_schema.tables SET x = 1",
    "MERGE INTO flights USING storage_1.kv_7 AS s ON true WHEN MATCHED THEN DELETE",
    "COPY storage_1.kv_7 TO STDOUT",
    "COPY (SELECT * FROM storage_1.kv_7) TO STDOUT",
    "SELECT * FROM flights WHERE EXISTS (TABLE storage_1.versions)",
    "SELECT storage_1.enter(1, 1, '', '', 'infinity')",
    "SELECT NULL::storage_1.kv_7",
    "SELECT public.dblink('a', 'b')",
    "SELECT * FROM json_populate_record(NULL::storage_1.kv_7, '{}')",
    "SELECT * FROM ROWS FROM (storage_1.f())",
]


@pytest.mark.parametrize("text", ELSEWHERE)
def test_names_of_other_schemas_and_of_the_catalog_are_refused(text: str) -> None:
    assert refusal(text).sqlstate == "42501"


REG_CASTS = [
    "SELECT 'x'::{reg}",
    "SELECT CAST('x' AS pg_catalog.{reg})",
    "SELECT {reg} 'x'",
    "SELECT {reg}('x')",
    "SELECT ('x').{reg}",
    "SELECT '{{x}}'::{reg}[]",
    "SELECT 16400::{reg}::text",
    "SELECT * FROM json_to_record('{{}}') AS t (x {reg})",
    "INSERT INTO flights SELECT 'x'::{reg}::int RETURNING pg_catalog.{reg}('x')",
    "SELECT ('x'::text).{reg}",
]


@pytest.mark.parametrize("text", REG_CASTS)
@pytest.mark.parametrize("reg", sorted(REG_TYPES))
def test_a_look_up_in_the_catalog_of_the_store_is_refused(text: str, reg: str) -> None:
    assert refusal(text.format(reg=reg)).sqlstate == "42501"


def test_a_refused_function_is_refused_in_every_notation(functions: FunctionNames) -> None:
    """Of all functions of PostgreSQL, among them those that read tables, files and statements of others."""
    assert {"table_to_xml", "pg_prepared_statement", "pg_read_file", "set_config", "lo_import"} <= functions.refused
    admissible = []
    for name in sorted(functions.refused):
        quoted = psycopg.sql.Identifier(name).as_string()
        calls = [f"{quoted}()", f"pg_catalog.{quoted}(1, 2)", f"('storage_1.kv_7').{quoted}", f"(f.id).{quoted}"]
        calls += [f"f.{quoted}", f"public.f.{quoted}"] if name.startswith("pg_") else []
        for call in calls:
            texts = [f"SELECT {call} FROM flights f", f"DELETE FROM flights f WHERE {call} IS NULL"]
            refused = {"42501", "0A000"} if name in INSTEAD else {"42501"}
            admissible += [text for text in texts if code(text, functions) not in refused]
        if name.isidentifier():
            assert refusal(f"SELECT * FROM {quoted}(1)", functions).sqlstate in refused
    assert admissible == []


def test_a_column_with_the_name_of_a_function_stays_a_column(functions: FunctionNames) -> None:
    assert {"version", "current_query"} <= functions.refused
    assert admitted("SELECT f.version, f.current_query FROM flights f", functions) is not None


def test_a_long_chain_is_refused_before_the_parser_sees_it() -> None:
    assert refusal("SELECT 1" + "-1" * 50_000).sqlstate == "54001"


def test_what_is_no_sql_is_the_parsers_to_refuse() -> None:
    with pytest.raises(postgast.PgQueryError):
        admitted("SELEC 1")


def scripts() -> list[str]:
    found = []
    for path in sorted(STATEMENTS.glob("*.sql")):
        texts = re.split(r";\s*\n", path.read_text() + "\n")
        found += ["\n".join(line for line in text.splitlines() if not line.startswith("--")).strip() for text in texts]
    return found


def reads_or_writes(text: str) -> bool:
    try:
        tree = postgast.parse(text)
    except postgast.PgQueryError:
        return False
    return len(tree.stmts) == 1 and tree.stmts[0].stmt.WhichOneof("node") in (
        "select_stmt",
        "insert_stmt",
        "update_stmt",
    )


ANSWERED_ELSEWHERE = [
    "SELECT INTO makes a table",
    "function nofunction does not exist",
    "permission denied for schema information_schema",
    *(f"permission denied for function {name}" for name in ("col_description", "obj_description", "version")),
    *(f"permission denied for table pg_{name}" for name in ("class", "cursors", "prepared_statements", "sequences")),
    "permission denied for type regclass",
]


def test_ordinary_statements_are_admitted_everywhere(functions: FunctionNames) -> None:
    """Those that are not ask the catalog, or for a table of the result: the node answers them elsewhere."""
    refused = []
    texts = [text for text in scripts() if text and reads_or_writes(text)]
    for text in texts:
        try:
            admitted(text, functions)
        except SqlError as error:
            refused.append(error.message)
    assert set(refused) <= set(ANSWERED_ELSEWHERE)
    assert len(texts) > 2000 > 50 * len(refused)
