"""DuckDB's scanner of PostgreSQL."""

import datetime as dt
from decimal import Decimal

import duckdb
from trial import DATABASE, HOST, PORT, USER, check, run, tried

database = duckdb.connect()
COMMITS = "options=''-c schemalab.autocommit_before_ddl=on''"
WHERE = f"host={HOST} port={PORT} user={USER} dbname={DATABASE} {COMMITS}"


@tried("INSTALL and LOAD of its extension")
def load() -> None:
    import importlib.util
    from pathlib import Path

    found = importlib.util.find_spec("duckdb_ext")
    paths = [p for place in (found.submodule_search_locations if found else ()) for p in Path(place).rglob("postgres*")]
    database.execute(f"LOAD '{paths[0]}'" if paths else "INSTALL postgres")
    database.execute("LOAD postgres_scanner" if not paths else "SELECT 1")


@tried("ATTACH, tables and columns")
def attach() -> None:
    database.execute(f"ATTACH '{WHERE}' AS node (TYPE postgres)")
    check(
        database.execute("SELECT count(*) > 0 FROM duckdb_columns() WHERE database_name = 'node'").fetchone(), (True,)
    )


@tried("SELECT from a table of a node (COPY TO in binary)")
def read() -> None:
    database.execute("CALL postgres_execute('node', 'DROP TABLE IF EXISTS ducks')")
    database.execute("CALL postgres_execute('node', 'CREATE TABLE ducks (id int PRIMARY KEY, w text)')")
    database.execute(
        "CALL postgres_execute('node', 'INSERT INTO ducks SELECT g, ''w'' || g FROM generate_series(1, 100) g')"
    )
    database.execute("CALL pg_clear_cache()")
    check(database.execute("SELECT count(*), max(w) FROM node.ducks").fetchone(), (100, "w99"))


@tried("postgres_query")
def query() -> None:
    check(database.execute("SELECT * FROM postgres_query('node', 'SELECT 1 AS a')").fetchone(), (1,))


@tried("INSERT into a table of a node (COPY FROM)")
def write() -> None:
    database.execute("INSERT INTO node.ducks SELECT range + 1000, 'new' FROM range(10)")
    check(database.execute("SELECT * FROM postgres_query('node', 'SELECT count(*) FROM ducks')").fetchone(), (110,))


@tried("CREATE TABLE AS in a node")
def create() -> None:
    database.execute("DROP TABLE IF EXISTS node.ducks_made")
    database.execute("CREATE TABLE node.ducks_made AS SELECT range AS id FROM range(10)")


@tried("array columns: read as lists, written from lists")
def lists() -> None:
    database.execute("DROP TABLE IF EXISTS node.ducks_lists")
    database.execute("CREATE TABLE node.ducks_lists (id int, n int[], w varchar[])")
    database.execute("INSERT INTO node.ducks_lists VALUES (1, [1, NULL, 3], ['a', 'b c'])")
    found = database.execute("SELECT n, w FROM node.ducks_lists WHERE list_contains(n, 3)").fetchone()
    check(found, ([1, None, 3], ["a", "b c"]))


@tried("numeric, dates, times, intervals, bytea, uuid, views")
def kinds() -> None:
    for sql in ("DROP VIEW IF EXISTS ducks_view", "DROP TABLE IF EXISTS ducks_kinds",
                "CREATE TABLE ducks_kinds (m numeric(12,3), d date, t time, i interval, b bytea, u uuid)",
                "INSERT INTO ducks_kinds VALUES (1.25, ''2024-02-29'', ''04:05'', ''1 day 2:00'', ''\\x00ff'', NULL)",
                "CREATE VIEW ducks_view AS SELECT m, d, i FROM ducks_kinds"):  # fmt: skip
        database.execute(f"CALL postgres_execute('node', '{sql}')")
    database.execute("CALL pg_clear_cache()")
    found = database.execute("SELECT m, d, t, i, b FROM node.ducks_kinds").fetchone()
    shown = (Decimal("1.250"), dt.date(2024, 2, 29), dt.time(4, 5), dt.timedelta(days=1, hours=2), b"\x00\xff")
    check(found, shown)
    check(database.execute("SELECT m, d, i FROM node.ducks_view").fetchone(), (shown[0], shown[1], shown[3]))


run("DuckDB", duckdb.__version__)
