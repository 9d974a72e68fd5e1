"""T7: a session lost at COMMIT. What committed is acknowledged, what did not is retried, the rest is 08007."""

import asyncio
import datetime as dt
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from psycopg import pq

from expressions.errors import SqlError
from nodes.libpq import Command, StoreConnectionLost
from nodes.transaction import Retry, Transaction

OK, TUPLES = pq.ExecStatus.COMMAND_OK, pq.ExecStatus.TUPLES_OK


@dataclass
class Answer:
    status: Any
    value: bytes | None = None

    def get_value(self, row: int, column: int) -> bytes | None:
        return self.value


@dataclass
class Session:
    """A session at the store that answers `answered` commands of a flight and is lost."""

    answered: int
    sqlstate: str = "08006"
    is_lost: bool = False
    last_words: str = "gone"
    flights: list[Sequence[Command]] = field(default_factory=list)

    async def run(self, commands: Sequence[Command]) -> list[Answer]:
        self.flights.append(commands)
        answers = [Answer(TUPLES, b"77" if "xact_id" in c.sql else b"") for c in commands]
        if self.answered >= len(commands) and commands[-1].sql != "COMMIT":
            return answers
        self.is_lost = True
        raise StoreConnectionLost(self.sqlstate, "terminating connection", results=answers[: self.answered])


@dataclass
class Store:
    """The pool: one session to lose, and what pg_xact_status says afterwards."""

    lost: Session
    status: bytes

    async def take(self) -> Session:
        return self.lost

    def give_back(self, session: Session) -> None: ...

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Any]:
        store = self

        class Asked:
            async def run(self, commands: Sequence[Command]) -> list[Answer]:
                assert commands[0].params == (b"77",)
                return [Answer(TUPLES, store.status)]

        yield Asked()


@dataclass
class Pin:
    table_id: int = 1
    version: int = 3
    descriptor: str = "flights@3"
    schema_hash: str = "a"
    sharding_hash: str = "b"
    ended_because: str | None = None
    expires_at_now: dt.datetime = field(default_factory=lambda: dt.datetime.now(dt.UTC) + dt.timedelta(minutes=1))


INSERT = Command("INSERT")
FLIGHT = 5  # BEGIN, enter, INSERT, xid, COMMIT


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
def test_one_flight(answered: int, sqlstate: str, status: bytes, outcome: str) -> None:
    session = Session(answered, sqlstate)
    transaction = Transaction(Store(session, status), 2, lambda _: None, pins={1: Pin()})  # type: ignore[arg-type]
    assert told(transaction.run([INSERT], commit=True)) == outcome
    assert [c.sql for c in session.flights[0]][-1] == "COMMIT"
    assert len(session.flights[0]) == FLIGHT


@pytest.mark.parametrize(("status", "outcome"), [
    pytest.param(b"committed", "committed", id="it committed"),
    pytest.param(b"aborted", "40001", id="it did not"),
    pytest.param(b"", "08007", id="nobody knows"),
])  # fmt: skip
def test_a_block(status: bytes, outcome: str) -> None:
    async def block() -> None:
        transaction = Transaction(Store(Session(9), status), 2, lambda _: None, pins={1: Pin()})  # type: ignore[arg-type]
        await transaction.run([INSERT])
        transaction.note_written()
        await transaction.commit()

    assert told(block()) == outcome


def told(work: Any) -> str:
    """How the transaction ended for its client."""
    try:
        asyncio.run(work)
    except Retry as retry:
        return retry.sqlstate
    except SqlError as error:
        return error.sqlstate
    return "committed"
