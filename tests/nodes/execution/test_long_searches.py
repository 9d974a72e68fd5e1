"""A search for something long in something long takes no time that grows with both, and finds what it would find."""

import time

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from expressions.analysis.analyzer import Analyzer
from expressions.analysis.scopes import Scope
from expressions.rows import parsed
from expressions.typed import Context, render
from expressions.values import texts
from nodes.execution.engine.engine_functions import register
from nodes.execution.engine.refusals import translated
from tests.rounds import drawn

ENGINE = duckdb.connect(":memory:", config={"threads": 1})
register(ENGINE)
SEARCHES = ["$1 LIKE $2", "$1 NOT LIKE $2", "$1 ILIKE $2", "$1 NOT ILIKE $2", "position($2 in $1)", "strpos($1, $2)"]
WORDS = st.text("abBé%_\\", max_size=7)


def found(search: str, text: str | None, part: str | None, *, looked_max: int) -> object:
    """By the engine, of values that are no constants to it."""
    analyzer = Analyzer({})
    expr = analyzer.known(analyzer.expr(parsed(search.replace("$1", "$1::text").replace("$2", "$2::text")), Scope()))
    before, texts.LOOKED_MAX = texts.LOOKED_MAX, looked_max
    try:
        sql = render(expr, Context(("text", "p" * (texts.SHORT_PART_CHARS + 1))))
    finally:
        texts.LOOKED_MAX = before
    sql = sql.replace("'text'::VARCHAR", "v.t").replace(f"'{'p' * (texts.SHORT_PART_CHARS + 1)}'::VARCHAR", "v.p")
    assert "own_texts" in sql
    try:
        return ENGINE.execute(
            f"SELECT {sql} FROM (SELECT $1::VARCHAR AS t, $2::VARCHAR AS p) v", [text, part]
        ).fetchone()
    except duckdb.Error as error:
        return translated(error).sqlstate


@drawn(few=60, many=500)
@given(st.sampled_from(SEARCHES), st.none() | WORDS, st.none() | WORDS)
def test_what_is_found_does_not_depend_on_who_searches(search: str, text: str | None, part: str | None) -> None:
    ours = found(search, text, part, looked_max=-1)
    if ours != "22025":  # the engine alone never says where a pattern must not end
        assert ours == found(search, text, part, looked_max=2**40)


@pytest.mark.parametrize(("search", "result"), [
    pytest.param("$1 LIKE '%' || $2 || '%'", False, id="a piece of a pattern"),
    pytest.param("position($2 in $1)", 0, id="a part"),
])  # fmt: skip
def test_it_takes_time_that_grows_with_the_text(search: str, result: object) -> None:
    """The engine compared 9,000 characters at each of a million places: 0.3 s for a row."""
    analyzer = Analyzer({})
    expr = analyzer.known(analyzer.expr(parsed(search.replace("$1", "$1::text").replace("$2", "$2::text")), Scope()))
    sql = render(expr, Context(("text", "part")))
    sql = sql.replace("'text'::VARCHAR", "v.t").replace("'part'::VARCHAR", "v.p")
    rows = "SELECT repeat('a', 1000000 + i::INTEGER) AS t, repeat('a', 9000) || 'b' AS p FROM range(30) t(i)"
    began = time.process_time()
    assert set(ENGINE.execute(f"SELECT {sql} FROM ({rows}) v").fetchall()) == {(result,)}
    assert time.process_time() - began < 3


def test_the_engine_itself_looks_for_what_is_short() -> None:
    analyzer = Analyzer({})
    expr = analyzer.known(analyzer.expr(parsed("'x' LIKE $1 AND 'x' LIKE 'a%'"), Scope()))
    assert "own_" not in render(expr, Context(("a%",)))
    assert "own_texts_like" in render(expr, Context(("a" * (texts.SHORT_PART_CHARS + 1),)))
