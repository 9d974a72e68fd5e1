"""Questions of a statement: all rows at once, halves where one fails, and none twice."""

import asyncio
from collections.abc import Sequence
from typing import Any

from catalog.descriptor import Descriptor
from catalog.elements import CHECK, Column, ColumnId, Constraint, ConstraintId, State, TableId
from catalog.values.types import SqlType
from expressions.errors import SqlError
from nodes.execution.writing.answering import Answering
from nodes.store.pipeline import Command, UsersCommand, bytea_array
from storage.answers import Question
from storage.encoding import encode
from storage.pairs import StoredRow

ID, N = ColumnId(1), ColumnId(2)
RULE = f'f("#{N}")'
T = Descriptor(
    TableId(1),
    "t",
    3,
    (Column(ID, "id", SqlType.BIGINT, not_null=True), Column(N, "n", SqlType.BIGINT)),
    (ID,),
    constraints=(Constraint(ConstraintId(1), "c", CHECK, expression=RULE, state=State.PUBLIC),),
)
FAILED = SqlError("22012", "division by zero")


class Answers:
    """A result whose rows are all true."""

    def get_value(self, row: int, column: int) -> bytes:
        return encode(SqlType.BOOLEAN, True)


class Store:
    """A transaction whose store fails for some numbers; `asked` counts the rows of each batch."""

    def __init__(self, *failing: int) -> None:
        self.failing = [encode(SqlType.BIGINT, number) for number in failing]
        self.asked: list[int] = []

    async def ask(self, before: Sequence[Command], texts: Sequence[UsersCommand]) -> Any:
        sizes = [int.from_bytes((text.params[0] or b"")[12:16]) for text in texts]
        self.asked.append(sum(sizes))
        for place, text in enumerate(texts):
            if any(bad in (text.params[0] or b"") for bad in self.failing):
                return place, FAILED
        return [Answers() for _ in texts]


def row(number: int) -> StoredRow:
    data = encode(SqlType.BIGINT, number)
    return StoredRow(data, {N: data})


def question(number: int) -> Question:
    return Question(RULE, SqlType.BOOLEAN, (encode(SqlType.BIGINT, number),))


def foreseen(store: Store, *numbers: int) -> Answering:
    answering = Answering(store, T)  # type: ignore[arg-type]
    asyncio.run(answering.foresee([], map(row, numbers)))
    return answering


def test_the_store_is_asked_once_for_all_rows() -> None:
    store = Store()
    answering = foreseen(store, *range(300), *range(300))
    assert store.asked == [300], "rows that are alike share a question"
    assert answering.answers == {question(number): True for number in range(300)}
    asyncio.run(answering.foresee([], [row(7)]))
    assert store.asked == [300]


def test_the_array_has_the_encoded_values() -> None:
    assert bytea_array([b"a", b"b"])[12:16] == (2).to_bytes(4)


def test_halves_tell_which_rows_have_no_value() -> None:
    store = Store(3, 200)
    answers = foreseen(store, *range(256)).answers
    assert {one for one, value in answers.items() if value is FAILED} == {question(3), question(200)}
    assert len(answers) == 256
    assert len(store.asked) <= 2 + 2 * 9, "a round for each halving"


def test_a_version_that_asks_nothing_needs_no_answers() -> None:
    assert not Answering(Store(), T.next_version(constraints=())).is_needed  # type: ignore[arg-type]
