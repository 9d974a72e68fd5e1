"""What a statement that is refused as often as it is tried asks of the store, and how often it is tried then.

With a server that answers so, and ends the open transaction: `tests.storage.test_held_open`.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from expressions.errors import SERIALIZATION_FAILURE, SqlError
from nodes.crud.calls import Call
from nodes.crud.catalogue import OPERATIONS
from nodes.crud.requests import Request
from nodes.router.attempts import CONFLICTS_MAX
from nodes.router.counters import Counts
from nodes.session import tries
from nodes.store import held_open
from nodes.store.pipeline import Command
from nodes.store.refusals import Retry
from storage.postgres import END_HELD_OPEN, HELD_OPEN

Row = tuple[str, str, str, str, str]
OLD: Row = ("7", "2026-01-01 00:00:00+00", "schemalab node n2 1", "900", "5")
GAVE_UP: Row = (*OLD[:4], "6")
YOUNGER: Row = ("8", "2026-01-01 00:10:00+00", "schemalab node n2 1", "300", "6")


@dataclass
class Answer:
    row: Row | None

    @property
    def ntuples(self) -> int:
        return int(self.row is not None)

    def get_value(self, _row: int, column: int) -> bytes:
        assert self.row is not None
        return self.row[column].encode()


@dataclass
class Store:
    """A store that answers each look with the next of these rows."""

    rows: list[Row | None]
    ended: list[tuple[Any, ...]] = field(default_factory=list)

    async def ask(self, command: Command) -> Any:
        if command.sql == HELD_OPEN:
            return Answer(self.rows.pop(0))
        assert command.sql == END_HELD_OPEN
        self.ended.append(command.params)
        return Answer(None)


@pytest.fixture(autouse=True)
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_open, "PAUSE_S", 0.0)
    monkeypatch.setattr("nodes.router.attempts.PAUSE_S_MAX", 0.0)


def tried(store: Store, work: Callable[..., Awaitable[str]]) -> str:
    """A statement of its own, as a session tries it."""

    async def nothing() -> None:
        return None

    def begin(**_: Any) -> Any:
        return SimpleNamespace(is_over=False, rollback=nothing)

    directory, meter = SimpleNamespace(ask=store.ask), SimpleNamespace(retried=lambda: None)
    env: Any = SimpleNamespace(directory=directory, meter=meter, begin=begin)
    new_tables = SimpleNamespace(begun=lambda transaction: transaction)
    block: Any = SimpleNamespace(new_tables=new_tables, owner=None, is_streaming=lambda _: False)
    return asyncio.run(tries.tried(env, block, work))


@pytest.mark.parametrize(
    ("rows", "rounds", "is_ended"),
    [
        pytest.param([None], 1, False, id="nothing waits for its client"),
        pytest.param([OLD, OLD], 2, False, id="no detail was given up meanwhile: they meet each other"),
        pytest.param([OLD, GAVE_UP], 3, True, id="details were given up: it is ended"),
        pytest.param([OLD, None], 3, False, id="it has ended by itself"),
        pytest.param([OLD, YOUNGER], 3, False, id="it has ended, and another one is the oldest"),
    ],
)
def test_how_often_a_refused_statement_is_tried(rows: list[Row | None], rounds: int, is_ended: bool) -> None:
    store, attempts = Store(rows), 0

    async def refused(*_: Any) -> str:
        nonlocal attempts
        attempts += 1
        raise Retry("could not serialize access")

    with pytest.raises(SqlError) as raised:
        tried(store, refused)
    assert (raised.value.sqlstate, attempts) == (SERIALIZATION_FAILURE, rounds * CONFLICTS_MAX)
    assert store.ended == ([(b"7", OLD[1].encode())] if is_ended else [])


@pytest.mark.parametrize(
    ("rows", "rounds"),
    [
        pytest.param([None], 1, id="nothing waits for its client"),
        pytest.param([OLD, GAVE_UP], 3, id="details were given up: it is ended"),
    ],
)
def test_a_request_is_tried_as_a_statement_is(rows: list[Row | None], rounds: int) -> None:
    store, seen = Store(rows), 0

    async def refused_to_the_end(request: Request) -> None:
        nonlocal seen
        while True:
            seen += 1
            await request._after(Retry("could not serialize access"), was_sent=True)

    router = SimpleNamespace(counters=SimpleNamespace(of=lambda _: Counts()))
    env: Any = SimpleNamespace(directory=SimpleNamespace(ask=store.ask), router=router, buckets=3000)
    caller: Any = SimpleNamespace(trace=None)
    request = Request(env, Call(OPERATIONS["get"], "t"), caller, "t")
    with pytest.raises(Retry):
        asyncio.run(refused_to_the_end(request))
    assert (seen, len(store.ended)) == (rounds * CONFLICTS_MAX, rounds - 1 >> 1)


def test_what_can_go_on_after_that_is_answered() -> None:
    store = Store([OLD, GAVE_UP])

    async def refused_until_it_is_ended(*_: Any) -> str:
        if not store.ended:
            raise Retry("could not serialize access")
        return "done"

    assert tried(store, refused_until_it_is_ended) == "done"


def test_a_store_that_does_not_answer_does_not_hide_the_refusal() -> None:
    class Lost(Store):
        async def ask(self, command: Command) -> Any:
            raise SqlError("08006", "the store does not answer")

    async def refused(*_: Any) -> str:
        raise Retry("could not serialize access")

    with pytest.raises(SqlError, match="could not serialize access"):
        tried(Lost([]), refused)
