"""Django's pages over ASGI: a request enters a thread once and is answered there.

Django's handler makes a thread and a database connection for each request, and switches between thread and event loop
five times: most of the cost of a short answer. Here the first `KEPT` concurrent requests have threads that keep their
connection; others have one of their own. Asynchronous streams are sent as by Django.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import IO, Any

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from django.core import signals
from django.core.exceptions import RequestAborted
from django.core.handlers.asgi import ASGIHandler, get_script_prefix
from django.core.handlers.base import BaseHandler
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.urls import set_script_prefix
from django.utils import timezone, translation

from catalog.database import keep_connections
from schemalab.http.fair_queue import FairQueue

KEPT, OTHERS = 8, 400
Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


class Pages(ASGIHandler):
    def __init__(self) -> None:
        BaseHandler.__init__(self)
        self.load_middleware(is_async=False)
        self._kept = ThreadPoolExecutor(KEPT, "page", initializer=keep_connections)
        self._others = ThreadPoolExecutor(OTHERS, "page beside")
        self._busy, self._queue = 0, FairQueue()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await self.read_body(receive)
        except RequestAborted:
            return
        async with self._queue.place(scope):
            with self._thread() as thread:
                response = await asyncio.get_running_loop().run_in_executor(thread, self._answer, scope, body)
        if response.streaming:
            async with ThreadSensitiveContext():
                await self._stream(response, receive, send)
        else:
            await self.send_response(response, send)

    @contextlib.contextmanager
    def _thread(self) -> Iterator[Executor]:
        if self._busy == KEPT:
            yield self._others
            return
        self._busy += 1
        try:
            yield self._kept
        finally:
            self._busy -= 1

    def _answer(self, scope: Scope, body: IO[bytes]) -> HttpResponseBase:
        set_script_prefix(get_script_prefix(scope))
        translation.deactivate()  # the thread's last request may have chosen others
        timezone.deactivate()
        signals.request_started.send(sender=self.__class__, scope=scope)
        request, refusal = self.create_request(scope, body)
        response: HttpResponseBase = refusal if request is None else self.get_response(request)
        if request is not None and hasattr(request, "session"):
            self._queue.remember(request)
        response._handler_class = self.__class__
        if response.streaming and response.is_async:
            return response
        try:
            return _gathered(response) if response.streaming else response
        finally:
            response.close()
            body.close()

    async def _stream(self, response: HttpResponseBase, receive: Receive, send: Send) -> None:
        sending = asyncio.create_task(self.send_response(response, send))
        leaving = asyncio.create_task(receive())
        try:
            await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            if not sending.done():
                sending.cancel()
            await asyncio.gather(sending, leaving, return_exceptions=True)
            await sync_to_async(response.close)()
        if not sending.cancelled():
            sending.result()


def _gathered(response: Any) -> HttpResponse:
    whole = HttpResponse(b"".join(response.streaming_content), status=response.status_code, headers=response.headers)
    whole.cookies = response.cookies
    return whole
