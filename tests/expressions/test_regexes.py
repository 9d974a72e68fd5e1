"""Regular expressions: what PostgreSQL means by them, and a bounded amount of work (more: `nodes/statements`)."""

import time
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

import pytest

from expressions.errors import SqlError
from expressions.limits import VALUE_BYTES_MAX, begin_anew, pauses
from expressions.regexes import functions
from expressions.typed import is_simple
from tests.expressions.test_growth import analysed

LONG = "a" * VALUE_BYTES_MAX


@pytest.mark.parametrize(
    ("text", "pattern", "groups"),
    [
        pytest.param("foobarbequebaz", "ba.|barbeque", ("barbeque",), id="the longest alternative"),
        pytest.param("abc", "ab?(bc)?", ("bc",), id="the longest whole, not what each quantifier takes first"),
        pytest.param("XY1234Z", "Y*?([0-9]{1,3})", ("1",), id="the shortest, when the first quantifier is lazy"),
        pytest.param("ab", "(a)(x)?", ("a", None), id="a group that takes no part"),
        pytest.param("aaa", "(a|aa)(a|aa)?", ("aa", "a"), id="the first group takes as much as it can"),
        pytest.param("abcd", "(a|ab)(c|bcd)(d*)", ("ab", "c", "d"), id="not the first alternative of a group"),
        pytest.param("aab-", "(a*?)(a*)(b|$)+", ("", "aa", "b"), id="a lazy group takes as little as it can"),
        pytest.param("ab", "a(x*)?b", ("",), id="a repetition of nothing counts"),
        pytest.param("abcabcabd", "(ab(c|d))*", ("abd", "d"), id="the last repetition counts"),
        pytest.param("a\nb", "a.b", ("a\nb",), id="a dot is a newline, too"),
        pytest.param("a\bb", r"a\bb", ("a\bb",), id="a backspace"),
        pytest.param("éa", r"(?i)\u00c9", ("é",), id="an option in front"),
    ],
)
def test_a_match_is_postgresqls(text: str, pattern: str, groups: tuple[str | None, ...]) -> None:
    assert functions.match(text, pattern) == groups


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        (r"(a)\1", "a back reference"),
        ("a(?=b)", r"a condition \(\?=\.\.\)"),
        ("(?<!a)b", r"a condition \(\?<!\.\.\)"),
        (r"\m.", "where no character of a word is certain"),
        ("(?b)a", 'the option "b"'),
        (r"\Ya", r"\\Y in a regular expression"),
    ],
)
def test_what_a_linear_search_cannot_do_is_refused_by_name(pattern: str, words: str) -> None:
    with pytest.raises(SqlError, match=words) as caught:
        functions.match("ab", pattern)
    assert caught.value.sqlstate == "0A000"


@pytest.mark.parametrize(
    ("pattern", "sqlstate"),
    [
        pytest.param("a" * 10**6, "54000", id="a million characters"),
        pytest.param("(" * 9_000, "2201B", id="nested parentheses"),
        pytest.param("((a{255}){255}){255}", "2201B", id="repetitions of repetitions"),
        pytest.param("[" * 9_000, "2201B", id="brackets without an end"),
        pytest.param("(?#" * 3_000, "", id="comments without an end"),
        pytest.param("(a|" * 100 + "b" + ")" * 100, "2201B", id="a hundred levels"),
    ],
)
def test_a_pattern_takes_no_time_before_it_is_refused(pattern: str, sqlstate: str) -> None:
    began = time.process_time()
    try:
        functions.match("ab", pattern)
        found = ""
    except SqlError as error:
        found = error.sqlstate
    assert found == sqlstate
    assert time.process_time() - began < 1.0


@pytest.mark.parametrize("pattern", ["(a|aa)*b", "(a*)*b", "a{1,200}b", "(.*)(.*)(.*)b", "(.*?)x|(a?a?a?)*c"])
def test_what_others_wait_for_is_counted(pattern: str) -> None:
    """However the pattern is nested, the time grows with the text; and for one row it is bounded."""
    began = time.process_time()

    def often() -> None:
        begin_anew()
        for _ in range(1000):
            functions.is_like(LONG, pattern)

    with pytest.raises(SqlError) as caught:
        copy_context().run(often)
    assert caught.value.sqlstate == "54001"
    assert time.process_time() - began < 5.0


@pytest.mark.parametrize(
    "work",
    [
        lambda: functions.replaced(LONG, "(a.*b|a)", "x", "g"),
        lambda: functions.count(LONG, "(a.*b|a)"),
        lambda: functions.split(LONG[:100_000], "(a.*b|a)"),
        lambda: functions.matches(LONG, "(a.*b|a)", "g"),
    ],
)
def test_whoever_watches_can_end_a_search_for_all_matches(work: Callable[[], Any]) -> None:
    """Each search looks at the text to its end: a million of them would take hours."""
    calls = iter(range(100))

    def watch() -> None:
        if next(calls, None) is None:
            raise SqlError("54001", "enough")

    token = pauses.set(watch)
    try:
        with pytest.raises(SqlError, match="enough"):
            work()
    finally:
        pauses.reset(token)


def test_a_text_that_would_grow_too_long_is_refused() -> None:
    with pytest.raises(SqlError) as caught:
        functions.replaced("a" * 10_000, "a", "b" * 1000, "g")
    assert caught.value.sqlstate == "54000"
    with pytest.raises(SqlError, match="at most 131072 parts"):
        functions.matches("a" * 70_000, "(a)()", "g")
    with pytest.raises(SqlError, match="at most 1048576 bytes"):
        functions.match(LONG[:200_000], "(" * 6 + ".*" + ")" * 6)


def test_substring_of_a_similar_pattern_is_refused_by_name() -> None:
    with pytest.raises(SqlError, match=r"substring\(\.\. SIMILAR") as caught:
        analysed("substring('abcdef' SIMILAR 'a#\"b#\"%' ESCAPE '#')")
    assert caught.value.sqlstate == "0A000"
    assert is_simple(analysed("substring('abcdef', '2', 3)"))
