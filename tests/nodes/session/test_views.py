"""Views: stored queries, read in a transaction's own snapshot under the versions of their tables (docs: views)."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from tests.nodes.conftest import Cluster
from tests.nodes.ddl import tag, told

Connection = psycopg.Connection[Any]


@pytest.fixture
def orders(cluster: Cluster) -> str:
    """A table of three orders, one of them unpaid."""
    table = cluster.table("id int primary key, customer text, cents int, paid boolean")
    with cluster.connect() as connection:
        connection.execute(
            f"INSERT INTO {table} VALUES (1, 'ann', 500, true), (2, 'bob', 70, false), (3, 'ann', 30, true)"
        )
    return table


@pytest.fixture
def paid(n1: Connection, orders: str) -> str:
    """A view of those that are paid."""
    view = f"paid_{orders}"
    n1.execute(f"CREATE VIEW {view} AS SELECT id, customer AS who, cents / 100.0 AS euros FROM {orders} WHERE paid")
    return view


@pytest.fixture(autouse=True)
def no_views_stay(n1: Connection) -> Iterator[None]:
    yield
    n1.execute("ROLLBACK")
    for (view,) in rows(n1, "SELECT viewname FROM pg_views WHERE schemaname = 'public'"):
        n1.execute(f"DROP VIEW IF EXISTS {view} CASCADE")


def rows(connection: Connection, sql: str) -> list[tuple[Any, ...]]:
    return connection.execute(sql).fetchall()


def refused(connection: Connection, sql: str) -> tuple[str, str]:
    with pytest.raises(psycopg.Error) as caught:
        connection.execute(sql)
    return caught.value.sqlstate or "", caught.value.diag.message_primary or ""


@contextmanager
def beside(cluster: Cluster, sql: str) -> Iterator[None]:
    """Run a statement on n1 while something else is done; it has ended when that has, and well."""
    failures: list[psycopg.Error] = []

    def run() -> None:
        with cluster.connect("n1") as connection:
            try:
                connection.execute(sql)
            except psycopg.Error as error:
                failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        thread.join(60)
    assert not thread.is_alive()
    assert failures == []


def test_a_view_is_read_wherever_a_table_is(n1: Connection, n2: Connection, orders: str, paid: str) -> None:
    assert rows(n2, f"SELECT who, sum(euros)::text FROM {paid} GROUP BY who") == [("ann", "5.30000000000000000000")]
    assert rows(n2, f"SELECT id, who FROM public.{paid} ORDER BY id") == [(1, "ann"), (3, "ann")]
    joined = f"SELECT v.id, o.cents FROM {paid} AS v JOIN {orders} AS o USING (id) WHERE v.euros > 1"
    assert rows(n2, joined) == [(1, 500)]
    assert rows(n2, f"SELECT count(*) FROM {orders} WHERE id IN (SELECT id FROM {paid})") == [(2,)]
    assert rows(n2, f"WITH w AS (SELECT * FROM {paid}) SELECT max(id) FROM w") == [(3,)]
    assert rows(n2, f"SELECT x, y FROM {paid} AS v (x, y) ORDER BY x LIMIT 1") == [(1, "ann")]
    assert n2.execute(f"SELECT id FROM {paid} WHERE id = %s", [3]).fetchall() == [(3,)]
    with n2.cursor().copy(f"COPY (SELECT id FROM {paid} ORDER BY 1) TO STDOUT") as copy:
        assert b"".join(copy) == b"1\n3\n"


def test_views_read_views_and_fill_tables(n1: Connection, orders: str, paid: str) -> None:
    n1.execute(f"CREATE VIEW of_{paid} (name, n) AS SELECT who, count(*) FROM {paid} GROUP BY who")
    assert rows(n1, f"SELECT * FROM of_{paid}") == [("ann", 2)]
    assert tag(n1, f"CREATE TABLE copy_{paid} AS SELECT * FROM of_{paid}") == "SELECT 1"
    assert tag(n1, f"UPDATE {orders} SET cents = 0 WHERE id IN (SELECT id FROM {paid})") == "UPDATE 2"
    state, message = refused(n1, f"DROP VIEW {paid}")
    assert (state, message) == (
        "2BP01",
        f"cannot drop view {paid} because other objects depend on it: view of_{paid} depends on view {paid}",
    )
    assert told(n1, f"DROP VIEW {paid} CASCADE") == [("NOTICE", "00000", f"drop cascades to view of_{paid}")]
    assert refused(n1, f"SELECT * FROM of_{paid}")[0] == "42P01"


def test_a_view_sees_no_column_that_came_to_another_view_later(n1: Connection, n2: Connection) -> None:
    """Neither by *, nor as a second meaning of a name, nor as a common column of a join."""
    n1.execute("CREATE VIEW inner_v AS SELECT 1 AS a, 'x' AS b")
    n1.execute("CREATE VIEW stars AS SELECT * FROM inner_v")
    n1.execute("CREATE VIEW names AS SELECT b, c FROM inner_v, (VALUES (7)) AS w (c)")
    n1.execute("CREATE VIEW common AS SELECT * FROM inner_v NATURAL JOIN (VALUES (1, 8)) AS w (a, c)")
    n1.execute("CREATE OR REPLACE VIEW inner_v AS SELECT 1 AS a, 'x' AS b, 9 AS c")
    assert rows(n2, "SELECT * FROM stars") == [(1, "x")]
    assert rows(n2, "SELECT * FROM names") == [("x", 7)]
    assert rows(n2, "SELECT * FROM common") == [(1, "x", 8)]
    assert rows(n2, "SELECT * FROM inner_v") == [(1, "x", 9)]
    n1.execute("CREATE OR REPLACE VIEW stars AS SELECT * FROM inner_v")
    assert rows(n2, "SELECT * FROM stars") == [(1, "x", 9)]


def test_constants_of_a_view_mean_what_they_meant_when_it_was_made(n1: Connection, n2: Connection) -> None:
    """Columns are still shown in the reader's time zone, and texts of columns read in it."""
    n1.execute("SET timezone = '<+09>-9'")
    n1.execute("SET datestyle = DMY")
    n1.execute("CREATE VIEW moments AS SELECT timestamptz '2024-01-01 00:00' AS at, date '02/03/2024' AS day")
    n1.execute("CREATE VIEW before AS SELECT x FROM (VALUES (1)) AS w (x), moments WHERE at < '2024-01-01 00:00:01'")
    n1.execute("RESET timezone")
    n1.execute("RESET datestyle")
    for node in (n1, n2):
        assert rows(node, "SELECT at::text, day::text FROM moments") == [("2023-12-31 15:00:00+00", "2024-03-02")]
        assert rows(node, "SELECT x FROM before, moments WHERE at < '2023-12-31 15:00:01'") == [(1,)]
    n2.execute("SET timezone = 'Europe/Paris'")
    assert rows(n2, "SELECT at::text FROM moments") == [("2023-12-31 16:00:00+01",)]


def test_an_interval_of_a_view_is_read_in_the_style_of_its_maker(n1: Connection, n2: Connection) -> None:
    """The SQL standard's style gives the sign of the first part to the others."""
    n1.execute("CREATE VIEW one_row AS SELECT 1 AS x")
    for style in ("postgres", "sql_standard"):
        n1.execute(f"SET intervalstyle = {style}")
        n1.execute(f"CREATE VIEW spans_{style} AS SELECT extract(epoch FROM interval '-1 2:00')::int AS s FROM one_row")
    for node in (n1, n2):
        for style in ("postgres", "sql_standard"):
            node.execute(f"SET intervalstyle = {style}")
            assert rows(node, "SELECT a.s, b.s FROM spans_postgres a, spans_sql_standard b") == [(-79_200, -93_600)]
        node.execute("RESET intervalstyle")


@pytest.mark.soak
def test_views_below_each_other_have_a_limit(n1: Connection) -> None:
    n1.execute("CREATE VIEW deep1 AS SELECT 1 AS x")
    for number in range(2, 33):
        below = f"deep{number - 1}"
        n1.execute(f"CREATE VIEW deep{number} AS SELECT x FROM {below} WHERE x IN (SELECT min(x) FROM deep1)")
    assert refused(n1, "CREATE VIEW deep33 AS SELECT * FROM deep32")[0] == "54001"
    assert n1.execute("DROP VIEW deep1 CASCADE").statusmessage == "DROP VIEW"


def test_ways_from_one_view_to_another_have_a_limit(n1: Connection) -> None:
    """Each way is a subquery of its own."""
    n1.execute("CREATE VIEW wide1 AS SELECT 1 AS x")
    for number in range(2, 9):
        n1.execute(f"CREATE VIEW wide{number} AS SELECT a.x FROM wide{number - 1} a, wide{number - 1} b")
    assert rows(n1, "SELECT x FROM wide5") == [(1,)]
    assert refused(n1, "CREATE VIEW wide10 AS SELECT a.x FROM wide8 a, wide8 b")[0] == "54000"
    assert n1.execute("DROP VIEW wide1 CASCADE").statusmessage == "DROP VIEW"


def test_statements_that_write_and_cursors_read_views(n1: Connection, orders: str, paid: str) -> None:
    n1.execute(f"PREPARE counted AS SELECT count(*) FROM {paid} WHERE euros > $1")
    assert rows(n1, "EXECUTE counted (1)") == [(1,)]
    with n1.transaction():
        n1.execute(f"DECLARE c CURSOR FOR SELECT id FROM {paid} ORDER BY id")
        assert rows(n1, "FETCH ALL FROM c") == [(1,), (3,)]
    assert tag(n1, f"UPDATE {orders} AS o SET cents = o.cents + 1 FROM {paid} AS v WHERE o.id = v.id") == "UPDATE 2"
    ones = f"WITH w AS (SELECT id FROM {paid} WHERE id = 1) DELETE FROM {orders} AS o USING w WHERE o.id = w.id"
    assert tag(n1, ones) == "DELETE 1"
    assert rows(n1, "EXECUTE counted (0)") == [(1,)]


def test_a_view_sees_what_its_statement_sees(n1: Connection, orders: str, paid: str) -> None:
    with n1.transaction():
        n1.execute(f"INSERT INTO {orders} VALUES (4, 'cid', 100, true)")
        assert rows(n1, f"SELECT who FROM {paid} WHERE id = 4") == [("cid",)]
        plan = "\n".join(line for (line,) in rows(n1, f"EXPLAIN SELECT who FROM {paid}"))
        assert f"Seq Scan on {orders}@" in plan


def test_a_view_is_read_only(n1: Connection, orders: str, paid: str) -> None:
    assert refused(n1, f"INSERT INTO {paid} VALUES (1)") == ("55000", f'cannot insert into view "{paid}"')
    assert refused(n1, f"UPDATE {paid} SET who = 'x'") == ("55000", f'cannot update view "{paid}"')
    assert refused(n1, f"DELETE FROM {paid}") == ("55000", f'cannot delete from view "{paid}"')
    assert refused(n1, f"TRUNCATE {paid}") == ("42809", f'"{paid}" is not a table')
    assert refused(n1, f"COPY {paid} TO STDOUT") == ("42809", f'cannot copy from view "{paid}"')
    assert refused(n1, f"COPY {paid} FROM STDIN") == ("42809", f'cannot copy to view "{paid}"')
    assert refused(n1, f"DROP TABLE {paid}") == ("42809", f'"{paid}" is not a table')
    assert refused(n1, f"DROP VIEW {orders}") == ("42809", f'"{orders}" is not a view')
    assert refused(n1, f"ALTER TABLE {paid} ADD COLUMN x int")[0] == "42809"
    assert refused(n1, f"CREATE INDEX ON {paid} (id)")[0] == "42809"


def test_names_are_one_for_tables_and_views(n1: Connection, orders: str, paid: str) -> None:
    exists = ("42P07", f'relation "{paid}" already exists')
    assert refused(n1, f"CREATE VIEW {paid} AS SELECT 1 AS x") == exists
    assert refused(n1, f"CREATE TABLE {paid} (id int primary key)") == exists
    assert refused(n1, f"CREATE INDEX {paid} ON {orders} (cents)") == exists
    assert refused(n1, f"CREATE VIEW {orders} AS SELECT 1 AS x")[0] == "42P07"
    assert refused(n1, f"CREATE OR REPLACE VIEW {orders} AS SELECT 1 AS x") == ("42809", f'"{orders}" is not a view')
    assert refused(n1, f"ALTER TABLE {orders} RENAME TO {paid}") == exists
    with n1.transaction(force_rollback=True):
        assert refused(n1, f"CREATE TABLE {paid} (id int)") == exists
    assert refused(n1, "DROP VIEW nowhere") == ("42P01", 'view "nowhere" does not exist')
    assert told(n1, "DROP VIEW IF EXISTS nowhere") == [("NOTICE", "00000", 'view "nowhere" does not exist, skipping')]
    assert tag(n1, f"ALTER VIEW {paid} RENAME TO now_{paid}") == "ALTER VIEW"
    assert rows(n1, f"SELECT count(*) FROM now_{paid}") == [(2,)]
    assert refused(n1, f"SELECT * FROM {paid}")[0] == "42P01"
    assert tag(n1, f"DROP VIEW now_{paid}") == "DROP VIEW"


@pytest.mark.parametrize(("sql", "state"), [
    ("CREATE VIEW {v} AS SELECT nothing FROM {t}", "42703"),
    ("CREATE VIEW {v} AS SELECT 1 AS x, 2 AS x", "42701"),
    ("CREATE VIEW {v} (a, b) AS SELECT 1", "42601"),
    ("CREATE VIEW {v} AS SELECT * FROM nowhere", "42P01"),
    ("CREATE VIEW {v} AS SELECT $1::int AS x", "42P02"),
    ("CREATE TEMP VIEW {v} AS SELECT 1 AS x", "0A000"),
    ("CREATE VIEW {v} WITH (security_barrier) AS SELECT 1 AS x", "0A000"),
    ("CREATE VIEW {v} AS SELECT * FROM {t} WITH CHECK OPTION", "0A000"),
    ("CREATE VIEW nowhere.{v} AS SELECT 1 AS x", "3F000"),
    ("CREATE MATERIALIZED VIEW {v} AS SELECT 1 AS x", "0A000"),
    ("BEGIN; CREATE VIEW {v} AS SELECT 1 AS x", "0A000"),
])  # fmt: skip
def test_what_cannot_be_a_view_is_refused(n1: Connection, orders: str, sql: str, state: str) -> None:
    assert refused(n1, sql.format(v="never", t=orders))[0] == state
    n1.execute("ROLLBACK")
    assert refused(n1, "SELECT * FROM never")[0] == "42P01"


def test_in_a_block_what_stands_before_is_committed_first(n1: Connection, orders: str) -> None:
    n1.execute("SET schemalab.autocommit_before_ddl = on")
    with n1.transaction():
        n1.execute(f"CREATE TABLE new_{orders} (id int primary key)")
        n1.execute(f"INSERT INTO new_{orders} VALUES (7)")
        n1.execute(f"CREATE VIEW v_{orders} AS SELECT id FROM new_{orders}")
        assert rows(n1, f"SELECT * FROM v_{orders}") == [(7,)]
    n1.execute(f"DROP VIEW v_{orders}")


def test_replacing_keeps_the_columns_and_prepared_statements_see_it(
    n1: Connection, n2: Connection, orders: str, paid: str
) -> None:
    ask = f"SELECT count(*) FROM {paid}"
    assert [n2.execute(ask, prepare=True).fetchone() for _ in range(3)] == [(2,)] * 3
    n1.execute(
        f"CREATE OR REPLACE VIEW {paid} AS SELECT id, customer AS who, cents / 100.0 AS euros, paid FROM {orders}"
    )
    assert n2.execute(ask, prepare=True).fetchone() == (3,)
    wrong = f"CREATE OR REPLACE VIEW {paid} AS SELECT"
    assert refused(n1, f"{wrong} id, customer AS who FROM {orders}") == ("42P16", "cannot drop columns from view")
    renamed = refused(n1, f"{wrong} id, customer AS x, cents / 100.0 AS euros, paid FROM {orders}")
    assert renamed == ("42P16", 'cannot change name of view column "who" to "x"')
    retyped = refused(n1, f"{wrong} id, 1 AS who, cents / 100.0 AS euros, paid FROM {orders}")
    assert retyped == ("42P16", 'cannot change data type of view column "who"')
    itself = refused(n1, f"{wrong} id, who, euros, paid FROM {paid}")
    assert itself == ("42P17", f'infinite recursion detected in rules for relation "{paid}"')


def test_what_a_view_reads_stays(worker: None, n1: Connection, orders: str, paid: str) -> None:
    depends = f"view {paid} depends on column cents of table {orders}"
    dropped = refused(n1, f"ALTER TABLE {orders} DROP COLUMN cents")
    assert dropped == (
        "2BP01",
        f"cannot drop column cents of table {orders} because other objects depend on it: {depends}",
    )
    retyped = refused(n1, f"ALTER TABLE {orders} ALTER cents TYPE bigint")
    assert retyped == ("0A000", "cannot alter type of a column used by a view or rule")
    assert refused(n1, f"DROP TABLE {orders}")[0] == "2BP01"
    n1.execute(f"CREATE VIEW other_{paid} AS SELECT count(*) AS n FROM {orders}")
    assert told(n1, f"DROP TABLE {orders} CASCADE")[:2] == [
        ("NOTICE", "00000", f"drop cascades to view other_{paid}"),
        ("NOTICE", "00000", f"drop cascades to view {paid}"),
    ]
    assert refused(n1, f"SELECT * FROM {paid}")[0] == "42P01"


def test_a_view_stays_right_when_names_change(worker: None, n1: Connection, n2: Connection, orders: str) -> None:
    n1.execute(f"CREATE VIEW all_{orders} AS SELECT * FROM {orders} WHERE {orders}.customer = 'ann'")
    before = rows(n2, f"SELECT * FROM all_{orders} ORDER BY id")
    n1.execute(f"ALTER TABLE {orders} RENAME COLUMN customer TO buyer")
    n1.execute(f"ALTER TABLE {orders} RENAME TO new_{orders}")
    n1.execute(f"ALTER TABLE new_{orders} ADD COLUMN customer int DEFAULT 5")
    for node in (n1, n2):
        found = node.execute(f"SELECT * FROM all_{orders} ORDER BY id")
        assert [column.name for column in found.description or ()] == ["id", "customer", "cents", "paid"]
        assert found.fetchall() == before
    [(shown,)] = rows(n1, f"SELECT pg_get_viewdef('all_{orders}'::regclass)")
    assert "buyer AS customer" in shown
    assert f"FROM new_{orders}" in shown
    assert refused(n1, f"ALTER TABLE new_{orders} DROP COLUMN buyer")[0] == "2BP01"
    n1.execute(f"DROP VIEW all_{orders}")
    n1.execute(f"ALTER TABLE new_{orders} DROP COLUMN buyer")


# --- views and versions


def test_a_transaction_keeps_the_view_that_its_snapshot_has(
    cluster: Cluster, worker: None, n1: Connection, n2: Connection, orders: str, paid: str
) -> None:
    """The column that the old view reads stays as long as a transaction that began under it uses the table."""
    with n2.transaction():
        before = rows(n2, f"SELECT * FROM {paid} ORDER BY id")
        n1.execute(f"DROP VIEW {paid}")
        n1.execute(f"CREATE VIEW {paid} AS SELECT id FROM {orders}")
        dropping = threading.Thread(target=lambda: n1.execute(f"ALTER TABLE {orders} DROP COLUMN cents"))
        dropping.start()
        for _ in range(3):
            assert rows(n2, f"SELECT * FROM {paid} ORDER BY id") == before
    dropping.join(60)
    assert not dropping.is_alive()
    assert rows(n2, f"SELECT * FROM {paid} ORDER BY id") == [(1,), (2,), (3,)]


def test_a_view_and_a_version_that_contradict_each_other_are_never_used_together(
    cluster: Cluster, worker: None, n1: Connection, n2: Connection, orders: str, paid: str
) -> None:
    """An old snapshot has the old view, the table is leased first when the column is gone: 40001, no wrong rows."""
    other = cluster.table("id int primary key")
    n2.execute(f"SELECT * FROM {paid}")
    n2.execute("BEGIN")
    n2.execute(f"SELECT * FROM {other}")
    n1.execute(f"DROP VIEW {paid}")
    n1.execute(f"CREATE VIEW {paid} AS SELECT id FROM {orders}")
    n1.execute(f"ALTER TABLE {orders} DROP COLUMN cents")
    assert refused(n2, f"SELECT * FROM {paid}")[0] == "40001"
    n2.execute("ROLLBACK")
    assert rows(n2, f"SELECT * FROM {paid} ORDER BY id") == [(1,), (2,), (3,)]


@pytest.mark.parametrize(("alteration", "column"), [("DROP COLUMN cents", "cents"), ("ADD COLUMN note text", "note")])
def test_no_view_begins_to_read_what_an_open_change_moves(
    cluster: Cluster, worker: None, n1: Connection, n2: Connection, orders: str, alteration: str, column: str
) -> None:
    """Also not a column that is public already: until its change has ended it may be taken back."""
    create = f"CREATE VIEW v_{orders} AS SELECT {column} FROM {orders}"
    n2.execute("BEGIN")
    n2.execute(f"SELECT count(*) FROM {orders}")
    with beside(cluster, f"ALTER TABLE {orders} {alteration}"):
        deadline = time.monotonic() + 20
        while not cluster.read("SELECT 1 FROM changes_change WHERE table_name = %s", [orders]):
            assert time.monotonic() < deadline, "the change is not submitted"
        assert refused(n1, create)[0] in ("55006", "42703")
        n1.execute(f"CREATE VIEW ids_{orders} AS SELECT id FROM {orders}")
        n2.execute("ROLLBACK")
    assert rows(n1, f"SELECT count(*) FROM ids_{orders}") == [(3,)]
    assert column == "note" or refused(n1, create)[0] == "42703"
    assert column == "cents" or tag(n1, create) == "CREATE VIEW"


# --- the catalog


def test_the_catalog_has_views(n1: Connection, orders: str, paid: str, program: Any) -> None:
    kinds = rows(n1, f"SELECT relkind, relhasrules FROM pg_class WHERE relname = '{paid}'")
    assert kinds == [("v", True)]
    [(owner, definition)] = rows(n1, f"SELECT viewowner, definition FROM pg_views WHERE viewname = '{paid}'")
    assert owner == "schemalab"
    assert definition.replace("\n", " ").split() == (
        f"SELECT id, customer AS who, ((cents)::numeric / 100.0) AS euros FROM {orders} WHERE paid;".split()
    )
    standard = "SELECT table_type, is_insertable_into FROM information_schema.tables WHERE table_name = %s"
    assert n1.execute(standard, [paid]).fetchall() == [("VIEW", "NO")]
    columns = "SELECT column_name, data_type, is_updatable FROM information_schema.columns WHERE table_name = %s"
    assert n1.execute(columns + " ORDER BY ordinal_position", [paid]).fetchall() == [
        ("id", "integer", "NO"), ("who", "text", "NO"), ("euros", "numeric", "NO")
    ]  # fmt: skip
    used = "SELECT column_name FROM information_schema.view_column_usage WHERE view_name = %s ORDER BY 1"
    assert n1.execute(used, [paid]).fetchall() == [("cents",), ("customer",), ("id",), ("paid",)]
    shown = program("psql", "-X", "-A", "-c", f"\\dv {paid}", "-c", f"\\d {paid}", "-c", f"\\d+ {paid}", "schemalab")
    assert f"public|{paid}|view|schemalab" in shown.stdout
    assert "who|text|||" in shown.stdout
    assert "View definition:" in shown.stdout
    assert shown.stderr == ""


# --- what a view is run again by, and what is said of views


QUERIES = {
    "all columns": "SELECT * FROM {0} WHERE {0}.customer = 'ann'",
    "a column by its old name": "SELECT customer, count(*) AS n FROM {0} GROUP BY customer",
    "WITH by the table's name": "WITH {0} AS (SELECT id AS customer FROM {0}) SELECT * FROM {0}",
    "twice": "SELECT a.id, other FROM {0} a JOIN (SELECT id AS other FROM {0}) b ON other = a.id",
    "names of an alias": "SELECT c, b, x.paid FROM {0} AS x(a, b, c) WHERE b = 'ann'",
    "no column": "SELECT 7 AS n FROM {0}",
}


def test_a_view_can_be_made_again_by_its_definition(worker: None, n1: Connection, orders: str) -> None:
    for number, query in enumerate(QUERIES.values()):
        n1.execute(f"CREATE VIEW first{number}_{orders} (k) AS {query.format(orders)}")
    before = [n1.execute(f"SELECT * FROM first{number}_{orders}") for number in range(len(QUERIES))]
    n1.execute(f"ALTER TABLE {orders} RENAME COLUMN customer TO buyer")
    n1.execute(f"ALTER TABLE {orders} RENAME TO new_{orders}")
    n1.execute(f"ALTER TABLE new_{orders} ADD COLUMN customer int DEFAULT 5, ADD COLUMN other int DEFAULT 5")
    for number, (name, first) in enumerate(zip(QUERIES, before, strict=True)):
        [(shown,)] = rows(n1, f"SELECT pg_get_viewdef('first{number}_{orders}'::regclass)")
        n1.execute(f"CREATE VIEW again{number}_{orders} AS {shown}")
        again = n1.execute(f"SELECT * FROM again{number}_{orders}")
        assert [c.name for c in again.description or ()] == [c.name for c in first.description or ()], name
        assert sorted(again.fetchall()) == sorted(first.fetchall()), name


def test_what_is_said_of_a_view_without_effect(n1: Connection, orders: str, paid: str) -> None:
    assert n1.execute(f"ALTER VIEW {paid} OWNER TO schemalab").statusmessage == "ALTER VIEW"
    assert n1.execute(f"ALTER TABLE {paid} OWNER TO schemalab").statusmessage == "ALTER TABLE"
    assert n1.execute(f"COMMENT ON VIEW {paid} IS 'paid ones'").statusmessage == "COMMENT"
    assert told(n1, f"ANALYZE {paid}")[0] == (
        "WARNING", "01000", f'skipping "{paid}" --- cannot analyze non-tables or special system tables'
    )  # fmt: skip
    assert told(n1, f"VACUUM {orders}, {paid}")[0][0] == "WARNING"
    assert n1.execute("ANALYZE pg_class").statusmessage == "ANALYZE"
    assert (
        told(n1, f"ALTER VIEW IF EXISTS no_{paid} OWNER TO schemalab")[0][2]
        == f'relation "no_{paid}" does not exist, skipping'
    )
    for sql, code in (
        (f"ALTER VIEW no_{paid} OWNER TO schemalab", "42P01"),
        (f"COMMENT ON VIEW no_{paid} IS 'x'", "42P01"),
        (f"COMMENT ON VIEW {orders} IS 'x'", "42809"),
        (f"ALTER VIEW {orders} OWNER TO schemalab", "42809"),
        (f"ANALYZE no_{paid}", "42P01"),
    ):
        assert refused(n1, sql)[0] == code


def test_a_column_of_a_view_has_the_precision_that_postgresql_gives_it(cluster: Cluster, n1: Connection) -> None:
    """Also in what is made of it; more digits of the table's column are refused while a view reads it, as there."""
    columns = "id int PRIMARY KEY, at timestamp(3), there timestamptz(0), clock time(0), many timestamp(1)[]"
    query = (
        "SELECT at, at::timestamp AS plain, there, clock::time(2) AS clock, many[1] AS one, many, current_timestamp(4)"
        " AS now, coalesce(at, at) AS same, max(at) OVER () AS latest, at::timestamp(0) AS whole FROM {}"
    )
    typed = (
        "SELECT attname, atttypmod, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = '{}'::regclass"
    )
    table = cluster.table(columns)
    with cluster.store() as theirs:
        theirs.execute(
            f"CREATE SCHEMA IF NOT EXISTS viewed; SET search_path = viewed; CREATE TABLE {table} ({columns})"
        )
        found = []
        for connection in (n1, theirs):
            connection.execute(f"INSERT INTO {table} VALUES (1, '2024-01-01 00:00:00.0005', NULL, '23:59:59.5', NULL)")
            connection.execute(f"CREATE VIEW v_{table} AS {query.format(table)}")
            shown = rows(connection, f"{typed.format(f'v_{table}')} AND attnum > 0 ORDER BY attnum")
            named = f"FROM information_schema.columns WHERE table_name = 'v_{table}' ORDER BY ordinal_position"
            described = rows(connection, f"SELECT column_name, data_type, datetime_precision {named}")
            values = rows(connection, f"SELECT at::text, clock::text, latest::text, whole::text FROM v_{table}")
            found.append((shown, described, values))
        assert found[0] == found[1]
        more = f"ALTER TABLE {table} ALTER at TYPE timestamp(6)"
        assert refused(n1, more) == refused(theirs, more)
