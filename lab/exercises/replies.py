"""Texts that answer a wrong answer, with the reason why it is wrong, by keys such as `answer NAME`
(docs/reference/exercises.md). For an order it is the first wrong place, for a number `answer less` and `answer more`
stand in."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from lab.exercises.chapter import Answer, Explain, Form, Predict, Task

LESS, MORE = "answer less", "answer more"
NUMBER = re.compile(r"answer \d{1,9}(:\d\d)?")


def needed(task: Task | None) -> Iterator[str]:
    if isinstance(task, Explain):
        yield from (f"answer {rule}" for rule in task.rules if rule != task.missing)
    if not isinstance(task, Predict):
        return
    match task.form:
        case Form.CHOICE:
            yield from (f"answer {name}" for name in task.values if name != task.answer)
        case Form.MATCH:
            yield from (f"answer {item.id}" for item in task.items)
        case Form.PAIRS:
            yield from (f"answer {option}" for option in task.options)
        case Form.ORDER:
            assert isinstance(task.answer, tuple)
            yield from (f"answer {name}" for name in task.answer[:-1])  # nothing else can be wrong at the last place
        case Form.NUMBER | Form.TIME:
            yield from (LESS, MORE) if task.answer != 0 else (MORE,)


def may_be(task: Task | None, key: str) -> bool:
    if not isinstance(task, Predict):
        return False
    if task.form in (Form.NUMBER, Form.TIME):
        return NUMBER.fullmatch(key) is not None
    return task.form is Form.CHOICE and key == f"answer {task.answer}"


def keys_for(task: Task | None, answered: Mapping[str, Any]) -> list[str]:
    """The keys for an answer, as it is stored; of a number's keys the first that has a text counts."""
    if isinstance(task, Explain):
        rule = answered.get("rule")
        return [] if rule == task.missing else [f"answer {rule}"]
    if not isinstance(task, Predict):
        return []
    given, right = answered.get(task.form.value), task.answer
    match task.form:
        case Form.CHOICE:
            return [f"answer {given}"]
        case Form.MATCH:
            assert isinstance(right, Mapping)
            answers = given if isinstance(given, Mapping) else {}
            return [f"answer {item.id}" for item in task.items if answers.get(item.id) != right[item.id]]
        case Form.PAIRS:
            assert isinstance(right, frozenset)
            return [f"answer {one}" for one in task.options if (one in _all(given)) != (one in right)]
        case Form.ORDER:
            assert isinstance(right, tuple)
            wrong = (name for at, name in enumerate(right) if list(_all(given))[at : at + 1] != [name])
            return [f"answer {name}" for name in [next(wrong, None)] if name is not None]
    return [] if given == right else [f"answer {given}", LESS if _is_less(given, right) else MORE]


def texts_for(task: Task | None, answered: Mapping[str, Any], text: Callable[[str], str]) -> list[str]:
    found = [words for words in map(text, keys_for(task, answered)) if words]
    is_number = isinstance(task, Predict) and task.form in (Form.NUMBER, Form.TIME)
    return found[:1] if is_number else found


def _is_less(given: object, right: Answer) -> bool:
    if isinstance(right, int):
        return isinstance(given, int) and given < right
    return _minutes(given) < _minutes(right)


def _minutes(time: object) -> int:
    hours, _, minutes = str(time).partition(":")
    return int(hours) * 60 + int(minutes or 0)


def _all(given: object) -> Sequence[str]:
    return given if isinstance(given, list | tuple) else ()
