"""Where in a statement an error lies."""

import pytest

from catalog.text.marking import mark


@pytest.mark.parametrize(
    ("statement", "position", "word", "place"),
    [
        pytest.param("SELECT nope", 8, "nope", (1, 8), id="a word"),
        pytest.param("SELECT\n  nope, b", 10, "nope", (2, 3), id="a word on the second line"),
        pytest.param("SELECT (", 8, "(", (1, 8), id="a sign"),
        pytest.param("SELECT", 7, "␣", (1, 7), id="the end"),
        pytest.param("表 nope", 3, "nope", (1, 3), id="positions count characters, not bytes"),
    ],
)
def test_the_word_at_a_position(statement: str, position: int, word: str, place: tuple[int, int]) -> None:
    marked = mark(statement, position)
    assert marked is not None
    assert (marked.word, (marked.line, marked.column)) == (word, place)
    assert (marked.before + marked.word.replace("␣", "") + marked.after) == statement


@pytest.mark.parametrize("position", [None, 0, -1, 99])
def test_no_place_is_no_mark(position: int | None) -> None:
    assert mark("SELECT 1", position) is None
