"""A batch that is begun ahead: one at a time all the same, and its failure is the transaction's."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from expressions.errors import SqlError
from nodes.store.pipeline import Command, StoreError
from nodes.store.refusals import Retry
from nodes.store.transaction import Transaction
from tests.nodes.store.test_deadlines import Pin, Store, after, transaction_on

FIRST, NEXT, OTHER = Command("SELECT 'first'"), Command("SELECT 'next'"), Command("SELECT 'other'")
PAGE = Command("SELECT 'page'")


class Refusing(Store):
    """Refuses what is asked ahead, as a transaction that cannot be serialized any more."""

    async def run(self, commands: Any, *, commit: bool = False) -> Any:
        answers = await super().run(commands, commit=commit)
        if commands[-1] is PAGE:
            raise StoreError("40001", "could not serialize access")
        return answers


def asked(store: Store) -> list[str]:
    return [batch[-1].sql for batch in store.batches]


def done(store: Store, work: Callable[[Transaction], Coroutine[Any, Any, None]]) -> Transaction:
    async def transact() -> Transaction:
        transaction = transaction_on(store, Pin(1, after(10)))
        await transaction.run([FIRST])
        await work(transaction)
        return transaction

    return asyncio.run(transact())


def test_what_comes_next_waits_for_it() -> None:
    async def work(transaction: Transaction) -> None:
        ahead = transaction.ahead([NEXT])
        await transaction.run([OTHER])
        assert ahead.done()
        await transaction.commit()

    store = Store()
    done(store, work)
    assert asked(store) == [FIRST.sql, NEXT.sql, OTHER.sql, "COMMIT"]


def test_two_scans_read_ahead_in_turn() -> None:
    async def work(transaction: Transaction) -> None:
        one, other = transaction.ahead([NEXT]), transaction.ahead([OTHER])
        await one
        again = transaction.ahead([NEXT])
        await other
        await again
        await transaction.rollback()

    store = Store()
    done(store, work)
    assert asked(store) == [FIRST.sql, NEXT.sql, OTHER.sql, NEXT.sql, "ROLLBACK"]


def test_one_that_failed_unseen_is_not_committed() -> None:
    """COMMIT of a transaction that has failed is no error to the store: it rolls back, and says so in passing."""

    async def work(transaction: Transaction) -> None:
        transaction.ahead([PAGE])
        with pytest.raises(Retry):
            await transaction.commit()
        with pytest.raises(Retry):
            await transaction.run([], commit=True)

    store = Refusing()
    done(store, work)
    assert "COMMIT" not in asked(store)


def test_one_that_failed_can_be_rolled_back() -> None:
    async def work(transaction: Transaction) -> None:
        transaction.ahead([PAGE])
        await transaction.rollback()

    store = Refusing()
    assert done(store, work).is_over
    assert asked(store) == [FIRST.sql, PAGE.sql, "ROLLBACK"]


def test_one_that_failed_before_a_savepoint_it_returns_to_is_forgotten() -> None:
    async def work(transaction: Transaction) -> None:
        await transaction.savepoint("a")
        transaction.ahead([PAGE])
        await transaction.rollback_to("a")
        await transaction.commit()

    store = Refusing()
    assert done(store, work).has_committed


def test_whoever_waits_for_it_hears_of_its_failure() -> None:
    async def work(transaction: Transaction) -> None:
        with pytest.raises(SqlError, match="could not serialize"):
            await transaction.ahead([PAGE])
        await transaction.rollback()

    done(Refusing(), work)


def test_a_deadline_is_moved_before_or_after_it() -> None:
    """T4, while pages follow each other; the store takes one batch at a time."""
    pin = Pin(1, after(10))

    async def work() -> Store:
        store = Store(meanwhile=lambda: setattr(pin, "expires_at_now", after(20 + len(store.batches))))
        transaction = transaction_on(store, pin)
        await transaction.run([FIRST])
        for _ in range(15):
            ahead = transaction.ahead([NEXT])
            await asyncio.sleep(0.015)
            await ahead
            await asyncio.sleep(0.015)
        await transaction.rollback()
        return store

    store = asyncio.run(work())
    assert store.armed == sorted(store.armed)
    assert len(store.armed) > 5
