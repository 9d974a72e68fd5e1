"""Django's pages over ASGI, each answered in one thread: connections that are kept, readers that leave."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.urls import path
from django.utils import timezone, translation

from schemalab.http import pages
from schemalab.http.pages import Pages

go_on = threading.Event()
ended: list[str] = []


def backend(request: HttpRequest) -> HttpResponse:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return HttpResponse(str(cursor.fetchone()[0]))


def chosen(request: HttpRequest) -> HttpResponse:
    """The language and time zone of the thread, which are others from then on."""
    answer = HttpResponse(f"{translation.get_language()} {timezone.get_current_timezone_name()}")
    translation.activate("zh-hans")
    timezone.activate("Asia/Shanghai")
    return answer


def waits(request: HttpRequest) -> HttpResponse:
    assert go_on.wait(20)
    return HttpResponse("it went on")


def endless(request: HttpRequest) -> StreamingHttpResponse:
    async def parts() -> AsyncIterator[str]:
        try:
            while True:
                yield "more "
                await asyncio.sleep(0.01)
        finally:
            ended.append("the iterator")

    response = StreamingHttpResponse(parts())
    response._resource_closers.append(lambda: ended.append("the response"))
    return response


def gathered(request: HttpRequest) -> StreamingHttpResponse:
    return StreamingHttpResponse(iter(["one ", "two"]), status=203, headers={"X-Kept": "yes"})


urlpatterns = [path(f"{view.__name__}/", view) for view in (backend, chosen, waits, endless, gathered)]  # type: ignore[attr-defined]


class Reader:
    """Asks for one page, and leaves once it has read so many messages, if that is said."""

    def __init__(self, view: str, *, leaves_after: int | None = None) -> None:
        self.scope = {"type": "http", "method": "GET", "path": f"/{view}/", "headers": [], "query_string": b""}
        self.messages: list[dict[str, Any]] = []
        self._leaves_after = leaves_after
        self._has_left = asyncio.Event()
        self._to_receive = [{"type": "http.request", "body": b"", "more_body": False}]

    async def receive(self) -> dict[str, Any]:
        if self._to_receive:
            return self._to_receive.pop()
        await self._has_left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        self.messages.append(message)
        if len(self.messages) == self._leaves_after:
            self._has_left.set()

    @property
    def text(self) -> str:
        return b"".join(message.get("body", b"") for message in self.messages).decode()

    async def ask(self, served: Pages) -> str:
        await served(self.scope, self.receive, self.send)
        return self.text


@pytest.fixture
def served(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pages]:
    monkeypatch.setattr(settings, "ROOT_URLCONF", __name__)
    monkeypatch.setattr(settings, "MIDDLEWARE", [])
    monkeypatch.setattr(pages, "KEPT", 2)
    go_on.clear()
    ended.clear()
    served = Pages()
    yield served
    go_on.set()
    served._kept.shutdown()
    served._others.shutdown()


def test_a_connection_to_the_database_is_kept_from_one_request_to_the_next(served: Pages) -> None:
    async def asked() -> set[str]:
        return {await Reader("backend").ask(served) for _ in range(10)}

    assert len(asyncio.run(asked())) <= 2


def test_one_that_the_server_has_ended_is_opened_anew(served: Pages) -> None:
    """As in a crash of PostgreSQL, of which its client hears when it asks again."""

    async def asked() -> list[str]:
        return [await Reader("backend").ask(served) for _ in range(4)]

    before = asyncio.run(asked())
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pid) FROM unnest(%s) AS pid", [[int(pid) for pid in set(before)]])
    after = asyncio.run(asked())
    assert all(answer.isdigit() for answer in after)
    assert not set(before) & set(after)


def test_what_a_request_has_chosen_is_not_the_next_ones(served: Pages) -> None:
    async def asked() -> set[str]:
        return {await Reader("chosen").ask(served) for _ in range(5)}

    assert asyncio.run(asked()) == {f"{settings.LANGUAGE_CODE} {settings.TIME_ZONE}"}


def test_requests_that_wait_hold_up_no_others(served: Pages) -> None:
    async def asked() -> tuple[list[str], list[str]]:
        waiting = [asyncio.create_task(Reader("waits").ask(served)) for _ in range(5)]
        await asyncio.sleep(0)
        meanwhile = [await asyncio.wait_for(Reader("backend").ask(served), 10) for _ in range(3)]
        go_on.set()
        return meanwhile, await asyncio.gather(*waiting)

    meanwhile, waited = asyncio.run(asked())
    assert len(set(meanwhile)) == 3, "each had a connection of its own"
    assert waited == ["it went on"] * 5


def test_a_stream_ends_when_its_reader_leaves(served: Pages) -> None:
    reader = Reader("endless", leaves_after=5)
    asyncio.run(asyncio.wait_for(reader.ask(served), 10))
    assert reader.text.startswith("more more")
    assert ended == ["the iterator", "the response"]


def test_a_plain_stream_arrives_whole(served: Pages) -> None:
    reader = Reader("gathered")
    assert asyncio.run(reader.ask(served)) == "one two"
    assert reader.messages[0]["status"] == 203
    assert (b"X-Kept", b"yes") in reader.messages[0]["headers"]
