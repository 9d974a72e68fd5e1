"""PostgreSQL's answers for the rows of a table, for whoever judges all of its pairs."""

from collections.abc import Sequence
from typing import Any

from catalog.descriptor import Descriptor
from storage.answering import asking
from storage.answers import Question
from storage.asking import asks, questions, with_answers
from storage.integrity.clauses import Pairs
from storage.pairs import rows_of


def answers_for(descriptor: Descriptor, storages: Sequence[Pairs], connection: Any) -> dict[Question, Any]:
    """The answers for all rows, asked by this session of psycopg."""
    found: dict[Question, Any] = {}
    rows = [r for p in descriptor.placements for s in storages for r in rows_of(descriptor, p, sorted(s.items()))]
    for row in rows if asks(descriptor) else ():
        found |= with_answers(descriptor, row._replace(answers=found), questions, asking(connection)).answers
    return found
