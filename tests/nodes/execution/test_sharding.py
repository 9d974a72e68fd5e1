"""Tables whose rows are spread by columns outside their primary key: one row for each key, wherever it lies. Of 2
storages, dest 'ATL' lies on the first and 'JFK' on the second."""

import psycopg
import pytest
from psycopg import errors

from catalog.descriptor import Descriptor
from catalog.elements import FOREIGN_KEY, ColumnId, Constraint, ConstraintId
from catalog.values.types import SqlType
from storage import encoding
from storage.pairs import prefix, rows_of
from tests.nodes.conftest import Cluster

FIRST, SECOND = "ATL", "JFK"


def flights(cluster: Cluster, more: str = "") -> str:
    """A table that is spread by `dest`, with an index and the rows 1 (first storage) and 2 (second)."""
    columns = f"id int PRIMARY KEY, dest text, seats int, UNIQUE (seats){more}"
    table = cluster.table(f"{columns}) WITH (sharding_key = 'dest'")
    with cluster.connect() as connection:
        connection.execute(f"INSERT INTO {table} VALUES (1, '{FIRST}', 10), (2, '{SECOND}', 20)")
    return table


def lying(cluster: Cluster, table: str) -> list[list[int]]:
    """The ids of the rows on each storage."""
    descriptor = cluster.descriptor(table)
    found = []
    for pairs in cluster.pairs(table):
        rows = rows_of(descriptor, descriptor.placement, sorted(pairs.items()))
        found.append([encoding.decode(SqlType.INTEGER, row.key)[0] for row in rows])
    return found


def guards(cluster: Cluster, descriptor: Descriptor) -> int:
    assert descriptor.key_guard is not None
    start = prefix(descriptor, descriptor.placement.id, descriptor.key_guard.id)
    return sum(key.startswith(start) for pairs in cluster.pairs(descriptor.table_id) for key in pairs)


def test_rows_lie_where_their_sharding_key_says_and_move_with_it(
    cluster: Cluster, n1: "psycopg.Connection[object]"
) -> None:
    table = flights(cluster)
    assert lying(cluster, table) == [[1], [2]]
    assert n1.execute(f"UPDATE {table} SET dest = '{SECOND}' WHERE id = 1 RETURNING seats").fetchall() == [(10,)]
    assert lying(cluster, table) == [[], [1, 2]]
    n1.execute(f"INSERT INTO {table} VALUES (2, '{FIRST}', 21) ON CONFLICT (id) DO UPDATE SET dest = excluded.dest")
    n1.execute(f"UPDATE {table} SET id = 3, dest = NULL WHERE dest = '{SECOND}'")
    found = n1.execute(f"SELECT id, dest, seats FROM {table} ORDER BY id").fetchall()
    assert found == [(2, FIRST, 20), (3, None, 10)]
    assert cluster.violations(table) == []


def test_reads_by_either_key_find_the_row_once(cluster: Cluster, n1: "psycopg.Connection[object]") -> None:
    table = flights(cluster)
    for condition in ("id = 2", f"dest = '{SECOND}'", "seats = 20", f"dest IN ('{FIRST}', '{SECOND}') AND id > 1"):
        assert n1.execute(f"SELECT id FROM {table} WHERE {condition}").fetchall() == [(2,)], condition
    assert n1.execute(f"DELETE FROM {table} WHERE id = 2").rowcount == 1
    assert n1.execute(f"SELECT count(*) FROM {table}").fetchone() == (1,)
    assert guards(cluster, cluster.descriptor(table)) == 1
    assert cluster.violations(table) == []


@pytest.mark.parametrize("where", [FIRST, SECOND])
def test_a_primary_key_comes_once_on_all_storages(
    cluster: Cluster, n1: "psycopg.Connection[object]", where: str
) -> None:
    table = flights(cluster)
    with pytest.raises(errors.UniqueViolation, match=f'"{table}_pkey"') as refused:
        n1.execute(f"INSERT INTO {table} VALUES (1, '{where}', 11)")
    assert refused.value.diag.message_detail == "Key (id)=(1) already exists."
    with pytest.raises(errors.UniqueViolation, match=f'"{table}_pkey"'):
        n1.execute(f"UPDATE {table} SET id = 1, dest = '{where}' WHERE id = 2")
    n1.execute(f"UPDATE {table} SET id = 3 - id")
    assert n1.execute(f"SELECT id, dest FROM {table} ORDER BY id").fetchall() == [(1, SECOND), (2, FIRST)]
    assert cluster.violations(table) == []


def test_two_clients_insert_one_key_on_two_storages(
    cluster: Cluster, n1: "psycopg.Connection[object]", n2: "psycopg.Connection[object]"
) -> None:
    table = flights(cluster)
    n1.execute("BEGIN")
    n2.execute("BEGIN")
    n2.execute(f"SELECT count(*) FROM {table} WHERE id = 7")
    n1.execute(f"INSERT INTO {table} VALUES (7, '{FIRST}', 70)")
    n1.execute("COMMIT")
    with pytest.raises((errors.UniqueViolation, errors.SerializationFailure)):
        n2.execute(f"INSERT INTO {table} VALUES (7, '{SECOND}', 71)")
    n2.execute("ROLLBACK")
    assert n2.execute(f"SELECT dest FROM {table} WHERE id = 7").fetchall() == [(FIRST,)]
    assert cluster.violations(table) == []


def test_a_row_is_placed_by_hand(cluster: Cluster, n1: "psycopg.Connection[object]") -> None:
    table = cluster.table("id int PRIMARY KEY, place int) WITH (sharding_key = 'place', sharding_func = 'bucket'")
    n1.execute(f"INSERT INTO {table} VALUES (1, 1), (2, 3000), (3, 1500), (4, 1501), (5, NULL)")
    assert lying(cluster, table) == [[1, 3, 5], [2, 4]]
    assert n1.execute(f"SELECT id FROM {table} WHERE place = 3000").fetchall() == [(2,)]
    assert cluster.violations(table) == []


def test_what_refers_to_a_row_finds_it_wherever_it_lies(cluster: Cluster, n1: "psycopg.Connection[object]") -> None:
    parent = flights(cluster)
    child = cluster.table("id int PRIMARY KEY, flight int, UNIQUE (flight)")
    refer(cluster, child, parent)
    n1.execute(f"INSERT INTO {child} VALUES (1, 1), (2, 2), (3, NULL)")
    with pytest.raises(errors.ForeignKeyViolation, match="is not present in table"):
        n1.execute(f"INSERT INTO {child} VALUES (4, 3)")
    n1.execute(f"UPDATE {parent} SET dest = '{SECOND}'")
    with pytest.raises(errors.ForeignKeyViolation, match="is still referenced from table"):
        n1.execute(f"DELETE FROM {parent} WHERE id = 1")
    n1.execute(f"DELETE FROM {child} WHERE flight = 1")
    assert n1.execute(f"DELETE FROM {parent} WHERE id = 1").rowcount == 1
    assert [cluster.violations(child), cluster.violations(parent)] == [[], []]


def refer(cluster: Cluster, child: str, parent: str) -> None:
    """The next versions have a public foreign key from `flight` to the primary key of `parent`."""
    here, there = cluster.descriptor(child), cluster.descriptor(parent)
    key = Constraint(
        ConstraintId(1), f"{child}_fkey", FOREIGN_KEY, (ColumnId(2),), references=there.table_id,
        reference_columns=there.primary_key, partner=ConstraintId(1),
    )  # fmt: skip
    mirrored = key.mirrored(here.table_id)
    cluster.publish(there.next_version(constraints=(mirrored,), next_constraint_id=ConstraintId(2)))
    cluster.publish(here.next_version(constraints=(key,), next_constraint_id=ConstraintId(2)))


def test_a_row_that_another_table_sends_elsewhere_moves_with_all_it_has(
    cluster: Cluster, n1: "psycopg.Connection[object]"
) -> None:
    table = flights(cluster)
    sent = f"UPDATE {table} f SET dest = v.d FROM (VALUES (1, '{SECOND}'), (2, '{FIRST}')) v(id, d) WHERE v.id = f.id"
    assert n1.execute(f"{sent} RETURNING f.id, f.dest").rowcount == 2
    assert lying(cluster, table) == [[2], [1]]
    n1.execute(f"UPDATE {table} f SET id = g.id + 10 FROM {table} g WHERE g.id = f.id AND f.dest = '{FIRST}'")
    n1.execute(f"DELETE FROM {table} f USING {table} g WHERE f.id = 1 AND g.id = 12")
    assert n1.execute(f"SELECT id, dest, seats FROM {table}").fetchall() == [(12, FIRST, 20)]
    assert guards(cluster, cluster.descriptor(table)) == 1
    assert cluster.violations(table) == []
