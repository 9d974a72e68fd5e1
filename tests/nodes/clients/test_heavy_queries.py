"""A user's heavy queries keep no other session from its answers."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from tests.nodes.conftest import Cluster, Runner

QUERIES = 9
"""More than one user has sessions of a node at the store, of which queries take six."""
HEAVY = "SELECT sum(length(md5(g::text))) FROM generate_series(1, 1000000000) g"


def test_short_queries_and_the_catalog_answer_while_heavy_ones_run(cluster: Cluster, program: Runner) -> None:
    table = cluster.table("id int primary key, v text")
    heavy, has_begun = [cluster.connect("n1") for _ in range(QUERIES)], threading.Barrier(QUERIES + 1)

    def run(connection: "psycopg.Connection[Any]") -> str | None:
        has_begun.wait(30)
        try:
            connection.execute(HEAVY)
        except psycopg.Error as error:
            return error.sqlstate
        return None

    with (
        ThreadPoolExecutor(len(heavy)) as threads,
        cluster.connect("n1") as other,
        cluster.connect("n1", user="patient") as patient,
    ):
        running = [threads.submit(run, connection) for connection in heavy]
        try:
            has_begun.wait(30)
            for connection in (other, patient):
                connection.execute("SET statement_timeout = '20s'")
            for number in range(5):
                assert other.execute("SELECT 1").fetchall() == [(1,)]
                other.execute(f"INSERT INTO {table} VALUES ({number}, 'x')")
                assert other.execute(f"SELECT v FROM {table} WHERE id = {number}").fetchall() == [("x",)]
                assert patient.execute(f"SELECT count(*) FROM {table}").fetchall() == [(number + 1,)]
            assert "id" in program("psql", "-c", f"\\d {table}", "schemalab").stdout
            assert not any(future.done() for future in running)
        finally:
            for connection in heavy:
                connection.cancel_safe(timeout=30)
        assert {future.result(60) for future in running} == {"57014"}
        for connection in heavy:
            assert connection.execute("SELECT 2").fetchall() == [(2,)]
            connection.close()


def test_a_timeout_does_not_wait_for_what_is_done_with_long_texts(cluster: Cluster) -> None:
    dear = "g::text"
    for _ in range(6):
        dear = f"translate({dear}, repeat('a', 120000), repeat('b', 120000))"
    with cluster.connect("n1") as connection:
        connection.execute("SET statement_timeout = '1s'")
        began = time.monotonic()
        with pytest.raises(psycopg.errors.QueryCanceled):
            connection.execute(f"SELECT sum(length({dear})) FROM generate_series(1, 1000000) g")
        assert time.monotonic() - began < 8
        connection.execute("SET statement_timeout = '20s'")
        assert connection.execute("SELECT 1").fetchall() == [(1,)]
