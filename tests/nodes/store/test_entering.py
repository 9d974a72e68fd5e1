"""T2: which storages a batch enters: the one that it uses where it is the whole transaction, else all."""

import asyncio
import re
from collections.abc import Callable, Coroutine
from typing import Any

from nodes.store.transaction import Transaction
from tests.nodes.store.test_deadlines import SELECT, Pin, Store, after


def entered(work: Callable[[Transaction], Coroutine[Any, Any, Any]], *pins: Pin) -> list[list[str]]:
    """For each batch of a transaction on two storages, the storages whose `enter` it calls."""
    store = Store()

    async def run() -> None:
        transaction = Transaction(store, 2, lambda _: None, pins={pin.table_id: pin for pin in pins})  # type: ignore
        await work(transaction)
        await transaction.rollback()

    asyncio.run(run())
    batches = (" ".join(command.sql for command in batch) for batch in store.batches)
    return [re.findall(r"(storage_\d+)\.enter", sql) for sql in batches if "ROLLBACK" not in sql]


BOTH = ["storage_1", "storage_2"]


def test_a_transaction_of_one_batch_enters_the_storage_that_it_uses() -> None:
    assert entered(lambda t: t.run([SELECT], commit=True, only=2), Pin(1, after(10))) == [["storage_2"]]


def test_one_that_does_not_say_which_enters_all() -> None:
    assert entered(lambda t: t.run([SELECT], commit=True), Pin(1, after(10))) == [BOTH]


def test_one_that_goes_on_enters_all() -> None:
    """What comes next may use another storage, and a table is entered once."""
    assert entered(lambda t: t.run([SELECT], only=2), Pin(1, after(10))) == [BOTH]


def test_one_that_has_begun_before_enters_all_for_a_further_table() -> None:
    async def work(transaction: Transaction) -> None:
        await transaction.run([SELECT])
        del transaction.pins[1]
        transaction.pins[2] = Pin(2, after(10))  # type: ignore[assignment]
        await transaction.run([SELECT], commit=True, only=2)

    assert entered(work, Pin(1, after(10))) == [BOTH, BOTH]


def test_one_of_several_tables_enters_all_for_each() -> None:
    pins = Pin(1, after(10)), Pin(2, after(10))
    assert entered(lambda t: t.run([SELECT], commit=True, only=2), *pins) == [BOTH + BOTH]
