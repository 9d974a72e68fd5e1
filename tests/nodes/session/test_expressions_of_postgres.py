"""Statements on schemas with expressions that only PostgreSQL computes, from CREATE to DROP, through a node."""

from threading import Event, Thread
from typing import Any

import psycopg
import pytest
from psycopg import errors

from tests.nodes.conftest import Cluster

pytestmark = pytest.mark.usefixtures("worker")
PATH = "jsonb_path_exists(doc, '$.a ? (@ >= 0)')"


def made(n1: Any, rest: str = "") -> str:
    n1.execute(f"CREATE TABLE documents (id int PRIMARY KEY, doc jsonb, n int{rest})")
    return "documents"


def test_a_new_table_may_have_such_a_check(n1: Any) -> None:
    table = made(n1, f", CONSTRAINT sane CHECK ({PATH})")
    n1.execute(f"""INSERT INTO {table} VALUES (1, '{{"a": 1}}', 1), (2, NULL, 2)""")
    with pytest.raises(errors.CheckViolation, match='violates check constraint "sane"'):
        n1.execute(f"""UPDATE {table} SET doc = '{{"a": -1}}' WHERE id = 1""")
    [(text,)] = n1.execute("SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'sane'").fetchall()
    assert text == """CHECK (jsonb_path_exists(doc, '$."a"?(@ >= 0)'::jsonpath))"""
    n1.execute(f"ALTER TABLE {table} RENAME COLUMN doc TO document")
    with pytest.raises(errors.CheckViolation):
        n1.execute(f"""INSERT INTO {table} VALUES (3, '{{"a": -1}}', 1)""")
    n1.execute(f"ALTER TABLE {table} DROP CONSTRAINT sane")
    n1.execute(f"""INSERT INTO {table} VALUES (3, '{{"a": -1}}', 1)""")
    n1.execute(f"DROP TABLE {table}")


def test_a_table_of_a_transaction_may_have_one(n1: Any) -> None:
    with n1.transaction():
        n1.execute(f"CREATE TABLE judged_inside (id int PRIMARY KEY, doc jsonb, CHECK ({PATH}))")
        n1.execute("""INSERT INTO judged_inside VALUES (1, '{"a": 1}')""")
        n1.execute("CREATE INDEX inside_large ON judged_inside (id) WHERE jsonb_path_exists(doc, '$.a ? (@ > 5)')")
        n1.execute("""INSERT INTO judged_inside VALUES (2, '{"a": 9}')""")
        with pytest.raises(errors.CheckViolation), n1.transaction():
            n1.execute("""INSERT INTO judged_inside VALUES (3, '{"a": -1}')""")
    assert n1.execute("SELECT id FROM judged_inside ORDER BY id").fetchall() == [(1,), (2,)]


LARGE = "jsonb_path_exists(doc, '$.a ? (@ > 9)')"


def test_rows_get_an_index_and_a_check_while_others_are_written(cluster: Cluster, n1: Any, n2: Any) -> None:
    table = f"there{next(cluster.serial)}"
    n1.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, doc jsonb, n int)")
    n1.execute(f"INSERT INTO {table} SELECT i, jsonb_build_object('a', i), i FROM generate_series(1, 40) AS i")
    written, numbers = Event(), list[int]()

    def write() -> None:
        number = 100
        with cluster.connect("n2") as connection:
            while not written.is_set():
                number += 1
                connection.execute(f"INSERT INTO {table} VALUES ({number}, jsonb_build_object('a', {number % 20}), 1)")
                other = f"jsonb_build_object('a', {number % 15})"
                connection.execute(f"UPDATE {table} SET doc = {other} WHERE id = {number % 40}")
                connection.execute(f"DELETE FROM {table} WHERE id = {number - 3}")
                numbers.append(number)

    writer = Thread(target=write)
    writer.start()
    try:
        n1.execute(f"CREATE INDEX {table}_large ON {table} (n) WHERE {LARGE}")
        n1.execute(f"ALTER TABLE {table} ADD CONSTRAINT sane CHECK ({PATH})")
    finally:
        was_writing = writer.is_alive()
        written.set()
        writer.join()
    assert was_writing, "no statement of its own has failed"
    assert len(numbers) > 10
    assert cluster.violations(table) == []
    with pytest.raises(errors.CheckViolation):
        n2.execute(f"""INSERT INTO {table} VALUES (99, '{{"a": -1}}', 1)""")
    n1.execute(f"DROP INDEX {table}_large")
    assert cluster.violations(table) == []


def test_a_row_that_breaks_such_a_check_is_named(cluster: Cluster, n1: Any) -> None:
    table = f"there{next(cluster.serial)}"
    n1.execute(f"CREATE TABLE {table} (id int PRIMARY KEY, doc jsonb)")
    n1.execute(f"""INSERT INTO {table} VALUES (7, '{{"a": -1}}'), (8, '{{"a": 1}}')""")
    with pytest.raises(psycopg.Error, match="row id = 7") as caught:
        n1.execute(f"ALTER TABLE {table} ADD CONSTRAINT sane CHECK ({PATH})")
    assert caught.value.sqlstate == "23514"


@pytest.mark.parametrize(("expression", "sqlstate", "message", "at"), [
    ("no_such(doc)", "42883", r"function no_such\(jsonb\) does not exist", "no_such"),
    ("jsonb_path_query_first(doc, '$')", "42804", "of type boolean, not of type jsonb", None),
    ("jsonb_path_exists_tz(doc, '$')", "42P17", "functions in check constraint must be marked IMMUTABLE", None),
])  # fmt: skip
def test_what_cannot_stand_in_a_check_is_refused_with_its_place(
    n1: Any, expression: str, sqlstate: str, message: str, at: str | None
) -> None:
    sql = f"CREATE TABLE refused (id int PRIMARY KEY, doc jsonb, CHECK ({expression}))"
    with pytest.raises(psycopg.Error, match=message) as caught:
        n1.execute(sql)
    assert caught.value.sqlstate == sqlstate
    if at is not None:
        assert int(caught.value.diag.statement_position or 0) == sql.index(at) + 1
