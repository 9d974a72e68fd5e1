"""Tables without leases (`coordination = 'hash'`): the storages' check is all that keeps a node from an old version. No
news is sent, and node n2 has no heartbeat either while it is `deaf`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from catalog.descriptor import Descriptor
from catalog.elements import State
from changes.driver import publish as publishing
from nodes.client import Crud
from storage.postgres import holders
from tests.nodes.conftest import STORAGES, Cluster
from tests.nodes.crud.test_stale_routers import publish, swapped, until_done

HASH = ") WITH (coordination = 'hash'"


@contextmanager
def deaf(cluster: Cluster, node: str = "n2") -> Iterator[None]:
    """No heartbeat of a node is answered, and no news reaches it; it may load a version."""
    with cluster.store() as store, store.transaction():
        store.execute("SELECT FROM leases_node WHERE name = %s FOR NO KEY UPDATE", [node])
        yield


@pytest.fixture
def table(cluster: Cluster) -> str:
    return cluster.table(f"id int PRIMARY KEY, a text, b text{HASH}")


def test_no_lease_is_kept_and_a_transaction_has_the_span_of_one(cluster: Cluster, table: str):
    with cluster.connect("n1") as n1, cluster.connect("n2") as n2:
        n1.execute(f"INSERT INTO {table} VALUES (1, 'A', 'B')")
        assert n2.execute(f"SELECT a, b FROM {table}").fetchall() == [("A", "B")]
        table_id = cluster.descriptor(table).table_id
        assert cluster.read("SELECT node FROM leases_lease WHERE table_id = %s", [table_id]) == []
        with n1.transaction():
            n1.execute(f"INSERT INTO {table} VALUES (2, 'A', 'B')")
            with cluster.store() as store:
                found = holders(store.cursor(), table_id, 1)
            assert [one.application_name.split()[2] for one in found] == ["n1"]


def both_ways(table: str) -> dict[str, Callable[["psycopg.Connection[Any]", Crud, int], None]]:
    """A row with a = 'A' and b = 'B', by each kind of statement; its id is a number's."""
    return {
        "sql": lambda n2, _, i: n2.execute(f"INSERT INTO {table} (id, a, b) VALUES (%s, 'A', 'B')", [i]),
        "object": lambda _, crud, i: crud.insert_object(table, {"id": i, "a": "A", "b": "B"}),
    }


@pytest.mark.parametrize("way", ["sql", "object"])
def test_a_node_that_hears_nothing_never_uses_an_old_version(cluster: Cluster, table: str, way: str):
    with cluster.connect("n2") as n2, Crud(cluster.address("n2"), timeout=60) as crud, deaf(cluster):
        write = both_ways(table)[way]
        write(n2, crud, 0)
        for number in range(1, 5):
            publish(cluster, swapped(cluster.descriptor(table), "a", "b"))
            write(n2, crud, number)
            [newest] = crud.get(table, number).objects()
            assert newest == {"id": number, "a": "A", "b": "B"}
            publish(cluster, swapped(cluster.descriptor(table), "a", "b"))
            assert n2.execute(f"SELECT a, b FROM {table} WHERE id = %s", [number]).fetchall() == [("B", "A")]
            publish(cluster, swapped(cluster.descriptor(table), "a", "b"))
            lines = n2.execute(f"EXPLAIN SELECT a FROM {table}").fetchall()
            assert any(line.endswith(f"@{cluster.descriptor(table).version}") for (line,) in lines)
            publish(cluster, swapped(cluster.descriptor(table), "a", "b"))
    assert cluster.violations(table) == []


def test_in_a_block_an_old_version_is_40001_and_the_next_block_uses_the_newest(cluster: Cluster, table: str):
    with cluster.connect("n2") as n2, deaf(cluster):
        n2.execute(f"INSERT INTO {table} VALUES (1, 'A', 'B')")
        publish(cluster, swapped(cluster.descriptor(table), "a", "b"))
        with pytest.raises(psycopg.errors.SerializationFailure, match="is below the fence"), n2.transaction():
            n2.execute(f"UPDATE {table} SET a = 'C'")
        with n2.transaction():
            n2.execute(f"UPDATE {table} SET a = 'C'")
        assert n2.execute(f"SELECT a, b FROM {table}").fetchall() == [("C", "A")]


def test_a_truncate_in_a_block_under_an_old_version_is_40001_once(cluster: Cluster, table: str):
    with cluster.connect("n2") as n2, deaf(cluster):
        n2.execute(f"INSERT INTO {table} VALUES (1, 'A', 'B')")
        publish(cluster, swapped(cluster.descriptor(table), "a", "b"))
        with pytest.raises(psycopg.errors.SerializationFailure, match="is below the fence"), n2.transaction():
            n2.execute(f"TRUNCATE {table}")
        with n2.transaction():
            n2.execute(f"TRUNCATE {table}")
        assert n2.execute(f"SELECT * FROM {table}").fetchall() == []


@pytest.mark.parametrize("word", ["SAVEPOINT later", "ROLLBACK TO SAVEPOINT s"])
def test_a_refusal_at_a_savepoint_is_40001_once(cluster: Cluster, table: str, word: str):
    with cluster.connect("n2") as n2, deaf(cluster):
        n2.execute("BEGIN")
        n2.execute("SAVEPOINT s")
        n2.pgconn.prepare(b"found", f"INSERT INTO {table} (id, a, b) VALUES (0, 'A', 'B')".encode(), [])
        publish(cluster, swapped(cluster.descriptor(table), "a", "b"))
        with pytest.raises(psycopg.errors.SerializationFailure, match="is below the fence"):
            n2.execute(word)
        n2.execute("ROLLBACK")
        n2.execute("BEGIN")
        n2.pgconn.prepare(b"again", f"SELECT a, b FROM {table}".encode(), [])
        n2.execute("SAVEPOINT s")
        n2.execute(f"INSERT INTO {table} (id, a, b) VALUES (1, 'A', 'B')")
        n2.execute("COMMIT")
    assert cluster.violations(table) == []


def with_column(table: Descriptor, *, default: str | None = None) -> Descriptor:
    """The next version, with one more optional column."""
    new = replace(table.columns[-1], id=table.next_column_id, name="c", default=default, state=State.PUBLIC)
    return table.next_version(columns=(*table.columns, new), next_column_id=table.next_column_id + 1)


@pytest.mark.parametrize(("statement", "answer"), [
    pytest.param("SELECT c FROM {t}", [(None,)], id="a column that an old version does not have"),
    pytest.param("SELECT * FROM {t} LIMIT 0", ["id", "a", "b", "c"], id="an answer that needs no storage"),
    pytest.param("INSERT INTO {t} VALUES (2, 'x', 'y', 'z') RETURNING c", [("z",)], id="more values than columns"),
    pytest.param("SELECT count(*) FROM {t} WHERE c IS NULL", [(1,)], id="in a condition"),
])  # fmt: skip
def test_what_an_old_schema_would_answer_is_checked(cluster: Cluster, table: str, statement: str, answer: list[Any]):
    with cluster.connect("n2") as n2, deaf(cluster):
        n2.execute(f"INSERT INTO {table} VALUES (1, 'A', 'B')")
        publish(cluster, with_column(cluster.descriptor(table)))
        done = n2.execute(statement.format(t=table))
        found = done.fetchall()
        names = [column.name for column in done.description or ()]
        assert answer in (found, names)


def test_an_error_of_an_old_schema_in_a_block_is_40001(cluster: Cluster, table: str):
    with cluster.connect("n2") as n2, deaf(cluster):
        n2.execute(f"INSERT INTO {table} VALUES (1, 'A', 'B')")
        publish(cluster, with_column(cluster.descriptor(table)))
        with pytest.raises(psycopg.errors.SerializationFailure), n2.transaction():
            n2.execute(f"SELECT c FROM {table}")
        with pytest.raises(psycopg.errors.UndefinedColumn), n2.transaction():
            n2.execute(f"SELECT d FROM {table}")
        with n2.transaction():
            assert n2.execute(f"SELECT c FROM {table}").fetchall() == [(None,)]


def test_an_error_of_the_newest_schema_stays_what_it_is(cluster: Cluster, table: str):
    with cluster.connect("n2") as n2:
        n2.execute(f"INSERT INTO {table} VALUES (1, 'A', 'B')")
        with pytest.raises(psycopg.errors.UniqueViolation):
            n2.execute(f"INSERT INTO {table} VALUES (1, 'A', 'B')")
        with pytest.raises(psycopg.errors.InvalidTextRepresentation):
            n2.execute(f"INSERT INTO {table} (id) VALUES ('x')")
        with pytest.raises(psycopg.errors.NotNullViolation), n2.transaction():
            n2.execute(f"INSERT INTO {table} (a) VALUES ('x')")


def test_a_transaction_in_flight_finishes_and_holds_back_the_version_after_the_next(cluster: Cluster, table: str):
    first = cluster.descriptor(table)
    with cluster.connect("n2") as n2, cluster.connect("n1") as n1:
        with n2.transaction():
            n2.execute(f"INSERT INTO {table} VALUES (1, 'A', 'B')")
            publish(cluster, swapped(first, "a", "b"))
            n1.execute(f"INSERT INTO {table} (id, a, b) VALUES (2, 'A', 'B')")
            n2.execute(f"INSERT INTO {table} (id, a, b) VALUES (3, 'A', 'B')")
            third = swapped(cluster.descriptor(table), "a", "b")
            with cluster.store() as store, store.transaction():
                blocked = publishing.publish(store.cursor(), [third], storages=STORAGES)
            assert blocked is not None
            assert (blocked.hindrance.leases, blocked.hindrance.locked) == ((), (1,))
            assert [publishing.node_of(one.session) for one in blocked.held] == ["n2"]
            assert blocked.grace_s(first.table_id, 30.0) == 30.0
        publish(cluster, third)
        assert n1.execute(f"SELECT id, a, b FROM {table} ORDER BY id").fetchall() == [
            (1, "A", "B"), (2, "B", "A"), (3, "A", "B"),
        ]  # fmt: skip
    assert cluster.violations(table) == []


def test_a_drain_shuts_the_door_that_a_publisher_left_open(cluster: Cluster, table: str):
    """It ended after its publish: nodes that hear nothing would come in for ever, and no drain find the lock free."""
    old = cluster.descriptor(table)
    new = swapped(old, "a", "b")
    with cluster.connect("n2") as n2, deaf(cluster):
        n2.execute(f"INSERT INTO {table} VALUES (1, 'A', 'B')")
        with cluster.store() as store, store.transaction():
            assert publishing.publish(store.cursor(), [new], storages=STORAGES) is None
            publishing.close_last_but_one(store.cursor(), [new], storages=STORAGES)
        n2.autocommit = False
        n2.execute(f"INSERT INTO {table} VALUES (2, 'A', 'B')")  # still let in

        def drained() -> object | None:
            with cluster.store() as store, store.transaction():
                return publishing.drain(store.cursor(), {old.table_id: new.version}, storages=STORAGES)

        assert drained() is not None
        with cluster.connect("n2") as other:
            other.execute(f"INSERT INTO {table} (id, a, b) VALUES (3, 'A', 'B')")
        n2.commit()
        until_done(drained)
    assert cluster.violations(table) == []
