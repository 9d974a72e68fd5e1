"""T7: a session lost at COMMIT, and a cancel that finds COMMIT on its way. What committed is acknowledged, what did not
is retried, or cancelled if that was asked; the rest is 08007. With real crashes: `test_lost_commits`."""

import asyncio
import datetime as dt
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import psycopg
import pytest
from psycopg import pq

from catalog.descriptor import Descriptor
from expressions.errors import SqlError
from nodes.store.pipeline import CancelledAtCommit, Command, StoreConnection, StoreConnectionLost, StoreError, StorePool
from nodes.store.refusals import Retry
from nodes.store.transaction import Transaction
from storage.commit_outcomes import LIFE
from tests.nodes.sql.test_readable import FLIGHTS

OK, TUPLES = pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK


@dataclass
class Answer:
    status: Any
    value: bytes | None = None

    def get_value(self, row: int, column: int) -> bytes | None:
        return self.value


@dataclass
class Session:
    """A session at the store that answers `answered` commands of a batch with COMMIT, then is lost or refuses."""

    answered: int
    sqlstate: str = "08006"
    life: str = "life 1"
    is_lost: bool = False
    last_words: str = "gone"
    is_cancelled: bool = False
    batches: list[Sequence[Command]] = field(default_factory=list)

    async def close(self) -> None: ...

    async def run(self, commands: Sequence[Command], *, commit: bool = False) -> list[Answer]:
        assert commit == (commands[-1].sql == "COMMIT")
        self.batches.append(commands)
        answers = [Answer(TUPLES, b"77" if "xact_id" in c.sql else b"") for c in commands]
        if not commit:
            return answers
        error: StoreError | None = None
        if self.sqlstate == "57014":
            error = StoreError(self.sqlstate, "canceling statement due to user request")
        elif not (self.is_cancelled and self.answered >= len(commands)):
            self.is_lost = True
            error = StoreConnectionLost(self.sqlstate, "terminating connection", results=answers[: self.answered])
        if self.is_cancelled:
            raise CancelledAtCommit(asyncio.CancelledError(), answers[: self.answered], error)  # type: ignore[arg-type]
        assert error is not None
        raise error


@dataclass
class Store:
    """The pool: one session to lose, and what pg_xact_status says afterwards, in which life of the server."""

    lost: Session
    status: bytes | None
    life: str | None = "life 1"
    places: int = 1

    async def take(self, user: str = "", *, is_block: bool = False) -> Session:
        self.places -= 1
        return self.lost

    def put_back(self, session: Session) -> None:
        self.places += 1

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Any]:
        store = self
        assert store.places == 1, "the lost session holds the last place of the pool: nobody can ask"

        class Asked:
            life = store.life

            async def run(self, commands: Sequence[Command]) -> list[Answer]:
                assert commands[0].params == (b"77",)
                if store.status == b"not given":
                    raise StoreError("22023", "transaction ID 77 is in the future")
                return [Answer(TUPLES, store.status)]

        yield Asked()


@dataclass
class Pin:
    table_id: int = 1
    version: int = 3
    descriptor: Descriptor = FLIGHTS
    schema_hash: str = "a"
    sharding_hash: str = "b"
    ended_because: str | None = None
    is_leased: bool = True
    expires_at_now: dt.datetime = field(default_factory=lambda: dt.datetime.now(dt.UTC) + dt.timedelta(minutes=1))


INSERT = Command("INSERT")
BATCH = 5  # BEGIN, enter, INSERT, xid, COMMIT


@pytest.mark.parametrize(("answered", "sqlstate", "status", "outcome"), [
    pytest.param(5, "57P01", b"", "committed", id="COMMIT was answered before the session ended"),
    pytest.param(4, "08006", b"committed", "committed", id="the store says that it committed"),
    pytest.param(4, "08006", b"aborted", "40001", id="the store says that it did not"),
    pytest.param(4, "57P01", b"aborted", "40001", id="ended from outside just before COMMIT"),
    pytest.param(4, "08006", b"", "08007", id="the store has forgotten it"),
    pytest.param(2, "57P01", b"", "40001", id="ended from outside before COMMIT began"),
    pytest.param(2, "25P04", b"", "40001", id="ended by its deadline before COMMIT began"),
    pytest.param(2, "08006", b"", "08007", id="lost in the middle, nobody knows how far it went"),
])  # fmt: skip
def test_one_batch(answered: int, sqlstate: str, status: bytes, outcome: str) -> None:
    session = Session(answered, sqlstate)
    transaction = Transaction(Store(session, status), 2, lambda _: None, pins={1: Pin()})  # type: ignore[arg-type]
    assert told(transaction.run([INSERT], commit=True)) == outcome
    assert [c.sql for c in session.batches[0]][-1] == "COMMIT"
    assert len(session.batches[0]) == BATCH


@pytest.mark.parametrize(("status", "life", "outcome"), [
    pytest.param(b"committed", "life 1", "committed", id="it committed"),
    pytest.param(b"aborted", "life 1", "40001", id="it did not"),
    pytest.param(None, "life 1", "08007", id="nobody knows"),
    pytest.param(b"committed", "life 2", "08007", id="it committed, or another one that was given its id"),
    pytest.param(b"committed", None, "08007", id="nobody knows whether the store crashed"),
    pytest.param(b"aborted", "life 2", "40001", id="it did not, or left its id to another one that did not"),
    pytest.param(b"not given", "life 2", "40001", id="it did not, or its id would be known"),
])  # fmt: skip
def test_a_block(status: bytes | None, life: str | None, outcome: str) -> None:
    store = Store(Session(9), status, life)

    async def block() -> None:
        transaction = Transaction(store, 2, lambda _: None, pins={1: Pin()})  # type: ignore[arg-type]
        await transaction.run([INSERT])
        transaction.note_written()
        await transaction.commit()

    assert told(block()) == outcome


CANCELLED = [
    pytest.param(5, "08006", b"", "committed", id="too late: COMMIT was done"),
    pytest.param(2, "57014", b"", "cancelled", id="it stopped a statement before COMMIT"),
    pytest.param(4, "57014", b"", "cancelled", id="it stopped COMMIT itself"),
    pytest.param(4, "08006", b"committed", "committed", id="session lost as well, it committed"),
    pytest.param(4, "08006", b"aborted", "cancelled", id="session lost as well, it did not commit"),
    pytest.param(4, "08006", b"", "08007", id="session lost as well, nobody knows"),
    pytest.param(2, "57P01", b"", "cancelled", id="session ended before COMMIT began"),
]


@pytest.mark.parametrize(("answered", "sqlstate", "status", "outcome"), CANCELLED)
def test_a_cancel_of_one_batch(answered: int, sqlstate: str, status: bytes, outcome: str) -> None:
    session = Session(answered, sqlstate, is_cancelled=True)
    transaction = Transaction(Store(session, status), 2, lambda _: None, pins={1: Pin()})  # type: ignore[arg-type]
    assert told(transaction.run([INSERT], commit=True)) == outcome
    assert transaction.has_committed == (outcome == "committed")


@pytest.mark.parametrize(("sqlstate", "status", "outcome"), [
    pytest.param("57014", b"", "cancelled", id="it stopped COMMIT"),
    pytest.param("08006", b"committed", "committed", id="session lost as well, it committed"),
    pytest.param("08006", b"aborted", "cancelled", id="session lost as well, it did not commit"),
    pytest.param("08006", b"", "08007", id="session lost as well, nobody knows"),
])  # fmt: skip
def test_a_cancel_of_a_block(sqlstate: str, status: bytes, outcome: str) -> None:
    session = Session(0, sqlstate, is_cancelled=True)
    transaction = Transaction(Store(session, status), 2, lambda _: None, pins={1: Pin()})  # type: ignore[arg-type]

    async def block() -> None:
        await transaction.run([INSERT])
        transaction.note_written()
        await transaction.commit()

    assert told(block()) == outcome
    assert transaction.has_committed == (outcome == "committed")


@pytest.mark.parametrize("is_block", [False, True])
def test_a_cancel_after_the_store_has_committed_is_too_late(dsn: str, is_block: bool) -> None:
    """The real thing: the answer to COMMIT is in the socket when the cancel comes."""
    with psycopg.connect(dsn, autocommit=True) as store:
        store.execute("CREATE TABLE IF NOT EXISTS cancels (number int)")

    async def cancelled_late() -> Transaction:
        pool = StorePool(dsn, "test", "")
        transaction = Transaction(pool, 2, lambda _: None)
        insert = Command("INSERT INTO cancels VALUES (1)")
        if is_block:
            await transaction.run([insert])
            transaction.note_written()
            sending = asyncio.create_task(transaction.commit())
        else:
            sending = asyncio.create_task(transaction.run([insert], commit=True))  # type: ignore[arg-type]
        while "COMMIT" not in last_sent or LIFE in last_sent:
            await asyncio.sleep(0)
        time.sleep(0.3)  # nothing is read meanwhile: the store answers all of it
        sending.cancel()
        await sending
        await pool.close()
        return transaction

    last_sent: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StoreConnection, "_send", watched(StoreConnection._send, last_sent))
        assert asyncio.run(cancelled_late()).has_committed
    with psycopg.connect(dsn, autocommit=True) as store:
        assert store.execute("SELECT count(*) FROM cancels").fetchone() == (1,)
        store.execute("DROP TABLE cancels")


def watched(send: Any, last_sent: list[str]) -> Any:
    """`send`, noting what is sent."""

    def sent(connection: StoreConnection, commands: Sequence[Command]) -> Any:
        last_sent[:] = [command.sql for command in commands]
        return send(connection, commands)

    return sent


def told(work: Any) -> str:
    """How the transaction ended for its client."""
    try:
        asyncio.run(work)
    except asyncio.CancelledError:
        return "cancelled"
    except Retry as retry:
        return retry.sqlstate
    except SqlError as error:
        return error.sqlstate
    return "committed"
