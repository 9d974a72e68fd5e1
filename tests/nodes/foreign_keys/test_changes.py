"""ALTER TABLE .. ADD and DROP of a foreign key through a node, beside transactions of both nodes on both tables."""

import itertools
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from psycopg import errors

from tests.nodes.conftest import Cluster
from tests.nodes.ddl import cause_of_last_failure, told
from tests.rounds import rounds

pytestmark = pytest.mark.usefixtures("worker")

CODES = [f"'C{number}'" for number in range(6)]
CAREFUL = [
    "INSERT INTO {child} SELECT {number}, code, 'new' FROM {parent} WHERE code = {code}",
    "UPDATE {child} SET code = {code} WHERE id = {old} AND {code} IN (SELECT code FROM {parent})",
    "DELETE FROM {parent} WHERE code = {code} AND code NOT IN (SELECT code FROM {child} WHERE code IS NOT NULL)",
    "INSERT INTO {parent} VALUES ({code}) ON CONFLICT DO NOTHING",
    "DELETE FROM {child} WHERE id = {old}",
    "UPDATE {child} SET note = 'x', code = NULL WHERE id = {old}",
]
CARELESS = [
    *CAREFUL,
    "INSERT INTO {child} VALUES ({number}, {code}, 'new')",
    "UPDATE {child} SET code = {code} WHERE id <= {old}",
    "DELETE FROM {parent} WHERE code = {code}",
    "UPDATE {parent} SET code = {code} WHERE code = {other}",
]
ALLOWED = (errors.ForeignKeyViolation, errors.UniqueViolation, errors.SerializationFailure)


@pytest.fixture
def tables(cluster: Cluster) -> tuple[str, str]:
    parent = cluster.table("code text primary key")
    child = cluster.table("id int primary key, code text, note text")
    with cluster.connect() as connection:
        connection.execute(f"INSERT INTO {parent} VALUES " + ", ".join(f"({code})" for code in CODES))
        connection.execute(f"INSERT INTO {child} VALUES (1, 'C0', ''), (2, 'C1', ''), (3, NULL, '')")
    return child, parent


@contextmanager
def traffic(cluster: Cluster, lines: list[str], numbers: Iterator[int], **names: str) -> Iterator[list[Exception]]:
    """Statements of both nodes as long as the block lasts; what went wrong that must not."""
    stop, failures = threading.Event(), list[Exception]()

    def send(node: str, seed: int) -> None:
        dice = random.Random(seed)
        with cluster.connect(node) as connection:
            while not stop.is_set():
                number = next(numbers)
                values = {"code": dice.choice(CODES), "other": dice.choice(CODES), "number": number}
                sql = dice.choice(lines).format(**names, **values, old=dice.randrange(1, number + 1))
                try:
                    connection.execute(sql)
                except ALLOWED:
                    pass
                except psycopg.Error as error:
                    failures.append(error)
                    return

    threads = [threading.Thread(target=send, args=(f"n{n % 2 + 1}", n)) for n in range(4)]
    for thread in threads:
        thread.start()
    try:
        yield failures
    finally:
        stop.set()
        for thread in threads:
            thread.join()


@rounds(few=1, many=5)
def test_a_foreign_key_comes_and_goes_beside_traffic(
    cluster: Cluster, n1: Any, tables: tuple[str, str], rounds: int
) -> None:
    """From its last step on nobody needs to take care."""
    child, parent = tables
    numbers = itertools.count(10)
    names = {"child": child, "parent": parent}
    for _ in range(rounds):
        with traffic(cluster, CAREFUL, numbers, **names) as failures:
            told(n1, f"ALTER TABLE {child} ADD CONSTRAINT to_parent FOREIGN KEY (code) REFERENCES {parent} (code)")
        assert failures == []
        assert cluster.violations(child) == []
        with traffic(cluster, CARELESS, numbers, **names) as failures:
            threading.Event().wait(1.0)
        assert failures == []
        assert cluster.violations(child) == []
        with traffic(cluster, CAREFUL, numbers, **names) as failures:
            told(n1, f"ALTER TABLE {child} DROP CONSTRAINT to_parent")
        assert failures == []
    assert cluster.descriptor(child).foreign_keys == cluster.descriptor(parent).referenced_by == ()


def test_rows_that_refer_to_nothing_take_it_back(cluster: Cluster, n1: Any, n2: Any, tables: tuple[str, str]) -> None:
    child, parent = tables
    n2.execute(f"INSERT INTO {child} VALUES (7, 'XXX', '')")
    with pytest.raises(errors.ForeignKeyViolation, match=r"row id = 7 with \(code\) = \('XXX'\)"):
        n1.execute(f"ALTER TABLE {child} ADD FOREIGN KEY (code) REFERENCES {parent}")
    cause = cause_of_last_failure(cluster)
    assert (cause["total"], cause["rows"]) == (1, [["7", "'XXX'"]])
    assert n1.execute(cause["query"]).fetchall() == [(7, "XXX")]
    for number, connection in ((8, n1), (9, n2)):
        connection.execute(f"INSERT INTO {child} VALUES ({number}, 'YYY', '')")
    n2.execute(f"DELETE FROM {child} WHERE code NOT IN (SELECT code FROM {parent})")
    n2.execute(f"ALTER TABLE {child} ADD FOREIGN KEY (code) REFERENCES {parent}")
    with pytest.raises(errors.ForeignKeyViolation, match=f'"{child}_code_fkey"'):
        n1.execute(f"INSERT INTO {child} VALUES (10, 'YYY', '')")
    assert cluster.violations(child) == []


@pytest.mark.parametrize("sql", [
    pytest.param("DROP CONSTRAINT led, DROP CONSTRAINT one_n", id="the index it refers by"),
    pytest.param("DROP COLUMN n, DROP COLUMN boss", id="both columns", marks=pytest.mark.soak),
])  # fmt: skip
def test_what_a_table_refers_by_goes_with_its_foreign_key(cluster: Cluster, n1: Any, sql: str) -> None:
    table = cluster.table("id int primary key, n int, boss int")
    n1.execute(f"ALTER TABLE {table} ADD CONSTRAINT one_n UNIQUE (n)")
    n1.execute(f"ALTER TABLE {table} ADD CONSTRAINT led FOREIGN KEY (boss) REFERENCES {table} (n)")
    n1.execute(f"INSERT INTO {table} VALUES (1, 1, 1), (2, 2, 1)")
    numbers = itertools.count(10)
    with traffic(cluster, ["INSERT INTO {table} (id) VALUES ({number})"], numbers, table=table) as failures:
        told(n1, f"ALTER TABLE {table} {sql}")
    assert failures == []
    left = cluster.descriptor(table)
    assert (left.indexes, left.constraints, cluster.violations(table)) == ((), (), [])


@pytest.mark.parametrize("sql", [
    pytest.param("ALTER TABLE {child} DROP COLUMN code", id="the column that refers"),
    pytest.param("DROP TABLE {child}", id="the table that refers", marks=pytest.mark.soak),
    pytest.param("ALTER TABLE {child} RENAME TO {child}_new", id="renamed", marks=pytest.mark.soak),
])  # fmt: skip
def test_deletes_do_not_stumble_over_a_table_that_goes(
    cluster: Cluster, n1: Any, tables: tuple[str, str], sql: str
) -> None:
    """They look for rows that refer until the foreign key is absent, whatever becomes of the table meanwhile."""
    child, parent = tables
    n1.execute(f"ALTER TABLE {child} ADD FOREIGN KEY (code) REFERENCES {parent}")
    lines = [*CARELESS[-2:], CAREFUL[3]]
    with traffic(cluster, lines, itertools.count(10), parent=parent, child=child) as failures:
        n1.execute(sql.format(child=child))
        threading.Event().wait(0.3)
    assert failures == []
    is_bound = "RENAME" in sql
    assert bool(cluster.descriptor(parent).referenced_by) == is_bound
    if is_bound:
        assert cluster.violations(f"{child}_new") == []
