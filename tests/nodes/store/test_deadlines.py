"""T4: a transaction's deadline at the store is that of its leases, and moves when they are renewed."""

import asyncio
import datetime as dt
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest

from catalog.descriptor import Descriptor
from nodes.store.entering import PG_EPOCH
from nodes.store.pipeline import Command, StoreError
from nodes.store.refusals import Retry
from nodes.store.transaction import Transaction
from tests.nodes.clients.test_clients import add_unique_index
from tests.nodes.conftest import SHORT_LEASE_S, Cluster
from tests.nodes.session.test_transactions import wait_for_no_session
from tests.nodes.sql.test_readable import FLIGHTS

NOW = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def after(seconds: float) -> dt.datetime:
    return NOW + dt.timedelta(seconds=seconds)


@dataclass
class Pin:
    table_id: int
    expires_at_now: dt.datetime
    version: int = 3
    descriptor: Descriptor = FLIGHTS
    schema_hash: str = "a"
    sharding_hash: str = "b"
    ended_because: str | None = None
    is_leased: bool = True


@dataclass
class Answer:
    def get_value(self, row: int, column: int) -> bytes | None:
        return None


@dataclass
class Store:
    """Pool and session in one: notes what it is sent; `meanwhile` happens while a batch is under way."""

    meanwhile: Callable[[], None] = lambda: None
    batches: list[Sequence[Command]] = field(default_factory=list)
    is_lost: bool = False
    returned: int = 0
    is_ready: bool = True
    is_running: bool = False
    refusal: StoreError | None = None

    async def take(self, user: str = "", *, is_block: bool = False) -> "Store":
        return self

    def put_back(self, _session: Any) -> None:
        self.returned += 1

    async def close(self) -> None:
        self.is_lost, self.is_ready = True, False

    async def run(self, commands: Sequence[Command], *, commit: bool = False) -> list[Answer]:
        assert not self.is_running, "one batch at a time"
        self.is_running, self.is_ready = True, False
        self.batches.append(commands)
        await asyncio.sleep(0.02)
        self.meanwhile()
        self.is_running = False
        if self.refusal is not None and "arm_deadline" in commands[0].sql:
            raise self.refusal
        self.is_ready = True
        return [Answer() for _ in commands]

    @property
    def armed(self) -> list[dt.datetime]:
        """The expirations that the store was told, in order."""
        calls = [c for batch in self.batches for c in batch if "enter(" in c.sql or "arm_deadline" in c.sql]
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


# -- while nothing runs


def idle(store: Store, transaction: Transaction, *events: Callable[[], None]) -> list[dt.datetime]:
    """One statement, then nothing but `events`, each with time to be noticed, then the end; what was armed."""

    async def work() -> None:
        await transaction.run([SELECT])
        for event in events:
            event()
            await asyncio.sleep(0.05)
            await until(lambda: store.armed[-1] == transaction.expires_at)
        await transaction.rollback()

    asyncio.run(work())
    return store.armed


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nodes.store.deadline.LOOK_S", 0.01)


async def until(is_so: Callable[[], bool]) -> None:
    """Wait until it is so, or a second."""
    for _ in range(50):
        if is_so():
            return
        await asyncio.sleep(0.02)


def renewal(pin: Pin, seconds: float) -> Callable[[], None]:
    return lambda: setattr(pin, "expires_at_now", after(seconds))


def test_a_renewal_moves_the_deadline_of_an_idle_transaction(often: None) -> None:
    pin, store = Pin(1, after(10)), Store()
    events = [renewal(pin, 20), renewal(pin, 30)]
    assert idle(store, transaction_on(store, pin), *events) == [after(10), after(20), after(30)]


def test_the_earliest_of_several_leases_decides(often: None) -> None:
    """The one that is not renewed, because there is a newer version, holds the deadline where it is."""
    older, newest, store = Pin(1, after(10)), Pin(2, after(12)), Store()
    assert set(idle(store, transaction_on(store, older, newest), renewal(newest, 30))) == {after(10)}


def test_a_failed_transaction_is_left_alone(often: None) -> None:
    """Until ROLLBACK TO it takes no statement at all."""
    pin, store = Pin(1, after(10)), Store()

    def fail() -> None:
        store.is_ready = False
        pin.expires_at_now = after(20)

    assert idle(store, transaction_on(store, pin), fail) == [after(10)]


def test_a_statement_that_comes_while_the_deadline_moves_waits_for_it(often: None) -> None:
    async def work(pause_s: float) -> None:
        pin, store = Pin(1, after(10)), Store()
        transaction = transaction_on(store, pin)
        await transaction.run([SELECT])
        pin.expires_at_now = after(20)
        await asyncio.sleep(pause_s)
        await transaction.run([SELECT])
        await transaction.rollback()
        assert store.armed == [after(10), after(20)]
        assert store.returned == 1

    for pause_ms in range(0, 40, 3):
        asyncio.run(work(pause_ms / 1000))


def test_a_deadline_that_cannot_move_ends_the_transaction_with_the_reason(often: None) -> None:
    pin, store = Pin(1, after(10)), Store(refusal=StoreError("SL004", "the lease ends in less than a millisecond"))

    async def work() -> None:
        transaction = transaction_on(store, pin)
        await transaction.run([SELECT])
        pin.expires_at_now = after(20)
        await until(lambda: pin.ended_because is not None)
        with pytest.raises(Retry, match="had to end: the lease ends in less than a millisecond"):
            await transaction.run([SELECT])
        await transaction.rollback()

    asyncio.run(work())
    assert store.returned == 1


def two_tables(cluster: Cluster) -> list[str]:
    tables = [cluster.table("id int primary key, amount int not null") for _ in range(2)]
    with cluster.connect() as connection:
        for table in tables:
            connection.execute(f"INSERT INTO {table} VALUES (1, 100)")
    return tables


def test_an_idle_transaction_outlives_the_leases_it_began_under(cluster: Cluster, short: str) -> None:
    first, second = two_tables(cluster)
    with cluster.connect(short) as connection:
        connection.execute("BEGIN")
        connection.execute(f"UPDATE {first} SET amount = 1")
        connection.execute(f"UPDATE {second} SET amount = 1")
        time.sleep(1.1 * SHORT_LEASE_S)
        connection.execute("COMMIT")
        assert connection.execute(f"SELECT amount FROM {first}").fetchone() == (1,)


def test_an_idle_transaction_ends_with_the_first_lease_that_is_not_renewed(cluster: Cluster, short: str) -> None:
    first, second = two_tables(cluster)
    with cluster.connect(short) as connection:
        connection.execute("BEGIN")
        connection.execute(f"UPDATE {first} SET amount = 1")
        connection.execute(f"UPDATE {second} SET amount = 1")
        add_unique_index(cluster, first, "amount")
        wait_for_no_session(cluster, "schemalab node short ")
        with pytest.raises(psycopg.errors.SerializationFailure, match="the transaction had to end"):
            connection.execute("COMMIT")
        assert connection.execute(f"SELECT amount FROM {second}").fetchone() == (100,)
