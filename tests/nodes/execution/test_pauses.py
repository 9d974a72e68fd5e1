"""A query with many calls that may take long is ended between two of them: a block of rows has 2,048."""

from collections.abc import Iterator
from threading import get_ident

import duckdb
import pytest

from expressions.analysis.analyzer import Analyzer
from expressions.analysis.scopes import Relation, Scope
from expressions.errors import QUERY_CANCELED
from expressions.rows import parsed
from expressions.sqltypes import ARRAY_OF, INT4, TEXT
from expressions.typed import CALLS_AT_ONCE_MAX, PAUSE, ColumnRef, Context, Expr, needs_pauses, render
from nodes.execution.engine.engine_functions import register
from nodes.execution.engine.refusals import translated
from nodes.execution.engine.stopping import to_stop

ENGINE = duckdb.connect(":memory:", config={"threads": 1})
register(ENGINE)
ENGINE.execute("""CREATE TABLE r0 AS SELECT CAST(i AS INTEGER) AS i,
    CASE WHEN i % 7 <> 3 THEN 'aé%' || i END AS t, CASE WHEN i % 5 <> 3 THEN [CAST(i AS INTEGER), 1, NULL] END AS l
    FROM range(5000) t(i)""")
COLUMNS = {name: ColumnRef(f"r0.{name}", of, name) for name, of in (("i", INT4), ("t", TEXT), ("l", ARRAY_OF[INT4]))}
MANY = CALLS_AT_ONCE_MAX + 1


def analysed(text: str) -> Expr:
    analyzer = Analyzer({})
    return analyzer.known(analyzer.expr(parsed(text), Scope(None, [Relation(0, "r", dict(COLUMNS))])))


@pytest.fixture
def stopped() -> Iterator[None]:
    to_stop.add(get_ident())
    yield
    to_stop.discard(get_ident())


@pytest.mark.parametrize(("text", "is_paused"), [
    pytest.param(" + ".join(["length(t)"] * MANY), True, id="many calls of texts"),
    pytest.param("md5(" * MANY + "t" + ")" * MANY, True, id="many inside each other"),
    pytest.param(" + ".join(["cardinality(l || i)"] * MANY), True, id="many of arrays"),
    pytest.param(" + ".join(["length(t)"] * (MANY - 1)), False, id="some"),
    pytest.param("greatest(" + ", ".join(["i"] * 90) + ")", False, id="many of numbers"),
])  # fmt: skip
def test_there_are_pauses_where_many_calls_may_take_long(text: str, *, is_paused: bool) -> None:
    assert needs_pauses(["SELECT ", analysed(text)]) is is_paused


CALLS = [
    "upper(t)", "lower(t || 'B')", "length(t)", "left(t, i)", "substr(t, 2, 3)", "replace(t, 'a', 'bb')",
    "lpad(t, 9, 'xy')", "t LIKE '%1%'", "t ILIKE 'A%'", "position('1' in t)", "translate(t, 'a', 'x')",
    "split_part(t, '%', 2)", "string_to_array(t, '%')", "array_to_string(l, ',')", "l || i", "i || l", "l || l",
    "l @> ARRAY[1]", "i = ANY (l)", "concat(t, i, t)", "concat_ws('-', t, i)", "coalesce(t, 'none')",
    "CASE WHEN i > 9 THEN upper(t) ELSE t END", "l[1]", "cardinality(l)", "md5(t)", "reverse(t)", "initcap(t)",
    "btrim(t, 'a')", "t < 'b'", "t ~ '[0-4]'", "t IS NULL", "length(upper(replace(t, '1', '')))",
    "octet_length(t::bytea)", "t = ANY (string_to_array(t, ','))", "quote_literal(t)", "greatest(t, 'b')",
    "overlay(t placing 'x' from 2)", "repeat(t, i % 3)", "format('%s-%I', t, i)", "'x' = ANY (ARRAY[t])",
]  # fmt: skip


@pytest.mark.parametrize("text", CALLS)
def test_a_pause_changes_nothing(text: str) -> None:
    expr = analysed(text)
    usual, paused = (render(expr, Context(pauses=pauses)) for pauses in (False, True))
    sql = "SELECT {} FROM r0 ORDER BY i LIMIT 3000"
    assert ENGINE.execute(sql.format(paused)).fetchall() == ENGINE.execute(sql.format(usual)).fetchall()
    grouped = "SELECT {0} AS x, count(*) FROM r0 GROUP BY {0} ORDER BY 2, 1 LIMIT 10"
    assert ENGINE.execute(grouped.format(paused)).fetchall() == ENGINE.execute(grouped.format(usual)).fetchall()


@pytest.mark.usefixtures("stopped")
@pytest.mark.parametrize("text", ["length(t)", "left(t, i)", "md5(md5(t))", "cardinality(l)", "position('1' in t)"])
def test_a_query_that_is_to_stop_does_so_at_a_pause(text: str) -> None:
    expr = analysed(text)
    assert PAUSE in render(expr, Context(pauses=True))
    with pytest.raises(duckdb.Error) as error:
        ENGINE.execute(f"SELECT count({render(expr, Context(pauses=True))}) FROM r0")
    assert translated(error.value).sqlstate == QUERY_CANCELED
    assert ENGINE.execute(f"SELECT count({render(expr, Context())}) > 0 FROM r0").fetchone() == (True,)
