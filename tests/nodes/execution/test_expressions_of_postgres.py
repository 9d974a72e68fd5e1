"""Expressions of a schema that only PostgreSQL computes, through nodes: what it refuses is refused, in its words. A
CHECK, the condition of an index and the twin of a column whose type changes, under every way to write a row."""

from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from psycopg import errors

from catalog.elements import (
    CHECK,
    Column,
    ColumnId,
    Constraint,
    ConstraintId,
    Derivation,
    Index,
    IndexColumn,
    IndexId,
    State,
)
from catalog.values.types import SqlType
from expressions.rows import is_local
from storage import encoding
from storage.pairs import column_key, prefix, row_key
from tests.nodes.conftest import Cluster

ID, DOC, N, TWIN = (ColumnId(number) for number in (1, 2, 3, 4))
POSITIVE = f"""jsonb_path_exists("#{DOC}", '$.a ? (@ >= 0)')"""
LARGE = f"""jsonb_path_exists("#{DOC}", '$.a ? (@ > 9)')"""
INVERTED = f"""(jsonb_path_query_first("#{DOC}", '$.a')::int / "#{N}")"""
COLUMNS = "id int PRIMARY KEY, doc jsonb, n int"


def documents(cluster: Cluster, **elements: Any) -> str:
    """A table with the rows 1 (a: 10) and 2 (a: 5), whose next version has these elements."""
    table = cluster.table(COLUMNS)
    with cluster.connect() as connection:
        connection.execute(f"""INSERT INTO {table} VALUES (1, '{{"a": 10}}', 1), (2, '{{"a": 5}}', 1)""")
    now = cluster.descriptor(table)
    assert not any(is_local(now, text) for text in (POSITIVE, LARGE, INVERTED))
    cluster.publish(now.next_version(**elements))
    return table


def check(text: str, state: State = State.PUBLIC) -> dict[str, Any]:
    made = Constraint(ConstraintId(1), "sane", CHECK, (DOC,), text, state=state)
    return {"constraints": (made,), "next_constraint_id": ConstraintId(2)}


def index(cluster: Cluster, table: str, state: State, *, unique: bool = False) -> None:
    made = Index(IndexId(1), f"{table}_large", (IndexColumn(N),), unique=unique, where=LARGE, state=state)
    cluster.publish(cluster.descriptor(table).next_version(indexes=(made,), next_index_id=IndexId(2)))


def entries(cluster: Cluster, table: str) -> list[int]:
    """The ids of the rows that have an entry in index 1."""
    now = cluster.descriptor(table)
    start = prefix(now, now.placement.id, IndexId(1))
    live = [key for storage in cluster.pairs(table) for key, value in storage.items() if value is not None]
    keys = [key for key in live if key.startswith(start)]
    return sorted(encoding.value_in(SqlType.INTEGER, key[-9:]) for key in keys)  # type: ignore[type-var, misc]


COPY = object()
REFUSED = [
    pytest.param("""INSERT INTO {} VALUES (3, '{{"a": -1}}', 1)""", id="insert"),
    pytest.param("""INSERT INTO {} SELECT 3, '{{"a": -1}}'::jsonb, 1""", id="insert select"),
    pytest.param("""UPDATE {} SET doc = '{{"a": -1}}' WHERE id = 1""", id="update by key"),
    pytest.param("""UPDATE {} SET doc = jsonb_build_object('a', -id) WHERE n = 1""", id="update of several"),
    pytest.param("""INSERT INTO {} VALUES (1, '{{"a": 1}}', 1) ON CONFLICT (id) DO UPDATE SET doc = '{{"a": -1}}'""",
        id="on conflict"),
    pytest.param("""MERGE INTO {0} t USING {0} s ON t.id = s.id WHEN MATCHED THEN UPDATE SET doc = '{{"a": -1}}'""",
        id="merge"),
    pytest.param(COPY, id="copy"),
]  # fmt: skip


def said(connection: "psycopg.Connection[Any]", table: str, sql: Any) -> tuple[Any, ...]:
    try:
        if sql is COPY:
            with connection.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN") as copy:
                copy.write('3\t{"a": 1}\t1\n4\t{"a": -1}\t1\n')
        else:
            connection.execute(sql.format(table))
    except psycopg.Error as error:
        found = error.diag
        return (error.sqlstate, found.constraint_name, found.message_primary, found.message_detail, found.context)
    return ()


@pytest.mark.parametrize("sql", REFUSED)
def test_a_check_refuses_what_postgres_refuses(cluster: Cluster, n1: Any, sql: Any) -> None:
    table = documents(cluster, **check(POSITIVE))
    with cluster.store() as theirs:
        theirs.execute("CREATE SCHEMA IF NOT EXISTS beside")
        theirs.execute("SET search_path = beside, pg_catalog")
        rule = POSITIVE.replace(f'"#{DOC}"', "doc")
        theirs.execute(f"CREATE TABLE {table} ({COLUMNS}, CONSTRAINT sane CHECK ({rule}))")
        theirs.execute(f"""INSERT INTO {table} VALUES (1, '{{"a": 10}}', 1), (2, '{{"a": 5}}', 1)""")
        expected = said(theirs, table, sql)
        theirs.execute("DROP SCHEMA beside CASCADE")
    assert expected[0] == "23514"
    assert said(n1, table, sql) == expected
    assert n1.execute(f"SELECT count(*) FROM {table}").fetchone() == (2,)


def test_a_check_without_a_value_gives_its_own_error(cluster: Cluster, n1: Any) -> None:
    table = documents(cluster, **check(f"{INVERTED} > 0"))
    with pytest.raises(errors.DivisionByZero, match="^division by zero"):
        n1.execute(f"""INSERT INTO {table} VALUES (3, '{{"a": 1}}', 1), (4, '{{"a": 1}}', 0)""")
    n1.execute(f"INSERT INTO {table} VALUES (5, NULL, 0)")
    assert n1.execute(f"SELECT id FROM {table} ORDER BY id").fetchall() == [(1,), (2,), (5,)]


def test_a_block_goes_on_behind_a_savepoint(cluster: Cluster, n1: Any) -> None:
    table = documents(cluster, **check(f"{INVERTED} > 0"))
    with n1.transaction():
        n1.execute(f"""INSERT INTO {table} VALUES (3, '{{"a": 1}}', 1)""")
        with pytest.raises(errors.DivisionByZero), n1.transaction():
            n1.execute(f"""INSERT INTO {table} VALUES (4, '{{"a": 1}}', 0)""")
        n1.execute(f"""UPDATE {table} SET n = 2 WHERE id = 1""")
    assert n1.execute(f"SELECT id, n FROM {table} ORDER BY id").fetchall() == [(1, 2), (2, 1), (3, 1)]


@pytest.mark.parametrize("order", ["DMY", "YMD"])
def test_no_setting_of_a_client_reaches_a_check(cluster: Cluster, n1: Any, order: str) -> None:
    """W1: a literal is read, and a value written, in one way."""
    is_read = "('1/2/2020'::date = '2020-01-02')"
    table = documents(cluster, **check(f"""jsonb_path_exists("#{DOC}", '$ ? (@ < "2")') = {is_read}"""))
    n1.execute(f"SET DateStyle = 'ISO, {order}'")
    n1.execute("SET TimeZone = 'Asia/Tokyo'")
    n1.execute("SET IntervalStyle = 'iso_8601'")
    n1.execute(f"""INSERT INTO {table} VALUES (3, '"1"', 1)""")
    with pytest.raises(errors.CheckViolation):
        n1.execute(f"""INSERT INTO {table} VALUES (4, '"3"', 1)""")


WRITES = [
    pytest.param("""INSERT INTO {} VALUES (3, '{{"a": 11}}', 3), (4, '{{"a": 1}}', 4)""", [1, 3], id="insert"),
    pytest.param("""UPDATE {} SET doc = '{{"a": 11}}' WHERE id = 2""", [1, 2], id="an update takes a row in"),
    pytest.param("""UPDATE {} SET doc = '{{"a": 1}}' WHERE id = 1""", [], id="an update takes a row out"),
    pytest.param("UPDATE {} SET n = n + 5", [1], id="an update moves an entry"),
    pytest.param("UPDATE {} SET id = id + 5", [6], id="a new key"),
    pytest.param("DELETE FROM {} WHERE id = 1", [], id="delete by key"),
    pytest.param("DELETE FROM {} WHERE n = 2", [], id="delete"),
    pytest.param(
        """INSERT INTO {} VALUES (2, '{{"a": 12}}', 1) ON CONFLICT (id) DO UPDATE SET doc = excluded.doc""", [1, 2],
        id="on conflict",
    ),
    pytest.param(
        """MERGE INTO {0} t USING {0} s ON t.id = s.id WHEN MATCHED AND s.id = 1 THEN DELETE
        WHEN MATCHED THEN UPDATE SET doc = '{{"a": 20}}'""", [2], id="merge",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "ids"), WRITES)
@pytest.mark.parametrize("state", [State.DELETE_ONLY, State.WRITE_ONLY, State.PUBLIC])
def test_an_index_has_the_rows_that_its_condition_accepts(
    cluster: Cluster, n1: Any, sql: str, ids: list[int], state: State
) -> None:
    table = documents(cluster)
    index(cluster, table, State.PUBLIC)
    n1.execute(f"UPDATE {table} SET n = n + 1")
    assert entries(cluster, table) == [1]
    index(cluster, table, state)
    n1.execute(sql.format(table))
    there = entries(cluster, table)
    assert there == ids if state is not State.DELETE_ONLY else set(there) <= {1}


def test_a_unique_index_decides_about_the_rows_that_its_condition_accepts(cluster: Cluster, n1: Any) -> None:
    table = documents(cluster)
    index(cluster, table, State.PUBLIC, unique=True)
    n1.execute(f"UPDATE {table} SET n = 7")
    with pytest.raises(errors.UniqueViolation):
        n1.execute(f"""INSERT INTO {table} VALUES (3, '{{"a": 11}}', 7)""")
    n1.execute(f"""INSERT INTO {table} VALUES (3, '{{"a": 1}}', 7)""")
    n1.execute(f"""INSERT INTO {table} VALUES (4, '{{"a": 11}}', 7) ON CONFLICT DO NOTHING""")
    assert n1.execute(f"SELECT id FROM {table} ORDER BY id").fetchall() == [(1,), (2,), (3,)]


def test_rows_of_a_copy_have_their_entries(cluster: Cluster, n1: Any) -> None:
    table = documents(cluster, **check(POSITIVE))
    index(cluster, table, State.PUBLIC)
    with n1.cursor() as cursor, cursor.copy(f"COPY {table} FROM STDIN") as copy:
        for number in range(3, 303):
            copy.write(f'{number}\t{{"a": {number}}}\t1\n')
    assert entries(cluster, table) == list(range(10, 303))


def test_many_rows_are_asked_about_in_portions(cluster: Cluster, n1: Any) -> None:
    table = documents(cluster, **check(POSITIVE))
    rows = "SELECT i, jsonb_build_object('a', {} - i), 1 FROM generate_series(3, 6000) AS i"
    with pytest.raises(errors.CheckViolation, match="sane"):
        n1.execute(f"INSERT INTO {table} {rows.format(5999)}")
    n1.execute(f"INSERT INTO {table} {rows.format(6000)}")
    assert n1.execute(f"DELETE FROM {table}").rowcount == 6000


def with_twin(cluster: Cluster, table: str, state: State) -> None:
    now = cluster.descriptor(table)
    twin = Column(TWIN, "twin", SqlType.INTEGER, state=state, derived=Derivation(DOC, INVERTED, None))
    columns = (*(c for c in now.columns if c.id != TWIN), twin)
    cluster.publish(now.next_version(columns=columns, next_column_id=ColumnId(5)))


DERIVED: list[Any] = [
    pytest.param(lambda c, t: c.execute(f"""INSERT INTO {t} VALUES (3, '{{"a": 12}}', 4)"""), 3, 3, id="insert"),
    pytest.param(lambda c, t: c.execute(f"UPDATE {t} SET n = 5 WHERE id = 1"), 1, 2, id="update"),
    pytest.param(lambda c, t: c.execute(f"UPDATE {t} SET id = 9, n = 5 WHERE id = 1"), 9, 2, id="a new key"),
    pytest.param(lambda c, t: said(c, t, COPY), 3, 1, id="copy"),
]


@pytest.mark.parametrize(("write", "key", "value"), DERIVED)
def test_a_twin_follows_its_source(
    cluster: Cluster, n1: Any, write: Callable[[Any, str], Any], key: int, value: int
) -> None:
    table = documents(cluster)
    with_twin(cluster, table, State.WRITE_ONLY)
    write(n1, table)
    now = cluster.descriptor(table)
    name = column_key(prefix(now, now.placement.id), row_key(now, [key]), TWIN)
    found = [data for storage in cluster.pairs(table) if (data := storage.get(name)) is not None]
    assert (encoding.value_in(SqlType.INTEGER, found[0]) if found else "none") == value


def test_a_row_that_gives_a_twin_no_value_is_refused(cluster: Cluster, n1: Any) -> None:
    table = documents(cluster)
    with_twin(cluster, table, State.WRITE_ONLY)
    with pytest.raises(errors.DivisionByZero, match="column twin has no value for row id = 3: division by zero"):
        n1.execute(f"""INSERT INTO {table} VALUES (3, '{{"a": 12}}', 0)""")
    n1.execute(f"DELETE FROM {table} WHERE id = 2")


def test_an_old_row_whose_condition_has_no_value_can_be_deleted(cluster: Cluster, n1: Any) -> None:
    table = documents(cluster)
    n1.execute(f"UPDATE {table} SET n = 0 WHERE id = 1")
    made = Index(IndexId(1), f"{table}_i", (IndexColumn(N),), where=f"{INVERTED} > 0", state=State.WRITE_ONLY)
    cluster.publish(cluster.descriptor(table).next_version(indexes=(made,), next_index_id=IndexId(2)))
    assert n1.execute(f"DELETE FROM {table}").rowcount == 2
