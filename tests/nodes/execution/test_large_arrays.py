"""A row with a large array is taken apart beside the event loop, and what a statement holds of it is counted."""

import asyncio
from types import SimpleNamespace
from typing import Any

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, TableId
from catalog.values.arrays import ELEMENTS_MAX
from catalog.values.types import SqlType, to_text
from expressions.analysis.scopes import Scan, reference
from expressions.typed import Context
from nodes.execution.held_rows import VALUE_BYTES, bytes_of
from nodes.execution.select import answers_of
from storage import encoding
from storage.pairs import StoredRow

TABLE = Descriptor(
    TableId(1),
    "bags",
    1,
    (Column(ColumnId(1), "id", SqlType.INTEGER, not_null=True), Column(ColumnId(2), "a", SqlType.BIGINT_ARRAY)),
    (ColumnId(1),),
)
TICKS_MIN = 5


def test_others_have_their_turn_while_a_large_array_is_read() -> None:
    items = tuple(range(ELEMENTS_MAX))
    key = encoding.encode(SqlType.INTEGER, 1)
    row = StoredRow(key, {ColumnId(2): encoding.encode_value(SqlType.BIGINT_ARRAY, items)})
    scan = Scan(0, TABLE)
    scan.used.add(ColumnId(2))
    simple: Any = SimpleNamespace(scan=scan, where=None, targets=(reference(scan, TABLE.column(ColumnId(2))),))

    def write(value: Any) -> bytes:
        return to_text(SqlType.BIGINT_ARRAY, value).encode()

    async def ticks(until: "asyncio.Task[Any]") -> int:
        count = 0
        while not until.done():
            await asyncio.sleep(0.001)
            count += 1
        return count

    async def read_beside() -> tuple[Any, int]:
        answers = asyncio.ensure_future(answers_of(simple, [row], Context(), [write]))
        count = await ticks(answers)
        return answers.result(), count

    answers, count = asyncio.run(read_beside())
    assert answers == [[write(items)]]
    assert count > TICKS_MIN


def test_the_elements_of_an_array_that_is_held_are_counted() -> None:
    assert bytes_of([("abc", None, 1)]) == 4 * VALUE_BYTES + 3
    assert bytes_of([None, 7, "abc"]) == 3 * VALUE_BYTES + 3
