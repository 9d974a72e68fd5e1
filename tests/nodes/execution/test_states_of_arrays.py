"""A slice or an element that is assigned reads the value that was there: in every state of what depends on the column,
as in `test_states`."""

from dataclasses import replace
from typing import Any

import pytest
from psycopg import errors

from catalog.elements import Column, ColumnId, Constraint, ConstraintId, Derivation, Index, IndexColumn, IndexId, State
from catalog.values.types import SqlType
from tests.nodes.conftest import Cluster
from tests.nodes.execution.test_states import kept, pair

ID, A, B, C = (ColumnId(number) for number in (1, 2, 3, 4))
ASSIGNED = [
    pytest.param("UPDATE {} SET a[2:3] = '{{7,8}}' WHERE id = 1", id="by key"),
    pytest.param("UPDATE {0} SET a[2:3] = s.x FROM (SELECT ARRAY[7, 8] AS x) AS s WHERE {0}.id = 1", id="by a join"),
    pytest.param("INSERT INTO {} VALUES (1, '{{7,8}}') ON CONFLICT (id) DO UPDATE SET a[2:] = excluded.a || 9",
                 id="by an upsert"),
    pytest.param("UPDATE {} SET a[2:2] = ARRAY[7], a[3] = 8 WHERE id = 1", id="in two parts"),
]  # fmt: skip


def lists(cluster: Cluster) -> str:
    """A table with the rows 1 and 2."""
    table = cluster.table("id int PRIMARY KEY, a int[], b text")
    with cluster.connect() as connection:
        connection.execute(f"INSERT INTO {table} VALUES (1, '{{1,2,3}}', 'one'), (2, '{{4,5}}', 'two')")
    return table


def with_index(cluster: Cluster, table: str, state: State, *, nodes: tuple[str, ...] = ("n1", "n2")) -> None:
    """The next version has an index over b of the rows whose array has a 7 in its second place."""
    now = cluster.descriptor(table)
    where = kept(now, "a[2:2] = '{7}'")
    made = Index(IndexId(1), f"{table}_some", (IndexColumn(B),), where=where, state=state)
    cluster.publish(now.next_version(indexes=(made,), next_index_id=IndexId(2)), nodes=nodes)


def entries(cluster: Cluster, table: str) -> int:
    """Pairs that are neither a row's existence nor a column's: those of the index."""
    per_row = 3
    rows = cluster.read(f"SELECT count(*) FROM storage_1.kv_{cluster.descriptor(table).table_id}")[0][0]
    rows += cluster.read(f"SELECT count(*) FROM storage_2.kv_{cluster.descriptor(table).table_id}")[0][0]
    return int(rows) - 2 * per_row


@pytest.mark.parametrize("sql", ASSIGNED)
@pytest.mark.parametrize("state", [State.WRITE_ONLY, State.PUBLIC])
def test_a_partial_index_follows_a_slice_that_is_assigned(cluster: Cluster, n1: Any, state: State, sql: str) -> None:
    table = lists(cluster)
    with_index(cluster, table, state)
    n1.execute(sql.format(table))
    assert entries(cluster, table) == 1
    assert cluster.violations(table) == []
    n1.execute(f"UPDATE {table} SET a[1:2] = '{{0,0}}' WHERE id = 1")
    assert entries(cluster, table) == 0
    assert cluster.violations(table) == []


def test_an_index_in_delete_only_loses_its_entry_by_a_slice_and_gets_none(cluster: Cluster, n1: Any) -> None:
    table = lists(cluster)
    with_index(cluster, table, State.WRITE_ONLY)
    n1.execute(f"UPDATE {table} SET a[2:2] = '{{7}}'")
    assert entries(cluster, table) == 2
    with_index(cluster, table, State.DELETE_ONLY)
    n1.execute(f"UPDATE {table} SET a[2:2] = '{{0}}' WHERE id = 1")
    assert entries(cluster, table) == 1
    n1.execute(f"UPDATE {table} SET a[2:2] = '{{7}}' WHERE id = 1")
    assert entries(cluster, table) == 1, "nothing is put in delete-only"


def test_two_versions_assign_slices_beside_each_other(cluster: Cluster, n1: Any, n2: Any) -> None:
    """A transaction at the version before knows no index; what it wrote another one at the next version replaces."""
    table = lists(cluster)
    with_index(cluster, table, State.DELETE_ONLY)
    n1.execute("BEGIN")
    n1.execute(f"UPDATE {table} SET a[2:3] = '{{7,8}}' WHERE id = 1")
    with_index(cluster, table, State.WRITE_ONLY, nodes=("n2",))
    n2.execute(f"UPDATE {table} SET a[2:2] = '{{7}}' WHERE id = 2")
    n1.execute("COMMIT")
    assert entries(cluster, table) == 1
    n2.execute(f"UPDATE {table} SET a[:1] = a[2:2], b = upper(b)")
    assert entries(cluster, table) == 2
    assert n1.execute(f"SELECT id, a FROM {table} ORDER BY id").fetchall() == [(1, [7, 7, 8]), (2, [7, 7])]
    assert cluster.violations(table) == []


@pytest.mark.parametrize("sql", ASSIGNED)
@pytest.mark.parametrize("state", [State.WRITE_ONLY, State.PUBLIC])
def test_a_check_of_a_slice_is_enforced_before_it_is_public(cluster: Cluster, n1: Any, state: State, sql: str) -> None:
    table = lists(cluster)
    now = cluster.descriptor(table)
    check = Constraint(ConstraintId(1), "small", "check", (A,), kept(now, "7 <> ALL (a[2:])"), state=state)
    cluster.publish(now.next_version(constraints=(check,), next_constraint_id=ConstraintId(2)))
    with pytest.raises(errors.CheckViolation, match='violates check constraint "small"') as caught:
        n1.execute(sql.format(table))
    assert "{1,7,8" in str(caught.value.diag.message_detail)
    n1.execute(f"UPDATE {table} SET a[1:1] = '{{7}}' WHERE id = 1")


@pytest.mark.parametrize("sql", ASSIGNED)
def test_a_twin_follows_a_slice_and_leads_it_after_the_swap(cluster: Cluster, n1: Any, sql: str) -> None:
    table = lists(cluster)
    now = cluster.descriptor(table)
    wide = Column(C, "a (as bigint[])", SqlType.BIGINT_ARRAY, state=State.WRITE_ONLY,
                  derived=Derivation(A, f'CAST("#{A}" AS bigint[])'))  # fmt: skip
    cluster.publish(now.next_version(columns=(*now.columns, wide), next_column_id=ColumnId(5)))
    n1.execute(sql.format(table))
    expected = n1.execute(f"SELECT a FROM {table} WHERE id = 1").fetchone()[0]
    assert expected[:3] == [1, 7, 8]
    assert pair(cluster, table, 1, C) == tuple(expected)
    assert pair(cluster, table, 2, C) == "none", "its source was not written"
    n1.execute(f"UPDATE {table} SET a = a")
    now = cluster.descriptor(table)
    old = Column(A, "a (was int[])", SqlType.INTEGER_ARRAY, state=State.WRITE_ONLY,
                 derived=Derivation(C, f'CAST("#{C}" AS integer[])'))  # fmt: skip
    leading = replace(wide, name="a", state=State.PUBLIC, derived=None)
    columns = tuple(old if c.id == A else leading if c.id == C else c for c in now.columns)
    cluster.publish(now.next_version(columns=columns))
    n1.execute(f"UPDATE {table} SET a[1:1] = ARRAY[5000], a[2] = 6 WHERE id = 1")
    assert pair(cluster, table, 1, A) == (5000, 6, *expected[2:]) == pair(cluster, table, 1, C)
    with pytest.raises(errors.NumericValueOutOfRange, match=r"column a \(was int\[\]\) has no value for row id ="):
        n1.execute(f"UPDATE {table} SET a[1:1] = ARRAY[3000000000] WHERE id = 1")
    assert cluster.violations(table) == []


def test_a_slice_of_a_column_that_is_not_public_cannot_be_named(cluster: Cluster, n1: Any) -> None:
    table = lists(cluster)
    now = cluster.descriptor(table)
    default = {"added_with_default": True, "default": "'{1}'"}
    made = Column(C, "c", SqlType.INTEGER_ARRAY, state=State.WRITE_ONLY, **default)
    cluster.publish(now.next_version(columns=(*now.columns, made), next_column_id=ColumnId(5)))
    with pytest.raises(errors.UndefinedColumn, match="is write-only in version 2"):
        n1.execute(f"UPDATE {table} SET c[1:2] = '{{1,2}}'")
    n1.execute(f"UPDATE {table} SET a[1:2] = '{{1,2}}'")
    assert pair(cluster, table, 1, C) == "none"
