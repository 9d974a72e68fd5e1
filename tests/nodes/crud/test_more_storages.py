"""Tables on three storages, on real nodes, where the cluster began with two: what each way to read and write finds.
Code that takes the number of storages from the setting does not see a third of the rows."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from psycopg import pq

from catalog.descriptor import Descriptor
from nodes.client import Crud as CrudClient
from storage.integrity.clauses import Referenced, check
from tests.nodes.conftest import STORAGES, Cluster
from tests.nodes.crud.test_operations import Crud, crud, rows
from tests.nodes.crud.test_stale_routers import publish
from tests.nodes.crud.test_without_leases import HASH, deaf
from tests.storage import pairs_sql

__all__ = ["crud"]

ROWS = 60
THIRD = 3


@pytest.fixture(scope="module", autouse=True)
def third_storage(cluster: Cluster) -> Iterator[None]:
    """Made as `manage.py storages add` makes it."""
    add_third(cluster, "SELECT storage_make_schema(3)")
    yield
    with cluster.store() as store:
        store.execute("UPDATE storage_layout SET existing = 2")


def add_third(cluster: Cluster, makes_schema: str) -> None:
    with cluster.store() as store, store.transaction():
        store.execute(makes_schema)
        store.execute("SELECT storage_make_missing(3, NULL)")
        store.execute("SELECT storage_copy_versions(3)")
        store.execute("UPDATE storage_layout SET existing = 3")


@contextmanager
def third_removed(cluster: Cluster) -> Iterator[None]:
    """It is there under another name, so that its tables are found again."""
    with cluster.store() as store, store.transaction():
        store.execute("UPDATE storage_layout SET existing = 2")
        store.execute("ALTER SCHEMA storage_3 RENAME TO removed_3")
    try:
        yield
    finally:
        add_third(cluster, "ALTER SCHEMA removed_3 RENAME TO storage_3")


def pairs(cluster: Cluster, table: str) -> list[dict[bytes, bytes | None]]:
    table_id = cluster.descriptor(table).table_id
    return [dict(cluster.read(pairs_sql.pairs(n, table_id))) for n in range(1, THIRD + 1)]


def violations(cluster: Cluster, table: str, *others: str) -> list[str]:
    referenced = [Referenced(cluster.descriptor(one), pairs(cluster, one), STORAGES) for one in others]
    found = check(cluster.descriptor(table), pairs(cluster, table), referenced=referenced, first=STORAGES)
    return [str(one) for one in found]


@pytest.fixture
def people(cluster: Cluster, n1: "psycopg.Connection[Any]") -> str:
    """A table made while there are three storages, with rows on each."""
    table = cluster.table("id int PRIMARY KEY, name text UNIQUE, age int")
    n1.execute(f"INSERT INTO {table} SELECT i, 'name ' || i, i % 7 FROM generate_series(1, {ROWS}) AS i")
    assert cluster.descriptor(table).placement.storages == THIRD
    assert all(pairs(cluster, table))
    return table


def test_every_read_finds_every_row_once(cluster: Cluster, crud: Crud, people: str, n2: "psycopg.Connection[Any]"):
    def one(query: str) -> Any:
        return n2.execute(query).fetchone()

    assert one(f"SELECT count(*), count(DISTINCT id), sum(age) FROM {people}")[:2] == (ROWS, ROWS)
    assert all(one(f"SELECT name FROM {people} WHERE id = {i}") == (f"name {i}",) for i in range(1, ROWS + 1))
    assert all(one(f"SELECT id FROM {people} WHERE name = 'name {i}'") == (i,) for i in range(1, ROWS + 1))
    assert one(f"SELECT count(*) FROM {people} WHERE name > 'name' AND age = 3") == (9,)
    assert [row[0] for row in rows(crud("select", people, []))] == list(range(1, ROWS + 1))
    assert [crud("len", people), crud("count", people, [[">", "id", 30]])] == [ROWS, 30]
    assert crud("count", people, [["=", "id", 30]], {"force_map_call": True}) == 1
    assert rows(crud("max", people))[0][0] == ROWS
    info = one("SELECT crud.storage_info()")[0]
    assert [info[f"storage_{n}"]["buckets"] for n in (1, 2, 3)] == [[1, 1000], [1001, 2000], [2001, 3000]]
    on_two = cluster.table("id int PRIMARY KEY) WITH (storages = 2")
    info = one("SELECT crud.storage_info()")[0]
    assert [on_two in info[f"storage_{n}"]["tables"] for n in (1, 2, 3)] == [True, True, False]
    said = [table for storage in info.values() for table in storage["tables"].values()]
    assert [one for one in said if one["accepted_from"] is None or not one["known"]] == []
    assert crud("schema", people)["storages"] == THIRD
    [(explained,)] = [
        line for line in n2.execute(f"EXPLAIN SELECT * FROM {people}").fetchall() if "Storages" in line[0]
    ]
    assert "1, 2, 3" in explained


def test_every_write_meets_the_row_where_it_lies(cluster: Cluster, crud: Crud, people: str, n1: Any):
    done = crud("insert_many", people, [[i, f"name {i}", 1] for i in range(50, 90)])
    assert sorted(done["done"]) == list(range(ROWS - 49, 40))
    assert rows(crud("replace", people, [3, "new", 3])) == [[3, "new", 3]]
    with pytest.raises(psycopg.errors.UniqueViolation):
        n1.execute(f"INSERT INTO {people} VALUES (500, 'new', 1)")
    n1.execute(f"UPDATE {people} SET id = id + 1000 WHERE age = 2")
    n1.execute(f"INSERT INTO {people} VALUES (4, 'name 4', 9) ON CONFLICT (name) DO UPDATE SET age = 9")
    n1.execute(f"DELETE FROM {people} WHERE id % 2 = 0")
    assert violations(cluster, people) == []
    n1.execute(f"TRUNCATE {people}")
    assert pairs(cluster, people) == [{}, {}, {}]


def test_a_foreign_key_finds_rows_of_a_table_on_other_storages(
    cluster: Cluster, worker: None, people: str, n1: "psycopg.Connection[Any]"
):
    pets = cluster.table("id int PRIMARY KEY, owner int) WITH (storages = 2")
    n1.execute(f"ALTER TABLE {pets} ADD CONSTRAINT owned FOREIGN KEY (owner) REFERENCES {people} (id)")
    n1.execute(f"INSERT INTO {pets} SELECT i, i FROM generate_series(1, {ROWS}) AS i")
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        n1.execute(f"INSERT INTO {pets} VALUES (999, 999)")
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        n1.execute(f"DELETE FROM {people} WHERE id = 7")
    n1.execute(f"ALTER TABLE {pets} SET (storages = 3)")
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        n1.execute(f"DELETE FROM {people} WHERE id = 11")
    n1.execute(f"ALTER TABLE {people} SET (storages = 1)")
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        n1.execute(f"UPDATE {pets} SET owner = 999 WHERE id = 5")
    n1.execute(f"DELETE FROM {pets} WHERE id = 7")
    n1.execute(f"DELETE FROM {people} WHERE id = 7")
    assert violations(cluster, pets, people) == violations(cluster, people) == []
    assert [bool(one) for one in pairs(cluster, people)] == [True, False, False]
    assert all(pairs(cluster, pets))


def test_rows_are_spread_over_more_storages_and_back_beside_readers_and_writers(
    cluster: Cluster, worker: None, n1: "psycopg.Connection[Any]"
):
    table = cluster.table("id int PRIMARY KEY, name text UNIQUE, n int) WITH (storages = 2")
    n1.execute(f"INSERT INTO {table} SELECT i, 'name ' || i, 0 FROM generate_series(1, {ROWS}) AS i")
    traffic = Traffic(cluster, table)
    try:
        for storages in (3, 1, 2):
            n1.execute(f"ALTER TABLE {table} SET (storages = {storages})")
            found = [bool(one) for one in pairs(cluster, table)]
            assert found == [number <= storages for number in (1, 2, 3)]
    finally:
        counts = traffic.stop()
    assert all(counts), "each client worked all the time"
    assert violations(cluster, table) == []
    assert n1.execute(f"SELECT count(*), sum(n) FROM {table}").fetchone() == (ROWS, traffic.updates)


class Traffic:
    """Clients of both nodes until they are stopped: one updates, the others check that each row is found once."""

    def __init__(self, cluster: Cluster, table: str) -> None:
        self.cluster, self.table, self.updates = cluster, table, 0
        self.ended, self.wrong = threading.Event(), list[object]()
        self.counts = [0, 0, 0]
        clients: tuple[Callable[[Any, int], None], ...] = (self._update, self._by_key, self._by_index)
        self.threads = [threading.Thread(target=self._run, args=(n, one)) for n, one in enumerate(clients)]
        for thread in self.threads:
            thread.start()

    def stop(self) -> list[int]:
        self.ended.set()
        for thread in self.threads:
            thread.join(30)
        assert self.wrong == []
        return self.counts

    def _run(self, number: int, client: Callable[[Any, int], None]) -> None:
        with self.cluster.connect("n1" if number % 2 else "n2") as connection:
            while not self.ended.is_set() and not self.wrong:
                try:
                    client(connection, self.counts[number])
                except (psycopg.Error, AssertionError) as error:  # the test's own thread reports it
                    self.wrong.append(error)
                self.counts[number] += 1

    def _update(self, connection: Any, n: int) -> None:
        self.updates += connection.execute(f"UPDATE {self.table} SET n = n + 1 WHERE id = {n % ROWS + 1}").rowcount

    def _by_key(self, connection: Any, n: int) -> None:
        found = connection.execute(f"SELECT name FROM {self.table} WHERE id = {n % ROWS + 1}").fetchall()
        if found != [(f"name {n % ROWS + 1}",)]:
            self.wrong.append(found)

    def _by_index(self, connection: Any, n: int) -> None:
        found = connection.execute(f"SELECT id FROM {self.table} WHERE name = 'name {n % ROWS + 1}'").fetchall()
        count = connection.execute(f"SELECT count(*), count(DISTINCT id) FROM {self.table}").fetchone()
        if found != [(n % ROWS + 1,)] or count != (ROWS, ROWS):
            self.wrong.append((found, count))


def on_two(table: Descriptor) -> Descriptor:
    """The next version, on two storages, as if all that lies between had been published and drained."""
    return table.next_version(placements=(replace(table.placement, storages=2),))


@pytest.mark.parametrize("way", ["sql", "crud"])
def test_a_node_that_hears_nothing_serves_a_table_whose_storage_was_removed(cluster: Cluster, way: str):
    table = cluster.table(f"id int PRIMARY KEY, a text{HASH}")
    with cluster.connect("n2") as n2, CrudClient(cluster.address("n2"), timeout=60) as crud, deaf(cluster):
        assert n2.execute(f"SELECT * FROM {table}").fetchall() == []
        publish(cluster, on_two(cluster.descriptor(table)))
        with third_removed(cluster):
            if way == "sql":
                n2.execute(f"INSERT INTO {table} VALUES (1, 'a')")
            else:
                crud.insert_object(table, {"id": 1, "a": "a"})
            assert n2.execute(f"SELECT * FROM {table}").fetchall() == [(1, "a")]


def test_a_statement_described_before_a_storage_was_removed_is_40001_once(cluster: Cluster):
    table = cluster.table(f"id int PRIMARY KEY, a text{HASH}")
    with cluster.connect("n2") as n2, deaf(cluster):
        n2.execute("BEGIN")
        n2.pgconn.prepare(b"found", f"SELECT * FROM {table}".encode(), [])
        publish(cluster, on_two(cluster.descriptor(table)))
        with third_removed(cluster):
            result = n2.pgconn.exec_prepared(b"found", [])
            assert result.error_field(pq.DiagnosticField.SQLSTATE) == b"40001", result.error_message
            n2.execute("ROLLBACK")
            n2.execute("BEGIN")
            assert n2.execute(f"SELECT * FROM {table}").fetchall() == []
            n2.execute("COMMIT")


def test_more_storages_than_there_are_are_refused(cluster: Cluster, people: str, n1: "psycopg.Connection[Any]"):
    with pytest.raises(
        psycopg.errors.InvalidParameterValue, match="there are 3 storages: rows cannot be spread over 4"
    ):
        n1.execute(f"ALTER TABLE {people} SET (storages = 4)")
    with pytest.raises(psycopg.errors.InvalidParameterValue, match="there are 3 storages"):
        cluster.table("id int PRIMARY KEY) WITH (storages = 4")
    for wrong in ("0", "-1", "17", "'x'", "1.5", "99999999999999999999"):
        with pytest.raises(psycopg.errors.InvalidParameterValue, match="storages"):
            n1.execute(f"ALTER TABLE {people} SET (storages = {wrong})")
    assert cluster.descriptor(people).version == 1
