"""Errors that reach people: one line, no class of ours."""

import pytest

from catalog.text.mistakes import in_words


@pytest.mark.parametrize(
    ("error", "words"),
    [
        pytest.param(ValueError("a page is torn\nat line 3"), "a page is torn", id="the first line of what it says"),
        pytest.param(KeyError("airports"), "airports was not found", id="a key that is missing"),
        pytest.param(ConnectionResetError(), "connection reset error", id="one that says nothing"),
    ],
)
def test_an_error_is_stated_in_words(error: Exception, words: str) -> None:
    assert in_words(error) == words
