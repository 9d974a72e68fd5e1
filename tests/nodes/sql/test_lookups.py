"""Subqueries, LATERAL and joins that read a table by keys which other relations give."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import psycopg
import pytest

from tests.nodes.conftest import Cluster

GROUPS, ROWS = 40, 400


class Tables(NamedTuple):
    """`few` has a row for each group; `many` has rows of groups, an index of them, and `mark` of what was seen."""

    few: str
    many: str
    mark: str

    def put(self, text: str) -> str:
        return text.format(few=self.few, many=self.many, mark=self.mark)


@pytest.fixture(scope="module")
def tables(cluster: Cluster) -> Tables:
    few = cluster.table("id bigint PRIMARY KEY, last integer, code text, price numeric(8, 2), day date")
    many = cluster.table(
        "id integer PRIMARY KEY, grp integer, n bigint, code varchar(9), price numeric, day date",
        indexes=["(grp, day DESC)", "(code)"],
    )
    cluster.table("grp integer, id integer, n integer, PRIMARY KEY (grp, id)", name=f"{many}_pairs")
    mark = cluster.table("id integer PRIMARY KEY")
    with cluster.connect() as connection:
        connection.execute(
            f"INSERT INTO {few} SELECT g, g * 7, 'c' || g, g + 0.50, DATE '2026-01-01' + g"
            f" FROM generate_series(1, {GROUPS}) g"
        )
        connection.execute(
            f"INSERT INTO {many} SELECT g, CASE WHEN g % 11 > 0 THEN g % {GROUPS} END, g * 3, 'c' || g % 50, g + 0.5,"
            f" DATE '2026-01-01' + g % 90 FROM generate_series(1, {ROWS}) g"
        )
        connection.execute(f"INSERT INTO {many}_pairs SELECT id % 20, id, id * 2 FROM {many}")
    return Tables(few, many, mark)


QUERIES = [
    pytest.param("SELECT f.id, (SELECT n FROM {many} m WHERE m.id = f.last) FROM {few} f", "m", id="by key"),
    pytest.param("SELECT f.id, (SELECT max(m.n) FROM {many} m WHERE m.grp = f.id) FROM {few} f", "m", id="by an index"),
    pytest.param("SELECT f.id, (SELECT count(*) FROM {many} m WHERE f.code = m.code) FROM {few} f", "m",
        id="text by varchar"),
    pytest.param(
        "SELECT f.id, x.id, x.day FROM {few} f, LATERAL (SELECT m.id, m.day FROM {many} m WHERE m.grp = f.id"
        " ORDER BY m.day DESC, m.id LIMIT 1) x",
        "m",
        id="the latest row of each group",
    ),
    pytest.param(
        "SELECT f.id FROM {few} f WHERE f.id BETWEEN 5 AND 25 AND EXISTS (SELECT 1 FROM {many} m WHERE m.grp = f.id)",
        "m", id="EXISTS of a few rows"),
    pytest.param(
        "SELECT f.id FROM {few} f WHERE f.id < 9 AND f.id > 2 AND NOT EXISTS"
        " (SELECT 1 FROM {many} m WHERE m.grp = f.id AND m.day > '2026-03-20')",
        "m",
        id="NOT EXISTS, and a range",
    ),
    pytest.param("SELECT m.n FROM {many} m JOIN {few} f ON m.id = f.last WHERE f.id = 7", "m", id="a join by key"),
    pytest.param(
        "SELECT f.id, m.id FROM {few} f LEFT JOIN {many} m ON m.grp = f.last AND m.n > 9 WHERE f.id IN (3, 5, 39)", "m",
        id="a left join by an index"),
    pytest.param(
        "SELECT p.n, m.id FROM {few} f JOIN {many} m ON m.grp = f.id JOIN {many}_pairs p ON p.grp = m.grp"
        " WHERE f.id = 12 AND p.id < 100",
        "p",
        id="a join behind a join, by the first column of a key",
    ),
    pytest.param("SELECT f.id, (SELECT n FROM {many}_pairs p WHERE p.id = f.last AND p.grp = 7) FROM {few} f", "p",
        id="a whole key, a constant first"),
    pytest.param("SELECT f.id, (SELECT count(*) FROM {many}_pairs p WHERE p.grp = f.id) FROM {few} f", "p",
        id="the first column of a key"),
    pytest.param('SELECT "part".id, (SELECT n FROM {many} m WHERE m.id = "part".last) FROM {few} "part"', "m",
        id="a hard name"),
    pytest.param(
        "SELECT f.k, (SELECT n FROM {many} m WHERE m.id = k) FROM (SELECT last AS k, id AS c, code AS v FROM {few}) f",
        "m", id="names of the columns of pairs"),
    pytest.param("SELECT f.id, (SELECT count(*) FROM {many} m WHERE m.code = lower('C' || f.id)) FROM {few} f", "m",
        id="an expression"),
    pytest.param("SELECT f.id, (SELECT n FROM {many} m WHERE f.last + 1 = m.id AND f.id > 3) FROM {few} f", "m",
        id="a sum"),
    pytest.param(
        "SELECT id, (SELECT f.id FROM {few} f WHERE f.day = m.day AND f.id = m.grp) FROM {many} m WHERE grp = 4", "f",
        id="two links"),
]  # fmt: skip


@pytest.mark.parametrize(("query", "alias"), QUERIES)
def test_a_lookup_finds_what_a_scan_finds(
    n1: "psycopg.Connection[Any]", tables: Tables, query: str, alias: str
) -> None:
    query = tables.put(query)
    plan = [line for (line,) in n1.execute(f"EXPLAIN {query}").fetchall()]
    table = {"m": tables.many, "f": tables.few, "p": f"{tables.many}_pairs"}[alias]
    assert any("Index Scan using" in line and f"on {table}@" in line for line in plan), plan
    materialized = "".join(
        f"{name} AS MATERIALIZED (SELECT * FROM {name}), " for name in (tables.few, tables.many, f"{tables.many}_pairs")
    )
    scanned = n1.execute(f"WITH {materialized[:-2]} {query}").fetchall()
    found = n1.execute(query).fetchall()
    assert sorted(found, key=repr) == sorted(scanned, key=repr)
    assert found


def test_explain_names_a_scan_for_each_row(n1: "psycopg.Connection[Any]", tables: Tables) -> None:
    query = tables.put("SELECT (SELECT max(id) FROM {many} m WHERE m.n = f.last) FROM {few} f")
    plan = [line for (line,) in n1.execute(f"EXPLAIN {query}").fetchall()]
    assert sum("Searched for each row around it" in line for line in plan) == 1
    assert len(n1.execute(query).fetchall()) == GROUPS


@pytest.fixture
def sessions(cluster: Cluster, tables: Tables) -> Iterator[list["psycopg.Connection[Any]"]]:
    with cluster.connect("n1") as one, cluster.connect("n2") as other:
        yield [one, other]
        for connection in (one, other):
            connection.execute("ROLLBACK")
        one.execute(tables.put("DELETE FROM {mark}"))
        one.execute(tables.put("DELETE FROM {many} WHERE id >= 1000"))


@pytest.mark.parametrize("reads", [
    "SELECT (SELECT n FROM {many} m WHERE m.id = f.x) FROM (VALUES (1000)) f (x)",
    "SELECT (SELECT count(*) FROM {many} m WHERE m.grp = f.x) FROM (SELECT 900 AS x) f",
    "SELECT (SELECT count(*) FROM {many} m WHERE m.grp = f.x + 0) FROM (SELECT 900 AS x) f",
    "SELECT count(*) FROM {few} f JOIN {many} m ON m.grp = f.last WHERE f.id = 40",
])  # fmt: skip
def test_rows_that_a_lookup_did_not_find_are_remembered(
    sessions: list["psycopg.Connection[Any]"], tables: Tables, reads: str
) -> None:
    """T6: two transactions that each missed what the other one wrote do not both commit."""
    one, other = sessions
    one.execute("BEGIN")
    other.execute("BEGIN")
    one.execute(tables.put(reads)).fetchall()
    other.execute(tables.put("SELECT count(*) FROM {mark}")).fetchall()
    grp = 280 if "last" in reads else 900
    one.execute(tables.put("INSERT INTO {mark} VALUES (1)"))
    other.execute(tables.put(f"INSERT INTO {{many}} (id, grp, n) VALUES (1000, {grp}, 1)"))
    with pytest.raises(psycopg.errors.SerializationFailure):  # noqa: PT012
        one.execute("COMMIT")
        other.execute("COMMIT")
