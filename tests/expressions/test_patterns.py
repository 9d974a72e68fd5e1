"""LIKE: the same answers as an expression that tries everything, and none of its time."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from expressions.errors import SqlError
from expressions.values import texts
from tests.rounds import drawn


def slow_like(text: str, pattern: str) -> bool:
    """PostgreSQL's matcher, word by word: it tries every place for what follows a %."""
    if not pattern:
        return not text
    char, rest = pattern[0], pattern[1:]
    if not text:
        return not pattern.strip("%")
    if char == "%":
        tail = rest.lstrip("%_")
        wanted = rest[: len(rest) - len(tail)].count("_")
        if wanted > len(text):
            return False
        if tail == "\\":
            raise SqlError("22025", "at its end")
        return any(slow_like(text[place:], tail) for place in range(wanted, len(text) + 1)) if tail else True
    if char == "\\":
        if not rest:
            raise SqlError("22025", "at its end")
        char, rest = rest[0], rest[1:]
    elif char == "_":
        char = text[0]
    return char == text[0] and slow_like(text[1:], rest)


@drawn(few=125, many=500)
@given(st.text("abé%_\\", max_size=9), st.text("abé%_\\", max_size=7))
def test_like_is_what_trying_everything_finds(text: str, pattern: str) -> None:
    assert outcome(texts.like, text, pattern) == outcome(slow_like, text, pattern)


def outcome(like: "object", text: str, pattern: str) -> object:
    try:
        return like(text, pattern)  # type: ignore[operator]
    except SqlError as error:
        return error.sqlstate


@drawn(few=50, many=200)
@given(st.text("ab\n", max_size=12), st.text("ab%_", max_size=8))
def test_like_is_the_regular_expression_it_used_to_be(text: str, pattern: str) -> None:
    words = {"%": ".*", "_": "."}
    expression = "".join(words.get(char, re.escape(char)) for char in pattern)
    assert texts.like(text, pattern) is (re.compile(expression, re.DOTALL).fullmatch(text) is not None)


@pytest.mark.parametrize(
    "pattern",
    [
        pytest.param("%a" * 30 + "%b", id="plain pieces"),
        pytest.param("%a_" * 30 + "%b", id="pieces with any character"),
        pytest.param("%" + "a_" * 400 + "b%", id="one long piece"),
    ],
)
def test_a_pattern_that_can_be_laid_in_countless_ways_is_answered_at_once(pattern: str) -> None:
    """Tried out, the first of these takes longer than the universe has time."""
    assert not texts.like("a" * 100_000, pattern)


def test_a_pattern_is_bounded() -> None:
    with pytest.raises(SqlError, match="at most 10000 characters; this one has 10001"):
        texts.like("a", "_" * 10_001)
