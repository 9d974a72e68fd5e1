"""Statements that write what PostgreSQL computes: values, settings, memory, errors and versions."""

import datetime as dt
import itertools
from typing import Any

import psycopg
import pytest

from tests.nodes.conftest import Cluster
from tests.nodes.session.test_in_place import SETTINGS, TYPES, VALUES, set_all

COLUMNS = [column.split()[0] for column in TYPES.split(", ")]
LISTED = ", ".join(COLUMNS)
CHANGED = ", ".join(f"{name} = s.{name}" for name in COLUMNS)
AS_TEXT = ", ".join(f"{name}::text" for name in COLUMNS)
WAYS = {
    "INSERT .. SELECT": "INSERT INTO {0} SELECT {2}, {1} FROM {0} WHERE id = 0",
    "VALUES": "INSERT INTO {0} (id, {1}) VALUES ({2} + (SELECT 0), {3})",
    "UPDATE .. FROM": (
        "INSERT INTO {0} (id) VALUES ({2}); UPDATE {0} SET {4} FROM {0} s WHERE s.id = 0 AND {0}.id = {2}"
    ),
    "ON CONFLICT": (
        "INSERT INTO {0} (id) VALUES ({2}); INSERT INTO {0} SELECT {2}, {1} FROM {0} WHERE id = 0"
        " ON CONFLICT (id) DO UPDATE SET {5}"
    ),
    "MERGE": (
        "MERGE INTO {0} USING (SELECT * FROM {0} WHERE id = 0) s ON {0}.id = {2}"
        " WHEN NOT MATCHED THEN INSERT (id, {1}) VALUES ({2}, {6})"
    ),
    "WITH": (
        "INSERT INTO {7} SELECT {2}, {1} FROM {0} WHERE id = 0;"
        " WITH gone AS (DELETE FROM {7} RETURNING *) INSERT INTO {0} SELECT * FROM gone"
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_value_is_the_same_whatever_the_settings_it_was_written_under(cluster: Cluster, way: str) -> None:
    """W1: values come from PostgreSQL in binary, and are given to it as the bytes of pairs."""
    table, second = (cluster.table(f"id integer PRIMARY KEY, {TYPES}") for _ in range(2))
    excluded, others = (
        ", ".join(f"{name} = excluded.{name}" for name in COLUMNS),
        ", ".join(f"s.{c}" for c in COLUMNS),
    )
    choices = [dict(zip(SETTINGS, values, strict=True)) for values in itertools.product(*SETTINGS.values())][::5]
    with cluster.connect() as node:
        node.execute(f"INSERT INTO {table} VALUES (0, {VALUES})")
        for number, chosen in enumerate(choices, start=1):
            set_all(node, chosen)
            for sql in WAYS[way].format(table, LISTED, number, VALUES, CHANGED, excluded, others, second).split("; "):
                node.execute(sql)
        set_all(node, {name: values[0] for name, values in SETTINGS.items()})
        found = node.execute(f"SELECT count(*) FROM (SELECT {AS_TEXT} FROM {table} GROUP BY {AS_TEXT}) AS x").fetchall()
        assert found == [(1,)]
        assert node.execute(f"SELECT count(*) FROM {table}").fetchall() == [(len(choices) + 1,)]


def test_returning_is_shown_in_the_settings_of_the_client(cluster: Cluster) -> None:
    table = cluster.table("id integer PRIMARY KEY, d date, tz timestamptz, y bytea")
    with cluster.connect() as node:
        set_all(node, {"DateStyle": "ISO, DMY", "TimeZone": "Asia/Tokyo", "bytea_output": "escape"})
        node.execute(f"INSERT INTO {table} VALUES (1, '1/2/2020', '2020-02-01 00:00:00+00', '\\x0041')")
        sql = f"UPDATE {table} SET d = d + 1 WHERE id + 0 = 1 RETURNING d::text, d - 1, tz::text, y || '\\x42'"
        result = node.pgconn.exec_(sql.encode())
        row = [result.get_value(0, place) for place in range(4)]
        assert row == [b"2020-02-02", b"2020-02-01", b"2020-02-01 09:00:00+09", b"\\000AB"]


@pytest.mark.parametrize(("sql", "code", "at"), [
    ("INSERT INTO {} (id, v) SELECT 9, 'abcdef'", "22001", None),
    ("INSERT INTO {} (id, c) SELECT 9, 'abcdef'::text", "22001", None),
    ("INSERT INTO {} (id, v) SELECT 9, 'abc   '", None, None),
    ("INSERT INTO {} (id, a) SELECT 9, ARRAY['abcdef']", "22001", None),
    ("UPDATE {} SET v = v || 'x' || v || v", "22001", None),
    ("UPDATE {} SET n = 1 / (n - n)", "22012", None),
    ("UPDATE {} SET n = n + 2147483647", "22003", None),
    ("UPDATE {} SET n = NULL WHERE n + 0 > 0", "23502", None),
    ("UPDATE {} SET n = n - 100 WHERE n + 0 > 0", "23514", None),
    ("UPDATE {} SET n = n - 100 WHERE n + 0 > 0 RETURNING 1 / (n - n)", "23514", None),
    ("UPDATE {} SET id = 5", "23505", None),
    ("UPDATE {} SET d = 'x' || n", "42804", "'x'"),
    ("UPDATE {} SET d = 'x'::text::date WHERE n + 0 > 0", "22007", None),
    ("UPDATE {} SET n = (SELECT id FROM {})", "21000", None),
    ("DELETE FROM {} WHERE nothing = 1", "42703", "nothing"),
])  # fmt: skip
def test_a_mistake_is_told_as_postgresql_does(cluster: Cluster, sql: str, code: str | None, at: str | None) -> None:
    table = cluster.table(
        "id integer PRIMARY KEY, v varchar(3), c char(2), n integer NOT NULL DEFAULT 7 CHECK (n > 0), d date,"
        " a varchar(3)[]"
    )
    with cluster.connect() as node:
        node.execute(f"INSERT INTO {table} (id, v) VALUES (1, 'a'), (2, 'b')")
        asked = sql.replace("{}", table)
        if code is None:
            node.execute(asked)
            return
        with pytest.raises(psycopg.Error) as raised:
            node.execute(asked)
        assert raised.value.sqlstate == code
        if at is not None:
            place = int(raised.value.diag.statement_position or 0)
            assert asked[place - 1 :].startswith(at) or asked[place - 1 :].startswith("||")
        assert node.execute(f"SELECT id, v, n FROM {table} ORDER BY id").fetchall() == [(1, "a", 7), (2, "b", 7)]


def test_a_table_without_a_key_is_written_by_its_hidden_one(cluster: Cluster) -> None:
    table = cluster.table("a integer, b text")
    with cluster.connect() as node:
        node.execute(f"INSERT INTO {table} SELECT n, 'r' || n FROM generate_series(1, 5) AS n")
        node.execute(f"INSERT INTO {table} SELECT * FROM {table} WHERE a < 3")
        done = node.execute(f"UPDATE {table} SET b = b || '!' WHERE length(b) = 2 AND a < 3 RETURNING *, a + 1")
        assert sorted(done.fetchall()) == [(1, "r1!", 2), (1, "r1!", 2), (2, "r2!", 3), (2, "r2!", 3)]
        assert node.execute(f"DELETE FROM {table} k USING (SELECT 1 AS x) o WHERE k.a = o.x").rowcount == 2
        rows = node.execute(f"SELECT a, b FROM {table} ORDER BY 1, 2").fetchall()
        assert rows == [(2, "r2!"), (2, "r2!"), (3, "r3"), (4, "r4"), (5, "r5")]


def test_a_block_computes_over_what_it_has_written(cluster: Cluster) -> None:
    table = cluster.table("id integer PRIMARY KEY, n integer, t timestamptz DEFAULT now()")
    with cluster.connect() as node, node.transaction():
        node.execute(f"INSERT INTO {table} (id, n) SELECT g, g FROM generate_series(1, 10) AS g")
        node.execute(f"UPDATE {table} SET n = n + (SELECT max(n) FROM {table}) WHERE id % 2 = 0")
        [(total, moments)] = node.execute(f"SELECT sum(n), count(DISTINCT t) FROM {table} WHERE t = now()").fetchall()
        assert (total, moments) == (55 + 5 * 10, 1)


def test_parameters_have_the_types_that_the_statement_gives_them(cluster: Cluster) -> None:
    table = cluster.table("id integer PRIMARY KEY, n bigint, t text, d date")
    with cluster.connect() as node:
        values: list[Any] = [1, 2, "x", "2020-02-01"]
        for prepare in (False, True):
            node.execute(f"INSERT INTO {table} SELECT %s::int, %s, %s, %s", values, prepare=prepare)
            sql = f"UPDATE {table} SET n = n * %s, t = t || %s WHERE d + 0 = %s RETURNING n + %s, t || %s"
            found = node.execute(sql, [3000000000, "é", "2020-02-01", 1, "!"], prepare=prepare).fetchall()
            assert found == [(6000000001, "xé!")]
            node.execute(f"DELETE FROM {table} WHERE n + 0 > %s", [0], prepare=prepare)


def test_a_query_that_postgresql_alone_understands_is_inserted(cluster: Cluster) -> None:
    """The store describes it: the types of its columns and parameters, and no catalog by this way."""
    table = cluster.table("id integer PRIMARY KEY, at timestamp")
    with cluster.connect() as node:
        sql = f"INSERT INTO {table} SELECT %s, date_bin('1 day', %s, '2001-01-01') RETURNING at"
        for number in range(3):
            at = dt.datetime.fromisoformat("2020-02-11 15:00")
            assert node.execute(sql, (number, at), prepare=True).fetchone() == (at.replace(hour=0),)
        with pytest.raises(psycopg.errors.FeatureNotSupported, match="pg_catalog"):
            node.execute(f"INSERT INTO {table} SELECT oid::int, date_bin('1 day', now(), now()) FROM pg_class")
        with pytest.raises(psycopg.errors.UndefinedFunction) as caught:
            node.execute(f"INSERT INTO {table} SELECT no_such_function(id) FROM {table}")
        assert caught.value.diag.statement_position == str(len(f"INSERT INTO {table} SELECT ") + 1)
        assert node.execute(f"SELECT count(*) FROM {table}").fetchone() == (3,)
