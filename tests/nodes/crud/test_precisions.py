"""Times of a precision through `crud`: every operation that writes rounds them, and none that looks for them does."""

from typing import Any

import pytest

from tests.nodes.conftest import Cluster
from tests.nodes.crud.test_operations import Crud, crud, rows  # noqa: F401 - a fixture

HALF, UP = "2024-01-01 00:00:00.0005", "2024-01-01 00:00:00.001"
DAY, NIGHT = "23:59:59.5", "24:00:00"
OLD, DOWN = "1999-12-31 23:59:59.5+00", "1999-12-31 23:59:59+00"
GIVEN, KEPT = [HALF, OLD, DAY], [UP, DOWN, NIGHT]


@pytest.fixture
def table(cluster: Cluster) -> str:
    return cluster.table("id int PRIMARY KEY, m timestamp(3), z timestamptz(0), t time(0), l timestamp(3)[]")


def as_objects(*ids: int) -> list[dict[str, Any]]:
    return [{"id": number, "m": HALF, "z": OLD, "t": DAY, "l": [HALF, None]} for number in ids]


def test_every_operation_that_writes_rounds(cluster: Cluster, crud: Crud, table: str) -> None:  # noqa: F811
    lists = [[number, *GIVEN, f'{{"{HALF}"}}'] for number in range(10)]
    changes = [["=", "m", HALF], ["=", "z", OLD], ["=", "t", DAY]]
    found = [
        *rows(crud("insert", table, lists[0])),
        *rows(crud("replace", table, lists[0])),
        *rows(crud("insert_object", table, *as_objects(1))),
        *rows(crud("replace_object", table, *as_objects(1))),
        *rows(crud("insert_many", table, lists[2:4])),
        *rows(crud("replace_many", table, lists[2:4])),
        *rows(crud("insert_object_many", table, as_objects(4, 5))),
        *rows(crud("replace_object_many", table, as_objects(4, 5))),
    ]
    assert [row[1:4] for row in found] == [KEPT] * 12
    assert crud("insert", table, [6, "2000-01-01"])["rows"][0][1] == "2000-01-01 00:00:00"
    assert rows(crud("update", table, 6, changes))[0][1:4] == KEPT
    crud("insert_many", table, [[7], [8]])
    for number in (7, 8, 9):
        crud("upsert", table, [number, *GIVEN], changes)
    crud("upsert_many", table, [[[number, *GIVEN], changes] for number in (9, 10)])
    crud("upsert_object_many", table, [[one, changes] for one in as_objects(10, 11)])
    assert [row[1:4] for row in rows(crud("select", table, []))] == [KEPT] * 12
    assert [row[4] for row in rows(crud("select", table, [["=", "id", 1]]))] == [f'{{"{UP}",NULL}}']
    assert crud("insert", table, [12, "9999-12-31 23:59:59.9996"])["code"] == "22008"
    assert cluster.violations(table) == []


@pytest.mark.parametrize(("of", "given", "kept", "shown"), [
    ("timestamp(3)", HALF, UP, UP),
    ("timestamptz(0)", OLD, "1999-12-31 23:59:59+00", DOWN),
    ("time(0)", DAY, "24:00", NIGHT),
])  # fmt: skip
def test_a_key_is_rounded_where_it_is_written_and_not_where_it_is_looked_for(
    cluster: Cluster,
    crud: Crud,  # noqa: F811
    of: str,
    given: str,
    kept: str,
    shown: str,
) -> None:
    """As WHERE compares it: a row of another value is not found. The row lies where its rounded key says."""
    table = cluster.table(f"k {of} PRIMARY KEY, n int")
    assert rows(crud("insert", table, [given, 1])) == [[shown, 1]]
    assert crud("insert", table, [kept, 2])["code"] == "23505"
    for _ in range(3):  # the general way, then a compiled one
        assert rows(crud("get", table, kept)) == [[shown, 1]]
        assert rows(crud("get", table, given)) == []
    assert rows(crud("update", table, given, [["=", "n", 3]])) == []
    assert rows(crud("delete", table, given)) == []
    assert rows(crud("replace", table, [given, 4])) == [[shown, 4]]
    assert rows(crud("select", table, [["=", "k", given]])) == []
    assert rows(crud("delete", table, kept)) == [[shown, 4]]
    assert cluster.violations(table) == []
