"""Reads and writes through a node in every state of an element: what is enforced, put, kept, refused, and said.
Versions are published straight into the catalog, so that each state stays as long as a test looks at it; the seven
clauses judge the pairs."""

from dataclasses import replace
from typing import Any

import psycopg
import pytest
from psycopg import errors

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, Constraint, ConstraintId, Derivation, Index, IndexColumn, IndexId, State
from catalog.values.types import SqlType
from expressions.rows import canonical
from storage import encoding
from storage.pairs import column_key, prefix, row_key
from tests.nodes.conftest import Cluster

ID, A, B, C = (ColumnId(number) for number in (1, 2, 3, 4))


def people(cluster: Cluster, columns: str = "id int primary key, a int, b text") -> str:
    """A table with the rows 1 and 2."""
    table = cluster.table(columns)
    with cluster.connect() as connection:
        connection.execute(f"INSERT INTO {table} (id, a, b) VALUES (1, 10, 'one'), (2, 20, 'two')")
    return table


def kept(descriptor: Descriptor, predicate: str) -> str:
    """The predicate by ids of columns. One that PostgreSQL alone computes is kept as it is written here."""
    return canonical(
        descriptor, predicate, returns=SqlType.BOOLEAN, what="a predicate", judge=lambda _table, text, _returns: text
    )


def with_constraint(cluster: Cluster, table: str, state: State, *, predicate: str | None = None) -> None:
    """The next version has a CHECK with this predicate, or a NOT NULL on b."""
    now = cluster.descriptor(table)
    if predicate is None:
        made = Constraint(ConstraintId(1), f"{table}_b_not_null", "not null", (B,), state=state)
    else:
        made = Constraint(ConstraintId(1), "sane", "check", (A,), kept(now, predicate), state=state)
    cluster.publish(now.next_version(constraints=(made,), next_constraint_id=ConstraintId(2)))


def with_column(cluster: Cluster, table: str, state: State, *, of: SqlType = SqlType.INTEGER, **more: Any) -> None:
    """The next version has a column c in this state."""
    now = cluster.descriptor(table)
    others = tuple(c for c in now.columns if c.id != C)
    made = Column(C, "c", of, state=state, **more)
    cluster.publish(now.next_version(columns=(*others, made), next_column_id=ColumnId(5)))


def pair(cluster: Cluster, table: str, key: int, column: ColumnId) -> Any:
    """The value of a row's pair of a column; "none" when there is no such pair."""
    now = cluster.descriptor(table)
    name = column_key(prefix(now, now.placement.id), row_key(now, [key]), column)
    found = [storage[name] for storage in cluster.pairs(table) if name in storage]
    if not found:
        return "none"
    (value,) = found
    return "tombstone" if value is None else encoding.decode(now.column(column).type, value)[0]


# -- constraints


WRITES_OF_A = [
    pytest.param("INSERT INTO {} VALUES (3, -1, 'three')", "(3, -1, three)", id="insert"),
    pytest.param("UPDATE {} SET a = -a WHERE id = 1", "(1, -10, one)", id="update"),
    pytest.param("UPDATE {0} SET a = -x.a FROM {0} x WHERE x.id = {0}.id", "(1, -10, one)", id="update from"),
    pytest.param(
        "INSERT INTO {} VALUES (2, 5, 'x') ON CONFLICT (id) DO UPDATE SET a = -excluded.a", "(2, -5, two)",
        id="on conflict do update",
    ),
    pytest.param(
        "MERGE INTO {0} t USING {0} s ON t.id = s.id AND s.id = 1 WHEN MATCHED THEN UPDATE SET a = -s.a",
        "(1, -10, one)", id="merge that updates",
    ),
    pytest.param(
        "MERGE INTO {0} t USING (VALUES (3)) s(id) ON t.id = s.id WHEN NOT MATCHED THEN INSERT VALUES (s.id, -1, 'x')",
        "(3, -1, x)", id="merge that inserts",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "row"), WRITES_OF_A)
@pytest.mark.parametrize("state", [State.WRITE_ONLY, State.PUBLIC])
def test_a_check_is_enforced_before_it_is_public(cluster: Cluster, n1: Any, state: State, sql: str, row: str) -> None:
    table = people(cluster)
    with_constraint(cluster, table, state, predicate="a > 0")
    with pytest.raises(errors.CheckViolation, match='violates check constraint "sane"') as caught:
        n1.execute(sql.format(table))
    said = caught.value.diag
    assert said.message_detail == f"Failing row contains {row}."
    assert (said.constraint_name, said.table_name) == ("sane", table)
    assert ("write-only: a schema change is adding or dropping it" in str(said.message_primary)) == (
        state is State.WRITE_ONLY
    )
    n1.execute(f"INSERT INTO {table} VALUES (4, NULL, 'a null breaks no check')")


@pytest.mark.parametrize("sql", [
    pytest.param("INSERT INTO {} (id, a) VALUES (3, 30)", id="insert"),
    pytest.param("UPDATE {} SET b = NULL WHERE id = 1", id="update"),
    pytest.param("UPDATE {} SET b = v.b FROM (VALUES (1, NULL)) v(id, b) WHERE v.id = 1", id="update from"),
    pytest.param("INSERT INTO {} VALUES (2, 5, 'x') ON CONFLICT (id) DO UPDATE SET b = NULL", id="on conflict"),
    pytest.param("MERGE INTO {0} t USING {0} s ON t.id = s.id WHEN MATCHED THEN UPDATE SET b = NULL", id="merge"),
])  # fmt: skip
def test_a_not_null_is_enforced_while_it_is_added(cluster: Cluster, n1: Any, sql: str) -> None:
    table = people(cluster)
    with_constraint(cluster, table, State.WRITE_ONLY)
    with pytest.raises(errors.NotNullViolation, match=rf'"{table}_b_not_null" \(it is write-only') as caught:
        n1.execute(sql.format(table))
    assert caught.value.diag.column_name == "b"
    assert str(caught.value.diag.message_detail).endswith("null).")


def test_a_constraint_may_read_a_column_that_is_not_public(cluster: Cluster, n1: Any) -> None:
    """Both are on their way: the row's pair counts, or what the fill will put."""
    table = people(cluster)
    more = {"added_with_default": True, "default": "7", "fill_value": encoding.encode(SqlType.INTEGER, 7)}
    with_column(cluster, table, State.PUBLIC, **more)
    check = Constraint(ConstraintId(1), "less", "check", (A, C), kept(cluster.descriptor(table), "a < c * 10"))
    hidden = tuple(
        replace(c, state=State.WRITE_ONLY, filling=True) if c.id == C else c for c in cluster.descriptor(table).columns
    )
    now = cluster.descriptor(table)
    moving = replace(check, state=State.WRITE_ONLY)
    cluster.publish(now.next_version(columns=hidden, constraints=(moving,), next_constraint_id=ConstraintId(2)))
    n1.execute(f"UPDATE {table} SET a = 69 WHERE id = 1")
    with pytest.raises(errors.CheckViolation, match="less"):
        n1.execute(f"UPDATE {table} SET a = 70 WHERE id = 1")


# -- columns


def test_a_write_only_column_takes_its_default_and_no_name(cluster: Cluster, n1: Any) -> None:
    table = people(cluster)
    with_column(cluster, table, State.WRITE_ONLY, added_with_default=True, default="7")
    n1.execute(f"INSERT INTO {table} VALUES (3, 30, 'three')")
    n1.execute(f"UPDATE {table} SET a = 11 WHERE id = 1")
    n1.execute(
        f"MERGE INTO {table} t USING (VALUES (2), (5)) s(id) ON t.id = s.id"
        " WHEN MATCHED THEN UPDATE SET a = 12 WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)"
    )
    assert [pair(cluster, table, key, C) for key in (1, 2, 3, 5)] == ["none", "none", 7, 7]
    for sql in (
        f"MERGE INTO {table} t USING {table} s ON t.id = s.id WHEN MATCHED THEN UPDATE SET c = 1",
        f"SELECT c FROM {table}",
        f"INSERT INTO {table} (id, c) VALUES (4, 1)",
        f"UPDATE {table} SET c = 1",
    ):
        with pytest.raises(errors.UndefinedColumn, match="is write-only in version 2: a schema change is still fill"):
            n1.execute(sql)


def test_a_stable_default_is_evaluated_by_each_insert(cluster: Cluster, n1: Any) -> None:
    table = people(cluster)
    with_column(cluster, table, State.WRITE_ONLY, of=SqlType.TIMESTAMPTZ, added_with_default=True, default="now()")
    before = n1.execute("SELECT now()").fetchone()[0]
    n1.execute(f"INSERT INTO {table} VALUES (3, 30, 'three')")
    after = n1.execute("SELECT now()").fetchone()[0]
    assert before <= pair(cluster, table, 3, C) <= after


def test_an_explicit_null_survives_the_default(cluster: Cluster, n1: Any) -> None:
    table = people(cluster)
    with_column(cluster, table, State.WRITE_ONLY, added_with_default=True, default="7")
    with_column(cluster, table, State.PUBLIC, added_with_default=True, default="7")
    n1.execute(f"INSERT INTO {table} (id, c) VALUES (3, NULL), (4, 9), (5, DEFAULT)")
    assert n1.execute(f"SELECT id, c FROM {table} WHERE id > 2 ORDER BY id").fetchall() == [(3, None), (4, 9), (5, 7)]
    assert pair(cluster, table, 3, C) is None, "the NULL is a pair of its own: no fill takes it for missing"


@pytest.mark.parametrize("state", [State.WRITE_ONLY, State.DELETE_ONLY])
@pytest.mark.parametrize("sql", [
    pytest.param("UPDATE {} SET id = id + 10, a = 1 WHERE id = 3", id="a change of key"),
    pytest.param("UPDATE {0} x SET id = y.id + 10 FROM {0} y WHERE x.id = 3 AND y.id = 3", id="a change by a join"),
    pytest.param(
        "INSERT INTO {} VALUES (3, 0, 'x') ON CONFLICT (id) DO UPDATE SET id = excluded.id + 10", id="an upsert"
    ),
    pytest.param("INSERT INTO {} VALUES (3, 0, 'x') ON CONFLICT (id) DO UPDATE SET a = 1", id="an upsert in place"),
    pytest.param(
        "MERGE INTO {} t USING (VALUES (3)) s(k) ON t.id = s.k WHEN MATCHED THEN UPDATE SET id = s.k + 10", id="merge"
    ),
])  # fmt: skip
def test_values_that_a_version_cannot_name_move_with_their_row(
    cluster: Cluster, n1: Any, state: State, sql: str
) -> None:
    """Written while the column was public, and not lost on its way out."""
    table = people(cluster)
    with_column(cluster, table, State.PUBLIC)
    n1.execute(f"INSERT INTO {table} VALUES (3, 30, 'three', 99)")
    with_column(cluster, table, state)
    n1.execute(sql.format(table))
    key = 3 if "SET a = 1" in sql and "ON CONFLICT" in sql else 13
    assert pair(cluster, table, key, C) == 99
    n1.execute(f"DELETE FROM {table} WHERE id = {key}")
    assert pair(cluster, table, key, C) == "none"


# -- a column whose type changes


def twin(cluster: Cluster, table: str, *, old: State, new: State) -> None:
    """The next version of a change of a's type from integer to text, or back: one side follows from the other."""
    now = cluster.descriptor(table)
    as_text = Column(C, "a (as text)", SqlType.TEXT, state=new, derived=Derivation(A, f'CAST("#{A}" AS text)'))
    columns: tuple[Column, ...] = (*(c for c in now.columns if c.id != C), as_text)
    if new is State.PUBLIC:
        was = Column(
            A, "a (was integer)", SqlType.INTEGER, state=old, derived=Derivation(C, f'CAST("#{C}" AS integer)')
        )
        columns = tuple(was if c.id == A else replace(c, name="a", derived=None) if c.id == C else c for c in columns)
    cluster.publish(now.next_version(columns=columns, next_column_id=ColumnId(5)))


def test_a_twin_follows_its_source_until_the_swap_and_leads_after_it(cluster: Cluster, n1: Any) -> None:
    table = people(cluster)
    twin(cluster, table, old=State.PUBLIC, new=State.WRITE_ONLY)
    n1.execute(f"INSERT INTO {table} VALUES (3, 30, 'three')")
    n1.execute(f"UPDATE {table} SET a = v.a FROM (VALUES (11)) v(a) WHERE id = 1")
    n1.execute(f"UPDATE {table} SET b = 'no source of it' WHERE id = 2")
    assert [pair(cluster, table, key, C) for key in (1, 2, 3)] == ["11", "none", "30"]
    n1.execute(f"UPDATE {table} SET a = a WHERE id = 2")
    twin(cluster, table, old=State.WRITE_ONLY, new=State.PUBLIC)
    n1.execute(f"INSERT INTO {table} (id, a) VALUES (4, '40')")
    n1.execute(f"UPDATE {table} SET a = a || '1' WHERE id = 1")
    assert n1.execute(f"SELECT id, a FROM {table} ORDER BY id").fetchall() == [
        (1, "111"), (2, "20"), (3, "30"), (4, "40")
    ]  # fmt: skip
    assert [pair(cluster, table, key, A) for key in (1, 2, 3, 4)] == [111, 20, 30, 40]
    assert cluster.violations(table) == []


def test_a_swap_that_is_taken_back_keeps_what_was_written_under_it(cluster: Cluster, n1: Any) -> None:
    table = people(cluster)
    before = cluster.descriptor(table).columns
    twin(cluster, table, old=State.PUBLIC, new=State.WRITE_ONLY)
    n1.execute(f"UPDATE {table} SET a = a")
    following = cluster.descriptor(table).column(C)
    twin(cluster, table, old=State.WRITE_ONLY, new=State.PUBLIC)
    n1.execute(f"INSERT INTO {table} (id, a) VALUES (3, '30'), (4, NULL)")
    n1.execute(f"UPDATE {table} SET a = a || '1' WHERE id = 1")
    now = cluster.descriptor(table)
    cluster.publish(now.next_version(columns=(*before, following)))
    n1.execute(f"INSERT INTO {table} (id, a) VALUES (5, 50)")
    n1.execute(f"MERGE INTO {table} t USING (VALUES (3)) s(id) ON t.id = s.id WHEN MATCHED THEN UPDATE SET a = a + 1")
    assert n1.execute(f"SELECT id, a FROM {table} ORDER BY id").fetchall() == [
        (1, 101), (2, 20), (3, 31), (4, None), (5, 50)
    ]  # fmt: skip
    assert [pair(cluster, table, key, C) for key in (1, 3, 5)] == ["101", "31", "50"]
    assert cluster.violations(table) == []


@pytest.mark.parametrize(("value", "code"), [
    pytest.param("many", "22P02", id="no integer at all"), pytest.param("3000000000", "22003", id="too large for one"),
])  # fmt: skip
def test_a_value_the_old_type_cannot_hold_is_refused_until_the_next_version(
    cluster: Cluster, n1: Any, value: str, code: str
) -> None:
    table = people(cluster)
    twin(cluster, table, old=State.PUBLIC, new=State.WRITE_ONLY)
    n1.execute(f"UPDATE {table} SET a = a")
    twin(cluster, table, old=State.WRITE_ONLY, new=State.PUBLIC)
    merge = f"MERGE INTO {table} t USING (VALUES (1, %s)) s(id, a) ON t.id = s.id WHEN MATCHED THEN UPDATE SET a = s.a"
    for sql in (f"INSERT INTO {table} (id, a) VALUES (3, %s)", f"UPDATE {table} SET a = %s WHERE id = 1", merge):
        with pytest.raises(psycopg.Error, match=r"column a \(was integer\) has no value for row id =") as caught:
            n1.execute(sql, [value])
        assert caught.value.sqlstate == code
        assert 'The type of column "a" is being changed' in str(caught.value.diag.message_detail)
    assert n1.execute(f"SELECT count(*) FROM {table}").fetchone() == (2,)
    assert cluster.violations(table) == []


# -- partial indexes


def with_index(cluster: Cluster, table: str, where: str, *, state: State = State.PUBLIC, unique: bool = False) -> None:
    """The next version has an index over a of the rows where .. ; it is empty before."""
    now = cluster.descriptor(table)
    made = Index(IndexId(1), f"{table}_a", (IndexColumn(A),), unique=unique, where=kept(now, where), state=state)
    cluster.publish(now.next_version(indexes=(made,), next_index_id=IndexId(2)))


def test_a_partial_index_is_used_where_it_has_every_row(cluster: Cluster, n1: Any) -> None:
    table = cluster.table("id int primary key, a int, b text")
    with_index(cluster, table, "b = 'late' AND a IS NOT NULL")
    n1.execute(f"INSERT INTO {table} VALUES (1, 10, 'late'), (2, 10, 'soon'), (3, NULL, 'late'), (4, 20, 'late')")
    n1.execute(f"UPDATE {table} SET b = v.b FROM (VALUES (2, 'late'), (4, 'soon')) v(id, b) WHERE v.id = {table}.id")
    assert cluster.violations(table) == []
    answers = {
        "b = 'late' AND a = 10": ([1, 2], f"{table}_a"),
        "b = 'late' AND a > 0": ([1, 2], f"{table}_a"),
        "a = 10": ([1, 2], "Seq Scan"),
        "b = 'late'": ([1, 2, 3], "Seq Scan"),
    }
    for where, (ids, way) in answers.items():
        lines = "\n".join(line for (line,) in n1.execute(f"EXPLAIN SELECT id FROM {table} WHERE {where}").fetchall())
        assert way in lines, lines
        assert ("Partial Index: WHERE b = 'late' AND a IS NOT NULL" in lines) == (way == f"{table}_a")
        assert n1.execute(f"SELECT id FROM {table} WHERE {where} ORDER BY id").fetchall() == [(i,) for i in ids]


def test_a_partial_index_serves_a_parameter_that_lies_within_it(cluster: Cluster, n1: Any) -> None:
    table = cluster.table("id int primary key, a int, b text")
    with_index(cluster, table, "a > 100")
    n1.execute(f"INSERT INTO {table} SELECT g, g, 'x' FROM generate_series(1, 300) g")
    for low, count in ((100, 200), (99, 201), (250, 50)):
        assert n1.execute(f"SELECT count(*) FROM {table} WHERE a > %s", [low]).fetchone() == (count,)
        n1.execute(f"UPDATE {table} SET b = 'y' WHERE a > %s", [low])
    assert n1.execute(f"SELECT count(*) FROM {table} WHERE b = 'y'").fetchone() == (201,)
    assert cluster.violations(table) == []


@pytest.mark.parametrize(("state", "kept_rows"), [
    pytest.param(State.DELETE_ONLY, [(1, 11), (2, 21), (3, 11), (4, 11), (5, 30)], id="delete-only"),
    pytest.param(State.WRITE_ONLY, [(1, 11), (2, 21), (5, 30)], id="write-only"),
    pytest.param(State.PUBLIC, [(1, 11), (2, 21), (5, 30)], id="public"),
])  # fmt: skip
def test_on_conflict_do_nothing_skips_what_a_unique_index_refuses_in_each_state(
    cluster: Cluster, n1: Any, state: State, kept_rows: list[tuple[int, int]]
) -> None:
    table = people(cluster)
    with_index(cluster, table, "b <> 'x'", state=state, unique=True)
    n1.execute(f"UPDATE {table} SET a = a + 1")
    n1.execute(f"INSERT INTO {table} VALUES (3, 11, 'three'), (4, 11, 'four'), (5, 30, 'five') ON CONFLICT DO NOTHING")
    assert n1.execute(f"SELECT id, a FROM {table} ORDER BY id").fetchall() == kept_rows


def test_on_conflict_do_nothing_knows_the_unique_index_of_a_column_whose_type_changes(
    cluster: Cluster, n1: Any
) -> None:
    table = people(cluster)
    twin(cluster, table, old=State.PUBLIC, new=State.WRITE_ONLY)
    now = cluster.descriptor(table)
    made = Index(IndexId(1), "one_c", (IndexColumn(C),), unique=True, state=State.WRITE_ONLY)
    cluster.publish(now.next_version(indexes=(made,), next_index_id=IndexId(2)))
    n1.execute(f"UPDATE {table} SET a = a")
    n1.execute(f"INSERT INTO {table} (id, a) VALUES (3, 10), (4, 40), (5, 40) ON CONFLICT DO NOTHING")
    assert n1.execute(f"SELECT id, a FROM {table} ORDER BY id").fetchall() == [(1, 10), (2, 20), (4, 40)]


def test_a_unique_partial_index_while_it_is_filled(cluster: Cluster, n1: Any) -> None:
    """Enforced among the rows that it has; the refusal says that it is not public."""
    table = cluster.table("id int primary key, a int, b text")
    with_index(cluster, table, "b = 'live'", state=State.WRITE_ONLY, unique=True)
    n1.execute(f"INSERT INTO {table} VALUES (1, 10, 'live'), (2, 10, 'gone')")
    with pytest.raises(errors.UniqueViolation, match=f"{table}_a.*write-only"):
        n1.execute(f"UPDATE {table} SET b = 'live' WHERE id = 2")
    with pytest.raises(errors.UniqueViolation, match=f"{table}_a.*write-only"):
        n1.execute(f"MERGE INTO {table} t USING {table} s ON s.id = t.id WHEN MATCHED THEN UPDATE SET b = 'live'")
    with pytest.raises(errors.InvalidColumnReference):
        n1.execute(f"INSERT INTO {table} VALUES (3, 10, 'live') ON CONFLICT (a) WHERE b = 'live' DO NOTHING")


# -- renames (L12)


def renamed(descriptor: Descriptor, *, column: str | None = None, table: str | None = None) -> Descriptor:
    columns = tuple(replace(c, name=column) if column and c.id == A else c for c in descriptor.columns)
    return descriptor.next_version(name=table or descriptor.name, columns=columns)


def test_both_names_of_a_table_work_each_where_its_version_bears_it(cluster: Cluster, n1: Any, n2: Any) -> None:
    table = people(cluster)
    new = f"{table}_new"
    n1.execute("BEGIN")
    n1.execute(f"UPDATE {table} SET a = 11 WHERE id = 1")
    cluster.publish(renamed(cluster.descriptor(table), table=new), nodes=("n2",))
    assert n2.execute(f"SELECT a FROM {new} WHERE id = 2").fetchone() == (20,)
    assert n1.execute(f"SELECT a FROM {table} WHERE id = 1").fetchone() == (11,), "its own version still bears the name"
    n1.execute("COMMIT")
    assert n1.execute(f"SELECT a FROM {new} WHERE id = 1").fetchone() == (11,)
    for connection in (n1, n2):
        with pytest.raises(errors.UndefinedTable) as caught:
            connection.execute(f"SELECT a FROM {table}")
        detail = f'Table "{new}" was called so up to version 1; it is at version 2.'
        assert caught.value.diag.message_detail == detail


def test_a_transaction_keeps_the_name_its_version_had(cluster: Cluster, n1: Any) -> None:
    """T1: asking for the new name gives nothing up."""
    table = people(cluster)
    new = f"{table}_new"
    n1.execute("BEGIN")
    n1.execute(f"UPDATE {table} SET a = 11 WHERE id = 1")
    n1.execute("SAVEPOINT s")
    cluster.publish(renamed(cluster.descriptor(table), table=new), nodes=("n2",))
    with pytest.raises(errors.UndefinedTable, match="does not exist in version 1, which this transaction uses"):
        n1.execute(f"SELECT a FROM {new}")
    n1.execute("ROLLBACK TO s")
    assert n1.execute(f"SELECT a FROM {table} WHERE id = 1").fetchone() == (11,)
    n1.execute("COMMIT")
    assert n1.execute(f"SELECT a FROM {new} WHERE id = 1").fetchone() == (11,)


def test_a_name_given_up_may_be_another_tables(cluster: Cluster, n1: Any, n2: Any) -> None:
    table = people(cluster)
    n1.execute(f"SELECT a FROM {table}")
    cluster.publish(renamed(cluster.descriptor(table), table=f"{table}_old"))
    cluster.table("id int primary key, other text", name=table)
    for connection in (n1, n2):
        assert connection.execute(f"SELECT count(other) FROM {table}").fetchone() == (0,)
        assert connection.execute(f"SELECT count(a) FROM {table}_old").fetchone() == (2,)


def test_both_names_of_a_column_work_each_in_its_version(cluster: Cluster, n1: Any, n2: Any) -> None:
    table = people(cluster)
    n1.execute("BEGIN")
    n1.execute(f"SELECT a FROM {table}")
    cluster.publish(renamed(cluster.descriptor(table), column="age"), nodes=("n2",))
    assert n2.execute(f"SELECT age FROM {table} WHERE id = 1").fetchone() == (10,)
    with pytest.raises(errors.UndefinedColumn) as caught:
        n2.execute(f"SELECT a FROM {table}")
    assert 'is called "age" now' in str(caught.value.diag.message_detail)
    n1.execute("SAVEPOINT s")
    with pytest.raises(errors.UndefinedColumn) as caught:
        n1.execute(f"SELECT age FROM {table}")
    assert f'Version 2 of "{table}" has a column "age"; {table}@1, used here, calls it "a".' == (
        caught.value.diag.message_detail
    )
    n1.execute("ROLLBACK TO s")
    assert n1.execute(f"UPDATE {table} SET a = a + 1 WHERE id = 1").rowcount == 1
    n1.execute("COMMIT")
    assert n2.execute(f"SELECT age FROM {table} WHERE id = 1").fetchone() == (11,)
