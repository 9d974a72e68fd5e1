"""T4: a transaction's deadline at the store is that of its leases, and moves when they are renewed."""

import asyncio
import datetime as dt
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from nodes.libpq import Command
from nodes.transaction import PG_EPOCH, Transaction

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def after(seconds: float) -> dt.datetime:
    return NOW + dt.timedelta(seconds=seconds)


@dataclass
class Pin:
    table_id: int
    expires_at_now: dt.datetime
    version: int = 3
    descriptor: str = "flights@3"
    schema_hash: str = "a"
    sharding_hash: str = "b"
    ended_because: str | None = None


@dataclass
class Answer:
    def get_value(self, row: int, column: int) -> bytes | None:
        return None


@dataclass
class Store:
    """Pool and session in one: notes what it is sent; `meanwhile` happens while a flight is under way."""

    meanwhile: Callable[[], None] = lambda: None
    flights: list[Sequence[Command]] = field(default_factory=list)
    is_lost: bool = False
    returned: int = 0

    async def take(self) -> "Store":
        return self

    def give_back(self, _session: Any) -> None:
        self.returned += 1

    async def close(self) -> None:
        self.is_lost = True

    async def run(self, commands: Sequence[Command], *, commit: bool = False) -> list[Answer]:
        self.flights.append(commands)
        await asyncio.sleep(0.02)
        self.meanwhile()
        return [Answer() for _ in commands]

    @property
    def armed(self) -> list[dt.datetime]:
        """The expirations that the store was told, in order."""
        calls = [c for flight in self.flights for c in flight if "enter(" in c.sql or "arm_deadline" in c.sql]
        return [PG_EPOCH + dt.timedelta(microseconds=struct.unpack("!q", c.params[-1])[0]) for c in calls]


def transaction_on(store: Store, *pins: Pin) -> Transaction:
    return Transaction(store, 1, lambda _: None, pins={pin.table_id: pin for pin in pins})  # type: ignore


SELECT = Command("SELECT 1")


def test_a_renewal_during_a_statement_moves_the_deadline_with_the_next_one() -> None:
    """What the store was told counts, not what was true when it answered."""
    pin = Pin(1, after(10))

    def renew() -> None:
        pin.expires_at_now = after(20)

    async def two_statements() -> Store:
        store = Store(meanwhile=renew)
        transaction = transaction_on(store, pin)
        await transaction.run([SELECT])
        await transaction.run([SELECT])
        await transaction.rollback()
        return store

    assert asyncio.run(two_statements()).armed == [after(10), after(20)]


def test_a_table_that_was_pinned_during_a_statement_is_entered_by_the_next_one() -> None:
    """T2: nothing is read or written under a version that was not entered."""
    first, second = Pin(1, after(10)), Pin(2, after(5))

    async def two_statements() -> Store:
        store = Store(meanwhile=lambda: transaction.pins.update({2: second}))
        transaction = transaction_on(store, first)
        await transaction.run([SELECT])
        await transaction.run([SELECT])
        await transaction.rollback()
        return store

    assert asyncio.run(two_statements()).armed == [after(10), after(5)]
