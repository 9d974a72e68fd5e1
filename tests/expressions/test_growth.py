"""A short text means a bounded amount of work: of evaluation, of memory."""

import time

import pytest

from expressions.analysis.analyzer import Analyzer
from expressions.analysis.scopes import Scope
from expressions.errors import SqlError
from expressions.limits import VALUE_BYTES_MAX
from expressions.rows import parsed
from expressions.typed import Context, Expr, evaluate


def analysed(text: str) -> Expr:
    analyzer = Analyzer()
    return analyzer.known(analyzer.expr(parsed(text), Scope()))


@pytest.mark.parametrize(
    "nested",
    [
        pytest.param("CASE {} WHEN 1 THEN 2 WHEN 3 THEN 4 WHEN 5 THEN 6 END", id="what a CASE is about"),
        pytest.param("({} = ANY (ARRAY[1, 2, 3, 4]))::int", id="what ANY compares"),
        pytest.param("({} BETWEEN 1 AND 2)::int", id="what BETWEEN compares"),
    ],
)
def test_an_expression_that_is_huge_when_written_out_is_refused(nested: str) -> None:
    text = "1"
    for _ in range(14):
        text = nested.format(text)
    with pytest.raises(SqlError, match="parts when each is written out|nested too deeply") as caught:
        analysed(text)
    assert caught.value.sqlstate == "54001"


def test_a_list_is_bounded() -> None:
    with pytest.raises(SqlError, match="a list of 20001 values is longer than 20000") as caught:
        analysed("1 IN (" + "1," * 20_000 + "1)")
    assert caught.value.sqlstate == "54000"


def test_a_list_of_constants_is_looked_up() -> None:
    expr = analysed("$1 IN (" + ",".join(map(str, range(20_000))) + ")")
    began = time.process_time()
    assert [evaluate(expr, {}, Context((i,))) for i in range(19_500, 20_500)].count(True) == 500
    assert time.process_time() - began < 5.0  # one by one: 20 million comparisons


def test_a_text_that_grows_too_long_is_refused_before_its_memory_is_taken() -> None:
    text = " || ".join(["$1"] * 11)
    with pytest.raises(SqlError, match=f"at most {VALUE_BYTES_MAX} bytes"):
        evaluate(analysed(text), {}, Context(("a" * 100_000,)))


@pytest.mark.parametrize(
    ("text", "sqlstate", "words"),
    [
        ("1e1000000", "22003", "value overflows numeric format"),
        ("1e-1000000", "22003", "value overflows numeric format"),
        ("1e99999999999999999999", "22003", "value overflows numeric format"),
        ("9" * 200_000, "22003", "value overflows numeric format"),
        ("9" * 100_000, "54000", "a numeric may have at most 20000 digits"),
        ("0x" + "f" * 100_000, "54000", "a numeric may have at most 20000 digits"),
        ("1e30000", "54000", "a numeric may have at most 20000 digits"),
        ("1e400::float8", "22003", "out of range for type double precision"),
        ("1e400::real", "22003", "out of range for type real"),
        ("1e15000 * 1e15000", "54000", "a numeric may have at most 20000 digits"),
    ],
)
def test_a_number_that_no_type_holds_is_refused_in_words(text: str, sqlstate: str, words: str) -> None:
    began = time.process_time()
    with pytest.raises(SqlError, match=words) as caught:
        evaluate(analysed(text), {}, Context())
    assert caught.value.sqlstate == sqlstate
    assert time.process_time() - began < 1.0


def test_a_text_that_is_no_number_is_refused_at_once() -> None:
    began = time.process_time()
    with pytest.raises(SqlError, match="invalid input syntax"):
        analysed(f"'{'1' * 900_000}x'::float8")
    assert time.process_time() - began < 5.0  # it took hours: each digit was tried as the last one before the point
