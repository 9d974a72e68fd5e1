"""A column that becomes a wider integer: what clients of nodes may write before and after, and what they read."""

from dataclasses import replace
from typing import Any

import pytest
from psycopg import errors

from catalog.elements import Column
from catalog.values.types import SqlType
from tests.nodes.conftest import Cluster
from tests.nodes.ddl import tag


@pytest.fixture
def bounded(cluster: Cluster) -> str:
    """A table in the first of the two versions: n is a bigint that takes what an integer takes."""
    table = cluster.table("id int PRIMARY KEY, n int, d int DEFAULT 7", indexes=["(n)"])
    now = cluster.descriptor(table)

    def wider(column: Column) -> Column:
        return replace(column, type=SqlType.BIGINT, length=4) if column.name in ("n", "d") else column

    cluster.publish(now.next_version(columns=tuple(map(wider, now.columns))))
    return table


@pytest.mark.parametrize(("statement", "parameters"), [
    pytest.param("INSERT INTO {t} (id, n) VALUES (1, 2147483648)", None, id="a constant"),
    pytest.param("INSERT INTO {t} (id, n) VALUES (1, %s)", [-(2**31) - 1], id="a parameter"),
    pytest.param("INSERT INTO {t} (id, n) SELECT g, g + 2147483647 FROM generate_series(0, 9) AS g", None, id="rows"),
    pytest.param("UPDATE {t} SET n = n + 1 WHERE id = 0", None, id="an update by key"),
    pytest.param("UPDATE {t} SET n = n * 2", None, id="an update of all"),
    pytest.param("INSERT INTO {t} (id, n) VALUES (0, 1) ON CONFLICT (id) DO UPDATE SET n = {t}.n + excluded.n", None,
        id="an upsert"),
])  # fmt: skip
def test_the_first_version_refuses_what_the_narrower_type_cannot_hold(
    cluster: Cluster, n1: Any, bounded: str, statement: str, parameters: list[int] | None
) -> None:
    n1.execute(f"INSERT INTO {bounded} (id, n) VALUES (0, 2147483647)")
    with pytest.raises(errors.NumericValueOutOfRange, match="integer out of range"):
        n1.execute(statement.format(t=bounded), parameters)
    assert n1.execute(f"SELECT id, n, d FROM {bounded}").fetchall() == [(0, 2147483647, 7)]
    assert cluster.violations(bounded) == []


def test_copy_into_the_first_version_is_bounded_as_well(n1: Any, bounded: str) -> None:
    with pytest.raises(errors.NumericValueOutOfRange), n1.cursor().copy(f"COPY {bounded} (id, n) FROM STDIN") as copy:
        copy.write("1\t2147483647\n2\t2147483648\n")
    assert n1.execute(f"SELECT count(*) FROM {bounded}").fetchone() == (0,)


def test_the_first_version_is_of_the_wider_type_to_clients(n1: Any, bounded: str) -> None:
    """A bound is no modifier: drivers would take bigint(4) for another type."""
    (column,) = n1.execute(f"SELECT n FROM {bounded}").description
    assert (column.type_code, n1.execute(f"SELECT n FROM {bounded}").pgresult.fmod(0)) == (SqlType.BIGINT.oid, -1)
    named = "attrelid = %s::regclass AND attname = 'n'"
    query = f"SELECT atttypmod, format_type(atttypid, atttypmod) FROM pg_attribute WHERE {named}"
    assert n1.execute(query, [bounded]).fetchone() == (-1, "bigint")


@pytest.mark.usefixtures("worker")
def test_a_key_whose_numbers_are_used_up_goes_on_as_a_bigint(cluster: Cluster, n1: Any, n2: Any) -> None:
    table = cluster.table("id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, n smallint", indexes=["(n)"])
    n1.execute(f"SELECT setval('{table}_id_seq', 2147483646)")
    assert n1.execute(f"INSERT INTO {table} (n) VALUES (1) RETURNING id").fetchone() == (2147483647,)
    with pytest.raises(errors.SequenceGeneratorLimitExceeded):
        n1.execute(f"INSERT INTO {table} (n) VALUES (2)")
    assert tag(n1, f"ALTER TABLE {table} ALTER id TYPE bigint, ALTER n TYPE int") == "ALTER TABLE"
    found = n2.execute(f"INSERT INTO {table} (n) VALUES (70000) RETURNING id").fetchone()
    assert found is not None
    assert found[0] > 2147483647
    for where, value in (("n", 70000), ("id", found[0])):
        assert n1.execute(f"SELECT id, n FROM {table} WHERE {where} = %s", [value]).fetchall() == [(found[0], 70000)]
    assert n1.execute(f"UPDATE {table} SET n = n + 1 WHERE n = 1 RETURNING n").fetchone() == (2,)
    assert cluster.violations(table) == []
