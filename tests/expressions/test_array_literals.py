"""Texts of arrays as PostgreSQL reads them: what is well made, what is not, and how many elements there may be."""

import random

import pytest

from catalog.values.arrays import ELEMENTS_MAX, array_text
from expressions.errors import SqlError
from expressions.typed import words_of


@pytest.mark.parametrize(("text", "words"), [
    ("{}", []), (" { } ", []), ("{{}}", []), ("{a,b}", ["a", "b"]), ("{ a b , c }", ["a b", "c"]),
    ('{"a" , b }', ["a", "b"]), ('{NULL,null,"NULL",\\NULL,NULLS}', [None, None, "NULL", "NULL", "NULLS"]),
    ('{""," "}', ["", " "]), ("{a\\ ,\\{,\\\\ }", ["a ", "{", "\\"]), ('{"\\"","\\\\",","}', ['"', "\\", ","]),
    ("[1:2]={a,b}", ["a", "b"]), ("[2]={a,b}", ["a", "b"]), ("{é,\u00a0}", ["é", "\u00a0"]),
])  # fmt: skip
def test_elements(text: str, words: list[str | None]) -> None:
    assert words_of(text) == words


@pytest.mark.parametrize("text", [
    "", " ", "a", "{", "}", "{a", "a}", "{a,}", "{,a}", "{a,,b}", "{,}", '{"a"b}', '{a"b"}', '{"a}', "{a\\", "{a}b",
    "{a}{b}", "{}}", "{{1},{2,3}}", "{{1},2}", "{1,{2}}", "{{1},{}}", "{{},1}", "[1:3]={a,b}", "[1:2]", "[x]={a}",
    "{\t{}", "{{}",
])  # fmt: skip
def test_what_is_malformed(text: str) -> None:
    with pytest.raises(SqlError, match="malformed array literal") as caught:
        words_of(text)
    assert caught.value.sqlstate == "22P02"


@pytest.mark.parametrize(("text", "sqlstate", "words"), [
    ("{a", "22P02", "Unexpected end of input."), ("{a,}", "22P02", 'Unexpected "}" character.'),
    ('{"a"b}', "22P02", "Incorrectly quoted array element."), ("{a}b", "22P02", "Junk after closing right brace."),
    ("[1:3]={a,b}", "22P02", "Specified array dimensions do not match array contents."),
    ("{{1},{2,3}}", "22P02", "Multidimensional arrays must have sub-arrays with matching dimensions."),
    ("[1:2{a,b}", "22P02", 'Missing "]" after array dimensions.'), ("[2:1]={}", "2202E", None),
    ("[99999999999]={a}", "22003", None), ("[1:2147483647]={a}", "54000", None), ("{{{{{{{1}}}}}}}", "54000", None),
])  # fmt: skip
def test_what_is_wrong_is_said_as_postgresql_does(text: str, sqlstate: str, words: str | None) -> None:
    with pytest.raises(SqlError) as caught:
        words_of(text)
    assert (caught.value.sqlstate, caught.value.detail) == (sqlstate, words)


@pytest.mark.parametrize("text", ["{{1},{2}}", "{{{a}}}", "[0:1]={a,b}", "[1:1][1:1]={{a}}"])
def test_what_a_node_has_not_is_refused_by_name(text: str) -> None:
    with pytest.raises(SqlError) as caught:
        words_of(text)
    assert caught.value.sqlstate == "0A000"


def test_elements_are_counted_before_all_are_read() -> None:
    assert len(words_of("{" + ",".join(["t"] * ELEMENTS_MAX) + "}")) == ELEMENTS_MAX
    for text in ("{" + "t," * 2**19, "{" + ",".join(["t"] * (ELEMENTS_MAX + 1)) + "}"):
        with pytest.raises(SqlError, match="at most 131072 elements"):
            words_of(text)


@pytest.mark.parametrize("text", [
    "{\\a" + " " * 2**20 + "b}", "{" + " " * 2**20, "{" + "\\" * 2**20, '{"' + "a" * 2**20, "[" + " " * 2**20,
    "{" * 2**20,
], ids=["spaces", "spaces alone", "backslashes", "a quote", "numbers", "braces"])  # fmt: skip
def test_long_texts_are_read_once(text: str) -> None:
    """Read again and again from each place, one of them would take hours."""
    with pytest.raises(SqlError) as caught:
        words_of(text + "{")
    assert caught.value.sqlstate in ("22P02", "54000")
    assert len(caught.value.message) < 200


def test_what_is_written_is_read_back() -> None:
    chance = random.Random(7)
    for _ in range(500):
        words = [
            None if chance.random() < 0.2 else "".join(chance.choices(' ,"\\{}aN\tULé', k=chance.randrange(6)))
            for _ in range(chance.randrange(5))
        ]
        assert words_of(array_text(words, str)) == words
