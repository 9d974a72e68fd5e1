"""A row with a large array is taken apart beside the event loop, and what a statement holds of it is counted."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import nullcontext
from dataclasses import replace
from decimal import Decimal
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest

from catalog.descriptor import Descriptor
from catalog.elements import Column, ColumnId, TableId
from catalog.values.arrays import ELEMENTS_MAX
from catalog.values.intervals import Interval
from catalog.values.types import SqlType
from expressions.errors import SqlError
from expressions.limits import refuse_array
from expressions.typed import Context
from nodes.execution.held_rows import VALUE_BYTES, HeldRows, NodeRows, bytes_of
from nodes.execution.writing.write_context import Values, Writing
from nodes.sql.writes.row_rules import rules_of
from storage import encoding
from storage.pairs import StoredRow

T = TypeVar("T")
TABLE = Descriptor(
    TableId(1),
    "bags",
    1,
    (Column(ColumnId(1), "id", SqlType.INTEGER, not_null=True), Column(ColumnId(2), "a", SqlType.BIGINT_ARRAY)),
    (ColumnId(1),),
)
TICKS_MIN = 5


def ticks_beside(work: Callable[[], Coroutine[Any, Any, T]]) -> tuple[T, int]:
    """What the work gives, and how often others had their turn meanwhile."""

    async def done() -> tuple[T, int]:
        found, count = asyncio.ensure_future(work()), 0
        while not found.done():
            await asyncio.sleep(0.001)
            count += 1
        return found.result(), count

    return asyncio.run(done())


NUMBERS = (Decimal("12345.678"),) * ELEMENTS_MAX
PRICES = replace(TABLE, columns=(TABLE.columns[0], Column(ColumnId(2), "a", SqlType.NUMERIC_ARRAY)))
KEY = StoredRow(encoding.encode(SqlType.INTEGER, 1))
ROW: Values = {ColumnId(1): 1, ColumnId(2): NUMBERS}
RULES = rules_of(PRICES)


def writing(context: Context) -> Writing:
    env: Any = SimpleNamespace(buckets=64)
    transaction: Any = None
    return Writing(env, transaction, PRICES, context, HeldRows(NodeRows()))


@pytest.mark.parametrize("step", [
    pytest.param(lambda work: work.put(ROW), id="a new row"),
    pytest.param(lambda work: work.change(RULES, KEY, {ColumnId(2): NUMBERS}, ROW), id="new values of a row"),
])  # fmt: skip
def test_others_have_their_turn_while_a_large_array_is_written(step: Callable[[Writing], Any]) -> None:
    text = "{" + ",".join(map(str, NUMBERS)) + "}"
    _, count = ticks_beside(lambda: step(writing(Context((text,), is_long=True))))
    assert count > TICKS_MIN


@pytest.mark.parametrize(("items", "is_refused"), [
    pytest.param(NUMBERS, False, id="numbers of usual length"),
    pytest.param((Decimal("1." + "3" * 60),) * ELEMENTS_MAX, True, id="long numbers"),
    pytest.param((Interval(1, 2, 3),) * ELEMENTS_MAX, False, id="intervals"),
    pytest.param(("\u20ac" * 2**18, "\u20ac" * 2**18), True, id="characters of several bytes"),
])  # fmt: skip
def test_what_is_written_can_be_read(items: tuple[Any, ...], *, is_refused: bool) -> None:
    """An array that is as long as it may be."""
    with pytest.raises(SqlError, match="a value may have at most") if is_refused else nullcontext():
        refuse_array(items)


def test_the_elements_of_an_array_that_is_held_are_counted() -> None:
    assert bytes_of([("abc", None, 1)]) == 4 * VALUE_BYTES + 3
    assert bytes_of([None, 7, "abc"]) == 3 * VALUE_BYTES + 3
    assert bytes_of([Decimal(1), Decimal("1" * 20_000)]) > 2 * VALUE_BYTES + 8000
