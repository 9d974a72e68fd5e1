"""Pairs in words: whatever a chapter of ours offers is offered in words, no two alike."""

import pytest

from lab.exercises.chapter import Form, Predict
from lab.exercises.pair_texts import pair_text
from lab.exercises.shelf import books

OFFERED = {
    f"{book.folder}/{screen.id}": screen.task.options
    for book in books()
    for screen in (book.chapter.screens if book.chapter else ())
    if isinstance(screen.task, Predict) and screen.task.form is Form.PAIRS
}


@pytest.mark.parametrize("options", OFFERED.values(), ids=OFFERED)
def test_what_is_offered_has_words(options: tuple[str, ...]) -> None:
    texts = [pair_text(one) for one in options]
    assert [text for text in texts if text.template == "{name}"] == []
    assert len(set(map(str, texts))) == len(options)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("row 2", "row 2"),
        ("row 1 (a=2)", "row 1 with a = 2"),
        ("entry 1→r1", "the entry a = 1, which leads to row 1"),
        ("tombstone 1→r2", "a tombstone in place of the entry a = 1 of row 2"),
        ("row 1 (a=1) in the new placement", "row 1 with a = 1 in the new placement"),
        ("something else", "something else"),
    ],
)
def test_words(name: str, words: str) -> None:
    assert str(pair_text(name)) == words
