"""UPDATE or DELETE by key is one round trip where the row has nothing to say, else two, with the same result."""

from dataclasses import replace
from typing import Any

import psycopg
import pytest

from catalog.descriptor import Descriptor
from catalog.elements import (
    Column,
    ColumnId,
    Constraint,
    ConstraintId,
    Index,
    IndexColumn,
    IndexId,
    Placement,
    PlacementId,
    State,
)
from catalog.values.types import SqlType
from nodes.execution.writing.point_write import is_at_rest
from storage import encoding
from storage.mutations import update_row
from storage.pairs import StoredRow, row_key
from tests.nodes.conftest import Cluster
from tests.nodes.within import Within, within
from tests.storage.test_mutations import AGE, BY_NAME, NAME, PLAIN, user

SCORE = ColumnId(4)


def test_an_update_by_key_is_one_round_trip(cluster: Cluster) -> None:
    table = cluster.table("id int primary key, a int, b text not null")

    async def work(node: Within) -> None:
        await node.run(f"INSERT INTO {table} VALUES (1, 10, 'one'), (2, 20, 'two')")
        assert await node.count(f"UPDATE {table} SET a = 11, b = 'won' WHERE id = 1") == 1
        assert [command.sql.split()[0] for command in node.batches[0]] == ["BEGIN", "SELECT", "WITH", "COMMIT"]
        assert await node.count(f"UPDATE {table} SET a = NULL WHERE 2 = {table}.id") == 1
        assert await node.count(f"UPDATE {table} SET a = 0, b = 'none' WHERE id = 3") == 1, "there is no such row"

    within(cluster, work)
    with cluster.connect() as connection:
        assert connection.execute(f"SELECT * FROM {table} ORDER BY id").fetchall() == [(1, 11, "won"), (2, None, "two")]
        assert connection.execute(f"UPDATE {table} SET a = 1 WHERE id = 1").statusmessage == "UPDATE 1"
        assert connection.execute(f"UPDATE {table} SET a = 1 WHERE id = 3").statusmessage == "UPDATE 0"
    assert cluster.violations(table) == []


def test_a_delete_by_key_is_one_round_trip(cluster: Cluster) -> None:
    table = cluster.table("id int primary key, a int, b text not null")

    async def work(node: Within) -> None:
        await node.run(f"INSERT INTO {table} VALUES (1, 10, 'one'), (2, NULL, 'two'), (3, 3, 'three')")
        assert await node.count(f"DELETE FROM {table} WHERE id = 1") == 1
        assert [command.sql.split()[0] for command in node.batches[0]] == ["BEGIN", "SELECT", "WITH", "COMMIT"]
        assert await node.count(f"DELETE FROM {table} WHERE 2 = {table}.id") == 1
        assert await node.count(f"DELETE FROM {table} WHERE id = 2") == 1, "there is no such row"
        for statement in ("id = 9 RETURNING b", "id = 9 AND a = 1", "id IN (8, 9)", "id = 9 AND random() < 2"):
            assert await node.count(f"DELETE FROM {table} WHERE {statement}") > 1

    within(cluster, work)
    with cluster.connect() as connection:
        assert connection.execute(f"SELECT * FROM {table}").fetchall() == [(3, 3, "three")]
        assert connection.execute(f"DELETE FROM {table} WHERE id = 3").statusmessage == "DELETE 1"
        assert connection.execute(f"DELETE FROM {table} WHERE id = 3").statusmessage == "DELETE 0"
    assert not any(cluster.pairs(table))


def test_entries_of_a_row_are_deleted_with_it(cluster: Cluster, everything: str) -> None:
    before = cluster.violations(everything)

    async def work(node: Within) -> None:
        assert await node.run(f"INSERT INTO {everything} VALUES (7, 7, 'seven', 7, 7, 7)") is None
        assert await node.count(f"DELETE FROM {everything} WHERE id = 7") > 1

    within(cluster, work)
    assert cluster.violations(everything) == before


def test_a_block_sees_its_own_rows_come_and_go(cluster: Cluster) -> None:
    table = cluster.table("id int primary key, a int")
    with cluster.connect() as connection, connection.transaction():
        connection.execute(f"INSERT INTO {table} VALUES (1, 10), (2, 20)")
        assert connection.execute(f"UPDATE {table} SET a = 11 WHERE id = 1").rowcount == 1
        connection.execute(f"DELETE FROM {table} WHERE id = 2")
        assert connection.execute(f"UPDATE {table} SET a = 21 WHERE id = 2").rowcount == 0
        assert connection.execute(f"DELETE FROM {table} WHERE id = 2").rowcount == 0
        assert connection.execute(f"SELECT id, a FROM {table}").fetchall() == [(1, 11)]
    assert cluster.violations(table) == []


def test_a_row_without_a_pair_of_the_column_is_not_updated_and_deleted_at_once(cluster: Cluster) -> None:
    """Neither writes what the other does: only what both have read tells them apart (C1)."""
    table = cluster.table("id int primary key, a int")
    with cluster.connect() as one, cluster.connect("n2") as other:
        one.execute(f"INSERT INTO {table} VALUES (1, 10)")
        now = cluster.descriptor(table)
        late = Column(now.next_column_id, "late", SqlType.INTEGER)
        cluster.publish(replace(now.next_version(), columns=(*now.columns, late), next_column_id=ColumnId(late.id + 1)))
        one.execute("BEGIN")
        other.execute("BEGIN")
        assert one.execute(f"UPDATE {table} SET late = 5 WHERE id = 1").rowcount == 1
        assert other.execute(f"DELETE FROM {table} WHERE id = 1").rowcount == 1
        other.execute("COMMIT")
        with pytest.raises(psycopg.errors.SerializationFailure):
            one.execute("COMMIT")
        one.execute("ROLLBACK")
        assert one.execute(f"UPDATE {table} SET late = 5 WHERE id = 1").rowcount == 0
    assert cluster.violations(table) == []


@pytest.mark.parametrize("statement", [
    pytest.param("SET a = a + 1 WHERE id = 1", id="a value made of the row's"),
    pytest.param("SET a = 1 WHERE id = 1 AND b = 'one'", id="another condition"),
    pytest.param("SET a = 1 WHERE id = 1 RETURNING b", id="an answer"),
    pytest.param("SET d = 5 WHERE id = 1", id="an indexed column"),
    pytest.param("SET e = 5 WHERE id = 1", id="the condition of an index"),
    pytest.param("SET f = 5 WHERE id = 1", id="a column with a rule"),
    pytest.param("SET id = 5 WHERE id = 1", id="the key"),
    pytest.param("SET a = 1 WHERE id IN (1, 2)", id="two keys"),
    pytest.param("SET a = 1 WHERE id > 0 AND id < 2", id="a range"),
])  # fmt: skip
def test_what_needs_the_row_reads_it(cluster: Cluster, everything: str, statement: str) -> None:
    async def work(node: Within) -> None:
        assert await node.count(f"UPDATE {everything} {statement}") > 1
        assert await node.count(f"UPDATE {everything} SET a = 1 WHERE id = 1") == 1

    within(cluster, work)


@pytest.fixture(scope="module")
def everything(cluster: Cluster) -> str:
    """A table with all that may need a row."""
    table = cluster.table("id int primary key, a int, b text, d int, e int, f int CHECK (f > 0)")
    with cluster.connect() as connection:
        connection.execute(f"INSERT INTO {table} VALUES (1, 1, 'one', 1, 1, 1), (2, 2, 'two', 2, 2, 2)")
    now = cluster.descriptor(table)
    ids = {column.name: column.id for column in now.columns}
    plain = Index(IndexId(1), f"{table}_d", (IndexColumn(ids["d"]),))
    partial = Index(IndexId(2), f"{table}_b", (IndexColumn(ids["b"]),), where=f'"#{ids["e"]}" > 0')
    cluster.publish(replace(now.next_version(), indexes=(plain, partial), next_index_id=IndexId(3)))
    return table


@pytest.mark.parametrize(("statement", "sqlstate"), [
    pytest.param("SET b = NULL WHERE id = {}", "23502", id="NULL where none may be"),
    pytest.param("SET a = 1 / 0 WHERE id = {}", "22012", id="no value"),
])  # fmt: skip
def test_what_is_refused_is_so_only_where_there_is_a_row(cluster: Cluster, statement: str, sqlstate: str) -> None:
    table = cluster.table("id int primary key, a int, b text not null")

    async def work(node: Within) -> None:
        await node.run(f"INSERT INTO {table} VALUES (1, 10, 'one')")
        assert await node.run(f"UPDATE {table} {statement.format(1)}") == sqlstate
        assert await node.run(f"UPDATE {table} {statement.format(2)}") is None

    within(cluster, work)


def test_a_key_that_no_row_can_have_finds_none(cluster: Cluster) -> None:
    table = cluster.table("id text primary key, a int")
    with cluster.connect() as connection:
        assert connection.execute(f"UPDATE {table} SET a = 1 WHERE id = %s", ["x" * 9000]).statusmessage == "UPDATE 0"


def moving(**changes: Any) -> Descriptor:
    return replace(PLAIN, **changes)


HIDDEN = Column(SCORE, "score", SqlType.INTEGER, state=State.WRITE_ONLY, fill_value=encoding.NULL, filling=True)
CHECK = Constraint(ConstraintId(1), "sane", "check", (AGE,), '"#3" > 0', state=State.WRITE_ONLY)
SECOND = Placement(PlacementId(2), state=State.DELETE_ONLY)
BY_AGE = replace(PLAIN.placement, sharding_key=(AGE,))


@pytest.mark.parametrize("descriptor", [
    pytest.param(moving(columns=(*PLAIN.columns, HIDDEN)), id="a column"),
    pytest.param(moving(indexes=(BY_NAME,)), id="an index"),
    pytest.param(moving(constraints=(CHECK,)), id="a rule"),
    pytest.param(moving(placements=(*PLAIN.placements, SECOND)), id="a placement"),
    pytest.param(moving(placements=(BY_AGE,)), id="rows that lie by a value"),
    pytest.param(moving(state=State.DELETE_ONLY), id="the table"),
])  # fmt: skip
def test_a_table_that_moves_is_not_at_rest(descriptor: Descriptor) -> None:
    assert is_at_rest(PLAIN)
    assert not is_at_rest(descriptor)


def test_the_operations_are_those_of_the_row_that_is_there() -> None:
    old, assigned = user(7, "old", 3), {NAME: encoding.encode(SqlType.TEXT, "new")}
    indexed = replace(PLAIN, indexes=(Index(IndexId(1), "by_age", (IndexColumn(AGE),)),))
    for descriptor in (PLAIN, indexed):
        bare = StoredRow(row_key(descriptor, [7]))
        assert update_row(descriptor, bare, assigned) == update_row(descriptor, old, assigned)
