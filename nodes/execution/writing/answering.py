"""PostgreSQL's answers for the rows of a statement, where an expression of the schema is not computed here. The batch
of questions stands behind a savepoint, since a row that has no value fails its command: halves of the rows are asked
then, until each error is one row's. An error is an answer, too."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from catalog.descriptor import Descriptor
from expressions.errors import SqlError
from expressions.typed import PyValue
from nodes.execution.fairness import in_thread
from nodes.store import reader
from nodes.store.pipeline import BINARY, UsersCommand, bytea_array
from nodes.store.transaction import Transaction
from storage.answers import Question, Unanswered
from storage.asking import (
    arrays_of,
    asks,
    by_expression,
    parts,
    question_sql,
    questions_of_entries,
    questions_of_new,
    read_answer,
)
from storage.pairs import StoredRow
from storage.postgres import USERS_SETTINGS

T = TypeVar("T")
BYTEA_ARRAY = 1001
ROWS_AT_ONCE = 5000
LAYERS = 2
"""Derived values are asked for before what may read them."""


@dataclass(eq=False, slots=True)
class Answering:
    transaction: Transaction
    descriptor: Descriptor
    answers: dict[Question, PyValue | SqlError] = field(default_factory=dict)

    @property
    def is_needed(self) -> bool:
        return asks(self.descriptor)

    async def foresee(self, old: Iterable[StoredRow], new: Iterable[StoredRow]) -> None:
        """Have the answers that these rows need: whose entries are removed, and those that are put."""
        old, new = ([row._replace(answers=self.answers) for row in rows] for rows in (old, new))

        def wanted() -> list[Question]:
            of_old = [one for row in old for one in questions_of_entries(self.descriptor, row)]
            return of_old + [one for row in new for one in questions_of_new(self.descriptor, row)]

        for _ in range(LAYERS):
            await self.ask(await in_thread(wanted))

    async def act(self, act: Callable[[], T], *, beside: bool) -> T:
        """The value of `act`, which does nothing where it lacks an answer. `beside`: it takes long."""
        while True:
            try:
                return await in_thread(act) if beside else act()
            except Unanswered as lacking:
                await self.ask([lacking.question])

    async def ask(self, questions: Iterable[Question]) -> None:
        left: list[Sequence[Question]] = []
        for same in by_expression(one for one in questions if one not in self.answers).values():
            left += [same[place : place + ROWS_AT_ONCE] for place in range(0, len(same), ROWS_AT_ONCE)]
        while left:
            failed = await self._ask_together(left)
            if failed is None:
                return
            place, error = failed
            if len(left[place]) == 1:
                self.answers[left[place][0]] = error
            left[place : place + 1] = parts(left[place])

    async def _ask_together(self, left: Sequence[Sequence[Question]]) -> tuple[int, SqlError] | None:
        commands = []
        for same in left:
            arrays = tuple([bytea_array(column) for column in arrays_of(same)])
            sql = question_sql(self.descriptor, same[0].text, same[0].returns)
            forms, oids = (BINARY,) * len(arrays), (BYTEA_ARRAY,) * len(arrays)
            commands.append(
                UsersCommand(sql, arrays, oids=oids, formats=forms, result_format=BINARY, is_kept=True, style=STYLE)
            )
        results = await self.transaction.ask([reader.before(STYLE, scans=False)], commands)
        if isinstance(results, tuple):
            return results
        for same, result in zip(left, results, strict=True):
            for number, one in enumerate(same):
                self.answers[one] = read_answer(one.returns, result.get_value(number, 0))
        return None


STYLE = tuple(USERS_SETTINGS.values())
