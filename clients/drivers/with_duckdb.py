"""DuckDB's scanner of PostgreSQL."""

import duckdb
from trial import DATABASE, HOST, PORT, USER, check, run, tried

database = duckdb.connect()


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
    database.execute(f"ATTACH 'host={HOST} port={PORT} user={USER} dbname={DATABASE}' AS node (TYPE postgres)")
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


run("DuckDB", duckdb.__version__)
