"""Rows in the order of an index, forwards and backwards, page by page, are those of a sort in Python."""

import json
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from catalog.elements import Index, IndexColumn, IndexId
from nodes.client import Crud
from nodes.crud import texts
from nodes.crud.errors import RequestError
from nodes.crud.values import conditions
from tests.nodes.conftest import Cluster
from tests.nodes.sql.test_access_paths import TABLE

ROWS = [[n, (n * 7) % 5 if n % 4 else None, "abc"[n % 3]] for n in range(1, 25)]
Order = Callable[[list[Any]], Any]


def by_age(row: list[Any]) -> Any:
    """(age DESC, name): NULL comes first where an order falls."""
    return row[1] is not None, -(row[1] or 0), row[2], row[0]


def by_name(row: list[Any]) -> Any:
    """(name, age): and last where it grows."""
    return row[2], row[1] is None, row[1] or 0, row[0]


def test_a_condition_on_an_index_compares_its_columns_one_after_the_other():
    text = texts.select(TABLE, conditions([[">=", "by_origin", ["JFK", 5]], ["<", "delay", 7]]), None)
    assert text.sql.endswith("""WHERE (("origin" > $1) OR ("origin" = $2 AND "delay" >= $3)) AND "delay" < $4""")
    assert text.values == ("JFK", "JFK", "5", "7")
    for given in ([["=", "origin", ["JFK"]]], [["=", "by_origin", ["JFK", 1, 2]]]):
        with pytest.raises(RequestError) as refused:
            texts.select(TABLE, conditions(given), None)
        assert refused.value.kind == "FlattenError"


@pytest.fixture(scope="module")
def people(cluster: Cluster) -> str:
    """On two storages, with two indexes."""
    table = cluster.table("id int PRIMARY KEY, age int, name text")
    new = cluster.descriptor(table)
    by_id = {column.name: column.id for column in new.columns}
    for number, (name, parts) in enumerate((("by_age", (("age", True), ("name", False))),
                                            ("by_name", (("name", False), ("age", False)))), 1):  # fmt: skip
        columns = tuple(IndexColumn(by_id[column], descending=down) for column, down in parts)
        new = replace(
            new.with_index(Index(IndexId(number), name, columns)), version=cluster.descriptor(table).version + 1
        )
        cluster.publish(new)
    with Crud(cluster.address(), timeout=60) as crud:
        assert crud.insert_many(table, ROWS).is_complete
    return table


@pytest.mark.parametrize(("index", "order"), [("by_age", by_age), ("by_name", by_name), (None, lambda row: row[0])])
def test_pages_forwards_and_backwards_are_the_rows_in_their_order(
    cluster: Cluster, people: str, index: str | None, order: Order
):
    expected = sorted(ROWS, key=order)
    given: Any = [] if index is None else [(">=", index, [])]
    with Crud(cluster.address(), timeout=60) as crud:
        assert crud.select(people, given).rows == expected
        assert list(crud.pairs(people, given, batch_size=5)) == expected
        pages, after = list[Any](), None
        while found := crud.select(people, given, first=7, **({} if after is None else {"after": after})).rows:
            pages, after = [*pages, *found], found[-1]
        assert pages == expected
        back, after = list[Any](), expected[-1]
        while found := crud.select(people, given, first=-7, after=after).rows:
            back, after = [*found, *back], found[0]
        assert back == expected[:-1]


def test_an_index_with_values_orders_and_bounds(cluster: Cluster, people: str):
    with Crud(cluster.address(), timeout=60) as crud:
        found = crud.select(people, [("=", "by_name", "a"), ("<", "id", 20)]).rows
        assert found == [row for row in sorted(ROWS, key=by_name) if row[2] == "a" and row[0] < 20]
        assert crud.count(people, [(">=", "by_name", ["b", 3])]) == len(
            [row for row in ROWS if row[2] > "b" or (row[2] == "b" and row[1] is not None and row[1] >= 3)]
        )


@pytest.mark.parametrize(("options", "error"), [
    pytest.param({"first": -3}, "OptionsError", id="backwards from nowhere"),
    pytest.param({"first": 2**31}, "OptionsError", id="too many"),
    pytest.param({"first": -3, "after": [5, 1, "a"], "bucket_id": 7}, "OptionsError", id="backwards in a bucket"),
    pytest.param({"after": {"id": 5}}, "FlattenError", id="a row without the index's columns"),
])  # fmt: skip
def test_what_has_no_order_is_refused_by_name(
    n1: "psycopg.Connection[Any]", people: str, options: dict[str, Any], error: str
):
    given = [[">=", "by_age", []]]
    (answer,) = n1.execute(
        "SELECT crud.select(%s, %s, %s)", [people, json.dumps(given), json.dumps(options)]
    ).fetchone()
    assert answer["class"] == error, answer


@pytest.fixture(scope="module")
def many(cluster: Cluster) -> str:
    """3,000 rows on two storages, many of one score, with an index that falls and a unique one with NULLs."""
    table = cluster.table("id int PRIMARY KEY, score int, code text, UNIQUE (code)")
    new = cluster.descriptor(table)
    score = next(column.id for column in new.columns if column.name == "score")
    columns = (IndexColumn(score, descending=True),)
    new = new.with_index(Index(new.next_index_id, "by_score", columns))
    cluster.publish(new)
    rows = [[n, n % 7 if n % 5 else None, f"c{n:05}" if n % 3 else None] for n in range(MANY)]
    with Crud(cluster.address(), timeout=60) as crud:
        assert crud.insert_many(table, rows, noreturn=True).is_complete
    return table


MANY = 3000


def pages_of(crud: Crud, table: str, given: Any, size: int, **options: Any) -> list[Any]:
    found, pages, after = list[Any](), list[Any](), None
    while found := crud.select(table, given, first=size, **options, **({} if after is None else {"after": after})).rows:
        pages, after = [*pages, *found], found[-1]
    return pages


@pytest.mark.parametrize("size", [1, 7, 1000, 2999])
def test_pages_by_an_index_with_many_equal_values_and_nulls_are_the_sorted_rows(
    cluster: Cluster, many: str, size: int
) -> None:
    falling = [(">=", "by_score", [])]
    with Crud(cluster.address(), timeout=60) as crud:
        rows = crud.select(many, []).rows
        expected = sorted(rows, key=lambda row: (row[1] is not None, -(row[1] or 0), row[0]))
        assert crud.select(many, falling).rows == expected, "sorted by the engine"
        assert list(crud.pairs(many, falling, batch_size=300)) == expected, "by the index's keys"
        limit = 60 if size == 1 else MANY
        some = expected[-limit:]
        before = {} if limit == MANY else {"after": expected[-limit - 1]}
        assert crud.select(many, falling, first=limit, **before).rows == some
        assert (pages_of(crud, many, falling, size) if size > 1 else some) == some
        unique = f"{many}_code_key"
        by_code = sorted(rows, key=lambda row: (row[2] is None, row[2] or "", row[0]))
        assert (pages_of(crud, many, [(">=", unique, [])], size) if size > 1 else by_code) == by_code
        assert crud.select(many, [(">=", unique, [])], first=-5, after=by_code[-1]).rows == by_code[-6:-1]


def test_few_rows_of_a_large_table_are_found_by_the_keys_of_their_order(cluster: Cluster, many: str) -> None:
    """The store is asked for about as many pairs as are wanted, not for those of all rows: twenty times as many."""
    falling = [(">=", "by_score", [])]
    with Crud(cluster.address(), timeout=60) as crud:
        before = pairs_read(cluster, crud, many)
        found = [
            crud.select(many, falling, first=10),
            crud.select(many, [], first=-10, after=[2000, None, None]),
            crud.select(many, [("=", "by_score", 3)], first=3),
            crud.max(many),
            crud.min(many, "by_score"),
            crud.max(many, f"{many}_code_key"),
        ]
        assert [len(one.rows) for one in found] == [10, 10, 3, 1, 1, 1]
        assert 0 < pairs_read(cluster, crud, many) - before < MANY


def pairs_read(cluster: Cluster, crud: Crud, table: str) -> int:
    """The pairs that the table's readers have read so far. A session reports once a second, and only when it is used
    again."""
    sql = "SELECT sum(idx_tup_read)::bigint FROM pg_stat_all_indexes WHERE relname = %s"
    parameters = [f"kv_{cluster.descriptor(table).table_id}"]
    with cluster.store() as store:
        ((first,),) = store.execute(sql, parameters).fetchall()
        for _ in range(100):
            crud.get(table, 1)
            ((now,),) = store.execute(sql, parameters).fetchall()
            if now > first:
                return now
            time.sleep(0.1)
    raise AssertionError("no session has reported what it has read")


VALUES = {
    "boolean": [True, False],
    "smallint": [-5, 0, 7],
    "bigint": [-(2**62), -1, 2**62],
    "real": [-1.5, 0.0, 2.25, "NaN", "-Infinity"],
    "double precision": [-1e300, -0.0, 3.5, "NaN", "Infinity"],
    "text": ["", "a", "A", "aé", "a b", "ü", "\U0001f600", "a\n"],
    "char(3)": ["a", "a b", "B"],
    "date": ["0044-03-15", "1969-12-31", "2026-02-28"],
    "timestamptz": ["1960-01-01 00:00:00+00", "2026-01-01 00:00:00.5+02"],
    "uuid": ["00000000-0000-0000-0000-00000000000a", "f0000000-0000-0000-0000-000000000001"],
}


@pytest.mark.parametrize("falls", [False, True], ids=["growing", "falling"])
def test_the_order_of_an_index_s_keys_is_the_engine_s_order_of_its_values(cluster: Cluster, falls: bool) -> None:
    """Without `first` the engine sorts; with it the keys are read: both say the same of any type, NULL included."""
    columns = ", ".join(f"c{number} {of}" for number, of in enumerate(VALUES))
    table = cluster.table(f"id int PRIMARY KEY, {columns}")
    new, made = cluster.descriptor(table), cluster.descriptor(table)
    by_name = {column.name: column.id for column in new.columns}
    for number in range(len(VALUES)):
        part = IndexColumn(by_name[f"c{number}"], falls)
        new = new.with_index(Index(IndexId(number + 1), f"{table}_by_{number}", (part,)))
    cluster.publish(replace(new, version=made.version + 1))
    most = max(map(len, VALUES.values()))
    rows = [
        [n, *(values[n % most] if n % most < len(values) else None for values in VALUES.values())]
        for n in range(3 * most)
    ]
    with Crud(cluster.address(), timeout=60) as crud:
        assert crud.insert_many(table, rows).is_complete
        for number, of in enumerate(VALUES):
            given = [(">=", f"{table}_by_{number}", [])]
            expected = crud.select(table, given).rows
            assert len(expected) == len(rows)
            assert crud.select(table, given, first=len(rows)).rows == expected, of
            assert pages_of(crud, table, given, 5) == expected, of
            assert crud.select(table, given, first=-len(rows), after=expected[-1]).rows == expected[:-1], of
            assert [crud.min(table, f"{table}_by_{number}").rows, crud.max(table, f"{table}_by_{number}").rows] == [
                expected[:1],
                expected[-1:],
            ], of
