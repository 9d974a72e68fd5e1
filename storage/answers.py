"""Answers of PostgreSQL to questions about rows: the values of expressions that are not computed here. Pure.

    question    an expression, and the encoded values that a row has in the columns which it reads
    answer      its value; or the error that it gives, which is an answer, too

What pairs a row has may depend on such a value. The functions that say so (`storage.mutations`, `storage.derived`,
`storage.integrity`) do no I/O: they take the answers that come with the row, and raise `Unanswered` for one that is
not among them. Whoever calls them asks the store and calls them again, which is free of effects (`storage.asking`).
"""

from collections.abc import Mapping
from copy import copy
from typing import NamedTuple

from catalog.values.types import SqlType
from expressions.errors import SqlError
from expressions.typed import PyValue


class Question(NamedTuple):
    """An expression of the schema for one row: `inputs` are its columns' encoded values, in the order of their ids."""

    text: str
    returns: SqlType
    inputs: tuple[bytes, ...]


Answers = Mapping[Question, PyValue | SqlError]
NO_ANSWERS: Answers = {}


class Unanswered(Exception):
    """The value of an expression is needed, and PostgreSQL has not been asked for it."""

    def __init__(self, question: Question) -> None:
        super().__init__(question)
        self.question = question


def answer(answers: Answers, question: Question) -> PyValue:
    """The value that was answered. Raises the error that was, or `Unanswered`."""
    try:
        found = answers[question]
    except KeyError:
        raise Unanswered(question) from None
    if isinstance(found, SqlError):
        raise copy(found)
    return found
