"""Whoever answers wrongly is told why: every wrong answer of our chapters has a text in every language."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from lab.exercises import replies
from lab.exercises.chapter import Explain, Form, Predict, Screen, Task
from lab.exercises.shelf import books
from lab.exercises.texts import LANGUAGES

TASKS = [
    pytest.param(book, screen, id=f"{book.folder}/{screen.id}")
    for book in books()
    for screen in (() if book.chapter is None else book.chapter.tasks)
    if isinstance(screen.task, Predict | Explain)
]


def wrong_answers(task: Task | None) -> Iterator[Mapping[str, Any]]:
    """Each way to be wrong once: a choice, a pair too many or too few, an item, two neighbours exchanged, a number."""
    if isinstance(task, Explain):
        yield from (
            {"clause": task.clause, "step": task.step, "rule": rule} for rule in set(task.rules) - {task.missing}
        )
    if not isinstance(task, Predict):
        return
    right: Any = task.answer
    match task.form:
        case Form.CHOICE:
            yield from ({"choice": name} for name in set(task.values) - {right})
        case Form.MATCH:
            for item in task.items:
                yield {"match": right | {item.id: next(name for name in task.values if name != item.answer)}}
        case Form.PAIRS:
            yield from ({"pairs": sorted(right ^ {option})} for option in task.options)
        case Form.ORDER:
            for at in range(len(right) - 1):
                yield {"order": [*right[:at], right[at + 1], right[at], *right[at + 2 :]]}
        case Form.NUMBER:
            yield from ({"number": right + more} for more in ((-1, 1) if right else (1,)))
        case Form.TIME:
            yield from ({"time": hour} for hour in ("0:05", "23:55"))


@pytest.mark.parametrize(("book", "screen"), TASKS)
def test_each_wrong_answer_is_told_why_in_every_language(book: Any, screen: Screen) -> None:
    for language in LANGUAGES:
        texts = book.texts[language]
        for answered in wrong_answers(screen.task):
            told = replies.texts_for(screen.task, answered, lambda key, texts=texts: texts.get(f"{screen.id}.{key}"))
            assert len(told) == 1, (language, answered)


@pytest.mark.parametrize(("book", "screen"), TASKS)
def test_the_right_answer_is_told_nothing_of_the_kind(book: Any, screen: Screen) -> None:
    task = screen.task
    if isinstance(task, Explain):
        right: dict[str, Any] = {"clause": task.clause, "step": task.step, "rule": task.missing}
    else:
        assert isinstance(task, Predict)
        right = {task.form.value: sorted(task.answer) if isinstance(task.answer, frozenset) else task.answer}  # type: ignore[type-var]
    asked = replies.keys_for(task, right)
    assert [key for key in asked if key in set(replies.needed(task))] == []


def test_a_number_has_a_text_of_its_own_or_that_of_its_side() -> None:
    task = Predict("seconds", Form.NUMBER, 18)
    texts = {"answer 30": "a whole lease", "answer less": "too soon", "answer more": "too late"}
    for said, words in ((30, "a whole lease"), (31, "too late"), (17, "too soon")):
        assert replies.texts_for(task, {"number": said}, lambda key: texts.get(key, "")) == [words]
    assert replies.may_be(task, "answer 30")
    assert not replies.may_be(task, "answer thirty")
