"""The fair queue: which requests wait for each other, and who is another visitor."""

import asyncio
from typing import Any

import pytest
from django.contrib.sessions.backends.base import SessionBase
from django.http import HttpRequest

from schemalab.http import fair_queue
from schemalab.http.fair_queue import FairQueue


def scope(address: str = "10.0.0.1", session: str = "") -> dict[str, Any]:
    cookie = [(b"cookie", f"csrftoken=x; sessionid={session}".encode())] if session else []
    return {"client": (address, 1), "headers": [(b"host", b"localhost"), *cookie]}


def with_session(key: str) -> HttpRequest:
    request = HttpRequest()
    request.session = SessionBase(key)
    request.session._session_cache = {"is": "something"}
    request.session.accessed = True
    return request


async def order_of(queue: FairQueue, *scopes: dict[str, Any]) -> list[str]:
    """What happens when requests of these come in this order, each taking as long as the others."""
    told = []

    async def request(number: int, its: dict[str, Any]) -> None:
        async with queue.place(its):
            told.append(f"begin {number}")
            await asyncio.sleep(0.02)
            told.append(f"end {number}")

    await asyncio.gather(*(request(number, its) for number, its in enumerate(scopes)))
    return told


ONE, TWO = "1" * 32, "2" * 32
ONE_BY_ONE = ["begin 0", "end 0", "begin 1", "end 1"]
TOGETHER = ["begin 0", "begin 1", "end 0", "end 1"]


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        pytest.param(scope(), scope(), ONE_BY_ONE, id="of one address"),
        pytest.param(scope(), scope("10.0.0.2"), TOGETHER, id="of two addresses"),
        pytest.param(scope("fd00::1"), scope("fd00::2"), ONE_BY_ONE, id="of one customer's network"),
        pytest.param(scope(session=ONE), scope(session=TWO), TOGETHER, id="of two sessions at one address"),
        pytest.param(scope(session=ONE), scope("10.0.0.2", ONE), ONE_BY_ONE, id="of one session"),
        pytest.param(scope(session="made"), scope(session="up"), ONE_BY_ONE, id="of cookies that nobody was given"),
        pytest.param(scope(session=ONE), scope(session="made"), TOGETHER, id="of a session and a made-up one"),
    ],
)
def test_requests_of_one_visitor_wait_for_each_other(
    first: dict[str, Any], second: dict[str, Any], told: list[str]
) -> None:
    queue = FairQueue()
    for key in (ONE, TWO):
        queue.remember(with_session(key))
    assert asyncio.run(order_of(queue, first, second)) == told


def test_who_came_first_is_first_and_nothing_is_left() -> None:
    queue = FairQueue()
    told = asyncio.run(order_of(queue, *[scope()] * 5))
    assert [word for word in told if word.startswith("begin")] == [f"begin {number}" for number in range(5)]
    assert not queue._busy
    assert not queue._waiting


def test_a_request_that_waits_for_something_else_holds_up_the_next_for_a_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fair_queue, "PLACE_S_MAX", 0.005)
    assert asyncio.run(order_of(FairQueue(), scope(), scope())) == TOGETHER


def test_a_request_that_is_given_up_leaves_its_place() -> None:
    async def story() -> list[str]:
        queue = FairQueue()
        async with queue.place(scope()):
            given_up = [asyncio.create_task(order_of(queue, scope())) for _ in range(3)]
            await asyncio.sleep(0)
            given_up[1].cancel()
            await asyncio.sleep(0)
        given_up[0].cancel()  # it has just been given the place
        await asyncio.gather(*given_up, return_exceptions=True)
        return await asyncio.wait_for(order_of(queue, scope()), 1)

    assert asyncio.run(story()) == ["begin 0", "end 0"]
