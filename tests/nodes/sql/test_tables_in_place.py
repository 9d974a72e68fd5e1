"""A SELECT with its tables replaced by queries gives what PostgreSQL gives for the tables themselves."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import postgast
import psycopg
import pytest
from psycopg.pq import TransactionStatus

from catalog.text.sql_names import quoted
from expressions.errors import SqlError
from nodes.sql.admission import admitted, nodes_in
from nodes.sql.tables_in_place import Columns, Table, compiled
from tests.nodes.conftest import Cluster
from tests.nodes.execution.test_against_postgres import ROWS, SCRIPTS, TABLES, Side, agree, split

COLUMNS_SQL = """
SELECT c.relname, a.attname, coalesce(a.attnum = ANY (i.indkey), false), a.atttypid <> ALL ('{json, json[]}'::regtype[])
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
WHERE c.relnamespace = 'reference'::regnamespace AND c.relkind IN ('r', 'v') AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY c.relname, a.attnum
"""
Connection = psycopg.Connection[Any]


class Compiling(Side):
    """Runs a SELECT over `reference`, which it may name only by the queries in its text."""

    def tables(self) -> dict[str, Table]:
        columns: dict[str, list[tuple[str, bool, bool]]] = {}
        for table, *column in self.connection.execute(COLUMNS_SQL):
            columns.setdefault(table, []).append(tuple(column))
        return {name: self.table(name, of_table) for name, of_table in columns.items()}

    @staticmethod
    def table(name: str, columns: list[tuple[str, bool, bool]]) -> Table:
        def query(_: int, named: Columns) -> str:
            chosen = [quoted(column) for column, _, _ in columns if named is None or column in named]
            return f"SELECT {', '.join(chosen)} FROM reference.{quoted(name)}"

        key = tuple(column for column, is_key, _ in columns if is_key)
        return Table(
            query, key, tuple(column for column, is_key, has_equality in columns if has_equality and not is_key)
        )

    def run_select(self, text: str) -> tuple[Any, ...]:
        tables = self.tables()
        try:
            done = compiled(admitted(text), tables)
        except SqlError as error:
            position = str(len(text.encode()[: error.offset].decode()) + 1) if error.offset >= 0 else None
            return ("error", error.sqlstate, position)
        self.connection.execute("SET LOCAL search_path = pg_catalog, pg_temp")
        answer = self.run(done.text)
        if answer[0] == "error" and answer[2] is not None:
            return (*answer[:2], str(done.position(int(answer[2]))))
        return answer


@pytest.fixture
def connection(cluster: Cluster) -> Iterator[Connection]:
    with cluster.store() as opened:
        opened.execute("DROP SCHEMA IF EXISTS reference CASCADE")
        opened.execute("CREATE SCHEMA reference")
        opened.execute("SET search_path = reference")
        opened.execute(TABLES)
        for sql in split(ROWS):
            opened.execute(sql)
        yield opened


def is_select(text: str) -> bool:
    """True for a SELECT over rows; not for one that is answered elsewhere or no longer."""
    try:
        stmt = admitted(text).stmt
    except (postgast.PgQueryError, SqlError):
        return False
    kinds = {node.DESCRIPTOR.name for node in nodes_in(stmt)}
    others = {"IntoClause", "InsertStmt", "UpdateStmt", "DeleteStmt", "MergeStmt", "RangeTableSample"}
    return stmt.WhichOneof("node") == "select_stmt" and not kinds & others


def undone(connection: Connection, run: Callable[[str], tuple[Any, ...]], text: str) -> tuple[Any, ...]:
    """The answer to a SELECT that leaves no trace, within a transaction or without."""
    is_within = connection.info.transaction_status is TransactionStatus.INTRANS
    connection.execute("SAVEPOINT tried" if is_within else "BEGIN")
    answer = run(text)
    connection.execute("ROLLBACK TO tried" if is_within else "ROLLBACK")
    return answer


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem.replace("_", " "))
def test_a_select_over_queries_answers_as_one_over_tables(connection: Connection, script: Path) -> None:
    plain, compiling, differences = Side(connection), Compiling(connection), []
    for sql in split(script.read_text()):
        text = "\n".join(line for line in sql.splitlines() if not line.startswith("--")).strip()
        if is_select(text) and connection.info.transaction_status is not TransactionStatus.INERROR:
            expected = undone(connection, plain.run, text)
            found = undone(connection, compiling.run_select, text)
            if not agree(found, expected):
                differences.append(f"{text}\n  tables:  {expected}\n  queries: {found}")
        plain.run(text)
    assert not differences, "\n\n".join(differences)


FORMS = [
    "SELECT public.people.id FROM public.people ORDER BY 1",
    'SELECT "public"."people"."name" FROM "public"."people" WHERE public.people.id = 1',
    "SELECT public.people.* FROM public.people ORDER BY id",
    "WITH people AS (SELECT * FROM people WHERE id < 3) SELECT * FROM people ORDER BY id",
    "WITH RECURSIVE people AS (SELECT 1 AS id UNION ALL SELECT id + 1 FROM people WHERE id < 3) SELECT * FROM people",
    "WITH a AS (SELECT id FROM people), people AS (SELECT 7 AS id) SELECT count(*) FROM a, people",
    "(WITH g AS (SELECT id FROM people) SELECT count(*) FROM g) UNION ALL SELECT count(*) FROM people ORDER BY 1",
    "SELECT p.id FROM people p JOIN orders o ON o.customer = p.id ORDER BY 1, o.number FOR UPDATE OF p SKIP LOCKED",
    "SELECT id FROM people ORDER BY id FOR NO KEY UPDATE NOWAIT",
    "SELECT id FROM (SELECT id FROM people FOR SHARE) AS x ORDER BY id",
    "SELECT id FROM people FOR UPDATE OF nobody",
    "SELECT substring(name FROM 1 FOR 2) FROM people ORDER BY id FOR KEY SHARE",
    "TABLE people ORDER BY id",
    "TABLE ONLY people ORDER BY id",
    "SELECT id FROM ONLY (people) AS p ORDER BY id",
    "SELECT id FROM people * ORDER BY id",
    "SELECT b FROM people AS p (a, b) ORDER BY a",
    "SELECT row_to_json(p) FROM people p ORDER BY id",
    "SELECT p.id, p.name, p.age FROM people p GROUP BY p.id ORDER BY id",
    "SELECT o.customer, item FROM orders o GROUP BY (number), customer, number ORDER BY 1, 2",
    "SELECT id FROM people NATURAL JOIN (SELECT 1 AS id) AS x",
    "SELECT id FROM people JOIN (SELECT 1 AS id) AS x USING (id)",
    "SELECT é.id, nope FROM people AS é",
    "SELECT id FROM people p, (SELECT 1 / (p.id - p.id) FROM orders) AS x",
    "SELECT x.id FROM people p JOIN orders AS x ON x.customer = p.id",
    "SELECT (SELECT max(item) FROM orders WHERE customer = people.id) FROM people ORDER BY 1",
    "SELECT 'FROM people', $$ people $$, id /* people */ FROM people -- people\n ORDER BY id",
]


@pytest.mark.parametrize("text", FORMS)
def test_a_table_is_named_in_many_forms(connection: Connection, text: str) -> None:
    expected = Side(connection).run(text.replace("public", "reference"))  # the schema that has them there
    found = undone(connection, Compiling(connection).run_select, text)
    assert agree(found, expected), (found, expected)


def test_a_query_reads_the_columns_that_the_text_names() -> None:
    asked: list[Columns] = []

    def query(_: int, named: Columns) -> str:
        asked.append(named)
        return "SELECT 1 AS id"

    for text in ("SELECT t.a FROM t WHERE b = 1", "SELECT count(*) FROM t", "SELECT * FROM t", "SELECT t FROM t"):
        compiled(admitted(text), {"t": Table(query)})
    assert asked == [{"t", "a", "b"}, set(), None, None]
