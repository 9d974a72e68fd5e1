"""Statements that write, judged over empty tables, of which others see nothing, and which take no name of theirs."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from statistics import median
from threading import Event
from typing import Any

import pytest
from psycopg import errors

from tests.nodes.conftest import Cluster


def test_names_of_a_private_table_are_not_told_to_others(cluster: Cluster, n1: Any) -> None:
    table, private = cluster.table("id int PRIMARY KEY, n int"), f"own{next(cluster.serial)}"
    with cluster.connect() as other:
        for temporary in ("TEMP ", ""):
            with ExitStack() as block:
                block.enter_context(other.transaction(force_rollback=True))
                other.execute(f"CREATE {temporary}TABLE {private} (id int, secret int)")
                other.execute(f"INSERT INTO {private} SELECT id, n FROM {table}")
                for _ in range(3):
                    with pytest.raises(errors.UndefinedTable) as error:
                        n1.execute(f"INSERT INTO {table} SELECT id, secre FROM {private}")
                    assert "secret" not in str(error.value)


def test_a_column_of_the_system_is_no_column_of_the_table(cluster: Cluster, n1: Any) -> None:
    table = cluster.table("id int PRIMARY KEY")
    for column in ("ctid", "xmin", "tableoid"):
        with pytest.raises(errors.UndefinedColumn):
            n1.execute(f"UPDATE {table} SET id = id + 1 RETURNING {column}")


def test_what_postgres_makes_beside_a_table_takes_no_name(cluster: Cluster, n1: Any) -> None:
    table = cluster.table("id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, x text")
    n1.execute(f"INSERT INTO {table} (x) SELECT 'a' RETURNING id + 1")
    for name in (f"{table}_pkey1", f"{table}_id_seq1"):
        other = cluster.table("id int PRIMARY KEY, v text", name=name)
        assert n1.execute(f"INSERT INTO {other} SELECT 1, 'b' RETURNING v || '!'").fetchone() == ("b!",)


def test_one_that_is_ended_while_it_is_judged_leaves_nothing_behind(cluster: Cluster, n1: Any) -> None:
    for ms in (1, 2, 3, 4, 5, 6, 8, 10) * 3:
        table = cluster.table("id int PRIMARY KEY, n int")
        sql = f"INSERT INTO {table} SELECT n, n + 1 FROM generate_series(1, 3) AS n"
        n1.execute(f"SET statement_timeout = {ms}")
        with suppress(errors.QueryCanceled):
            n1.execute(sql)
        n1.execute("SET statement_timeout = 0")
        n1.execute(f"{sql} ON CONFLICT (id) DO NOTHING")
        assert n1.execute(f"SELECT count(*) FROM {table}").fetchone() == (3,)


@pytest.mark.parametrize(
    ("value", "step"),
    [
        ("x", "({} BETWEEN false AND true)"),
        ("x", "(true BETWEEN SYMMETRIC x AND {})"),
        ("x", "({} IN (x, x))"),
        ("ROW(x, x)", "ROW(({}).*)"),
    ],
)
def test_nested_texts_that_grow_when_they_are_read_do_not_delay_others(
    cluster: Cluster, n1: Any, value: str, step: str
) -> None:
    table, deep, ended = cluster.table("id int PRIMARY KEY, x bool"), value, Event()
    seconds = []
    for _ in range(18):
        deep = step.format(deep)

    def ask_again(user: str) -> None:
        with cluster.connect(user=user) as connection:
            while not ended.wait(0.001):
                with pytest.raises(errors.StatementTooComplex):
                    connection.execute(f"UPDATE {table} SET x = {deep} IS NULL")

    with ThreadPoolExecutor(2) as threads:
        busy = [threads.submit(ask_again, user) for user in ("one", "two")]
        try:
            for number in range(5):
                began = time.monotonic()
                n1.execute(f"INSERT INTO {table} SELECT {number}, {number} + {number} > 1")
                seconds.append(time.monotonic() - began)
        finally:
            ended.set()
        for one in busy:
            one.result()
    assert median(seconds) < 1.0


def test_many_rows_with_calls_are_not_too_complex(cluster: Cluster, n1: Any) -> None:
    table = cluster.table("id int PRIMARY KEY, x bool")
    rows = ", ".join(f"({n}, {n} BETWEEN 1 AND 2 AND length(lower('A')) IN ({n}, 1 + {n}))" for n in range(3_000))
    assert n1.execute(f"INSERT INTO {table} VALUES {rows}").rowcount == 3_000


def test_the_schema_may_be_written_with_an_escape_of_its_own(cluster: Cluster, n1: Any) -> None:
    table = cluster.table("id int PRIMARY KEY, n int")
    name = f"""U&"publ!0069c" UESCAPE '!'.{table}"""
    n1.execute(f"INSERT INTO {name} SELECT 1, length('ab')")
    assert n1.execute(f"UPDATE {name} SET n = n + 1 RETURNING {name}.n + 1").fetchone() == (4,)
    assert n1.execute(f"SELECT n FROM {name}").fetchone() == (3,)
