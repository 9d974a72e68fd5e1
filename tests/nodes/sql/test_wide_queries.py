"""Queries of many columns and tables: within PostgreSQL's limits they are planned, beyond them refused."""

import tracemalloc
from typing import Any

import pytest

from expressions.analysis.building import Parameters
from expressions.errors import SqlError
from nodes.sql.planner import make_plan
from nodes.sql.queries.query import COLUMNS_MAX
from nodes.sql.statements import parse

WIDE = "WITH w AS (SELECT " + ", ".join(f"1 AS c{i}" for i in range(1600)) + ") "


def planned(sql: str) -> Any:
    (statement,) = parse(sql)
    return make_plan(statement, {}, Parameters())


def listed(pattern: str, count: int = 1600) -> str:
    return ", ".join(pattern.format(i) for i in range(count))


JOINED = "SELECT 1 FROM " + listed("generate_series(1, 2) g{}", 60)
BESIDE = "SELECT 1 FROM generate_series(1, 2) g" + "".join(f", LATERAL (SELECT g.g + {i}) s{i}" for i in range(41))


@pytest.mark.parametrize(("sql", "sqlstate"), [
    pytest.param("SELECT " + "1, " * COLUMNS_MAX + "1", "54011", id="targets"),
    pytest.param(WIDE + "SELECT w.*, w.* FROM w", "54011", id="stars"),
    pytest.param("SELECT count(*) FROM (SELECT " + "1, " * COLUMNS_MAX + "1) x", "54011", id="columns of a subquery"),
    pytest.param("VALUES (" + "1, " * COLUMNS_MAX + "1)", "54011", id="values"),
    pytest.param(WIDE + "SELECT 1 FROM w ORDER BY " + "c1, " * COLUMNS_MAX + "c1", "54011", id="keys of an order"),
    pytest.param(WIDE + "SELECT 1 FROM w GROUP BY " + "c1, " * COLUMNS_MAX + "c1", "54011", id="keys of groups"),
    pytest.param(WIDE + "SELECT 1 FROM w GROUP BY CUBE (" + listed("c{}", 9) + ")", "54001", id="grouping sets"),
    pytest.param(WIDE + "SELECT 1 FROM " + listed("w w{}", 100), "54011", id="columns of tables"),
    pytest.param("SELECT 1 FROM " + listed("generate_series(1, 2) g{}", 65), "54000", id="tables"),
    pytest.param("SELECT 1 FROM " + listed(f"({JOINED}) s{{}}", 7), "54000", id="tables of subqueries"),
    pytest.param("SELECT " + listed("(SELECT {})", 41), "54001", id="subqueries"),
    pytest.param(BESIDE, "54001", id="subqueries beside others"),
    pytest.param("WITH " + listed("w{} AS (SELECT 1)", 201) + " SELECT 1", "54001", id="queries in WITH"),
])  # fmt: skip
def test_what_is_too_wide_is_refused(sql: str, sqlstate: str) -> None:
    with pytest.raises(SqlError) as caught:
        planned(sql)
    assert caught.value.sqlstate == sqlstate


@pytest.mark.parametrize("group", [f"CUBE ({listed('c{}', 12)})", f"ROLLUP ({listed('c{}', 1000)})"])
def test_too_many_grouping_sets_are_refused_before_they_are_made(group: str) -> None:
    sql = WIDE + f"SELECT 1 FROM w GROUP BY GROUPING SETS ({', '.join([group] * 20)})"
    (statement,) = parse(sql)
    tracemalloc.start()
    with pytest.raises(SqlError, match="too many grouping sets"):
        make_plan(statement, {}, Parameters())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 * 1024 * 1024


def test_what_is_wide_and_not_too_wide_is_planned() -> None:
    for sql in (
        WIDE + "SELECT " + listed("c{} + 1") + " FROM w ORDER BY " + listed("c{} + 2"),
        WIDE + "SELECT " + listed("c{} + 1") + " FROM w GROUP BY " + listed("c{} + 1"),
        " UNION ".join(["SELECT " + listed("'{}'")] * 3),
        WIDE + "SELECT a.* FROM w a NATURAL JOIN w b",
    ):
        assert len(planned(sql).outputs) == 1600
