"""A row of a wide table is weighed by its pairs: who writes too many is refused, and others are answered meanwhile."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest

from expressions.errors import SqlError
from nodes.execution.held_rows import (
    FEW_PAIRS_BYTES,
    NODE_PAIRS_BYTES_MAX,
    PAIR_BYTES,
    PAIRS_BYTES_MAX,
    HeldRows,
    NodeRows,
)
from storage.mutations import Act, Op
from tests.nodes.conftest import Cluster

COLUMNS = ", ".join(f"c{i} int" for i in range(600))
UNIQUE = ", ".join(f"c{i} int UNIQUE" for i in range(99))
MEMORY_MB = 1024
"""What a node may have by default."""
WAIT_S_MAX = 1.0
"""In processor time of the node, so that others on the machine do not count."""
TICKS = os.sysconf("SC_CLK_TCK")


def processor_s(pid: int) -> float:
    with open(f"/proc/{pid}/stat") as stat:
        user, system = stat.read().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / TICKS


@contextmanager
def others_are_answered(cluster: Cluster, table: str) -> Iterator[list[float]]:
    waits, is_over, pid = [0.0], threading.Event(), cluster.processes["n1"].pid
    with cluster.connect() as other:

        def ask() -> None:
            while not is_over.wait(0.02):
                began = processor_s(pid)
                other.execute(f"SELECT c1 FROM {table} WHERE id = 7").fetchall()
                waits.append(processor_s(pid) - began)

        asking = threading.Thread(target=ask)
        asking.start()
        try:
            yield waits
        finally:
            is_over.set()
            asking.join(60)
    assert max(waits) < WAIT_S_MAX, f"others waited {max(waits):.2f} s"
    print("longest wait", max(waits))


def at_once(cluster: Cluster, sql: str, sessions: int) -> list[str]:
    """What each of these sessions is answered: a SQLSTATE, or "" for a statement that is done, and rolled back."""
    answers: list[str] = []

    def run() -> None:
        with cluster.connect() as connection:
            try:
                connection.execute("BEGIN")
                connection.execute(sql)
                answers.append("")
                connection.execute("ROLLBACK")
            except psycopg.Error as error:
                answers.append(error.sqlstate or str(error))

    threads = [threading.Thread(target=run) for _ in range(sessions)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    return answers


def megabytes(pid: int) -> int:
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) // 1024 for line in status if line.startswith("VmHWM"))


def test_rows_of_a_wide_table_do_not_take_a_node_to_its_limit(cluster: Cluster) -> None:
    """2,500 rows of 600 columns, three times at once: MemoryError and XX000, and a node that could not even end."""
    table, pid = cluster.table(f"id int PRIMARY KEY, {COLUMNS}"), cluster.processes["n1"].pid
    with others_are_answered(cluster, table):
        answers = at_once(cluster, f"INSERT INTO {table} (id) SELECT generate_series(1, 2500)", sessions=3)
    assert answers == ["53200"] * 3
    assert megabytes(pid) < MEMORY_MB
    with cluster.connect() as connection:
        connection.execute(f"INSERT INTO {table} (id) SELECT generate_series(1, 200)")
        connection.execute(f"TRUNCATE {table}")
        assert connection.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)


def test_rows_with_99_unique_columns_keep_nobody_waiting(cluster: Cluster) -> None:
    table = cluster.table(f"id int PRIMARY KEY, {UNIQUE}")
    values = ", ".join(["g"] * 99)
    with others_are_answered(cluster, table):
        answers = at_once(
            cluster, f"INSERT INTO {table} SELECT g, {values} FROM generate_series(1, 1500) g", sessions=1
        )
    assert answers == [""]


def ops(count: int) -> list[Op]:
    return [Op(next(iter(Act)), 0, b"")] * count


def test_a_statement_that_writes_little_is_not_refused_for_what_others_hold() -> None:
    node, most = NodeRows(), PAIRS_BYTES_MAX // PAIR_BYTES
    held: list[HeldRows] = [HeldRows(node) for _ in range(4)]
    held[0].take_pairs(ops(most))
    with pytest.raises(SqlError, match="one statement may write at most") as caught:
        held[0].take_pairs(ops(1))
    assert caught.value.sqlstate == "53200"
    held[1].take_pairs(ops(most))
    with pytest.raises(SqlError, match="the statements of this node write") as caught:
        held[2].take_pairs(ops(FEW_PAIRS_BYTES // PAIR_BYTES + 1))
    assert caught.value.sqlstate == "53200"
    held[3].take_pairs(ops(FEW_PAIRS_BYTES // PAIR_BYTES))
    for one in held:
        with one:
            pass
    assert (node.pairs, node.held) == (0, 0)
    assert NODE_PAIRS_BYTES_MAX == 2 * PAIRS_BYTES_MAX
