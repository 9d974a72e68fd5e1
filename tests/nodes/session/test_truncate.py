"""TRUNCATE beside writers: it ends, keeps them out while it deletes, and waits for nobody for long."""

import itertools
import threading
from collections.abc import Iterator
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
