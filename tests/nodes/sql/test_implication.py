"""A partial index serves a query only when every row the query wants is certainly in it."""

from dataclasses import replace
from typing import Any

import postgast
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.elements import ColumnId, Index, IndexColumn, IndexId
from catalog.values.types import SqlType
from expressions.analysis.building import Parameters
from expressions.analysis.scopes import Scan
from expressions.rows import canonical, compiled
from expressions.sqltypes import INT4
from expressions.typed import Context, evaluate
from nodes.sql.conditions.access_paths import access
from nodes.sql.conditions.implication import is_implied
from nodes.sql.conditions.predicates import refuses_nulls
from nodes.sql.uses import followed
from tests.nodes.sql.test_access_paths import CONDITIONS, TABLE, VALUES


def scans_of(sql: str, parameters: Parameters | None = None) -> list[Scan]:
    found = followed(postgast.parse(sql).stmts[0].stmt.select_stmt, {"flights": TABLE}, {}, parameters)
    return list(found.scans.values())


def kept(predicate: str) -> str:
    return canonical(TABLE, predicate, returns=SqlType.BOOLEAN, what="an index predicate")


def follows(predicate: str, where: str, *parameters: int) -> bool:
    (scan,) = scans_of(f"SELECT 1 FROM flights WHERE {where}", Parameters([INT4 for _ in parameters]))
    return is_implied(TABLE, compiled(TABLE, kept(predicate)), scan.conditions, Context(parameters))


@pytest.mark.parametrize(("predicate", "where"), [
    pytest.param("delay > 60", "delay > 60", id="it stands there"),
    pytest.param("delay > 60 AND origin = 'JFK'", "origin = 'JFK' AND number = 1 AND 60 < delay", id="in any order"),
    pytest.param("delay > 60", "delay >= 61 AND delay < 99", id="a narrower limit"),
    pytest.param("delay >= 60", "delay > 60", id="the same limit left out"),
    pytest.param("delay > 60", "delay = 61", id="one value"),
    pytest.param("delay > 60", "delay IN (61, 70)", id="a few values"),
    pytest.param("delay <> 60", "delay > 60", id="not equal, by a limit"),
    pytest.param("delay <> 60", "delay = 5", id="not equal, by a value"),
    pytest.param("delay IS NOT NULL", "delay > 60", id="what is compared is not NULL"),
    pytest.param("delay IS NOT NULL", "abs(delay) + 1 > number", id="nor is what is computed with"),
    pytest.param("origin IS NULL", "origin IS NULL", id="NULL is a value"),
    pytest.param("origin IN ('JFK', 'LGA')", "origin = 'LGA'", id="one of a list"),
    pytest.param("origin = 'JFK' OR delay > 60", "delay > 99", id="one of two alternatives"),
    pytest.param("length(origin) = 3", "origin = 'JFK'", id="what a value gives can be tried"),
    pytest.param("length(origin) = 3", "length(origin) = 3", id="a function of a column is itself"),
    pytest.param("big > 60", "big > 3000000000", id="integers of any width"),
])  # fmt: skip
def test_it_follows(predicate: str, where: str) -> None:
    assert follows(predicate, where)


@pytest.mark.parametrize(("predicate", "where"), [
    pytest.param("delay > 60", "true", id="nothing is asked"),
    pytest.param("delay > 60", "delay > 30", id="a wider limit"),
    pytest.param("delay > 60", "delay >= 60", id="the limit itself"),
    pytest.param("delay > 60", "number > 90", id="another column"),
    pytest.param("delay > 60", "delay < 90", id="the other side"),
    pytest.param("delay > 60", "delay IN (61, 60)", id="one value of two"),
    pytest.param("delay > 60", "delay > 90 OR number = 1", id="only one alternative"),
    pytest.param("delay > 60 AND origin = 'JFK'", "delay > 60", id="half of it"),
    pytest.param("delay IS NOT NULL", "coalesce(delay, 1) > 0", id="NULL made into something"),
    pytest.param("delay IS NOT NULL", "delay IS DISTINCT FROM 4", id="NULL compared as a value"),
    pytest.param("delay <> 60", "number > 60", id="not equal, by another column"),
    pytest.param("NOT delay > 60", "delay IS NULL", id="not false is not true"),
    pytest.param("score = 0.5", "score = 'NaN' AND score IN ('NaN', 1)", id="NaN, named twice"),
    pytest.param("100 / delay > 1", "delay = 0", id="a value for which the predicate fails"),
])  # fmt: skip
def test_it_does_not_follow(predicate: str, where: str) -> None:
    assert not follows(predicate, where)


def test_the_value_of_a_parameter_counts() -> None:
    assert follows("delay > 60", "delay > $1", 60)
    assert not follows("delay > 60", "delay > $1", 59)


@given(CONDITIONS, st.lists(CONDITIONS, min_size=1, max_size=3), st.fixed_dictionaries(VALUES))
def test_a_row_that_meets_the_conditions_is_in_the_index(
    predicate: str, conditions: list[str], values: dict[str, Any]
) -> None:
    (scan,) = scans_of("SELECT 1 FROM flights WHERE " + " AND ".join(f"({c})" for c in conditions))
    row = {column.id: values[column.name] for column in TABLE.columns}
    wanted = compiled(TABLE, kept(predicate))
    if is_implied(TABLE, wanted, scan.conditions, Context()):
        met = all(evaluate(c, row, Context()) is True for c in scan.conditions)
        assert not met or evaluate(wanted, row, Context()) is True, (predicate, conditions, values)


LATE = Index(IndexId(3), "late", (IndexColumn(ColumnId(2)),), where=kept("delay > 60"))


@pytest.mark.parametrize(("where", "index"), [
    pytest.param("delay > 90 AND number = 7", "late", id="used with its column"),
    pytest.param("delay > 90 AND length(origin) = 3", "late", id="used for its shortness alone"),
    pytest.param("number = 7", None, id="not used when rows may be missing"),
    pytest.param("delay > 90 AND day = '2013-01-01' AND number = 7", None, id="the key finds one row"),
])  # fmt: skip
def test_a_partial_index_on_the_way_to_the_rows(where: str, index: str | None) -> None:
    table = replace(TABLE, indexes=(LATE,))
    (scan,) = scans_of(f"SELECT 1 FROM flights WHERE {where}")
    way = access(table, scan.conditions, Context(), storages=2, buckets=3000)
    assert (way.index.name if way.index else None) == index


@pytest.mark.parametrize(("where", "refuses"), [
    pytest.param("b.delay > 60", True, id="a comparison"),
    pytest.param("b.delay IN (1, 2) AND true", True, id="a list"),
    pytest.param("b.delay IS NOT NULL", True, id="a test for it"),
    pytest.param("b.delay = 1 OR b.number = 2", True, id="all alternatives"),
    pytest.param("coalesce(b.delay, 0) = 0", False, id="NULL made into a value"),
    pytest.param("b.delay IS NULL", False, id="NULL asked for"),
    pytest.param("b.delay = 1 OR b.number IS NULL", False, id="one alternative"),
    pytest.param("NOT (b.delay IS NOT NULL)", False, id="NULL asked for twice over"),
    pytest.param("(b.delay > 1) IS NOT TRUE", False, id="not true is not false"),
])  # fmt: skip
def test_conditions_behind_an_outer_join_bound_a_scan_only_when_they_refuse_nulls(where: str, refuses: bool) -> None:
    """A row that the scan left out would come back as NULLs, and pass."""
    _, scan = scans_of(f"SELECT 1 FROM flights a LEFT JOIN flights b ON a.number = b.number WHERE {where}")
    assert bool(scan.conditions) == refuses
    assert all(refuses_nulls(c) for c in scan.conditions)
