"""TRUNCATE beside writers: it ends, keeps them out while it deletes, and waits for nobody for long."""

import itertools
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
import pytest

from tests.nodes.conftest import Cluster

ROWS = 500
"""As many as one transaction deletes, each of which is written again at once."""
WRITERS = 5


@pytest.fixture
def busy(cluster: Cluster) -> Iterator[str]:
    """A table whose rows are written by five clients, without a pause."""
    table = cluster.table("id int PRIMARY KEY, n int, a text, b text")
    is_over = threading.Event()
    put = f"INSERT INTO {table} SELECT (g * 83 + %s) %% {ROWS}, 0, 'a', 'b' FROM generate_series(1, 5) g"
    put += f" ON CONFLICT (id) DO UPDATE SET n = {table}.n + 1"

    def write(number: int) -> None:
        with cluster.connect("n1" if number % 2 else "n2") as client:
            for count in itertools.takewhile(lambda _: not is_over.is_set(), itertools.count()):
                try:
                    client.execute(put, [WRITERS * count + number])
                except psycopg.errors.SerializationFailure:
                    continue

    with cluster.connect() as client:
        client.execute(f"INSERT INTO {table} SELECT g, 0, 'a', 'b' FROM generate_series(0, {ROWS - 1}) g")
    writers = [threading.Thread(target=write, args=(number,)) for number in range(WRITERS)]
    for writer in writers:
        writer.start()
    yield table
    is_over.set()
    for writer in writers:
        writer.join()


def test_it_ends_beside_writers_that_never_pause(cluster: Cluster, n1: Any, busy: str) -> None:
    for _ in range(4):
        assert n1.execute(f"TRUNCATE {busy}").statusmessage == "TRUNCATE TABLE"
    assert cluster.violations(busy) == []


def test_it_waits_for_a_transaction_that_writes_its_rows(cluster: Cluster, n1: Any, n2: Any) -> None:
    """R9: a lock that cannot be had in time is no reason to end; what was written before it goes, too."""
    table = cluster.table("id int PRIMARY KEY, n int")
    n1.execute(f"INSERT INTO {table} SELECT g, 0 FROM generate_series(1, 1200) g")
    n2.execute("BEGIN")
    n2.execute(f"UPDATE {table} SET n = 1 WHERE id = 600")
    done = threading.Event()

    def empty() -> None:
        n1.execute(f"TRUNCATE {table}")
        done.set()

    truncating = threading.Thread(target=empty)
    truncating.start()
    assert not done.wait(0.6)
    n2.execute("COMMIT")
    truncating.join()
    assert done.is_set()
    assert n2.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


# --- what others do meanwhile


@contextmanager
def writing(cluster: Cluster, *statements: Callable[[int], str]) -> Iterator[None]:
    """Clients of both nodes that go on, each with a statement of its own; what does not fit in between is refused."""
    is_over = threading.Event()

    def write(number: int, statement: Callable[[int], str]) -> None:
        with cluster.connect("n1" if number % 2 else "n2") as client:
            for count in itertools.takewhile(lambda _: not is_over.is_set(), itertools.count()):
                with suppress(psycopg.errors.SerializationFailure, psycopg.errors.ForeignKeyViolation):
                    client.execute(statement(count))

    with ThreadPoolExecutor(len(statements)) as pool:
        writers = [pool.submit(write, number, statement) for number, statement in enumerate(statements)]
        try:
            yield
        finally:
            is_over.set()
        for writer in writers:
            writer.result()


def test_no_row_refers_to_one_that_it_took(cluster: Cluster, n1: Any, n2: Any) -> None:
    parent, child = (f"t{next(cluster.serial)}" for _ in range(2))
    with n1.transaction():
        n1.execute(f"CREATE TABLE {parent} (id int PRIMARY KEY, n int)")
        n1.execute(f"CREATE TABLE {child} (id int PRIMARY KEY, parent int REFERENCES {parent} (id))")
    put = f"INSERT INTO {parent} SELECT g, 0 FROM generate_series({{}}, {{}}) g ON CONFLICT (id) DO NOTHING"
    n1.execute(put.format(1, 700))
    sentences = (
        lambda count: put.format(1 + count % 70, 30 + count % 70),
        lambda count: f"INSERT INTO {child} VALUES ({count}, {1 + count % 100}) ON CONFLICT (id) DO NOTHING",
        lambda count: f"INSERT INTO {child} SELECT {10**6 + count}, id FROM {parent} LIMIT 1",
    )
    orphans = f"SELECT count(*) FROM {child} WHERE parent NOT IN (SELECT id FROM {parent})"
    with writing(cluster, *sentences):
        for _ in range(6):
            n1.execute(f"TRUNCATE {parent}, {child}")
            assert n2.execute(orphans).fetchone() == (0,)
    assert cluster.violations(child) == cluster.violations(parent) == []


@pytest.mark.usefixtures("worker")
def test_an_index_that_is_filled_meanwhile_has_an_entry_for_each_row_and_no_other(cluster: Cluster, n1: Any) -> None:
    table = cluster.table("id int PRIMARY KEY, name text")
    put = f"INSERT INTO {table} SELECT g, 'name ' || g FROM generate_series({{}}, {{}}) g ON CONFLICT (id) DO NOTHING"
    n1.execute(put.format(1, 3000))

    def index() -> None:
        with cluster.connect("n2") as client:
            client.execute(f"CREATE UNIQUE INDEX {table}_name ON {table} (name)")

    indexing = threading.Thread(target=index)
    with writing(cluster, lambda count: put.format(1 + 50 * (count % 60), 50 + 50 * (count % 60))):
        indexing.start()
        while indexing.is_alive():
            n1.execute(f"TRUNCATE {table}")
        indexing.join()
    sql = "SELECT status FROM changes_change WHERE table_name = %s AND statement LIKE '%% INDEX %%'"
    assert cluster.read(sql, [table]) == [("done",)]
    assert cluster.violations(table) == []


def test_who_read_before_sees_all_rows_to_the_end_and_writes_none_of_them(cluster: Cluster, n1: Any, n2: Any) -> None:
    table, counted = cluster.table("id int PRIMARY KEY, n int"), cluster.table("id int PRIMARY KEY, n int")
    n1.execute(f"INSERT INTO {table} SELECT g, 0 FROM generate_series(1, 1200) g")
    with n2.transaction():
        before = n2.execute(f"SELECT count(*) FROM {table}").fetchone()
        n1.execute(f"TRUNCATE {table}")
        assert n2.execute(f"SELECT count(*) FROM {table}").fetchone() == before == (1200,)
        n2.execute(f"INSERT INTO {counted} VALUES (1, 1200)")
    n1.execute(f"INSERT INTO {table} VALUES (1, 0), (2, 0)")
    n2.execute("BEGIN")
    n2.execute(f"SELECT * FROM {table}")
    n1.execute(f"TRUNCATE {table}")
    with pytest.raises(psycopg.errors.SerializationFailure):
        n2.execute(f"UPDATE {table} SET n = 1 WHERE id = 2")
    n2.execute("ROLLBACK")
    assert n1.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)
    assert cluster.violations(table) == cluster.violations(counted) == []


def test_in_a_block_it_is_undone_with_a_savepoint_and_done_with_the_block(cluster: Cluster, n1: Any, n2: Any) -> None:
    table = cluster.table("id int PRIMARY KEY, n int")
    n1.execute(f"INSERT INTO {table} SELECT g, 0 FROM generate_series(1, 600) g")
    n1.execute("BEGIN")
    n1.execute("SAVEPOINT s")
    n1.execute(f"TRUNCATE {table}")
    n1.execute("ROLLBACK TO SAVEPOINT s")
    assert n1.execute(f"SELECT count(*) FROM {table}").fetchone() == (600,)
    n1.execute(f"TRUNCATE {table}")
    n1.execute(f"INSERT INTO {table} VALUES (1, 1)")
    n2.execute(f"INSERT INTO {table} VALUES (601, 0)")  # waits for nobody: it comes after
    n1.execute("COMMIT")
    assert sorted(n2.execute(f"SELECT id, n FROM {table}").fetchall()) == [(1, 1), (601, 0)]
    assert cluster.violations(table) == []
