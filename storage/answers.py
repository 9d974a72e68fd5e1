"""PostgreSQL's answers about rows: values of expressions that are not computed here, or their errors. Pure functions
take the answers with the row and raise `Unanswered`; their caller asks the store and calls again (`storage.asking`)."""

from collections.abc import Mapping
from copy import copy
from typing import NamedTuple

from catalog.values.types import SqlType
from expressions.errors import SqlError
from expressions.typed import PyValue


class Question(NamedTuple):
    """An expression for one row: `inputs` are its columns' encoded values, in the order of ids."""

    text: str
    returns: SqlType
    inputs: tuple[bytes, ...]


Answers = Mapping[Question, PyValue | SqlError]
NO_ANSWERS: Answers = {}


class Unanswered(Exception):
    def __init__(self, question: Question) -> None:
        super().__init__(question)
        self.question = question


def answer(answers: Answers, question: Question) -> PyValue:
    """The value. Raises the error that was answered, or `Unanswered`."""
    try:
        found = answers[question]
    except KeyError:
        raise Unanswered(question) from None
    if isinstance(found, SqlError):
        raise copy(found)
    return found
