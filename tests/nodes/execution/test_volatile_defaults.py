"""A default that each row works out anew, by every way in which rows come: no two rows get the same value."""

import json
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from catalog.elements import State
from tests.nodes.conftest import Cluster

COLUMNS = (
    "id uuid DEFAULT gen_random_uuid() PRIMARY KEY, n int NOT NULL, code text NOT NULL DEFAULT md5(random()::text),"
    " at timestamptz DEFAULT clock_timestamp(), made timestamp DEFAULT (now() AT TIME ZONE 'utc')"
)


@pytest.fixture
def table(cluster: Cluster) -> str:
    return cluster.table(COLUMNS)


def differ(connection: "psycopg.Connection[Any]", table: str, count: int) -> bool:
    """True if the table has so many rows, with a value of its own in each."""
    query = f"SELECT count(*), count(DISTINCT id), count(DISTINCT code) FROM {table}"
    return connection.execute(query).fetchone() == (count,) * 3


def test_a_prepared_insert_makes_another_value_at_each_execution(n1: Any, table: str) -> None:
    for n in range(12):
        n1.execute(f"INSERT INTO {table} (n) VALUES (%s)", [n], prepare=True)
        n1.execute(f"INSERT INTO {table} (n, at) VALUES (%s, now()) RETURNING id", [n], prepare=True)
    assert differ(n1, table, 24)
    late = n1.execute(f"SELECT count(*) FROM {table} WHERE at < now() - interval '1 minute' OR at > now()").fetchone()
    assert late == (0,)


def test_a_prepared_update_to_the_default_makes_another_value_at_each_execution(n1: Any, cluster: Cluster) -> None:
    table = cluster.table("n int PRIMARY KEY, id uuid, code text DEFAULT uuidv4()::text")
    n1.execute(f"INSERT INTO {table} SELECT g, gen_random_uuid(), 'same' FROM generate_series(1, 9) g")
    for n in range(1, 10):
        n1.execute(f"UPDATE {table} SET code = DEFAULT WHERE n = %s", [n], prepare=True)
    assert differ(n1, table, 9)


def test_rows_of_a_copy(n1: Any, table: str) -> None:
    with n1.cursor().copy(f"COPY {table} (n) FROM STDIN") as copy:
        for n in range(1500):
            copy.write_row([n])
    assert differ(n1, table, 1500)


def test_rows_of_crud_calls(n1: Any, table: str) -> None:
    rows = json.dumps([{"n": n} for n in range(20)])
    answer = n1.execute("SELECT crud.insert_object_many(%s, %s)", [table, rows]).fetchone()[0]
    assert answer["done"] == [*range(20)]
    n1.execute("SELECT crud.insert_object(%s, %s)", [table, json.dumps({"n": 20})])
    assert differ(n1, table, 21)


def test_a_statement_among_others_of_its_transaction_and_one_in_a_pipeline(n1: Any, table: str) -> None:
    with n1.transaction():
        for n in range(3):
            n1.execute(f"INSERT INTO {table} (n) VALUES (%s), (7)", [n])
    with n1.pipeline():
        for n in range(3):
            n1.execute(f"INSERT INTO {table} (n) VALUES (%s)", [n])
    assert differ(n1, table, 9)


def test_while_its_column_is_dropped_rows_still_get_one_each(cluster: Cluster, n1: Any, table: str) -> None:
    """A column that is being dropped is written until nobody reads it; the drop may still be taken back."""
    before = cluster.descriptor(table)
    code = before.column_named("code")
    columns = tuple(replace(c, state=State.WRITE_ONLY) if c.id == code.id else c for c in before.columns)
    cluster.publish(replace(before.next_version(), columns=columns))
    n1.execute(f"INSERT INTO {table} (n) VALUES (1), (2), (3)")
    n1.execute(f"INSERT INTO {table} (n) VALUES (%s)", [4], prepare=True)
    assert not cluster.violations(table)
    cluster.publish(replace(before, version=before.version + 2))
    assert differ(n1, table, 4)
    assert not cluster.violations(table)


def test_the_catalog_shows_it(n1: Any, table: str) -> None:
    kept = n1.execute(
        "SELECT column_name, column_default FROM information_schema.columns WHERE table_name = %s ORDER BY 1", [table]
    ).fetchall()
    assert kept == [
        ("at", "clock_timestamp()"),
        ("code", "md5((random())::text)"),
        ("id", "gen_random_uuid()"),
        ("made", "(now() AT TIME ZONE 'utc'::text)"),
        ("n", None),
    ]
    [(text,)] = n1.execute(
        "SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = %s::regclass AND adnum = 1", [table]
    ).fetchall()
    assert text == "gen_random_uuid()"
